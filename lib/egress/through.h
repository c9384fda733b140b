/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: asks a proxy outside to lead on to a destination (HTTP CONNECT).  Egress
 * thread. */
#ifndef ABX_EGRESS_THROUGH_H
#define ABX_EGRESS_THROUGH_H

#include "egress/box.h"
#include "egress/upstream.h"

struct through;

/* Called once: the status of the answer, of which nothing is left in the socket; or -errno
 * (-EPROTO: it was no answer). */
typedef void (*through_fn)(void *data, int status);

/* Over a connected socket, which stays the caller's.  NULL: no memory, and `fn` is not called. */
struct through *through_start(struct egress_box *box, int fd, const struct upstream_proxy *proxy,
        const struct destination *destination, through_fn fn, void *data);
void through_cancel(struct through *through);

#endif
