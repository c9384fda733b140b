/* SPDX-License-Identifier: Apache-2.0
 * On whose behalf a box acts: who asked, which agent session acts, and the delegation that it acts
 * under.  Immutable, any thread. */
#ifndef ABX_SUPERVISE_IDENTITY_H
#define ABX_SUPERVISE_IDENTITY_H

#include "base/fail.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdatomic.h>

#define IDENTITY_TEXT_MAX 256u

struct abx_identity {
    atomic_uint references;
    char *principal, *agent_session;
    char *delegation; /* or NULL: it acts under none */
    int64_t expires_ms; /* of the delegation, Unix time; 0: never */
    uint64_t expires_ns; /* the same by CLOCK_MONOTONIC */
    char *field; /* as a request has it: principal="kim", agent-session="s-1" */
    char *is_over_because; /* what a denial after that says */
};

abx_status identity_new(const char *principal, const char *agent_session, const char *delegation,
        int64_t expires_ms, abx_identity **ret_identity, struct fail *fail);
abx_identity *identity_ref(abx_identity *identity); /* NULL stays NULL */
void identity_unref(abx_identity *identity);
DEFINE_CLEANUP(identity_unref, abx_identity)

/* Whether its delegation has expired by either clock: one stands while the machine sleeps, the
 * other can be set back.  NULL: no. */
bool identity_is_over(const abx_identity *identity);
/* ABX_ERR_DENIED: it has, and `fail` says so. */
abx_status identity_check(const abx_identity *identity, struct fail *fail);
/* {"principal":...}, or null. */
void identity_json(const abx_identity *identity, struct str *out);

#endif
