/* SPDX-License-Identifier: Apache-2.0
 * Handles the calls that change attributes of what exists, by path or by descriptor: truncate,
 * chmod, chown, utimes, xattrs.  Acts on the host's descriptor of the very object. */
#include "linux/listen/course.h"

#include "base/mem.h"
#include "linux/listen/listeners.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#ifndef SYS_fchmodat2
#    define SYS_fchmodat2 452
#endif

enum deed { DEED_TRUNCATE, DEED_CHMOD, DEED_CHOWN, DEED_TIMES, DEED_SET, DEED_REMOVE };
enum time_form { TIME_SPEC, TIME_VALUES, TIME_BUFFER };

/* Where a call has what: indexes of arguments, -1: it has none. */
struct form {
    int nr;
    enum deed deed;
    const char *verb;
    int8_t dirfd, path; /* path -1: dirfd is the descriptor that is meant */
    int8_t flags; /* AT_* */
    int8_t rest; /* the first argument that says what is to be done */
    bool no_follow;
    enum time_form times;
};

static const struct form forms[] = {
    { SYS_truncate, DEED_TRUNCATE, "truncate", -1, 0, -1, 1 },
    { SYS_fchmodat, DEED_CHMOD, "chmod", 0, 1, -1, 2 },
    { SYS_fchmodat2, DEED_CHMOD, "chmod", 0, 1, 3, 2 },
    { SYS_fchmod, DEED_CHMOD, "chmod", 0, -1, -1, 1 },
    { SYS_fchownat, DEED_CHOWN, "chown", 0, 1, 4, 2 },
    { SYS_fchown, DEED_CHOWN, "chown", 0, -1, -1, 1 },
    { SYS_utimensat, DEED_TIMES, "utimes", 0, 1, 3, 2 },
    { SYS_setxattr, DEED_SET, "setxattr", -1, 0, -1, 1 },
    { SYS_lsetxattr, DEED_SET, "setxattr", -1, 0, -1, 1, .no_follow = true },
    { SYS_fsetxattr, DEED_SET, "setxattr", 0, -1, -1, 1 },
    { SYS_removexattr, DEED_REMOVE, "removexattr", -1, 0, -1, 1 },
    { SYS_lremovexattr, DEED_REMOVE, "removexattr", -1, 0, -1, 1, .no_follow = true },
    { SYS_fremovexattr, DEED_REMOVE, "removexattr", 0, -1, -1, 1 },
#ifdef SYS_chmod
    { SYS_chmod, DEED_CHMOD, "chmod", -1, 0, -1, 1 },
    { SYS_chown, DEED_CHOWN, "chown", -1, 0, -1, 1 },
    { SYS_lchown, DEED_CHOWN, "chown", -1, 0, -1, 1, .no_follow = true },
    { SYS_utime, DEED_TIMES, "utimes", -1, 0, -1, 1, .times = TIME_BUFFER },
    { SYS_utimes, DEED_TIMES, "utimes", -1, 0, -1, 1, .times = TIME_VALUES },
    { SYS_futimesat, DEED_TIMES, "utimes", 0, 1, -1, 2, .times = TIME_VALUES },
#endif
};

static const struct form *
find_form(int nr)
{
    for (size_t i = 0; i < N_ELEMENTS(forms); i++) {
        if (forms[i].nr == nr) {
            return &forms[i];
        }
    }
    return NULL;
}

/* ---- the arguments that say what is to be done: 0 or a negative errno ---- */

