/* SPDX-License-Identifier: Apache-2.0 */
#include "supervise/approvals.h"

#include "api/door.h"

#define ANSWER_V1 48u

static abx_status
check(const abx_answer *answer, struct fail *fail)
{
    if (answer->verdict > ABX_VERDICT_ALLOW || answer->scope > ABX_SCOPE_UNTIL ||
            answer->reserved != 0) {
        return fail_set(fail, ABX_ERR_INVALID, 0, "answer:value",
                "an answer is allow or deny, in a known scope");
    }
    if ((answer->scope == ABX_SCOPE_UNTIL) != (answer->expires_ms != 0)) {
        return fail_set(fail, ABX_ERR_INVALID, 0, "answer:expires",
                "expires_ms belongs to ABX_SCOPE_UNTIL, and to no other scope");
    }
    if (answer->evidence != NULL) {
        return fail_set(fail, ABX_ERR_UNSUPPORTED, 0, "answer:evidence",
                "this version has no audit log to keep evidence in");
    }
    return ABX_OK;
}

abx_status
abx_context_answer(
        abx_context *context, uint64_t ticket, const abx_answer *answer, abx_error **reterr)
{
    const uint32_t may = MAY_INVALID | MAY_ABI | MAY_STATE | MAY_NOMEM | MAY_UNSUPPORTED;
    AUTO(box_unrefp) abx_box *box = NULL;
    struct fail fail = { 0 };
    abx_answer mine;

    if (context == NULL || answer == NULL) {
        fail_set(&fail, ABX_ERR_INVALID, 0, "", "NULL argument");
        return door_out(&fail, may, reterr);
    }
    if (struct_in(&mine, sizeof mine, ANSWER_V1, answer, &fail) < 0 || check(&mine, &fail) < 0) {
        return door_out(&fail, may, reterr);
    }
    box = approvals_find_box(context, ticket);
    if (box == NULL) {
        fail_set(&fail, ABX_ERR_STATE, 0, "answer:ticket", "no open question has this ticket");
        return door_out(&fail, may, reterr);
    }
    if (approvals_answer(box, ticket, &mine, &fail) < 0) {
        return door_out(&fail, may, reterr);
    }
    return ABX_OK;
}
