/* SPDX-License-Identifier: Apache-2.0
 * Commands, messages and reaping of the program in the box, against system calls that happen
 * nowhere: the n-th fails, for all n; what is malformed is refused. */
#include "fake_sys.h"
#include "linux/init/init.h"

#include "unit/main.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#define INJECTED EPROTO
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct init init;

/* ---- a command block ---- */
struct block {
    struct wire_command header;
    uint32_t argv[2], env[2];
    char texts[64];
};

static struct block
make_block(const char *program)
{
    struct block block = {
        .header = { .magic = WIRE_MAGIC,
                .version = WIRE_VERSION,
                .size = sizeof block,
                .argc = 2,
                .argv = offsetof(struct block, argv),
                .envc = 2,
                .env = offsetof(struct block, env),
                .cpu_seconds = 5,
                .umask = 022 },
    };
    uint32_t at = offsetof(struct block, texts);
    const char *const texts[] = { program, "one", "A=b", "PATH=/x:/y", "/tmp" };
    uint32_t *const places[] = { &block.argv[0], &block.argv[1], &block.env[0], &block.env[1],
        &block.header.cwd };

    for (size_t i = 0; i < COUNT(texts); i++) {
        *places[i] = at;
        memcpy((char *)&block + at, texts[i], strlen(texts[i]) + 1);
        at += (uint32_t)strlen(texts[i]) + 1;
    }
    block.header.path = block.argv[0];
    return block;
}

static const uint64_t filter[4];

static void
reset(void)
{
    memset(&init, 0, sizeof init);
    fake_reset();
    init.control = WIRE_CONTROL_FD;
    init.pid = 1;
    init.proc = -1;
    init.root = 8;
    init.landlock = 7;
    init.limits[4] = (struct limit){ true, 1, 2 };
    init.program = (const unsigned char *)filter;
    init.header.filter_count = COUNT(filter);
    init.header.filter_flags = WIRE_FILTER_NOTIFY;
}

/* ---- the seat ---- */
static void
run_seat(void *data)
{
    init_seat(&init, data);
}

enum { STREAMS = 3 };

static void
start_seat(const struct block *block, long n, int n_fds, bool has_terminal)
{
    const struct wire_message request = {
        .kind = WIRE_PREPARE, .id = 3, .mask = has_terminal ? WIRE_SEAT_PTY : 0
    };
    const struct fake_message command = {
        .block = block, .block_size = sizeof *block, .n_fds = n_fds
    };

    reset();
    fake.fail_at = n;
    fake.error = INJECTED;
    fake.executes = true;
    fake.inbox = &command;
    fake.n_inbox = block == NULL ? 0 : 1;
    fake_run(run_seat, (void *)(uintptr_t)&request);
}

/* In which step a failing call belongs. */
static const struct step_case {
    long number;
    int step;
} seat_steps[] = {
    { SYS_setsid, START_SESSION },
    { SYS_socketpair, START_LISTENER },
    { SYS_close_range, START_STDIO },
    { SYS_dup3, START_STDIO },
    { SYS_rt_sigpending, START_LIMITS },
    { SYS_prlimit64, START_LIMITS },
    { SYS_capget, START_CAPABILITIES },
    { SYS_capset, START_CAPABILITIES },
    { SYS_prctl, START_CAPABILITIES },
    { SYS_landlock_restrict_self, START_LANDLOCK },
    { SYS_seccomp, START_SECCOMP },
    { SYS_recvmsg, START_BLOCK },
    { SYS_read, START_BLOCK },
    { SYS_mmap, START_BLOCK },
    { SYS_chdir, START_CWD },
    { SYS_execve, START_EXEC },
    /* with a terminal */
    { SYS_openat, START_TERMINAL },
    { SYS_ioctl, START_TERMINAL },
};

static int
step_of_failed(void)
{
    for (size_t i = 0; i < COUNT(seat_steps); i++) {
        if (seat_steps[i].number == fake.failed) {
            return seat_steps[i].step;
        }
    }
    return 0;
}

