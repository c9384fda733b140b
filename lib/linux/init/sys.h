/* SPDX-License-Identifier: Apache-2.0
 * System calls of the program in the box.  All go through sys_call, which tests replace by a table;
 * a result is what the kernel gave: -errno on failure.  No libc, so the kernel's own structures. */
#ifndef ABX_LINUX_INIT_SYS_H
#define ABX_LINUX_INIT_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <asm/errno.h>
#include <asm/ioctls.h>
#include <asm/socket.h>
#include <asm/termios.h>
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/prctl.h>

long sys_call(long number, long a, long b, long c, long d, long e, long f);
/* start.c; the compiler calls the first two by itself. */
void *memcpy(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
size_t strlen(const char *text);

#define SYS(name, a, b, c, d, e, f)                                                                \
    sys_call(__NR_##name, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

static inline int
sys_close(int fd)
{
    return (int)SYS(close, fd, 0, 0, 0, 0, 0);
}

static inline long
sys_read(int fd, void *buffer, size_t size)
{
    return SYS(read, fd, buffer, size, 0, 0, 0);
}

static inline long
sys_write(int fd, const void *buffer, size_t size)
{
    return SYS(write, fd, buffer, size, 0, 0, 0);
}

static inline int
sys_openat(int directory, const char *path, int flags, unsigned mode)
{
    return (int)SYS(openat, directory, path, flags, mode, 0, 0);
}

static inline int
sys_openat2(int directory, const char *path, const struct open_how *how)
{
    return (int)SYS(openat2, directory, path, how, sizeof *how, 0, 0);
}

static inline int
sys_prctl(int option, unsigned long a, unsigned long b)
{
    return (int)SYS(prctl, option, a, b, 0, 0, 0);
}

static inline int
sys_fcntl(int fd, int command, long argument)
{
    return (int)SYS(fcntl, fd, command, argument, 0, 0, 0);
}

static inline int
sys_ioctl(int fd, unsigned long request, const void *argument)
{
    return (int)SYS(ioctl, fd, request, argument, 0, 0, 0);
}

static inline int
sys_open_tree(int fd, unsigned flags)
{
    return (int)SYS(open_tree, fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | flags,
            0, 0, 0);
}

static inline int
sys_move_mount(int tree, int target)
{
    return (int)SYS(
            move_mount, tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH, 0);
}

static inline int
sys_mount_setattr(int tree, unsigned flags, const struct mount_attr *attributes)
{
    return (int)SYS(
            mount_setattr, tree, "", AT_EMPTY_PATH | flags, attributes, sizeof *attributes, 0);
}

/* The mapping, or an error: sys_is_error tells. */
static inline void *
sys_map(size_t size, int protection, int flags, int fd)
{
    return (void *)SYS(mmap, 0, size, protection, flags, fd, 0);
}

static inline bool
sys_is_error(const void *mapping)
{
    return (unsigned long)mapping > (unsigned long)-4096L;
}

static inline int
sys_unmap(const void *mapping, size_t size)
{
    return (int)SYS(munmap, mapping, size, 0, 0, 0, 0);
}

/* What the kernel's exported headers do not have. */
enum {
    SYS_SIGKILL = 9,
    SYS_SIGCHLD = 17,
    SYS_SIGSTOP = 19,
    SYS_SOCK_STREAM = 1,
    SYS_SOCK_DGRAM = 2,
    SYS_SOCK_RAW = 3,
    SYS_SOCK_CLOEXEC = 02000000,
    SYS_SOCK_NONBLOCK = 04000,
    SYS_AF_UNIX = 1,
    SYS_AF_INET = 2,
    SYS_AF_INET6 = 10,
    SYS_AF_NETLINK = 16,
    SYS_AF_PACKET = 17,
    SYS_SCM_RIGHTS = 1,
    SYS_MSG_CTRUNC = 8,
    SYS_MSG_TRUNC = 0x20,
    SYS_MSG_NOSIGNAL = 0x4000,
    SYS_MSG_CMSG_CLOEXEC = 0x40000000,
    SYS_MNT_DETACH = 2,
    SYS_PIPE_CLOEXEC = 02000000,
    SYS_POLLIN = 1,
    SYS_SEEK_END = 2,
    SYS_TYPE_MASK = 0170000,
    SYS_TYPE_DIRECTORY = 0040000,
    SYS_TYPE_CHARACTER = 0020000,
    SYS_TYPE_SOCKET = 0140000,
    SYS_SET_ID = 0006000 /* st_mode */
};

struct sys_iovec {
    void *base;
    size_t size;
};

struct sys_msghdr {
    void *name;
    int name_size;
    struct sys_iovec *iov;
    size_t iov_count;
    void *control;
    size_t control_size;
    unsigned flags;
};

struct sys_cmsg {
    size_t size;
    int level, type;
};

struct sys_pollfd {
    int fd;
    short events, revents;
};

#endif
