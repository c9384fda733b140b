/* SPDX-License-Identifier: Apache-2.0
 * Looks paths up inside the box: below its root, never over links that leave it, with descriptors
 * that hold what was found.  Must not block on the loop's thread: there only cached look-ups are
 * made, and file systems that may block (the mask looks at the host's disk) are left to
 * workers. */
#include "linux/listen/listeners.h"

#include "base/mem.h"
#include "linux/process.h"
#include "linux/listen/spelling.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LINKS_MAX 40
#define STAT_MASK (STATX_BASIC_STATS | STAT_UNIQUE_MOUNT)

void
resolved_init(struct resolved *resolved)
{
    resolved->parent = resolved->object = resolved->acting = -1;
    resolved->parent_mount = resolved->object_mount = 0;
    resolved->stat.stx_mode = 0; /* of nothing */
    resolved->has_path = resolved->needs_directory = resolved->is_magic = false;
    resolved->is_held = false;
    resolved->held = -1;
    resolved->path[0] = resolved->asked[0] = resolved->name[0] = '\0';
}

void
resolved_done(struct resolved *resolved)
{
    close_fd(resolved->parent);
    close_fd(resolved->object);
    close_fd(resolved->acting);
    resolved_init(resolved);
}

bool
resolved_is_mount(const struct resolved *resolved)
{
    return resolved->object >= 0 && (resolved->stat.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

/* ---- single look-ups ---- */

static uint64_t
device_of(const struct statx *stat)
{
    return (uint64_t)stat->stx_dev_major << 32 | stat->stx_dev_minor;
}

static bool
is_slow(const struct call *call, const struct statx *stat)
{
    const struct slow_devices *slow = &call->boundary->listeners->slow;

    for (unsigned int i = 0; i < slow->count; i++) {
        if (slow->devices[i] == device_of(stat)) {
            return true;
        }
    }
    return slow->all;
}

bool
resolve_may_block(const struct call *call, int fd)
{
    struct statx stat;

    return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STAT_MASK, &stat) != 0 ||
           is_slow(call, &stat);
}

/* O_PATH of `path` in the box; -EAGAIN if it would block here. */
static int
look_up(const struct call *call, const char *path, uint64_t flags)
{
    struct open_how how = {
        .flags = O_PATH | O_CLOEXEC | flags,
        .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | (call->on_worker ? 0 : RESOLVE_CACHED),
    };
    int fd = (int)syscall(SYS_openat2, call->boundary->root, path, &how, sizeof how);

    return fd < 0 ? -errno : fd;
}

/* What fd is, without asking a file system that may block. -EAGAIN: only a worker may go on with
 * it. */
static int
stat_of(const struct call *call, int fd, struct statx *ret_stat)
{
    if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STAT_MASK, ret_stat) != 0) {
        return -errno;
    }
    return !call->on_worker && is_slow(call, ret_stat) ? -EAGAIN : 0;
}

static int
stat_object(const struct call *call, struct resolved *resolved)
{
    int r = stat_of(call, resolved->object, &resolved->stat);

    resolved->object_mount = r < 0 ? 0 : resolve_mount_of(&resolved->stat);
    return r;
}

/* The link in /proc that stands for descriptor `fd`, whatever that is of at the time; -1: not kept.
 */
