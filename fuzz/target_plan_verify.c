/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a program: the verifier and the interpreter read nothing outside, and the
 * interpreter knows everything that the verifier lets through. */
#include "fake_sys.h"
#include "linux/init/init.h"
#include "plan/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct init init;

static void
run(void *result)
{
    *(int *)result = init_run(&init);
}

static int
interpret(const void *bytes, size_t size)
{
    const struct fake_message inbox = { .wire = { .kind = WIRE_PROGRAM },
        .size = WIRE_MESSAGE_BASE,
        .block = bytes,
        .block_size = size,
        .n_fds = 2 };
    int r = -1;

    memset(&init, 0, sizeof init);
    fake_reset();
    fake.inbox = &inbox;
    fake.n_inbox = 1;
    fake_run(run, &r);
    fake_done(0);
    return r;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fail fail = { 0 };
    void *bytes = malloc(size == 0 ? 1 : size); /* aligned as a mapping is */
    bool is_good;

    if (bytes == NULL) {
        return 0;
    }
    memcpy(bytes, data, size);
    is_good = program_verify(bytes, size, &fail) == ABX_OK;
    if (is_good) {
        char *text = program_dump(bytes, size);

        if (text == NULL) {
            abort();
        }
        free(text);
    }
    if (interpret(bytes, size) == EBADMSG && is_good) {
        abort();
    }
    free(bytes);
    return 0;
}
