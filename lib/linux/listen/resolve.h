/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: what a path that a process of the box spelled leads to, as a path of the
 * box and as descriptors in it. */
#ifndef ABX_LINUX_RESOLVE_H
#define ABX_LINUX_RESOLVE_H

#include "linux/listen/call.h"

#include <limits.h>
#include <sys/stat.h>

struct resolved {
    char path[PATH_MAX]; /* canonical, absolute, in the box: of the object; if there is none, of the
                            parent and the name.  Valid after resolved_path. */
    char asked[PATH_MAX]; /* as spelled */
    char name[NAME_MAX + 1]; /* last component as looked up in parent */
    int parent; /* O_PATH of the directory that holds the name, in the box; -1: not needed */
    int object; /* O_PATH of what stands there, or -1 */
    int acting; /* of one of them on the host, see resolve_acting_parent; or -1 */
    struct statx stat; /* of the object; without one stx_mode is 0 */
    uint64_t parent_mount, object_mount; /* which mounts they are on, of all that ever were; or 0 */
    bool has_path;
    bool is_magic; /* found as a descriptor of a process: parent and name are in its /proc/PID/fd */
    bool is_held; /* the object is what a process has open: it may lie on a mount of the host */
    int held; /* the caller's number for it, unless is_magic */
    bool needs_directory; /* spelled with a trailing slash */
};

enum resolve_how {
    RESOLVE_FOLLOW =
            0, /* to the object, over a last symbolic link; parent only if there is no object */
    RESOLVE_NAME = 1, /* the name itself: parent is set, the object may be a symbolic link */
    RESOLVE_EMPTY = 2, /* an empty path is the descriptor itself (AT_EMPTY_PATH) */
    RESOLVE_CREATE = 4, /* to the object, which probably does not exist yet */
    RESOLVE_ITSELF = 8 /* as RESOLVE_NAME, but parent is set only if there is no object */
};

/* Reads and resolves the path at `address` relative to the caller's descriptor `dirfd` (or
 * AT_FDCWD). 0, -EAGAIN (would block, or a rename or mount came in between: a worker looks again),
 * -ESRCH (the caller is gone, or a process whose entry of /proc is on the way), -EKEYREJECTED (the
 * caller's memory may not be read), or -errno as the caller would get.  A missing last component is
 * no error. */
int resolve_path(struct call *call, int dirfd, uint64_t address, unsigned int how,
        struct resolved *resolved);
/* Its first half, which reads the path into resolved->asked; the length or an error. */
long resolve_read(struct call *call, uint64_t address, struct resolved *resolved);
/* Its second half: a text that is not empty and was read before. */
int resolve_text(struct call *call, int dirfd, const char *text, unsigned int how,
        struct resolved *resolved);
/* The same for what a descriptor of the caller (or its cwd) is. */
int resolve_fd(struct call *call, int number, struct resolved *resolved);
/* Whether a path of the box below /proc is of a process of the box other than init. */
bool resolve_is_own_process(const struct call *call, const char *path);
/* Whether the object lies on a mount of the box, which confines what is done to it.  Workers only,
 * if it is held. */
bool resolved_is_of_box(const struct call *call, const struct resolved *resolved);
/* How the descriptor that it was found by is open: O_RDONLY, O_WRONLY, O_RDWR; -1: it is of another
 * file by now. */
int resolved_access(const struct call *call, const struct resolved *resolved);
/* Fills path. 0 or -errno. */
int resolved_path(struct call *call, struct resolved *resolved);
/* What the kernel says is the path of fd in the box, also if that name is gone; 0 or -errno. */
int resolve_path_of(const struct call *call, int fd, char *buffer, size_t room);
/* Whether a mount of the box stands there: the kernel neither removes nor renames such a name. */
bool resolved_is_mount(const struct resolved *resolved);
void resolved_init(struct resolved *resolved);
void resolved_done(struct resolved *resolved);

/* Whether the box may write through the mount that fd is on: then the kernel confines what is done.
 */
bool resolve_is_writable(const struct call *call, int fd);
/* The same for `where`, which is the object or the parent of resolved. */
bool resolved_is_writable(const struct call *call, const struct resolved *resolved, int where);

/* Mounts that were seen: one that the box has stays as it is, and no other gets its number. */
#define MOUNTS_SEEN 64u
struct seen_mount {
    uint64_t mount;
    bool is_writable;
};
/* The unique number of the mount, if the kernel has told it (Linux 6.8), or 0. */
#define STAT_UNIQUE_MOUNT 0x4000u /* STATX_MNT_ID_UNIQUE */
uint64_t resolve_mount_of(const struct statx *stat);
/* Host-side O_PATH descriptors of what is the same, by device and inode, in the host's own mounts:
 * the directory that holds resolved's name, and the object.  -errno; -EXDEV: the box has something
 * else there.  What is done through them is not confined by the box's mounts.  Workers only. */
int resolve_host_parent(struct call *call, struct resolved *resolved);
int resolve_host_object(struct call *call, struct resolved *resolved);

/* The same, but the box's own where it may write, which does not block; resolved keeps it. */
int resolve_acting_parent(struct call *call, struct resolved *resolved);
int resolve_acting_object(struct call *call, struct resolved *resolved);

/* Whether what lies at a descriptor of the box may block for long, or cannot be told. */
bool resolve_may_block(const struct call *call, int fd);

/* The devices of the box's mounts whose look-ups may block for long or are served by this very
 * thread, and where such a mount, or one of /proc, is to be seen. */
struct slow_devices {
    uint64_t devices[64];
    unsigned int count;
    bool all; /* could not be told, or too many */
    struct vec places; /* char *: mount points whose path stays theirs */
    bool has_moving; /* a mount point may get another path, or its path could not be told */
};
void slow_devices_read(struct slow_devices *slow, const struct plan *plan, int32_t init_pid);
void slow_devices_done(struct slow_devices *slow);

#endif
