/* SPDX-License-Identifier: Apache-2.0
 * Stands between the program in the box and the kernel (-Wl,--wrap=sys_call): of all processes of a
 * box together the n-th call fails.  What is counted is in a file that the test shares. */
#include "failing_init.h"

#include "linux/init/sys.h"

long __real_sys_call(long number, long a, long b, long c, long d, long e, long f);
long __wrap_sys_call(long number, long a, long b, long c, long d, long e, long f);

/* The test writes the path of the file behind the mark. */
static const volatile char shared_path[FAILING_INIT_PATH] = FAILING_INIT_MARK;
static struct failing_init *shared;

static void
share(void)
{
    const long fd = __real_sys_call(__NR_openat, AT_FDCWD,
            (long)(shared_path + sizeof FAILING_INIT_MARK - 1), O_RDWR, 0, 0, 0);
    const long at = __real_sys_call(
            __NR_mmap, 0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (fd < 0 || at < 0) {
        __real_sys_call(__NR_exit_group, 3, 0, 0, 0, 0, 0);
    }
    shared = (struct failing_init *)at;
    __real_sys_call(__NR_close, fd, 0, 0, 0, 0, 0);
}

/* What cannot fail as it is used, or whose failure takes nothing away. */
static bool
cannot_fail(long number)
{
    static const long numbers[] = { __NR_close, __NR_munmap, __NR_rt_sigprocmask, __NR_rt_sigaction,
        __NR_umask, __NR_getpid, __NR_geteuid, __NR_getegid, __NR_wait4, __NR_kill,
        __NR_pidfd_send_signal, __NR_exit, __NR_exit_group };

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (numbers[i] == number) {
            return true;
        }
    }
    return false;
}

long
__wrap_sys_call(long number, long a, long b, long c, long d, long e, long f)
{
    if (shared == NULL) {
        share();
    }
    if (!cannot_fail(number) &&
            __atomic_add_fetch(&shared->calls, 1, __ATOMIC_SEQ_CST) == shared->fail_at) {
        return -EPROTO;
    }
    return __real_sys_call(number, a, b, c, d, e, f);
}
