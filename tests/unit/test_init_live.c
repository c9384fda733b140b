/* SPDX-License-Identifier: Apache-2.0
 * The program in the box, really started, runs commands: their view, rights, exit, terminal, and
 * how they are ended. */
#include "unit/init_box.h"

static const struct script_case {
    const char *script, *output;
    int status;
} script_cases[] = {
    { "true", "", 0 },
    { "exit 7", "", 7 },
    { "kill -9 $$", "", 137 },
    { "echo $$; hostname", NULL, 0 },
    { "pwd; cat file", "/tmp\ncontent\n", 0 },
    { "ls /proc/self/fd | wc -l", "4\n", 0 },
    { "grep -c 'Cap.*:.0000000000000000$' /proc/self/status", "5\n", 0 },
    { "grep NoNewPrivs /proc/self/status | tr -dc 0-9", "1", 0 },
    { "grep -E '^Sig(Blk|Ign)' /proc/self/status | tr -dc 1-9", "", 0 },
    { "touch /new /etc/new 2>/dev/null || echo no", "no\n", 0 },
    { "echo x >/dev/null && touch /tmp/new && echo yes", "yes\n", 0 },
    { "ls /proc | grep -c '^[0-9]'", NULL, 0 },
    { "kill -9 1; cat /proc/1/maps; ls /proc/1/fd; echo still", NULL, 0 },
    { "exec nothing-of-this-name 2>/dev/null", "", 127 },
};

START_TEST(commands_run_in_the_box_and_their_exit_is_told)
{
    const struct script_case *c = &script_cases[_i];
    struct box box;
    const char *output;
    int status = -1;

    open_minimal(&box);
    output = run(&box, c->script, &status);
    ck_assert_msg(status == c->status, "%s: %d, %s", c->script, status, output);
    ck_assert_msg(c->output == NULL || strcmp(output, c->output) == 0, "%s: %s", c->script, output);
    end(&box);
}
END_TEST

START_TEST(a_command_that_cannot_start_is_told_with_step_and_errno)
{
    struct box box;
    int out = open("/dev/null", O_WRONLY | O_CLOEXEC);

    open_minimal(&box);
    spawn(&box, 1, (const char *[]){ "/bin/nothing", NULL }, "/", out);
    expect_not_started(&box, 1, START_EXEC, ENOENT);
    spawn(&box, 2, (const char *[]){ "nothing", NULL }, "/", out);
    expect_not_started(&box, 2, START_EXEC, ENOENT);
    spawn(&box, 3, (const char *[]){ "/etc/passwd", NULL }, "/", out);
    expect_not_started(&box, 3, START_EXEC, EACCES);
    spawn(&box, 4, (const char *[]){ "true", NULL }, "/nowhere", out);
    expect_not_started(&box, 4, START_CWD, ENOENT);
    close(out);
    end(&box);
}
END_TEST

/* What a command may do to a seat, as the same user. */
static const struct seat_case {
    const char *script, *output;
    bool is_stale;
} seat_cases[] = {
    { "cat /proc/2/mem /proc/2/environ /proc/2/maps /proc/2/fd/0 2>&1 | sed 's/.*: //'",
            "Permission denied\nPermission denied\nPermission denied\nPermission denied\n", false },
    { "kill -TERM 2", "", true },
    { "kill -USR1 2", "", true },
    { "prlimit --pid 2 --nofile=10:20", "", true },
};

START_TEST(a_seat_is_out_of_reach_and_takes_no_command_when_it_was_touched)
{
    const struct seat_case *c = &seat_cases[_i];
    struct box box;
    struct seat_fds *seat;
    int status = -1;
    int out = open("/dev/null", O_WRONLY | O_CLOEXEC);

    open_minimal(&box);
    seat = prepare(&box, 1, false);
    ck_assert_str_eq(run(&box, c->script, &status), c->output);
    ck_assert_int_eq(status, 0);
    seat_send(seat, (const char *[]){ "sh", "-c", "exit 4", NULL }, "/", out);
    if (c->is_stale) {
        expect_not_started(&box, 1, START_STALE, ESTALE);
    } else {
        expect_started(&box, 1);
    }
    expect(&box, WIRE_EXITED);
    ck_assert_uint_eq(box.message.id, 1);
    ck_assert_int_eq(box.message.value, c->is_stale ? 127 : 4);
    close(out);
    end(&box);
}
END_TEST

START_TEST(a_seat_that_is_not_needed_ends)
{
    struct box box;

    open_minimal(&box);
    close_seat(prepare(&box, 1, false));
    expect(&box, WIRE_EXITED);
    ck_assert_uint_eq(box.message.id, 1);
    ck_assert_int_eq(box.message.value, 0);
    end(&box);
}
END_TEST

START_TEST(a_terminal_has_its_size_and_is_the_controlling_one)
{
    struct box box;
    char output[256] = { 0 };
    size_t used = 0;

    open_minimal(&box);
    spawn(&box, 9, (const char *[]){ "sh", "-c", "stty size </dev/tty; tty", NULL }, "/", -1);
    expect(&box, WIRE_EXITED);
    for (;;) {
        ssize_t n = read(box.seats[9].master, output + used, sizeof output - 1 - used);

        if (n <= 0) {
            break;
        }
        used += (size_t)n;
    }
    ck_assert_str_eq(output, "33 77\r\n/dev/pts/0\r\n");
    end(&box);
}
END_TEST

