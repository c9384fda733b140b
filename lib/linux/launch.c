/* SPDX-License-Identifier: Apache-2.0
 * Owns the start and the end of init: the only place that makes a process.  The child shares the
 * host's memory until it executes (CLONE_VM | CLONE_VFORK: the price does not depend on the host's
 * size), so it only makes system calls, on a stack of its own, with every signal blocked.  Any
 * thread. */
#include "linux/launch.h"

#include "base/file.h"
#include "base/loop.h"
#include "base/mem.h"
#include "linux/init/blob.h"
#include "plan/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MFD_EXEC
#    define MFD_EXEC 0x0010U
#endif
#ifndef P_PIDFD
#    define P_PIDFD 3
#endif

/* ThreadSanitizer takes clone() for a fork and forgets what it knows. */
#if defined(__has_feature)
#    if __has_feature(thread_sanitizer) && !defined(__SANITIZE_THREAD__)
#        define __SANITIZE_THREAD__ 1
#    endif
#endif
#ifdef __SANITIZE_THREAD__
extern int __clone(int (*fn)(void *data), void *stack, int flags, void *data, ...);
#    define CLONE __clone
#else
#    define CLONE clone
#endif

#define STACK_SIZE (64u * 1024)
#define KERNEL_SIGNALS 8 /* bytes of the kernel's signal set */

/* ---- the program ---- */
static abx_status
carried_image(int *ret_fd, struct fail *fail)
{
    const unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    AUTO(closep) int low = memfd_create("agentbox-init", flags | MFD_EXEC);
    AUTO(closep) int fd = -1;
    abx_status r;

    if (low < 0 && errno == EINVAL) { /* before 6.3, where it may always be executed */
        low = memfd_create("agentbox-init", flags);
    }
    fd = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, WIRE_CONTROL_FD + 1);
    if (fd < 0) {
        r = fail_set(fail, ABX_ERR_SETUP, errno, "memfd:init",
                "no memory file for the program in the box");
        if (fail->os_code == EACCES || fail->os_code == EPERM) {
            fail_remedy(fail, "set init_path to the installed agentbox-init: vm.memfd_noexec "
                              "forbids running it from memory");
        }
        return r;
    }
    if (!file_may_have(init_blob_size) ||
            write(fd, init_blob, init_blob_size) != (ssize_t)init_blob_size ||
            fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0) {
        return fail_set(fail, ABX_ERR_SETUP, errno, "memfd:init",
                "the program in the box cannot be stored");
    }
    *ret_fd = steal_fd(&fd);
    return ABX_OK;
}

abx_status
launch_image(const char *init_path, int *ret_fd, struct fail *fail)
{
    AUTO(closep) int low = -1;
    int fd;

    if (init_path == NULL) {
        return carried_image(ret_fd, fail);
    }
    low = open(init_path, O_PATH | O_CLOEXEC);
    fd = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, WIRE_CONTROL_FD + 1);
    if (fd < 0) {
        return fail_set(fail, ABX_ERR_SETUP, errno, "open:init", "init_path '%s' cannot be opened",
                init_path);
    }
    *ret_fd = fd;
    return ABX_OK;
}

/* ---- the child: system calls only; errno is the suspended caller's ---- */
struct child {
    int image, control;
    bool has_namespace;
    volatile int error; /* why it did not execute */
};

/* The ids of a new user namespace are not mapped yet, so execve would take its capabilities away
 * from everybody; ambient ones stay. */
IN_CHILD static void
keep_capabilities(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

    syscall(SYS_capget, &header, data);
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        data[i].inheritable = data[i].permitted;
    }
    syscall(SYS_capset, &header, data);
    for (int i = 0; i <= CAP_LAST_CAP; i++) {
        syscall(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0);
    }
}

IN_CHILD static int
child_main(void *data)
{
    static const char empty[] = "";
    static const char name[] = "agentbox-init";
    char *const argv[] = { (char *)(uintptr_t)name, NULL };
    char *const env[] = { NULL };
    struct child *child = data;

    if (child->has_namespace) {
        keep_capabilities();
    }
    if (syscall(SYS_dup3, child->control, WIRE_CONTROL_FD, 0) >= 0) {
        syscall(SYS_execveat, child->image, empty, argv, env, AT_EMPTY_PATH);
    }
    child->error = errno;
    syscall(SYS_exit, 127);
    return 127;
}

static int
namespace_flags(const struct plan *plan)
{
    const struct capabilities *capabilities = &plan->capabilities;
    int flags = 0;

    if (!capabilities->user_namespace) {
        return 0;
    }
    flags |= CLONE_NEWUSER | CLONE_NEWIPC | CLONE_NEWUTS;
    flags |= capabilities->mount_namespace ? CLONE_NEWNS : 0;
    flags |= capabilities->pid_namespace ? CLONE_NEWPID : 0;
    flags |= plan_has_network(plan) ? CLONE_NEWNET : 0;
    return flags;
}

int
launch_child(int (*fn)(void *data), void *data, int flags, struct launched *ret_launched)
{
    const uint64_t all = UINT64_MAX;
    uint64_t before = 0;
    char *stack;
    int pid, error;
    int pidfd = -1;

    stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK,
            -1, 0);
    if (stack == MAP_FAILED) {
        return -errno;
    }
    /* The kernel's call, since libc's leaves its own signals out. */
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, KERNEL_SIGNALS);
    pid = CLONE(fn, stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | flags, data, &pidfd);
    error = errno;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, KERNEL_SIGNALS);
    munmap(stack, STACK_SIZE);
    if (pid < 0) {
        return -error;
    }
    *ret_launched = (struct launched){ .pid = pid, .pidfd = pidfd };
    return 0;
}

