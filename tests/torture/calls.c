/* SPDX-License-Identifier: Apache-2.0
 * Stands between the library and libc (-Wl,--wrap): each call that may fail fails where points.h
 * says so, with an error that the kernel really gives.  What cannot fail there (an answer to a
 * notification, a write to an eventfd, the reaping of a child) does not. */
#include "failing_malloc.h"
#include "points.h"

#include <dirent.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define CALLER __builtin_return_address(0)

static bool
fails(const void *caller, uintptr_t detail, int error)
{
    if (!point_fails(POINTS_CALLS, caller, detail)) {
        return false;
    }
    errno = error;
    return true;
}

/* WRAP(result type, what failure returns, errno, name, (parameters), (arguments)) */
/* clang-format off */
#define WRAP(type, failure, error, name, parameters, arguments)                                    \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        return fails(CALLER, 0, error) ? (failure) : __real_##name arguments;                      \
    }

WRAP(int, -1, EMFILE, accept4, (int a, struct sockaddr *b, socklen_t *c, int d), (a, b, c, d))
WRAP(int, -1, EMFILE, epoll_create1, (int a), (a))
WRAP(int, -1, EINTR, epoll_wait, (int a, struct epoll_event *b, int c, int d), (a, b, c, d))
WRAP(int, -1, EMFILE, eventfd, (unsigned a, int b), (a, b))
WRAP(int, -1, ENOMEM, fchdir, (int a), (a))
WRAP(int, -1, ENOMEM, fstat64, (int a, struct stat *b), (a, b))
WRAP(int, -1, ENOSPC, ftruncate64, (int a, off_t b), (a, b))
WRAP(int, -1, ENOBUFS, getsockopt, (int a, int b, int c, void *d, socklen_t *e), (a, b, c, d, e))
WRAP(int, -1, ENOMEM, lstat64, (const char *a, struct stat *b), (a, b))
WRAP(int, -1, EMFILE, memfd_create, (const char *a, unsigned b), (a, b))
WRAP(void *, MAP_FAILED, ENOMEM, mmap64, (void *a, size_t b, int c, int d, int e, off_t f), (a, b, c, d, e, f))
WRAP(int, -1, EMFILE, pipe2, (int *a, int b), (a, b))
WRAP(int, -1, ENOMEM, poll, (struct pollfd *a, nfds_t b, int c), (a, b, c))
WRAP(ssize_t, -1, EIO, pread64, (int a, void *b, size_t c, off_t d), (a, b, c, d))
WRAP(ssize_t, -1, EIO, preadv64v2, (int a, const struct iovec *b, int c, off_t d, int e), (a, b, c, d, e))
WRAP(ssize_t, -1, ENOMEM, process_vm_readv, (pid_t a, const struct iovec *b, unsigned long c, const struct iovec *d,
    unsigned long e, unsigned long f), (a, b, c, d, e, f))
WRAP(ssize_t, -1, ENOMEM, readlink, (const char *a, char *b, size_t c), (a, b, c))
WRAP(ssize_t, -1, ENOMEM, readlinkat, (int a, const char *b, char *c, size_t d), (a, b, c, d))
WRAP(ssize_t, -1, ENOMEM, recvmsg, (int a, struct msghdr *b, int c), (a, b, c))
WRAP(ssize_t, -1, ENOBUFS, sendmsg, (int a, const struct msghdr *b, int c), (a, b, c))
WRAP(int, -1, ENOMEM, setsockopt, (int a, int b, int c, const void *d, socklen_t e), (a, b, c, d, e))
WRAP(int, -1, EMFILE, socketpair, (int a, int b, int c, int *d), (a, b, c, d))
WRAP(int, -1, ENOMEM, stat64, (const char *a, struct stat *b), (a, b))
WRAP(int, -1, ENOMEM, statx, (int a, const char *b, int c, unsigned d, struct statx *e), (a, b, c, d, e))
WRAP(int, -1, ENOMEM, unshare, (int a), (a))
WRAP(FILE *, NULL, EMFILE, fopen64, (const char *a, const char *b), (a, b))
WRAP(DIR *, NULL, EMFILE, opendir, (const char *a), (a))
WRAP(int, -ENOMEM, ENOMEM, seccomp_export_bpf, (void *a, int b), (a, b))
/* clang-format on */

