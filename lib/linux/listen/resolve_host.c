/* SPDX-License-Identifier: Apache-2.0
 * What the box's mounts let it do, and the same objects through the host's own mounts, which do not
 * confine what is done.  Compares device and inode: the box may have something else at a path. */
#include "linux/listen/course.h"
#include "linux/listen/listeners.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* ---- the box's mounts and the host's ---- */

bool
resolve_is_writable(const struct call *call, int fd)
{
    struct statfs fs;

    return plan_has_mounts(call->boundary->plan) && fstatfs(fd, &fs) == 0 &&
           (fs.f_flags & ST_RDONLY) == 0;
}

uint64_t
resolve_mount_of(const struct statx *stat)
{
    return (stat->stx_mask & STAT_UNIQUE_MOUNT) != 0 ? stat->stx_mnt_id : 0;
}

static struct seen_mount *
seen(const struct call *call, uint64_t mount)
{
    return &call->boundary->listeners->mounts[mount % MOUNTS_SEEN];
}

bool
resolved_is_writable(const struct call *call, const struct resolved *resolved, int where)
{
    uint64_t mount = where == resolved->object ? resolved->object_mount : resolved->parent_mount;
    struct seen_mount *entry = seen(call, mount);

    if (call->on_worker || (mount == 0 && !resolved->is_held)) {
        return resolve_is_writable(call, where) &&
               (where != resolved->object || resolved_is_of_box(call, resolved));
    }
    if (resolved->is_held && (mount == 0 || entry->mount != mount)) {
        return false; /* not known to be one of the box */
    }
    if (entry->mount != mount) {
        *entry = (struct seen_mount){ mount, resolve_is_writable(call, where) };
    }
    return entry->is_writable;
}

/* A number of a line of fdinfo, or -1. */
static int64_t
fdinfo_number(const char *text, const char *field, int base)
{
    const char *line = strstr(text, field);

    return line != NULL ? (int64_t)strtoull(line + strlen(field), NULL, base) : -1;
}

/* The very lines that tell how it is open must tell that it is this file. */
int
resolved_access(const struct call *call, const struct resolved *resolved)
{
    AUTO(closep) int fd = -1;
    char path[NAME_MAX + 64], text[1024];
    struct statx stat;
    int64_t has;
    ssize_t n;

    if (resolved->is_magic) {
        snprintf(path, sizeof path, "../fdinfo/%s", resolved->name);
    } else {
        snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", (int)call->pid, resolved->held);
    }
    fd = openat(resolved->parent, path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n <= 0 || statx(resolved->object, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
                          STATX_INO | STATX_MNT_ID, &stat) != 0) {
        return -1;
    }
    text[n] = '\0';
    has = fdinfo_number(text, "flags:", 8);
    if (has < 0 || fdinfo_number(text, "mnt_id:", 10) != (int64_t)stat.stx_mnt_id ||
            fdinfo_number(text, "ino:", 10) != (int64_t)stat.stx_ino) {
        return -1;
    }
    return (int)(has & O_ACCMODE);
}

static bool
is_same(int a, int b)
{
    struct stat sa, sb;

    return fstat(a, &sa) == 0 && fstat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
           sa.st_ino == sb.st_ino;
}

