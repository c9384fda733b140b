/* SPDX-License-Identifier: Apache-2.0
 * Owns the way through a log from its beginning, by lines of bounded length, to the first place
 * that does not hold.  The file is hostile: whoever could write it may have. */
#include "audit/verify.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES 65536u

struct reading {
    struct chain *chain;
    const struct audit_visitor *visitor;
    struct audit_file *file;
    struct str line; /* what was read of one that has not ended */
    bool begins_late; /* nothing says where the records before its first one are */
};

static void
audit_file_init(struct audit_file *file)
{
    *file = (struct audit_file){ .state = ABX_AUDIT_WHOLE, .problem = "" };
}

static void
breaks(struct audit_file *file, uint32_t state, const char *why)
{
    file->state = state;
    file->problem = why;
    file->line++;
}

/* ABX_ERR_IO: the chain is broken here. */
static abx_status
take_line(struct reading *reading, const char *line, size_t length)
{
    struct audit_file *file = reading->file;
    const bool is_first = reading->chain->n == 0;
    struct record record;
    const char *why = NULL;
    abx_status r;

    if (is_first && (!chain_before(reading->chain, line, length) || reading->chain->n == 0)) {
        chain_begin(reading->chain); /* what the first record of all follows is no choice */
    }
    r = record_read(reading->chain, line, length, &record, &why);
    if (r == ABX_ERR_IO) {
        breaks(file, ABX_AUDIT_BROKEN, why);
    }
    if (r < 0) {
        return r;
    }
    /* A file that goes on from a full one says so first. */
    reading->begins_late |= is_first && record.n > 1 && !record_is(&record, "rotated");
    file->first = file->records == 0 ? record.n : file->first;
    file->last = record.n;
    memcpy(file->hash, reading->chain->hash, sizeof file->hash);
    file->records++;
    file->redacted += record.body == NULL;
    file->line++;
    file->byte += length + 1;
    return reading->visitor == NULL || reading->visitor->record(reading->visitor->data, &record)
                   ? ABX_OK
                   : ABX_ERR_NOMEM;
}

static abx_status
take_bytes(struct reading *reading, const char *bytes, size_t length)
{
    while (length > 0) {
        const char *end = memchr(bytes, '\n', length);
        size_t n = end == NULL ? length : (size_t)(end - bytes);
        abx_status r;

        if (reading->line.length + n > RECORD_BYTES_MAX) {
            breaks(reading->file, ABX_AUDIT_BROKEN, "the line is longer than any record");
            return ABX_ERR_IO;
        }
        str_add_bytes(&reading->line, bytes, n);
        if (reading->line.failed) {
            return ABX_ERR_NOMEM;
        }
        if (end == NULL) {
            return ABX_OK;
        }
        r = take_line(reading, reading->line.data == NULL ? "" : reading->line.data,
                reading->line.length);
        if (r < 0) {
            return r;
        }
        reading->line.length = 0;
        bytes = end + 1;
        length -= n + 1;
    }
    return ABX_OK;
}

static abx_status
finish(struct reading *reading, abx_status r, struct fail *fail)
{
    bool is_torn = r == ABX_OK && reading->line.length > 0;

    str_done(&reading->line);
    if (is_torn) {
        breaks(reading->file, ABX_AUDIT_TORN, "the last record was written in part");
    }
    if (reading->begins_late && r == ABX_OK) {
        reading->file->line = reading->file->byte = 0;
        breaks(reading->file, ABX_AUDIT_BROKEN,
                "the first record is not number 1: older ones are in another file, or were taken "
                "out");
    }
    return r == ABX_ERR_NOMEM ? fail_nomem(fail) : ABX_OK;
}

abx_status
audit_read(int fd, struct chain *chain, const struct audit_visitor *visitor,
        struct audit_file *ret_file, struct fail *fail)
{
    AUTO(freep) char *buffer = malloc(READ_BYTES);
    struct reading reading = { .chain = chain, .visitor = visitor, .file = ret_file };
    abx_status r = buffer == NULL ? ABX_ERR_NOMEM : ABX_OK;

    audit_file_init(ret_file);
    while (r == ABX_OK) {
        ssize_t n = read(fd, buffer, READ_BYTES);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            str_done(&reading.line);
            return fail_set(fail, ABX_ERR_IO, errno, "audit:read", "the file cannot be read");
        }
        if (n == 0) {
            break;
        }
        r = take_bytes(&reading, buffer, (size_t)n);
    }
    return finish(&reading, r, fail);
}

abx_status
audit_read_bytes(const char *bytes, size_t length, struct chain *chain,
        const struct audit_visitor *visitor, struct audit_file *ret_file, struct fail *fail)
{
    struct reading reading = { .chain = chain, .visitor = visitor, .file = ret_file };

    audit_file_init(ret_file);
    return finish(&reading, take_bytes(&reading, bytes, length), fail);
}

abx_status
audit_read_path(const char *path, bool is_last, struct chain *chain,
        const struct audit_visitor *visitor, struct audit_file *file, struct fail *fail)
{
    AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    abx_status r;

    if (fd < 0 || fstat(fd, &status) != 0) {
        return fail_set(fail, ABX_ERR_IO, errno, "audit:open", "'%.200s'", path);
    }
    if (!S_ISREG(status.st_mode)) {
        return fail_set(fail, ABX_ERR_IO, 0, "audit:open", "'%.200s' is no regular file", path);
    }
    r = audit_read(fd, chain, visitor, file, fail);
    if (r == ABX_OK && file->state == ABX_AUDIT_TORN && !is_last) {
        file->state = ABX_AUDIT_BROKEN;
    }
    return r;
}

abx_status
audit_visit(const char *const *paths, size_t count, const struct audit_visitor *visitor,
        struct audit_file *file, char problem[256], struct fail *fail)
{
    struct chain chain;

    chain_begin(&chain);
    problem[0] = '\0';
    for (size_t i = 0; file->state == ABX_AUDIT_WHOLE && i < count; i++) {
        abx_status r = audit_read_path(paths[i], i + 1 == count, &chain, visitor, file, fail);

        if (r < 0) {
            return r;
        }
        if (file->state != ABX_AUDIT_WHOLE) {
            snprintf(problem, 256, "file %zu, line %" PRIu64 ", byte %" PRIu64 ": %s", i + 1,
                    file->line, file->byte, file->problem);
        }
    }
    return ABX_OK;
}
