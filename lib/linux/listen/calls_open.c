/* SPDX-License-Identifier: Apache-2.0
 * Handles open, openat, openat2, creat, and access for writing.  On the caller's behalf only
 * regular files (and, for reading, directories seen as the box sees them) are opened, never what
 * could block: the descriptor of what was decided about is opened, not the path. */
#include "linux/listen/calls_open.h"

#include "base/mem.h"
#include "linux/listen/calls_git.h"
#include "linux/listen/listeners.h"
#include "linux/listen/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- what is asked for ---- */

static int
decode_openat2(struct call *call, struct open_request *ret_request)
{
    struct open_how how;
    int r;

    if (call->args[3] < sizeof how) {
        return -EINVAL;
    }
    r = call_read(call, call->args[2], &how, sizeof how);
    if (r < 0) {
        return r == -EACCES ? -EKEYREJECTED : r;
    }
    *ret_request = (struct open_request){
        .dirfd = (int)call->args[0],
        .path = call->args[1],
        .flags = how.flags,
        .mode = (uint32_t)how.mode,
        .resolve = how.resolve,
    };
    return 0;
}

static int
decode(struct call *call, struct open_request *ret_request)
{
    struct open_request request = { .dirfd = AT_FDCWD, .path = call->args[0] };

    switch (call->nr) {
#ifdef SYS_open
    case SYS_open:
        request.flags = (uint32_t)call->args[1];
        request.mode = (uint32_t)call->args[2];
        break;
    case SYS_creat:
        request.flags = O_CREAT | O_WRONLY | O_TRUNC;
        request.mode = (uint32_t)call->args[1];
        break;
#endif
    case SYS_openat:
        request.dirfd = (int)call->args[0];
        request.path = call->args[1];
        request.flags = (uint32_t)call->args[2];
        request.mode = (uint32_t)call->args[3];
        break;
    default:
        return decode_openat2(call, ret_request);
    }
    *ret_request = request;
    return 0;
}

static bool
is_tmpfile(const struct open_request *request)
{
    return (request->flags & O_TMPFILE) == O_TMPFILE;
}

static bool
creates(const struct open_request *request)
{
    return (request->flags & O_CREAT) != 0 || is_tmpfile(request);
}

static bool
writes(const struct open_request *request)
{
    return (request->flags & O_ACCMODE) != O_RDONLY || (request->flags & O_TRUNC) != 0 ||
           creates(request);
}

/* Changes nothing where the object exists already. */
static bool
only_reads(const struct open_request *request)
{
    return (request->flags & O_ACCMODE) == O_RDONLY && (request->flags & O_TRUNC) == 0;
}

