/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: a connection whose program believes that it speaks with the destination,
 * from its first bytes on.  Egress thread. */
#ifndef ABX_EGRESS_TRANSPARENT_H
#define ABX_EGRESS_TRANSPARENT_H

#include "egress/box.h"

/* Takes the descriptors; `outside` -1: nothing has been dialled yet.  That the destination is
 * allowed was decided; what is outside is what the errand's `relay` says.  Copies the errand. */
void transparent_start(
        struct egress_box *box, const struct errand *errand, int inside, int outside);

#endif
