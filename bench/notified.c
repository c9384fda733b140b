/* SPDX-License-Identifier: Apache-2.0
 * What a notified open costs where nothing is decided: notified given|opened|refused FILE
 * PROGRAM... Runs a program whose opens of FILE are answered by a descriptor that is there already,
 * by one that is opened and looked at for each, or by EACCES, and all others go on.  So it is the
 * least that a box can cost which asks. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS /* Linux 6.6 */
#    define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#    define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

enum answer { REFUSED, GIVEN, OPENED };

static int
notify_opens(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = { sizeof filter / sizeof filter[0], filter };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return -1;
    }
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
            SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);
}

/* In the child: tells the listener's number, waits until it was taken, becomes the program. */
static void
run(char **argv, int tell, int wait_for)
{
    const int listener = notify_opens();
    char byte;

    if (listener >= 0 && write(tell, &listener, sizeof listener) == sizeof listener &&
            read(wait_for, &byte, 1) == 1) {
        close(listener);
        execv(argv[0], argv);
    }
    perror(argv[0]);
    _exit(127);
}

static int
take_listener(pid_t child, int told, int tell)
{
    const int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
    int number, listener = -1;

    if (pidfd >= 0 && read(told, &number, sizeof number) == sizeof number) {
        listener = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);
    }
    if (listener < 0 || write(tell, "", 1) != 1) {
        return -1;
    }
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
    return listener;
}

/* What tells for sure which file was opened, without waiting for anything: its path, its kind. */
static int
open_and_look(const char *path)
{
    static int link = -1;
    const struct open_how how = { .flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC,
        .resolve = RESOLVE_NO_SYMLINKS };
    const int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
    char name[32], found[PATH_MAX];
    struct stat stat;

    if (link < 0) { /* the number is the same each time */
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        link = open(name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    }
    if (fd < 0 || readlinkat(link, "", found, sizeof found) < 0 || fstat(fd, &stat) != 0 ||
            !S_ISREG(stat.st_mode) || fcntl(fd, F_SETFL, 0) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static void
answer(int listener, const struct seccomp_notif *call, const char *file, enum answer kind,
        int given)
{
    struct seccomp_notif_resp response = { .id = call->id };
    struct seccomp_notif_addfd addfd = { .id = call->id,
        .flags = SECCOMP_ADDFD_FLAG_SEND,
        .srcfd = (uint32_t)given,
        .newfd_flags = O_CLOEXEC };
    char path[256] = "";
    int fd;
    struct iovec local = { path, strlen(file) + 1 };
    struct iovec remote = { (void *)(uintptr_t)call->data.args[1], strlen(file) + 1 };

    if (process_vm_readv((pid_t)call->pid, &local, 1, &remote, 1, 0) != (ssize_t)local.iov_len ||
            memcmp(path, file, local.iov_len) != 0) {
        response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    } else if (kind == GIVEN) {
        ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &addfd);
        return;
    } else if (kind == OPENED && (fd = open_and_look(path)) >= 0) {
        addfd.srcfd = (uint32_t)fd;
        ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &addfd);
        close(fd);
        return;
    } else {
        response.error = -EACCES;
    }
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

static void
serve(int listener, const char *file, enum answer kind, int given)
{
    struct pollfd waiting = { .fd = listener, .events = POLLIN };

    while (poll(&waiting, 1, -1) > 0 && (waiting.revents & POLLIN) != 0) {
        struct seccomp_notif call = { 0 };

        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) == 0) {
            answer(listener, &call, file, kind, given);
        }
    }
}

int
main(int argc, char **argv)
{
    int to_child[2], to_parent[2], given = -1, listener, status = 1;
    enum answer kind = REFUSED;
    pid_t child;

    if (argc < 4 || strlen(argv[2]) >= 256) {
        fputs("usage: notified given|opened|refused FILE PROGRAM...\n", stderr);
        return 2;
    }
    if (strcmp(argv[1], "given") == 0) {
        kind = GIVEN;
        given = open(argv[2], O_RDONLY | O_CLOEXEC);
    } else if (strcmp(argv[1], "opened") == 0) {
        kind = OPENED;
    }
    if (pipe2(to_child, O_CLOEXEC) != 0 || pipe2(to_parent, O_CLOEXEC) != 0) {
        perror("pipe");
        return 1;
    }
    child = fork();
    if (child == 0) {
        run(argv + 3, to_parent[1], to_child[0]);
    }
    close(to_parent[1]);
    listener = take_listener(child, to_parent[0], to_child[1]);
    if (listener < 0) {
        perror("listener");
        return 1;
    }
    serve(listener, argv[2], kind, given);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
