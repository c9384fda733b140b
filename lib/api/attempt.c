/* SPDX-License-Identifier: Apache-2.0 */
#include "supervise/process.h"

#include "api/door.h"

#include <stddef.h>
#include <string.h>

static abx_status
attempt(abx_box *box, abx_process *process, const abx_request *request, abx_decision *decision,
        uint64_t *ret_ticket, struct fail *fail)
{
    const struct backend *backend = box->context->backend;
    abx_decision answer = { .size = decision->size };
    uint64_t ticket = 0;
    struct ruling ruling;
    abx_status r;

    if (backend->attempt == NULL) {
        return fail_set(fail, ABX_ERR_STATE, 0, "attempt:box",
                "a real box has commands that try things: this is for the simulated backend");
    }
    r = backend->attempt(box->boundary, process == NULL ? 0 : process->id, request, &answer.verdict,
            &ticket, fail);
    if (r < 0) {
        return r;
    }
    policy_decide(box->resolved, request, &ruling);
    answer.verdict = r == ABX_NONE ? ABX_VERDICT_ASK : answer.verdict;
    answer.rule = ruling.rule;
    answer.layer = ruling.layer;
    memcpy(decision, &answer, answer.size < sizeof answer ? answer.size : sizeof answer);
    if (ret_ticket != NULL) {
        *ret_ticket = ticket;
    }
    return r;
}

abx_status
abx_box_attempt(abx_box *box, abx_process *process, const abx_request *request,
        abx_decision *decision, uint64_t *ret_ticket, abx_error **reterr)
{
    const uint32_t may = MAY_INVALID | MAY_ABI | MAY_STATE | MAY_NOMEM | MAY_UNSUPPORTED;
    struct fail fail = { 0 };
    abx_request mine;
    abx_status r;

    if (box == NULL || request == NULL || decision == NULL) {
        fail_set(&fail, ABX_ERR_INVALID, 0, "", "NULL argument");
        return door_out(&fail, may, reterr);
    }
    if (decision->size < offsetof(abx_decision, rule)) {
        fail_set(&fail, ABX_ERR_ABI, 0, "", "the decision is too short");
        return door_out(&fail, may, reterr);
    }
    r = struct_in(&mine, sizeof mine, REQUEST_V1, request, &fail);
    r = r < 0 ? r : attempt(box, process, &mine, decision, ret_ticket, &fail);
    return r < 0 ? door_out(&fail, may, reterr) : r;
}

abx_status
abx_box_outcome(abx_box *box, uint64_t ticket, int64_t timeout_ms, abx_verdict *ret_verdict)
{
    if (box == NULL || ret_verdict == NULL || timeout_ms < -1) {
        return ABX_ERR_INVALID;
    }
    if (box->context->backend->outcome == NULL) {
        return ABX_ERR_STATE;
    }
    return status_filter(
            box->context->backend->outcome(box->boundary, ticket, timeout_ms, ret_verdict),
            MAY_STATE);
}
