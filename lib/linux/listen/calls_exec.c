/* SPDX-License-Identifier: Apache-2.0
 * Decides execve and execveat, where a policy has rules for them.  What is denied cannot be
 * executed through the box's mounts either, so what is allowed continues; here a denial becomes an
 * event.  Without rules every execution continues, and a set-user-id program is told of. */
#include "linux/listen/calls_git.h"
#include "linux/listen/course.h"
#include "linux/listen/shown.h"

#include "base/mem.h"
#include "linux/lower/exec_chain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* CALL_CONTINUE: allowed. */
static enum call_result
decide(struct call *call, const char *target, const char *asked, int object)
{
    struct act act = {
        .request = ABX_REQUEST_EXEC,
        .access = ABX_ACCESS_EXEC,
        .target = target,
        .asked = asked,
        .verb = "exec",
        .content = -1,
    };
    AUTO(str_done) struct str shown = { 0 };
    uint64_t unused;
    int r;

    if (object >= 0 && call_weigh(call, &act, &unused) == ABX_VERDICT_ASK) {
        if (!call->on_worker) {
            return CALL_WORKER;
        }
        r = shown_program(&shown, call, object, call->args[call->nr == SYS_execveat ? 2 : 1]);
        if (call_is_starved(r)) {
            return call_starved(call, target, ABX_ACCESS_EXEC);
        }
        if (r < 0) {
            return r == -EACCES ? call_unreadable(call, "exec") : call_fail(call, -r);
        }
        act.bound = shown.data;
    }
    switch (call_decide(call, &act, object, -1)) {
    case ABX_VERDICT_ALLOW:
        return CALL_CONTINUE;
    case ABX_VERDICT_ASK:
        return CALL_HOLD;
    default:
        return call_fail(call, EACCES);
    }
}

/* The interpreters of a script: where only what is listed runs, a listed script brings them with
 * it. */
static enum call_result
decide_chain(struct call *call, const char *path)
{
    struct vec chain = VEC(char *);
    enum call_result result = CALL_CONTINUE;

    if (!exec_chain(path, &chain)) {
        result = call_fail(call, ENOMEM);
    }
    for (size_t i = 0; i < chain.count; i++) {
        char *interpreter = *vec_at(&chain, char *, i);

        if (result == CALL_CONTINUE) {
            result = decide(call, interpreter, NULL, -1);
        }
        free(interpreter);
    }
    vec_done(&chain);
    return result;
}

static bool
has_text(const struct vec *texts, const char *text)
{
    for (size_t i = 0; i < texts->count; i++) {
        if (strcmp(*vec_at(texts, char *, i), text) == 0) {
            return true;
        }
    }
    return false;
}

static bool
chain_has_both(const char *script, const char *program, const char *next)
{
    struct vec chain = VEC(char *);
    bool has_both =
            exec_chain(script, &chain) && has_text(&chain, program) && has_text(&chain, next);

    for (size_t i = 0; i < chain.count; i++) {
        free(*vec_at(&chain, char *, i));
    }
    vec_done(&chain);
    return has_both;
}

/* "#!/usr/bin/env bash" of a listed script executes in two steps, and the second is the caller's:
 * an env that runs, which nobody may start by itself, goes on to what such a script names. */
static enum call_result
continue_script(struct call *call, const char *path)
{
    const struct plan *plan = call->boundary->plan;
    const struct place *place = plan_place_of(plan, path);
    char caller[PATH_MAX];
    const char *name;

    boundary_program_of(call->pid, caller, sizeof caller);
    name = strrchr(caller, '/');
    if (name == NULL || strcmp(name, "/env") != 0 || (place != NULL && place->no_exec)) {
        return CALL_REPLY;
    }
    if (!call->on_worker) {
        return CALL_WORKER;
    }
    for (size_t i = 0; i < plan->exec_allowed.count; i++) {
        if (chain_has_both(*vec_at(&plan->exec_allowed, char *, i), caller, path)) {
            return CALL_CONTINUE;
        }
    }
    return CALL_REPLY;
}