/* Before the seat is announced a failure is a message of the box, then one of its own. */
static void
expect_told(int step)
{
    const struct wire_message *wire = &fake.outbox[0].wire;

    ck_assert_int_eq(fake.exit_status, 127);
    ck_assert_ptr_null(fake.executed);
    ck_assert_uint_eq(fake.n_outbox, 1);
    if (wire->kind == WIRE_SEAT) {
        ck_assert_msg(fake.has_report && fake.report[0] == step && fake.report[1] == INJECTED,
                "number %ld: step %d, errno %d", fake.failed, fake.report[0], fake.report[1]);
    } else {
        ck_assert_uint_eq(wire->kind, WIRE_NO_SEAT);
        ck_assert_uint_eq(wire->id, 3);
        ck_assert_msg((int)wire->step == step && wire->value == INJECTED && !fake.has_report,
                "number %ld: step %u, errno %d", fake.failed, wire->step, wire->value);
    }
}

START_TEST(every_call_of_a_starting_command_that_fails_is_reported_with_step_and_errno)
{
    const struct block block = make_block("/bin/true");
    long n = 0;

    for (;; n++) {
        int step;

        start_seat(&block, n, _i == 1 ? 0 : STREAMS, _i == 1);
        if (fake.failed < 0) {
            break;
        }
        fake_done(0);
        step = step_of_failed();
        if (step != 0) {
            expect_told(step);
        } else if (fake.failed == SYS_sendmsg) { /* its exit tells that it did not come */
            ck_assert_int_eq(fake.exit_status, 127);
            ck_assert(!fake.has_report && fake.n_outbox == 0);
        } else {
            ck_assert_msg(fake.failed == SYS_umask || fake.failed == SYS_rt_sigprocmask ||
                                  fake.failed == SYS_getpid || fake.failed == SYS_statx,
                    "number %ld", fake.failed);
            ck_assert_int_eq(fake.exit_status, -1);
        }
    }
    ck_assert_int_gt(n, 50);
    ck_assert_str_eq(fake.executed, "/bin/true");
    fake_done(0);
}
END_TEST

START_TEST(nothing_is_executed_before_the_last_layer_is_on)
{
    static const long order[] = { SYS_setsid, SYS_close_range, SYS_prlimit64, SYS_capset, SYS_prctl,
        SYS_landlock_restrict_self, SYS_seccomp, SYS_sendmsg, SYS_dup3, SYS_recvmsg, SYS_chdir,
        SYS_rt_sigprocmask, SYS_execve };
    const struct block block = make_block("/bin/true");

    start_seat(&block, -1, STREAMS, false);
    for (size_t i = 1; i < COUNT(order); i++) {
        ck_assert_int_ge(fake_find(order[i - 1]), 0);
        ck_assert_msg(fake_find(order[i - 1]) < fake_find(order[i]), "place %zu", i);
    }
    ck_assert_uint_eq(fake.outbox[0].wire.kind, WIRE_SEAT);
    ck_assert_uint_eq(fake.outbox[0].wire.id, 3);
    ck_assert_int_eq(fake.outbox[0].n_fds, 2); /* socket, listener */
    fake_done(0);
}
END_TEST

START_TEST(a_seat_without_a_command_ends_quietly)
{
    start_seat(NULL, -1, 0, false);
    ck_assert_int_eq(fake.exit_status, 0);
    ck_assert(!fake.has_report);
    fake_done(0);
}
END_TEST

START_TEST(a_seat_whose_limits_were_changed_takes_no_command)
{
    const struct block block = make_block("/bin/true");
    const struct wire_message request = { .kind = WIRE_PREPARE, .id = 3 };
    const struct fake_message command = {
        .block = &block, .block_size = sizeof block, .n_fds = STREAMS
    };

    reset();
    fake.executes = true;
    fake.inbox = &command;
    fake.n_inbox = 1;
    fake.limit_set_meanwhile = 7;
    fake_run(run_seat, (void *)(uintptr_t)&request);
    ck_assert_int_eq(fake.exit_status, 127);
    ck_assert_int_eq(fake.report[0], START_STALE);
    ck_assert_ptr_null(fake.executed);
    fake_done(0);
}
END_TEST

