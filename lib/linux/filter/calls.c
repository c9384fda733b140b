/* SPDX-License-Identifier: Apache-2.0
 * The table of system calls that a box decides, refuses or does not have.  What is not in it goes
 * through: the namespaces, the mounts and Landlock confine it.  Pure data. */
#include "linux/filter/calls.h"

#include "base/mem.h"
#include "plan/wire.h"

#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than the oldest kernel headers this is built with; from 424 on the numbers are the same on
 * every architecture. */
#define NUMBER_FCHMODAT2 452
#define NUMBER_SETXATTRAT 463
#define NUMBER_REMOVEXATTRAT 466
#define NUMBER_OPEN_TREE_ATTR 467
#define NUMBER_FILE_SETATTR 469

#define WRITE_FLAGS (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)
/* CLONE_NEWTIME is not here: in clone() these bits are the exit signal. */
#define NAMESPACE_FLAGS                                                                            \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |  \
            CLONE_NEWNET)

#define ROW(call, ...)                                                                             \
    {                                                                                              \
        .name = #call, .number = SYS_##call, __VA_ARGS__                                           \
    }
#define REFUSED(call) ROW(call, .class = CLASS_REFUSED)
#define ABSENT(call) ROW(call, .class = CLASS_ABSENT)
/* What only a namespace would keep inside. */
#define SHARED(call) ROW(call, .class = CLASS_REFUSED, .when = WHEN_SHARED_PROCESSES)
#define PROCESS(call)                                                                              \
    ROW(call, .class = CLASS_PROCESS, .when = WHEN_SHARED_PROCESSES, .test = TEST_POINTER,         \
            .argument = 0)
#define IOCTL(request, number_of, whenever)                                                        \
    {                                                                                              \
        .name = #request, .number = SYS_ioctl, .class = CLASS_REFUSED, .when = whenever,           \
        .test = TEST_EQUAL, .argument = 1, .value = (uint32_t)(number_of)                          \
    }
#define NAME(call) ROW(call, .class = CLASS_NAME)
#define ATTRIBUTE(call) ROW(call, .class = CLASS_ATTRIBUTE)
#define WRITE(call, n)                                                                             \
    ROW(call, .class = CLASS_WRITE, .test = TEST_ANY_BIT, .argument = n, .value = WRITE_FLAGS)
#define READ(call) ROW(call, .class = CLASS_READ, .when = WHEN_READ_PATTERNS)
#define ACCESS(call, n)                                                                            \
    ROW(call, .class = CLASS_ACCESS, .when = WHEN_GUARDED, .test = TEST_ANY_BIT, .argument = n,    \
            .value = W_OK)
#define FASTOPEN(call, n)                                                                          \
    ROW(call, .class = CLASS_NETWORK, .test = TEST_ANY_BIT, .argument = n, .value = MSG_FASTOPEN)

