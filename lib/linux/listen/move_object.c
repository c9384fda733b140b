/* SPDX-License-Identifier: Apache-2.0
 * Moves the very file that was looked at, by its descriptor: where something of another kind may
 * not come, nothing that takes its name meanwhile is moved in its stead.  Where patterns decide,
 * what is in a directory matters too, so there moves are alone.  Workers only. */
#include "linux/listen/calls_name.h"

#include "base/mem.h"
#include "linux/listen/listeners.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static bool
is_same(const struct resolved *a, const struct resolved *b)
{
    return b->object >= 0 && a->stat.stx_ino == b->stat.stx_ino &&
           a->stat.stx_dev_major == b->stat.stx_dev_major &&
           a->stat.stx_dev_minor == b->stat.stx_dev_minor;
}

static int
put(const struct call *call, int object, const struct resolved *to, int to_parent, bool is_new)
{
    char link[32];

    if (!is_new) {
        return name_put_copy(call, object, to, to_parent);
    }
    snprintf(link, sizeof link, "/proc/self/fd/%d", object);
    return linkat(AT_FDCWD, link, to_parent, to->name, AT_SYMLINK_FOLLOW) == 0 ? 0 : -errno;
}

int
move_object(struct call *call, struct resolved *from, int from_parent, const struct resolved *to,
        int to_parent, bool is_new)
{
    AUTO(closep) int object = -1;
    int r;

    if (is_same(from, to)) {
        return 0; /* two names of one file: nothing is done */
    }
    object = resolve_host_object(call, from);
    r = object < 0 ? object : put(call, object, to, to_parent, is_new);
    if (r < 0) {
        return r;
    }
    /* Whatever has the old name by now is the caller's to remove, but no directory. */
    return unlinkat(from_parent, from->name, 0) == 0 || errno == ENOENT || errno == EISDIR ? 0
                                                                                           : -errno;
}

bool
name_enter(struct call *call, bool alone)
{
    pthread_rwlock_t *order = &call->boundary->listeners->order;

    if (!call->boundary->plan->guard_patterns) {
        return true;
    }
    if (!call->on_worker) {
        return !alone && pthread_rwlock_tryrdlock(order) == 0;
    }
    return (alone ? pthread_rwlock_wrlock(order) : pthread_rwlock_rdlock(order)) == 0;
}

void
name_leave(struct call *call)
{
    if (call->boundary->plan->guard_patterns) {
        pthread_rwlock_unlock(&call->boundary->listeners->order);
    }
}
