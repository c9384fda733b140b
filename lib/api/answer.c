/* SPDX-License-Identifier: Apache-2.0 */
#include "supervise/approvals.h"

#include "api/door.h"

#include <string.h>

#define ANSWER_V1 48u
#define EVIDENCE_MAX (64u << 10)

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
    if (check_expires(answer->expires_ms, "answer:expires", fail) < 0 ||
            check_approver(answer->approver, "answer:approver", fail) < 0) {
        return fail->status;
    }
    if (answer->evidence != NULL && strlen(answer->evidence) > EVIDENCE_MAX) {
        return fail_set(fail, ABX_ERR_INVALID, 0, "answer:evidence",
                "the evidence is longer than %u bytes", EVIDENCE_MAX);
    }
    return ABX_OK;
}

abx_status
abx_context_answer(
        abx_context *context, uint64_t ticket, const abx_answer *answer, abx_error **reterr)
{
    const uint32_t may = MAY_INVALID | MAY_ABI | MAY_STATE | MAY_NOMEM | MAY_IO | MAY_DENIED;
    AUTO(box_unrefp) abx_box *box = NULL;
    struct fail fail = { 0 };
    abx_answer mine;
    abx_status r;

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
    r = approvals_answer(box, ticket, &mine, &fail);
    return r < 0 ? door_out(&fail, may, reterr) : r;
}
