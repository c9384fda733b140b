/* SPDX-License-Identifier: Apache-2.0 */
#include "supervise/approvals.h"

#include "api/door.h"

abx_status
abx_box_set_credential(abx_box *box, const char *name, const void *secret, size_t length,
        int64_t expires_ms, abx_error **reterr)
{
    const uint32_t may = MAY_INVALID | MAY_STATE | MAY_NOMEM | MAY_IO;
    struct fail fail = { 0 };

    if (box == NULL || name == NULL || secret == NULL || expires_ms < 0) {
        fail_set(&fail, ABX_ERR_INVALID, 0, "", "NULL or negative argument");
    } else if (approvals_set_secret(box, name, secret, length, expires_ms, &fail) == ABX_OK) {
        return ABX_OK;
    }
    return door_out(&fail, may, reterr);
}

abx_status
abx_context_supply(abx_context *context, uint64_t ticket, const void *secret, size_t length,
        int64_t expires_ms, abx_error **reterr)
{
    const uint32_t may = MAY_INVALID | MAY_STATE | MAY_NOMEM | MAY_IO | MAY_DENIED;
    AUTO(box_unrefp) abx_box *box = NULL;
    struct fail fail = { 0 };

    if (context == NULL || secret == NULL || expires_ms < 0) {
        fail_set(&fail, ABX_ERR_INVALID, 0, "", "NULL or negative argument");
        return door_out(&fail, may, reterr);
    }
    box = approvals_find_box(context, ticket);
    if (box == NULL) {
        fail_set(&fail, ABX_ERR_STATE, 0, "supply:ticket", "no open question has this ticket");
        return door_out(&fail, may, reterr);
    }
    if (approvals_supply(box, ticket, secret, length, expires_ms, &fail) < 0) {
        return door_out(&fail, may, reterr);
    }
    return ABX_OK;
}
