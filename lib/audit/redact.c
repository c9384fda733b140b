/* SPDX-License-Identifier: Apache-2.0
 * Owns redacting: the files of a log are read as one chain, and those that have such records are
 * written anew beside themselves and renamed.  The log's lock is held all the time, so nobody
 * appends to a file, begins a next one or redacts meanwhile; writers find the new file under the
 * log's name afterwards.  A crash leaves each file as it was or done, and the record of the act. */
#include "audit/redact.h"

#include "audit/files.h"
#include "audit/log.h"
#include "audit/verify.h"
#include "base/file.h"
#include "base/mem.h"
#include "event/event.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIST_BYTES_MAX 65536u /* of what is asked for, which becomes a record */
#define WRITE_BYTES 65536u

DEFINE_CLEANUP(audit_close, struct audit_log)

/* Records from one number to another. */
struct span {
    uint64_t first, last;
};

/* A file of the log, and what of it is asked for. */
struct part {
    char *name;
    struct chain before;
    uint64_t wanted;
};

struct redaction {
    struct audit_log *log; /* its lock is held */
    const char *list; /* as it was asked for */
    struct vec spans; /* struct span */
    struct vec parts; /* struct part, oldest first */
    uint64_t first, last; /* numbers of the log's records */
};

/* ---- what is asked for ---- */

static bool
take_number(const char **at, uint64_t *ret_number)
{
    char *end;

    if (**at < '1' || **at > '9') {
        return false;
    }
    errno = 0;
    *ret_number = strtoull(*at, &end, 10);
    *at = end;
    return errno == 0;
}

static bool
take_span(const char **at, struct span *span)
{
    if (!take_number(at, &span->first)) {
        return false;
    }
    span->last = span->first;
    if (**at == '-') {
        (*at)++;
        return take_number(at, &span->last) && span->last >= span->first;
    }
    return true;
}

static abx_status
parse_list(struct redaction *redaction, struct fail *fail)
{
    const char *at = redaction->list;

    for (;;) {
        struct span span, *slot;

        if (strlen(at) > LIST_BYTES_MAX || !take_span(&at, &span) || (*at != ',' && *at != '\0')) {
            fail_set(fail, ABX_ERR_INVALID, 0, "",
                    "'%.100s' is no list of records, at character %zu", redaction->list,
                    (size_t)(at - redaction->list) + 1);
            fail_remedy(
                    fail, "give numbers and ranges, such as 3,7-9; 'agentbox audit show' has them");
            return fail->status;
        }
        slot = vec_add(&redaction->spans);
        if (slot == NULL) {
            return fail_nomem(fail);
        }
        *slot = span;
        if (*at++ == '\0') {
            return ABX_OK;
        }
    }
}

/* What the log says of itself tells where it goes on and what was done to it. */
static bool
is_wanted(const struct redaction *redaction, const struct record *record)
{
    if (record->body == NULL || record_is_own(record)) {
        return false;
    }
    for (size_t i = 0; i < redaction->spans.count; i++) {
        const struct span *span = vec_at(&redaction->spans, struct span, i);

        if (record->n >= span->first && record->n <= span->last) {
            return true;
        }
    }
    return false;
}

/* ---- what is there ---- */

