/* SPDX-License-Identifier: Apache-2.0
 * The seccomp program, run by an evaluator in user space over every system call and the arguments
 * that matter.  What is expected is written down here a second time, in the words of
 * docs/internals/linux.md, so table and program are held against something else than themselves. */
#include "linux/filter/filter.h"

#include "base/mem.h"
#include "linux/filter/calls.h"
#include "plan/wire.h"
#include "unit/main.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#    define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#    define NATIVE AUDIT_ARCH_AARCH64
#endif

#define HIGH (UINT64_C(1) << 32)
#define LAST_CALL 600
#define ABSENT_ACTION (SECCOMP_RET_ERRNO | ENOSYS)

/* Check tells its parent of each assertion that holds, which is slow in inner loops. */
#define MUST(condition, ...)                                                                       \
    if (!(condition)) {                                                                            \
        ck_abort_msg(__VA_ARGS__);                                                                 \
    }

/* ---- the evaluator: what the kernel does with classic BPF ---- */
static uint32_t
jump_taken(const struct sock_filter *i, uint32_t a)
{
    switch (BPF_OP(i->code)) {
    case BPF_JEQ:
        return a == i->k;
    case BPF_JGT:
        return a > i->k;
    case BPF_JGE:
        return a >= i->k;
    case BPF_JSET:
        return (a & i->k) != 0;
    default:
        ck_abort_msg("jump %#x", i->code);
    }
    return 0;
}

static uint32_t
evaluate(const struct vec *filter, const struct seccomp_data *data)
{
    const struct sock_filter *code = filter->data;
    uint32_t a = 0;

    for (size_t pc = 0; pc < filter->count; pc++) {
        const struct sock_filter *i = &code[pc];

        switch (BPF_CLASS(i->code)) {
        case BPF_LD:
            MUST(i->code == (BPF_LD | BPF_W | BPF_ABS), "load %#x", i->code);
            MUST(i->k + 4 <= sizeof *data, "load at %u", i->k);
            memcpy(&a, (const char *)data + i->k, sizeof a);
            break;
        case BPF_ALU:
            MUST(i->code == (BPF_ALU | BPF_AND | BPF_K), "operation %#x", i->code);
            a &= i->k;
            break;
        case BPF_JMP:
            if (BPF_OP(i->code) == BPF_JA) {
                pc += i->k;
            } else {
                pc += jump_taken(i, a) ? i->jt : i->jf;
            }
            break;
        case BPF_RET:
            MUST(i->code == (BPF_RET | BPF_K), "return %#x", i->code);
            return i->k;
        default:
            ck_abort_msg("instruction %#x", i->code);
        }
    }
    ck_abort_msg("ran off the end");
    return 0;
}

/* ---- plans ---- */
#define PLANS 64
static struct plan
make_plan(int i)
{
    struct plan plan = { 0 };

    plan.capabilities.seccomp_notify = (i & 1) != 0;
    plan.guard_patterns = (i & 2) != 0;
    plan.read_patterns = (i & 4) != 0;
    plan.decide_exec = (i & 8) != 0;
    plan.capabilities.net_namespace = (i & 16) != 0;
    plan.capabilities.pid_namespace = (i & 32) != 0;
    return plan;
}

static uint32_t
refusal(const struct plan *plan)
{
    return plan->capabilities.seccomp_notify ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ERRNO | EPERM;
}

/* ---- what is expected ---- */
static bool
is_in(const int *list, size_t count, int number)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i] == number) {
            return true;
        }
    }
    return false;
}

