/* SPDX-License-Identifier: Apache-2.0
 * Handles the calls with two names: rename and link.  Both names are decided.  What is moved keeps
 * its protections: nothing protected may lie in a directory that moves, and a file that takes a
 * protected name is decided by a copy of its content, which nobody else can write to. */
#include "linux/listen/calls_git.h"

#include "base/mem.h"
#include "linux/listen/listeners.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef RENAME_EXCHANGE
#    define RENAME_NOREPLACE 1u
#    define RENAME_EXCHANGE 2u
#endif

struct move {
    const char *verb;
    bool is_link;
    bool crosses; /* from one mount of the box to another */
    bool is_nameless; /* the source of a link is a file made with O_TMPFILE */
    uint32_t flags; /* of rename */
    unsigned int from_how;
    int from_dirfd, to_dirfd;
    uint64_t from_path, to_path;
    struct resolved from, to;
};

static bool
decode(const struct call *call, struct move *move)
{
    const uint64_t *a = call->args;

    move->verb = "rename";
    move->is_link = move->is_nameless = false;
    move->flags = 0;
    move->from_how = RESOLVE_NAME;
    move->from_dirfd = (int)a[0], move->from_path = a[1];
    move->to_dirfd = (int)a[2], move->to_path = a[3];
    switch (call->nr) {
#ifdef SYS_rename
    case SYS_link:
    case SYS_rename:
        move->is_link = call->nr == SYS_link;
        move->from_dirfd = move->to_dirfd = AT_FDCWD;
        move->from_path = a[0], move->to_path = a[1];
        break;
#endif
#ifdef SYS_renameat
    case SYS_renameat:
        break;
#endif
    case SYS_renameat2:
        move->flags = (uint32_t)a[4];
        break;
    case SYS_linkat:
        move->is_link = true;
        move->from_how = (a[4] & AT_SYMLINK_FOLLOW) != 0 ? RESOLVE_FOLLOW : RESOLVE_NAME;
        move->from_how |= (a[4] & AT_EMPTY_PATH) != 0 ? RESOLVE_EMPTY : 0;
        break;
    default:
        return false;
    }
    if (move->is_link) {
        move->verb = "link";
    }
    return true;
}

/* ---- whether it may be ---- */

static enum call_result
deny(struct call *call, const struct resolved *resolved, const struct move *move, const char *rule,
        const char *reason)
{
    struct act act = {
        .request = ABX_REQUEST_PATH,
        .access = ABX_ACCESS_WRITE,
        .target = resolved->path,
        .verb = move->verb,
        .content = -1,
    };

    call_report(call, ABX_EVENT_DENIAL, &act, rule, reason, NULL);
    return call_fail(call, EACCES);
}

static bool
is_directory(const struct resolved *resolved)
{
    return resolved->object >= 0 && S_ISDIR(resolved->stat.stx_mode);
}

/* A directory, or a link that may lead to one. */
static bool
is_way(const struct resolved *resolved)
{
    return resolved->object >= 0 &&
           (S_ISDIR(resolved->stat.stx_mode) || S_ISLNK(resolved->stat.stx_mode));
}

/* Mounts stay with the directory they were made in, so those that guard git directories are not
 * seen at a place that is reached through another one. */
static bool
loses_git(struct call *call, const struct move *move)
{
    return move->crosses && !move->is_link &&
           ((is_directory(&move->from) && resolve_is_writable(call, move->to.parent) &&
                    git_is_in(move->from.path)) ||
                   ((move->flags & RENAME_EXCHANGE) != 0 && is_directory(&move->to) &&
                           git_is_in(move->to.path)));
}

/* Whether what stands at `from` may stand at `to`. */
static bool
may_stand(struct call *call, struct resolved *from, const char *to)
{
    char text[PATH_MAX];
    ssize_t n;

    if (from->object >= 0 && S_ISLNK(from->stat.stx_mode)) {
        n = readlinkat(from->object, "", text, sizeof text - 1);
        text[n < 0 ? 0 : n] = '\0';
        return n >= 0 && link_may_stand(call, to, text);
    }
    return !is_directory(from) || move_keeps_protection(call, from, to);
}

/* What is renamed or linked, on either side, carries no protected name away or in. */
static bool
carries_guards(struct call *call, struct move *move)
{
    const struct plan *plan = call->boundary->plan;

    if (!is_way(&move->from) && !is_way(&move->to)) {
        return false;
    }
    if (loses_git(call, move) || plan_guards_names(plan, move->from.path) ||
            plan_guards_names(plan, move->to.path)) {
        return true;
    }
    return plan->guard_patterns && (!may_stand(call, &move->from, move->to.path) ||
                                           ((move->flags & RENAME_EXCHANGE) != 0 &&
                                                   !may_stand(call, &move->to, move->from.path)));
}