const struct call_rule call_rules[] = {
    WRITE(openat, 2),
    READ(openat),
    ROW(openat2, .class = CLASS_WRITE), /* its flags are behind a pointer */
    NAME(mkdirat),
    NAME(mknodat),
    NAME(symlinkat),
    NAME(linkat),
    NAME(renameat2),
    NAME(unlinkat),
    ATTRIBUTE(truncate),
    ATTRIBUTE(fchmodat),
    ATTRIBUTE(fchownat),
    ATTRIBUTE(setxattr),
    ATTRIBUTE(lsetxattr),
    ATTRIBUTE(removexattr),
    ATTRIBUTE(lremovexattr),
    { .name = "fchmodat2", .number = NUMBER_FCHMODAT2, .class = CLASS_ATTRIBUTE },
    ATTRIBUTE(utimensat),
    /* By descriptor: a read-only mount refuses them too, and no refusal is without its event. */
    ATTRIBUTE(fchmod),
    ATTRIBUTE(fchown),
    ATTRIBUTE(fsetxattr),
    ATTRIBUTE(fremovexattr),
    ACCESS(faccessat, 2),
    ACCESS(faccessat2, 2),
    ROW(execve, .class = CLASS_EXEC, .when = WHEN_EXEC_RULES),
    ROW(execve, .class = CLASS_EXEC, .test = TEST_OTHER, .argument = 3, .value = WIRE_EXEC_MARK),
    ROW(execveat, .class = CLASS_EXEC),
    ROW(umask, .class = CLASS_UMASK, .when = WHEN_GUARDED),
#ifdef SYS_open /* what newer architectures have no longer */
    WRITE(open, 1),
    READ(open),
    ROW(creat, .class = CLASS_WRITE),
    NAME(mkdir),
    NAME(mknod),
    NAME(symlink),
    NAME(link),
    NAME(rename),
    NAME(unlink),
    NAME(rmdir),
    ATTRIBUTE(chmod),
    ATTRIBUTE(chown),
    ATTRIBUTE(lchown),
    ATTRIBUTE(utime),
    ATTRIBUTE(utimes),
    ATTRIBUTE(futimesat),
    ACCESS(access, 1),
#endif
#ifdef SYS_renameat
    NAME(renameat),
#endif

    ROW(socket, .class = CLASS_NETWORK, .test = TEST_SOCKET),
    ROW(socketpair, .class = CLASS_NETWORK, .test = TEST_SOCKET),
    ROW(connect, .class = CLASS_NETWORK),
    ROW(bind, .class = CLASS_NETWORK),
    ROW(listen, .class = CLASS_NETWORK),
    FASTOPEN(sendto, 3), /* a connect in disguise */
    FASTOPEN(sendmsg, 2),
    FASTOPEN(sendmmsg, 3),
    ROW(sendto, .class = CLASS_NETWORK, .test = TEST_POINTER, .argument = 4),
    ROW(sendmsg, .class = CLASS_NETWORK, .when = WHEN_SHARED_NETWORK),
    ROW(sendmmsg, .class = CLASS_NETWORK, .when = WHEN_SHARED_NETWORK),

    SHARED(shmget),
    SHARED(shmat),
    SHARED(shmctl),
    SHARED(semget),
    SHARED(semop),
    SHARED(semtimedop),
    SHARED(semctl),
    SHARED(msgget),
    SHARED(msgsnd),
    SHARED(msgrcv),
    SHARED(msgctl),
    SHARED(mq_open),
    SHARED(mq_unlink),

    ROW(clone, .class = CLASS_REFUSED, .test = TEST_ANY_BIT, .argument = 0,
            .value = NAMESPACE_FLAGS),
    IOCTL(TIOCSTI, TIOCSTI, WHEN_ALWAYS),
    IOCTL(TIOCLINUX, TIOCLINUX, WHEN_ALWAYS),
    { .name = "F_SETLEASE",
            .number = SYS_fcntl,
            .class = CLASS_REFUSED,
            .test = TEST_EQUAL,
            .argument = 1,
            .value = F_SETLEASE },
    IOCTL(FS_IOC_SETFLAGS, FS_IOC_SETFLAGS, WHEN_ALWAYS),
    IOCTL(FS_IOC_FSSETXATTR, FS_IOC_FSSETXATTR, WHEN_ALWAYS),
    /* They make names past every call that makes names. */
    IOCTL(BTRFS_IOC_SUBVOL_CREATE, BTRFS_IOC_SUBVOL_CREATE, WHEN_GUARDED),
    IOCTL(BTRFS_IOC_SUBVOL_CREATE_V2, BTRFS_IOC_SUBVOL_CREATE_V2, WHEN_GUARDED),
    IOCTL(BTRFS_IOC_SNAP_CREATE, BTRFS_IOC_SNAP_CREATE, WHEN_GUARDED),
    IOCTL(BTRFS_IOC_SNAP_CREATE_V2, BTRFS_IOC_SNAP_CREATE_V2, WHEN_GUARDED),
    IOCTL(BCH_IOCTL_SUBVOLUME_CREATE, 0x4020bc10u, WHEN_GUARDED),
    IOCTL(OCFS2_IOC_REFLINK, 0x40186f04u, WHEN_GUARDED),
    REFUSED(unshare),
    REFUSED(setns),
    REFUSED(mount),
    REFUSED(umount2),
    REFUSED(pivot_root),
    REFUSED(chroot),
    REFUSED(open_tree),
    REFUSED(move_mount),
    REFUSED(fsopen),
    REFUSED(fsconfig),
    REFUSED(fsmount),
    REFUSED(fspick),
    REFUSED(mount_setattr),
    { .name = "open_tree_attr", .number = NUMBER_OPEN_TREE_ATTR, .class = CLASS_REFUSED },
    REFUSED(open_by_handle_at),
    /* With processes of its own a box may look into them: init is not dumpable, another command is
     * another Landlock domain, and a call that was changed passes the filter again. */
    SHARED(ptrace),
    SHARED(process_vm_readv),
    SHARED(process_vm_writev),
    /* Init's limits are those of every later command. */
    ROW(prlimit64, .class = CLASS_REFUSED, .test = TEST_EQUAL, .argument = 0, .value = 1),
    PROCESS(kill),
    PROCESS(tkill),
    PROCESS(tgkill),
    PROCESS(rt_sigqueueinfo),
    PROCESS(rt_tgsigqueueinfo),
    PROCESS(prlimit64),
    PROCESS(sched_setaffinity),
    PROCESS(sched_setattr),
    PROCESS(sched_setparam),
    PROCESS(sched_setscheduler),
    PROCESS(migrate_pages),
    PROCESS(move_pages),
    ROW(setpriority, .class = CLASS_PROCESS, .when = WHEN_SHARED_PROCESSES),
    ROW(ioprio_set, .class = CLASS_PROCESS, .when = WHEN_SHARED_PROCESSES),
    ROW(pidfd_send_signal, .class = CLASS_ABSENT, .when = WHEN_SHARED_PROCESSES),
    REFUSED(pidfd_getfd),
    REFUSED(bpf),
    REFUSED(keyctl),
    REFUSED(add_key),
    REFUSED(request_key),
    REFUSED(userfaultfd),
    REFUSED(perf_event_open),
    REFUSED(fanotify_init),
    REFUSED(kexec_load),
#ifdef SYS_kexec_file_load
    REFUSED(kexec_file_load),
#endif
    REFUSED(init_module),
    REFUSED(finit_module),
    REFUSED(delete_module),
    REFUSED(swapon),
    REFUSED(swapoff),
    REFUSED(reboot),
    REFUSED(acct),
    REFUSED(quotactl),
    REFUSED(quotactl_fd),
    REFUSED(syslog),
    REFUSED(settimeofday),
    REFUSED(clock_settime),
    REFUSED(sethostname),
    REFUSED(setdomainname),
    REFUSED(vhangup),
#ifdef SYS_iopl
    REFUSED(iopl),
    REFUSED(ioperm),
#endif

    /* What a filter cannot look into; the older calls do the same. */
    ABSENT(clone3),
    ABSENT(io_uring_setup),
    ABSENT(io_uring_enter),
    ABSENT(io_uring_register),
    { .name = "setxattrat", .number = NUMBER_SETXATTRAT, .class = CLASS_ABSENT },
    { .name = "removexattrat", .number = NUMBER_REMOVEXATTRAT, .class = CLASS_ABSENT },
    { .name = "file_setattr", .number = NUMBER_FILE_SETATTR, .class = CLASS_ABSENT },
};
const size_t n_call_rules = N_ELEMENTS(call_rules);

