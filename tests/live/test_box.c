/* SPDX-License-Identifier: Apache-2.0
 * Real commands in real boxes, through the public API. */
#include "abxtest.h"
#include "unit/main.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char policy[] =
        "{\"version\":1,\"name\":\"live\",\"filesystem\":{"
        "\"read\":{\"allow\":[\"/\"],\"deny\":[{\"path\":\"${workspace}/secret\","
        "\"reason\":\"keep out\",\"instead\":\"ask for a copy\"}]},"
        "\"write\":{\"allow\":[\"${workspace}\"],\"deny\":[\"${workspace}/lock\"],"
        "\"ask\":[\"${workspace}/ask\"]}},"
        "\"environment\":{\"set\":{\"CI\":\"1\",\"PATH\":\"/usr/bin:/bin\"}},"
        "\"limits\":{\"output\":65536},\"approvals\":{\"timeout_ms\":10000}}";

#define N_THREADS 64
#define N_BOXES 200

static struct abxtest test;
static struct abxtest_result result;

static void
set_up(void)
{
    abxtest_open(&test, policy);
}

static void
tear_down(void)
{
    abxtest_result_done(&result);
    result = (struct abxtest_result){ .output = NULL };
    abxtest_close(&test);
}

/* ---- how commands end ---- */
static const struct exit_case {
    const char *script;
    uint32_t reason;
    int32_t code;
} exit_cases[] = {
    { "exit 0", ABX_EXIT_CODE, 0 },
    { "exit 7", ABX_EXIT_CODE, 7 },
    { "exit 125", ABX_EXIT_CODE, 125 },
    { "nonexistent-program", ABX_EXIT_CODE, 127 },
    { "/etc/passwd", ABX_EXIT_CODE, 126 },
    { "kill -TERM $$", ABX_EXIT_SIGNAL, SIGTERM },
    { "kill -KILL $$", ABX_EXIT_SIGNAL, SIGKILL },
};

START_TEST(exit_codes_and_signals_come_back_untouched)
{
    const struct exit_case *c = &exit_cases[_i];

    abxtest_run(&test, c->script, &result);
    ck_assert_msg(result.exit.reason == c->reason && result.exit.code == c->code,
            "%s: reason %u code %d", c->script, result.exit.reason, result.exit.code);
    ck_assert_uint_eq(result.exit.denials, 0);
    abxtest_expect_no_denial(&test);
}
END_TEST

static const struct start_case {
    const char *program, *cwd;
    int os_code;
} start_cases[] = {
    { "nonexistent-program", NULL, ENOENT },
    { "/etc/passwd", NULL, EACCES },
    { "/", NULL, EACCES },
    { "true", "/nonexistent-directory", ENOENT },
};

START_TEST(what_cannot_be_executed_is_an_error_and_runs_nothing)
{
    const struct start_case *c = &start_cases[_i];
    const char *const argv[] = { c->program, NULL };
    abx_spawn_options options = { .size = sizeof options, .cwd = c->cwd };
    abx_process *process = NULL;
    abx_error *error = NULL;

    ck_assert_int_eq(abx_box_spawn(test.box, argv, &options, &process, &error), ABX_ERR_EXEC);
    ck_assert_msg(abx_error_get_os_code(error) == c->os_code, "%s: %d", c->program,
            abx_error_get_os_code(error));
    abx_error_unref(error);
    abxtest_take_events(&test);
    ck_assert_uint_eq(test.n_events, 0);
}
END_TEST

START_TEST(a_time_limit_ends_all_that_the_command_started)
{
    abx_spawn_options options = { .size = sizeof options, .timeout_ms = 100 };
    abx_process *process =
            abxtest_spawn(&test, "setsid sleep 1000 & sleep 1000; echo no", &options);
    abx_exit exit = { .size = sizeof exit };

    ck_assert_int_eq(abx_process_wait(process, 10000, &exit), ABX_OK);
    ck_assert_uint_eq(exit.reason, ABX_EXIT_TIMEOUT);
    abx_process_unref(process);
    abxtest_run(&test, "sleep 0.1; ps -e -o comm= | grep -c sleep", &result);
    ck_assert_str_eq(result.output, "0\n");
}
END_TEST

