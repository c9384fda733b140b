/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/render.h"

#include "api/door.h"
#include "audit/redact.h"
#include "backend/backend.h"
#include "event/names.h"
#include "supervise/replay.h"
#include "supervise/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const columns[] = { "file", "records", "first", "last", "hash", "state", "line",
    "byte", "problem", "redacted" };
static const char *const states[] = {
    [ABX_AUDIT_WHOLE] = "whole", [ABX_AUDIT_TORN] = "torn", [ABX_AUDIT_BROKEN] = "broken"
};

static bool
add_row(abx_report *report, const char *path, const struct audit_file *file)
{
    const bool is_whole = file->state == ABX_AUDIT_WHOLE;
    const uint64_t values[] = { file->records, file->first, file->last, file->line, file->byte,
        file->redacted };
    char texts[N_ELEMENTS(values)][24];

    for (size_t i = 0; i < N_ELEMENTS(values); i++) {
        snprintf(texts[i], sizeof texts[i], "%" PRIu64, values[i]);
    }
    return report_add(report, (const char *const[]){ path, texts[0], texts[1], texts[2], file->hash,
                                      states[file->state], is_whole ? "" : texts[3],
                                      is_whole ? "" : texts[4], file->problem, texts[5] });
}

abx_status
abx_audit_verify(
        const char *const *paths, size_t count, abx_report **ret_report, abx_error **reterr)
{
    const uint32_t may = MAY_INVALID | MAY_NOMEM | MAY_IO;
    AUTO(report_unrefp) abx_report *report = NULL;
    struct audit_file file = { .state = ABX_AUDIT_WHOLE };
    struct fail fail = { 0 };
    struct chain chain;
    abx_status r;

    if (paths == NULL || count == 0 || ret_report == NULL) {
        fail_set(&fail, ABX_ERR_INVALID, 0, "", "NULL argument, or no file");
        return door_out(&fail, may, reterr);
    }
    report = report_new(columns, N_ELEMENTS(columns));
    r = report == NULL ? fail_nomem(&fail) : ABX_OK;
    chain_begin(&chain);
    for (size_t i = 0; r == ABX_OK && file.state == ABX_AUDIT_WHOLE && i < count; i++) {
        r = audit_read_path(paths[i], i + 1 == count, &chain, NULL, &file, &fail);
        if (r == ABX_OK && !add_row(report, paths[i], &file)) {
            r = fail_nomem(&fail);
        }
    }
    if (r < 0) {
        return door_out(&fail, may, reterr);
    }
    *ret_report = steal_ptr(&report);
    return (abx_status)file.state;
}

/* ---- for people ---- */
static abx_status
render_files(const char *const *paths, size_t count, struct rendering *rendering,
        struct audit_file *file, struct fail *fail)
{
    const struct audit_visitor visitor = { render_record, rendering };
    char problem[256];
    abx_status r;

    rendering->renderer->begin(&rendering->out);
    r = audit_visit(paths, count, &visitor, file, problem, fail);
    if (r == ABX_OK) {
        rendering->renderer->end(&rendering->out, problem);
    }
    return r;
}

/* A word that is none would show nothing, as if there were nothing. */
static abx_status
check_layer(const char *layer, struct fail *fail)
{
    AUTO(str_done) struct str words = { 0 };
    const char *word;

    if (layer == NULL) {
        return ABX_OK;
    }
    for (uint32_t i = 1; (word = name_of_layer(i)) != NULL; i++) {
        if (strcmp(word, layer) == 0) {
            return ABX_OK;
        }
        str_printf(&words, "%s%s", i == 1 ? "" : ", ", word);
    }
    if (words.failed) {
        return fail_nomem(fail);
    }
    return fail_set(
            fail, ABX_ERR_INVALID, 0, "", "the layer '%.40s' is none of %s", layer, words.data);
}

abx_status
abx_audit_render(const char *const *paths, size_t count, const char *format, const char *layer,
        char **ret_text, size_t *ret_length, abx_error **reterr)
{
    const uint32_t may = MAY_INVALID | MAY_NOMEM | MAY_IO;
    struct rendering rendering = { .renderer = renderer_find(format == NULL ? "text" : format),
        .layer = layer };
    struct audit_file file = { .state = ABX_AUDIT_WHOLE };
    struct fail fail = { 0 };
    char *text;
    abx_status r;

    if (paths == NULL || count == 0 || ret_text == NULL || rendering.renderer == NULL) {
        fail_set(&fail, ABX_ERR_INVALID, 0, "", "NULL argument, no file, or an unknown format");
        return door_out(&fail, may, reterr);
    }
    r = check_layer(layer, &fail);
    if (r == ABX_OK) {
        r = render_files(paths, count, &rendering, &file, &fail);
    }
    if (r < 0) {
        str_done(&rendering.out);
        return door_out(&fail, may, reterr);
    }
    text = str_steal(&rendering.out, ret_length);
    if (text == NULL) {
        fail_nomem(&fail);
        return door_out(&fail, may, reterr);
    }
    *ret_text = text;
    return (abx_status)file.state;
}

/* ---- taking out what they say ---- */

static abx_report *
report_redacted(const struct vec *files)
{
    static const char *const names[] = { "file", "records" };
    abx_report *report = report_new(names, N_ELEMENTS(names));

    for (size_t i = 0; report != NULL && i < files->count; i++) {
        const struct redacted_file *file = vec_at(files, struct redacted_file, i);
        char number[24];

        snprintf(number, sizeof number, "%" PRIu64, file->records);
        if (!report_add(report, (const char *const[]){ file->name, number })) {
            abx_report_unref(report);
            return NULL;
        }
    }
    return report;
}

abx_status
abx_audit_redact(const char *path, const char *records, abx_report **ret_report, abx_error **reterr)
{
    const uint32_t may = MAY_INVALID | MAY_NOMEM | MAY_IO;
    abx_report *report;
    struct fail fail = { 0 };
    struct vec files;
    abx_status r;

    if (path == NULL || records == NULL || ret_report == NULL) {
        fail_set(&fail, ABX_ERR_INVALID, 0, "", "NULL argument");
        return door_out(&fail, may, reterr);
    }
    r = audit_redact(path, records, &files, &fail);
    report = r == ABX_OK ? report_redacted(&files) : NULL;
    r = r == ABX_OK && report == NULL ? fail_nomem(&fail) : r;
    redacted_done(&files);
    if (r < 0) {
        return door_out(&fail, may, reterr);
    }
    *ret_report = report;
    return ABX_OK;
}

/* ---- what a policy says of them ---- */

abx_status
abx_audit_replay(abx_policy *policy, const char *const *paths, size_t count,
        abx_report **ret_report, abx_error **reterr)
{
    const uint32_t may = MAY_INVALID | MAY_NOMEM | MAY_IO | MAY_POLICY | MAY_SETUP;
    struct fail fail = { 0 };
    abx_status outcome;

    if (policy == NULL || paths == NULL || count == 0 || ret_report == NULL) {
        fail_set(&fail, ABX_ERR_INVALID, 0, "", "NULL argument, or no file");
        return door_out(&fail, may, reterr);
    }
    outcome = replay_log(policy, backend_pick()->host, paths, count, ret_report, &fail);
    return outcome < 0 ? door_out(&fail, may, reterr) : outcome;
}