START_TEST(killing_reaches_the_whole_session_and_no_other_command)
{
    struct box box;
    int status = -1;
    int out = open("/dev/null", O_WRONLY | O_CLOEXEC);

    open_minimal(&box);
    spawn(&box, 1, (const char *[]){ "sh", "-c", "sleep 1000", NULL }, "/", out);
    expect_started(&box, 1);
    spawn(&box, 2,
            (const char *[]){
                    "sh", "-c", "setsid sleep 1000 & set -m; sleep 1000 & sleep 1000", NULL },
            "/", out);
    expect_started(&box, 2);
    run(&box, "while [ $(pgrep -c sleep) != 4 ]; do sleep 0.01; done", &status);
    send_message(
            &box, &(struct wire_message){ .kind = WIRE_KILL, .id = 2, .value = SIGKILL }, NULL, 0);
    expect(&box, WIRE_EXITED);
    ck_assert_uint_eq(box.message.id, 2);
    ck_assert_int_eq(box.message.value, SIGKILL);
    ck_assert_str_eq(run(&box, "sleep 0.05; pgrep -c sleep", &status), "1\n");
    send_message(
            &box, &(struct wire_message){ .kind = WIRE_KILL, .id = 1, .value = SIGTERM }, NULL, 0);
    expect(&box, WIRE_EXITED);
    ck_assert_uint_eq(box.message.id, 1);
    ck_assert_int_eq(box.message.value, SIGTERM);
    close(out);
    end(&box);
}
END_TEST

START_TEST(killing_reaches_what_is_started_meanwhile)
{
    static const char script[] = "while :; do sleep 0.2 & sh -c 'sleep 0.2 & sleep 0.2' & done";
    struct box box;
    int status = -1;
    int out = open("/dev/null", O_WRONLY | O_CLOEXEC);

    open_minimal(&box);
    spawn(&box, 1, (const char *[]){ "sh", "-c", script, NULL }, "/", out);
    expect_started(&box, 1);
    run(&box, "while [ $(pgrep -c sleep) -lt 20 ]; do sleep 0.01; done", &status);
    send_message(
            &box, &(struct wire_message){ .kind = WIRE_KILL, .id = 1, .value = SIGKILL }, NULL, 0);
    expect(&box, WIRE_EXITED);
    ck_assert_uint_eq(box.message.id, 1);
    ck_assert_str_eq(run(&box, "pgrep -c sleep", &status), "0\n");
    close(out);
    end(&box);
}
END_TEST

START_TEST(a_directory_is_bound_writable_on_request)
{
    char path[] = "/var/tmp/agentbox-init-XXXXXX";
    char inside[64];
    struct wire_message bind = { .kind = WIRE_BIND, .id = 5 };
    struct box box;
    int status = -1;
    char script[128];

    ck_assert_ptr_nonnull(mkdtemp(path));
    snprintf(inside, sizeof inside, "%s/made", path);
    open_minimal(&box);
    ck_assert_int_eq(mkdir(inside, 0755), 0);
    snprintf(bind.path, sizeof bind.path, "%s", inside);
    send_message(&box, &bind, NULL, 0);
    expect(&box, WIRE_BOUND);
    ck_assert_int_eq(box.message.value, 0);
    send_message(&box, &bind, NULL, 0);
    expect(&box, WIRE_BOUND);
    ck_assert_int_eq(box.message.value, EBUSY);
    snprintf(script, sizeof script, "cd %s; touch no 2>/dev/null; touch made/file; ls", path);
    ck_assert_str_eq(run(&box, script, &status), "made\n");
    ck_assert_int_eq(status, 0);
    end(&box);
    snprintf(script, sizeof script, "%s/file", inside);
    ck_assert_int_eq(unlink(script), 0);
    ck_assert_int_eq(rmdir(inside), 0);
    ck_assert_int_eq(rmdir(path), 0);
}
END_TEST

START_TEST(a_step_that_fails_is_named_with_its_errno)
{
    struct program program;
    struct box box;
    const char *strings;

    minimal(&program);
    program_op(&program, OP_BIND, "bind:/nowhere", "/nowhere", ROOT "/mnt");
    finish(&program, &box);
    strings = (char *)box.program + ((struct wire_program *)box.program)->strings;
    expect(&box, WIRE_FAILED);
    ck_assert_str_eq(strings + box.message.step, "bind:/nowhere");
    ck_assert_int_eq(box.message.value, ENOENT);
    end(&box);
}
END_TEST

START_TEST(nothing_is_made_on_a_file_system_of_the_host)
{
    struct program program;
    struct box box;

    minimal(&program);
    program_op(&program, OP_MKDIR, "make:/var/tmp/box", NULL, ROOT "/var/tmp/box")->x = 0755;
    finish(&program, &box);
    expect(&box, WIRE_FAILED);
    ck_assert_int_eq(box.message.value, EXDEV);
    ck_assert_int_eq(access("/var/tmp/box", F_OK), -1);
    end(&box);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("init_live");
    TCase *tcase = tcase_create("init_live");

    tcase_set_timeout(tcase, 30);
    tcase_add_loop_test(tcase, commands_run_in_the_box_and_their_exit_is_told, 0,
            sizeof script_cases / sizeof script_cases[0]);
    tcase_add_test(tcase, a_command_that_cannot_start_is_told_with_step_and_errno);
    tcase_add_loop_test(tcase, a_seat_is_out_of_reach_and_takes_no_command_when_it_was_touched, 0,
            sizeof seat_cases / sizeof seat_cases[0]);
    tcase_add_test(tcase, a_seat_that_is_not_needed_ends);
    tcase_add_test(tcase, a_terminal_has_its_size_and_is_the_controlling_one);
    tcase_add_test(tcase, killing_reaches_the_whole_session_and_no_other_command);
    tcase_add_test(tcase, killing_reaches_what_is_started_meanwhile);
    tcase_add_test(tcase, a_directory_is_bound_writable_on_request);
    tcase_add_test(tcase, a_step_that_fails_is_named_with_its_errno);
    tcase_add_test(tcase, nothing_is_made_on_a_file_system_of_the_host);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