static int
own_link(const struct call *call, int fd)
{
    struct listeners *listeners = call->boundary->listeners;
    char name[16];

    if (call->on_worker || fd >= OWN_LINKS) {
        return -1;
    }
    if (listeners->own_links[fd] < 0) {
        snprintf(name, sizeof name, "%d", fd);
        listeners->own_links[fd] =
                openat(listeners->own_fds, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    }
    return listeners->own_links[fd];
}

/* The path of what fd is, as the kernel tells it: from the root of the mounts it lies in, which is
 * that of the box. */
int
resolve_path_of(const struct call *call, int fd, char *buffer, size_t room)
{
    const int kept = own_link(call, fd);
    char name[16] = "";
    ssize_t n;

    if (kept < 0) {
        snprintf(name, sizeof name, "%d", fd);
    }
    n = readlinkat(kept >= 0 ? kept : call->boundary->listeners->own_fds, name, buffer, room);
    if (n < 0) {
        return -errno;
    }
    if ((size_t)n >= room) {
        return -ENAMETOOLONG;
    }
    buffer[n] = '\0';
    return buffer[0] == '/' ? 0 : -ENOENT;
}

/* The kernel marks a name that is gone with " (deleted)"; a file may also be called so. */
static int
check_not_deleted(const struct call *call, int fd, const char *path)
{
    static const char mark[] = " (deleted)";
    size_t length = strlen(path);
    AUTO(closep) int again = -1;
    struct stat a, b;

    if (length < sizeof mark || strcmp(path + length - (sizeof mark - 1), mark) != 0) {
        return 0;
    }
    if (!call->on_worker) {
        return -EAGAIN;
    }
    again = look_up(call, path, O_NOFOLLOW);
    if (again == -ENOENT || again == -ENOTDIR) {
        return -ENOENT;
    }
    if (again < 0 || fstat(again, &a) != 0 || fstat(fd, &b) != 0) {
        return again < 0 ? again : -errno;
    }
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino ? 0 : -ENOENT;
}

/* ---- the walk ---- */

/* Whether the path ends in a name, not in "/", "." or "..". */
static bool
has_name(const char *path)
{
    size_t length = strlen(path), first;

    while (length > 0 && path[length - 1] == '/') {
        length--;
    }
    first = length;
    while (first > 0 && path[first - 1] != '/') {
        first--;
    }
    return length > first && !(length - first == 1 && path[first] == '.') &&
           !(length - first == 2 && path[first] == '.' && path[first + 1] == '.');
}

/* Splits off the name; path becomes the parent's. */
static int
split(struct resolved *resolved, char *path)
{
    size_t length = strlen(path);
    char *slash;

    while (length > 1 && path[length - 1] == '/') {
        path[--length] = '\0';
        resolved->needs_directory = true;
    }
    slash = strrchr(path, '/');
    if (strlen(slash + 1) > NAME_MAX) {
        return -ENAMETOOLONG;
    }
    memcpy(resolved->name, slash + 1, strlen(slash + 1) + 1);
    slash[slash == path ? 1 : 0] = '\0';
    return 0;
}

/* Opens the parent and, if it exists, the name itself; of a path that ends in a name.  One
 * component of a local file system may be read from the disk on the loop's thread too: names that
 * do not exist yet are in no cache. */
static int
open_name(struct call *call, struct resolved *resolved, char *path)
{
    struct statx stat;
    int r;

    r = split(resolved, path);
    if (r < 0) {
        return r;
    }
    resolved->parent = look_up(call, path, O_DIRECTORY);
    if (resolved->parent < 0) {
        return steal_fd(&resolved->parent);
    }
    r = stat_of(call, resolved->parent, &stat);
    if (r < 0) {
        return r;
    }
    resolved->parent_mount = resolve_mount_of(&stat);
    resolved->object = openat(resolved->parent, resolved->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (resolved->object < 0) {
        return errno == ENOENT ? 0 : -errno;
    }
    return stat_object(call, resolved);
}

/* Links in /proc/PID whose text is no path: they are objects which that process has. */
static bool
is_magic(const struct resolved *resolved, const char *target)
{
    struct statfs fs;

    return fstatfs(resolved->parent, &fs) == 0 && fs.f_type == 0x9fa0 /* PROC_SUPER_MAGIC */ &&
           !spelling_starts_with(target, "self") && strcmp(target, "..") != 0 &&
           (target[0] < '0' || target[0] > '9');
}

/* Without a /proc of its own the box sees that of the host, with all processes there are. */
bool
resolve_is_own_process(const struct call *call, const char *path)
{
    const struct boundary *boundary = call->boundary;
    int32_t pid = strncmp(path, "/proc/", 6) == 0 ? proc_number(path + 6) : 0;

    if (pid <= 1 || boundary_is_waiting(call->boundary, pid)) {
        return false;
    }
    if (boundary->plan->capabilities.fresh_proc) {
        return true;
    }
    return pid != boundary->init_pid && proc_is_below(pid, boundary->init_pid);
}

/* Only those of the box: the kernel follows others, and init's, for nobody in the box, but for the
 * supervisor. */
static int
follow_magic(struct call *call, struct resolved *resolved)
{
    char path[PATH_MAX];
    int r;

    if (!call->on_worker) {
        return -EAGAIN;
    }
    r = resolve_path_of(call, resolved->parent, path, sizeof path);
    if (r < 0 || !resolve_is_own_process(call, path)) {
        return -EACCES;
    }
    close_fd(resolved->object);
    resolved->is_magic = resolved->is_held = true;
    resolved->object = openat(resolved->parent, resolved->name, O_PATH | O_CLOEXEC);
    if (resolved->object < 0) {
        return -errno;
    }
    return stat_object(call, resolved);
}

/* Where the found link leads, as the next path: 1.  0: what was found is no link, or is followed.
 */
static int
next_of_link(struct call *call, struct resolved *resolved, char *path)
{
    char target[PATH_MAX];
    size_t length = 0;
    ssize_t n;

    if (resolved->object < 0 || !S_ISLNK(resolved->stat.stx_mode)) {
        return 0;
    }
    n = readlinkat(resolved->object, "", target, sizeof target);
    if (n < 0 || n >= (ssize_t)sizeof target) {
        return n < 0 ? -errno : -ENAMETOOLONG;
    }
    target[n] = '\0';
    if (is_magic(resolved, target)) {
        return follow_magic(call, resolved);
    }
    if (target[0] != '/') {
        int r = resolve_path_of(call, resolved->parent, path, PATH_MAX);

        if (r < 0) {
            return r;
        }
        length = strlen(path);
        path[length++] = '/';
    }
    if (length + (size_t)n >= PATH_MAX) {
        return -ENAMETOOLONG;
    }
    memcpy(path + length, target, (size_t)n + 1);
    close_fd(steal_fd(&resolved->object));
    close_fd(steal_fd(&resolved->parent));
    return 1;
}

/* To the object over all links, as the kernel would, or to the parent and name where nothing
 * stands. */
static int
walk(struct call *call, struct resolved *resolved, char *path, bool will_create)
{
    for (int links = 0; links < LINKS_MAX; links++) {
        int r = spelling_put_caller(call, path);

        if (r < 0) {
            return r;
        }
        if (!will_create || !has_name(path)) {
            resolved->object = look_up(call, path, 0);
            if (resolved->object >= 0) {
                return stat_object(call, resolved);
            }
            r = steal_fd(&resolved->object);
            if (!has_name(path) || (r != -ENOENT && r != -ELOOP && r != -EAGAIN)) {
                return r;
            }
        }
        r = open_name(call, resolved, path);
        r = r < 0 ? r : next_of_link(call, resolved, path);
        if (r <= 0) {
            return r;
        }
    }
    return -ELOOP;
}

static int
walk_how(struct call *call, struct resolved *resolved, char *path, unsigned int how)
{
    const bool is_itself = (how & RESOLVE_ITSELF) != 0;
    int r;

    /* With a trailing slash a last link is followed. */
    if ((how & (RESOLVE_NAME | RESOLVE_ITSELF)) == 0 || !has_name(path) ||
            (is_itself && path[strlen(path) - 1] == '/')) {
        return walk(call, resolved, path, (how & RESOLVE_CREATE) != 0);
    }
    r = spelling_put_caller(call, path);
    if (r == 0 && is_itself) {
        resolved->object = look_up(call, path, O_NOFOLLOW);
        if (resolved->object >= 0) {
            return stat_object(call, resolved);
        }
        resolved->object = -1;
    }
    return r < 0 ? r : open_name(call, resolved, path);
}

int
resolve_text(
        struct call *call, int dirfd, const char *text, unsigned int how, struct resolved *resolved)
{
    AUTO(freep) char *path = malloc(PATH_MAX);
    int r = path == NULL ? -ENOMEM : spelling_absolute(call, dirfd, text, path);

    if (r < 0) {
        return r;
    }
    r = walk_how(call, resolved, path, how);
    if (r < 0) {
        spelling_absolute(call, dirfd, text, resolved->path);
        spelling_remove_dots(resolved->path);
    }
    return r;
}

long
resolve_read(struct call *call, uint64_t address, struct resolved *resolved)
{
    long length = call_read_text(call, address, resolved->asked, sizeof resolved->asked);

    if (length < 0) {
        resolved->asked[0] = '\0';
    }
    return length == -EACCES ? -EKEYREJECTED : length;
}

int
resolve_path(
        struct call *call, int dirfd, uint64_t address, unsigned int how, struct resolved *resolved)
{
    long length = resolve_read(call, address, resolved);

    if (length < 0) {
        return (int)length;
    }
    if (length == 0) {
        return (how & RESOLVE_EMPTY) != 0 ? resolve_fd(call, dirfd, resolved) : -ENOENT;
    }
    return resolve_text(call, dirfd, resolved->asked, how, resolved);
}

int
resolve_fd(struct call *call, int number, struct resolved *resolved)
{
    char link[64];

    /* Following such a link looks nothing up in a file system. */
    if (number == AT_FDCWD) {
        snprintf(link, sizeof link, "/proc/%d/cwd", (int)call->pid);
    } else {
        snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)call->pid, number);
    }
    resolved->object = open(link, O_PATH | O_CLOEXEC);
    if (resolved->object < 0) {
        return errno == ENOENT ? -EBADF : -errno;
    }
    resolved->is_held = true;
    resolved->held = number;
    return stat_object(call, resolved);
}

