/* SPDX-License-Identifier: Apache-2.0
 * Makes names under the caller's umask.  /proc tells it, at the price of half of what making a file
 * costs, so the loop's thread keeps that of the last process which made one; umask() is notified
 * for this alone, and always continues.  Workers read it each time. */
#include "linux/listen/calls_name.h"

#include "linux/listen/listeners.h"
#include "linux/process.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static mode_t
read_umask(const struct call *call)
{
    uint64_t mask = 077;

    proc_status(call->pid, "Umask", 8, &mask);
    return (mode_t)mask;
}

/* Threads may share one: while a change is under way nothing is kept. */
static mode_t
umask_of(const struct call *call)
{
    struct kept_umask *kept = &call->notify->umask;

    if (call->on_worker || kept->changing != 0) {
        return read_umask(call);
    }
    if (kept->pid != call->pid) {
        *kept = (struct kept_umask){ .pid = call->pid, .mask = read_umask(call) };
    }
    return kept->mask;
}

bool
name_take_umask(const struct call *call)
{
    if (!workers_be_apart()) {
        return false;
    }
    syscall(SYS_umask, umask_of(call));
    return true;
}

enum call_result
calls_umask(struct call *call)
{
    call->notify->umask = (struct kept_umask){ .changing = call->pid };
    return CALL_CONTINUE;
}
