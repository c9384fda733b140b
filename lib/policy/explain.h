/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ABX_POLICY_EXPLAIN_H
#define ABX_POLICY_EXPLAIN_H

#include "base/str.h"
#include "policy/policy.h"

/* The decision as JSON, with every rule that matched and why it lost. */
void policy_explain(abx_policy *policy, const abx_request *request, struct str *out);

#endif
