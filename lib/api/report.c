/* SPDX-License-Identifier: Apache-2.0 */
#include "supervise/report.h"

#include "api/door.h"

DEFINE_CLEANUP(abx_policy_unref, abx_policy)

/* Something of everything, for hosts that ask without a policy. */
static const char everything[] =
        "{\"version\":1,\"name\":\"preflight\",\"filesystem\":{"
        "\"read\":{\"allow\":[\"/\"],\"deny\":[\"/etc/shadow\"]},\"write\":{\"allow\":[\"/tmp\"]},"
        "\"protect\":{\"defaults\":false}}}";

abx_status
abx_preflight(abx_policy *policy, abx_report **ret_report, abx_error **reterr)
{
    const uint32_t may = MAY_INVALID | MAY_NOMEM | MAY_IO;
    AUTO(abx_policy_unrefp) abx_policy *used = abx_policy_ref(policy);
    struct fail fail = { 0 };

    if (ret_report == NULL) {
        fail_set(&fail, ABX_ERR_INVALID, 0, "", "NULL argument");
        return door_out(&fail, may, reterr);
    }
    if (used == NULL) {
        abx_status r = abx_policy_from_json(everything, sizeof everything - 1, &used, reterr);

        if (r < 0) {
            return r;
        }
    }
    if (preflight(backend_pick(), used, ret_report, &fail) < 0) {
        return door_out(&fail, may, reterr);
    }
    return ABX_OK;
}

size_t
abx_report_get_count(abx_report *report)
{
    return report == NULL ? 0 : report_count(report);
}

const char *
abx_report_get_string(abx_report *report, size_t row, const char *column)
{
    return report == NULL || column == NULL ? NULL : report_text(report, row, column);
}

abx_status
abx_report_to_json(abx_report *report, char **ret_json, size_t *ret_length)
{
    if (report == NULL || ret_json == NULL) {
        return ABX_ERR_INVALID;
    }
    return door_text(report_json(report, ret_length), ret_json);
}

abx_report *
abx_report_ref(abx_report *report)
{
    return report == NULL ? NULL : report_ref(report);
}

void
abx_report_unref(abx_report *report)
{
    report_unref(report);
}