/* No datagrams between unix sockets: sendmsg() takes an address, which a filter cannot see, so they
 * would reach every socket of the host that the box can see.  Pairs of them can be sent from too.
 * No protocols but the two that are decided about: SCTP connects by a socket option, MPTCP and
 * UDP-Lite are not what rules of ports mean. */
const struct socket_kind socket_kinds[] = {
    { AF_UNIX, .types = { SOCK_STREAM, SOCK_SEQPACKET }, .protocols = { 0, 1 }, .for_pairs = true },
    { AF_INET, .types = { SOCK_STREAM, SOCK_DGRAM }, .protocols = { 0, IPPROTO_TCP, IPPROTO_UDP } },
    { AF_INET6, .types = { SOCK_STREAM, SOCK_DGRAM },
            .protocols = { 0, IPPROTO_TCP, IPPROTO_UDP } },
    { AF_NETLINK, .any_type = true, .protocols = { NETLINK_ROUTE } },
};
const size_t n_socket_kinds = N_ELEMENTS(socket_kinds);

bool
call_rule_applies(const struct call_rule *rule, const struct plan *plan)
{
    bool broker = plan->capabilities.seccomp_notify;

    switch (rule->class) {
    case CLASS_REFUSED:
    case CLASS_ABSENT:
        break;
    case CLASS_NETWORK:
        /* Without a broker what no other layer confines is refused. */
        if (!broker && rule->test != TEST_SOCKET && rule->test != TEST_ANY_BIT) {
            return false;
        }
        break;
    case CLASS_WRITE:
    case CLASS_READ:
    case CLASS_NAME:
    case CLASS_ATTRIBUTE:
    case CLASS_ACCESS:
    case CLASS_EXEC:
    case CLASS_UMASK:
    case CLASS_PROCESS:
        if (!broker) {
            return false;
        }
        break;
    }
    switch (rule->when) {
    case WHEN_ALWAYS:
        return true;
    case WHEN_GUARDED:
        return plan->guards.count > 0 || plan->guard_patterns;
    case WHEN_READ_PATTERNS:
        return plan->read_patterns;
    case WHEN_EXEC_RULES:
        return plan->decide_exec;
    case WHEN_SHARED_NETWORK:
        return plan_shares_network(plan);
    case WHEN_SHARED_PROCESSES:
        return !plan->capabilities.pid_namespace;
    }
    return true;
}

