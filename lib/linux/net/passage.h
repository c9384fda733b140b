/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: a connection that leaves the box, from its being allowed until the gateway
 * has it. */
#ifndef ABX_LINUX_PASSAGE_H
#define ABX_LINUX_PASSAGE_H

#include "base/mem.h"
#include "linux/listen/call.h"
#include "linux/net/address.h"

struct passage {
    struct subject subject; /* its text is owned */
    struct destination destination; /* its text is owned */
    struct address to; /* what the caller asked to connect to */
    const struct gateway *gateway;
    uint64_t dialled; /* the gateway's number; 0: nothing was dialled yet */
};

/* NULL: no memory. */
struct passage *passage_new(
        const struct call *call, enum way way, const char *name, const struct address *to);
/* Hangs up what was dialled for it. */
void passage_free(struct passage *passage);
DEFINE_CLEANUP(passage_free, struct passage)
/* Takes the passage and the accepted descriptor. */
void passage_finish(struct passage *passage, int fd);

#endif
