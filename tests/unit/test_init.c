/* SPDX-License-Identifier: Apache-2.0
 * The program in the box against system calls that happen nowhere, the n-th of which fails, for all
 * n: the report names step and errno, and nothing goes on. */
#include "fake_sys.h"
#include "linux/init/init.h"
#include "plan/program.h"

#include "unit/main.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <arpa/inet.h>

#define INJECTED EPROTO /* no call of init takes it for anything but a failure */

static struct init init;

static void
add(struct program *program, uint16_t code, const char *a, const char *b, uint64_t x, uint64_t y)
{
    char step[32];
    struct wire_op *op;

    snprintf(step, sizeof step, "step:%u-%zu", code, program->ops.count);
    op = program_op(program, code, step, a, b);
    op->x = x;
    op->y = y;
}

static void
number_a(struct program *program, uint32_t a, uint16_t flags)
{
    struct wire_op *op = vec_at(&program->ops, struct wire_op, program->ops.count - 1);

    op->a = a != 0 ? a : op->a;
    op->flags = flags;
}

/* Every operation; `optional` may fail. */
static void
add_all(struct program *program)
{
    add(program, OP_WRITE_MAPS, "0 0 1\n", "0 0 1\n", 0, 0);
    number_a(program, 0, OPF_DENY_SETGROUPS);
    add(program, OP_ROOT_TMPFS, NULL, NULL, 0755, 0);
    add(program, OP_BIND, "/", "/usr", 1, 0);
    number_a(program, 0, OPF_RECURSIVE);
    add(program, OP_BIND, "/usr", "/opt", 1, 0);
    number_a(program, 0, OPF_FROM_BOX);
    add(program, OP_TMPFS, NULL, "/tmp", 01777, 4096);
    add(program, OP_PROC, NULL, "/proc", 0, 0);
    number_a(program, 0, OPF_OPTIONAL);
    add(program, OP_DEVPTS, NULL, "/dev/pts", 0, 0);
    add(program, OP_MKDIR, NULL, "/tmp/a", 0755, 0);
    add(program, OP_FILE, "text", "/tmp/b", 0644, 4);
    add(program, OP_SYMLINK, "b", "/tmp/c", 0, 0);
    add(program, OP_STAND_IN, NULL, "/tmp/d", 0, 0);
    add(program, OP_REMOUNT, NULL, "/usr", 1, 0);
    add(program, OP_FUSE, NULL, "/mnt", 0, 0);
    add(program, OP_DEVICE, "/dev/null", "/dev/null", 0, 0);
    add(program, OP_WRITE, "1", "/proc/sys/kernel/pid_max", 0, 0);
    add(program, OP_PIVOT, NULL, "/usr", 0, 0);
    add(program, OP_HOSTNAME, "box", NULL, 0, 0);
    add(program, OP_SESSION, NULL, NULL, 0, 0);
    add(program, OP_RLIMIT, NULL, NULL, 0, 0);
    number_a(program, 4, 0);
    add(program, OP_LOOPBACK_UP, NULL, NULL, 0, 0);
    add(program, OP_SOCKET, NULL, "127.0.0.53", 53, 0);
    number_a(program, 2, 0);
    add(program, OP_SOCKET, NULL, "::1", 53, 0);
    number_a(program, 1, 0);
    add(program, OP_GATEWAY, NULL, NULL, 0, 0);
    add(program, OP_WATCH, NULL, NULL, 0, 0);
    add(program, OP_DROP_CAPABILITIES, NULL, NULL, 1, 0);
    add(program, OP_LANDLOCK, NULL, NULL, 7, 1);
    number_a(program, 1, 0);
    add(program, OP_LANDLOCK_PATH, NULL, "/", 7, 0);
    add(program, OP_LANDLOCK_SELF, NULL, NULL, 0, 0);
    add(program, OP_READY, NULL, NULL, 0, 0);
}

struct bytes {
    void *data;
    size_t size;
};

static struct bytes
all_operations(void)
{
    struct program program;
    struct fail fail = { 0 };
    struct bytes bytes = { 0 };

    program_init(&program);
    add_all(&program);
    ck_assert_msg(
            program_finish(&program, &bytes.data, &bytes.size, &fail) == ABX_OK, "%s", fail.text);
    program_done(&program);
    return bytes;
}