START_TEST(a_signal_reaches_the_command)
{
    abx_spawn_options options = {
        .size = sizeof options,
        .stdio = { ABX_STDIO_NULL, ABX_STDIO_PIPE, ABX_STDIO_NULL },
    };
    abx_process *process = abxtest_spawn(
            &test, "trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done", &options);
    int out = (int)abx_process_take_stdio(process, 1);
    abx_exit exit = { .size = sizeof exit };
    char buffer[16];

    ck_assert_int_eq(read(out, buffer, sizeof buffer), 6);
    ck_assert_int_eq(abx_process_signal(process, SIGTERM), ABX_OK);
    ck_assert_int_eq(abx_process_wait(process, 10000, &exit), ABX_OK);
    ck_assert_int_eq(exit.code, 9);
    close(out);
    abx_process_unref(process);
}
END_TEST

START_TEST(a_background_process_lives_on_for_the_next_command)
{
    abx_process *process = NULL;
    abx_exit exit = { .size = sizeof exit };

    abxtest_run(&test, "sleep 1000 & echo $! > pid", &result);
    abxtest_result_done(&result);
    abxtest_run(&test, "kill -0 $(cat pid) && echo alive", &result);
    ck_assert_str_eq(result.output, "alive\n");
    process = abxtest_spawn(&test, "sleep 1000", NULL);
    ck_assert_int_eq(abx_box_kill(test.box), ABX_OK);
    ck_assert_int_eq(abx_process_wait(process, 10000, &exit), ABX_OK);
    ck_assert_uint_eq(exit.reason, ABX_EXIT_KILLED);
    abx_process_unref(process);
}
END_TEST

/* ---- streams and environment ---- */
START_TEST(a_command_has_three_descriptors_and_the_policys_environment)
{
    setenv("ABX_SECRET", "host", 1);
    abxtest_run(&test, "ls /proc/self/fd | tr '\\n' ' '; env | sort | tr '\\n' ' '; pwd", &result);
    ck_assert_msg(strncmp(result.output, "0 1 2 3 CI=1 HOME=", 18) == 0, "%s", result.output);
    ck_assert_ptr_null(strstr(result.output, "ABX_SECRET"));
    ck_assert_ptr_nonnull(strstr(result.output, test.workspace));
}
END_TEST

START_TEST(a_terminal_has_its_size_and_can_be_resized)
{
    abx_spawn_options options = {
        .size = sizeof options,
        .stdio = { ABX_STDIO_PTY, ABX_STDIO_PTY, ABX_STDIO_PTY },
        .rows = 33,
        .columns = 77,
    };
    abx_process *process =
            abxtest_spawn(&test, "stty size; read line; stty size; tty -s && echo yes", &options);
    int master = (int)abx_process_take_stdio(process, 0);
    char text[256] = "";
    size_t length = 0;
    abx_exit exit = { .size = sizeof exit };

    while (strstr(text, "33 77") == NULL) {
        ssize_t n = read(master, text + length, sizeof text - length - 1);

        ck_assert_int_gt(n, 0);
        length += (size_t)n;
    }
    ck_assert_int_eq(abx_process_resize(process, 20, 40), ABX_OK);
    ck_assert_int_eq(write(master, "\n", 1), 1);
    while (strstr(text, "yes") == NULL) {
        ssize_t n = read(master, text + length, sizeof text - length - 1);

        ck_assert_msg(n > 0, "%s", text);
        length += (size_t)n;
    }
    ck_assert_ptr_nonnull(strstr(text, "20 40"));
    ck_assert_int_eq(abx_process_wait(process, 10000, &exit), ABX_OK);
    ck_assert_int_eq(exit.code, 0);
    close(master);
    abx_process_unref(process);
}
END_TEST

START_TEST(output_beyond_the_limit_is_counted_and_hangs_nobody)
{
    abxtest_run(&test, "head -c 3000000 /dev/zero; echo end >&2", &result);
    ck_assert_uint_eq(result.exit.reason, ABX_EXIT_CODE);
    ck_assert_str_eq(result.errors, "end\n");
    ck_assert_ptr_nonnull(
            strstr(result.explain, "65536 bytes were kept, 2934464 more were written"));
}
END_TEST

