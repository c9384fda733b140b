/* SPDX-License-Identifier: Apache-2.0
 * Inside the questions only. */
#ifndef ABX_SUPERVISE_APPROVALS_PRIVATE_H
#define ABX_SUPERVISE_APPROVALS_PRIVATE_H

#include "supervise/approvals.h"
#include "supervise/telling.h"

struct approval {
    uint64_t ticket;
    uint64_t deadline_ns;
    uint32_t waiters; /* 0: the caller was interrupted and may come back */
    struct subject subject;
    struct act act; /* texts are the ones below */
    struct grounds grounds; /* texts live as long as the policy */
    char *target, *asked, *verb, *program;
};

/* The box is locked. */
struct approval *approval_find(const struct vec *approvals, uint64_t ticket, size_t *ret_index);
/* NULL stays NULL; `*failed` is set without memory. */
char *approval_copy(const char *text, bool *failed);
/* Whether the verb is a part of what is asked: a method, or the host that gets a secret. */
bool approval_counts_verb(const struct act *act);
/* Wants a secret, not a yes. */
bool approval_is_for_secret(const struct approval *approval);
/* The box is unlocked, and the question out of its list.  Takes it. */
void approval_end(
        abx_box *box, struct approval *approval, abx_verdict verdict, const char *message);

#endif
