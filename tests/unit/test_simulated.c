/* SPDX-License-Identifier: Apache-2.0
 * The backend of nothing: what commands would do is decided, told, asked about and explained as in
 * a real box, and nothing is done. */
#include "abxtest.h"
#include "unit/main.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char rules[] =
        "{\"version\":1,\"name\":\"harness\",\"filesystem\":{"
        "\"read\":{\"allow\":[\"/\"],\"deny\":[{\"path\":\"${workspace}/secret\",\"id\":\"keep\","
        "\"reason\":\"keep out\",\"instead\":\"ask for a copy\"}]},"
        "\"write\":{\"allow\":[\"${workspace}\"],\"ask\":[\"${workspace}/ask\"]}},"
        "\"network\":{\"mode\":\"filtered\",\"ask\":[\"ask.test\"],\"allow\":[\"docs.test\","
        "{\"host\":\"api.test\",\"http\":[{\"methods\":[\"GET\"],\"path\":\"/v1/**\"}]}]},"
        "\"approvals\":{\"timeout_ms\":10000}}";

static struct abxtest test;
static struct abxtest_result result;

static void
open_box(const char *json)
{
    abx_context_options options = { .size = sizeof options, .backend = ABX_BACKEND_SIMULATED };
    abx_error *error = NULL;

    abxtest_start(&test, json);
    abx_context_unref(test.context);
    ck_assert_int_eq(abx_context_new(&options, &test.context, &error), ABX_OK);
    ck_assert_msg(abx_box_open(test.context, test.policy, NULL, &test.box, &error) == ABX_OK, "%s",
            abx_error_get_message(error));
}

static void
set_up(void)
{
    open_box(rules);
}

static void
tear_down(void)
{
    abxtest_result_done(&result);
    result = (struct abxtest_result){ .output = NULL };
    abxtest_close(&test);
}

/* ABX_OK and its verdict, or ABX_NONE and its ticket. */
static abx_status
try(uint32_t kind, uint32_t access, const char *target, abx_verdict *ret_verdict,
        uint64_t *ret_ticket)
{
    abx_request request = {
        .size = sizeof request, .kind = kind, .access = access, .target = target
    };
    abx_decision decision = { .size = sizeof decision };
    abx_error *error = NULL;
    abx_status r;

    request.port = kind == ABX_REQUEST_CONNECT ? 443 : 0;
    r = abx_box_attempt(test.box, NULL, &request, &decision, ret_ticket, &error);
    ck_assert_msg(r >= 0, "%s", abx_error_get_message(error));
    *ret_verdict = decision.verdict;
    return r;
}

static abx_verdict
verdict_on(uint32_t kind, uint32_t access, const char *target)
{
    abx_verdict verdict;

    ck_assert_int_eq(try(kind, access, target, &verdict, NULL), ABX_OK);
    return verdict;
}

static void
answer(uint64_t ticket, abx_verdict verdict)
{
    abx_answer said = { .size = sizeof said, .verdict = verdict, .approver = "test" };

    ck_assert_int_eq(abx_context_answer(test.context, ticket, &said, NULL), ABX_OK);
}

