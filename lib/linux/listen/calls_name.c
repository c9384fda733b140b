/* SPDX-License-Identifier: Apache-2.0
 * Handles the calls that make or remove one name: mkdir, mknod, symlink, unlink, rmdir; and hands
 * those with two names to calls_move.c.  Acts by name, under the caller's umask: in the box's own
 * directory where it may write, else in the host's. */
#include "linux/listen/calls_git.h"

#include "base/mem.h"
#include "base/path.h"
#include "linux/listen/listeners.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum deed { DEED_MKDIR, DEED_MKNOD, DEED_SYMLINK, DEED_UNLINK, DEED_RMDIR };

struct name_request {
    enum deed deed;
    const char *verb;
    int dirfd;
    uint64_t path;
    uint32_t mode;
    uint64_t target; /* of a symbolic link: address of its text */
};

/* The forms with a directory descriptor in front have all else one argument later. */
static bool
decode(const struct call *call, struct name_request *ret_request)
{
    const uint64_t *a = call->args;
    struct name_request r = { .dirfd = AT_FDCWD, .path = a[0], .mode = (uint32_t)a[1] };

    switch (call->nr) {
#ifdef SYS_mkdir
    case SYS_mkdir:
        r.deed = DEED_MKDIR, r.verb = "mkdir";
        break;
    case SYS_mknod:
        r.deed = DEED_MKNOD, r.verb = "mknod";
        break;
    case SYS_symlink:
        r.deed = DEED_SYMLINK, r.verb = "symlink", r.target = a[0], r.path = a[1];
        break;
    case SYS_unlink:
        r.deed = DEED_UNLINK, r.verb = "unlink";
        break;
    case SYS_rmdir:
        r.deed = DEED_RMDIR, r.verb = "rmdir";
        break;
#endif
    case SYS_mkdirat:
        r.deed = DEED_MKDIR, r.verb = "mkdir";
        r.dirfd = (int)a[0], r.path = a[1], r.mode = (uint32_t)a[2];
        break;
    case SYS_mknodat:
        r.deed = DEED_MKNOD, r.verb = "mknod";
        r.dirfd = (int)a[0], r.path = a[1], r.mode = (uint32_t)a[2];
        break;
    case SYS_symlinkat:
        r.deed = DEED_SYMLINK, r.verb = "symlink";
        r.target = a[0], r.dirfd = (int)a[1], r.path = a[2];
        break;
    case SYS_unlinkat:
        r.deed = (a[2] & AT_REMOVEDIR) != 0 ? DEED_RMDIR : DEED_UNLINK;
        r.verb = r.deed == DEED_RMDIR ? "rmdir" : "unlink";
        r.dirfd = (int)a[0], r.path = a[1];
        break;
    default:
        return false;
    }
    *ret_request = r;
    return true;
}

void
name_made_directory(struct call *call, const char *path)
{
    const struct plan *plan = call->boundary->plan;

    /* What stays read-only in the box has its names made on behalf: what is guarded, what was made
     * with a grant for it alone, and where binding fails. */
    if (plan_has_mounts(plan) && !plan_guards(plan, path) && course_plan_allows(plan, path)) {
        boundary_bind(call->boundary, path);
    }
}

static int
make_node(int parent, const char *name, uint32_t mode)
{
    if ((mode & S_IFMT) != 0 && !S_ISREG(mode) && !S_ISFIFO(mode)) {
        return -EPERM;
    }
    return mknodat(parent, name, mode, 0) == 0 ? 0 : -errno;
}

static int
perform(struct call *call, const struct name_request *request, int parent, const char *name)
{
    if (!name_take_umask(call)) {
        return -errno;
    }
    switch (request->deed) {
    case DEED_MKDIR:
        return mkdirat(parent, name, request->mode) == 0 ? 0 : -errno;
    case DEED_MKNOD:
        return make_node(parent, name, request->mode);
    case DEED_SYMLINK: /* make_link */
        break;
    case DEED_UNLINK:
        return unlinkat(parent, name, 0) == 0 ? 0 : -errno;
    case DEED_RMDIR:
        return unlinkat(parent, name, AT_REMOVEDIR) == 0 ? 0 : -errno;
    }
    return -EPERM;
}

/* A link where a protected name would be below shows another one in its place. */
static enum call_result
refuse_link(struct call *call, const struct resolved *resolved, const struct name_request *request)
{
    struct act act = {
        .request = ABX_REQUEST_PATH,
        .access = ABX_ACCESS_WRITE,
        .target = resolved->path,
        .verb = request->verb,
        .content = -1,
    };

    call_report(call, ABX_EVENT_DENIAL, &act, "boundary:protected-inside",
            "a link cannot stand where something below is protected", "make a directory");
    return call_fail(call, EACCES);
}

static enum call_result
make_link(struct call *call, struct resolved *resolved, const struct name_request *request,
        int parent)
{
    AUTO(freep) char *text = malloc(PATH_MAX); /* read once: what is looked at is what is made */
    long length = text == NULL ? -ENOMEM : call_read_text(call, request->target, text, PATH_MAX);

    if (length == -ENOMEM) {
        return call_starved(call, resolved->path, ABX_ACCESS_WRITE);
    }
    if (length < 0) {
        return call_fail(call, (int)-length);
    }
    if (!link_may_stand(call, resolved->path, text)) {
        return refuse_link(call, resolved, request);
    }
    return symlinkat(text, parent, resolved->name) == 0 ? call_return(call, 0)
                                                        : call_fail(call, errno);
}

