/* SPDX-License-Identifier: Apache-2.0
 * The public face of comparisons: argument checks, one call down, findings as rows. */
#include "policy/compare.h"

#include "api/door.h"
#include "base/mem.h"
#include "supervise/report.h"

static const char *const columns[] = { "change", "request", "example", "before", "after",
    "rule_before", "rule_after" };

static const char *const change_words[] = { [FINDING_WIDER] = "wider",
    [FINDING_NARROWER] = "narrower",
    [FINDING_CHANGED] = "changed",
    [FINDING_IDLE] = "idle" };

static abx_report *
make_report(const struct findings *findings)
{
    abx_report *report = report_new(columns, N_ELEMENTS(columns));

    for (size_t i = 0; report != NULL && i < findings->rows.count; i++) {
        const struct finding *finding = vec_at(&findings->rows, struct finding, i);
        const char *texts[] = { change_words[finding->change], finding->request, finding->example,
            finding->before, finding->after, finding->rule_before, finding->rule_after };

        if (!report_add(report, texts)) {
            report_unref(report);
            report = NULL;
        }
    }
    return report;
}

abx_status
abx_policy_compare(
        abx_policy *before, abx_policy *after, abx_report **ret_report, abx_error **reterr)
{
    const uint32_t may = MAY_INVALID | MAY_NOMEM | MAY_UNSUPPORTED;
    struct fail fail = { 0 };
    struct findings findings;
    uint32_t relation = 0;
    abx_report *report;

    if (before == NULL || after == NULL || ret_report == NULL) {
        fail_set(&fail, ABX_ERR_INVALID, 0, "", "NULL argument");
        return door_out(&fail, may, reterr);
    }
    if (policy_compare(before, after, &relation, &findings, &fail) < 0) {
        return door_out(&fail, may, reterr);
    }
    report = make_report(&findings);
    findings_done(&findings);
    if (report == NULL) {
        fail_nomem(&fail);
        return door_out(&fail, may, reterr);
    }
    *ret_report = report;
    return (abx_status)relation;
}
