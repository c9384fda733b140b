/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: what a box needs so that requests can be read in it: an authority that
 * programs believe, and whom to believe outside. */
#ifndef ABX_EGRESS_READING_H
#define ABX_EGRESS_READING_H

#include "egress/box.h"

/* The context's; what is in it is made with the first box that reads requests. */
struct reading;
struct reading *reading_new(void); /* NULL: no memory */
void reading_free(struct reading *reading); /* after the last box; NULL is nothing */

/* The box's part; nothing where its policy reads no requests.  Any thread, before the first
 * connection and after the last. */
abx_status reading_open(struct egress_box *box, struct fail *fail);
void reading_close(struct egress_box *box);

/* Egress thread.  Takes the descriptors, which are connected or, outside, -1; nothing was read from
 * them yet.  `name` is where the client wants to, in its spelling of a policy; "" for a proxy. */
void reading_start(struct egress_box *box, const struct errand *errand, const char *name,
        bool is_tls, int inside, int outside);

#endif
