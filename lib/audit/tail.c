/* SPDX-License-Identifier: Apache-2.0
 * Finds the last whole record of a log from its end, so that opening costs the same however long a
 * log is.  Whether the records before it hold is what verifying is for. */
#include "audit/log.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_LOOK 16384u
#define LAST_LOOK (2 * RECORD_BYTES_MAX) /* a record in part after a whole one */

static abx_status
no_log(const char *why, struct fail *fail)
{
    fail_set(fail, ABX_ERR_IO, 0, "audit:open", "%s", why);
    fail_remedy(fail, "look at it with 'agentbox audit verify', and let the log go on elsewhere");
    return fail->status;
}

static abx_status
read_at(int fd, char *bytes, size_t length, uint64_t from, struct fail *fail)
{
    size_t done = 0;

    while (done < length) {
        ssize_t n = pread(fd, bytes + done, length - done, (off_t)(from + done));

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return fail_set(fail, ABX_ERR_IO, n < 0 ? errno : 0, "audit:read",
                    "the audit log cannot be read");
        }
        done += (size_t)n;
    }
    return ABX_OK;
}

/* Without a whole line there is at most the beginning of a first record; anything else is somebody
 * else's file, of which nothing is cut off. */
static abx_status
take_beginning(const char *bytes, size_t length, uint64_t *ret_whole, struct fail *fail)
{
    static const char first[] = "{\"n\":";
    size_t n = length < sizeof first - 1 ? length : sizeof first - 1;

    if (memcmp(bytes, first, n) != 0) {
        return no_log("the file is no audit log", fail);
    }
    *ret_whole = 0;
    return ABX_OK;
}

static abx_status
take_last(const char *line, size_t length, struct chain *chain, struct fail *fail)
{
    struct chain last;
    struct record record;
    const char *why;
    abx_status r;

    if (!chain_before(&last, line, length)) {
        return no_log("the file does not end in a record of an audit log", fail);
    }
    r = record_read(&last, line, length, &record, &why);
    if (r == ABX_OK) {
        *chain = last;
    }
    return r == ABX_ERR_NOMEM ? fail_nomem(fail)
           : r < 0            ? no_log("the last record of the audit log was changed", fail)
                              : ABX_OK;
}

/* ABX_NONE: more has to be looked at. */
static abx_status
look(int fd, uint64_t size, size_t length, struct chain *chain, uint64_t *ret_whole,
        struct fail *fail)
{
    AUTO(freep) char *bytes = malloc(length);
    uint64_t from = size - length;
    const char *end, *before;
    abx_status r;

    if (bytes == NULL) {
        return fail_nomem(fail);
    }
    r = read_at(fd, bytes, length, from, fail);
    if (r < 0) {
        return r;
    }
    end = memrchr(bytes, '\n', length);
    if (end == NULL) {
        return from > 0 ? ABX_NONE : take_beginning(bytes, length, ret_whole, fail);
    }
    before = memrchr(bytes, '\n', (size_t)(end - bytes));
    if (before == NULL && from > 0) {
        return ABX_NONE;
    }
    before = before == NULL ? bytes : before + 1;
    r = take_last(before, (size_t)(end - before), chain, fail);
    if (r == ABX_OK) {
        *ret_whole = from + (uint64_t)(end - bytes) + 1;
    }
    return r;
}

abx_status
audit_tail(int fd, uint64_t size, struct chain *chain, uint64_t *ret_whole, struct fail *fail)
{
    abx_status r = ABX_NONE;

    if (size == 0) {
        *ret_whole = 0;
        return ABX_OK;
    }
    for (size_t room = FIRST_LOOK; r == ABX_NONE && room <= LAST_LOOK; room *= 2) {
        r = look(fd, size, size < room ? (size_t)size : room, chain, ret_whole, fail);
    }
    return r == ABX_NONE ? no_log("the file does not end in a record of an audit log", fail) : r;
}
