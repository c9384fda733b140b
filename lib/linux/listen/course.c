/* SPDX-License-Identifier: Apache-2.0
 * Decides what is to become of a call that would change something.  Where the box may write, the
 * mounts have said that policy allows every name, and the kernel confines whatever the path turns
 * into.  Everything else is the broker's. */
#include "linux/listen/course.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

/* The read-only parts of the box's own /proc are the kernel's settings: refused with an event like
 * a place of the host. */
static bool
is_own(const struct call *call, const struct resolved *resolved, int where)
{
    struct statfs fs;

    return plan_is_private(call->boundary->plan, resolved->path) && fstatfs(where, &fs) == 0 &&
           (fs.f_type != PROC_SUPER_MAGIC || S_ISCHR(resolved->stat.stx_mode));
}

enum course
course_decide(struct call *call, struct resolved *resolved, uint32_t access, const char *verb,
        struct content *content, enum call_result *ret_result)
{
    struct act act = {
        .request = ABX_REQUEST_PATH,
        .access = access,
        .target = resolved->path,
        .verb = verb,
        .content = content != NULL ? content->fd : -1,
        .judged = content != NULL ? &content->judged : NULL,
    };

    if (resolved->asked[0] != '\0' && strcmp(resolved->asked, resolved->path) != 0) {
        act.asked = resolved->asked;
    }
    switch (call_decide(call, &act, resolved->object, resolved->parent)) {
    case ABX_VERDICT_ALLOW:
        return COURSE_BEHALF;
    case ABX_VERDICT_ASK:
        *ret_result = CALL_HOLD;
        return COURSE_ANSWERED;
    default:
        *ret_result = call_fail(call, EACCES);
        return COURSE_ANSWERED;
    }
}

/* Allowed or granted, but its reads are not: the box has nothing there that could be written. */
static enum call_result
fail_masked(struct call *call, struct resolved *resolved, const char *verb)
{
    const struct place *place = plan_place_of(call->boundary->plan, resolved->path);
    struct act act = {
        .request = ABX_REQUEST_PATH,
        .access = ABX_ACCESS_WRITE,
        .target = resolved->path,
        .verb = verb,
        .content = -1,
    };

    if (!call->boundary->plan->mask || place == NULL || place->read == ABX_VERDICT_ALLOW) {
        return CALL_CONTINUE;
    }
    call_report(call, ABX_EVENT_DENIAL, &act, "boundary:masked",
            "what may not be read at all times cannot be written",
            "let the policy allow reading it, and ask about writing only");
    return call_fail(call, EACCES);
}

/* On the way there is a place that may not be read: the event names what was asked for. */
static enum call_result
fail_on_the_way(struct call *call, struct resolved *resolved, const char *verb)
{
    enum call_result result = CALL_CONTINUE;

    if (resolved->path[0] == '/' &&
            course_decide(call, resolved, ABX_ACCESS_WRITE, verb, NULL, &result) == COURSE_BEHALF) {
        return fail_masked(call, resolved, verb);
    }
    return result;
}

enum call_result
course_failed(struct call *call, struct resolved *resolved, int error, const char *verb)
{
    switch (error) {
    case -EAGAIN:
        return CALL_WORKER;
    case -EKEYREJECTED:
        return call_unreadable(call, verb);
    case -EACCES:
        return fail_on_the_way(call, resolved, verb);
    default:
        if (call_is_starved(error)) {
            return call_starved(call, resolved->path, ABX_ACCESS_WRITE);
        }
        /* The kernel fails in the same way, and where it does not the mounts confine it. */
        return plan_has_mounts(call->boundary->plan) ? CALL_CONTINUE : call_fail(call, -error);
    }
}

enum call_result
course_untold(struct call *call, struct resolved *resolved, int error, const char *verb)
{
    enum call_result result = course_failed(call, resolved, error, verb);

    return result == CALL_CONTINUE ? call_fail(call, -error) : result;
}

enum call_result
course_handed_in(struct call *call, const struct resolved *resolved, const char *verb)
{
    struct act act = {
        .request = ABX_REQUEST_PATH,
        .access = ABX_ACCESS_WRITE,
        .target = resolved->path,
        .verb = verb,
        .content = -1,
    };

    call_report(call, ABX_EVENT_DENIAL, &act, "boundary:handed-in",
            "what a program was given, or has no name, can be used as it was opened, and no more",
            NULL);
    return call_fail(call, EACCES);
}

/* What was handed in lies on a mount of the host, which confines nothing, and so does what was
 * opened on behalf: the path decides, unless that is the box's own, or gone.  Whoever may write a
 * file without a name may do all with it.  What never had a name is nobody else's. */
static enum course
course_of_held(struct call *call, struct resolved *resolved, const char *verb,
        enum call_result *ret_result)
{
    int r = resolved_path(call, resolved);
    bool is_written = r == -ENOENT && S_ISREG(resolved->stat.stx_mode) &&
                      resolved_access(call, resolved) > O_RDONLY;