static const int names[] = {
    SYS_mkdirat,
    SYS_mknodat,
    SYS_symlinkat,
    SYS_linkat,
    SYS_renameat,
    SYS_renameat2,
    SYS_unlinkat,
#ifdef SYS_open
    SYS_mkdir,
    SYS_mknod,
    SYS_symlink,
    SYS_link,
    SYS_rename,
    SYS_unlink,
    SYS_rmdir,
#endif
};
static const int attributes[] = {
    SYS_truncate,
    SYS_fchmodat,
    452 /* fchmodat2 */,
    SYS_fchownat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_utimensat,
    SYS_fchmod,
    SYS_fchown,
    SYS_fsetxattr,
    SYS_fremovexattr,
#ifdef SYS_open
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
#endif
};
static const int refused[] = {
    SYS_pidfd_getfd,
    SYS_mount,
    SYS_umount2,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    467 /* open_tree_attr */,
    SYS_unshare,
    SYS_setns,
    SYS_bpf,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_userfaultfd,
    SYS_perf_event_open,
    SYS_fanotify_init,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_pivot_root,
    SYS_chroot,
    SYS_swapon,
    SYS_swapoff,
    SYS_reboot,
    SYS_acct,
    SYS_quotactl,
    SYS_quotactl_fd,
    SYS_syslog,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_vhangup,
    SYS_open_by_handle_at,
#ifdef SYS_iopl
    SYS_iopl,
    SYS_ioperm,
#endif
};
static const int absent[] = { SYS_clone3, SYS_io_uring_setup, SYS_io_uring_enter,
    SYS_io_uring_register, 463 /* setxattrat */, 466 /* removexattrat */, 469 /* file_setattr */ };

/* Where the box has no processes of its own. */
static const int shared[] = { SYS_shmget, SYS_shmat, SYS_shmctl, SYS_semget, SYS_semop,
    SYS_semtimedop, SYS_semctl, SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_mq_open,
    SYS_mq_unlink };
static const int to_processes[] = { SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo, SYS_prlimit64, SYS_sched_setaffinity, SYS_sched_setattr,
    SYS_sched_setparam, SYS_sched_setscheduler, SYS_migrate_pages, SYS_move_pages };

static bool
is_for_another(int number, const uint64_t *args)
{
    return number == SYS_setpriority || number == SYS_ioprio_set ||
           (is_in(to_processes, N_ELEMENTS(to_processes), number) && args[0] != 0);
}

/* No SCTP, which connects past connect(); no UDP-Lite, MPTCP or ping. */
static bool
is_protocol(uint64_t protocol)
{
    return protocol == 0 || protocol == IPPROTO_TCP || protocol == IPPROTO_UDP;
}

static bool
socket_allowed(uint64_t family, uint64_t type, uint64_t protocol)
{
    const uint32_t kind = (uint32_t)type & 0xf;

    switch (family) {
    case AF_UNIX:
        return (kind == SOCK_STREAM || kind == SOCK_SEQPACKET) && (uint32_t)protocol <= 1;
    case AF_INET:
    case AF_INET6:
        return (kind == SOCK_STREAM || kind == SOCK_DGRAM) && is_protocol(protocol);
    case AF_NETLINK:
        return protocol == 0; /* NETLINK_ROUTE */
    default:
        return false;
    }
}

static bool
is_write_open(int number, const uint64_t *args)
{
    const uint64_t flags = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;

    switch (number) {
#ifdef SYS_open
    case SYS_open:
        return (args[1] & flags) != 0;
    case SYS_creat:
        return true;
#endif
    case SYS_openat:
        return (args[2] & flags) != 0;
    case SYS_openat2:
        return true;
    default:
        return false;
    }
}

static bool
is_read_open(int number)
{
#ifdef SYS_open
    if (number == SYS_open) {
        return true;
    }
#endif
    return number == SYS_openat;
}

static bool
is_guarded_call(int number, const uint64_t *args)
{
    switch (number) {
    case SYS_faccessat:
    case SYS_faccessat2:
        return (args[2] & W_OK) != 0;
    case SYS_umask:
        return true;
#ifdef SYS_access
    case SYS_access:
        return (args[1] & W_OK) != 0;
#endif
    default:
        return false;
    }
}

