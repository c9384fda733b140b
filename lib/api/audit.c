/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/verify.h"

#include "api/door.h"
#include "supervise/report.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static const char *const columns[] = { "file", "records", "first", "last", "hash", "state", "line",
    "byte", "problem" };
static const char *const states[] = {
    [ABX_AUDIT_WHOLE] = "whole", [ABX_AUDIT_TORN] = "torn", [ABX_AUDIT_BROKEN] = "broken"
};

static bool
add_row(abx_report *report, const char *path, const struct audit_file *file)
{
    const bool is_whole = file->state == ABX_AUDIT_WHOLE;
    const uint64_t values[] = { file->records, file->first, file->last, file->line, file->byte };
    char texts[N_ELEMENTS(values)][24];

    for (size_t i = 0; i < N_ELEMENTS(values); i++) {
        snprintf(texts[i], sizeof texts[i], "%" PRIu64, values[i]);
    }
    return report_add(report, (const char *const[]){ path, texts[0], texts[1], texts[2], file->hash,
                                      states[file->state], is_whole ? "" : texts[3],
                                      is_whole ? "" : texts[4], file->problem });
}

/* The outcome, or a failure. */
static abx_status
verify_file(
        const char *path, bool is_last, struct chain *chain, abx_report *report, struct fail *fail)
{
    AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct audit_file file;
    abx_status r;

    if (fd < 0) {
        return fail_set(fail, ABX_ERR_IO, errno, "audit:open", "'%.200s'", path);
    }
    r = audit_read(fd, chain, NULL, &file, fail);
    if (r < 0) {
        return r;
    }
    if (file.state == ABX_AUDIT_TORN && !is_last) {
        file.state = ABX_AUDIT_BROKEN;
    }
    return add_row(report, path, &file) ? (abx_status)file.state : fail_nomem(fail);
}

abx_status
abx_audit_verify(
        const char *const *paths, size_t count, abx_report **ret_report, abx_error **reterr)
{
    const uint32_t may = MAY_INVALID | MAY_NOMEM | MAY_IO;
    AUTO(report_unrefp) abx_report *report = NULL;
    struct fail fail = { 0 };
    struct chain chain;
    abx_status r = ABX_AUDIT_WHOLE;

    if (paths == NULL || count == 0 || ret_report == NULL) {
        fail_set(&fail, ABX_ERR_INVALID, 0, "", "NULL argument, or no file");
        return door_out(&fail, may, reterr);
    }
    report = report_new(columns, N_ELEMENTS(columns));
    r = report == NULL ? fail_nomem(&fail) : ABX_AUDIT_WHOLE;
    chain_begin(&chain);
    for (size_t i = 0; r == ABX_AUDIT_WHOLE && i < count; i++) {
        r = verify_file(paths[i], i + 1 == count, &chain, report, &fail);
    }
    if (r < 0) {
        return door_out(&fail, may, reterr);
    }
    *ret_report = steal_ptr(&report);
    return r;
}
