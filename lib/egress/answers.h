/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: what is looked for in answers, and what it becomes: every form of every
 * secret, its stand-in in the same form. */
#ifndef ABX_EGRESS_ANSWERS_H
#define ABX_EGRESS_ANSWERS_H

#include "egress/needles.h"

#include "base/vec.h"

/* A secret, and what stands for it; borrowed. */
struct known {
    const struct vault *value;
    const char *stand_in;
    const char *key_id; /* of a key that signs, ID:SECRET or ID:SECRET:TOKEN; else NULL */
    const char *const *users; /* that it was sent with as Basic, NULL-terminated */
};

/* Immutable; the count is not atomic: one thread. */
struct answers {
    unsigned references;
    struct needles *needles;
    struct vec texts; /* char *, by the needle's id */
};

struct answers *answers_new(const struct known *list, size_t n); /* NULL: no memory */
struct answers *answers_ref(struct answers *answers);
void answers_unref(struct answers *answers);

#endif
