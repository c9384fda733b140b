/* SPDX-License-Identifier: Apache-2.0
 * Real boxes with a broker made here: what opening, starting, ending and failing leave and tell. */
#include "live/box.h"

#include "base/mem.h"
#include "linux/boundary.h"
#include "unit/main.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct box box;
static char workspace[64];
static char policy[1024];
static unsigned int fds_before;

static void
start(void)
{
    snprintf(workspace, sizeof workspace, "/var/tmp/agentbox-boundary-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(workspace));
    snprintf(policy, sizeof policy,
            "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]},"
            "\"write\":{\"allow\":[\"%s\",\"/tmp\"],\"ask\":[\"/var/asked\"]}}}",
            workspace);
    box_start(&box);
}

static void
open_box(void)
{
    abx_status r = box_open(&box, policy);

    ck_assert_msg(r == ABX_OK, "%s: %s (%s)", box.fail.step, box.fail.text, box.fail.remedy);
}

static void
end(void)
{
    box_close(&box);
    box_stop(&box);
    ck_assert_int_eq(rmdir(workspace), 0);
}

START_TEST(a_command_runs_and_its_exit_and_output_are_told)
{
    struct exit_status status;
    char *output;

    open_box();
    output = box_run(&box, 1, "echo hello; exit 7", &status);
    ck_assert_str_eq(output, "hello\n");
    ck_assert_uint_eq(status.reason, ABX_EXIT_CODE);
    ck_assert_int_eq(status.code, 7);
    free(output);
    output = box_run(&box, 2, "kill -TERM $$", &status);
    ck_assert_uint_eq(status.reason, ABX_EXIT_SIGNAL);
    ck_assert_int_eq(status.code, SIGTERM);
    free(output);
}
END_TEST

START_TEST(opening_and_closing_gives_every_descriptor_back)
{
    struct exit_status status;

    for (int i = 0; i < 3; i++) {
        open_box();
        free(box_run(&box, 1, "sleep 1000 >/dev/null 2>&1 & exit 0", &status));
        box_close(&box);
        box.n_exits = 0;
        if (i == 0) {
            fds_before = box_count_fds();
        }
        ck_assert_uint_eq(box_count_fds(), fds_before);
    }
    ck_assert_int_eq(waitpid(-1, NULL, __WALL | WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
}
END_TEST

START_TEST(the_host_stays_dumpable_and_its_signals_unblocked)
{
    sigset_t mask;

    open_box();
    ck_assert_int_eq(prctl(PR_GET_DUMPABLE), 1);
    ck_assert_int_eq(sigprocmask(SIG_SETMASK, NULL, &mask), 0);
    ck_assert(!sigismember(&mask, SIGINT));
}
END_TEST

START_TEST(a_program_that_does_not_exist_is_an_exec_error_with_its_errno)
{
    const char *const argv[] = { "/nonexistent", NULL };

    open_box();
    ck_assert_int_eq(box_spawn(&box, 1, argv), -1);
    ck_assert_int_eq(box.fail.status, ABX_ERR_EXEC);
    ck_assert_int_eq(box.fail.os_code, ENOENT);
    ck_assert_str_eq(box.fail.step, "exec:/nonexistent");
    ck_assert_uint_eq(box.n_exits, 0);
}
END_TEST

START_TEST(a_denied_write_is_told_before_the_exit_of_its_command)
{
    struct exit_status status;
    const struct box_event *event;
    char *output;

    open_box();
    output = box_run(&box, 9, "touch /usr/denied; true", &status);
    ck_assert_int_eq(status.code, 0);
    event = box_find(&box, "/usr/denied");
    ck_assert_msg(event != NULL, "%s", output);
    ck_assert_uint_eq(event->command, 9);
    ck_assert_uint_ge(box_wait(&box, 9).events_before, 1);
    free(output);
}
END_TEST

START_TEST(what_is_refused_by_the_boundary_is_told)
{
    struct exit_status status;
    const struct box_event *event;

    open_box();
    free(box_run(&box, 1, "unshare -m true", &status));
    ck_assert_int_ne(status.code, 0);
    event = box_find(&box, "unshare");
    ck_assert_ptr_nonnull(event);
    ck_assert_uint_eq(event->request, ABX_REQUEST_SYSCALL);
}
END_TEST

START_TEST(background_processes_outlive_their_command_and_are_still_attributed)
{
    struct exit_status status;
    const struct box_event *event;

    open_box();
    free(box_run(&box, 1,
            "(while ! [ -e /tmp/go ]; do sleep 0.01; done; touch /usr/late; "
            "touch /tmp/done) >/dev/null 2>&1 &",
            &status));
    free(box_run(&box, 2, "touch /tmp/go; while ! [ -e /tmp/done ]; do sleep 0.01; done", &status));
    event = box_find(&box, "/usr/late");
    ck_assert_ptr_nonnull(event);
    ck_assert_uint_eq(event->command, 1);
}
END_TEST

static void *
spawn_some(void *data)
{
    const uint64_t first = (uint64_t)(uintptr_t)data;

    for (uint64_t i = 0; i < 8; i++) {
        struct exit_status status;
        char line[32], wanted[32];
        char *output;

        snprintf(line, sizeof line, "echo %lu", first + i);
        snprintf(wanted, sizeof wanted, "%lu\n", first + i);
        output = box_run(&box, first + i, line, &status);
        ck_assert_str_eq(output, wanted);
        free(output);
    }
    return NULL;
}

START_TEST(many_threads_start_commands_in_one_box)
{
    pthread_t threads[8];

    open_box();
    for (uintptr_t i = 0; i < 8; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, spawn_some, (void *)((i + 1) * 100)), 0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
    }
    ck_assert_uint_eq(box.n_exits, 64);
}
END_TEST

START_TEST(killing_ends_the_box_and_later_commands_are_refused)
{
    static const char *const argv[] = { "/bin/sleep", "1000", NULL };
    int output;

    open_box();
    output = box_spawn(&box, 1, argv);
    ck_assert_int_ge(output, 0);
    close(output);
    backend_pick()->kill(box.boundary);
    box_wait_ended(&box);
    ck_assert_int_eq(box_spawn(&box, 2, argv), -1);
    ck_assert_int_eq(box.fail.status, ABX_ERR_STATE);
}
END_TEST

START_TEST(a_signal_reaches_the_command)
{
    static const char *const argv[] = { "/bin/sleep", "1000", NULL };
    struct box_exit exit;
    int output;

    open_box();
    output = box_spawn(&box, 1, argv);
    ck_assert_int_ge(output, 0);
    ck_assert_int_eq(backend_pick()->signal(box.boundary, 1, SIGINT), ABX_OK);
    exit = box_wait(&box, 1);
    ck_assert_uint_eq(exit.status.reason, ABX_EXIT_SIGNAL);
    ck_assert_int_eq(exit.status.code, SIGINT);
    close(output);
}
END_TEST

START_TEST(a_pty_is_handed_out_and_is_the_commands_terminal)
{
    static const char *const argv[] = { "/bin/sh", "-c", "tty; stty size", NULL };
    static const char *const env[] = { "PATH=/usr/bin:/bin", NULL };
    const struct command command = {
        .id = 1, .argv = argv, .env = env, .cwd = "/", .pty = true, .rows = 33, .columns = 77
    };
    char text[256];
    size_t used = 0;
    ssize_t n;
    int pty = -1;

    open_box();
    ck_assert_msg(backend_pick()->spawn(box.boundary, &command, &pty, &box.fail) == ABX_OK,
            "%s: %s", box.fail.step, box.fail.text);
    ck_assert_int_ge(pty, 0);
    while (used < sizeof text - 1 && (n = read(pty, text + used, sizeof text - 1 - used)) > 0) {
        used += (size_t)n;
    }
    text[used] = '\0';
    ck_assert_msg(strstr(text, "/dev/pts/") != NULL && strstr(text, "33 77") != NULL, "%s", text);
    close(pty);
}
END_TEST

START_TEST(a_program_in_the_box_that_cannot_run_fails_the_opening_and_leaves_nothing)
{
    const struct box_setup setup = { .plan = &box.plan,
        .loop = box.loop,
        .mask_loop = box.loop,
        .broker = &box.broker,
        .init_path = "/etc/passwd" };

    open_box();
    backend_pick()->close(box.boundary);
    box.boundary = NULL;
    fds_before = box_count_fds();
    ck_assert_int_eq(backend_pick()->open(&setup, &box.boundary, &box.fail), ABX_ERR_SETUP);
    ck_assert_str_eq(box.fail.step, "exec:init");
    ck_assert_ptr_null(box.boundary);
    ck_assert_uint_eq(box_count_fds(), fds_before);
    ck_assert_int_eq(waitpid(-1, NULL, __WALL | WNOHANG), -1);
}
END_TEST

START_TEST(a_step_that_fails_is_named_with_what_to_do_and_leaves_nothing)
{
    const struct box_setup setup = {
        .plan = &box.plan, .loop = box.loop, .mask_loop = box.loop, .broker = &box.broker
    };
    const char *path;

    open_box();
    backend_pick()->close(box.boundary);
    box.boundary = NULL;
    fds_before = box_count_fds();
    ck_assert_int_eq(rmdir(workspace), 0);
    ck_assert_int_eq(backend_pick()->open(&setup, &box.boundary, &box.fail), ABX_ERR_SETUP);
    ck_assert_int_eq(mkdir(workspace, 0700), 0);
    path = strchr(box.fail.step, ':');
    ck_assert_msg(path != NULL && strcmp(path + 1, workspace) == 0, "%s", box.fail.step);
    ck_assert_int_eq(box.fail.os_code, ENOENT);
    ck_assert_ptr_nonnull(strstr(box.fail.remedy, "open the box again"));
    ck_assert_uint_eq(box_count_fds(), fds_before);
    ck_assert_int_eq(waitpid(-1, NULL, __WALL | WNOHANG), -1);
}
END_TEST

START_TEST(a_new_directory_in_a_guarded_one_is_bound_on_request)
{
    struct exit_status status;
    char directory[80], line[160], guarded[1200];
    char *output;

    snprintf(guarded, sizeof guarded,
            "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]},"
            "\"write\":{\"allow\":[\"%s\"],\"deny\":[\"%s/no\"]}}}",
            workspace, workspace);
    ck_assert_int_eq(box_open(&box, guarded), ABX_OK);
    snprintf(directory, sizeof directory, "%s/made", workspace);
    ck_assert_int_eq(boundary_bind(box.boundary, directory), -ENOENT);
    ck_assert_int_eq(mkdir(directory, 0755), 0);
    ck_assert_int_eq(boundary_bind(box.boundary, directory), 0);
    snprintf(line, sizeof line, "grep ' %s rw,' /proc/self/mountinfo", directory);
    output = box_run(&box, 1, line, &status);
    ck_assert_int_eq(status.code, 0);
    free(output);
    box_close(&box);
    ck_assert_int_eq(rmdir(directory), 0);
}
END_TEST

START_TEST(a_process_that_no_listener_spoke_of_is_known_by_its_session)
{
    static const char *const argv[] = { "/bin/sh", "-c", "sleep 1000 & echo; wait", NULL };
    char line[64] = "";
    int output;
    FILE *children;
    int32_t pid = 0;

    open_box();
    output = box_spawn(&box, 5, argv);
    ck_assert_int_ge(output, 0);
    ck_assert_int_eq(read(output, line, 1), 1);
    /* init's child is the shell, the shell's child sleeps. */
    pid = box.boundary->init_pid;
    for (int i = 0; i < 2; i++) {
        snprintf(line, sizeof line, "/proc/%d/task/%d/children", pid, pid);
        children = fopen(line, "re");
        ck_assert_ptr_nonnull(children);
        ck_assert_int_eq(fscanf(children, "%d", &pid), 1);
        fclose(children);
    }
    ck_assert_uint_eq(boundary_command_of(box.boundary, pid), 5);
    ck_assert_uint_eq(boundary_command_of(box.boundary, getpid()), 0);
    close(output);
}
END_TEST

static void *
open_some(void *data)
{
    for (int i = 0; i < 3; i++) {
        const struct box_setup setup = {
            .plan = &box.plan, .loop = box.loop, .mask_loop = box.loop, .broker = &box.broker
        };
        struct boundary *boundary = NULL;
        struct fail fail = { 0 };
        abx_status r = backend_pick()->open(&setup, &boundary, &fail);

        ck_assert_msg(r == ABX_OK, "%s: %s", fail.step, fail.text);
        backend_pick()->close(boundary);
    }
    return NULL;
}

START_TEST(many_threads_open_and_close_boxes)
{
    pthread_t threads[8];

    open_box();
    backend_pick()->close(box.boundary); /* its plan stays */
    box.boundary = NULL;
    fds_before = box_count_fds();
    for (int i = 0; i < 8; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, open_some, NULL), 0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
    }
    ck_assert_uint_eq(box_count_fds(), fds_before);
}
END_TEST

/* Of a line "NAME:..." in /proc/PID/status; "" if it is not there. */
static const char *
status_of(int32_t pid, const char *name)
{
    static char line[256];
    char path[64];
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/status", pid);
    file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) {
            fclose(file);
            return line + strlen(name);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return "";
}

/* The child of init that has its filter and waits, while no command lives. */
static int32_t
waiting_seat(void)
{
    const int32_t init = box.boundary->init_pid;
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", init, init);
    for (;;) {
        FILE *children = fopen(path, "re");
        int32_t pid = 0;
        int found;

        ck_assert_ptr_nonnull(children);
        found = fscanf(children, "%d", &pid);
        fclose(children);
        if (found == 1 && strcmp(status_of(pid, "Seccomp:"), "\t2\n") == 0 &&
                strncmp(status_of(pid, "State:"), "\tS", 2) == 0) {
            return pid;
        }
        usleep(1000);
    }
}

/* Two commands ran, so a third is expected. */
static int32_t
open_box_with_seat(void)
{
    struct exit_status status;

    open_box();
    for (uint64_t id = 1; id <= 2; id++) {
        free(box_run(&box, id, "true", &status));
        ck_assert_int_eq(status.code, 0);
    }
    return waiting_seat();
}

START_TEST(who_starts_more_than_one_command_finds_the_next_prepared)
{
    struct exit_status status;
    char expected[32] = "", *output;

    ck_assert_int_eq(sscanf(status_of(open_box_with_seat(), "NSpid:"), "%*d %30s", expected), 1);
    strcat(expected, "\n");
    output = box_run(&box, 3, "echo $$; exit 5", &status);
    ck_assert_int_eq(status.code, 5);
    ck_assert_str_eq(output, expected);
    free(output);
}
END_TEST

static const int seat_signals[] = { SIGKILL, SIGTERM, SIGSTOP, 0 };

START_TEST(a_seat_that_was_killed_stopped_or_changed_does_not_hinder_a_command)
{
    const struct rlimit64 small = { 20, 20 };
    struct exit_status status;
    int32_t seat = open_box_with_seat();
    struct pollfd ended = { .fd = (int)syscall(SYS_pidfd_open, seat, 0), .events = POLLIN };
    char *output;

    ck_assert_int_eq(kill(seat, seat_signals[_i]), 0);
    if (seat_signals[_i] == SIGKILL) {
        ck_assert_int_eq(poll(&ended, 1, 10000), 1);
    } else if (seat_signals[_i] == 0) {
        ck_assert_int_eq(prlimit64(seat, RLIMIT_NOFILE, &small, NULL), 0);
    }
    output = box_run(&box, 3, "ulimit -n", &status);
    ck_assert_int_eq(status.code, 0);
    ck_assert_str_ne(output, "20\n");
    free(output);
    close(ended.fd);
}
END_TEST

START_TEST(the_receipt_is_a_list_of_layers)
{
    char *receipt;

    open_box();
    receipt = backend_pick()->receipt(box.boundary);
    ck_assert_ptr_nonnull(receipt);
    ck_assert_ptr_nonnull(strstr(receipt, "{\"mechanism\":\"seccomp\",\"state\":\"on\""));
    ck_assert_int_eq(receipt[0], '[');
    ck_assert_int_eq(receipt[strlen(receipt) - 1], ']');
    free(receipt);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("boundary");
    TCase *tcase = tcase_create("boundary");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, start, end);
    tcase_add_test(tcase, a_command_runs_and_its_exit_and_output_are_told);
    tcase_add_test(tcase, opening_and_closing_gives_every_descriptor_back);
    tcase_add_test(tcase, the_host_stays_dumpable_and_its_signals_unblocked);
    tcase_add_test(tcase, a_program_that_does_not_exist_is_an_exec_error_with_its_errno);
    tcase_add_test(tcase, a_denied_write_is_told_before_the_exit_of_its_command);
    tcase_add_test(tcase, what_is_refused_by_the_boundary_is_told);
    tcase_add_test(tcase, background_processes_outlive_their_command_and_are_still_attributed);
    tcase_add_test(tcase, many_threads_start_commands_in_one_box);
    tcase_add_test(tcase, killing_ends_the_box_and_later_commands_are_refused);
    tcase_add_test(tcase, a_signal_reaches_the_command);
    tcase_add_test(tcase, a_pty_is_handed_out_and_is_the_commands_terminal);
    tcase_add_test(
            tcase, a_program_in_the_box_that_cannot_run_fails_the_opening_and_leaves_nothing);
    tcase_add_test(tcase, a_step_that_fails_is_named_with_what_to_do_and_leaves_nothing);
    tcase_add_test(tcase, a_new_directory_in_a_guarded_one_is_bound_on_request);
    tcase_add_test(tcase, a_process_that_no_listener_spoke_of_is_known_by_its_session);
    tcase_add_test(tcase, many_threads_open_and_close_boxes);
    tcase_add_test(tcase, who_starts_more_than_one_command_finds_the_next_prepared);
    tcase_add_loop_test(
            tcase, a_seat_that_was_killed_stopped_or_changed_does_not_hinder_a_command, 0, 4);
    tcase_add_test(tcase, the_receipt_is_a_list_of_layers);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