bool
call_gives_socket(int32_t number, const uint64_t arguments[6])
{
    const uint32_t family = (uint32_t)arguments[0], protocol = (uint32_t)arguments[2];
    const uint32_t type = (uint32_t)arguments[1] & SOCKET_TYPE_BITS;

    if (number != SYS_socket && number != SYS_socketpair) {
        return false;
    }
    for (size_t i = 0; i < n_socket_kinds; i++) {
        const struct socket_kind *kind = &socket_kinds[i];

        if (kind->family != family || (number == SYS_socketpair && !kind->for_pairs)) {
            continue;
        }
        return (kind->any_type || type == kind->types[0] || type == kind->types[1]) &&
               (protocol == kind->protocols[0] || protocol == kind->protocols[1] ||
                       protocol == kind->protocols[2]);
    }
    return false;
}

static bool
matches(const struct call_rule *rule, const uint64_t arguments[6])
{
    uint64_t argument = arguments[rule->argument];

    switch (rule->test) {
    case TEST_NONE:
        return true;
    case TEST_SOCKET:
        return !call_gives_socket(rule->number, arguments);
    case TEST_ANY_BIT:
        return ((uint32_t)argument & rule->value) != 0;
    case TEST_EQUAL:
        return (uint32_t)argument == rule->value;
    case TEST_OTHER:
        return argument != rule->value;
    case TEST_POINTER:
        return argument != 0;
    }
    return true;
}

const struct call_rule *
call_rule_find(int32_t number, const uint64_t arguments[6])
{
    for (size_t i = 0; i < n_call_rules; i++) {
        if (call_rules[i].number == number && matches(&call_rules[i], arguments)) {
            return &call_rules[i];
        }
    }
    return NULL;
}