static bool
is_decided(const struct plan *plan, int number, const uint64_t *args)
{
    if (is_in(names, N_ELEMENTS(names), number) ||
            is_in(attributes, N_ELEMENTS(attributes), number) || is_write_open(number, args)) {
        return true;
    }
    if ((plan->guard_patterns && is_guarded_call(number, args)) ||
            (plan->read_patterns && is_read_open(number)) || number == SYS_execveat ||
            (number == SYS_execve && (plan->decide_exec || args[3] != WIRE_EXEC_MARK))) {
        return true;
    }
    if (!plan->capabilities.pid_namespace && is_for_another(number, args)) {
        return true;
    }
    switch (number) {
    case SYS_socket:
    case SYS_socketpair:
    case SYS_connect:
    case SYS_bind:
    case SYS_listen:
        return true;
    case SYS_sendto:
        return args[4] != 0;
    case SYS_sendmsg:
    case SYS_sendmmsg:
        return !plan->capabilities.net_namespace;
    default:
        return false;
    }
}

#define BCACHEFS_SUBVOLUME 0x4020bc10u /* BCH_IOCTL_SUBVOLUME_CREATE */
#define OCFS2_REFLINK 0x40186f04u /* OCFS2_IOC_REFLINK */

static const uint64_t makers[] = { BTRFS_IOC_SUBVOL_CREATE, BTRFS_IOC_SUBVOL_CREATE_V2,
    BTRFS_IOC_SNAP_CREATE, BTRFS_IOC_SNAP_CREATE_V2, BCACHEFS_SUBVOLUME, OCFS2_REFLINK };

static bool
makes_a_name(uint32_t request)
{
    for (size_t i = 0; i < N_ELEMENTS(makers); i++) {
        if (request == makers[i]) {
            return true;
        }
    }
    return false;
}

static bool
is_refused(const struct plan *plan, int number, const uint64_t *args)
{
    switch (number) {
    case SYS_ptrace:
    case SYS_process_vm_readv:
    case SYS_process_vm_writev:
        return !plan->capabilities.pid_namespace;
    case SYS_prlimit64:
        return (uint32_t)args[0] == 1;
    case SYS_clone:
        return (args[0] & (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                  CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)) != 0;
    case SYS_ioctl:
        return (uint32_t)args[1] == TIOCSTI || (uint32_t)args[1] == TIOCLINUX ||
               (uint32_t)args[1] == FS_IOC_SETFLAGS || (uint32_t)args[1] == FS_IOC_FSSETXATTR ||
               (plan->guard_patterns && makes_a_name((uint32_t)args[1]));
    case SYS_fcntl:
        return (uint32_t)args[1] == F_SETLEASE;
    case SYS_socket:
        return !socket_allowed(args[0], args[1], args[2]);
    case SYS_socketpair:
        return args[0] != AF_UNIX || !socket_allowed(args[0], args[1], args[2]);
    case SYS_sendto:
        return (args[3] & MSG_FASTOPEN) != 0;
    case SYS_sendmsg:
        return (args[2] & MSG_FASTOPEN) != 0;
    case SYS_sendmmsg:
        return (args[3] & MSG_FASTOPEN) != 0;
    default:
        return is_in(refused, N_ELEMENTS(refused), number);
    }
}

static uint32_t
expected(const struct plan *plan, int number, const uint64_t *args)
{
    if (is_in(absent, N_ELEMENTS(absent), number)) {
        return ABSENT_ACTION;
    }
    if (!plan->capabilities.pid_namespace && number == SYS_pidfd_send_signal) {
        return ABSENT_ACTION;
    }
    if (!plan->capabilities.pid_namespace && is_in(shared, N_ELEMENTS(shared), number)) {
        return refusal(plan);
    }
    if (is_refused(plan, number, args)) {
        return refusal(plan);
    }
    if (plan->capabilities.seccomp_notify && is_decided(plan, number, args)) {
        return SECCOMP_RET_USER_NOTIF;
    }
    return SECCOMP_RET_ALLOW;
}