/* What to change where the kernel or the system's policy forbids the namespaces. */
static void
explain_clone(struct fail *fail)
{
    if (fail->os_code == EPERM || fail->os_code == EACCES) {
        fail_remedy(fail,
                "allow unprivileged user namespaces: sysctl kernel.unprivileged_userns_clone=1, "
                "kernel.apparmor_restrict_unprivileged_userns=0 or an AppArmor profile for this "
                "program; in a container, a seccomp profile that allows clone");
    } else if (fail->os_code == ENOSPC || fail->os_code == EUSERS) {
        fail_remedy(fail, "raise user.max_user_namespaces and its relatives, or nest less deeply");
    } else if (fail->os_code == EAGAIN) {
        fail_remedy(fail, "raise the limit of processes (ulimit -u, or pids.max of the cgroup)");
    }
}

abx_status
launch_init(int image, int control, const struct plan *plan, struct launched *ret_launched,
        struct fail *fail)
{
    struct child child = {
        .image = image,
        .control = control,
        .has_namespace = plan->capabilities.user_namespace,
    };
    struct launched launched = { .pidfd = -1 };
    int r = launch_child(child_main, &child, namespace_flags(plan), &launched);

    if (r < 0) {
        r = fail_set(fail, ABX_ERR_SETUP, -r,
                plan->capabilities.user_namespace ? "clone:userns" : "clone:init",
                "the box's first process cannot be made");
        explain_clone(fail);
        return r;
    }
    if (child.error != 0) {
        launch_end(&launched);
        r = fail_set(fail, ABX_ERR_SETUP, child.error, "exec:init",
                "the program in the box cannot be executed");
        fail_remedy(fail, "set init_path to an installed agentbox-init on a file system that "
                          "allows execution");
        return r;
    }
    *ret_launched = launched;
    return ABX_OK;
}

/* ---- id maps of a root host ---- */
static int
identity_map(const char *own, char *map, size_t room)
{
    FILE *file = fopen(own, "re");
    uint32_t inside, outside, count;
    size_t used = 0;

    if (file == NULL) {
        return -errno;
    }
    while (fscanf(file, "%" SCNu32 " %" SCNu32 " %" SCNu32, &inside, &outside, &count) == 3) {
        int n = snprintf(map + used, room - used, "%" PRIu32 " %" PRIu32 " %" PRIu32 "\n", inside,
                inside, count);

        if (n < 0 || (size_t)n >= room - used) {
            fclose(file);
            return -E2BIG;
        }
        used += (size_t)n;
    }
    fclose(file);
    return used == 0 ? -EINVAL : (int)used;
}

static int
write_map(int32_t pid, const char *name)
{
    char own[64], path[64], map[4096]; /* the kernel takes less than a page */
    AUTO(closep) int fd = -1;
    int length;

    snprintf(own, sizeof own, "/proc/self/%s", name);
    length = identity_map(own, map, sizeof map);
    if (length < 0) {
        return length;
    }
    snprintf(path, sizeof path, "/proc/%" PRId32 "/%s", pid, name);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, map, (size_t)length) != length) {
        return -errno;
    }
    return 0;
}

abx_status
launch_write_maps(int32_t pid, struct fail *fail)
{
    int r = write_map(pid, "uid_map");

    if (r == 0) {
        r = write_map(pid, "gid_map");
    }
    if (r < 0) {
        r = fail_set(fail, ABX_ERR_SETUP, -r, "maps:host", "the box's id maps cannot be written");
        fail_remedy(fail, "a host that runs as root needs CAP_SETUID and CAP_SETGID; "
                          "without them run it as an ordinary user");
        return r;
    }
    return ABX_OK;
}

/* ---- the end ---- */
void
launch_kill(const struct launched *launched)
{
    if (launched->pidfd >= 0) {
        syscall(SYS_pidfd_send_signal, launched->pidfd, SIGKILL, NULL, 0);
    }
}

void
launch_wait(const struct launched *launched, int milliseconds)
{
    const uint64_t end = clock_now_ns() + (uint64_t)milliseconds * 1000000u;
    struct pollfd entry = { .fd = launched->pidfd, .events = POLLIN };

    while (launched->pidfd >= 0 && milliseconds > 0 && poll(&entry, 1, milliseconds) < 0 &&
            errno == EINTR) {
        milliseconds = (int)((int64_t)(end - clock_now_ns()) / 1000000);
    }
}

void
launch_end(struct launched *launched)
{
    siginfo_t info;

    if (launched->pidfd < 0) {
        return;
    }
    launch_kill(launched);
    /* Its exit signal is 0, so it is a "clone child". It ends after everything in its pid
     * namespace; ECHILD: a host that waits for any child (__WALL) took it. */
    while (waitid((idtype_t)P_PIDFD, (id_t)launched->pidfd, &info, WEXITED | __WALL) < 0 &&
            errno == EINTR) {
    }
    close_fd(launched->pidfd);
    launched->pidfd = -1;
}
