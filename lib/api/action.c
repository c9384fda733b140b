/* SPDX-License-Identifier: Apache-2.0 */
#include "supervise/actions.h"

#include "api/door.h"

#define DECISION_V1 16u

static abx_status
check_action(const abx_request *request, struct fail *fail)
{
    return request->kind != ABX_REQUEST_ACTION || request->target == NULL || request->access != 0 ||
                           request->port != 0
                   ? fail_set(fail, ABX_ERR_INVALID, 0, "request:kind",
                             "an action has a name, maybe arguments, and nothing else")
                   : ABX_OK;
}

abx_status
abx_box_request(abx_box *box, const abx_request *request, abx_decision *decision,
        uint64_t *ret_ticket, char **ret_json, abx_error **reterr)
{
    const uint32_t may = MAY_INVALID | MAY_ABI | MAY_STATE | MAY_NOMEM;
    abx_decision mine = { .size = sizeof mine };
    struct fail fail = { 0 };
    uint64_t ticket = 0;
    abx_request own;
    char *json = NULL;
    abx_status r;

    if (box == NULL || request == NULL || decision == NULL) {
        fail_set(&fail, ABX_ERR_INVALID, 0, "", "NULL argument");
        return door_out(&fail, may, reterr);
    }
    if (decision->size < DECISION_V1) {
        fail_set(&fail, ABX_ERR_ABI, 0, "", "a decision is too short");
        return door_out(&fail, may, reterr);
    }
    if (struct_in(&own, sizeof own, REQUEST_V1, request, &fail) < 0 ||
            check_action(&own, &fail) < 0) {
        return door_out(&fail, may, reterr);
    }
    r = action_request(box, own.target, own.verb, &mine, &ticket, &json, &fail);
    if (r < 0) {
        return door_out(&fail, may, reterr);
    }
    struct_out(decision, DECISION_V1, &mine, sizeof mine, &fail);
    if (ret_ticket != NULL) {
        *ret_ticket = ticket;
    }
    if (ret_json != NULL) {
        *ret_json = json;
    } else {
        abx_free(json);
    }
    return r;
}