/* `truncate` by a name is done on the command's behalf, `ftruncate` by the kernel. */
START_TEST(a_file_grows_as_far_as_its_limit_however_it_is_made_longer)
{
    static const char limited[] =
            "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]},"
            "\"write\":{\"allow\":[\"${workspace}\"],\"deny\":[\"${workspace}/*.no\"]}},"
            "\"environment\":{\"set\":{\"PATH\":\"/usr/bin:/bin\"}},"
            "\"limits\":{\"file_size\":4096}}";
    static const char script[] =
            "python3 -c 'import os\n"
            "open(\"f\", \"w\").close()\n"
            "for size in 4096, 4097, 0:\n"
            "    for what in \"f\", os.open(\"f\", os.O_RDWR):\n"
            "        try: os.truncate(what, size); print(os.stat(\"f\").st_size)\n"
            "        except OSError as error: print(error.strerror)\n"
            "' 2>&1; ulimit -f 1; python3 -c 'import os; os.truncate(\"f\", 2048)' 2>&1 | tail -n "
            "1";

    abxtest_close(&test);
    abxtest_open(&test, limited);
    abxtest_run(&test, script, &result);
    ck_assert_str_eq(result.output, "4096\n4096\nFile too large\nFile too large\n0\n0\n"
                                    "OSError: [Errno 27] File too large: 'f'\n");
}
END_TEST

/* ---- denials ---- */
START_TEST(words_about_denials_are_no_denials)
{
    abxtest_run(&test, "printf 'Permission denied'; exit 1", &result);
    ck_assert_int_eq(result.exit.code, 1);
    ck_assert_str_eq(result.explain, "");
    abxtest_expect_no_denial(&test);
}
END_TEST

START_TEST(a_denial_inside_a_pipeline_that_succeeds_is_told)
{
    abx_event *event;

    abxtest_write(&test, "secret", "s3cret\n");
    abx_box_unref(test.box);
    test.box = NULL;
    ck_assert_int_eq(abx_box_open(test.context, test.policy, NULL, &test.box, NULL), ABX_OK);
    abxtest_run(&test, "cat secret 2>/dev/null | sort | wc -l", &result);
    ck_assert_int_eq(result.exit.code, 0);
    ck_assert_str_eq(result.output, "0\n");
    event = abxtest_expect_denial(&test, abxtest_path(&test, "secret"));
    ck_assert_ptr_nonnull(strstr(abx_event_get_string(event, ABX_FIELD_PROGRAM), "cat"));
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_REASON), "keep out");
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_ACCESS), ABX_ACCESS_READ);
    ck_assert_ptr_nonnull(strstr(result.explain, "Instead: ask for a copy."));
}
END_TEST

START_TEST(a_protected_name_that_does_not_exist_stays_so)
{
    abxtest_run(&test, "echo x > lock; mkdir lock; ln -s /etc lock; ls", &result);
    ck_assert_str_eq(result.output, "");
    abxtest_expect_denial(&test, abxtest_path(&test, "lock"));
    ck_assert_int_ne(access(abxtest_path(&test, "lock"), F_OK), 0);
    abxtest_result_done(&result);
    abxtest_run(&test, "echo y > free && cat free", &result);
    ck_assert_str_eq(result.output, "y\n");
}
END_TEST

/* The first is the command itself, whose execve nobody but the box sees. */
static const char *const set_id_scripts[] = { "", "\"$0\"", "\"$0\" & wait", "exec \"$0\"" };

START_TEST(a_set_user_id_program_is_told_of_and_runs_without_its_bit)
{
    const char *program = abxtest_path(&test, "program");
    const char *argv[] = { "/bin/sh", "-c", set_id_scripts[_i], NULL, NULL };
    abx_process *process = NULL;
    abx_exit exit = { .size = sizeof exit };
    char path[128], script[256];

    snprintf(path, sizeof path, "%s", program);
    snprintf(script, sizeof script, "cp /bin/true %s", path);
    ck_assert_int_eq(system(script), 0);
    ck_assert_int_eq(chmod(path, 04755), 0);
    argv[3] = path;
    if (_i == 0) {
        argv[0] = path;
        argv[1] = NULL;
    }
    ck_assert_int_eq(abx_box_spawn(test.box, argv, NULL, &process, NULL), ABX_OK);
    ck_assert_int_eq(abx_process_wait(process, -1, &exit), ABX_OK);
    ck_assert_int_eq(exit.code, 0);
    abx_process_unref(process);
    abxtest_take_events(&test);
    ck_assert_ptr_nonnull(abxtest_find(&test, ABX_EVENT_NOTICE, path));
}
END_TEST

