/* SPDX-License-Identifier: Apache-2.0 */
#include "supervise/observe.h"

#include "api/door.h"

abx_status
abx_box_suggest(abx_box *box, char **ret_json, size_t *ret_length, abx_error **reterr)
{
    const uint32_t may = MAY_INVALID | MAY_STATE | MAY_NOMEM;
    struct fail fail = { 0 };

    if (box == NULL || ret_json == NULL) {
        fail_set(&fail, ABX_ERR_INVALID, 0, "", "NULL argument");
    } else if (box_suggest(box, ret_json, ret_length, &fail) == ABX_OK) {
        return ABX_OK;
    }
    return door_out(&fail, may, reterr);
}