/* ---- holding one against the other ---- */
static void
check(const struct plan *plan, const struct vec *filter, int number, const uint64_t *args)
{
    struct seccomp_data data = { .nr = number, .arch = NATIVE };
    uint32_t got;

    for (int i = 0; i < 6; i++) {
        data.args[i] = args[i];
    }
    got = evaluate(filter, &data);
    MUST(got == expected(plan, number, args),
            "call %d (%#lx, %#lx, %#lx, %#lx, %#lx): %#x, not %#x", number, args[0], args[1],
            args[2], args[3], args[4], got, expected(plan, number, args));
}

static const uint64_t values[] = { BTRFS_IOC_SUBVOL_CREATE, BTRFS_IOC_SUBVOL_CREATE_V2,
    BTRFS_IOC_SNAP_CREATE, BTRFS_IOC_SNAP_CREATE_V2, BTRFS_IOC_SUBVOL_GETFLAGS, BCACHEFS_SUBVOLUME,
    OCFS2_REFLINK, FS_IOC_SETFLAGS, FS_IOC_GETFLAGS, FS_IOC_FSSETXATTR, F_SETLEASE, F_NOTIFY, 0, 1,
    2, 3, 4, 5, 6, 8, 10, 15, 16, 17, 31, 0x20, 0x40, 0x80, O_CREAT, O_TRUNC, O_PATH,
    O_DIRECTORY | O_CLOEXEC, O_TMPFILE | O_RDWR, 06755, 0755, TIOCSTI, TIOCLINUX, TIOCGWINSZ,
    MSG_FASTOPEN, MSG_NOSIGNAL, CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWNET, CLONE_NEWPID,
    CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP, SIGCHLD, CLONE_VM | CLONE_VFORK, 0x7fff12345678,
    WIRE_EXEC_MARK, 0x80000000, 0xffffffff, UINT64_MAX };

START_TEST(every_call_with_interesting_arguments_is_treated_as_documented)
{
    struct plan plan = make_plan(_i);
    struct vec filter;
    struct fail fail = { 0 };

    ck_assert_int_eq(filter_build(&plan, &filter, &fail), ABX_OK);
    for (int number = 0; number < LAST_CALL; number++) {
        for (size_t argument = 0; argument < 6; argument++) {
            if (number == SYS_socket || number == SYS_socketpair) {
                continue; /* a test of their own */
            }
            for (size_t i = 0; i < N_ELEMENTS(values); i++) {
                uint64_t args[6] = { 0 };

                args[argument] = values[i];
                check(&plan, &filter, number, args);
                args[argument] |= HIGH;
                check(&plan, &filter, number, args);
            }
        }
    }
    vec_done(&filter);
}
END_TEST

START_TEST(only_listed_kinds_of_sockets_pass)
{
    static const uint64_t protocols[] = { 0, 1, 6, 12, 17, 58, 115, IPPROTO_SCTP, 136, 255, 262,
        UINT64_MAX };
    struct plan plan = make_plan(_i);
    struct vec filter;
    struct fail fail = { 0 };

    ck_assert_int_eq(filter_build(&plan, &filter, &fail), ABX_OK);
    for (uint64_t family = 0; family < 70; family++) {
        for (uint64_t type = 0; type < 16; type++) {
            for (size_t i = 0; i < N_ELEMENTS(protocols); i++) {
                const uint64_t args[6] = { family, type, protocols[i] };
                const uint64_t more[6] = { family, type | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    protocols[i] };

                check(&plan, &filter, SYS_socket, args);
                check(&plan, &filter, SYS_socket, more);
                check(&plan, &filter, SYS_socketpair, args);
                check(&plan, &filter, SYS_socketpair, more);
            }
        }
    }
    vec_done(&filter);
}
END_TEST