/* ---- approvals and grants ---- */
static void
expect_content(const char *name, const char *content)
{
    char *found = abxtest_read(&test, name);

    ck_assert_ptr_nonnull(found);
    ck_assert_str_eq(found, content);
    free(found);
}

static abx_status
answer(abx_event *event, abx_verdict verdict, uint32_t scope)
{
    abx_answer reply = {
        .size = sizeof reply,
        .verdict = verdict,
        .scope = scope,
        .message = verdict == ABX_VERDICT_ALLOW ? NULL : "not today",
    };

    return abx_context_answer(
            test.context, (uint64_t)abx_event_get_int(event, ABX_FIELD_TICKET), &reply, NULL);
}

START_TEST(a_held_write_goes_on_when_it_is_granted)
{
    abx_process *process = abxtest_spawn(&test, "echo one > ask && echo two > after", NULL);
    abx_event *event = abxtest_wait_event(&test, ABX_EVENT_APPROVAL);
    abx_exit exit = { .size = sizeof exit };

    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_TARGET), abxtest_path(&test, "ask"));
    ck_assert_int_eq(abx_process_wait(process, 50, &exit), ABX_NONE);
    ck_assert_int_eq(answer(event, ABX_VERDICT_ALLOW, ABX_SCOPE_ONCE), ABX_OK);
    ck_assert_int_eq(abx_process_wait(process, 10000, &exit), ABX_OK);
    ck_assert_int_eq(exit.code, 0);
    ck_assert_uint_eq(exit.denials, 0);
    expect_content("ask", "one\n");
    expect_content("after", "two\n");
    abx_process_unref(process);
}
END_TEST

static const char *const directory_scripts[] = {
    "mkdir ask; echo one > ask/file",
    "mkdir made; mv -T made ask; echo one > ask/file",
};

START_TEST(a_directory_that_was_granted_once_asks_again_for_what_comes_into_it)
{
    abx_process *process = abxtest_spawn(&test, directory_scripts[_i], NULL);
    abx_event *event = abxtest_wait_event(&test, ABX_EVENT_APPROVAL);
    abx_exit exit = { .size = sizeof exit };

    /* mv asks for the attributes of its copy, too. */
    while (strcmp(abx_event_get_string(event, ABX_FIELD_TARGET), abxtest_path(&test, "ask")) == 0) {
        ck_assert_int_eq(answer(event, ABX_VERDICT_ALLOW, ABX_SCOPE_ONCE), ABX_OK);
        event = abxtest_wait_event(&test, ABX_EVENT_APPROVAL);
    }
    ck_assert_str_eq(
            abx_event_get_string(event, ABX_FIELD_TARGET), abxtest_path(&test, "ask/file"));
    ck_assert_int_eq(answer(event, ABX_VERDICT_DENY, ABX_SCOPE_ONCE), ABX_OK);
    ck_assert_int_eq(abx_process_wait(process, 10000, &exit), ABX_OK);
    ck_assert_int_ne(access(abxtest_path(&test, "ask/file"), F_OK), 0);
    abx_process_unref(process);
}
END_TEST

START_TEST(a_held_write_that_is_refused_fails_and_is_told)
{
    abx_process *process = abxtest_spawn(&test, "echo one > ask; echo two > after", NULL);
    abx_event *event = abxtest_wait_event(&test, ABX_EVENT_APPROVAL);
    abx_exit exit = { .size = sizeof exit };

    ck_assert_int_eq(answer(event, ABX_VERDICT_DENY, ABX_SCOPE_ONCE), ABX_OK);
    ck_assert_int_eq(abx_process_wait(process, 10000, &exit), ABX_OK);
    ck_assert_uint_eq(exit.denials, 1);
    abxtest_take_events(&test);
    event = abxtest_expect_denial(&test, abxtest_path(&test, "ask"));
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_LAYER), ABX_LAYER_APPROVAL);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_REASON), "not today");
    ck_assert_int_ne(access(abxtest_path(&test, "ask"), F_OK), 0);
    expect_content("after", "two\n");
    abx_process_unref(process);
}
END_TEST