/* ---- attempts ---- */
START_TEST(what_the_policy_allows_is_allowed_and_no_event)
{
    ck_assert_uint_eq(
            verdict_on(ABX_REQUEST_PATH, ABX_ACCESS_READ, "/etc/passwd"), ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(verdict_on(ABX_REQUEST_PATH, ABX_ACCESS_WRITE, abxtest_path(&test, "new")),
            ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(
            verdict_on(ABX_REQUEST_PATH, ABX_ACCESS_WRITE, "/dev/null"), ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(verdict_on(ABX_REQUEST_CONNECT, 0, "docs.test"), ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(verdict_on(ABX_REQUEST_CONNECT, 0, "localhost"), ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(
            verdict_on(ABX_REQUEST_HTTP, 0, "https://api.test/v1/x?q"), ABX_VERDICT_ALLOW);
    abxtest_take_events(&test);
    ck_assert_uint_eq(test.n_events, 0);
    ck_assert_int_ne(access(abxtest_path(&test, "new"), F_OK), 0);
}
END_TEST

START_TEST(what_the_policy_denies_is_an_event_with_its_rule)
{
    abx_event *event;

    ck_assert_uint_eq(
            verdict_on(ABX_REQUEST_PATH, ABX_ACCESS_READ, abxtest_path(&test, "secret/a")),
            ABX_VERDICT_DENY);
    event = abxtest_wait_event(&test, ABX_EVENT_DENIAL);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_RULE), "keep");
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_REASON), "keep out");
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_ALTERNATIVE), "ask for a copy");
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_BACKEND), "simulated");
}
END_TEST

START_TEST(a_request_is_decided_after_its_connection)
{
    ck_assert_uint_eq(verdict_on(ABX_REQUEST_HTTP, 0, "http://else.test/"), ABX_VERDICT_DENY);
    abxtest_take_events(&test);
    ck_assert_ptr_nonnull(abxtest_find(&test, ABX_EVENT_DENIAL, "else.test"));
    ck_assert_uint_eq(
            verdict_on(ABX_REQUEST_HTTP, 0, "https://API.test:443/v2?secret"), ABX_VERDICT_DENY);
    abxtest_take_events(&test);
    ck_assert_ptr_nonnull(abxtest_find(&test, ABX_EVENT_DENIAL, "https://api.test/v2?secret"));
}
END_TEST

START_TEST(a_link_is_what_it_leads_to)
{
    char target[128];

    ck_assert_int_eq(mkdir(abxtest_path(&test, "secret"), 0700), 0);
    snprintf(target, sizeof target, "%s", abxtest_path(&test, "secret"));
    ck_assert_int_eq(symlink(target, abxtest_path(&test, "link")), 0);
    ck_assert_uint_eq(verdict_on(ABX_REQUEST_PATH, ABX_ACCESS_READ, abxtest_path(&test, "link/a")),
            ABX_VERDICT_DENY);
    snprintf(target, sizeof target, "%s", abxtest_path(&test, "secret/a"));
    abxtest_take_events(&test);
    abxtest_expect_denial(&test, target);
}
END_TEST

/* ---- questions ---- */
START_TEST(a_held_attempt_goes_on_by_its_answer)
{
    abx_verdict verdict = ABX_VERDICT_ASK;
    uint64_t ticket = 0;

    ck_assert_int_eq(try(ABX_REQUEST_PATH, ABX_ACCESS_WRITE, abxtest_path(&test, "ask/a"), &verdict,
                             &ticket),
            ABX_NONE);
    ck_assert_uint_eq(verdict, ABX_VERDICT_ASK);
    ck_assert_int_eq(
            abx_event_get_int(abxtest_wait_event(&test, ABX_EVENT_APPROVAL), ABX_FIELD_TICKET),
            (int64_t)ticket);
    ck_assert_int_eq(abx_box_outcome(test.box, ticket, 0, &verdict), ABX_NONE);
    answer(ticket, _i == 0 ? ABX_VERDICT_DENY : ABX_VERDICT_ALLOW);
    ck_assert_int_eq(abx_box_outcome(test.box, ticket, -1, &verdict), ABX_OK);
    ck_assert_uint_eq(verdict, _i == 0 ? ABX_VERDICT_DENY : ABX_VERDICT_ALLOW);
    abxtest_take_events(&test);
    ck_assert(_i == (abxtest_find(&test, ABX_EVENT_DENIAL, abxtest_path(&test, "ask/a")) == NULL));
    ck_assert_int_eq(abx_box_outcome(test.box, ticket + 1, 0, &verdict), ABX_ERR_STATE);
}
END_TEST