/* The host's directory at the parent of the canonical path. */
static int
open_host_directory(const struct call *call, const char *path)
{
    struct open_how how = {
        .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
        .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    AUTO(freep) char *directory = strdup(path);
    char *slash;
    int fd;

    if (directory == NULL) {
        return -ENOMEM;
    }
    slash = strrchr(directory, '/');
    slash[slash == directory ? 1 : 0] = '\0';
    fd = (int)syscall(SYS_openat2, call->boundary->host_root, directory, &how, sizeof how);
    return fd < 0 ? -errno : fd;
}

int
resolve_host_parent(struct call *call, struct resolved *resolved)
{
    AUTO(closep) int fd = -1;
    int r = resolved_path(call, resolved);

    if (r < 0) {
        return r;
    }
    fd = open_host_directory(call, resolved->path);
    if (fd < 0) {
        return call_is_starved(fd) ? fd : -EXDEV;
    }
    return is_same(fd, resolved->parent) ? steal_fd(&fd) : -EXDEV;
}

int
resolve_host_object(struct call *call, struct resolved *resolved)
{
    AUTO(closep) int parent = -1;
    AUTO(closep) int fd = -1;
    int r = resolved_path(call, resolved);

    if (r < 0) {
        return r;
    }
    parent = open_host_directory(call, resolved->path);
    if (parent < 0) {
        return call_is_starved(parent) ? parent : -EXDEV;
    }
    fd = strcmp(resolved->path, "/") == 0 ? fcntl(parent, F_DUPFD_CLOEXEC, 3)
                                          : openat(parent, strrchr(resolved->path, '/') + 1,
                                                    O_PATH | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 && is_same(fd, resolved->object) ? steal_fd(&fd) : -EXDEV;
}

int
resolve_acting_parent(struct call *call, struct resolved *resolved)
{
    if (resolved_is_writable(call, resolved, resolved->parent)) {
        return resolved->parent;
    }
    close_fd(resolved->acting);
    resolved->acting = resolve_host_parent(call, resolved);
    return resolved->acting;
}

int
resolve_acting_object(struct call *call, struct resolved *resolved)
{
    if (resolved_is_writable(call, resolved, resolved->object)) {
        return resolved->object;
    }
    close_fd(resolved->acting);
    resolved->acting = resolve_host_object(call, resolved);
    return resolved->acting;
}

/* ---- file systems that may block ---- */

static bool
is_slow_type(const char *type)
{
    static const char *const slow[] = { "fuse", "fuseblk", "nfs", "nfs4", "cifs", "smb3", "smbfs",
        "9p", "ceph", "afs", "autofs", "virtiofs", "gfs2", "ocfs2", "lustre", "beegfs",
        "glusterfs" };

    if (strncmp(type, "fuse.", 5) == 0) {
        return true;
    }
    for (size_t i = 0; i < N_ELEMENTS(slow); i++) {
        if (strcmp(type, slow[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Takes the mount point.  A directory above it gets another path only where the box may write; and
 * what may not be read, or is the box's own, is not gone through unasked. */
static void
add_place(struct slow_devices *slow, const struct plan *plan, const char *path)
{
    const struct place *place = plan_place_of(plan, path);
    char *copy, **added;

    if (plan_is_private(plan, path) || (place != NULL && place->read != ABX_VERDICT_ALLOW)) {
        return;
    }
    copy = strchr(path, '\\') == NULL ? strdup(path) : NULL; /* "\\040" is a space, ... */
    added = copy == NULL || course_in_root(plan, path) ? NULL : vec_add(&slow->places);
    if (added == NULL) {
        free(copy);
        slow->has_moving = true;
        return;
    }
    *added = copy;
}

static void
add_device(struct slow_devices *slow, uint64_t device)
{
    if (slow->count == N_ELEMENTS(slow->devices)) {
        slow->all = true;
        return;
    }
    slow->devices[slow->count++] = device;
}

/* "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw" */
static void
add_mount(struct slow_devices *slow, const struct plan *plan, const char *line)
{
    const char *dash = strstr(line, " - ");
    unsigned int major, minor;
    char path[PATH_MAX], type[32];
    bool is_slow;

    if (dash == NULL || sscanf(line, "%*d %*d %u:%u %*s %4095s", &major, &minor, path) != 3 ||
            sscanf(dash, " - %31s", type) != 1) {
        slow->all = true;
        return;
    }
    is_slow = is_slow_type(type);
    if (is_slow) {
        add_device(slow, (uint64_t)major << 32 | minor);
    }
    if (is_slow || strcmp(type, "proc") == 0) {
        add_place(slow, plan, path);
    }
}

void
slow_devices_read(struct slow_devices *slow, const struct plan *plan, int32_t init_pid)
{
    char path[64];
    AUTO(freep) char *line = NULL;
    size_t room = 0;
    FILE *file;

    slow->places = VEC(char *);
    snprintf(path, sizeof path, "/proc/%d/mountinfo", (int)init_pid);
    file = fopen(path, "re");
    if (file == NULL) {
        slow->all = true;
        return;
    }
    while (getline(&line, &room, file) > 0) {
        add_mount(slow, plan, line);
    }
    fclose(file);
}

void
slow_devices_done(struct slow_devices *slow)
{
    for (size_t i = 0; i < slow->places.count; i++) {
        free(*vec_at(&slow->places, char *, i));
    }
    vec_done(&slow->places);
}