/* Whether what may not be read would get a name under which it may. */
static bool
shows(struct call *call, const struct resolved *from, const struct resolved *to)
{
    return from->object >= 0 && call_look(call, ABX_ACCESS_READ, from->path) != ABX_VERDICT_ALLOW &&
           call_look(call, ABX_ACCESS_READ, to->path) == ABX_VERDICT_ALLOW;
}

/* What names decide about keeps them; a link is asked about (decide_source). */
static bool
shows_hidden(struct call *call, const struct move *move)
{
    return call->boundary->plan->read_patterns && !move->is_link &&
           (shows(call, &move->from, &move->to) ||
                   ((move->flags & RENAME_EXCHANGE) != 0 && shows(call, &move->to, &move->from)));
}

static enum course
decide_name(struct call *call, struct move *move, struct resolved *resolved,
        struct content *content, enum call_result *ret_result)
{
    if (resolve_is_writable(call, resolved->parent) && git_name_is_guarded(call, resolved) == 0) {
        return COURSE_BEHALF; /* its mount says that policy allows every name */
    }
    return course_decide(call, resolved, ABX_ACCESS_WRITE, move->verb, content, ret_result);
}

/* ---- on the caller's behalf ---- */

static int
rename_name(const struct move *move, int from_parent, int to_parent)
{
    return syscall(SYS_renameat2, from_parent, move->from.name, to_parent, move->to.name,
                   move->flags) == 0
                   ? 0
                   : -errno;
}

static int
link_object(const struct move *move, int object, int to_parent)
{
    char link[32];

    snprintf(link, sizeof link, "/proc/self/fd/%d", object);
    return linkat(AT_FDCWD, link, to_parent, move->to.name, AT_SYMLINK_FOLLOW) == 0 ? 0 : -errno;
}

static int
perform(struct call *call, struct move *move, int from_parent, int to_parent)
{
    AUTO(closep) int object = -1;

    if (!move->is_link) {
        return rename_name(move, from_parent, to_parent);
    }
    object = move->is_nameless ? fcntl(move->from.object, F_DUPFD_CLOEXEC, 3)
                               : resolve_host_object(call, &move->from);
    return object < 0 ? -EACCES : link_object(move, object, to_parent);
}

/* Whatever directory came to stand in a guarded one. */
static void
bind_moved(struct call *call, const struct move *move)
{
    bool is_open = resolve_is_writable(call, move->to.parent);

    if (is_directory(&move->from) && !is_open &&
            (!move->crosses || git_guard_moved(call, move->to.parent, move->to.path))) {
        name_made_directory(call, move->to.path);
    }
    if (move->crosses && is_open && resolved_is_mount(&move->from)) {
        boundary_detach(call->boundary, move->from.object);
    }
    if ((move->flags & RENAME_EXCHANGE) != 0 && is_directory(&move->to) &&
            !resolve_is_writable(call, move->from.parent)) {
        name_made_directory(call, move->from.path);
    }
}

/* Where the content decided: the same question about a copy that only the supervisor has, and then
 * the copy takes the name.  Who has the source open for writing changes nothing any more. */
static enum call_result
move_copy(struct call *call, struct move *move, int source, int from_parent, int to_parent)
{
    AUTO(closep) int copy = content_copy(&move->from, source, to_parent);
    struct content content = { .fd = copy };
    enum call_result result;
    int r;

    if (decide_name(call, move, &move->to, &content, &result) != COURSE_BEHALF) {
        return result;
    }
    r = git_put_copy(call, copy, &move->to, to_parent);
    if (r == 0) {
        r = unlinkat(from_parent, move->from.name, 0) == 0 ? 0 : -errno;
    }
    return r < 0 ? call_fail(call, -r) : call_return(call, 0);
}

/* Another name for a file is another way to it: to write it, and to read it. */
static enum course
decide_source(struct call *call, struct move *move, enum call_result *ret_result)
{
    enum course course;

    if (!move->is_link) {
        return decide_name(call, move, &move->from, NULL, ret_result);
    }
    if (move->is_nameless || resolved_is_writable(call, &move->from, move->from.object)) {
        return COURSE_BEHALF;
    }
    course = course_decide(call, &move->from, ABX_ACCESS_WRITE, move->verb, NULL, ret_result);
    return course == COURSE_BEHALF && call->boundary->plan->read_patterns
                   ? course_decide(call, &move->from, ABX_ACCESS_READ, move->verb, NULL, ret_result)
                   : course;
}