/* What is found by a path is on a mount of the box. */
static bool
is_on_mount_of(const struct call *call, const char *path, uint64_t mount)
{
    AUTO(closep) int fd = look_up(call, path, O_NOFOLLOW);
    struct statx stat;

    return fd >= 0 && statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &stat) == 0 &&
           stat.stx_mnt_id == mount;
}

bool
resolved_is_of_box(const struct call *call, const struct resolved *resolved)
{
    char path[PATH_MAX];
    struct statx stat;

    if (!resolved->is_held) {
        return true;
    }
    if (statx(resolved->object, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &stat) != 0) {
        return false;
    }
    /* Its name may be gone, and that of the directory too. */
    if (resolve_path_of(call, resolved->object, path, sizeof path) < 0) {
        return false;
    }
    while (!is_on_mount_of(call, path, stat.stx_mnt_id)) {
        char *slash = strrchr(path, '/');

        if (path[1] == '\0') {
            return false;
        }
        slash[slash == path ? 1 : 0] = '\0';
    }
    return true;
}

int
resolved_path(struct call *call, struct resolved *resolved)
{
    int fd = resolved->object >= 0 ? resolved->object : resolved->parent;
    size_t length;
    int r;

    if (resolved->has_path) {
        return 0;
    }
    r = resolve_path_of(call, fd, resolved->path, sizeof resolved->path);
    r = r < 0 ? r : check_not_deleted(call, fd, resolved->path);
    if (r < 0) {
        return r;
    }
    if (resolved->object < 0) {
        length = strlen(resolved->path);
        length = length == 1 ? 0 : length;
        if (length + 1 + strlen(resolved->name) >= PATH_MAX) {
            return -ENAMETOOLONG;
        }
        resolved->path[length] = '/';
        memcpy(resolved->path + length + 1, resolved->name, strlen(resolved->name) + 1);
    }
    resolved->has_path = true;
    return 0;
}