START_TEST(a_program_without_a_slash_is_looked_for_in_the_commands_own_path)
{
    const struct block block = make_block("name");

    start_seat(&block, -1, STREAMS, false);
    ck_assert_str_eq(fake.executed, "/x/name");
    fake_done(0);
    fake_reset();
}
END_TEST

static const struct block_case {
    const char *name;
    size_t offset; /* of a 32-bit word */
    uint32_t value;
} block_cases[] = {
    { "another magic", offsetof(struct wire_command, magic), 1 },
    { "another version", offsetof(struct wire_command, version), 9 },
    { "another size", offsetof(struct wire_command, size), 8 },
    { "no arguments", offsetof(struct wire_command, argc), 0 },
    { "more arguments than there is room", offsetof(struct wire_command, argc), 1 << 30 },
    { "arguments outside", offsetof(struct wire_command, argv), 1 << 20 },
    { "arguments askew", offsetof(struct wire_command, argv), 81 },
    { "a huge environment", offsetof(struct wire_command, envc), UINT32_MAX },
    { "an environment outside", offsetof(struct wire_command, env), UINT32_MAX - 3 },
};

START_TEST(a_malformed_command_block_is_refused)
{
    const struct block_case *c = &block_cases[_i];
    struct block block = make_block("/bin/true");

    memcpy((char *)&block + c->offset, &c->value, sizeof c->value);
    start_seat(&block, -1, STREAMS, false);
    ck_assert_msg(fake.report[0] == START_BLOCK && fake.report[1] == EBADMSG, "%s", c->name);
    fake_done(0);
}
END_TEST

START_TEST(texts_outside_a_command_block_are_empty)
{
    struct block block = make_block("/bin/true");

    block.argv[1] = block.env[0] = UINT32_MAX;
    block.header.cwd = sizeof block;
    start_seat(&block, -1, STREAMS, false);
    ck_assert_int_eq(fake.exit_status, -1);
    fake_done(0);
}
END_TEST

START_TEST(missing_descriptors_are_refused)
{
    const struct block block = make_block("/bin/true");

    start_seat(&block, -1, _i, false);
    ck_assert_int_eq(fake.report[0], START_STDIO);
    ck_assert_int_eq(fake.report[1], EBADMSG);
    fake_done(0);
}
END_TEST

/* ---- serving ---- */
static void
run_serve(void *data)
{
    init_serve(&init);
}

enum { CONTROL, HOST, CHILDREN, FIRST_COMMAND };

struct serving {
    const struct fake_message *inbox;
    size_t n_inbox;
    const uint64_t *events;
    size_t n_events;
};

static void
serve(const struct serving *serving, long n, int error)
{
    reset();
    fake.fail_at = n;
    fake.error = error;
    fake.inbox = serving->inbox;
    fake.n_inbox = serving->n_inbox;
    fake.events = serving->events;
    fake.n_events = serving->n_events;
    fake_run(run_serve, NULL);
}

#define MESSAGE(...)                                                                               \
    {                                                                                              \
        .wire = { __VA_ARGS__ }, .size = WIRE_MESSAGE_BASE                                         \
    }

static bool
was_sent(uint32_t kind, int32_t value, uint32_t step)
{
    for (size_t i = 0; i < fake.n_outbox; i++) {
        const struct wire_message *wire = &fake.outbox[i].wire;

        if (wire->kind == kind && wire->value == value && wire->step == step) {
            return true;
        }
    }
    return false;
}

static const struct fake_message prepare = { .wire = { .kind = WIRE_PREPARE, .id = 4 },
    .size = WIRE_MESSAGE_BASE };

