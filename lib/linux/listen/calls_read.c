/* SPDX-License-Identifier: Apache-2.0
 * Opens for reading, where a policy has patterns for them.  Nothing but the broker keeps the box
 * from what a pattern hides, so no such open continues: what was decided about is opened here,
 * through the box's own mounts, and handed in.  So a directory leads nowhere that its path would
 * not. */
#include "linux/listen/calls_open.h"

#include "base/mem.h"
#include "base/path.h"
#include "linux/listen/listeners.h"
#include "linux/listen/terminal.h"
#include "linux/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

/* ---- /proc ---- */

/* Their mode says that everybody may read them, but the kernel shows them only to who may trace the
 * process, as the supervisor may. */
static bool
needs_tracing(const char *path)
{
    static const char *const names[] = { "maps", "smaps", "smaps_rollup", "numa_maps", "fdinfo" };

    for (size_t i = 0; i < N_ELEMENTS(names); i++) {
        const char *found = strstr(path, names[i]);

        if (found != NULL && found[-1] == '/') {
            return true;
        }
    }
    return false;
}

/* In /proc the supervisor may see more than the caller: of processes outside of the box, and of
 * init, only what everybody may. */
static bool
may_read_proc(const struct call *call, const struct resolved *resolved)
{
    char *end;

    if (!path_is_below(resolved->path, "/proc")) {
        return strcmp(resolved->path, "/proc") == 0;
    }
    (void)strtoull(resolved->path + strlen("/proc/"), &end, 10);
    if (end == resolved->path + strlen("/proc/")) {
        return true; /* of no process */
    }
    return ((resolved->stat.stx_mode & S_IROTH) != 0 && !needs_tracing(end)) ||
           (resolved->stat.stx_uid == geteuid() && resolve_is_own_process(call, resolved->path));
}

/* ---- what is no file ---- */

/* A pipe is handed in once somebody writes to it; until then its open end waits here. */
static enum call_result
open_pipe(struct call *call, const struct resolved *resolved, const struct open_request *request)
{
    struct pollfd ready = { .events = POLLIN };
    char link[32];

    if (call->waiting_fd < 0) {
        snprintf(link, sizeof link, "%d", resolved->object);
        call->waiting_fd =
                openat(call->boundary->listeners->own_fds, link, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    }
    if (call->waiting_fd < 0) {
        return call_fail(call, errno);
    }
    ready.fd = call->waiting_fd;
    if ((request->flags & O_NONBLOCK) == 0 && poll(&ready, 1, 0) == 0) {
        return CALL_LATER;
    }
    return open_hand_in(call, call->waiting_fd, request);
}

static enum call_result
open_special(struct call *call, const struct resolved *resolved, const struct open_request *request)
{
    const struct statx *stat = &resolved->stat;

    if (S_ISFIFO(stat->stx_mode)) {
        return open_pipe(call, resolved, request);
    }
    if (terminal_is(resolved)) {
        return terminal_open(call, request);
    }
    return open_object(call, resolved->object, request);
}

/* ---- the course ---- */

static int
check_kind(const struct resolved *resolved, const struct open_request *request)
{
    uint32_t mode = resolved->stat.stx_mode;

    if (resolved->object < 0) {
        return ENOENT;
    }
    if ((request->flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)) {
        return EEXIST;
    }
    if (S_ISLNK(mode)) {
        return ELOOP;
    }
    if ((request->flags & O_DIRECTORY) != 0 && !S_ISDIR(mode)) {
        return ENOTDIR;
    }
    return (request->flags & O_CREAT) != 0 && S_ISDIR(mode) ? EISDIR : 0;
}

/* Whether it lies in no directory and never did. */
static bool
is_memory(const struct resolved *resolved)
{
    AUTO(closep) int memory = memfd_create("", MFD_CLOEXEC);
    struct stat stat;

    return memory >= 0 && fstat(memory, &stat) == 0 &&
           major(stat.st_dev) == resolved->stat.stx_dev_major &&
           minor(stat.st_dev) == resolved->stat.stx_dev_minor;
}

/* An object of a process, which has no path: a pipe.  Or it had one: where that would be now is
 * what is decided about, since nothing says for what the descriptor was opened. */
static bool
has_no_path(struct resolved *resolved)
{
    char *mark = strrchr(resolved->path, ' ');

    if (resolved->path[0] != '/' || mark == NULL || is_memory(resolved)) {
        return true;
    }
    *mark = '\0'; /* "/a/b (deleted)" */
    return false;
}

/* Verdict of a found object; COURSE_BEHALF: open it. */
static enum course
decide(struct call *call, struct resolved *resolved, enum call_result *ret_result)
{
    int r = resolved_path(call, resolved);

    if (r == -ENOENT && resolved->is_magic) {
        if (has_no_path(resolved)) {
            return COURSE_BEHALF;
        }
        r = 0;
    }
    if (r < 0) {
        *ret_result = read_failed(call, resolved, r);
        return COURSE_ANSWERED;
    }
    if (plan_is_private(call->boundary->plan, resolved->path)) {
        return COURSE_BEHALF;
    }
    return course_decide(call, resolved, ABX_ACCESS_READ, "open", NULL, ret_result);
}

enum call_result
open_to_read(struct call *call, struct resolved *resolved, const struct open_request *request)
{
    enum call_result result;
    struct statfs fs;
    int error = check_kind(resolved, request);

    if (error != 0) {
        return call_fail(call, error);
    }
    if (request->resolve != 0) {
        return call_fail(call, ENOSYS);
    }
    if (decide(call, resolved, &result) == COURSE_ANSWERED) {
        return result;
    }
    /* What lies on a device is not /proc. */
    if (resolved->stat.stx_dev_major == 0 &&
            (fstatfs(resolved->object, &fs) != 0 ||
                    (fs.f_type == PROC_SUPER_MAGIC && !may_read_proc(call, resolved)))) {
        return call_fail(call, EACCES);
    }
    if (S_ISREG(resolved->stat.stx_mode) || S_ISDIR(resolved->stat.stx_mode)) {
        return open_object(call, resolved->object, request);
    }
    return open_special(call, resolved, request);
}

enum call_result
read_failed(struct call *call, struct resolved *resolved, int error)
{
    enum call_result result;

    switch (error) {
    case -EAGAIN:
        return CALL_WORKER;
    case -EKEYREJECTED:
        return call_unreadable(call, "open");
    case -EACCES:
        /* On the way there is a place that may not be read: its event names what was asked for. */
        if (resolved->path[0] == '/' && course_decide(call, resolved, ABX_ACCESS_READ, "open", NULL,
                                                &result) == COURSE_ANSWERED) {
            return result;
        }
        return call_fail(call, EACCES);
    default:
        return call_is_starved(error) ? call_starved(call, resolved->path, ABX_ACCESS_READ)
                                      : call_fail(call, -error);
    }
}
