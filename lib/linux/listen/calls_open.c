/* SPDX-License-Identifier: Apache-2.0
 * Handles open, openat, openat2, creat, and access for writing.  On the caller's behalf only
 * regular files (and, for reading, directories seen as the box sees them) are opened, never what
 * could block: the descriptor of what was decided about is opened, not the path. */
#include "linux/listen/calls_open.h"

#include "base/mem.h"
#include "linux/listen/calls_git.h"
#include "linux/listen/listeners.h"

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

static unsigned int
how_of(const struct open_request *request)
{
    if ((request->flags & O_NOFOLLOW) != 0 ||
            (request->flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)) {
        return RESOLVE_NAME;
    }
    return (request->flags & O_CREAT) != 0 ? RESOLVE_CREATE : RESOLVE_FOLLOW;
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
    return call_return_fd(call, fd, (request->flags & O_CLOEXEC) != 0);
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
    if (fd < 0 && errno == EWOULDBLOCK && (request->flags & O_NONBLOCK) == 0) {
        return CALL_LATER; /* leased: its holder has been told to give it up */
    }
    if (fd < 0) {
        return call_fail(call, errno);
    }
    return open_hand_in(call, fd, request);
}

static enum call_result
create(struct call *call, struct resolved *resolved, const struct open_request *request)
{
    AUTO(closep) int parent = -1;
    AUTO(closep) int fd = -1;

    if (resolve_is_writable(call, resolved->parent)) {
        parent = fcntl(resolved->parent, F_DUPFD_CLOEXEC, 3);
        parent = parent < 0 ? -errno : parent;
    } else {
        parent = resolve_host_parent(call, resolved);
    }
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
    AUTO(closep) int object = -1;

    if (resolved->object < 0) {
        return create(call, resolved, request);
    }
    object = resolve_host_object(call, resolved);
    if (object < 0) {
        return course_lost(call, resolved, object, "open");
    }
    return is_tmpfile(request) ? create_nameless(call, object, request)
                               : open_object(call, object, request);
}

/* ---- opens that write ---- */

/* Of a file that a process has open: how, as the access mode; -1: it cannot be told. */
static int
access_of(const struct resolved *resolved)
{
    AUTO(closep) int fd = -1;
    char path[NAME_MAX + 16], text[256];
    const char *flags;
    ssize_t n;

    snprintf(path, sizeof path, "../fdinfo/%s", resolved->name);
    fd = openat(resolved->parent, path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n <= 0) {
        return -1;
    }
    text[n] = '\0';
    flags = strstr(text, "flags:");
    return flags != NULL ? (int)(strtoul(flags + strlen("flags:"), NULL, 8) & O_ACCMODE) : -1;
}

/* "> /dev/stderr", which is a file that the host handed to the command: Landlock knows only what
 * lies in the box, but the caller gets no more than it has. */
static enum call_result
open_again(struct call *call, struct resolved *resolved, const struct open_request *request)
{
    int has = access_of(resolved), wants = (int)(request->flags & O_ACCMODE);

    if (has < 0 || (has != O_RDWR && has != wants)) {
        return CALL_CONTINUE;
    }
    return open_object(call, resolved->object, request);
}

/* Whether the kernel refuses this by itself: no directory, link or name that exists is given. */
static bool
fails_anyway(const struct resolved *resolved, const struct open_request *request)
{
    uint32_t mode = resolved->object >= 0 ? resolved->stat.stx_mode : 0;

    if (resolved->object < 0) {
        return (request->flags & O_CREAT) == 0 || resolved->needs_directory;
    }
    if (S_ISDIR(mode)) {
        return !is_tmpfile(request);
    }
    return S_ISLNK(mode) || is_tmpfile(request) || (request->flags & O_DIRECTORY) != 0 ||
           (request->flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
}

static enum call_result
open_to_write(struct call *call, struct resolved *resolved, const struct open_request *request)
{
    int where = resolved->object >= 0 ? resolved->object : resolved->parent;
    bool is_special = resolved->object >= 0 && !S_ISREG(resolved->stat.stx_mode) &&
                      !S_ISDIR(resolved->stat.stx_mode);
    bool decides_reads = call->boundary->plan->read_patterns;
    enum call_result result;
    int matters;

    if (fails_anyway(resolved, request)) {
        return CALL_CONTINUE;
    }
    matters = (request->flags & O_CREAT) != 0 ? git_name_matters(call, resolved) : 0;
    if (matters != 0) {
        return matters < 0 ? course_untold(call, resolved, matters, "open")
                           : git_open_link(call, resolved, request);
    }
    switch (course_of(call, resolved, where, "open", &result)) {
    case COURSE_CONTINUE:
        if (resolved->is_magic && S_ISREG(resolved->stat.stx_mode)) {
            return open_again(call, resolved, request);
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
    if (is_special) {
        return CALL_CONTINUE; /* read-only mounts do not keep from writing to a device or pipe */
    }
    if (request->resolve != 0) {
        return call_fail(call, ENOSYS); /* programs do it with openat then */
    }
    return call->on_worker ? open_on_behalf(call, resolved, request) : CALL_WORKER;
}

enum call_result
calls_open(struct call *call)
{
    AUTO(resolved_done) struct resolved resolved;
    bool decides_reads = call->boundary->plan->read_patterns;
    struct open_request request;
    int r;

    resolved_init(&resolved);
    r = decode(call, &request);
    if (r < 0) {
        return course_failed(call, &resolved, r, "open");
    }
    if ((request.flags & O_PATH) != 0 || (!writes(&request) && !decides_reads)) {
        return CALL_CONTINUE;
    }
    if (creates(&request) && calls_refuse_mode(call, request.mode, "open")) {
        return CALL_REPLY;
    }
    r = resolve_path(call, request.dirfd, request.path, how_of(&request), &resolved);
    if (decides_reads && only_reads(&request) &&
            (r < 0 || resolved.object >= 0 || (request.flags & O_CREAT) == 0)) {
        return r < 0 ? read_failed(call, &resolved, r) : open_to_read(call, &resolved, &request);
    }
    if (r < 0) {
        return creates(&request) ? course_not_made(call, &resolved, r, "open")
                                 : course_failed(call, &resolved, r, "open");
    }
    if (only_reads(&request) && resolved.object >= 0) {
        return CALL_CONTINUE;
    }
    return open_to_write(call, &resolved, &request);
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
