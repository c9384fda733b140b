/* SPDX-License-Identifier: Apache-2.0
 * Owns the file of an audit log.  Writers of several processes take turns by flock(2), on the file
 * itself, and look at what others appended since; threads by a mutex.  A record is one write; what
 * of it a full disk took is cut off again, and what a writer left that was killed is cut off by the
 * next one, which says so in a record.  The name always leads to the newest file, so a writer that
 * holds another one has been left behind; one that finds an empty file goes on with its chain. */
#include "audit/log.h"

#include "audit/files.h"
#include "base/file.h"
#include "base/mem.h"
#include "event/event.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK_WAIT_NS                                                                               \
    2000000000 /* for a turn; whoever holds the lock of a log longer does not write */
#define LOCK_PAUSE_NS 1000000
#define TURNS_MAX 1000 /* so many new files while one writer waits for its turn are no log */

static abx_status
write_failed(int error, const char *what, struct fail *fail)
{
    fail_set(fail, ABX_ERR_IO, error, "audit:write", "%s", what);
    fail_remedy(fail, "make room or give the log another place; what is not recorded is not done");
    return fail->status;
}

static int
open_file(const struct audit_log *log, const char *name, int flags)
{
    return openat(log->dir, name,
            flags | O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
}

/* ---- writing; the file is locked ---- */

/* One record; on failure the file ends where it did, or the next writer takes off what is left. */
static abx_status
put(struct audit_log *log, const char *body, struct fail *fail)
{
    AUTO(str_done) struct str line = { 0 };
    struct chain chain = log->chain;

    if (!record_write(&chain, body, &line)) {
        return fail_nomem(fail);
    }
    if (line.length > RECORD_BYTES_MAX) {
        return write_failed(0, "a record of the audit log is too long", fail);
    }
    if (!file_may_have(log->size + line.length) ||
            !file_write_all(log->fd, line.data, line.length)) {
        int error = errno, cut = ftruncate(log->fd, (off_t)log->size);

        (void)cut;
        return write_failed(error, "the audit log cannot be written", fail);
    }
    log->chain = chain;
    log->size += line.length;
    return ABX_OK;
}

/* What the log says of itself. */
static abx_status
put_own(struct audit_log *log, const char *type, const char *key, const char *value,
        struct fail *fail)
{
    AUTO(str_done) struct str body = { 0 };

    str_printf(&body, "{\"type\":\"%s\"", type);
    event_json_time(&body, event_time_now());
    str_printf(&body, ",\"%s\":%s}", key, value);
    return body.failed ? fail_nomem(fail) : put(log, body.data, fail);
}

static abx_status
put_number(struct audit_log *log, const char *type, const char *key, uint64_t number,
        struct fail *fail)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRIu64, number);
    return put_own(log, type, key, text, fail);
}

/* ---- a new file, to which the name leads from one moment to the next ---- */

/* What was written so far outlives a crash of the machine, where that is wanted. */
static bool
is_on_disk(const struct audit_log *log)
{
    return !log->syncs || fdatasync(log->fd) == 0;
}

/* Begins it with what it follows; the log is as it was on failure. */
static abx_status
begin_next(struct audit_log *log, const char *fresh_name, const char *full_name, struct fail *fail)
{
    AUTO(str_done) struct str before = { 0 };
    struct audit_log old = *log;
    abx_status r;
    int fd;

    unlinkat(log->dir, fresh_name, 0); /* of a writer that died, or laid there by somebody else */
    fd = open_file(log, fresh_name, O_EXCL);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0) {
        r = write_failed(errno, "the audit log cannot go on in a new file", fail);
        close_fd(fd);
        return r;
    }
    log->fd = fd;
    log->size = 0;
    str_add_json_bytes(&before, full_name, true);
    r = before.failed ? fail_nomem(fail) : put_own(log, "rotated", "after", before.data, fail);
    if (r == ABX_OK &&
            (!is_on_disk(log) || renameat(log->dir, fresh_name, log->dir, log->name) != 0)) {
        r = write_failed(errno, "the audit log cannot go on in a new file", fail);
    }
    if (r < 0) {
        close_fd(fd);
        log->fd = old.fd;
        log->size = old.size;
        log->chain = old.chain;
        return r;
    }
    flock(old.fd, LOCK_UN); /* another process may have a copy of the descriptor for a moment */
    close_fd(old.fd);
    return ABX_OK;
}

/* The full file gets a second name before it loses the first.  Where that cannot be, the log grows
 * on: no record is worth less than a limit.  What a writer that died in between did not bring to
 * the disk is there before anything that follows it in another file. */
