/* SPDX-License-Identifier: Apache-2.0
 * The public face of decisions: argument checks, then one call down.  Pure, any thread. */
#include "api/door.h"
#include "base/str.h"
#include "policy/explain.h"
#include "policy/rules.h"

#include <stddef.h>
#include <string.h>

/* A request of an older or newer client as this build knows it: what it does not have is zero. */
static abx_status
read_request(const abx_request *request, abx_request *ret_request)
{
    struct fail fail;

    if (request == NULL) {
        return ABX_ERR_INVALID;
    }
    if (struct_in(ret_request, sizeof *ret_request, REQUEST_V1, request, &fail) < 0) {
        return fail.status;
    }
    return policy_request_is_valid(ret_request) ? ABX_OK : ABX_ERR_INVALID;
}

abx_status
abx_policy_evaluate(abx_policy *policy, const abx_request *request, abx_decision *decision)
{
    abx_decision answer = { 0 };
    struct ruling ruling;
    abx_request own;
    abx_status r = read_request(request, &own);

    if (policy == NULL || decision == NULL) {
        return ABX_ERR_INVALID;
    }
    if (r < 0) {
        return r;
    }
    if (decision->size < offsetof(abx_decision, rule)) {
        return ABX_ERR_ABI;
    }
    policy_decide(policy, &own, &ruling);
    answer.size = decision->size;
    answer.verdict = ruling.verdict;
    answer.rule = ruling.rule;
    answer.layer = ruling.layer;
    memcpy(decision, &answer, answer.size < sizeof answer ? answer.size : sizeof answer);
    return ABX_OK;
}

abx_status
abx_policy_explain(
        abx_policy *policy, const abx_request *request, char **ret_json, size_t *ret_length)
{
    struct str out = { 0 };
    abx_request own;
    abx_status r = read_request(request, &own);

    if (policy == NULL || ret_json == NULL) {
        return ABX_ERR_INVALID;
    }
    if (r < 0) {
        return r;
    }
    policy_explain(policy, &own, &out);
    return door_text(str_steal(&out, ret_length), ret_json);
}

abx_status
abx_policy_intersect(
        abx_policy *ceiling, abx_policy *policy, abx_policy **ret_policy, abx_error **reterr)
{
    struct fail fail = { 0 };

    if (ceiling == NULL || policy == NULL || ret_policy == NULL) {
        fail_set(&fail, ABX_ERR_INVALID, 0, "", "NULL argument");
        return fail_out(&fail, reterr);
    }
    if (policy_intersect(ceiling, policy, ret_policy, &fail) < 0) {
        return fail_out(&fail, reterr);
    }
    return ABX_OK;
}