/* The kernel takes the low 32 bits of an int; a filter that compares 64 lets these through. */
static const struct trap {
    const char *name;
    int number;
    uint64_t args[6];
} traps[] = {
    { "a packet socket", SYS_socket, { 17 | HIGH, 3, 0 } },
    { "a packet socket, garbage in all high halves", SYS_socket, { 17 | HIGH, 3 | HIGH, HIGH } },
    { "a raw socket", SYS_socket, { AF_INET, SOCK_RAW | HIGH, 1 } },
    { "a netlink audit socket", SYS_socket, { AF_NETLINK, SOCK_RAW, 9 | HIGH } },
    { "a netlink audit socket by family", SYS_socket, { AF_NETLINK | HIGH, SOCK_RAW, 9 } },
    { "a datagram pair", SYS_socketpair, { AF_UNIX | HIGH, SOCK_DGRAM | HIGH, 0 } },
    { "an SCTP socket", SYS_socket, { AF_INET | HIGH, SOCK_STREAM, IPPROTO_SCTP | HIGH } },
    { "terminal input", SYS_ioctl, { 0, TIOCSTI | HIGH } },
    { "a lease", SYS_fcntl, { 0, F_SETLEASE | HIGH, F_WRLCK } },
    { "attributes of chattr", SYS_ioctl, { 0, FS_IOC_SETFLAGS | HIGH } },
    { "the virtual console", SYS_ioctl, { 0, TIOCLINUX | (HIGH << 31) } },
    { "a user namespace", SYS_clone, { CLONE_NEWUSER | HIGH } },
    { "fast open", SYS_sendmsg, { 3, 0, MSG_FASTOPEN | HIGH } },
    { "an open for writing", SYS_openat, { 0, 0, O_WRONLY | HIGH } },
};

START_TEST(the_broker_is_told_of_every_socket_and_refuses_the_same_ones)
{
    for (uint64_t family = 0; family < 70; family++) {
        for (uint64_t type = 0; type < 16; type++) {
            for (uint64_t protocol = 0; protocol < 300; protocol++) {
                const uint64_t args[6] = { family | HIGH, type | SOCK_CLOEXEC | HIGH,
                    protocol | HIGH };
                const bool allowed = socket_allowed(family, type, protocol);

                MUST(call_gives_socket(SYS_socket, args) == allowed, "socket %lu %lu %lu", family,
                        type, protocol);
                MUST(call_gives_socket(SYS_socketpair, args) == (allowed && family == AF_UNIX),
                        "pair %lu %lu %lu", family, type, protocol);
                MUST((call_rule_find(SYS_socket, args) == NULL) == allowed, "row %lu %lu", family,
                        type);
            }
        }
    }
}
END_TEST

START_TEST(bits_above_an_int_open_no_way_past_the_filter)
{
    const struct trap *trap = &traps[_i];
    struct plan plan = make_plan(17);
    struct seccomp_data data = { .nr = trap->number, .arch = NATIVE };
    struct vec filter;
    struct fail fail = { 0 };

    ck_assert_int_eq(filter_build(&plan, &filter, &fail), ABX_OK);
    for (int i = 0; i < 6; i++) {
        data.args[i] = trap->args[i];
    }
    ck_assert_msg(evaluate(&filter, &data) == SECCOMP_RET_USER_NOTIF, "%s", trap->name);
    vec_done(&filter);
}
END_TEST

