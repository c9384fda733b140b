/* SPDX-License-Identifier: Apache-2.0
 * The operations that make names, only on file systems of the box, and the one that writes kernel
 * settings of the box's own namespaces. */
#include "linux/init/init.h"

#include "linux/init/sys.h"

#include <linux/stat.h>

static int
close_and(int fd, int r)
{
    sys_close(fd);
    return r;
}

static int
write_bytes(int fd, const char *bytes, size_t left)
{
    while (left > 0) {
        long n = sys_write(fd, bytes, left);

        if (n <= 0) {
            return n == 0 ? -EIO : (int)n;
        }
        bytes += n;
        left -= (size_t)n;
    }
    return 0;
}

static int
write_all(int fd, const char *text)
{
    return write_bytes(fd, text, strlen(text));
}

/* A new, empty file of the box: its descriptor. */
static int
make_file(struct init *init, const char *path, uint64_t mode)
{
    const char *name;
    int parent = init_open_parent(init, path, &name);

    if (parent < 0) {
        return parent;
    }
    return close_and(
            parent, sys_openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                            (unsigned)mode));
}

int
op_mkdir(struct init *init, const struct wire_op *op)
{
    const char *name;
    int parent = init_open_parent(init, init_text(init, op->b), &name);
    int r;

    if (parent < 0) {
        return parent;
    }
    r = (int)SYS(mkdirat, parent, name, op->x, 0, 0, 0);
    return close_and(parent, r == -EEXIST ? 0 : r);
}

int
op_file(struct init *init, const struct wire_op *op)
{
    const uint32_t size = init->header.strings_size;
    int fd;

    if (op->a > size || op->y > size - op->a) {
        return -EBADMSG;
    }
    fd = make_file(init, init_text(init, op->b), op->x);
    return fd < 0 ? fd : close_and(fd, write_bytes(fd, init->strings + op->a, (size_t)op->y));
}

int
op_symlink(struct init *init, const struct wire_op *op)
{
    const char *name;
    int parent = init_open_parent(init, init_text(init, op->b), &name);

    if (parent < 0) {
        return parent;
    }
    return close_and(parent, (int)SYS(symlinkat, init_text(init, op->a), parent, name, 0, 0, 0));
}

int
op_stand_in(struct init *init, const struct wire_op *op)
{
    const char *name;
    int parent = init_open_parent(init, init_text(init, op->b), &name);

    if (parent < 0) {
        return parent;
    }
    return close_and(parent, (int)SYS(mknodat, parent, name, SYS_TYPE_SOCKET | 0666, 0, 0, 0));
}

/* A clone of the host's device node, if it is a character device. */
static int
clone_device(struct init *init, const char *path)
{
    struct statx status = { 0 };
    int fd = init_open_host(init, path, O_PATH);
    int r;

    if (fd < 0) {
        return fd;
    }
    r = (int)SYS(statx, fd, "", AT_EMPTY_PATH, STATX_TYPE, &status, 0);
    if (r == 0) {
        r = (status.stx_mode & SYS_TYPE_MASK) == SYS_TYPE_CHARACTER ? sys_open_tree(fd, 0)
                                                                    : -ENODEV;
    }
    return close_and(fd, r);
}

int
op_device(struct init *init, const struct wire_op *op)
{
    const struct mount_attr attributes = { .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC };
    const char *path = init_text(init, op->b);
    int tree = clone_device(init, init_text(init, op->a));
    int r;

    if (tree < 0) {
        return tree;
    }
    r = make_file(init, path, 0600);
    if (r >= 0) {
        sys_close(r);
        r = sys_mount_setattr(tree, 0, &attributes);
    }
    if (r == 0) {
        r = init_attach(init, tree, path);
    }
    return close_and(tree, r);
}

int
op_write(struct init *init, const struct wire_op *op)
{
    int fd = init_open_box(init, init_text(init, op->b), O_WRONLY);

    return fd < 0 ? fd : close_and(fd, write_all(fd, init_text(init, op->a)));
}

static int
write_file(const char *path, const char *text)
{
    int fd = sys_openat(AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);

    return fd < 0 ? fd : close_and(fd, write_all(fd, text));
}

/* The host's /proc is still the one in use.  setgroups must be denied before gid_map is written by
 * a process without privileges outside: user_namespaces(7). */
int
op_write_maps(struct init *init, const struct wire_op *op)
{
    int r = 0;

    if ((op->flags & OPF_DENY_SETGROUPS) != 0) {
        r = write_file("/proc/self/setgroups", "deny");
    }
    if (r == 0) {
        r = write_file("/proc/self/uid_map", init_text(init, op->a));
    }
    if (r == 0) {
        r = write_file("/proc/self/gid_map", init_text(init, op->b));
    }
    return r;
}