static enum call_result
act_on_behalf(struct call *call, struct resolved *resolved, const struct name_request *request)
{
    const int parent = resolve_acting_parent(call, resolved);
    int r;

    if (parent < 0) {
        return course_lost(call, resolved, parent, request->verb);
    }
    if (request->deed == DEED_SYMLINK) {
        return make_link(call, resolved, request, parent);
    }
    r = perform(call, request, parent, resolved->name);
    if (r < 0) {
        return call_fail(call, -r);
    }
    if (request->deed == DEED_MKDIR && git_name_matters(call, resolved) != 0) {
        r = git_guard(call, resolved->parent, resolved->name);
        if (r == 0) {
            git_remember(call, resolved->parent, resolved->path);
        }
    } else if (request->deed == DEED_MKDIR && parent != resolved->parent) {
        name_made_directory(call, resolved->path);
    }
    if (r < 0) {
        unlinkat(parent, resolved->name, AT_REMOVEDIR);
        return call_fail(call, EACCES);
    }
    return call_return(call, 0);
}

static bool
removes(const struct name_request *request)
{
    return request->deed == DEED_UNLINK || request->deed == DEED_RMDIR;
}

/* What is missing or in the way: the errno, which on a read-only mount the kernel would not tell.
 */
static int
fails_by_name(const struct resolved *resolved, const struct name_request *request)
{
    if (removes(request)) {
        return resolved->parent >= 0 && resolved->object < 0 ? ENOENT : 0;
    }
    if (resolved->parent < 0 || resolved->object >= 0) {
        return EEXIST;
    }
    return resolved->needs_directory && request->deed != DEED_MKDIR ? ENOENT : 0;
}

/* On the loop's thread nothing is done that may wait for long, as to look where a link leads. */
static bool
may_act_here(const struct call *call, const struct resolved *resolved,
        const struct name_request *request, bool is_decided)
{
    const bool looks = request->deed == DEED_SYMLINK && call->boundary->plan->patterns.count > 0;

    return call->on_worker ||
           (!is_decided && !looks && listeners_are_quick(call->boundary->listeners) &&
                   resolved_is_writable(call, resolved, resolved->parent));
}

/* Even where the box may write.  Negative: it cannot be told. */
static int
must_decide(struct call *call, struct resolved *resolved)
{
    int matters = git_name_matters(call, resolved);

    return matters != 0 ? matters
                        : resolved_is_mount(resolved) && resolved_path(call, resolved) == 0 &&
                                  !plan_is_private(call->boundary->plan, resolved->path);
}

static enum course
course_of_name(struct call *call, struct resolved *resolved, const struct name_request *request,
        bool is_decided, enum call_result *ret_result)
{
    if (is_decided) {
        return course_decide(call, resolved, ABX_ACCESS_WRITE, request->verb, NULL, ret_result);
    }
    return removes(request)
                   ? course_of(call, resolved, resolved->parent, request->verb, ret_result)
                   : course_of_write(call, resolved, resolved->parent, request->verb, ret_result);
}

static enum call_result
run_request(struct call *call, const struct name_request *request)
{
    AUTO(resolved_done) struct resolved resolved;
    enum call_result result = CALL_CONTINUE;
    bool is_decided;
    int r;

    resolved_init(&resolved);
    r = resolve_path(call, request->dirfd, request->path, RESOLVE_NAME, &resolved);
    if (r < 0) {
        return removes(request) ? course_failed(call, &resolved, r, request->verb)
                                : course_untold(call, &resolved, r, request->verb);
    }
    r = fails_by_name(&resolved, request);
    if (r != 0) {
        return call_fail(call, r);
    }
    if (resolved.parent < 0) {
        return CALL_CONTINUE; /* "/", "." and the like are not removed */
    }
    r = must_decide(call, &resolved);
    if (r < 0) {
        return course_untold(call, &resolved, r, request->verb);
    }
    is_decided = r > 0;
    switch (course_of_name(call, &resolved, request, is_decided, &result)) {
    case COURSE_CONTINUE:
        return CALL_CONTINUE;
    case COURSE_ANSWERED:
        return result;
    case COURSE_BEHALF:
        break;
    }
    return may_act_here(call, &resolved, request, is_decided)
                   ? act_on_behalf(call, &resolved, request)
                   : CALL_WORKER;
}

enum call_result
calls_name(struct call *call)
{
    struct name_request request;
    enum call_result result;

    if (!decode(call, &request)) {
        return calls_move(call);
    }
    if (request.deed == DEED_MKNOD && calls_refuse_mode(call, request.mode, request.verb)) {
        return CALL_REPLY;
    }
    if (!name_enter(call, false)) {
        return CALL_WORKER;
    }
    result = run_request(call, &request);
    name_leave(call);
    return result;
}
