/* SPDX-License-Identifier: Apache-2.0
 * Owns abx_report, which is immutable once it was handed out. */
#include "supervise/report.h"

#include "base/mem.h"
#include "base/str.h"
#include "policy/intern.h"

#include <stdlib.h>
#include <string.h>

struct report_row {
    const char *texts[REPORT_COLUMNS_MAX]; /* the report's */
};

struct abx_report {
    atomic_uint references;
    const char *const *columns;
    size_t n_columns;
    struct vec rows; /* struct report_row */
    struct intern texts; /* each once, since most stand in many rows */
};

abx_report *
report_new(const char *const *columns, size_t n_columns)
{
    abx_report *report = calloc(1, sizeof *report);

    if (report != NULL) {
        atomic_init(&report->references, 1);
        report->columns = columns;
        report->n_columns = n_columns;
        report->rows = VEC(struct report_row);
        intern_init(&report->texts);
    }
    return report;
}

bool
report_add(abx_report *report, const char *const *texts)
{
    struct report_row *row = vec_add(&report->rows);
    AUTO(str_done) struct str escaped = { 0 };
    bool ok = row != NULL;

    for (size_t i = 0; ok && i < report->n_columns; i++) {
        uint32_t number;

        escaped.length = 0;
        str_add_escaped(&escaped, texts[i], strlen(texts[i]), false);
        str_add_bytes(&escaped, "", 1);
        number = escaped.failed ? INTERN_NONE
                                : intern_put(&report->texts, escaped.data, escaped.length);
        ok = number != INTERN_NONE;
        row->texts[i] = ok ? intern_bytes(&report->texts, number, NULL) : NULL;
    }
    return ok;
}

size_t
report_count(const abx_report *report)
{
    return report->rows.count;
}

const char *
report_text(const abx_report *report, size_t row, const char *column)
{
    for (size_t i = 0; i < report->n_columns && row < report->rows.count; i++) {
        if (strcmp(report->columns[i], column) == 0) {
            return vec_at(&report->rows, struct report_row, row)->texts[i];
        }
    }
    return NULL;
}

char *
report_json(const abx_report *report, size_t *ret_length)
{
    struct str out = { 0 };

    str_add(&out, "[");
    for (size_t row = 0; row < report->rows.count; row++) {
        str_add(&out, row == 0 ? "{" : ",{");
        for (size_t i = 0; i < report->n_columns; i++) {
            str_printf(&out, "%s\"%s\":", i == 0 ? "" : ",", report->columns[i]);
            str_add_json(&out, vec_at(&report->rows, struct report_row, row)->texts[i]);
        }
        str_add(&out, "}");
    }
    str_add(&out, "]");
    return str_steal(&out, ret_length);
}

abx_report *
report_ref(abx_report *report)
{
    atomic_fetch_add_explicit(&report->references, 1, memory_order_relaxed);
    return report;
}

void
report_unref(abx_report *report)
{
    if (report == NULL ||
            atomic_fetch_sub_explicit(&report->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    vec_done(&report->rows);
    intern_done(&report->texts);
    free(report);
}