static void
run_init(void *data)
{
    *(int *)data = init_run(&init);
}

/* Runs the program while the n-th call fails; what init_run gave, or -1 if the process ended. */
static int
run_program(const struct bytes *bytes, long n, int error)
{
    const struct fake_message inbox = { .wire = { .kind = WIRE_PROGRAM },
        .size = WIRE_MESSAGE_BASE,
        .block = bytes->data,
        .block_size = bytes->size,
        .n_fds = 2 };
    int r = -1;

    bool is_foreign = fake.is_foreign;

    memset(&init, 0, sizeof init);
    fake_reset();
    fake.is_foreign = is_foreign;
    fake.fail_at = n;
    fake.error = error;
    fake.inbox = &inbox;
    fake.n_inbox = 1;
    fake.watch = &init.step;
    fake_run(run_init, &r);
    return r;
}

static bool
is_any(long number, const long *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (numbers[i] == number) {
            return true;
        }
    }
    return false;
}

/* Calls that cannot fail, or whose failure takes nothing away. */
static const long without_effect[] = { SYS_close, SYS_munmap, SYS_rt_sigprocmask, SYS_rt_sigaction,
    SYS_umask, SYS_getpid, SYS_geteuid, SYS_getegid };
static const long after_failure[] = { SYS_close, SYS_munmap, SYS_sendmsg, SYS_setns };
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct wire_message *
last_message(void)
{
    ck_assert_uint_gt(fake.n_outbox, 0);
    return &fake.outbox[fake.n_outbox - 1].wire;
}

static void
check_failed(int r, long n, uint32_t optional_step)
{
    if (fake.failed == SYS_ppoll) {
        ck_assert_int_eq(fake.exit_status, 1);
        ck_assert_uint_eq(fake.n_outbox, 0);
        return;
    }
    if (is_any(fake.failed, without_effect, COUNT(without_effect))) {
        ck_assert_msg(r == 0 && last_message()->kind == WIRE_READY, "call %ld", n);
        return;
    }
    if (fake.failed_step == optional_step) {
        ck_assert_msg(r == 0 && last_message()->kind == WIRE_READY && last_message()->mask == 1,
                "call %ld", n);
        return;
    }
    ck_assert_msg(r == INJECTED, "call %ld, number %ld: %d", n, fake.failed, r);
    ck_assert_uint_eq(last_message()->kind, WIRE_FAILED);
    ck_assert_int_eq(last_message()->value, INJECTED);
    ck_assert_uint_eq(last_message()->step, fake.failed_step);
    for (long i = n + 1; i < fake.calls; i++) {
        ck_assert_msg(is_any(fake.log[i], after_failure, COUNT(after_failure)),
                "call %ld failed, and %ld was done", n, fake.log[i]);
    }
}

static uint32_t
step_of(const struct bytes *bytes, uint16_t code)
{
    const struct wire_program *header = bytes->data;
    const struct wire_op *ops = (void *)((char *)bytes->data + header->ops);

    for (uint32_t i = 0; i < header->n_ops; i++) {
        if (ops[i].code == code) {
            return ops[i].step;
        }
    }
    return 0;
}

START_TEST(every_call_that_fails_is_reported_with_step_and_errno)
{
    struct bytes bytes = all_operations();
    uint32_t optional_step = step_of(&bytes, OP_PROC);
    long n = 0;

    for (;; n++) {
        int r = run_program(&bytes, n, INJECTED);

        if (fake.failed < 0) {
            break;
        }
        check_failed(r, n, optional_step);
        fake_done(0);
    }
    ck_assert_int_gt(n, 300);
    free(bytes.data);
}
END_TEST

START_TEST(a_program_that_works_leaves_only_the_descriptors_that_serve)
{
    struct bytes bytes = all_operations();

    ck_assert_int_eq(run_program(&bytes, -1, 0), 0);
    ck_assert_uint_eq(last_message()->kind, WIRE_READY);
    ck_assert_uint_eq(last_message()->mask, 0);
    ck_assert_int_eq(init.old_root, -1);
    ck_assert_int_eq(init.whole, -1);
    /* root, pidfd of the host, proc, ruleset, two networks */
    ck_assert_int_eq(fake_done(6), 0);
    ck_assert(!fake.closed_twice);
    free(bytes.data);
}
END_TEST