/* Times as utimensat takes them; *ret_has is false for "now". */
static int
read_times(struct call *call, const struct form *form, struct timespec ret_times[2], bool *ret_has)
{
    uint64_t address = call->args[form->rest];
    struct timeval values[2] = { 0 };
    struct utimbuf buffer = { 0 };
    int r;

    *ret_has = address != 0;
    if (address == 0) {
        return 0;
    }
    switch (form->times) {
    case TIME_SPEC:
        return call_read(call, address, ret_times, 2 * sizeof *ret_times);
    case TIME_VALUES:
        r = call_read(call, address, values, sizeof values);
        for (int i = 0; i < 2; i++) {
            if (values[i].tv_usec < 0 || values[i].tv_usec >= 1000000) {
                return -EINVAL;
            }
            ret_times[i] = (struct timespec){ values[i].tv_sec, values[i].tv_usec * 1000 };
        }
        return r;
    case TIME_BUFFER:
        r = call_read(call, address, &buffer, sizeof buffer);
        ret_times[0] = (struct timespec){ .tv_sec = buffer.actime };
        ret_times[1] = (struct timespec){ .tv_sec = buffer.modtime };
        return r;
    }
    return -EINVAL;
}

static int
set_times(struct call *call, const struct form *form, int object)
{
    struct timespec times[2] = { 0 };
    bool has_times = false;
    int r = read_times(call, form, times, &has_times);

    if (r < 0) {
        return r;
    }
    return utimensat(object, "", has_times ? times : NULL, AT_EMPTY_PATH) == 0 ? 0 : -errno;
}

static int
set_attribute(struct call *call, const char *link, const char *name, uint64_t value, size_t size,
        int flags)
{
    AUTO(freep) void *bytes = NULL;
    int r;

    if (size > XATTR_SIZE_MAX) {
        return -E2BIG;
    }
    bytes = malloc(size + 1);
    if (bytes == NULL) {
        return -ENOMEM;
    }
    r = size == 0 ? 0 : call_read(call, value, bytes, size);
    if (r < 0) {
        return r;
    }
    return setxattr(link, name, bytes, size, flags) == 0 ? 0 : -errno;
}

static int
change_attribute(struct call *call, const struct form *form, const char *link)
{
    const uint64_t *a = &call->args[form->rest];
    char name[XATTR_NAME_MAX + 1];
    long length = call_read_text(call, a[0], name, sizeof name);

    if (length <= 0) {
        return length == 0 || length == -ENAMETOOLONG ? -ERANGE : (int)length;
    }
    if (form->deed == DEED_SET) {
        return set_attribute(call, link, name, a[1], a[2], (int)a[3]);
    }
    return removexattr(link, name) == 0 ? 0 : -errno;
}

