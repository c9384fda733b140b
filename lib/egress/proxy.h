/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: a connection to the explicit proxy, on which HTTP or SOCKS says where to.
 * Egress thread. */
#ifndef ABX_EGRESS_PROXY_H
#define ABX_EGRESS_PROXY_H

#include "egress/box.h"

/* Takes the descriptor; copies the errand, whose destination has no name. */
void proxy_start(struct egress_box *box, const struct errand *errand, int fd);

#endif