    if (resolved->path[0] != '/' || is_written) {
        return COURSE_CONTINUE;
    }
    if (r == 0 && !plan_is_private(call->boundary->plan, resolved->path)) {
        return course_decide(call, resolved, ABX_ACCESS_WRITE, verb, NULL, ret_result);
    }
    *ret_result = course_handed_in(call, resolved, verb);
    return COURSE_ANSWERED;
}

enum course
course_of(struct call *call, struct resolved *resolved, int where, const char *verb,
        enum call_result *ret_result)
{
    bool own;
    int r;

    if (resolved_is_writable(call, resolved, where)) {
        return COURSE_CONTINUE;
    }
    if (resolved->is_held && !call->on_worker) {
        *ret_result = CALL_WORKER;
        return COURSE_ANSWERED;
    }
    if (!resolved_is_of_box(call, resolved)) {
        return course_of_held(call, resolved, verb, ret_result);
    }
    r = resolved_path(call, resolved);
    if (r == -ENOENT && resolved->is_held) {
        *ret_result = course_handed_in(call, resolved, verb);
        return COURSE_ANSWERED;
    }
    if (r < 0) {
        *ret_result = course_failed(call, resolved, r, verb);
        return COURSE_ANSWERED;
    }
    own = is_own(call, resolved, where);
    if (own && S_ISCHR(resolved->stat.stx_mode)) {
        return COURSE_CONTINUE; /* a device is written through a read-only mount */
    }
    if (course_decide(call, resolved, ABX_ACCESS_WRITE, verb, NULL, ret_result) ==
            COURSE_ANSWERED) {
        return COURSE_ANSWERED;
    }
    /* The box's own is read-only whatever policy says: there is nothing on the host to act on. */
    return own ? COURSE_CONTINUE : COURSE_BEHALF;
}

enum course
course_of_write(struct call *call, struct resolved *resolved, int where, const char *verb,
        enum call_result *ret_result)
{
    enum course course = course_of(call, resolved, where, verb, ret_result);
    int r;

    if (course != COURSE_CONTINUE || !resolved_is_of_box(call, resolved)) {
        return course;
    }
    r = resolved_path(call, resolved);
    if (r == -ENOENT && resolved->is_held && !call->boundary->plan->read_patterns) {
        return COURSE_BEHALF; /* its name is gone: what it was nobody finds any more */
    }
    if (r < 0) {
        *ret_result = course_untold(call, resolved, r, verb);
        return COURSE_ANSWERED;
    }
    if (plan_lets_write(call->boundary->plan, resolved->path)) {
        return COURSE_CONTINUE;
    }
    /* In a git directory that was made a moment ago the box may still write. */
    return plan_guards_git_file(call->boundary->plan, resolved->path)
                   ? course_decide(call, resolved, ABX_ACCESS_WRITE, verb, NULL, ret_result)
                   : COURSE_BEHALF;
}

enum call_result
course_lost(struct call *call, struct resolved *resolved, int error, const char *verb)
{
    struct act act = {
        .request = ABX_REQUEST_PATH,
        .access = ABX_ACCESS_WRITE,
        .target = resolved->path,
        .verb = verb,
        .content = -1,
    };
    enum call_result result;

    if (call_is_starved(error)) {
        return call_starved(call, resolved->path, ABX_ACCESS_WRITE);
    }
    if (error != -EXDEV) {
        return call_fail(call, -error);
    }
    result = fail_masked(call, resolved, verb);
    if (result != CALL_CONTINUE) {
        return result;
    }
    call_report(call, ABX_EVENT_DENIAL, &act, "boundary:elsewhere",
            "the box has another object at this path than the host", NULL);
    return call_fail(call, EACCES);
}

static bool
lies_in(const char *path, const char *directory)
{
    size_t length = strlen(directory);

    length = length == 1 ? 0 : length;
    return strncmp(path, directory, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

bool
course_in_root(const struct plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->places.count; i++) {
        const struct place *place = vec_at(&plan->places, struct place, i);

        if (place->write == ABX_VERDICT_ALLOW && lies_in(path, place->path)) {
            return true;
        }
    }
    return false;
}

bool
course_plan_allows(const struct plan *plan, const char *path)
{
    size_t deepest = 0;
    bool is_allowed = false;

    for (size_t i = 0; i < plan->places.count; i++) {
        const struct place *place = vec_at(&plan->places, struct place, i);
        size_t length = strlen(place->path);

        length = length == 1 ? 0 : length;
        if (length >= deepest && lies_in(path, place->path)) {
            deepest = length;
            is_allowed = place->write == ABX_VERDICT_ALLOW;
        }
    }
    for (size_t i = 0; i < plan->guards.count; i++) {
        const char *guard = *vec_at(&plan->guards, char *, i);
        size_t length = strlen(guard);

        if (length > deepest && lies_in(path, guard)) {
            deepest = length;
            is_allowed = false;
        }
    }
    return is_allowed && !plan_guards_git_file(plan, path);
}
