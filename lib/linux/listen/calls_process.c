/* SPDX-License-Identifier: Apache-2.0
 * Where the box has no processes of its own: calls that act on another process, which must be one
 * of the box, and not init.  The kernel's own scope of signals (Landlock) stands behind it. */
#include "linux/listen/course.h"

#include "base/mem.h"
#include "linux/filter/calls.h"
#include "linux/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EVERYBODY (-1) /* kill(2) */

static bool
is_own(const struct call *call, int32_t pid)
{
    const int32_t init = call->boundary->init_pid;

    return pid == call->pid || (pid != init && proc_is_below(pid, init));
}

static bool
is_there(int32_t pid)
{
    uint64_t unused;

    return proc_status(pid, "Pid", 10, &unused);
}

/* A group lies in one session, and each session in the box was made there: one process tells. */
static int32_t
find_in_group(int32_t group)
{
    DIR *proc = opendir("/proc");
    int32_t found = 0;

    for (struct dirent *entry = proc == NULL ? NULL : readdir(proc); entry != NULL && found == 0;
            entry = readdir(proc)) {
        int32_t pid = proc_number(entry->d_name);

        if (pid > 0 && getpgid(pid) == group) {
            found = pid;
        }
    }
    if (proc != NULL) {
        closedir(proc);
    }
    return found;
}

static enum call_result
refuse(struct call *call)
{
    const struct call_rule *rule = call_rule_find(call->nr, call->args);

    return call_refuse(call, rule == NULL ? "kill" : rule->name,
            "processes outside of the box cannot be reached", NULL);
}

static enum call_result
decide_group(struct call *call, int32_t group)
{
    int32_t member;

    if (getpgid(call->pid) == group) {
        return CALL_CONTINUE;
    }
    if (!call->on_worker) {
        return CALL_WORKER;
    }
    member = find_in_group(group);
    if (member == 0) {
        return call_fail(call, ESRCH);
    }
    return is_own(call, member) ? CALL_CONTINUE : refuse(call);
}

static enum call_result
decide_process(struct call *call, int32_t pid)
{
    if (pid == 0 || is_own(call, pid)) {
        return CALL_CONTINUE;
    }
    return is_there(pid) ? refuse(call) : call_fail(call, ESRCH);
}

/* setpriority(2) and ioprio_set(2): whose priority; their kinds have other numbers. */
static enum call_result
decide_priority(struct call *call)
{
    const int first = call->nr == SYS_setpriority ? PRIO_PROCESS : 1 /* IOPRIO_WHO_PROCESS */;
    const int which = (int)call->args[0] - first;
    const int32_t who = (int32_t)call->args[1];

    switch (which) {
    case 0:
        return decide_process(call, who);
    case 1:
        return who == 0 ? CALL_CONTINUE : decide_group(call, who);
    default:
        return refuse(call); /* of a user */
    }
}

enum call_result
calls_process(struct call *call)
{
    const int32_t pid = (int32_t)call->args[0];

    if (call->nr == SYS_setpriority || call->nr == SYS_ioprio_set) {
        return decide_priority(call);
    }
    if (pid == EVERYBODY || pid == INT32_MIN) {
        return refuse(call);
    }
    if (pid < 0) {
        return call->nr == SYS_kill ? decide_group(call, -pid) : call_fail(call, EINVAL);
    }
    return decide_process(call, pid);
}