/* ---- those that cannot fail always, and those with a variable argument ---- */
int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __real_openat64(int at, const char *path, int flags, ...);
int __wrap_openat64(int at, const char *path, int flags, ...);
int __real_fcntl64(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...);
int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);
int __real_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event);
ssize_t __real_read(int fd, void *data, size_t size);
ssize_t __wrap_read(int fd, void *data, size_t size);
ssize_t __real_write(int fd, const void *data, size_t size);
ssize_t __wrap_write(int fd, const void *data, size_t size);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
int __real_pthread_create(
        pthread_t *thread, const pthread_attr_t *attributes, void *(*fn)(void *), void *data);
int __wrap_pthread_create(
        pthread_t *thread, const pthread_attr_t *attributes, void *(*fn)(void *), void *data);
int __real_clone(int (*fn)(void *), void *stack, int flags, void *data, ...);
int __wrap_clone(int (*fn)(void *), void *stack, int flags, void *data, ...);

#define LAST(type, after)                                                                          \
    ({                                                                                             \
        va_list arguments;                                                                         \
        type value;                                                                                \
                                                                                                   \
        va_start(arguments, after);                                                                \
        value = va_arg(arguments, type);                                                           \
        va_end(arguments);                                                                         \
        value;                                                                                     \
    })

int
__wrap_open64(const char *path, int flags, ...)
{
    return fails(CALLER, 0, EMFILE) ? -1 : __real_open64(path, flags, LAST(int, flags));
}

int
__wrap_openat64(int at, const char *path, int flags, ...)
{
    return fails(CALLER, 0, EMFILE) ? -1 : __real_openat64(at, path, flags, LAST(int, flags));
}

int
__wrap_fcntl64(int fd, int command, ...)
{
    return fails(CALLER, 0, EMFILE) ? -1 : __real_fcntl64(fd, command, LAST(long, command));
}

int
__wrap_ioctl(int fd, unsigned long request, ...)
{
    const bool cannot =
            request == SECCOMP_IOCTL_NOTIF_SEND || request == SECCOMP_IOCTL_NOTIF_ID_VALID;

    return !cannot && fails(CALLER, 0, ENOMEM) ? -1
                                               : __real_ioctl(fd, request, LAST(void *, request));
}

int
__wrap_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
    return operation == EPOLL_CTL_ADD && fails(CALLER, 0, ENOSPC)
                   ? -1
                   : __real_epoll_ctl(epoll, operation, fd, event);
}

ssize_t
__wrap_read(int fd, void *data, size_t size)
{
    return size != sizeof(uint64_t) && fails(CALLER, 0, EINTR) ? -1 : __real_read(fd, data, size);
}

ssize_t
__wrap_write(int fd, const void *data, size_t size)
{
    return size > sizeof(uint64_t) && fails(CALLER, 0, ENOSPC) ? -1 : __real_write(fd, data, size);
}

long
__wrap_syscall(long number, ...)
{
    const bool cannot = number == SYS_exit || number == SYS_rt_sigprocmask ||
                        number == SYS_pidfd_send_signal || number == SYS_capget ||
                        number == SYS_prctl;
    va_list list;
    long arguments[6];

    va_start(list, number);
    for (int i = 0; i < 6; i++) {
        arguments[i] = va_arg(list, long);
    }
    va_end(list);
    if (!cannot && fails(CALLER, (uintptr_t)number, number == SYS_execveat ? ENOMEM : EMFILE)) {
        return -1;
    }
    return __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
            arguments[4], arguments[5]);
}

/* The memory of a thread that has ended is kept for the next one. */
int
__wrap_pthread_create(
        pthread_t *thread, const pthread_attr_t *attributes, void *(*fn)(void *), void *data)
{
    int r = EAGAIN;

    if (!fails(CALLER, 0, EAGAIN)) {
        malloc_uncounted(true);
        r = __real_pthread_create(thread, attributes, fn, data);
        malloc_uncounted(false);
    }
    return r;
}

int
__wrap_clone(int (*fn)(void *), void *stack, int flags, void *data, ...)
{
    return fails(CALLER, 0, EAGAIN) ? -1 : __real_clone(fn, stack, flags, data, LAST(int *, data));
}
