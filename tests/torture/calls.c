/* SPDX-License-Identifier: Apache-2.0
 * Stands between the library and libc (-Wl,--wrap): each call that may fail fails where points.h
 * says so, with an error that the kernel really gives.  What cannot fail there (a write to an
 * eventfd, the reaping of a child) does not. */
#include "failing_malloc.h"
#include "points.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/uio.h>
#include <unistd.h>

/* A call that makes a descriptor is a point of both kinds. */
static bool
fails(int error)
{
    const bool makes_one = error == EMFILE;

    return point_fails(POINTS_CALLS, error) ||
           (makes_one && point_fails(POINTS_DESCRIPTORS, error));
}

/* WRAP(result type, what failure returns, errno, name, (parameters), (arguments)) */
/* clang-format off */
#define WRAP(type, failure, error, name, parameters, arguments)                                    \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        return fails(error) ? (failure) : __real_##name arguments;                      \
    }

WRAP(int, -1, EMFILE, accept4, (int a, struct sockaddr *b, socklen_t *c, int d), (a, b, c, d))
WRAP(int, -1, ENOMEM, access, (const char *a, int b), (a, b))
WRAP(int, -1, EADDRINUSE, bind, (int a, const struct sockaddr *b, socklen_t c), (a, b, c))
WRAP(int, -1, EIO, chmod, (const char *a, mode_t b), (a, b))
WRAP(int, -1, EAGAIN, connect, (int a, const struct sockaddr *b, socklen_t c), (a, b, c))
WRAP(int, -1, EMFILE, epoll_create1, (int a), (a))
WRAP(int, -1, EINTR, epoll_wait, (int a, struct epoll_event *b, int c, int d), (a, b, c, d))
WRAP(int, -1, EMFILE, eventfd, (unsigned a, int b), (a, b))
WRAP(int, -1, ENOMEM, faccessat, (int a, const char *b, int c, int d), (a, b, c, d))
WRAP(int, -1, ENOMEM, fchdir, (int a), (a))
WRAP(int, -1, EIO, fchmod, (int a, mode_t b), (a, b))
WRAP(int, -1, EIO, fchown, (int a, uid_t b, gid_t c), (a, b, c))
WRAP(int, -1, EIO, fchownat, (int a, const char *b, uid_t c, gid_t d, int e), (a, b, c, d, e))
WRAP(int, -1, EIO, fdatasync, (int a), (a))
WRAP(DIR *, NULL, ENOMEM, fdopendir, (int a), (a))
WRAP(int, -1, ENOMEM, flock, (int a, int b), (a, b))
WRAP(FILE *, NULL, EMFILE, fopen64, (const char *a, const char *b), (a, b))
WRAP(int, -1, ENOMEM, fsconfig, (int a, unsigned b, const char *c, const void *d, int e), (a, b, c, d, e))
WRAP(int, -1, EIO, fsync, (int a), (a))
WRAP(int, -1, EMFILE, fsmount, (int a, unsigned b, unsigned c), (a, b, c))
WRAP(int, -1, EMFILE, fsopen, (const char *a, unsigned b), (a, b))
WRAP(int, -1, ENOMEM, fstat64, (int a, struct stat *b), (a, b))
WRAP(int, -1, EIO, fstatfs64, (int a, struct statfs *b), (a, b))
WRAP(int, -1, ENOSPC, ftruncate64, (int a, off_t b), (a, b))
WRAP(int, -1, ENOBUFS, getsockname, (int a, struct sockaddr *b, socklen_t *c), (a, b, c))
WRAP(int, -1, ENOBUFS, getsockopt, (int a, int b, int c, void *d, socklen_t *e), (a, b, c, d, e))
WRAP(int, -1, ENOSPC, linkat, (int a, const char *b, int c, const char *d, int e), (a, b, c, d, e))
WRAP(int, -1, ENOMEM, lstat64, (const char *a, struct stat *b), (a, b))
WRAP(int, -1, EMFILE, memfd_create, (const char *a, unsigned b), (a, b))
WRAP(int, -1, ENOSPC, mkdirat, (int a, const char *b, mode_t c), (a, b, c))
WRAP(int, -1, ENOSPC, mknodat, (int a, const char *b, mode_t c, dev_t d), (a, b, c, d))
WRAP(void *, MAP_FAILED, ENOMEM, mmap64, (void *a, size_t b, int c, int d, int e, off_t f), (a, b, c, d, e, f))
WRAP(DIR *, NULL, EMFILE, opendir, (const char *a), (a))
WRAP(int, -1, EMFILE, pipe2, (int *a, int b), (a, b))
WRAP(int, -1, ENOMEM, poll, (struct pollfd *a, nfds_t b, int c), (a, b, c))
WRAP(ssize_t, -1, EIO, pread64, (int a, void *b, size_t c, off_t d), (a, b, c, d))
WRAP(ssize_t, -1, EIO, preadv64v2, (int a, const struct iovec *b, int c, off_t d, int e), (a, b, c, d, e))
WRAP(ssize_t, -1, ENOMEM, process_vm_readv, (pid_t a, const struct iovec *b, unsigned long c, const struct iovec *d, unsigned long e, unsigned long f), (a, b, c, d, e, f))
WRAP(struct dirent *, NULL, EIO, readdir64, (DIR *a), (a))
WRAP(ssize_t, -1, ENOMEM, readlink, (const char *a, char *b, size_t c), (a, b, c))
WRAP(ssize_t, -1, ENOMEM, readlinkat, (int a, const char *b, char *c, size_t d), (a, b, c, d))
WRAP(char *, NULL, ENOMEM, realpath, (const char *a, char *b), (a, b))
WRAP(ssize_t, -1, ENOMEM, recv, (int a, void *b, size_t c, int d), (a, b, c, d))
WRAP(ssize_t, -1, ENOMEM, recvfrom, (int a, void *b, size_t c, int d, struct sockaddr *e, socklen_t *f), (a, b, c, d, e, f))
WRAP(int, -1, EIO, removexattr, (const char *a, const char *b), (a, b))
WRAP(int, -1, ENOSPC, renameat, (int a, const char *b, int c, const char *d), (a, b, c, d))
WRAP(ssize_t, -1, ENOBUFS, send, (int a, const void *b, size_t c, int d), (a, b, c, d))
WRAP(ssize_t, -1, ENOBUFS, sendmsg, (int a, const struct msghdr *b, int c), (a, b, c))
WRAP(ssize_t, -1, ENOBUFS, sendto, (int a, const void *b, size_t c, int d, const struct sockaddr *e, socklen_t f), (a, b, c, d, e, f))
WRAP(int, -1, ENOMEM, setsockopt, (int a, int b, int c, const void *d, socklen_t e), (a, b, c, d, e))
WRAP(int, -1, ENOSPC, setxattr, (const char *a, const char *b, const void *c, size_t d, int e), (a, b, c, d, e))
WRAP(int, -1, EMFILE, socketpair, (int a, int b, int c, int *d), (a, b, c, d))
WRAP(int, -1, ENOMEM, stat64, (const char *a, struct stat *b), (a, b))
WRAP(int, -1, ENOMEM, statx, (int a, const char *b, int c, unsigned d, struct statx *e), (a, b, c, d, e))
WRAP(int, -1, ENOSPC, symlinkat, (const char *a, int b, const char *c), (a, b, c))
WRAP(int, -1, EIO, unlinkat, (int a, const char *b, int c), (a, b, c))
WRAP(int, -1, ENOMEM, unshare, (int a), (a))
WRAP(int, -1, EIO, utimensat, (int a, const char *b, const struct timespec *c, int d), (a, b, c, d))
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
ssize_t __real_recvmsg(int socket, struct msghdr *message, int flags);
ssize_t __wrap_recvmsg(int socket, struct msghdr *message, int flags);
int __real_seccomp_export_bpf(void *context, int fd);
int __wrap_seccomp_export_bpf(void *context, int fd);
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
    return fails(EMFILE) ? -1 : __real_open64(path, flags, LAST(int, flags));
}