START_TEST(equal_attempts_share_a_question)
{
    abx_verdict verdict;
    uint64_t first, second;

    ck_assert_int_eq(try(ABX_REQUEST_CONNECT, 0, "ask.test", &verdict, &first), ABX_NONE);
    ck_assert_int_eq(try(ABX_REQUEST_CONNECT, 0, "ASK.test", &verdict, &second), ABX_NONE);
    ck_assert_uint_eq(first, second);
    answer(first, ABX_VERDICT_ALLOW);
    ck_assert_int_eq(abx_box_outcome(test.box, first, -1, &verdict), ABX_OK);
    ck_assert_uint_eq(verdict, ABX_VERDICT_ALLOW);
}
END_TEST

START_TEST(a_killed_box_answers_nobody)
{
    abx_verdict verdict;
    uint64_t ticket;

    ck_assert_int_eq(try(ABX_REQUEST_CONNECT, 0, "ask.test", &verdict, &ticket), ABX_NONE);
    ck_assert_int_eq(abx_box_kill(test.box), ABX_OK);
    ck_assert_int_eq(abx_box_outcome(test.box, ticket, -1, &verdict), ABX_ERR_STATE);
}
END_TEST

START_TEST(a_grant_lifts_what_is_asked_about)
{
    abx_request pattern = {
        .size = sizeof pattern, .kind = ABX_REQUEST_CONNECT, .target = "ask.test", .port = 443
    };
    abx_verdict verdict;
    uint64_t grant;

    ck_assert_int_eq(abx_box_grant(test.box, &pattern, 0, 1, "test", &grant, NULL), ABX_OK);
    ck_assert_uint_eq(verdict_on(ABX_REQUEST_CONNECT, 0, "ask.test"), ABX_VERDICT_ALLOW);
    ck_assert_int_eq(try(ABX_REQUEST_CONNECT, 0, "ask.test", &verdict, NULL), ABX_NONE);
}
END_TEST

/* ---- commands ---- */
START_TEST(a_command_is_its_attempts)
{
    char script[256];

    snprintf(script, sizeof script, "print hello there; read %s/secret; connect docs.test:443",
            test.workspace);
    abxtest_run(&test, script, &result);
    ck_assert_uint_eq(result.exit.reason, ABX_EXIT_CODE);
    ck_assert_int_eq(result.exit.code, 0);
    ck_assert_uint_eq(result.exit.denials, 1);
    ck_assert_str_eq(result.output, "hello there\n");
    ck_assert_ptr_nonnull(strstr(result.errors, "/secret: Permission denied\n"));
    ck_assert_ptr_nonnull(strstr(result.explain, "ask for a copy"));
}
END_TEST

static const struct ending {
    const char *script;
    int code;
} endings[] = {
    { "print", 0 },
    { "exit 7; print never", 7 },
    { "write /etc/motd", 1 },
    { "write /etc/motd\nread /etc/motd", 0 },
    { "request POST https://api.test/v1/x", 1 },
    { "exec /usr/bin/true", 0 },
    { "connect [::1]:80", 0 },
    { "read notes", 0 },
    { "", 0 },
};

START_TEST(a_command_ends_as_a_shell_would)
{
    abxtest_run(&test, endings[_i].script, &result);
    ck_assert_msg(
            result.exit.code == endings[_i].code, "%s: %d", endings[_i].script, result.exit.code);
}
END_TEST

START_TEST(a_command_waits_for_the_answer_and_goes_on)
{
    abx_exit ended = { .size = sizeof ended };
    abx_process *process = abxtest_spawn(&test, "write ask/a; print on; exit 3", NULL);
    abx_event *event = abxtest_wait_event(&test, ABX_EVENT_APPROVAL);

    ck_assert_int_eq(abx_process_wait(process, 0, &ended), ABX_NONE);
    ck_assert_int_eq(
            abx_event_get_int(event, ABX_FIELD_PROCESS), (int64_t)abx_process_get_id(process));
    answer((uint64_t)abx_event_get_int(event, ABX_FIELD_TICKET), ABX_VERDICT_ALLOW);
    ck_assert_int_eq(abx_process_wait(process, -1, &ended), ABX_OK);
    ck_assert_int_eq(ended.code, 3);
    ck_assert_str_eq(abx_process_get_output(process, 1, NULL), "on\n");
    abx_process_unref(process);
}
END_TEST