static abx_status
open_part(const struct audit_log *log, const char *name, int *ret_fd, struct stat *ret_file,
        struct fail *fail)
{
    AUTO(closep)
    int fd = openat(log->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    abx_status r;

    if (fd < 0 || fstat(fd, ret_file) != 0) {
        return fail_set(fail, ABX_ERR_IO, errno, "audit:open", "'%.200s'", name);
    }
    r = audit_check_file(name, ret_file, fail);
    if (r == ABX_OK && ret_file->st_nlink > 1) {
        fail_set(fail, ABX_ERR_IO, 0, "audit:open",
                "'%.200s' has another name (a hard link), which would keep what is redacted", name);
        fail_remedy(fail, "remove the other name");
        return fail->status;
    }
    if (r == ABX_OK) {
        *ret_fd = fd;
        fd = -1;
    }
    return r;
}

struct counting {
    const struct redaction *redaction;
    struct part *part;
};

static bool
count_record(void *data, const struct record *record)
{
    struct counting *counting = data;

    counting->part->wanted += is_wanted(counting->redaction, record);
    return true;
}

static abx_status
not_whole(const char *name, const struct audit_file *file, struct fail *fail)
{
    fail_set(fail, ABX_ERR_IO, 0, "audit:read",
            "'%.200s' is not whole, line %" PRIu64 ", byte %" PRIu64 ": %s", name, file->line,
            file->byte, file->problem);
    fail_remedy(fail, "nothing was redacted; look at it with 'agentbox audit verify'");
    return fail->status;
}

static abx_status
look_at(struct redaction *redaction, const char *name, struct chain *chain, struct fail *fail)
{
    struct part *part = vec_add(&redaction->parts);
    struct counting counting = { redaction, part };
    const struct audit_visitor visitor = { count_record, &counting };
    AUTO(closep) int fd = -1;
    struct audit_file file;
    struct stat status;
    abx_status r;

    if (part == NULL || (part->name = strdup(name)) == NULL) {
        return fail_nomem(fail);
    }
    part->before = *chain;
    r = open_part(redaction->log, name, &fd, &status, fail);
    r = r == ABX_OK ? audit_read(fd, chain, &visitor, &file, fail) : r;
    if (r < 0) {
        return r;
    }
    redaction->first = redaction->first == 0 ? file.first : redaction->first;
    redaction->last = file.last == 0 ? redaction->last : file.last;
    return file.state == ABX_AUDIT_WHOLE ? ABX_OK : not_whole(name, &file, fail);
}

static abx_status
look_at_all(struct redaction *redaction, const char *path, struct fail *fail)
{
    struct vec files;
    struct chain chain;
    abx_status r = files_list(path, &files, fail);

    if (r < 0) {
        return r;
    }
    chain_begin(&chain);
    for (size_t i = 0; r == ABX_OK && i < files.count; i++) {
        const char *file = *vec_at(&files, char *, i), *slash = strrchr(file, '/');

        r = look_at(redaction, slash == NULL ? file : slash + 1, &chain, fail);
    }
    files_done(&files);
    return r;
}

static abx_status
check_spans(const struct redaction *redaction, struct fail *fail)
{
    for (size_t i = 0; i < redaction->spans.count; i++) {
        const struct span *span = vec_at(&redaction->spans, struct span, i);

        if (span->first < redaction->first || span->last > redaction->last) {
            return fail_set(fail, ABX_ERR_INVALID, 0, "",
                    "the log has records %" PRIu64 " to %" PRIu64 ", not %" PRIu64,
                    redaction->first, redaction->last,
                    span->first < redaction->first ? span->first : span->last);
        }
    }
    return ABX_OK;
}

/* ---- the act ---- */

static abx_status
record_act(const struct redaction *redaction, struct fail *fail)
{
    AUTO(str_done) struct str body = { 0 };

    str_add(&body, "{\"type\":\"redaction\"");
    event_json_time(&body, event_time_now());
    str_printf(&body, ",\"uid\":%u,\"target\":\"%s\"}", (unsigned)getuid(), redaction->list);
    return body.failed ? fail_nomem(fail) : audit_put(redaction->log, body.data, fail);
}

/* A file that is written anew. */
struct copy {
    const struct redaction *redaction;
    int fd;
    struct str text; /* what is not written yet */
    uint64_t size;
    int error; /* of writing; 0: none */
};

static bool
flush(struct copy *copy)
{
    copy->size += copy->text.length;
    if (!file_may_have(copy->size) ||
            !file_write_all(copy->fd, copy->text.data, copy->text.length)) {
        copy->error = errno;
        return false;
    }
    copy->text.length = 0;
    return true;
}

static bool
copy_record(void *data, const struct record *record)
{
    struct copy *copy = data;

    if (!is_wanted(copy->redaction, record)) {
        str_add_bytes(&copy->text, record->line, record->line_length);
    } else if (!record_redact(record->line, record->line_length, &copy->text)) {
        return false;
    }
    str_add(&copy->text, "\n");
    return !copy->text.failed && (copy->text.length < WRITE_BYTES || flush(copy));
}

static abx_status
copy_failed(int error, const char *name, struct fail *fail)
{
    fail_set(fail, ABX_ERR_IO, error, "audit:write", "'%.200s' cannot be written anew", name);
    fail_remedy(fail, "make room for a second '%.200s'", name);
    return fail->status;
}

static abx_status
copy_part(const struct redaction *redaction, const struct part *part, int from, int to,
        struct fail *fail)
{
    struct copy copy = { .redaction = redaction, .fd = to };
    const struct audit_visitor visitor = { copy_record, &copy };
    struct chain chain = part->before;
    struct audit_file file;
    abx_status r = audit_read(from, &chain, &visitor, &file, fail);