START_TEST(an_answer_for_the_command_is_asked_once)
{
    abx_process *process = abxtest_spawn(&test, "echo one > ask; echo two >> ask; cat ask", NULL);
    abx_event *event = abxtest_wait_event(&test, ABX_EVENT_APPROVAL);
    abx_exit exit = { .size = sizeof exit };

    ck_assert_int_eq(answer(event, ABX_VERDICT_ALLOW, ABX_SCOPE_COMMAND), ABX_OK);
    ck_assert_int_eq(abx_process_wait(process, 10000, &exit), ABX_OK);
    expect_content("ask", "one\ntwo\n");
    abx_process_unref(process);
}
END_TEST

/* Given and taken back, a grant is a notice each time. */
static void
expect_notices_of_grant(uint64_t grant, const char *target)
{
    static const char *const verbs[] = { "grant", "revoke" };
    char rule[32];
    size_t n = 0;

    snprintf(rule, sizeof rule, "grant:%llu", (unsigned long long)grant);
    abxtest_take_events(&test);
    for (size_t i = 0; i < test.n_events; i++) {
        abx_event *event = test.events[i];

        if (abx_event_get_type(event) != ABX_EVENT_NOTICE) {
            continue;
        }
        ck_assert_uint_lt(n, 2);
        ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_VERB), verbs[n++]);
        ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_RULE), rule);
        ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_APPROVER), "pat");
        ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_TARGET), target);
    }
    ck_assert_uint_eq(n, 2);
}

START_TEST(a_grant_made_beforehand_needs_no_question)
{
    abx_request pattern = {
        .size = sizeof pattern,
        .kind = ABX_REQUEST_PATH,
        .access = ABX_ACCESS_WRITE,
        .target = abxtest_path(&test, "ask"),
    };
    uint64_t grant;

    ck_assert_int_eq(abx_box_grant(test.box, &pattern, 0, 0, "pat", &grant, NULL), ABX_OK);
    abxtest_run(&test, "echo one > ask", &result);
    ck_assert_int_eq(result.exit.code, 0);
    expect_content("ask", "one\n");
    ck_assert_int_eq(abx_box_revoke(test.box, grant), ABX_OK);
    ck_assert_int_eq(abx_box_revoke(test.box, grant), ABX_ERR_STATE);
    expect_notices_of_grant(grant, pattern.target);
    pattern.target = abxtest_path(&test, "lock");
    ck_assert_int_eq(abx_box_grant(test.box, &pattern, 0, 0, "pat", &grant, NULL), ABX_ERR_DENIED);
}
END_TEST

/* How many threads of this process have that name. */
static int
count_threads(const char *name)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;
    int n = 0;

    ck_assert_ptr_nonnull(tasks);
    while ((entry = readdir(tasks)) != NULL) {
        char path[300], text[32] = "";
        FILE *file;

        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        file = fopen(path, "re");
        if (file != NULL) {
            n += fgets(text, sizeof text, file) != NULL && strncmp(text, name, strlen(name)) == 0;
            fclose(file);
        }
    }
    closedir(tasks);
    return n;
}

START_TEST(only_a_box_with_a_mask_has_a_thread_for_it)
{
    static const char open_to_read[] =
            "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]},"
            "\"write\":{\"allow\":[\"${workspace}\"]},\"protect\":{\"defaults\":false}},"
            "\"environment\":{\"set\":{\"PATH\":\"/usr/bin:/bin\"}}}";

    abxtest_open(&test, open_to_read);
    abxtest_run(&test, "true", &result);
    ck_assert_int_eq(count_threads("abx-mask"), 0);
    abxtest_result_done(&result);
    abxtest_close(&test);
    abxtest_start(&test, policy);
    abxtest_write(&test, "secret", "hidden");
    ck_assert_int_eq(abx_box_open(test.context, test.policy, NULL, &test.box, NULL), ABX_OK);
    abxtest_run(&test, "cat secret", &result);
    abxtest_expect_denial(&test, abxtest_path(&test, "secret"));
    ck_assert_int_eq(count_threads("abx-mask"), 1);
}
END_TEST