START_TEST(a_seat_that_cannot_be_made_is_reported)
{
    static const uint64_t events[] = { CONTROL };
    const struct serving serving = { &prepare, 1, events, 1 };
    long n;

    serve(&serving, -1, 0);
    n = fake_find(SYS_clone);
    fake_done(0);
    serve(&serving, n, INJECTED);
    ck_assert_int_eq(fake.exit_status, -2);
    ck_assert(was_sent(WIRE_NO_SEAT, INJECTED, START_FORK));
    ck_assert_int_eq(init.seats[0].pid, 0);
    ck_assert_int_eq(fake_done(2), 0); /* epoll, signalfd */
    ck_assert(!fake.closed_twice);
}
END_TEST

START_TEST(the_exit_of_a_seat_is_told_and_that_of_others_is_not)
{
    static const uint64_t events[] = { CONTROL, CHILDREN };
    static const struct fake_child children[] = { { 55, 0 }, { 100, 7 << 8 } };

    reset();
    fake.children = children;
    fake.n_children = COUNT(children);
    fake.inbox = &prepare;
    fake.n_inbox = 1;
    fake.events = events;
    fake.n_events = COUNT(events);
    fake_run(run_serve, NULL);
    ck_assert_uint_eq(fake.n_outbox, 1);
    ck_assert_uint_eq(fake.outbox[0].wire.kind, WIRE_EXITED);
    ck_assert_uint_eq(fake.outbox[0].wire.id, 4);
    ck_assert_int_eq(fake.outbox[0].wire.value, 7);
    ck_assert_uint_eq(fake.outbox[0].wire.mask, CLD_EXITED);
    ck_assert_int_eq(fake_done(2), 0);
    ck_assert(!fake.closed_twice);
}
END_TEST

static const struct status_case {
    int status;
    int32_t value;
    uint32_t code;
} status_cases[] = {
    { 0, 0, CLD_EXITED },
    { 255 << 8, 255, CLD_EXITED },
    { SIGKILL, SIGKILL, CLD_KILLED },
    { SIGSEGV | 0x80, SIGSEGV, CLD_DUMPED },
};

START_TEST(exit_statuses_are_told_as_they_are)
{
    const struct status_case *c = &status_cases[_i];
    const struct fake_child child = { 42, c->status };
    static const uint64_t events[] = { CHILDREN };

    reset();
    init.n_seats = 1;
    init.seats[0] = (struct seat_slot){ .id = 1, .pid = 42 };
    fake.children = &child;
    fake.n_children = 1;
    fake.events = events;
    fake.n_events = 1;
    fake_run(run_serve, NULL);
    ck_assert_int_eq(fake.outbox[0].wire.value, c->value);
    ck_assert_uint_eq(fake.outbox[0].wire.mask, c->code);
    fake_done(0);
}
END_TEST

START_TEST(a_bind_that_fails_is_answered_with_its_errno)
{
    static const struct fake_message inbox = { .wire = { .kind = WIRE_BIND, .id = 6, .path = "/a" },
        .size = WIRE_MESSAGE_BASE + 3 };
    static const uint64_t events[] = { CONTROL };
    const struct serving serving = { &inbox, 1, events, 1 };
    static const long binding[] = { SYS_openat2, SYS_statx, SYS_open_tree, SYS_mount_setattr,
        SYS_move_mount };

    for (size_t i = 0; i < COUNT(binding); i++) {
        long n;

        serve(&serving, -1, 0);
        ck_assert(was_sent(WIRE_BOUND, 0, 0));
        n = fake_find(binding[i]);
        fake_done(0);
        serve(&serving, n, INJECTED);
        ck_assert(was_sent(WIRE_BOUND, INJECTED, 0));
        ck_assert_int_eq(fake_done(2), 0);
        ck_assert(!fake.closed_twice);
    }
}
END_TEST

START_TEST(a_directory_that_is_a_mount_already_is_not_bound)
{
    static const struct fake_message inbox = { .wire = { .kind = WIRE_BIND, .id = 6, .path = "/a" },
        .size = WIRE_MESSAGE_BASE + 3 };
    static const uint64_t events[] = { CONTROL };

    reset();
    fake.is_mount = true;
    fake.inbox = &inbox;
    fake.n_inbox = 1;
    fake.events = events;
    fake.n_events = 1;
    fake_run(run_serve, NULL);
    ck_assert(was_sent(WIRE_BOUND, EBUSY, 0));
    fake_done(0);
}
END_TEST

