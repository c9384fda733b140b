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
#define CHILD_PIPE 9
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct init init;

/* ---- a command block ---- */
struct block {
    struct wire_command header;
    uint32_t argv[2], env[2];
    char texts[64];
};

static struct block
make_block(const char *program, uint32_t flags)
{
    struct block block = {
        .header = { .magic = WIRE_MAGIC,
                .version = WIRE_VERSION,
                .size = sizeof block,
                .flags = flags,
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

/* ---- the child ---- */
static void
run_child(void *data)
{
    init_command(&init, data, CHILD_PIPE);
}

static void
start_child(const struct block *block, long n, int n_fds)
{
    struct message message = {
        .wire = { .kind = WIRE_SPAWN, .id = 3 }, .fds = { 4, 5, 6, 5 }, .n_fds = n_fds
    };

    reset();
    fake.fail_at = n;
    fake.error = INJECTED;
    fake.executes = true;
    fake.blocks[4] = block;
    fake.block_sizes[4] = sizeof *block;
    fake_run(run_child, &message);
}

/* In which step a failing call belongs. */
static const struct step_case {
    long number;
    int step;
} pipe_steps[] = {
    { SYS_fcntl, START_BLOCK },
    { SYS_lseek, START_BLOCK },
    { SYS_mmap, START_BLOCK },
    { SYS_setsid, START_SESSION },
    { SYS_dup3, START_STDIO },
    { SYS_close_range, START_STDIO },
    { SYS_chdir, START_CWD },
    { SYS_prlimit64, START_LIMITS },
    { SYS_capget, START_CAPABILITIES },
    { SYS_capset, START_CAPABILITIES },
    { SYS_prctl, START_CAPABILITIES },
    { SYS_landlock_restrict_self, START_LANDLOCK },
    { SYS_seccomp, START_SECCOMP },
    { SYS_sendmsg, START_LISTENER },
    { SYS_execve, START_EXEC },
    /* with a terminal */
    { SYS_openat, START_TERMINAL },
    { SYS_ioctl, START_TERMINAL },
};

static int
step_of_failed(void)
{
    for (size_t i = 0; i < COUNT(pipe_steps); i++) {
        if (pipe_steps[i].number == fake.failed) {
            return pipe_steps[i].step;
        }
    }
    return 0;
}

START_TEST(every_call_of_a_starting_command_that_fails_is_reported_with_step_and_errno)
{
    const struct block block = make_block("/bin/true", _i == 1 ? WIRE_COMMAND_PTY : 0);
    long n = 0;

    for (;; n++) {
        int step;

        start_child(&block, n, _i == 1 ? 1 : 4);
        fake_done(0);
        if (fake.failed < 0) {
            break;
        }
        step = step_of_failed();
        if (step == 0) {
            ck_assert_msg(fake.failed == SYS_umask || fake.failed == SYS_rt_sigprocmask ||
                                  fake.failed == SYS_close,
                    "number %ld", fake.failed);
            ck_assert_int_eq(fake.exit_status, -1);
            continue;
        }
        if (_i == 1 && fake.failed == SYS_sendmsg && fake.n_outbox == 0) {
            step = START_TERMINAL;
        }
        ck_assert_int_eq(fake.exit_status, 127);
        ck_assert_msg(fake.has_report && fake.report[0] == step && fake.report[1] == INJECTED,
                "number %ld: step %d, errno %d", fake.failed, fake.report[0], fake.report[1]);
        ck_assert_ptr_null(fake.executed);
    }
    ck_assert_int_gt(n, 20);
    ck_assert_str_eq(fake.executed, "/bin/true");
}
END_TEST

START_TEST(nothing_is_executed_before_the_last_layer_is_on)
{
    static const long order[] = { SYS_setsid, SYS_dup3, SYS_close_range, SYS_chdir, SYS_prlimit64,
        SYS_capset, SYS_prctl, SYS_landlock_restrict_self, SYS_rt_sigprocmask, SYS_seccomp,
        SYS_sendmsg, SYS_execve };
    const struct block block = make_block("/bin/true", 0);

    start_child(&block, -1, 4);
    for (size_t i = 1; i < COUNT(order); i++) {
        ck_assert_int_ge(fake_find(order[i - 1]), 0);
        ck_assert_msg(fake_find(order[i - 1]) < fake_find(order[i]), "place %zu", i);
    }
    ck_assert_uint_eq(fake.outbox[0].wire.kind, WIRE_LISTENER);
    ck_assert_uint_eq(fake.outbox[0].wire.id, 3);
    ck_assert_int_eq(fake.outbox[0].n_fds, 1);
    fake_done(0);
}
END_TEST

START_TEST(a_program_without_a_slash_is_looked_for_in_the_commands_own_path)
{
    const struct block block = make_block("name", 0);

    start_child(&block, -1, 4);
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
    struct block block = make_block("/bin/true", 0);

    memcpy((char *)&block + c->offset, &c->value, sizeof c->value);
    start_child(&block, -1, 4);
    ck_assert_msg(fake.report[0] == START_BLOCK && fake.report[1] == EBADMSG, "%s", c->name);
    fake_done(0);
}
END_TEST

START_TEST(texts_outside_a_command_block_are_empty)
{
    struct block block = make_block("/bin/true", 0);

    block.argv[1] = block.env[0] = UINT32_MAX;
    block.header.cwd = sizeof block;
    start_child(&block, -1, 4);
    ck_assert_int_eq(fake.exit_status, -1);
    fake_done(0);
}
END_TEST

START_TEST(missing_descriptors_are_refused)
{
    const struct block block = make_block("/bin/true", 0);

    start_child(&block, -1, _i);
    ck_assert_int_eq(fake.report[0], _i == 0 ? START_BLOCK : START_STDIO);
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

START_TEST(a_start_that_fails_in_init_is_reported_and_leaves_no_descriptor)
{
    static const struct fake_message inbox = {
        .wire = { .kind = WIRE_SPAWN, .id = 4 }, .size = WIRE_MESSAGE_BASE, .n_fds = 4
    };
    static const uint64_t events[] = { CONTROL };
    const struct serving serving = { &inbox, 1, events, 1 };
    static const long starting[] = { SYS_pipe2, SYS_epoll_ctl, SYS_clone };

    for (size_t i = 0; i < COUNT(starting); i++) {
        long n;

        serve(&serving, -1, 0);
        for (n = fake.calls - 1; fake.log[n] != starting[i]; n--) {
        }
        fake_done(0);
        serve(&serving, n, INJECTED);
        ck_assert_int_eq(fake.exit_status, -2);
        ck_assert(was_sent(WIRE_NOT_STARTED, INJECTED, START_FORK));
        ck_assert_uint_eq(init.commands[0].state, COMMAND_FREE);
        ck_assert_int_eq(fake_done(2), 0); /* epoll, signalfd */
        ck_assert(!fake.closed_twice);
    }
}
END_TEST

static int
count_calls(long number)
{
    int count = 0;

    for (long i = 0; i < fake.calls; i++) {
        count += fake.log[i] == number;
    }
    return count;
}

START_TEST(started_is_told_before_exited_whichever_is_seen_first)
{
    static const struct fake_message inbox = {
        .wire = { .kind = WIRE_SPAWN, .id = 4 }, .size = WIRE_MESSAGE_BASE, .n_fds = 4
    };
    static const uint64_t events[2][3] = { { CONTROL, CHILDREN, FIRST_COMMAND },
        { CONTROL, FIRST_COMMAND, CHILDREN } };
    static const struct fake_child children[] = { { 55, 0 }, { 100, 7 << 8 } };
    const struct serving serving = { &inbox, 1, events[_i], 3 };

    reset();
    fake.children = children;
    fake.n_children = COUNT(children);
    fake.inbox = serving.inbox;
    fake.n_inbox = 1;
    fake.events = serving.events;
    fake.n_events = 3;
    fake_run(run_serve, NULL);
    ck_assert_uint_eq(fake.n_outbox, 2);
    ck_assert_uint_eq(fake.outbox[0].wire.kind, WIRE_STARTED);
    ck_assert_int_eq(fake.outbox[0].n_fds, 1);
    ck_assert_uint_eq(fake.outbox[1].wire.kind, WIRE_EXITED);
    ck_assert_uint_eq(fake.outbox[1].wire.id, 4);
    ck_assert_int_eq(fake.outbox[1].wire.value, 7);
    ck_assert_uint_eq(fake.outbox[1].wire.mask, CLD_EXITED);
    ck_assert_int_eq(
            count_calls(SYS_epoll_ctl), 5); /* socket, children, host, pipe and off again */
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
    init.n_commands = 1;
    init.commands[0] = (struct command_slot){ .id = 1, .pid = 42, .state = COMMAND_RUNNING };
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
            { .wire = { .kind = WIRE_SPAWN }, .size = WIRE_MESSAGE_BASE, .n_fds = 4, .flags = 8 },
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

START_TEST(more_commands_than_fit_are_refused)
{
    static const struct fake_message inbox = {
        .wire = { .kind = WIRE_SPAWN, .id = 4 }, .size = WIRE_MESSAGE_BASE, .n_fds = 4
    };
    static const uint64_t events[] = { CONTROL };

    reset();
    init.n_commands = INIT_COMMANDS;
    for (int i = 0; i < INIT_COMMANDS; i++) {
        init.commands[i].state = COMMAND_RUNNING;
    }
    fake.inbox = &inbox;
    fake.n_inbox = 1;
    fake.events = events;
    fake.n_events = 1;
    fake_run(run_serve, NULL);
    ck_assert(was_sent(WIRE_NOT_STARTED, EAGAIN, START_FORK));
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
    tcase_add_test(tcase, a_program_without_a_slash_is_looked_for_in_the_commands_own_path);
    tcase_add_loop_test(tcase, a_malformed_command_block_is_refused, 0, COUNT(block_cases));
    tcase_add_test(tcase, texts_outside_a_command_block_are_empty);
    tcase_add_loop_test(tcase, missing_descriptors_are_refused, 0, 4);
    tcase_add_test(tcase, a_start_that_fails_in_init_is_reported_and_leaves_no_descriptor);
    tcase_add_loop_test(tcase, started_is_told_before_exited_whichever_is_seen_first, 0, 2);
    tcase_add_loop_test(tcase, exit_statuses_are_told_as_they_are, 0, COUNT(status_cases));
    tcase_add_test(tcase, a_bind_that_fails_is_answered_with_its_errno);
    tcase_add_test(tcase, a_directory_that_is_a_mount_already_is_not_bound);
    tcase_add_loop_test(
            tcase, the_box_ends_when_the_host_does_or_speaks_otherwise, 0, COUNT(end_cases));
    tcase_add_test(tcase, more_commands_than_fit_are_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