int
__wrap_openat64(int at, const char *path, int flags, ...)
{
    return fails(EMFILE) ? -1 : __real_openat64(at, path, flags, LAST(int, flags));
}

int
__wrap_fcntl64(int fd, int command, ...)
{
    return fails(command == F_DUPFD_CLOEXEC ? EMFILE : ENOMEM)
                   ? -1
                   : __real_fcntl64(fd, command, LAST(long, command));
}

int
__wrap_ioctl(int fd, unsigned long request, ...)
{
    const bool only_waits =
            request == SECCOMP_IOCTL_NOTIF_SEND || request == SECCOMP_IOCTL_NOTIF_ID_VALID;

    return fails(only_waits ? EINTR : ENOMEM) ? -1
                                              : __real_ioctl(fd, request, LAST(void *, request));
}

int
__wrap_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
    return operation == EPOLL_CTL_ADD && fails(ENOSPC)
                   ? -1
                   : __real_epoll_ctl(epoll, operation, fd, event);
}

ssize_t
__wrap_read(int fd, void *data, size_t size)
{
    return size != sizeof(uint64_t) && fails(EINTR) ? -1 : __real_read(fd, data, size);
}

ssize_t
__wrap_write(int fd, const void *data, size_t size)
{
    return size > sizeof(uint64_t) && fails(ENOSPC) ? -1 : __real_write(fd, data, size);
}

