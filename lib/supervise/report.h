/* SPDX-License-Identifier: Apache-2.0
 * Rows of findings, each with a feature, its state, a detail and a remedy. */
#ifndef ABX_SUPERVISE_REPORT_H
#define ABX_SUPERVISE_REPORT_H

#include "supervise/context.h"

abx_report *report_new(void);
/* Copies; false without memory. */
bool report_add(abx_report *report, const char *feature, const char *state, const char *detail,
        const char *remedy);
size_t report_count(const abx_report *report);
/* NULL: no such row or column. */
const char *report_text(const abx_report *report, size_t row, const char *column);
char *report_json(const abx_report *report, size_t *ret_length);
abx_report *report_ref(abx_report *report);
void report_unref(abx_report *report);
DEFINE_CLEANUP(report_unref, abx_report)

/* preflight.c: what the host can enforce, tried in a throw-away box. */
abx_status preflight(const struct backend *backend, abx_policy *policy, abx_report **ret_report,
        struct fail *fail);

#endif
