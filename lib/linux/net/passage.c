/* SPDX-License-Identifier: Apache-2.0
 * Owns what is known of a connection on its way out.  Any thread, one at a time. */
#include "linux/net/passage.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct passage *
passage_new(const struct call *call, enum way way, const char *name, const struct address *to)
{
    struct passage *passage = calloc(1, sizeof *passage);
    char program[PATH_MAX];

    if (passage == NULL) {
        return NULL;
    }
    boundary_program_of(call->pid, program, sizeof program);
    *passage = (struct passage){
        .subject = { .command = call->command, .pid = call->pid, .program = strdup(program) },
        .destination = { .way = way,
                .name = strdup(name),
                .port = way == WAY_PROXY ? 0 : address_port(to) },
        .to = *to,
        .gateway = call->boundary->gateway,
    };
    if (passage->subject.program == NULL || passage->destination.name == NULL) {
        passage_free(passage);
        return NULL;
    }
    return passage;
}

static void
forget(struct passage *passage)
{
    free((void *)(uintptr_t)passage->subject.program);
    free((void *)(uintptr_t)passage->destination.name);
    free(passage);
}

void
passage_free(struct passage *passage)
{
    if (passage == NULL) {
        return;
    }
    if (passage->dialled != 0) {
        passage->gateway->hang_up(passage->gateway->data, passage->dialled);
    }
    forget(passage);
}

void
passage_finish(struct passage *passage, int fd)
{
    passage->gateway->connected(
            passage->gateway->data, fd, &passage->subject, &passage->destination, passage->dialled);
    forget(passage);
}