/* A call whose handler runs again on a worker, and a look, take no further use. */
START_TEST(a_counted_grant_counts_calls)
{
    static const char asking[] =
            "{\"version\":1,\"filesystem\":{"
            "\"read\":{\"allow\":[\"/\"],\"ask\":[\"${workspace}/hidden\"]},"
            "\"write\":{\"allow\":[\"${workspace}\"],\"ask\":[\"${workspace}/ask\"]}},"
            "\"environment\":{\"set\":{\"PATH\":\"/usr/bin:/bin\"}},"
            "\"approvals\":{\"timeout_ms\":50}}";
    abx_request pattern = { .size = sizeof pattern, .kind = ABX_REQUEST_PATH };
    uint64_t grant;

    abxtest_start(&test, asking);
    abxtest_write(&test, "hidden", "hidden\n");
    ck_assert_int_eq(abx_box_open(test.context, test.policy, NULL, &test.box, NULL), ABX_OK);
    pattern.access = ABX_ACCESS_WRITE;
    pattern.target = abxtest_path(&test, "ask");
    ck_assert_int_eq(abx_box_grant(test.box, &pattern, 0, 2, "pat", &grant, NULL), ABX_OK);
    pattern.access = ABX_ACCESS_READ;
    pattern.target = abxtest_path(&test, "hidden");
    ck_assert_int_eq(abx_box_grant(test.box, &pattern, 0, 2, "pat", &grant, NULL), ABX_OK);
    abxtest_run(&test,
            "for i in 1 2 3; do echo $i >> ask || echo not written; done;"
            "for i in 1 2 3; do test -r hidden; cat hidden || echo not read; done",
            &result);
    ck_assert_str_eq(result.output, "not written\nhidden\nhidden\nnot read\n");
    expect_content("ask", "1\n2\n");
}
END_TEST

START_TEST(a_granted_write_where_reads_are_asked_says_why_it_fails)
{
    static const char masked[] =
            "{\"version\":1,\"filesystem\":{"
            "\"read\":{\"allow\":[\"/\"],\"ask\":[\"${workspace}/ask\"]},"
            "\"write\":{\"allow\":[\"${workspace}\"],\"ask\":[\"${workspace}/ask\"]}}}";
    abx_exit exit = { .size = sizeof exit };
    abx_process *process;
    abx_event *event;

    abxtest_start(&test, masked);
    abxtest_write(&test, "ask", "before\n");
    ck_assert_int_eq(abx_box_open(test.context, test.policy, NULL, &test.box, NULL), ABX_OK);
    process = abxtest_spawn(&test, "echo one > ask", NULL);
    event = abxtest_wait_event(&test, ABX_EVENT_APPROVAL);
    ck_assert_int_eq(answer(event, ABX_VERDICT_ALLOW, ABX_SCOPE_BOX), ABX_OK);
    ck_assert_int_eq(abx_process_wait(process, 10000, &exit), ABX_OK);
    ck_assert_uint_eq(exit.denials, 1);
    abxtest_take_events(&test);
    event = abxtest_expect_denial(&test, abxtest_path(&test, "ask"));
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_RULE), "boundary:masked");
    expect_content("ask", "before\n");
    abx_process_unref(process);
    abxtest_close(&test);
}
END_TEST

/* ---- lifetime ---- */
START_TEST(handles_may_be_released_in_any_order)
{
    static const int orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 },
        { 2, 0, 1 }, { 2, 1, 0 } };
    static const char *const argv[] = { "sleep", "1000", NULL };
    abx_context *context;
    abx_box *box;
    abx_process *process;

    ck_assert_int_eq(abx_context_new(NULL, &context, NULL), ABX_OK);
    ck_assert_int_eq(abx_box_open(context, test.policy, NULL, &box, NULL), ABX_OK);
    ck_assert_int_eq(abx_box_spawn(box, argv, NULL, &process, NULL), ABX_OK);
    for (int i = 0; i < 3; i++) {
        switch (orders[_i][i]) {
        case 0:
            abx_context_unref(context);
            break;
        case 1:
            abx_box_unref(box);
            break;
        default:
            abx_process_unref(process);
            break;
        }
    }
}
END_TEST

