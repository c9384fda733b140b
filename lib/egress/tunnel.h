/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: bytes from one connection to another, both ways, as they are: with
 * back-pressure, half-closes and resets.  Egress thread. */
#ifndef ABX_EGRESS_TUNNEL_H
#define ABX_EGRESS_TUNNEL_H

#include "egress/box.h"

enum hold {
    HOLD_NOTHING,
    HOLD_CLIENT, /* what the box sends waits in its socket; the other way flows */
    HOLD_BOTH
};

/* Who looks at what a held client sends. */
struct watch {
    void (*look)(void *data); /* something new may be there to peek at; last thing that is done */
    void (*gone)(void *data); /* the tunnel ended while it was held */
    void *data;
};

struct tunnel;

/* Takes both descriptors (non-blocking; `outside` may still be connecting).  NULL: it could not,
 * and both are closed.  `errand` NULL: no program of the box wanted it. */
struct tunnel *tunnel_start(struct egress_box *box, const struct errand *errand, int inside,
        int outside, enum hold hold, const struct watch *watch);

/* The next three end a watch.  The tunnel lives on, by itself. */
void tunnel_release(struct tunnel *tunnel);
/* The client gets these last bytes (none: a reset), the other side a reset. */
void tunnel_refuse(struct tunnel *tunnel, const void *bytes, size_t length);
/* Frees it and gives its descriptors away, with what is held still in them. */
void tunnel_take(struct tunnel *tunnel, int *ret_inside, int *ret_outside);

/* While it is held: the box's side. */
int tunnel_client(const struct tunnel *tunnel);

#endif