/* 0: it cannot fail, or nothing hangs on it. */
static int
error_of(long number)
{
    switch (number) {
    case SYS_openat2:
    case SYS_pidfd_open:
    case SYS_pidfd_getfd:
    case SYS_seccomp:
        return EMFILE;
    case SYS_dup3:
    case SYS_execveat:
    case SYS_faccessat2:
    case SYS_getdents64:
    case SYS_renameat2:
        return ENOMEM;
    default:
        return 0;
    }
}

/* Reads six arguments, however many there are. */
__attribute__((no_sanitize("address"))) long
__wrap_syscall(long number, ...)
{
    const int error = error_of(number);
    va_list list;
    long arguments[6];

    va_start(list, number);
    for (int i = 0; i < 6; i++) {
        arguments[i] = va_arg(list, long);
    }
    va_end(list);
    if (error != 0 && fails(error)) {
        return -1;
    }
    return __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
            arguments[4], arguments[5]);
}

/* The message arrives, its descriptors do not. */
static void
cut(struct msghdr *message)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && fails(EMFILE)) {
            for (size_t i = 0; CMSG_LEN((i + 1) * sizeof(int)) <= c->cmsg_len; i++) {
                close(((int *)(void *)CMSG_DATA(c))[i]);
            }
            c->cmsg_len = CMSG_LEN(0);
            message->msg_flags |= MSG_CTRUNC;
        }
    }
}

ssize_t
__wrap_recvmsg(int socket, struct msghdr *message, int flags)
{
    ssize_t n = __real_recvmsg(socket, message, flags);

    if (n > 0) {
        cut(message);
    }
    return n;
}

/* libseccomp 2.5 leaks, or runs for ever, where it lacks memory. */
int
__wrap_seccomp_export_bpf(void *context, int fd)
{
    int r = -ENOMEM;

    if (!fails(ENOMEM)) {
        points_pass(true);
        r = __real_seccomp_export_bpf(context, fd);
        points_pass(false);
    }
    return r;
}

/* The memory of a thread that has ended is kept for the next one. */
int
__wrap_pthread_create(
        pthread_t *thread, const pthread_attr_t *attributes, void *(*fn)(void *), void *data)
{
    int r = EAGAIN;

    if (!fails(EAGAIN)) {
        malloc_uncounted(true);
        r = __real_pthread_create(thread, attributes, fn, data);
        malloc_uncounted(false);
    }
    return r;
}

/* glibc ends the process where its lists of name services lack memory. */
int __real_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
        struct addrinfo **ret_list);
int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
        struct addrinfo **ret_list);

int
__wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
        struct addrinfo **ret_list)
{
    int r = EAI_MEMORY;

    if (!point_fails(POINTS_MEMORY, ENOMEM)) {
        points_pass(true);
        r = __real_getaddrinfo(node, service, hints, ret_list);
        points_pass(false);
    }
    return r;
}

#ifdef WITH_TLS
/* Reads some hundred certificates: one point. */
int __real_gnutls_x509_trust_list_add_system_trust(
        void *list, unsigned int flags, unsigned int verify_flags);
int __wrap_gnutls_x509_trust_list_add_system_trust(
        void *list, unsigned int flags, unsigned int verify_flags);

int
__wrap_gnutls_x509_trust_list_add_system_trust(
        void *list, unsigned int flags, unsigned int verify_flags)
{
    int r = 0;

    if (!point_fails(POINTS_MEMORY, ENOMEM)) {
        points_pass(true);
        r = __real_gnutls_x509_trust_list_add_system_trust(list, flags, verify_flags);
        points_pass(false);
    }
    return r;
}
#endif

int
__wrap_clone(int (*fn)(void *), void *stack, int flags, void *data, ...)
{
    return fails(EAGAIN) ? -1 : __real_clone(fn, stack, flags, data, LAST(int *, data));
}
