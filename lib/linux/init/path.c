/* SPDX-License-Identifier: Apache-2.0
 * Names to descriptors.  No symbolic link is ever followed during set-up, so a link that appeared
 * since the plan was made ends it; and nothing is made but on file systems of the box. */
#include "linux/init/init.h"

#include "linux/init/sys.h"

#include <linux/stat.h>

static int
open_below(int directory, const char *path, uint64_t flags, uint64_t resolve)
{
    struct open_how how = { .flags = flags | O_CLOEXEC,
        .resolve = resolve | RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
    int r;

    while (*path == '/') {
        path++;
    }
    do {
        r = sys_openat2(directory, *path == '\0' ? "." : path, &how);
    } while (r == -EAGAIN ||
             r == -EINTR); /* a rename somewhere on the host while ".." was looked at */
    return r;
}

int
init_open_box(struct init *init, const char *path, uint64_t flags)
{
    return open_below(init->root, path, flags, RESOLVE_NO_SYMLINKS);
}

int
init_open_host(struct init *init, const char *path, uint64_t flags)
{
    return open_below(init->old_root, path, flags, RESOLVE_NO_SYMLINKS);
}

static int
device_of(int fd, uint64_t *ret_device)
{
    struct statx status = { 0 };
    int r = (int)SYS(statx, fd, "", AT_EMPTY_PATH, STATX_TYPE, &status, 0);

    if (r == 0) {
        *ret_device = (uint64_t)status.stx_dev_major << 32 | status.stx_dev_minor;
    }
    return r;
}

int
init_remember(struct init *init, int fd)
{
    uint64_t device;
    int r = device_of(fd, &device);

    if (r < 0) {
        return r;
    }
    if (init->n_devices == INIT_DEVICES) {
        return -ENOSPC;
    }
    init->devices[init->n_devices++] = device;
    return 0;
}

int
init_open_parent(struct init *init, const char *path, const char **ret_name)
{
    char parent[WIRE_PATH_MAX];
    size_t length = strlen(path);
    uint64_t device;
    int fd;
    int r;

    if (length >= sizeof parent) {
        return -ENAMETOOLONG;
    }
    while (length > 0 && path[length - 1] != '/') {
        length--;
    }
    if (path[length] == '\0') {
        return -EINVAL;
    }
    memcpy(parent, path, length);
    parent[length] = '\0';
    fd = init_open_box(init, parent, O_PATH | O_DIRECTORY);
    if (fd < 0) {
        return fd;
    }
    r = device_of(fd, &device);
    for (uint32_t i = 0; r == 0 && i < init->n_devices; i++) {
        if (init->devices[i] == device) {
            *ret_name = path + length;
            return fd;
        }
    }
    sys_close(fd);
    return r < 0 ? r : -EXDEV;
}

int
init_open_linked(struct init *init, const char *path)
{
    return open_below(init->root, path, O_PATH, 0);
}
