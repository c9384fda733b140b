/* SPDX-License-Identifier: Apache-2.0
 * The content of a file that takes a protected name: a copy of it is judged, which nobody else can
 * write to, and the copy takes the name.  Decides nothing.  Workers only. */
#include "linux/listen/calls_name.h"

#include "base/mem.h"
#include "base/path.h"
#include "plan/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define CONTENT_MAX (1 << 20)

static bool
copy_bytes(int from, int to)
{
    char buffer[8192];
    size_t total = 0;

    for (;;) {
        ssize_t n = read(from, buffer, sizeof buffer);

        if (n <= 0) {
            return n == 0;
        }
        total += (size_t)n;
        if (total > CONTENT_MAX || write(to, buffer, (size_t)n) != n) {
            return false;
        }
    }
}

int
content_open(struct call *call, struct resolved *source)
{
    AUTO(closep) int object = -1;
    char link[32];

    if (!S_ISREG(source->stat.stx_mode) || source->stat.stx_size > CONTENT_MAX) {
        return -1;
    }
    object = resolve_host_object(call, source);
    if (object < 0) {
        return -1;
    }
    snprintf(link, sizeof link, "/proc/self/fd/%d", object);
    return open(link, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

int
content_copy(const struct resolved *source, int opened, int to_parent)
{
    AUTO(closep) int copy = openat(to_parent, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (copy < 0 || lseek(opened, 0, SEEK_SET) != 0 || !copy_bytes(opened, copy) ||
            fchmod(copy, source->stat.stx_mode & 0777) != 0 || lseek(copy, 0, SEEK_SET) != 0) {
        return -1;
    }
    return steal_fd(&copy);
}

/* Over what has the name, by way of a name beside it. */
static int
replace(const char *copy, int to_parent, const char *name)
{
    char temporary[64];

    for (unsigned int i = 0; i < 100; i++) {
        snprintf(temporary, sizeof temporary, "%s%d-%u", plan_copy_prefix, (int)gettid(), i);
        if (linkat(AT_FDCWD, copy, to_parent, temporary, AT_SYMLINK_FOLLOW) == 0) {
            break;
        }
        if (errno != EEXIST || i == 99) {
            return -errno;
        }
    }
    if (renameat(to_parent, temporary, to_parent, name) != 0) {
        int r = -errno;

        unlinkat(to_parent, temporary, 0);
        return r;
    }
    return 0;
}

/* Whether the name before it is refused to every box there, so that nobody can open what waits to
 * write it, link it, or put something else in its place. */
static bool
has_way(const struct call *call, const struct resolved *to)
{
    AUTO(freep) char *parent = path_parent(to->path);
    AUTO(freep) char *way = parent == NULL ? NULL : path_join(parent, plan_copy_prefix);

    return way != NULL && plan_guards_git_file(call->boundary->plan, way);
}

int
name_put_copy(const struct call *call, int copy, const struct resolved *to, int to_parent)
{
    char link[32];

    snprintf(link, sizeof link, "/proc/self/fd/%d", copy);
    if (linkat(AT_FDCWD, link, to_parent, to->name, AT_SYMLINK_FOLLOW) == 0) {
        return 0;
    }
    if (errno != EEXIST) {
        return -errno;
    }
    if (has_way(call, to)) {
        return replace(link, to_parent, to->name);
    }
    /* Every name beside it is the box's to change, so there is a moment without one. */
    return unlinkat(to_parent, to->name, 0) == 0 &&
                           linkat(AT_FDCWD, link, to_parent, to->name, AT_SYMLINK_FOLLOW) == 0
                   ? 0
                   : -errno;
}