/* A file grows as far as its caller's limit lets it, not ours. */
static int
truncate_object(const struct call *call, const char *link, off_t length)
{
    AUTO(closep) int fd = open(link, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct rlimit limit;
    struct stat stat;

    if (fd < 0 || fstat(fd, &stat) != 0 || prlimit(call->pid, RLIMIT_FSIZE, NULL, &limit) != 0) {
        return -errno;
    }
    if (length > stat.st_size && limit.rlim_cur != RLIM_INFINITY &&
            (uint64_t)length > limit.rlim_cur) {
        return -EFBIG;
    }
    return ftruncate(fd, length) == 0 ? 0 : -errno;
}

static int
perform(struct call *call, const struct form *form, int object)
{
    const uint64_t *a = &call->args[form->rest];
    char link[32];

    /* Acts on the object itself, a symbolic link too. */
    snprintf(link, sizeof link, "/proc/self/fd/%d", object);
    switch (form->deed) {
    case DEED_TRUNCATE:
        return truncate_object(call, link, (off_t)a[0]);
    case DEED_CHMOD:
        return chmod(link, (mode_t)a[0]) == 0 ? 0 : -errno;
    case DEED_CHOWN:
        return fchownat(object, "", (uid_t)a[0], (gid_t)a[1], AT_EMPTY_PATH) == 0 ? 0 : -errno;
    case DEED_TIMES:
        return set_times(call, form, object);
    case DEED_SET:
    case DEED_REMOVE:
        return change_attribute(call, form, link);
    }
    return -EPERM;
}

/* ---- the course ---- */

/* utimensat and futimesat without a path mean the descriptor. */
static bool
means_descriptor(const struct call *call, const struct form *form)
{
    return form->path < 0 ||
           (form->deed == DEED_TIMES && form->dirfd >= 0 && call->args[form->path] == 0);
}

static int
resolve_form(struct call *call, const struct form *form, struct resolved *resolved)
{
    int dirfd = form->dirfd >= 0 ? (int)call->args[form->dirfd] : AT_FDCWD;
    int flags = form->flags >= 0 ? (int)call->args[form->flags] : 0;
    unsigned int how = form->no_follow || (flags & AT_SYMLINK_NOFOLLOW) != 0 ? RESOLVE_NAME : 0;

    if (means_descriptor(call, form)) {
        return resolve_fd(call, dirfd, resolved);
    }
    return resolve_path(call, dirfd, call->args[form->path],
            how | ((flags & AT_EMPTY_PATH) != 0 ? RESOLVE_EMPTY : 0), resolved);
}

static enum call_result
act_on_behalf(struct call *call, const struct form *form, struct resolved *resolved, bool is_box)
{
    const int object = is_box ? resolved->object : resolve_acting_object(call, resolved);
    int r;

    if (!call_is_valid(call)) {
        return CALL_SENT; /* of nobody, or of another process, by then */
    }
    if (object < 0) {
        return course_lost(call, resolved, object, form->verb);
    }
    if (form->deed == DEED_TRUNCATE && !S_ISREG(resolved->stat.stx_mode)) {
        return call_fail(call, S_ISDIR(resolved->stat.stx_mode) ? EISDIR : EINVAL);
    }
    r = perform(call, form, object);
    if (r == -EWOULDBLOCK && form->deed == DEED_TRUNCATE) {
        return CALL_LATER; /* leased */
    }
    return r < 0 ? call_fail(call, -r) : call_return(call, 0);
}

/* The s bits of a directory give nobody rights. */
static bool
refuses_mode(struct call *call, const struct form *form, const struct resolved *resolved)
{
    return form->deed == DEED_CHMOD && !S_ISDIR(resolved->stat.stx_mode) &&
           calls_refuse_mode(call, (uint32_t)call->args[form->rest], form->verb);
}

/* On the loop's thread nothing is done that may wait for long.  Most of them: what was unpacked
 * gets its owner, mode and times. */
static bool
may_act_here(const struct call *call, const struct form *form, const struct resolved *resolved)
{
    return call->on_worker ||
           (form->deed != DEED_TRUNCATE && listeners_are_quick(call->boundary->listeners) &&
                   resolved_is_writable(call, resolved, resolved->object));
}

/* None of these continues: a descriptor, or the link to one in /proc, may be of another file by
 * then, and what the host handed in lies on mounts that confine nothing. */
enum call_result
calls_attribute(struct call *call)
{
    AUTO(resolved_done) struct resolved resolved;
    const struct form *form = find_form(call->nr);
    enum call_result result;
    enum course course;
    int r;

    resolved_init(&resolved);
    if (form == NULL) {
        return call_fail(call, EPERM);
    }
    r = resolve_form(call, form, &resolved);
    if (r < 0) {
        return course_untold(call, &resolved, r, form->verb);
    }
    if (resolved.object < 0) {
        return call_fail(call, ENOENT);
    }
    if (refuses_mode(call, form, &resolved)) {
        return CALL_REPLY;
    }
    course = form->deed == DEED_TRUNCATE
                     ? course_of_write(call, &resolved, resolved.object, form->verb, &result)
                     : course_of(call, &resolved, resolved.object, form->verb, &result);
    if (course == COURSE_ANSWERED) {
        return result == CALL_CONTINUE ? call_fail(call, EACCES) : result;
    }
    return may_act_here(call, form, &resolved)
                   ? act_on_behalf(call, form, &resolved, course == COURSE_CONTINUE)
                   : CALL_WORKER;
}
