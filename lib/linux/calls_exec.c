/* SPDX-License-Identifier: Apache-2.0
 * Decides execve and execveat, where a policy has rules for them.  What is denied cannot be
 * executed through the box's mounts either, so what is allowed continues; here a denial becomes an
 * event. */
#include "linux/course.h"

#include "base/mem.h"
#include "linux/exec_chain.h"

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

    switch (call_decide(call, &act, object)) {
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

static enum call_result
decide_program(struct call *call, struct resolved *resolved)
{
    const char *asked = strcmp(resolved->asked, resolved->path) == 0 ? NULL : resolved->asked;
    enum call_result result;

    if (!call_is_valid(call)) {
        return CALL_SENT;
    }
    result = decide(call, resolved->path, asked, resolved->object);
    if (result != CALL_CONTINUE || call->boundary->plan->restrict_exec) {
        return result;
    }
    return call->on_worker ? decide_chain(call, resolved->path) : CALL_WORKER;
}

enum call_result
calls_exec(struct call *call)
{
    AUTO(resolved_done) struct resolved resolved;
    bool is_at = call->nr == SYS_execveat;
    int flags = is_at ? (int)call->args[4] : 0;
    int r;

    resolved_init(&resolved);
    r = resolve_path(call, is_at ? (int)call->args[0] : AT_FDCWD, call->args[is_at ? 1 : 0],
            ((flags & AT_SYMLINK_NOFOLLOW) != 0 ? RESOLVE_NAME : RESOLVE_FOLLOW) |
                    ((flags & AT_EMPTY_PATH) != 0 ? RESOLVE_EMPTY : 0),
            &resolved);
    r = r == 0 && resolved.object < 0 ? -ENOENT : r;
    r = r == 0 ? resolved_path(call, &resolved) : r;
    if (r < 0) {
        return course_failed(call, &resolved, r, "exec");
    }
    return S_ISREG(resolved.stat.stx_mode) ? decide_program(call, &resolved) : CALL_CONTINUE;
}