static enum call_result
decide_program(struct call *call, struct resolved *resolved)
{
    const char *asked = strcmp(resolved->asked, resolved->path) == 0 ? NULL : resolved->asked;
    enum call_result result;

    if (call->boundary->plan->restrict_exec) {
        result = continue_script(call, resolved->path);
        if (result != CALL_REPLY) {
            return result;
        }
    }
    if (!call_is_valid(call)) {
        return CALL_SENT;
    }
    result = decide(call, resolved->path, asked, resolved->object);
    if (result != CALL_CONTINUE || call->boundary->plan->restrict_exec) {
        return result;
    }
    return call->on_worker ? decide_chain(call, resolved->path) : CALL_WORKER;
}

/* The program's own message speaks of anything but a box. */
static void
note_set_id(struct call *call, struct resolved *resolved)
{
    const uint16_t mode = resolved->stat.stx_mode;
    const uint16_t group = S_ISGID | S_IXGRP; /* without the second it means a lock */
    const struct act act = {
        .request = ABX_REQUEST_EXEC,
        .access = ABX_ACCESS_EXEC,
        .target = resolved->path,
        .verb = "exec",
        .content = -1,
    };

    if (S_ISREG(mode) && ((mode & S_ISUID) != 0 || (mode & group) == group) &&
            resolved_path(call, resolved) == 0 && call_is_valid(call)) {
        call_report(call, ABX_EVENT_NOTICE, &act, "boundary:set-id",
                "a set-user-id or set-group-id program runs without its bit: nothing in a box "
                "gains rights",
                "do without this program");
    }
}

/* Where only some programs run, what has no name (a memfd, a removed file) is none of them. */
static enum call_result
refuse_nameless(struct call *call)
{
    struct act act = {
        .request = ABX_REQUEST_EXEC,
        .access = ABX_ACCESS_EXEC,
        .target = "(no name)",
        .verb = "exec",
        .content = -1,
    };

    call_report(call, ABX_EVENT_DENIAL, &act, "boundary:nameless",
            "only named programs that policy allows may run", NULL);
    return call_fail(call, EACCES);
}

/* `r`: how the look-up went. */
static enum call_result
decide_resolved(struct call *call, struct resolved *resolved, int r)
{
    if (!call->boundary->plan->decide_exec && r != -EAGAIN) {
        return CALL_CONTINUE;
    }
    r = r == 0 ? resolved_path(call, resolved) : r;
    if (r == -ENOENT && resolved->object >= 0 && call->boundary->plan->restrict_exec) {
        return refuse_nameless(call);
    }
    if (r == -EACCES && resolved->path[0] == '/' && call_is_valid(call)) {
        /* The way there is closed, by the box or by the host: policy's no is an event, the host's
         * is not. */
        return decide(call, resolved->path, NULL, -1);
    }
    if (r < 0) {
        return course_failed(call, resolved, r, "exec");
    }
    return S_ISREG(resolved->stat.stx_mode) ? decide_program(call, resolved) : CALL_CONTINUE;
}

enum call_result
calls_exec(struct call *call)
{
    AUTO(resolved_done) struct resolved resolved;
    bool is_at = call->nr == SYS_execveat;
    int flags = is_at ? (int)call->args[4] : 0;
    enum call_result result;
    int r;

    if (!git_wait_for_links(call)) {
        return CALL_WORKER;
    }
    resolved_init(&resolved);
    r = resolve_path(call, is_at ? (int)call->args[0] : AT_FDCWD, call->args[is_at ? 1 : 0],
            ((flags & AT_SYMLINK_NOFOLLOW) != 0 ? RESOLVE_NAME : RESOLVE_FOLLOW) |
                    ((flags & AT_EMPTY_PATH) != 0 ? RESOLVE_EMPTY : 0),
            &resolved);
    r = r == 0 && resolved.object < 0 ? -ENOENT : r;
    result = decide_resolved(call, &resolved, r);
    if (result == CALL_CONTINUE && r == 0) {
        note_set_id(call, &resolved);
    }
    return result;
}
