/* SPDX-License-Identifier: Apache-2.0
 * The canary: a child of init that took on everything a command takes on, and then, in place of a
 * program, tries what the library lists.  It judges nothing; the library knows what must fail. */
#include "linux/init/init.h"

#include "linux/init/sys.h"

#include <linux/in.h>

#define OPEN_FLAGS (O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
#define EXECVE_CHECK 0x10000 /* AT_EXECVE_CHECK, since Linux 6.14 */
#define NEW_USER_NAMESPACE 0x10000000 /* CLONE_NEWUSER */

static int
try_open(const char *path, int flags)
{
    int fd = sys_openat(AT_FDCWD, path, flags | OPEN_FLAGS, 0600);

    if (fd >= 0) {
        sys_close(fd);
    }
    return fd;
}

static int
try_exec(const char *path)
{
    const char *const none[] = { path, NULL };

    return (int)SYS(execveat, AT_FDCWD, path, none, none + 1, EXECVE_CHECK, 0);
}

/* One that is under way was not stopped. */
static int
try_connect(const char *target)
{
    struct sockaddr_in to;
    int fd;
    int r;

    if (!init_read_endpoint(target, &to)) {
        return -EINVAL;
    }
    fd = (int)SYS(socket, SYS_AF_INET, SYS_SOCK_STREAM | SYS_SOCK_CLOEXEC | SYS_SOCK_NONBLOCK, 0, 0,
            0, 0);
    if (fd < 0) {
        return fd;
    }
    r = (int)SYS(connect, fd, &to, sizeof to, 0, 0, 0);
    sys_close(fd);
    return r == -EINPROGRESS ? 0 : r;
}

static int
try_sample(const char *sample)
{
    switch ((enum wire_sample)sample[0]) {
    case SAMPLE_READ:
        return try_open(sample + 1, O_RDONLY);
    case SAMPLE_WRITE:
        return try_open(sample + 1, O_WRONLY);
    case SAMPLE_CREATE:
        return try_open(sample + 1, O_WRONLY | O_TMPFILE);
    case SAMPLE_EXEC:
        return try_exec(sample + 1);
    case SAMPLE_CONNECT:
        return try_connect(sample + 1);
    case SAMPLE_UNSHARE:
        return (int)SYS(unshare, NEW_USER_NAMESPACE, 0, 0, 0, 0, 0);
    }
    return -EINVAL;
}

_Noreturn void
init_canary(const char *const *samples)
{
    for (; *samples != NULL; samples++) {
        int r = try_sample(*samples);
        const int32_t error = r < 0 ? -r : 0;

        sys_write(1, &error, sizeof error);
    }
    init_exit(0);
}
