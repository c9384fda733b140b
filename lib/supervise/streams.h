/* SPDX-License-Identifier: Apache-2.0
 * The three streams of a command that is about to start. */
#ifndef ABX_SUPERVISE_STREAMS_H
#define ABX_SUPERVISE_STREAMS_H

#include "base/fail.h"

struct streams {
    int command[3]; /* the command's ends */
    int host[3]; /* the host's ends: PIPE */
    int capture[3]; /* read ends to be captured: CAPTURE */
};

/* Checks `options` and opens everything; on failure all is closed again. */
abx_status streams_open(
        struct streams *streams, const abx_spawn_options *options, struct fail *fail);
void streams_close(struct streams *streams);

#endif