static bool
is_asked_place(struct call *call, const char *from, const char *to)
{
    const struct plan *plan = call->boundary->plan;

    return course_plan_allows(plan, from) && !course_plan_allows(plan, to) &&
           !plan_guards_git_file(plan, to) &&
           call_look(call, ABX_ACCESS_WRITE, to) != ABX_VERDICT_DENY;
}

/* Whether what was looked at may come there only because it is no directory. */
static bool
is_picky(struct call *call, const struct move *move)
{
    const struct plan *plan = call->boundary->plan;

    return !move->is_link &&
           (plan_guards_names(plan, move->from.path) || plan_guards_names(plan, move->to.path) ||
                   is_asked_place(call, move->from.path, move->to.path) ||
                   ((move->flags & RENAME_EXCHANGE) != 0 &&
                           is_asked_place(call, move->to.path, move->from.path)));
}

static enum call_result
decide_and_perform(struct call *call, struct move *move, int from_parent, int to_parent)
{
    AUTO(closep)
    int source = move->is_link || move->flags != 0 ? -1 : content_open(call, &move->from);
    struct content content = { .fd = source };
    enum call_result result;
    bool is_exact;
    int r;

    if (decide_source(call, move, &result) != COURSE_BEHALF ||
            decide_name(call, move, &move->to, &content, &result) != COURSE_BEHALF) {
        return result;
    }
    if (content.judged) {
        return move_copy(call, move, source, from_parent, to_parent);
    }
    is_exact = is_picky(call, move);
    if (is_exact && (move->flags & ~RENAME_NOREPLACE) != 0) {
        return deny(call, &move->to, move, "boundary:protected-inside",
                "names cannot be exchanged where something protected would be below one of them");
    }
    r = is_exact ? move_object(
                           call, &move->from, from_parent, &move->to, to_parent, move->flags != 0)
                 : perform(call, move, from_parent, to_parent);
    if (is_exact && r == -EXDEV) {
        return course_lost(call, &move->from, r, move->verb);
    }
    if (r < 0) {
        return call_fail(call, -r);
    }
    bind_moved(call, move);
    return call_return(call, 0);
}

static enum call_result
move_on_behalf(struct call *call, struct move *move)
{
    AUTO(closep) int from_parent = -1;
    AUTO(closep) int to_parent = -1;

    if (carries_guards(call, move)) {
        return deny(call,
                plan_guards_names(call->boundary->plan, move->from.path) ? &move->from : &move->to,
                move, "boundary:protected-inside",
                "a directory cannot be renamed while something protected is, or would be, in it");
    }
    if (shows_hidden(call, move)) {
        return deny(call, &move->from, move, "boundary:hidden",
                "what may not be read cannot get a name under which it may");
    }
    to_parent = resolve_host_parent(call, &move->to);
    if (to_parent < 0) {
        return course_lost(call, &move->to, to_parent, move->verb);
    }
    if (!move->is_link) {
        from_parent = resolve_host_parent(call, &move->from);
        if (from_parent < 0) {
            return course_lost(call, &move->from, from_parent, move->verb);
        }
    }
    return decide_and_perform(call, move, from_parent, to_parent);
}

/* ---- the course ---- */

static int
resolve_both(struct call *call, struct move *move)
{
    int r = resolve_path(call, move->from_dirfd, move->from_path, move->from_how, &move->from);

    return r < 0 ? r : resolve_path(call, move->to_dirfd, move->to_path, RESOLVE_NAME, &move->to);
}

/* Which of the two could not be looked up: the second is not tried where the first fails. */
static struct resolved *
failed_name(struct move *move)
{
    return move->to.asked[0] != '\0' ? &move->to : &move->from;
}

static int
stat_fd(int fd, struct statx *ret_stat)
{
    return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_MNT_ID, ret_stat);
}

/* What is missing or in the way: the errno, which on a read-only mount the kernel would not tell.
 */
static int
fails_by_names(const struct move *move)
{
    bool needs_new = move->is_link || (move->flags & ~RENAME_EXCHANGE) != 0;

    if (move->from.object < 0 || ((move->flags & RENAME_EXCHANGE) != 0 && move->to.object < 0)) {
        return ENOENT;
    }
    if (needs_new && move->to.object >= 0) {
        return EEXIST;
    }
    if (move->is_link) {
        return move->to.needs_directory ? ENOENT : 0;
    }
    return (move->from.needs_directory || move->to.needs_directory) && !is_directory(&move->from)
                   ? ENOTDIR
                   : 0;
}

/* Two file systems: the kernel refuses that by itself. */
static bool
fails_anyway(const struct statx *from, const struct statx *to)
{
    return from->stx_dev_major != to->stx_dev_major || from->stx_dev_minor != to->stx_dev_minor;
}

