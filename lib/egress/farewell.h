/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: the last bytes to a peer.  A close with something unread is a reset,
 * which throws away what was written; so this reads on until the peer is done. */
#ifndef ABX_EGRESS_FAREWELL_H
#define ABX_EGRESS_FAREWELL_H

#include "egress/box.h"

/* Egress thread.  Takes the descriptor (non-blocking).  Without bytes: a reset at once. */
void farewell(struct egress_box *box, int fd, const void *bytes, size_t length);

#endif
