/* SPDX-License-Identifier: Apache-2.0
 * What one policy allows that another does not. */
#ifndef ABX_POLICY_COMPARE_H
#define ABX_POLICY_COMPARE_H

#include "policy/policy.h"

enum finding_change {
    FINDING_WIDER, /* the policy after allows more */
    FINDING_NARROWER,
    FINDING_CHANGED, /* a setting: neither is more than the other */
    FINDING_IDLE /* a rule of the policy after that decides nothing */
};

struct finding {
    enum finding_change change;
    char *request; /* "read", "write", "exec", "connect", "GET", "listen", "socket", "action",
                      "credential" or "setting" */
    char *example; /* its target; a request that is decided so, or the name of the setting */
    char *before, *after; /* verdicts, or values */
    char *rule_before, *rule_after; /* "source#id" */
};

/* *ret_relation: ABX_RELATION_*.  Adds struct finding, which the caller releases.
 * ABX_ERR_UNSUPPORTED: there are too many ways to be sure. */
abx_status policy_compare(abx_policy *before, abx_policy *after, uint32_t *ret_relation,
        struct vec *ret_findings, struct fail *fail);
void findings_done(struct vec *findings);

#endif
