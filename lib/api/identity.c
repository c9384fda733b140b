/* SPDX-License-Identifier: Apache-2.0 */
#include "supervise/identity.h"

#include "api/door.h"

abx_status
abx_identity_new(const char *principal, const char *agent_session, const char *delegation,
        int64_t delegation_expires_ms, abx_identity **ret_identity, abx_error **reterr)
{
    struct fail fail = { 0 };

    if (principal == NULL || agent_session == NULL || ret_identity == NULL) {
        fail_set(&fail, ABX_ERR_INVALID, 0, "identity:text",
                "an identity has a principal and an agent session, and neither is NULL");
    } else if (identity_new(principal, agent_session, delegation, delegation_expires_ms,
                       ret_identity, &fail) == ABX_OK) {
        return ABX_OK;
    }
    return door_out(&fail, MAY_INVALID | MAY_NOMEM, reterr);
}

abx_identity *
abx_identity_ref(abx_identity *identity)
{
    return identity_ref(identity);
}

void
abx_identity_unref(abx_identity *identity)
{
    identity_unref(identity);
}
