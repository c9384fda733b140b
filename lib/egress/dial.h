/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: connects outside, to the addresses that a name really has, each checked
 * against the policy just before it is dialled.  Names are looked up
 * by getaddrinfo on threads of their own (nsswitch, VPN and split DNS keep working). */
#ifndef ABX_EGRESS_DIAL_H
#define ABX_EGRESS_DIAL_H

#include "egress/egress.h"

struct dial;

/* Called once, on the egress thread: a connected non-blocking descriptor (the callee's) and error
 * 0; or -1 and an errno.  `refusal` is not NULL where the policy said no (EACCES; the event has
 * been made). */
typedef void (*dial_fn)(void *data, int fd, int error, const struct refusal *refusal);

/* What the connection is for. */
enum dial_use {
    DIAL_TUNNEL, /* any bytes; what gets there is the destination's */
    DIAL_PLAIN /* requests that are not encrypted: where a proxy outside takes them, the connection
                  is the proxy's (upstream_of) */
};

/* Egress thread.  The name was allowed already, or the address, if it is one.  NULL: `fn` has been
 * called. */
struct dial *dial_start(struct egress_box *box, const struct subject *subject,
        const struct destination *destination, enum dial_use use, dial_fn fn, void *data);
void dial_cancel(struct dial *dial);

#endif