START_TEST(a_signal_or_the_time_limit_ends_what_pauses_or_is_held)
{
    static const char *const scripts[] = { "pause", "write ask/a" };
    abx_spawn_options options = { .size = sizeof options, .timeout_ms = _i < 2 ? 0 : 1 };
    abx_exit ended = { .size = sizeof ended };
    abx_process *process = abxtest_spawn(&test, scripts[_i % 2], &options);

    if (_i < 2) {
        ck_assert_int_eq(abx_process_signal(process, 15), ABX_OK);
    }
    ck_assert_int_eq(abx_process_wait(process, -1, &ended), ABX_OK);
    ck_assert_uint_eq(ended.reason, _i < 2 ? ABX_EXIT_SIGNAL : ABX_EXIT_TIMEOUT);
    abx_process_unref(process);
}
END_TEST

START_TEST(an_attempt_is_a_running_commands)
{
    abx_process *process = abxtest_spawn(&test, "pause", NULL);
    abx_request request = { .size = sizeof request,
        .kind = ABX_REQUEST_PATH,
        .access = ABX_ACCESS_WRITE,
        .target = "/etc/motd" };
    abx_decision decision = { .size = sizeof decision };
    abx_exit ended = { .size = sizeof ended };
    char *text;

    ck_assert_int_eq(abx_box_attempt(test.box, process, &request, &decision, NULL, NULL), ABX_OK);
    ck_assert_uint_eq(decision.verdict, ABX_VERDICT_DENY);
    ck_assert_int_eq(abx_process_signal(process, 15), ABX_OK);
    ck_assert_int_eq(abx_process_wait(process, -1, &ended), ABX_OK);
    ck_assert_uint_eq(ended.denials, 1);
    ck_assert_int_eq(abx_process_explain(process, "text", &text, NULL), ABX_OK);
    ck_assert_ptr_nonnull(strstr(text, "/etc/motd"));
    abx_free(text);
    abx_process_unref(process);
}
END_TEST

START_TEST(a_program_is_refused_with_what_there_is)
{
    static const struct {
        const char *const argv[4];
        int os_code;
    } cases[] = {
        { { "make", "test" }, ENOENT },
        { { "sh", "-c", "print; rm -rf /" }, ENOENT },
        { { "read" }, EINVAL },
        { { "connect", "nowhere" }, EINVAL },
        { { "read", "/a/../b" }, EINVAL },
        { { "connect", "a.test:80x" }, EINVAL },
        { { "connect", "a.test:+80" }, EINVAL },
        { { "connect", "a.test:65536" }, EINVAL },
        { { "connect", "a.test:" }, EINVAL },
        { { "request", "GET", "http://api.test:80x/" }, EINVAL },
        { { "exit", "256" }, EINVAL },
        { { "exit", "-1" }, EINVAL },
        { { "exit", "0x1" }, EINVAL },
    };
    abx_process *process;
    abx_error *error = NULL;

    ck_assert_int_eq(abx_box_spawn(test.box, cases[_i].argv, NULL, &process, &error), ABX_ERR_EXEC);
    ck_assert_int_eq(abx_error_get_os_code(error), cases[_i].os_code);
    abx_error_unref(error);
}
END_TEST