/* Something that no place of the plan lets the box write gets no name here.  Silently: programs
 * make a copy where a link cannot be made. */
static bool
is_foreign_source(struct call *call, struct move *move)
{
    return move->is_link && !move->is_nameless &&
           !resolved_is_writable(call, &move->from, move->from.object) &&
           !course_in_root(call->boundary->plan, move->from.path);
}

/* A directory that may be written keeps that wherever it goes, by its mount and by descriptors of
 * it.  So it does not go where each name is asked about: silently, programs copy what they cannot
 * rename. */
static bool
carries_rights(struct call *call, const struct move *move)
{
    return (is_directory(&move->from) && is_asked_place(call, move->from.path, move->to.path)) ||
           ((move->flags & RENAME_EXCHANGE) != 0 && is_directory(&move->to) &&
                   is_asked_place(call, move->to.path, move->from.path));
}

/* Within one mount that the box may write. */
static bool
stays(const struct call *call, const struct move *move, int where, const struct statx *from,
        const struct statx *to)
{
    return from->stx_mnt_id == to->stx_mnt_id && resolve_is_writable(call, where) &&
           !resolved_is_mount(&move->from) && !resolved_is_mount(&move->to);
}

/* There policy allows every name that git does not decide about. */
static enum call_result
move_free(struct call *call, struct move *move)
{
    int r = resolved_path(call, &move->to);

    if (r < 0) {
        return course_untold(call, &move->to, r, move->verb);
    }
    if (plan_lets_write(call->boundary->plan, move->to.path)) {
        return CALL_CONTINUE;
    }
    if (!call->on_worker && !listeners_are_quick(call->boundary->listeners)) {
        return CALL_WORKER;
    }
    r = move->is_link ? link_object(move, move->from.object, move->to.parent)
                      : rename_name(move, move->from.parent, move->to.parent);
    return r < 0 ? call_fail(call, -r) : call_return(call, 0);
}

static enum call_result
run_move(struct call *call, struct move *move)
{
    struct statx from, to;
    int where, matters, r = resolve_both(call, move);

    if (r < 0) {
        return course_untold(call, failed_name(move), r, move->verb);
    }
    r = move->to.parent >= 0 && (move->is_link || move->from.parent >= 0) ? fails_by_names(move)
                                                                          : 0;
    if (r != 0) {
        return call_fail(call, r);
    }
    where = move->is_link ? move->from.object : move->from.parent;
    if (where < 0 || move->to.parent < 0) {
        return CALL_CONTINUE;
    }
    if (stat_fd(where, &from) != 0 || stat_fd(move->to.parent, &to) != 0) {
        return course_untold(call, &move->to, -errno, move->verb);
    }
    matters = git_name_is_guarded(call, &move->from);
    matters = matters != 0 ? matters : git_name_is_guarded(call, &move->to);
    if (matters < 0) {
        return course_untold(call, &move->to, matters, move->verb);
    }
    if (fails_anyway(&from, &to)) {
        return CALL_CONTINUE;
    }
    if (matters == 0 && stays(call, move, where, &from, &to)) {
        return move_free(call, move);
    }
    move->crosses = from.stx_mnt_id != to.stx_mnt_id;
    r = resolved_path(call, &move->from);
    move->is_nameless = move->is_link && r == -ENOENT && call->on_worker &&
                        (resolved_is_of_box(call, &move->from) ||
                                resolved_access(call, &move->from) > O_RDONLY);
    r = r < 0 && !move->is_nameless ? r : resolved_path(call, &move->to);
    if (r < 0) {
        return course_untold(call, &move->to, r, move->verb);
    }
    if (is_foreign_source(call, move) || carries_rights(call, move)) {
        return call_fail(call, EXDEV);
    }
    return call->on_worker ? move_on_behalf(call, move) : CALL_WORKER;
}

/* On the loop's thread nothing is moved where patterns decide. */
static enum call_result
run_alone(struct call *call, struct move *move)
{
    enum call_result result;

    if (!call->on_worker) {
        return run_move(call, move);
    }
    if (!name_enter(call, true)) {
        return call_starved(call, "", 0);
    }
    result = run_move(call, move);
    name_leave(call);
    return result;
}

enum call_result
calls_move(struct call *call)
{
    AUTO(freep) struct move *move = malloc(sizeof *move);
    enum call_result result;

    if (move == NULL) {
        return call_starved(call, "", 0);
    }
    resolved_init(&move->from);
    resolved_init(&move->to);
    result = decode(call, move) ? run_alone(call, move) : call_fail(call, EPERM);
    resolved_done(&move->from);
    resolved_done(&move->to);
    return result;
}
