/* SPDX-License-Identifier: Apache-2.0
 * The mask: a small FUSE file system, served by the supervisor, whose entries are bound over the
 * places that may not be read, so that each attempt is a request with a name and a pid. */
#ifndef ABX_LINUX_MASK_H
#define ABX_LINUX_MASK_H

#include "linux/boundary.h"

/* Reads the plan's places; NULL and fail set without memory. */
struct mask *mask_new(struct boundary *boundary, struct fail *fail);
/* Whether the plan has anything to mask. */
bool mask_needed(const struct plan *plan);
#define MASK_ENTRY_ROOM 24

/* Name, directly below the mounted mask, of the entry to bind over place `i` of the plan; false if
 * that place is not the top of a masked region.  Pure, without memory of its own: lower.c calls it
 * before mask_new. */
bool mask_entry(const struct plan *plan, size_t i, char name[MASK_ENTRY_ROOM]);
/* Takes the descriptor of /dev/fuse that init opened; from now on requests are served, on the
 * thread of the boundary's mask_loop.  Whoever calls these waits for that thread, which waits for
 * none: not for memory of the box, nor for a lock that is held while that is read. */
abx_status mask_attach(struct mask *mask, int fuse, struct fail *fail);
void mask_answer(struct mask *mask, uint64_t ticket, abx_verdict verdict);
void mask_free(struct mask *mask);

#endif