    if (r == ABX_OK && file.state == ABX_AUDIT_WHOLE && copy.text.length > 0) {
        flush(&copy);
    }
    str_done(&copy.text);
    return copy.error != 0                 ? copy_failed(copy.error, part->name, fail)
           : r < 0                         ? r
           : file.state != ABX_AUDIT_WHOLE ? not_whole(part->name, &file, fail)
                                           : ABX_OK;
}

static bool
has_place_of(int fd, const struct stat *file, const struct audit_log *log, const char *fresh,
        const char *name)
{
    return fchown(fd, file->st_uid, file->st_gid) == 0 && fchmod(fd, file->st_mode & 07777) == 0 &&
           fsync(fd) == 0 && renameat(log->dir, fresh, log->dir, name) == 0;
}

static abx_status
write_anew(const struct redaction *redaction, const struct part *part, struct fail *fail)
{
    const struct audit_log *log = redaction->log;
    AUTO(str_done) struct str fresh = { 0 };
    AUTO(closep) int from = -1;
    AUTO(closep) int to = -1;
    struct stat file;
    abx_status r = open_part(log, part->name, &from, &file, fail);

    files_name_next(&fresh, part->name);
    if (r < 0 || fresh.failed) {
        return r < 0 ? r : fail_nomem(fail);
    }
    unlinkat(log->dir, fresh.data, 0); /* of one that was killed, or laid there by somebody else */
    to = openat(log->dir, fresh.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (to < 0) {
        return copy_failed(errno, part->name, fail);
    }
    r = copy_part(redaction, part, from, to, fail);
    if (r == ABX_OK && !has_place_of(to, &file, log, fresh.data, part->name)) {
        r = copy_failed(errno, part->name, fail);
    }
    if (r < 0) {
        unlinkat(log->dir, fresh.data, 0);
        return r;
    }
    return fsync(log->dir) == 0 ? ABX_OK : copy_failed(errno, part->name, fail);
}

static abx_status
redact_part(const struct redaction *redaction, const struct part *part, struct vec *files,
        struct fail *fail)
{
    struct redacted_file *file = vec_add(files);

    if (file == NULL || (file->name = strdup(part->name)) == NULL) {
        return fail_nomem(fail);
    }
    file->records = part->wanted;
    return write_anew(redaction, part, fail);
}

static abx_status
redact_all(const struct redaction *redaction, struct vec *files, struct fail *fail)
{
    abx_status r = ABX_OK;
    bool is_recorded = false;

    for (size_t i = 0; r == ABX_OK && i < redaction->parts.count; i++) {
        const struct part *part = vec_at(&redaction->parts, struct part, i);

        if (part->wanted == 0) {
            continue;
        }
        r = is_recorded ? ABX_OK : record_act(redaction, fail);
        is_recorded = true;
        r = r == ABX_OK ? redact_part(redaction, part, files, fail) : r;
    }
    return r;
}

static abx_status
redact_held(struct redaction *redaction, const char *path, struct vec *files, struct fail *fail)
{
    abx_status r = look_at_all(redaction, path, fail);

    r = r == ABX_OK ? check_spans(redaction, fail) : r;
    return r == ABX_OK ? redact_all(redaction, files, fail) : r;
}

static void
redaction_done(struct redaction *redaction)
{
    for (size_t i = 0; i < redaction->parts.count; i++) {
        free(vec_at(&redaction->parts, struct part, i)->name);
    }
    vec_done(&redaction->parts);
    vec_done(&redaction->spans);
}

abx_status
audit_redact(const char *path, const char *records, struct vec *ret_files, struct fail *fail)
{
    const struct audit_options options = { .syncs = true };
    AUTO(audit_closep) struct audit_log *log = NULL;
    struct redaction redaction = {
        .list = records, .spans = VEC(struct span), .parts = VEC(struct part)
    };
    struct stat status;
    abx_status r;

    *ret_files = VEC(struct redacted_file);
    r = parse_list(&redaction, fail);
    if (r == ABX_OK && lstat(path, &status) != 0) {
        r = fail_set(fail, ABX_ERR_IO, errno, "audit:open", "'%.200s'", path);
    }
    r = r == ABX_OK ? audit_open(path, &options, &log, fail) : r;
    r = r == ABX_OK ? audit_hold(log, fail) : r;
    if (r == ABX_OK) {
        redaction.log = log;
        r = redact_held(&redaction, path, ret_files, fail);
        audit_release(log);
    }
    redaction_done(&redaction);
    return r;
}

void
redacted_done(struct vec *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(vec_at(files, struct redacted_file, i)->name);
    }
    vec_done(files);
}