static bool
wants_new(const struct open_request *request)
{
    return (request->flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
}

static unsigned int
how_of(const struct open_request *request)
{
    if ((request->flags & O_CREAT) == 0) {
        return (request->flags & O_NOFOLLOW) != 0 ? RESOLVE_ITSELF : RESOLVE_FOLLOW;
    }
    return (request->flags & O_NOFOLLOW) != 0 || wants_new(request) ? RESOLVE_NAME : RESOLVE_CREATE;
}

/* ---- on the caller's behalf ---- */

enum call_result
open_hand_in(struct call *call, int fd, const struct open_request *request)
{
    /* Of the flags that it was opened with only this one is not what was asked for. */
    if ((request->flags & O_NONBLOCK) == 0 &&
            fcntl(fd, F_SETFL, (int)request->flags & (O_APPEND | O_DIRECT | O_NOATIME)) != 0) {
        return call_fail(call, errno);
    }
    return (request->flags & O_ACCMODE) == O_RDONLY
                   ? call_return_fd(call, fd, (request->flags & O_CLOEXEC) != 0)
                   : call_hand_over(call, fd, (request->flags & O_CLOEXEC) != 0);
}

static bool
is_pipe(int object)
{
    struct stat stat;

    return fstat(object, &stat) == 0 && S_ISFIFO(stat.st_mode);
}

enum call_result
open_object(struct call *call, int object, const struct open_request *request)
{
    AUTO(closep) int fd = -1;
    char link[32];
    uint64_t flags = request->flags & ~(uint64_t)(O_CREAT | O_EXCL | O_NOFOLLOW | O_PATH);

    snprintf(link, sizeof link, "%d", object);
    fd = openat(call->boundary->listeners->own_fds, link,
            (int)flags | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    /* Leased: its holder has been told to give it up.  Or a pipe that nobody reads yet. */
    if (fd < 0 && (request->flags & O_NONBLOCK) == 0 &&
            (errno == EWOULDBLOCK || (errno == ENXIO && is_pipe(object)))) {
        return CALL_LATER;
    }
    if (fd < 0) {
        return call_fail(call, errno);
    }
    return open_hand_in(call, fd, request);
}

static enum call_result
create(struct call *call, struct resolved *resolved, const struct open_request *request)
{
    const int parent = resolve_acting_parent(call, resolved);
    AUTO(closep) int fd = -1;

    if (parent < 0) {
        return course_lost(call, resolved, parent, "open");
    }
    if (!name_take_umask(call)) {
        return call_fail(call, errno);
    }
    fd = openat(parent, resolved->name,
            (int)request->flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
            request->mode);
    if (fd < 0 && errno == EEXIST && (request->flags & O_EXCL) == 0) {
        return CALL_WORKER; /* it came meanwhile: look again */
    }
    return fd < 0 ? call_fail(call, errno) : open_hand_in(call, fd, request);
}

static enum call_result
create_nameless(struct call *call, int directory, const struct open_request *request)
{
    AUTO(closep) int fd = -1;

    if (!name_take_umask(call)) {
        return call_fail(call, errno);
    }
    fd = openat(directory, ".", (int)request->flags | O_CLOEXEC, request->mode);
    return fd < 0 ? call_fail(call, errno) : open_hand_in(call, fd, request);
}

static enum call_result
open_on_behalf(struct call *call, struct resolved *resolved, const struct open_request *request)
{
    int object;

    if (resolved->object < 0) {
        return create(call, resolved, request);
    }
    object = resolve_acting_object(call, resolved);
    if (object < 0) {
        return course_lost(call, resolved, object, "open");
    }
    return is_tmpfile(request) ? create_nameless(call, object, request)
                               : open_object(call, object, request);
}

/* ---- opens that write ---- */

/* "> /dev/stderr", which is a file that the host handed to the command: Landlock knows only what
 * lies in the box, but the caller gets no more than it has. */
static bool
has_open(const struct call *call, const struct resolved *resolved,
        const struct open_request *request)
{
    const int has = resolved_access(call, resolved);

    return has == O_RDWR ||
           (has == O_WRONLY && (request->flags & O_ACCMODE) == O_WRONLY); /* O_TRUNC writes, too */
}

/* What a process has open becomes what stands at its path, if it does in the box. */
static void
find_by_path(struct call *call, struct resolved *resolved)
{
    AUTO(resolved_done) struct resolved found;

    resolved_init(&found);
    if (resolved_path(call, resolved) < 0 ||
            resolve_text(call, AT_FDCWD, resolved->path, RESOLVE_NAME, &found) < 0 ||
            found.object < 0 || found.stat.stx_ino != resolved->stat.stx_ino ||
            found.stat.stx_dev_major != resolved->stat.stx_dev_major ||
            found.stat.stx_dev_minor != resolved->stat.stx_dev_minor) {
        return;
    }
    close_fd(steal_fd(&resolved->parent));
    close_fd(resolved->object);
    resolved->object = steal_fd(&found.object);
    resolved->object_mount = found.object_mount;
    resolved->is_magic = resolved->is_held = false;
}

/* On the loop's thread nothing is done that may wait for long. */
static bool
may_open_here(const struct call *call, const struct resolved *resolved, int where,
        const struct open_request *request)
{
    const bool shortens =
            resolved->object >= 0 && (request->flags & O_TRUNC) != 0 && resolved->stat.stx_size > 0;

    return call->on_worker || (!shortens && listeners_are_quick(call->boundary->listeners) &&
                                      resolved_is_writable(call, resolved, where));
}

/* What is missing or in the way: the errno.  It is told here, since a moment later the kernel may
 * find something else, which it has no right to open. */
static int
fails_by_name(const struct resolved *resolved, const struct open_request *request)
{
    if (resolved->object >= 0) {
        return wants_new(request) ? EEXIST : 0;
    }
    if ((request->flags & O_CREAT) == 0) {
        return ENOENT;
    }
    return resolved->needs_directory ? EISDIR : 0;
}

/* Whether the kernel refuses this by itself: no directory or link is given. */
static bool
fails_anyway(const struct resolved *resolved, const struct open_request *request)
{
    uint32_t mode = resolved->object >= 0 ? resolved->stat.stx_mode : S_IFREG;

    return S_ISDIR(mode)
                   ? !is_tmpfile(request)
                   : S_ISLNK(mode) || is_tmpfile(request) || (request->flags & O_DIRECTORY) != 0;
}

static enum call_result
open_to_write(struct call *call, struct resolved *resolved, const struct open_request *request)
{
    uint32_t mode = resolved->object >= 0 ? resolved->stat.stx_mode : S_IFREG;
    bool decides_reads = call->boundary->plan->read_patterns, is_magic = resolved->is_magic;
    enum call_result result;
    enum course course;
    int matters, where;

    if (fails_anyway(resolved, request)) {
        return CALL_CONTINUE;
    }
    matters = (request->flags & O_CREAT) != 0 ? git_name_matters(call, resolved) : 0;
    if (matters != 0) {
        return matters < 0 ? course_untold(call, resolved, matters, "open")
                           : git_open_link(call, resolved, request);
    }
    /* By now the descriptor may be of another file, so none of these continues. */
    if (resolved->is_magic && (S_ISCHR(mode) || has_open(call, resolved, request))) {
        return open_object(call, resolved->object, request);
    }
    if (resolved->is_magic) {
        find_by_path(call, resolved);
    }
    where = resolved->object >= 0 ? resolved->object : resolved->parent;
    course = course_of_write(call, resolved, where, "open", &result);
    if (course != COURSE_ANSWERED && terminal_is(resolved)) {
        terminal_asked(call, request);
    }
    switch (course) {
    case COURSE_CONTINUE:
        if (is_magic && S_ISREG(mode) && !resolved_is_of_box(call, resolved)) {
            return course_handed_in(call, resolved, "open");
        }
        if (is_magic) {
            return open_object(call, resolved->object, request);
        }
        if (!decides_reads || !only_reads(request)) {
            return CALL_CONTINUE;
        }
        break; /* the mounts keep it from writing elsewhere, but not from reading */
    case COURSE_ANSWERED:
        return result;
    case COURSE_BEHALF:
        break;
    }
    if (!S_ISREG(mode) && !S_ISDIR(mode) && !S_ISFIFO(mode)) {
        return CALL_CONTINUE; /* read-only mounts do not keep from writing to a device */
    }
    if (request->resolve != 0) {
        return call_fail(call, ENOSYS); /* programs do it with openat then */
    }
    return may_open_here(call, resolved, where, request) ? open_on_behalf(call, resolved, request)
                                                         : CALL_WORKER;
}

/* Looks the path up; 1: that was not needed, the call is answered. */
static int
find(struct call *call, const struct open_request *request, struct resolved *resolved,
        enum call_result *ret_result)
{
    long length = resolve_read(call, request->path, resolved);

    if (length <= 0) {
        return length < 0 ? (int)length : -ENOENT;
    }
    if (call->boundary->plan->read_patterns && only_reads(request) && !creates(request) &&
            open_at_once(call, resolved->asked, request, ret_result)) {
        return 1;
    }
    return resolve_text(call, request->dirfd, resolved->asked, how_of(request), resolved);
}

static enum call_result
run_request(struct call *call, const struct open_request *request)
{
    AUTO(resolved_done) struct resolved resolved;
    bool decides_reads = call->boundary->plan->read_patterns;
    enum call_result result;
    int r;

    resolved_init(&resolved);
    r = find(call, request, &resolved, &result);
    if (r > 0) {
        return result;
    }
    if (decides_reads && only_reads(request) &&
            (r < 0 || resolved.object >= 0 || (request->flags & O_CREAT) == 0)) {
        return r < 0 ? read_failed(call, &resolved, r) : open_to_read(call, &resolved, request);
    }
    if (r < 0) {
        return course_untold(call, &resolved, r, "open");
    }
    r = fails_by_name(&resolved, request);
    if (r != 0) {
        return call_fail(call, r);
    }
    if (resolved.object >= 0 && only_reads(request) &&
            !resolved_is_writable(call, &resolved, resolved.object)) {
        return CALL_CONTINUE;
    }
    return open_to_write(call, &resolved, request);
}

enum call_result
calls_open(struct call *call)
{
    struct open_request request;
    enum call_result result;
    int r = decode(call, &request);

    if (r < 0) {
        struct resolved nothing;

        resolved_init(&nothing);
        return course_failed(call, &nothing, r, "open");
    }
    call->open_flags = request.flags;
    if ((request.flags & O_PATH) != 0 ||
            (!writes(&request) && !call->boundary->plan->read_patterns)) {
        return CALL_CONTINUE;
    }
    if (!git_wait_for_links(call)) {
        return CALL_WORKER;
    }
    if (!creates(&request)) {
        return run_request(call, &request);
    }
    if (calls_refuse_mode(call, request.mode, "open")) {
        return CALL_REPLY;
    }
    if (!name_enter(call, false)) {
        return CALL_WORKER;
    }
    result = run_request(call, &request);
    name_leave(call);
    return result;
}

/* ---- access for writing ---- */

/* In a guarded place the kernel says EROFS although the broker would do it: tell the truth. */
enum call_result
calls_access(struct call *call)
{
    AUTO(resolved_done) struct resolved resolved;
    AUTO(closep) int object = -1;
    bool is_at = call->nr != SYS_faccessat;
    int dirfd = (int)call->args[0];
    uint64_t address = call->args[1];
    int mode = (int)call->args[2], flags = is_at ? (int)call->args[3] : 0;
    int r;

#ifdef SYS_access
    if (call->nr == SYS_access) {
        dirfd = AT_FDCWD;
        address = call->args[0];
        mode = (int)call->args[1];
        flags = 0;
    }
#endif
    resolved_init(&resolved);
    r = resolve_path(call, dirfd, address,
            ((flags & AT_SYMLINK_NOFOLLOW) != 0 ? RESOLVE_NAME : RESOLVE_FOLLOW) |
                    ((flags & AT_EMPTY_PATH) != 0 ? RESOLVE_EMPTY : 0),
            &resolved);
    if (r == -EAGAIN) {
        return CALL_WORKER;
    }
    if (r < 0 || resolved.object < 0 || resolve_is_writable(call, resolved.object) ||
            resolved_path(call, &resolved) < 0 ||
            !course_plan_allows(call->boundary->plan, resolved.path)) {
        return CALL_CONTINUE;
    }
    if (!call->on_worker) {
        return CALL_WORKER;
    }
    object = resolve_host_object(call, &resolved);
    if (object < 0) {
        return CALL_CONTINUE;
    }
    r = (int)syscall(SYS_faccessat2, object, "", mode, AT_EMPTY_PATH | AT_EACCESS);
    return r == 0 ? call_return(call, 0) : call_fail(call, errno);
}