static void
rotate(struct audit_log *log)
{
    AUTO(str_done) struct str full = { 0 };
    AUTO(str_done) struct str fresh = { 0 };
    struct fail fail;

    files_name_full(&full, log->name, &log->chain);
    files_name_next(&fresh, log->name);
    if (full.failed || fresh.failed || !is_on_disk(log) ||
            linkat(log->dir, log->name, log->dir, full.data, 0) != 0) {
        return;
    }
    if (begin_next(log, fresh.data, full.data, &fail) < 0) {
        unlinkat(log->dir, fresh.data, 0);
        unlinkat(log->dir, full.data, 0);
    } else if (log->syncs) {
        fsync(log->dir);
    }
}

/* ---- taking turns ---- */

static int64_t
clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Waits a bounded time, since who holds the lock may be no writer: every box of the host waits with
 * this.  While it stays held the next ones ask once. */
static abx_status
lock_file(struct audit_log *log, struct fail *fail)
{
    const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };
    const int64_t until = log->is_held ? 0 : clock_ns() + LOCK_WAIT_NS;

    while (flock(log->fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            return write_failed(errno, "the audit log cannot be locked", fail);
        }
        if (errno == EWOULDBLOCK && clock_ns() >= until) {
            log->is_held = true;
            fail_set(fail, ABX_ERR_IO, ETIMEDOUT, "audit:write",
                    "somebody holds the lock of the audit log");
            fail_remedy(fail, "end the program that has the file open and locked (lsof, lslocks)");
            return fail->status;
        }
        nanosleep(&pause, NULL);
    }
    log->is_held = false;
    return ABX_OK;
}

static void
unlock_file(const struct audit_log *log)
{
    flock(log->fd, LOCK_UN);
}

/* Opens the file to which the name leads now. */
static abx_status
reopen(struct audit_log *log, struct fail *fail)
{
    int fd = open_file(log, log->name, 0);

    if (fd < 0) {
        return write_failed(errno, "the audit log cannot be opened", fail);
    }
    unlock_file(log);
    close_fd(log->fd);
    log->fd = fd;
    log->size = 0;
    return ABX_OK;
}