/* ---- what it says of itself ---- */
START_TEST(the_receipt_says_that_nothing_is_enforced)
{
    char *json;

    ck_assert_int_eq(abx_box_receipt(test.box, &json, NULL), ABX_OK);
    ck_assert_ptr_nonnull(strstr(json, "\"backend\":\"simulated\",\"rung\":\"simulated\""));
    ck_assert_ptr_nonnull(strstr(json, "{\"what\":\"simulated\",\"why\":\"nothing is enforced"));
    ck_assert_ptr_nonnull(strstr(json, "\"canary\":[]"));
    abx_free(json);
}
END_TEST

START_TEST(bad_attempts_are_refused)
{
    static const struct {
        abx_request request;
        abx_status status;
    } cases[] = {
        { { .kind = ABX_REQUEST_PATH, .access = 3, .target = "/a" }, ABX_ERR_INVALID },
        { { .kind = ABX_REQUEST_PATH, .access = 1, .target = "a" }, ABX_ERR_INVALID },
        { { .kind = ABX_REQUEST_CONNECT, .target = "a.test" }, ABX_ERR_INVALID },
        { { .kind = ABX_REQUEST_HTTP, .target = "ftp://a.test" }, ABX_ERR_INVALID },
        { { .kind = ABX_REQUEST_HTTP, .target = "http://a.test:80x/" }, ABX_ERR_INVALID },
        { { .kind = ABX_REQUEST_HTTP, .target = "http://a.test:+80/" }, ABX_ERR_INVALID },
        { { .kind = ABX_REQUEST_HTTP, .target = "http://a.test: 80" }, ABX_ERR_INVALID },
        { { .kind = ABX_REQUEST_HTTP, .target = "http://a.test:65536" }, ABX_ERR_INVALID },
        { { .kind = ABX_REQUEST_HTTP, .target = "http://a.test:0" }, ABX_ERR_INVALID },
        { { .kind = ABX_REQUEST_HTTP, .target = "http://a.test:/" }, ABX_ERR_INVALID },
        { { .kind = ABX_REQUEST_HTTP, .target = "https://[::1]:4294967739/" }, ABX_ERR_INVALID },
        { { .kind = ABX_REQUEST_HTTP, .target = "https://:443/" }, ABX_ERR_INVALID },
        { { .kind = ABX_REQUEST_SYSCALL, .target = "mount" }, ABX_ERR_UNSUPPORTED },
    };
    abx_decision decision = { .size = sizeof decision };
    abx_request request = cases[_i].request;

    request.size = sizeof request;
    ck_assert_int_eq(
            abx_box_attempt(test.box, NULL, &request, &decision, NULL, NULL), cases[_i].status);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("simulated");
    TCase *tests = tcase_create("box");

    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, what_the_policy_allows_is_allowed_and_no_event);
    tcase_add_test(tests, what_the_policy_denies_is_an_event_with_its_rule);
    tcase_add_test(tests, a_request_is_decided_after_its_connection);
    tcase_add_test(tests, a_link_is_what_it_leads_to);
    tcase_add_loop_test(tests, a_held_attempt_goes_on_by_its_answer, 0, 2);
    tcase_add_test(tests, equal_attempts_share_a_question);
    tcase_add_test(tests, a_killed_box_answers_nobody);
    tcase_add_test(tests, a_grant_lifts_what_is_asked_about);
    tcase_add_test(tests, a_command_is_its_attempts);
    tcase_add_loop_test(tests, a_command_ends_as_a_shell_would, 0, 9);
    tcase_add_test(tests, a_command_waits_for_the_answer_and_goes_on);
    tcase_add_loop_test(tests, a_signal_or_the_time_limit_ends_what_pauses_or_is_held, 0, 4);
    tcase_add_test(tests, an_attempt_is_a_running_commands);
    tcase_add_loop_test(tests, a_program_is_refused_with_what_there_is, 0, 13);
    tcase_add_test(tests, the_receipt_says_that_nothing_is_enforced);
    tcase_add_loop_test(tests, bad_attempts_are_refused, 0, 13);
    suite_add_tcase(suite, tests);
    return suite;
}

UNIT_MAIN(make_suite)