START_TEST(foreign_abis_are_killed)
{
    static const uint32_t foreign[] = {
        AUDIT_ARCH_I386,
        AUDIT_ARCH_ARM,
        AUDIT_ARCH_RISCV64,
        0,
#if defined(__x86_64__)
        AUDIT_ARCH_AARCH64
#else
        AUDIT_ARCH_X86_64
#endif
    };
    struct plan plan = make_plan(_i);
    struct vec filter;
    struct fail fail = { 0 };

    ck_assert_int_eq(filter_build(&plan, &filter, &fail), ABX_OK);
    for (int number = 0; number < LAST_CALL; number++) {
        for (size_t i = 0; i < N_ELEMENTS(foreign); i++) {
            const struct seccomp_data data = { .nr = number, .arch = foreign[i] };

            MUST(evaluate(&filter, &data) == SECCOMP_RET_KILL_PROCESS, "call %d", number);
        }
#if defined(__x86_64__)
        const struct seccomp_data x32 = { .nr = number | 0x40000000, .arch = NATIVE };

        MUST(evaluate(&filter, &x32) == SECCOMP_RET_KILL_PROCESS, "x32 call %d", number);
#endif
    }
    vec_done(&filter);
}
END_TEST

START_TEST(a_call_that_is_notified_has_a_row_that_names_it)
{
    struct plan plan = make_plan(_i);
    struct vec filter;
    struct fail fail = { 0 };

    ck_assert_int_eq(filter_build(&plan, &filter, &fail), ABX_OK);
    for (int number = 0; number < LAST_CALL; number++) {
        for (size_t i = 0; i < N_ELEMENTS(values); i++) {
            const uint64_t v = values[i];
            const struct seccomp_data data = {
                .nr = number, .arch = NATIVE, .args = { v, v, v, v, v, v }
            };
            const uint64_t args[6] = { v, v, v, v, v, v };

            if (evaluate(&filter, &data) != SECCOMP_RET_ALLOW && number != SYS_socket &&
                    number != SYS_socketpair) {
                const struct call_rule *rule = call_rule_find(number, args);

                MUST(rule != NULL && rule->name[0] != 0, "call %d", number);
            }
        }
    }
    vec_done(&filter);
}
END_TEST

START_TEST(the_program_is_small_since_each_command_loads_it)
{
    struct plan plan = make_plan(_i);
    struct vec filter;
    struct fail fail = { 0 };

    ck_assert_int_eq(filter_build(&plan, &filter, &fail), ABX_OK);
    /* Without a broker it has the kinds of sockets in it. */
    ck_assert_uint_le(filter.count, (plan.capabilities.seccomp_notify ? 250 : 346) +
                                            (plan.capabilities.pid_namespace ? 0 : 50));
    vec_done(&filter);
}
END_TEST

START_TEST(the_dump_names_call_action_and_condition)
{
    struct plan plan = make_plan(1);
    char *text = filter_dump(&plan);

    ck_assert_ptr_nonnull(strstr(text, "openat: notify if arg2 & 0x1 == 0x1\n"));
    ck_assert_ptr_nonnull(strstr(text, "clone3: ENOSYS\n"));
    ck_assert_ptr_nonnull(strstr(text, "sendto: notify if arg4 != 0\n"));
    free(text);
    plan = make_plan(0);
    text = filter_dump(&plan);
    ck_assert_ptr_nonnull(strstr(text, "ptrace: EPERM\n"));
    ck_assert_ptr_null(strstr(text, ": notify"));
    free(text);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("filter");
    TCase *tcase = tcase_create("filter");

    tcase_set_timeout(tcase, 30);
    tcase_add_loop_test(
            tcase, every_call_with_interesting_arguments_is_treated_as_documented, 0, PLANS);
    tcase_add_loop_test(tcase, only_listed_kinds_of_sockets_pass, 0, PLANS);
    tcase_add_test(tcase, the_broker_is_told_of_every_socket_and_refuses_the_same_ones);
    tcase_add_loop_test(tcase, bits_above_an_int_open_no_way_past_the_filter, 0, N_ELEMENTS(traps));
    tcase_add_loop_test(tcase, foreign_abis_are_killed, 0, PLANS);
    tcase_add_loop_test(tcase, a_call_that_is_notified_has_a_row_that_names_it, 0, PLANS);
    tcase_add_loop_test(tcase, the_program_is_small_since_each_command_loads_it, 0, PLANS);
    tcase_add_test(tcase, the_dump_names_call_action_and_condition);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