START_TEST(a_wait_after_the_box_is_gone_says_killed)
{
    abx_process *process = abxtest_spawn(&test, "sleep 1000", NULL);
    abx_exit exit = { .size = sizeof exit };

    abx_box_unref(test.box);
    test.box = NULL;
    ck_assert_int_eq(abx_process_wait(process, -1, &exit), ABX_OK);
    ck_assert_uint_eq(exit.reason, ABX_EXIT_KILLED);
    abx_process_unref(process);
}
END_TEST

START_TEST(run_opens_a_box_and_closes_it)
{
    static const char *const argv[] = { "echo", "hello", NULL };
    abx_process *process;

    ck_assert_int_eq(abx_run(test.context, test.policy, argv, NULL, &process, NULL), ABX_OK);
    ck_assert_str_eq(abx_process_get_output(process, 1, NULL), "hello\n");
    abx_process_unref(process);
}
END_TEST

/* One box, three commands, the last of which is killed with its box; what failed, or NULL. */
static const char *
use_box(void)
{
    static const char *const argv[] = { "sh", "-c", "echo $$ > /dev/null; exit 5", NULL };
    abx_box *box = NULL;

    if (abx_box_open(test.context, test.policy, NULL, &box, NULL) != ABX_OK) {
        return "open";
    }
    for (int i = 0; i < 3; i++) {
        abx_spawn_options options = {
            .size = sizeof options,
            .stdio = { ABX_STDIO_NULL, ABX_STDIO_CAPTURE, ABX_STDIO_CAPTURE },
            .timeout_ms = 20000,
        };
        abx_exit exit = { .size = sizeof exit };
        abx_process *process;

        if (abx_box_spawn(box, argv, &options, &process, NULL) != ABX_OK) {
            return "spawn";
        }
        if (i == 2) {
            abx_box_unref(box);
        }
        if (abx_process_wait(process, 20000, &exit) != ABX_OK ||
                (exit.code != 5 && exit.reason != ABX_EXIT_KILLED)) {
            return "wait";
        }
        abx_process_unref(process);
    }
    return NULL;
}

static void *
use_boxes(void *data)
{
    *(const char **)data = use_box();
    return NULL;
}

