/* SPDX-License-Identifier: Apache-2.0
 * Rows of findings, each with a text in every column. */
#ifndef ABX_SUPERVISE_REPORT_H
#define ABX_SUPERVISE_REPORT_H

#include "supervise/context.h"

#define REPORT_COLUMNS_MAX 12u

/* The names of the columns outlive the report. */
abx_report *report_new(const char *const *columns, size_t n_columns);
/* Copies a text for each column, escaped; false without memory. */
bool report_add(abx_report *report, const char *const *texts);
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