static bool
is_same(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

abx_status
audit_check_file(const char *name, const struct stat *file, struct fail *fail)
{
    if (!S_ISREG(file->st_mode)) {
        return fail_set(fail, ABX_ERR_IO, 0, "audit:open", "'%.200s' is no regular file", name);
    }
    if (file->st_uid != geteuid()) {
        fail_set(fail, ABX_ERR_IO, 0, "audit:open", "the audit log '%.200s' is another user's file",
                name);
        fail_remedy(fail, "give the log a name that is not taken, in a directory of its own");
        return fail->status;
    }
    if ((file->st_mode & 077) != 0) {
        fail_set(fail, ABX_ERR_IO, 0, "audit:open",
                "the audit log '%.200s' has mode %04o, with which others may have opened it", name,
                (unsigned)(file->st_mode & 07777));
        fail_remedy(fail, "give the log a name that is not taken; if it is yours, chmod 600");
        return fail->status;
    }
    return ABX_OK;
}

/* Locks the file of the name; ret_file: what it is. */
static abx_status
take_turn(struct audit_log *log, struct stat *ret_file, struct fail *fail)
{
    for (int i = 0; i < TURNS_MAX; i++) {
        struct stat named;
        abx_status r = lock_file(log, fail);
        bool is_there;

        if (r < 0) {
            return r;
        }
        is_there = fstatat(log->dir, log->name, &named, AT_SYMLINK_NOFOLLOW) == 0;
        if ((!is_there && errno != ENOENT) || fstat(log->fd, ret_file) != 0) {
            r = write_failed(errno, "the audit log cannot be looked at", fail);
        } else if (is_there && is_same(&named, ret_file)) {
            r = audit_check_file(log->name, ret_file, fail);
            if (r == ABX_OK) {
                return ABX_OK;
            }
        } else {
            r = reopen(log, fail);
        }
        if (r < 0) {
            unlock_file(log);
            return r;
        }
    }
    return write_failed(0, "the name of the audit log leads to ever new files", fail);
}

/* A second name reaches round every rule about the first.  One of them is the log's own: that of a
 * full file whose writer died before the next file took the first name.  It is taken off again. */
static abx_status
check_names(const struct audit_log *log, const struct stat *file, struct fail *fail)
{
    AUTO(str_done) struct str full = { 0 };
    struct stat there;

    if (file->st_nlink <= 1) {
        return ABX_OK;
    }
    files_name_full(&full, log->name, &log->chain);
    if (full.failed) {
        return fail_nomem(fail);
    }
    if (file->st_nlink == 2 && fstatat(log->dir, full.data, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
            is_same(&there, file) && unlinkat(log->dir, full.data, 0) == 0) {
        return ABX_OK;
    }
    fail_set(fail, ABX_ERR_IO, 0, "audit:open",
            "the audit log '%.200s' has another name (a hard link), by which it can be changed",
            log->name);
    fail_remedy(fail, "give the log a name that is not taken, where no command may write");
    return fail->status;
}

/* What others appended since this one looked, and what was not recorded. */
static abx_status
catch_up(struct audit_log *log, const struct stat *file, struct fail *fail)
{
    const uint64_t size = (uint64_t)file->st_size;
    uint64_t whole = size;
    abx_status r = ABX_OK;

    if (size < log->size) {
        return write_failed(0, "the audit log has become shorter", fail);
    }
    if (size > log->size) {
        r = audit_tail(log->fd, size, &log->chain, &whole, fail);
    }
    if (r == ABX_OK) {
        r = check_names(log, file, fail);
    }
    if (r < 0) {
        return r;
    }
    log->size = whole;
    if (whole < size) {
        if (ftruncate(log->fd, (off_t)whole) != 0) {
            return write_failed(errno, "the audit log ends in a part of a record", fail);
        }
        r = put_number(log, "recovered", "bytes", size - whole, fail);
    }
    if (r == ABX_OK && log->lost > 0) {
        r = put_number(log, "lost", "records", log->lost, fail);
        log->lost = r == ABX_OK ? 0 : log->lost;
    }
    return r;
}

/* With the file free for others, who need not wait for a disk that takes long.  Where it fails the
 * record stays, since others may have followed it, and is counted as one that was lost. */
static abx_status
write_through(const struct audit_log *log, struct fail *fail)
{
    return is_on_disk(log)
                   ? ABX_OK
                   : write_failed(errno, "the audit log cannot be written to the disk", fail);
}

/* The log is locked and all that is in it known. */
static abx_status
hold(struct audit_log *log, struct fail *fail)
{
    struct stat file;
    abx_status r = take_turn(log, &file, fail);

    if (r == ABX_OK) {
        r = catch_up(log, &file, fail);
        if (r < 0) {
            unlock_file(log);
        }
    }
    return r;
}

abx_status
audit_append(struct audit_log *log, const char *body, struct fail *fail)
{
    abx_status r;

    pthread_mutex_lock(&log->lock);
    r = hold(log, fail);
    if (r == ABX_OK) {
        if (log->most != 0 && log->size >= log->most) {
            rotate(log);
        }
        r = put(log, body, fail);
        unlock_file(log);
        r = r == ABX_OK ? write_through(log, fail) : r;
    }
    log->lost += r < 0;
    pthread_mutex_unlock(&log->lock);
    return r;
}

abx_status
audit_hold(struct audit_log *log, struct fail *fail)
{
    abx_status r;

    pthread_mutex_lock(&log->lock);
    r = hold(log, fail);
    if (r < 0) {
        pthread_mutex_unlock(&log->lock);
    }
    return r;
}

abx_status
audit_put(struct audit_log *log, const char *body, struct fail *fail)
{
    abx_status r = put(log, body, fail);

    return r == ABX_OK ? write_through(log, fail) : r;
}

void
audit_release(struct audit_log *log)
{
    unlock_file(log);
    pthread_mutex_unlock(&log->lock);
}

/* ---- opening ---- */
void
audit_close(struct audit_log *log)
{
    if (log == NULL) {
        return;
    }
    close_fd(log->fd);
    close_fd(log->dir);
    free(log->name);
    pthread_mutex_destroy(&log->lock);
    free(log);
}

DEFINE_CLEANUP(audit_close, struct audit_log)

static abx_status
open_at(struct audit_log *log, const char *path, struct fail *fail)
{
    const char *slash = strrchr(path, '/');
    AUTO(freep)
    char *directory =
            slash == NULL ? strdup(".") : strndup(path, slash == path ? 1 : (size_t)(slash - path));

    log->name = strdup(slash == NULL ? path : slash + 1);
    if (directory == NULL || log->name == NULL) {
        return fail_nomem(fail);
    }
    log->dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    log->fd = log->dir < 0 ? -1 : open_file(log, log->name, 0);
    return log->fd < 0 ? fail_set(fail, ABX_ERR_IO, errno, "audit:open", "'%.200s'", path) : ABX_OK;
}

abx_status
audit_open(const char *path, const struct audit_options *options, struct audit_log **ret_log,
        struct fail *fail)
{
    AUTO(audit_closep) struct audit_log *log = calloc(1, sizeof *log);
    abx_status r;

    if (log == NULL) {
        return fail_nomem(fail);
    }
    log->dir = log->fd = -1;
    log->most = options->most;
    log->syncs = options->syncs;
    pthread_mutex_init(&log->lock, NULL);
    chain_begin(&log->chain);
    r = open_at(log, path, fail);
    r = r == ABX_OK ? hold(log, fail) : r;
    if (r == ABX_OK) {
        unlock_file(log);
    }
    r = r == ABX_OK ? write_through(log, fail) : r;
    if (r < 0) {
        return r;
    }
    *ret_log = steal_ptr(&log);
    return ABX_OK;
}
