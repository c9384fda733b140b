/* SPDX-License-Identifier: Apache-2.0
 * Inside the questions only. */
#ifndef ABX_SUPERVISE_APPROVALS_PRIVATE_H
#define ABX_SUPERVISE_APPROVALS_PRIVATE_H

#include "supervise/approvals.h"
#include "supervise/telling.h"

/* A yes, as it counts: of one approver, or of two together. */
struct consented {
    uint32_t scope; /* ABX_SCOPE_* */
    int64_t expires_ms; /* 0: as the scope says */
    bool for_command; /* whatever the scope says: until this command ends */
    char *approver; /* owned, or NULL */
    char *evidence; /* digest, owned, or NULL */
};

struct approval {
    uint64_t ticket;
    uint64_t deadline_ns; /* by CLOCK_MONOTONIC, which holds */
    int64_t deadline_ms; /* the same in Unix time, as it is told */
    uint32_t waiters; /* 0: the caller was interrupted and may come back */
    uint64_t waiting_ns; /* when these began to wait, or what was until then was counted */
    struct subject subject;
    struct act act; /* texts are the ones below */
    struct grounds grounds; /* texts live as long as the policy */
    bool unrecorded; /* its answer could not be recorded, so it is a no */
    bool timed_out; /* nobody answered by the deadline */
    bool came_late; /* the yes or the secret did: the delegation had expired */
    char *target, *asked, *verb, *program, *bound;
    char *action; /* what it counts as, or NULL */
    struct consent needs;
    uint32_t n_yes; /* of needs.approvers */
    struct consented yes; /* those so far */
};

/* The box is locked. */
struct approval *approval_find(const struct vec *approvals, uint64_t ticket, size_t *ret_index);
/* NULL stays NULL; `*failed` is set without memory. */
char *approval_copy(const char *text, bool *failed);
/* Whether the verb is a part of what is asked: a method, or the host that gets a secret. */
bool approval_counts_verb(const struct act *act);
/* The host asks for an action: nothing waits for the answer, it asks again. */
bool approval_is_the_hosts(const struct approval *approval);
/* What a yes for longer than once adds, as long as its scope says.  The texts are the question's.
 */
struct grant approval_grant(const struct approval *approval);
/* Wants a secret, not a yes. */
bool approval_is_for_secret(const struct approval *approval);
/* The box is unlocked, and the question out of its list.  Takes it. */
void approval_end(
        abx_box *box, struct approval *approval, abx_verdict verdict, const char *message);

/* consent.c: this yes and the one before it.  ABX_OK: it is enough; ABX_NONE: another approver is
 * needed; ABX_ERR_DENIED: it does not count. */
abx_status consent_count(const struct approval *approval, const abx_answer *answer,
        struct consented *ret_yes, struct fail *fail);
void consented_done(struct consented *consented);

#endif