static const struct end_case {
    const char *name;
    struct fake_message message;
    uint64_t event;
    int status;
} end_cases[] = {
    { "the socket is closed", { .size = 0 }, CONTROL, 0 },
    { "the host says so", MESSAGE(.kind = WIRE_END), CONTROL, 0 },
    { "the host is gone", { .size = 0 }, HOST, 1 },
    { "a message of another kind", MESSAGE(.kind = WIRE_READY), CONTROL, 1 },
    { "a program again", MESSAGE(.kind = WIRE_PROGRAM), CONTROL, 1 },
    { "a message that is too short", { .size = 8 }, CONTROL, 1 },
    { "a path without end",
            { .wire = { .kind = WIRE_BIND, .path = "/ab" }, .size = WIRE_MESSAGE_BASE + 3 },
            CONTROL, 1 },
    { "a message that was cut",
            { .wire = { .kind = WIRE_BIND }, .size = WIRE_MESSAGE_BASE, .flags = 0x20 }, CONTROL,
            1 },
    { "more descriptors than any message has",
            { .wire = { .kind = WIRE_BIND }, .size = WIRE_MESSAGE_BASE, .n_fds = 4, .flags = 8 },
            CONTROL, 1 },
};

START_TEST(the_box_ends_when_the_host_does_or_speaks_otherwise)
{
    const struct end_case *c = &end_cases[_i];
    const struct serving serving = { &c->message, 1, &c->event, 1 };

    serve(&serving, -1, 0);
    ck_assert_msg(fake.exit_status == c->status, "%s: %d", c->name, fake.exit_status);
    ck_assert_int_eq(fake_done(2), 0);
}
END_TEST

START_TEST(more_seats_than_fit_are_refused)
{
    static const uint64_t events[] = { CONTROL };

    reset();
    init.n_seats = INIT_SEATS;
    for (int i = 0; i < INIT_SEATS; i++) {
        init.seats[i].pid = i + 2;
    }
    fake.inbox = &prepare;
    fake.n_inbox = 1;
    fake.events = events;
    fake.n_events = 1;
    fake_run(run_serve, NULL);
    ck_assert(was_sent(WIRE_NO_SEAT, EAGAIN, START_FORK));
    ck_assert_int_eq(fake_done(2), 0);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("init_commands");
    TCase *tcase = tcase_create("init_commands");

    tcase_add_loop_test(tcase,
            every_call_of_a_starting_command_that_fails_is_reported_with_step_and_errno, 0, 2);
    tcase_add_test(tcase, nothing_is_executed_before_the_last_layer_is_on);
    tcase_add_test(tcase, a_seat_without_a_command_ends_quietly);
    tcase_add_test(tcase, a_seat_whose_limits_were_changed_takes_no_command);
    tcase_add_test(tcase, a_program_without_a_slash_is_looked_for_in_the_commands_own_path);
    tcase_add_loop_test(tcase, a_malformed_command_block_is_refused, 0, COUNT(block_cases));
    tcase_add_test(tcase, texts_outside_a_command_block_are_empty);
    tcase_add_loop_test(tcase, missing_descriptors_are_refused, 0, STREAMS);
    tcase_add_test(tcase, a_seat_that_cannot_be_made_is_reported);
    tcase_add_test(tcase, the_exit_of_a_seat_is_told_and_that_of_others_is_not);
    tcase_add_loop_test(tcase, exit_statuses_are_told_as_they_are, 0, COUNT(status_cases));
    tcase_add_test(tcase, a_bind_that_fails_is_answered_with_its_errno);
    tcase_add_test(tcase, a_directory_that_is_a_mount_already_is_not_bound);
    tcase_add_loop_test(
            tcase, the_box_ends_when_the_host_does_or_speaks_otherwise, 0, COUNT(end_cases));
    tcase_add_test(tcase, more_seats_than_fit_are_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
