/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: what a path that a process of the box spelled leads to, as a path of the box
 * and as descriptors in it. */
#ifndef ABX_LINUX_RESOLVE_H
#define ABX_LINUX_RESOLVE_H

#include "linux/call.h"

#include <limits.h>
#include <sys/stat.h>

struct resolved {
    char path[PATH_MAX];  /* canonical, absolute, in the box: of the object; if there is none, of the
                             parent and the name */
    char asked[PATH_MAX]; /* as spelled */
    int parent;           /* O_PATH of the directory that holds the name, in the box; -1: none */
    char name[NAME_MAX + 1]; /* last component of path; "" with "/" */
    int object;           /* O_PATH of what stands there, or -1 */
    struct stat stat;     /* of the object */
    bool is_magic;        /* spelled through /proc or /dev/fd of the caller: its own objects */
    bool trailing_slash;
};
#define RESOLVED_NONE                                                                              \
    (struct resolved)                                                                              \
    {                                                                                              \
        .parent = -1, .object = -1                                                                 \
    }

enum resolve_how {
    RESOLVE_LINK = 1,   /* a last symbolic link is the object itself */
    RESOLVE_EMPTY = 2   /* an empty path is the descriptor (AT_EMPTY_PATH) */
};

/* Reads and resolves the path at `address` relative to the caller's descriptor `dirfd` (or AT_FDCWD).
 * 0, -EAGAIN (would block: go to a worker; never on one), or -errno for the caller: -EFAULT, -ENOENT (of a parent),
 * -ENOTDIR, -ELOOP, -EACCES (memory unreadable)... A missing last component is no error. */
int resolve_path(struct call *call, int dirfd, uint64_t address, unsigned int how,
        struct resolved *resolved);
void resolved_done(struct resolved *resolved);

/* The host-side directory that is the same as resolved->parent, by device and inode; or -errno, -EXDEV
 * if the box has something else there.  Creating through it is not confined by the box's mounts. */
int resolve_host_parent(const struct call *call, const struct resolved *resolved);

#endif