static const struct tolerated_case {
    const char *name;
    long number;
    int error;
} tolerated_cases[] = {
    { "there is no keyring to leave", SYS_keyctl, ENOSYS },
    { "a directory that exists is fine", SYS_mkdirat, EEXIST },
    { "an interrupted report is sent again", SYS_sendmsg, EINTR },
    { "a look-up disturbed by a rename is done again", SYS_openat2, EAGAIN },
};

START_TEST(what_is_no_failure_is_none)
{
    const struct tolerated_case *c = &tolerated_cases[_i];
    struct bytes bytes = all_operations();
    long n;

    run_program(&bytes, -1, 0);
    n = fake_find(c->number);
    fake_done(0);
    ck_assert_int_ge(n, 0);
    ck_assert_msg(run_program(&bytes, n, c->error) == 0, "%s", c->name);
    ck_assert_int_eq(fake.failed, c->number);
    ck_assert_uint_eq(last_message()->mask, 0);
    fake_done(0);
    free(bytes.data);
}
END_TEST

START_TEST(nothing_is_made_on_a_file_system_that_is_not_the_boxs)
{
    struct bytes bytes = all_operations();

    fake.is_foreign = true;
    ck_assert_int_eq(run_program(&bytes, -1, 0), EXDEV);
    ck_assert_uint_eq(last_message()->step, step_of(&bytes, OP_MKDIR));
    ck_assert_int_eq(fake_find(SYS_mkdirat), -1);
    fake_done(0);
    free(bytes.data);
}
END_TEST

static const struct address_case {
    const char *text, *canonical; /* NULL: refused */
} address_cases[] = {
    { "127.0.0.53", "127.0.0.53" },
    { "255.255.255.255", "255.255.255.255" },
    { "256.0.0.1", NULL },
    { "1.2.3", NULL },
    { "1.2.3.4.5", NULL },
    { "1.2.3.4x", NULL },
    { "", NULL },
    { "::", "::" },
    { "::1", "::1" },
    { "fe80::1:2", "fe80::1:2" },
    { "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8" },
    { "1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0" },
    { "1:2:3:4:5:6:7", NULL },
    { "1:2:3:4:5:6:7:8:9", NULL },
    { "1::2::3", NULL },
    { ":1", NULL },
    { "1:", NULL },
    { "12345::", NULL },
    { "g::", NULL },
};

START_TEST(addresses_are_read_as_written_or_refused)
{
    const struct address_case *c = &address_cases[_i];
    const struct wire_op op = { .code = OP_SOCKET, .a = 1, .b = 1, .x = 53 };
    char strings[64] = { 0 };
    char text[INET6_ADDRSTRLEN];
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    int r;

    memset(&init, 0, sizeof init);
    fake_reset();
    snprintf(strings + 1, sizeof strings - 1, "%s", c->text);
    init.strings = strings;
    init.header.strings_size = sizeof strings;
    r = op_socket(&init, &op);
    if (c->canonical == NULL) {
        ck_assert_msg(r == -EINVAL, "%s", c->text);
        return;
    }
    ck_assert_msg(r == 0, "%s", c->text);
    memcpy(&v4, fake.address, sizeof v4);
    memcpy(&v6, fake.address, sizeof v6);
    if (v4.sin_family == AF_INET) {
        inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    } else {
        inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    }
    ck_assert_str_eq(text, c->canonical);
    ck_assert_int_eq(ntohs(v4.sin_port), 53);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("init");
    TCase *tcase = tcase_create("init");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, every_call_that_fails_is_reported_with_step_and_errno);
    tcase_add_test(tcase, a_program_that_works_leaves_only_the_descriptors_that_serve);
    tcase_add_loop_test(tcase, what_is_no_failure_is_none, 0, COUNT(tolerated_cases));
    tcase_add_test(tcase, nothing_is_made_on_a_file_system_that_is_not_the_boxs);
    tcase_add_loop_test(tcase, addresses_are_read_as_written_or_refused, 0, COUNT(address_cases));
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