START_TEST(sixty_four_threads_may_open_boxes_and_spawn_at_once)
{
    const char *failed[N_THREADS] = { NULL };
    pthread_t threads[N_THREADS];

    for (int i = 0; i < N_THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, use_boxes, &failed[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_msg(failed[i] == NULL, "%s", failed[i]);
    }
}
END_TEST

/* The fixture looks for what is left. */
START_TEST(two_hundred_boxes_open_and_close_and_leave_nothing)
{
    static const char *const argv[] = { "true", NULL };
    abx_box *boxes[N_BOXES] = { NULL };
    abx_exit exit = { .size = sizeof exit };
    abx_process *process;
    struct rlimit files;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
    for (int i = 0; i < N_BOXES; i++) {
        ck_assert_int_eq(abx_box_open(test.context, test.policy, NULL, &boxes[i], NULL), ABX_OK);
    }
    ck_assert_int_eq(abx_box_spawn(boxes[N_BOXES - 1], argv, NULL, &process, NULL), ABX_OK);
    ck_assert_int_eq(abx_process_wait(process, 20000, &exit), ABX_OK);
    ck_assert_int_eq(exit.code, 0);
    abx_process_unref(process);
    for (int i = 0; i < N_BOXES; i++) {
        abx_box_unref(boxes[i]);
    }
}
END_TEST

START_TEST(the_receipt_has_a_canary_that_was_stopped)
{
    char *json;

    ck_assert_int_eq(abx_box_receipt(test.box, &json, NULL), ABX_OK);
    ck_assert_ptr_nonnull(strstr(json, "\"sample\":\"write-denied\""));
    ck_assert_ptr_nonnull(strstr(json, "\"sample\":\"connect-denied\""));
    ck_assert_ptr_null(strstr(json, "\"expected\":\"deny\",\"result\":\"ok\""));
    abx_free(json);
}
END_TEST

START_TEST(preflight_opens_a_box_of_its_own)
{
    abx_report *report;
    bool found = false;

    ck_assert_int_eq(abx_preflight(test.policy, &report, NULL), ABX_OK);
    for (size_t i = 0; i < abx_report_get_count(report); i++) {
        if (strcmp(abx_report_get_string(report, i, "feature"), "box") == 0) {
            ck_assert_str_eq(abx_report_get_string(report, i, "state"), "yes");
            found = true;
        }
    }
    ck_assert(found);
    ck_assert_ptr_null(abx_report_get_string(report, 0, "colour"));
    abx_report_unref(report);
}
END_TEST

static TCase *
new_case(Suite *suite, const char *name)
{
    TCase *tcase = tcase_create(name);

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);
    return tcase;
}

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("box");
    TCase *tcase = new_case(suite, "exit");

    tcase_add_loop_test(tcase, exit_codes_and_signals_come_back_untouched, 0,
            sizeof exit_cases / sizeof exit_cases[0]);
    tcase_add_loop_test(tcase, what_cannot_be_executed_is_an_error_and_runs_nothing, 0,
            sizeof start_cases / sizeof start_cases[0]);
    tcase_add_test(tcase, a_time_limit_ends_all_that_the_command_started);
    tcase_add_test(tcase, a_signal_reaches_the_command);
    tcase_add_test(tcase, a_background_process_lives_on_for_the_next_command);

    tcase = new_case(suite, "streams");
    tcase_add_test(tcase, a_command_has_three_descriptors_and_the_policys_environment);
    tcase_add_test(tcase, a_terminal_has_its_size_and_can_be_resized);
    tcase_add_test(tcase, output_beyond_the_limit_is_counted_and_hangs_nobody);
    tcase_add_test(tcase, a_file_grows_as_far_as_its_limit_however_it_is_made_longer);

    tcase = new_case(suite, "denials");
    tcase_add_test(tcase, words_about_denials_are_no_denials);
    tcase_add_loop_test(tcase, a_set_user_id_program_is_told_of_and_runs_without_its_bit, 0, 4);
    tcase_add_test(tcase, a_denial_inside_a_pipeline_that_succeeds_is_told);
    tcase_add_test(tcase, a_protected_name_that_does_not_exist_stays_so);

    tcase = new_case(suite, "approvals");
    tcase_add_test(tcase, a_held_write_goes_on_when_it_is_granted);
    tcase_add_loop_test(tcase, a_directory_that_was_granted_once_asks_again_for_what_comes_into_it,
            0, sizeof directory_scripts / sizeof directory_scripts[0]);
    tcase_add_test(tcase, a_held_write_that_is_refused_fails_and_is_told);
    tcase_add_test(tcase, an_answer_for_the_command_is_asked_once);
    tcase_add_test(tcase, a_grant_made_beforehand_needs_no_question);

    tcase = tcase_create("masked");
    tcase_add_test(tcase, a_counted_grant_counts_calls);
    tcase_add_test(tcase, only_a_box_with_a_mask_has_a_thread_for_it);
    tcase_add_test(tcase, a_granted_write_where_reads_are_asked_says_why_it_fails);
    suite_add_tcase(suite, tcase);

    tcase = new_case(suite, "lifetime");
    tcase_add_loop_test(tcase, handles_may_be_released_in_any_order, 0, 6);
    tcase_add_test(tcase, a_wait_after_the_box_is_gone_says_killed);
    tcase_add_test(tcase, run_opens_a_box_and_closes_it);
    tcase_add_test(tcase, sixty_four_threads_may_open_boxes_and_spawn_at_once);
    tcase_add_test(tcase, two_hundred_boxes_open_and_close_and_leave_nothing);
    tcase_add_test(tcase, the_receipt_has_a_canary_that_was_stopped);
    tcase_add_test(tcase, preflight_opens_a_box_of_its_own);
    return suite;
}

UNIT_MAIN(make_suite)
