/* SPDX-License-Identifier: Apache-2.0
 * What one policy allows that another does not. */
#ifndef ABX_POLICY_COMPARE_H
#define ABX_POLICY_COMPARE_H

#include "policy/intern.h"
#include "policy/policy.h"

enum finding_change {
    FINDING_WIDER, /* the policy after allows more */
    FINDING_NARROWER,
    FINDING_CHANGED, /* a setting: neither is more than the other */
    FINDING_IDLE /* a rule of the policy after that decides nothing */
};

/* Its texts are the findings'. */
struct finding {
    enum finding_change change;
    const char *request; /* "read", "write", "exec", "connect", "GET", "listen", "socket", "action",
                      "credential" or "setting" */
    const char *example; /* its target; a request that is decided so, or the name of the setting */
    const char *before, *after; /* verdicts, or values */
    const char *rule_before, *rule_after; /* "source#id" */
};

struct findings {
    struct vec rows; /* struct finding */
    struct intern texts;
};

/* *ret_relation: ABX_RELATION_*.  The caller releases the findings.  ABX_ERR_UNSUPPORTED: there are
 * too many ways to be sure. */
abx_status policy_compare(abx_policy *before, abx_policy *after, uint32_t *ret_relation,
        struct findings *ret_findings, struct fail *fail);
void findings_done(struct findings *findings);

#endif
