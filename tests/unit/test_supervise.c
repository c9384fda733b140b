/* SPDX-License-Identifier: Apache-2.0
 * The supervisor over a backend without an operating system: decisions, events, approvals, grants,
 * commands and their end. */
#include "supervise/approvals.h"

#include "base/mem.h"
#include "fake_box.h"
#include "plan/wire.h"
#include "unit/main.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char policy_json[] =
        "{\"version\":1,\"filesystem\":{"
        "\"read\":{\"allow\":[\"/\"],\"deny\":[{\"path\":\"/secret\",\"reason\":\"keep out\","
        "\"instead\":\"ask for a copy\"}]},"
        "\"write\":{\"allow\":[\"/w\"],\"deny\":[\"/w/lock\"],\"ask\":[\"/w/ask\"]},"
        "\"protect\":{\"defaults\":false}},"
        "\"environment\":{\"set\":{\"CI\":\"1\"},\"pass\":[\"ABX_TEST_PASSED\"]},"
        "\"limits\":{\"output\":4096},\"approvals\":{\"timeout_ms\":60000,\"per_minute\":5}}";

static abx_context *context;
static abx_box *box;

static void
open_with(const char *json, size_t events)
{
    struct fail fail = { 0 };
    abx_policy *policy = fake_policy(json);

    setenv("ABX_TEST_PASSED", "yes", 1);
    ck_assert_int_eq(context_new(&fake_backend, NULL, events, &context, &fail), ABX_OK);
    ck_assert_msg(
            box_open(context, policy, NULL, &box, &fail) == ABX_OK, "%s %s", fail.step, fail.text);
    abx_policy_unref(policy);
}

static void
set_up(void)
{
    open_with(policy_json, 100);
}

static void
tear_down(void)
{
    box_unref(box);
    context_unref(context);
    ck_assert_uint_eq(fake_open_boundaries(), 0);
}

static abx_process *
spawn(const abx_spawn_options *options)
{
    static const char *const argv[] = { "fake", NULL };
    static const abx_spawn_options defaults = { .size = sizeof defaults };
    abx_error *error = NULL;
    abx_process *process = NULL;

    ck_assert_msg(abx_box_spawn(box, argv, options == NULL ? &defaults : options, &process,
                          &error) == ABX_OK,
            "%s", abx_error_get_message(error));
    return process;
}

/* The next event of this type; those of other types are passed over. */
static abx_event *
next_event(uint32_t type)
{
    abx_event *event = NULL;

    while (abx_context_next_event(context, &event) == ABX_OK) {
        if (abx_event_get_type(event) == type) {
            return event;
        }
        abx_event_unref(event);
    }
    return NULL;
}

static void
expect_no_event(uint32_t type)
{
    ck_assert_ptr_null(next_event(type));
}

static abx_status
answer(uint64_t ticket, abx_verdict verdict, uint32_t scope, const char *message)
{
    abx_answer reply = {
        .size = sizeof reply,
        .verdict = verdict,
        .scope = scope,
        .message = message,
        .approver = "pat",
        .expires_ms = scope == ABX_SCOPE_UNTIL ? event_time_now() / 1000000 + 60000 : 0,
    };

    return abx_context_answer(context, ticket, &reply, NULL);
}

/* ---- decisions and denials ---- */
START_TEST(a_denial_says_what_who_which_rule_and_what_instead)
{
    abx_spawn_options options = { .size = sizeof options, .label = "call-7" };
    abx_process *process = spawn(&options);
    uint64_t id = abx_process_get_id(process);
    abx_event *event;

    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_READ, "/secret/key", NULL), ABX_VERDICT_DENY);
    event = next_event(ABX_EVENT_DENIAL);
    ck_assert_ptr_nonnull(event);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_TARGET), "/secret/key");
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_LABEL), "call-7");
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_PROGRAM), "/usr/bin/fake");
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_REASON), "keep out");
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_ALTERNATIVE), "ask for a copy");
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_RULE), "/filesystem/read/deny/0");
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_BACKEND), "fake");
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_VERB), "open");
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_LAYER), ABX_LAYER_FILESYSTEM);
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_REQUEST), ABX_REQUEST_PATH);
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_ACCESS), ABX_ACCESS_READ);
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_PID), 1234);
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_REPEATS), 1);
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_RETRY), ABX_RETRY_NONE);
    ck_assert_uint_eq((uint64_t)abx_event_get_int(event, ABX_FIELD_PROCESS), id);
    abx_event_unref(event);
    fake_exit(id, ABX_EXIT_CODE, 0, false);
    abx_process_unref(process);
}
END_TEST

START_TEST(what_the_policy_allows_makes_no_event)
{
    abx_process *process = spawn(NULL);
    uint64_t id = abx_process_get_id(process);

    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_WRITE, "/w/file", NULL), ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_READ, "/usr/lib/x", NULL), ABX_VERDICT_ALLOW);
    expect_no_event(ABX_EVENT_DENIAL);
    fake_exit(id, ABX_EXIT_CODE, 1, false);
    abx_process_unref(process);
}
END_TEST

START_TEST(a_loop_of_denials_makes_few_events_and_loses_no_count)
{
    abx_process *process = spawn(NULL);
    uint64_t id = abx_process_get_id(process);
    abx_exit result = { .size = sizeof result };
    const size_t looks = fake_programs_looked_up();
    int64_t told = 0;
    size_t events = 0;
    abx_event *event;

    for (int i = 0; i < 20000; i++) {
        fake_try(id, ABX_ACCESS_WRITE, "/w/lock", NULL);
        if (i % 100 == 0 && (event = next_event(ABX_EVENT_DENIAL)) != NULL) {
            told += abx_event_get_int(event, ABX_FIELD_REPEATS);
            events++;
            abx_event_unref(event);
        }
    }
    fake_try(id, ABX_ACCESS_READ, "/secret/other", NULL);
    fake_exit(id, ABX_EXIT_CODE, 0, false);
    while ((event = next_event(ABX_EVENT_DENIAL)) != NULL) {
        if (strcmp(abx_event_get_string(event, ABX_FIELD_TARGET), "/w/lock") == 0) {
            told += abx_event_get_int(event, ABX_FIELD_REPEATS);
        }
        events++;
        abx_event_unref(event);
    }
    ck_assert_int_eq(told, 20000);
    ck_assert_uint_lt(events, 20);
    ck_assert_uint_lt(fake_programs_looked_up() - looks, 20); /* what is only counted is not */
    ck_assert_int_eq(abx_process_wait(process, 0, &result), ABX_OK);
    ck_assert_uint_eq(result.denials, 20001);
    abx_process_unref(process);
}
END_TEST

START_TEST(many_different_denials_stay_bounded_and_counted)
{
    abx_process *process = spawn(NULL);
    uint64_t id = abx_process_get_id(process);
    abx_exit result = { .size = sizeof result };
    char *text;
    size_t length;

    for (int i = 0; i < 3000; i++) {
        char target[64];

        snprintf(target, sizeof target, "/secret/%d", i);
        fake_try(id, ABX_ACCESS_READ, target, NULL);
    }
    fake_exit(id, ABX_EXIT_CODE, 0, false);
    ck_assert_int_eq(abx_process_wait(process, 0, &result), ABX_OK);
    ck_assert_uint_eq(result.denials, 3000);
    ck_assert_int_eq(abx_process_explain(process, "text", &text, &length), ABX_OK);
    ck_assert_ptr_nonnull(strstr(text, "and 2980 more"));
    ck_assert_uint_lt(length, 8192);
    abx_free(text);
    abx_process_unref(process);
}
END_TEST

START_TEST(started_comes_first_and_exited_last)
{
    abx_process *process = spawn(NULL);
    uint64_t id = abx_process_get_id(process);
    static const uint32_t order[] = { ABX_EVENT_STARTED, ABX_EVENT_DENIAL, ABX_EVENT_EXITED };
    int64_t sequence = 0;

    fake_try(id, ABX_ACCESS_READ, "/secret", NULL);
    fake_exit(id, ABX_EXIT_CODE, 3, false);
    for (size_t i = 0; i < N_ELEMENTS(order); i++) {
        abx_event *event = NULL;

        ck_assert_int_eq(abx_context_next_event(context, &event), ABX_OK);
        ck_assert_uint_eq(abx_event_get_type(event), order[i]);
        ck_assert_int_gt(abx_event_get_int(event, ABX_FIELD_SEQUENCE), sequence);
        sequence = abx_event_get_int(event, ABX_FIELD_SEQUENCE);
        abx_event_unref(event);
    }
    abx_process_unref(process);
}
END_TEST

START_TEST(events_of_all_boxes_are_counted_by_their_context)
{
    abx_policy *policy = fake_policy(policy_json);
    abx_process *first = spawn(NULL), *second;
    abx_box *one = box, *other = NULL;
    struct fail fail = { 0 };

    ck_assert_int_eq(box_open(context, policy, NULL, &other, &fail), ABX_OK);
    box = other;
    second = spawn(NULL);
    for (int64_t i = 1; i <= 2; i++) {
        abx_event *event = next_event(ABX_EVENT_STARTED);

        ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_BOX), i);
        ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_PROCESS), i);
        ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_SEQUENCE), i);
        abx_event_unref(event);
    }
    box = one;
    abx_process_unref(first);
    abx_process_unref(second);
    box_unref(other);
    abx_policy_unref(policy);
}
END_TEST

START_TEST(a_refused_system_call_is_told_with_its_name)
{
    abx_process *process = spawn(NULL);
    struct act act = { .request = ABX_REQUEST_SYSCALL, .target = "ptrace", .content = -1 };
    abx_event *event;

    fake_report(ABX_EVENT_DENIAL, abx_process_get_id(process), &act, "not in a box");
    event = next_event(ABX_EVENT_DENIAL);
    ck_assert_ptr_nonnull(event);
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_LAYER), ABX_LAYER_PROCESS);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_TARGET), "ptrace");
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_RULE), "boundary");
    abx_event_unref(event);
    abx_process_unref(process);
}
END_TEST

START_TEST(background_processes_keep_their_label)
{
    abx_spawn_options options = { .size = sizeof options, .label = "server" };
    abx_process *process = spawn(&options);
    uint64_t id = abx_process_get_id(process);
    abx_event *event;

    fake_exit(id, ABX_EXIT_CODE, 0, true);
    fake_try(id, ABX_ACCESS_READ, "/secret/late", NULL);
    event = next_event(ABX_EVENT_DENIAL);
    ck_assert_ptr_nonnull(event);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_LABEL), "server");
    ck_assert_uint_eq((uint64_t)abx_event_get_int(event, ABX_FIELD_PROCESS), id);
    abx_event_unref(event);
    abx_process_unref(process);
}
END_TEST

START_TEST(explain_is_made_from_events_and_empty_without_them)
{
    abx_process *process = spawn(NULL);
    uint64_t id = abx_process_get_id(process);
    char *text;
    size_t length;

    ck_assert_int_eq(abx_process_explain(process, "text", &text, &length), ABX_OK);
    ck_assert_str_eq(text, "");
    abx_free(text);
    ck_assert_int_eq(abx_process_explain(process, "json", &text, &length), ABX_OK);
    ck_assert_str_eq(text, "");
    abx_free(text);
    fake_try(id, ABX_ACCESS_READ, "/secret/key", NULL);
    fake_try(id, ABX_ACCESS_READ, "/secret/key", NULL);
    fake_exit(id, ABX_EXIT_CODE, 0, false);
    ck_assert_int_eq(abx_process_explain(process, "text", &text, &length), ABX_OK);
    ck_assert_ptr_nonnull(strstr(text,
            "- read '/secret/key' by '/usr/bin/fake': denied by rule '/filesystem/read/deny/0'"));
    ck_assert_ptr_nonnull(strstr(text, ", 2 times. Reason: keep out. Instead: ask for a copy.\n"));
    abx_free(text);
    ck_assert_int_eq(abx_process_explain(process, "json", &text, &length), ABX_OK);
    ck_assert_ptr_nonnull(
            strstr(text, "\"denials\":2,\"more\":0,\"events\":[{\"type\":\"denial\""));
    ck_assert_ptr_nonnull(strstr(text, "\"repeats\":2"));
    abx_free(text);
    ck_assert_int_eq(abx_process_explain(process, "html", &text, &length), ABX_ERR_INVALID);
    abx_process_unref(process);
}
END_TEST

START_TEST(denials_of_another_program_are_counted_apart)
{
    static const int32_t pids[] = { 1234, 1235, 1236, 1235, 1234 };
    abx_process *process = spawn(NULL);
    uint64_t id = abx_process_get_id(process);
    abx_event *event;

    for (size_t i = 0; i < sizeof pids / sizeof pids[0]; i++) {
        fake_try_by(pids[i], id, ABX_ACCESS_WRITE, "/w/lock");
    }
    fake_exit(id, ABX_EXIT_CODE, 0, false);
    event = next_event(ABX_EVENT_DENIAL);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_PROGRAM), "/usr/bin/fake");
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_REPEATS), 3);
    abx_event_unref(event);
    event = next_event(ABX_EVENT_DENIAL);
    ck_assert_ptr_nonnull(strstr(abx_event_get_string(event, ABX_FIELD_PROGRAM), "other"));
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_REPEATS), 2);
    abx_event_unref(event);
    ck_assert_ptr_null(next_event(ABX_EVENT_DENIAL));
    abx_process_unref(process);
}
END_TEST

START_TEST(equal_denials_of_many_targets_are_one_line_for_a_model)
{
    static const char *const targets[] = { "/secret/a", "/secret/b", "/secret/c", "/secret/d",
        "/secret/e", "/secret/a" };
    abx_process *process = spawn(NULL);
    uint64_t id = abx_process_get_id(process);
    char *text;
    size_t length;

    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        fake_try(id, ABX_ACCESS_READ, targets[i], NULL);
    }
    fake_exit(id, ABX_EXIT_CODE, 0, false);
    ck_assert_int_eq(abx_process_explain(process, "text", &text, &length), ABX_OK);
    ck_assert_msg(strstr(text, "- read '/secret/a', '/secret/b', '/secret/c' and 2 more by "
                               "'/usr/bin/fake': denied by rule '/filesystem/read/deny/0'") != NULL,
            "%s", text);
    ck_assert_ptr_nonnull(strstr(text, ", 6 times. Reason: keep out."));
    ck_assert_ptr_null(strstr(text, "/secret/e"));
    abx_free(text);
    ck_assert_int_eq(abx_process_explain(process, "json", &text, &length), ABX_OK);
    ck_assert_ptr_nonnull(strstr(text, "/secret/e"));
    abx_free(text);
    abx_process_unref(process);
}
END_TEST

/* ---- approvals ---- */
START_TEST(a_held_call_is_answered_once)
{
    abx_process *process = spawn(NULL);
    uint64_t id = abx_process_get_id(process), ticket = 0;
    abx_event *event;

    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_WRITE, "/w/ask/f", &ticket), ABX_VERDICT_ASK);
    event = next_event(ABX_EVENT_APPROVAL);
    ck_assert_ptr_nonnull(event);
    ck_assert_uint_eq((uint64_t)abx_event_get_int(event, ABX_FIELD_TICKET), ticket);
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_RETRY), ABX_RETRY_HELD);
    ck_assert_int_gt(abx_event_get_int(event, ABX_FIELD_DEADLINE_MS), event_time_now() / 1000000);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_ADDS),
            "{\"request\":\"path\",\"access\":\"write\",\"target\":\"/w/ask/f\"}");
    abx_event_unref(event);
    ck_assert_int_eq(fake_answer_to(ticket), -1);
    ck_assert_int_eq(answer(ticket, ABX_VERDICT_ALLOW, ABX_SCOPE_ONCE, NULL), ABX_OK);
    ck_assert_int_eq(fake_answer_to(ticket), ABX_VERDICT_ALLOW);
    ck_assert_int_eq(answer(ticket, ABX_VERDICT_ALLOW, ABX_SCOPE_ONCE, NULL), ABX_ERR_STATE);
    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_WRITE, "/w/ask/f", &ticket), ABX_VERDICT_ASK);
    abx_process_unref(process);
}
END_TEST

START_TEST(equal_questions_share_a_ticket)
{
    abx_process *process = spawn(NULL);
    uint64_t id = abx_process_get_id(process), first, second, other;

    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_WRITE, "/w/ask/f", &first), ABX_VERDICT_ASK);
    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_WRITE, "/w/ask/f", &second), ABX_VERDICT_ASK);
    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_WRITE, "/w/ask/g", &other), ABX_VERDICT_ASK);
    ck_assert_uint_eq(first, second);
    ck_assert_uint_ne(first, other);
    abx_event_unref(next_event(ABX_EVENT_APPROVAL));
    abx_event_unref(next_event(ABX_EVENT_APPROVAL));
    expect_no_event(ABX_EVENT_APPROVAL);
    abx_process_unref(process);
}
END_TEST

START_TEST(a_refusal_is_a_denial_with_the_approvers_words)
{
    abx_process *process = spawn(NULL);
    uint64_t ticket;
    abx_event *event;

    fake_try(abx_process_get_id(process), ABX_ACCESS_WRITE, "/w/ask/f", &ticket);
    ck_assert_int_eq(answer(ticket, ABX_VERDICT_DENY, ABX_SCOPE_ONCE, "not on a Friday"), ABX_OK);
    ck_assert_int_eq(fake_answer_to(ticket), ABX_VERDICT_DENY);
    event = next_event(ABX_EVENT_DENIAL);
    ck_assert_ptr_nonnull(event);
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_LAYER), ABX_LAYER_APPROVAL);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_REASON), "not on a Friday");
    abx_event_unref(event);
    abx_process_unref(process);
}
END_TEST

static const struct scope_case {
    const char *name;
    uint32_t scope;
    abx_verdict same_command, other_command;
} scope_cases[] = {
    { "once is for the held call only", ABX_SCOPE_ONCE, ABX_VERDICT_ASK, ABX_VERDICT_ASK },
    { "command ends with its command", ABX_SCOPE_COMMAND, ABX_VERDICT_ALLOW, ABX_VERDICT_ASK },
    { "box is for all its commands", ABX_SCOPE_BOX, ABX_VERDICT_ALLOW, ABX_VERDICT_ALLOW },
    { "until likewise", ABX_SCOPE_UNTIL, ABX_VERDICT_ALLOW, ABX_VERDICT_ALLOW },
};

START_TEST(scopes_of_an_answer)
{
    const struct scope_case *c = &scope_cases[_i];
    abx_process *one = spawn(NULL), *two = spawn(NULL);
    uint64_t ticket, first = abx_process_get_id(one);

    fake_try(first, ABX_ACCESS_WRITE, "/w/ask/f", &ticket);
    ck_assert_int_eq(answer(ticket, ABX_VERDICT_ALLOW, c->scope, NULL), ABX_OK);
    ck_assert_msg(
            fake_try(first, ABX_ACCESS_WRITE, "/w/ask/f", NULL) == c->same_command, "%s", c->name);
    ck_assert_msg(fake_try(abx_process_get_id(two), ABX_ACCESS_WRITE, "/w/ask/f", NULL) ==
                          c->other_command,
            "%s", c->name);
    ck_assert_uint_eq(fake_try(first, ABX_ACCESS_WRITE, "/w/ask/f2", NULL), ABX_VERDICT_ASK);
    abx_process_unref(one);
    abx_process_unref(two);
}
END_TEST

START_TEST(no_answer_by_the_deadline_is_a_denial)
{
    abx_process *process;
    struct pollfd wait = { .events = POLLIN };
    uint64_t ticket;
    abx_event *event = NULL;

    tear_down();
    open_with("{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]},"
              "\"write\":{\"ask\":[\"/w\"]}},\"approvals\":{\"timeout_ms\":30}}",
            100);
    process = spawn(NULL);
    wait.fd = (int)abx_context_take_wait_handle(context);
    ck_assert_uint_eq(fake_try(abx_process_get_id(process), ABX_ACCESS_WRITE, "/w/f", &ticket),
            ABX_VERDICT_ASK);
    while (event == NULL) {
        ck_assert_int_eq(poll(&wait, 1, 5000), 1);
        event = next_event(ABX_EVENT_DENIAL);
    }
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_LAYER), ABX_LAYER_APPROVAL);
    abx_event_unref(event);
    ck_assert_int_eq(answer(ticket, ABX_VERDICT_ALLOW, ABX_SCOPE_BOX, NULL), ABX_ERR_STATE);
    close(wait.fd);
    abx_process_unref(process);
}
END_TEST

START_TEST(no_deadline_passes_while_the_box_closes)
{
    abx_process *process;
    uint64_t ticket;

    tear_down();
    open_with("{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]},"
              "\"write\":{\"ask\":[\"/w\"]}},\"approvals\":{\"timeout_ms\":1000}}",
            100);
    process = spawn(NULL);
    ck_assert_uint_eq(fake_try(abx_process_get_id(process), ABX_ACCESS_WRITE, "/w/f", &ticket),
            ABX_VERDICT_ASK);
    fake_slow_close(1500);
    abx_box_unref(box);
    box = NULL;
    ck_assert_int_eq(fake_answer_to(ticket), -1);
    ck_assert_ptr_null(next_event(ABX_EVENT_DENIAL));
    abx_process_unref(process);
}
END_TEST

START_TEST(questions_are_limited_per_minute)
{
    abx_process *process = spawn(NULL);
    uint64_t id = abx_process_get_id(process);
    char target[32];

    for (int i = 0; i < 5; i++) {
        snprintf(target, sizeof target, "/w/ask/%d", i);
        ck_assert_uint_eq(fake_try(id, ABX_ACCESS_WRITE, target, NULL), ABX_VERDICT_ASK);
    }
    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_WRITE, "/w/ask/more", NULL), ABX_VERDICT_DENY);
    abx_process_unref(process);
}
END_TEST

START_TEST(an_interrupted_call_that_comes_back_gets_the_answer)
{
    abx_process *process = spawn(NULL);
    uint64_t id = abx_process_get_id(process), ticket, again;

    fake_try(id, ABX_ACCESS_WRITE, "/w/ask/f", &ticket);
    fake_withdraw(ticket);
    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_WRITE, "/w/ask/f", &again), ABX_VERDICT_ASK);
    ck_assert_uint_eq(ticket, again);
    fake_withdraw(ticket);
    ck_assert_int_eq(answer(ticket, ABX_VERDICT_ALLOW, ABX_SCOPE_ONCE, NULL), ABX_OK);
    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_WRITE, "/w/ask/f", NULL), ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_WRITE, "/w/ask/f", NULL), ABX_VERDICT_ASK);
    abx_process_unref(process);
}
END_TEST

START_TEST(a_question_ends_with_its_command)
{
    abx_process *process = spawn(NULL);
    uint64_t id = abx_process_get_id(process), ticket;

    fake_try(id, ABX_ACCESS_WRITE, "/w/ask/f", &ticket);
    fake_withdraw(ticket);
    fake_exit(id, ABX_EXIT_SIGNAL, 2, false);
    ck_assert_int_eq(answer(ticket, ABX_VERDICT_ALLOW, ABX_SCOPE_BOX, NULL), ABX_ERR_STATE);
    abx_process_unref(process);
}
END_TEST

/* ---- grants ---- */
static abx_status
grant(const char *target, uint32_t access, int64_t expires_ms, uint32_t uses, uint64_t *ret_grant)
{
    abx_request pattern = {
        .size = sizeof pattern,
        .kind = ABX_REQUEST_PATH,
        .access = access,
        .target = target,
    };

    return abx_box_grant(box, &pattern, expires_ms, uses, "pat", ret_grant, NULL);
}

START_TEST(nothing_is_asked_or_refused_while_a_box_dies)
{
    abx_process *process = spawn(NULL);
    uint64_t ticket = 0;

    ck_assert_int_eq(abx_box_kill(box), ABX_OK);
    ck_assert_uint_eq(fake_try(abx_process_get_id(process), ABX_ACCESS_WRITE, "/w/ask/f", &ticket),
            ABX_VERDICT_ASK);
    expect_no_event(ABX_EVENT_APPROVAL);
    expect_no_event(ABX_EVENT_DENIAL);
    ck_assert_int_eq(fake_answer_to(ticket), -1);
    abx_process_unref(process);
}
END_TEST

START_TEST(a_grant_adds_exactly_one_request)
{
    abx_process *process = spawn(NULL);
    uint64_t id = abx_process_get_id(process), given;

    ck_assert_int_eq(grant("/w/ask/f", ABX_ACCESS_WRITE, 0, 0, &given), ABX_OK);
    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_WRITE, "/w/ask/f", NULL), ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_WRITE, "/w/ask/f2", NULL), ABX_VERDICT_ASK);
    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_WRITE, "/w/ask", NULL), ABX_VERDICT_ASK);
    ck_assert_int_eq(abx_box_revoke(box, given), ABX_OK);
    ck_assert_int_eq(abx_box_revoke(box, given), ABX_ERR_STATE);
    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_WRITE, "/w/ask/f", NULL), ABX_VERDICT_ASK);
    abx_process_unref(process);
}
END_TEST

START_TEST(a_grant_covers_all_below_on_request_and_counts_down)
{
    abx_process *process = spawn(NULL);
    uint64_t id = abx_process_get_id(process), given, free;

    ck_assert_int_eq(grant("/w/ask/**", ABX_ACCESS_WRITE, 0, 2, &given), ABX_OK);
    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_WRITE, "/w/ask/a/b", NULL), ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_WRITE, "/w/ask/c", NULL), ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_WRITE, "/w/ask/d", NULL), ABX_VERDICT_ASK);
    ck_assert_int_eq(grant("/w/ask/f", ABX_ACCESS_WRITE, 0, 1, &given), ABX_OK);
    ck_assert_int_eq(grant("/w/ask/f", ABX_ACCESS_WRITE, 0, 0, &free), ABX_OK);
    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_WRITE, "/w/ask/f", NULL), ABX_VERDICT_ALLOW);
    ck_assert_int_eq(abx_box_revoke(box, free), ABX_OK);
    ck_assert_int_eq(abx_box_revoke(box, given), ABX_OK);
    abx_process_unref(process);
}
END_TEST

START_TEST(what_would_be_over_is_not_given)
{
    const abx_request pattern = { .size = sizeof pattern,
        .kind = ABX_REQUEST_PATH,
        .access = ABX_ACCESS_WRITE,
        .target = "/w/ask/f" };
    abx_answer yes = { .size = sizeof yes,
        .verdict = ABX_VERDICT_ALLOW,
        .scope = ABX_SCOPE_UNTIL,
        .expires_ms = event_time_now() / 1000000 - 1000 };
    abx_process *process = spawn(NULL);
    abx_error *error = NULL;
    uint64_t given, ticket;

    ck_assert_int_eq(abx_box_grant(box, &pattern, yes.expires_ms, 0, "pat", &given, &error),
            ABX_ERR_INVALID);
    ck_assert_str_eq(abx_error_get_message(error), "expires_ms is over already");
    abx_error_unref(error);
    ck_assert_uint_eq(fake_try(abx_process_get_id(process), ABX_ACCESS_WRITE, "/w/ask/f", &ticket),
            ABX_VERDICT_ASK);
    ck_assert_int_eq(abx_context_answer(context, ticket, &yes, NULL), ABX_ERR_INVALID);
    yes.expires_ms = -1;
    ck_assert_int_eq(abx_context_answer(context, ticket, &yes, NULL), ABX_ERR_INVALID);
    ck_assert_int_eq(fake_answer_to(ticket), -1);
    abx_process_unref(process);
}
END_TEST

START_TEST(who_gives_a_grant_has_a_name_that_is_seen)
{
    const abx_request pattern = { .size = sizeof pattern,
        .kind = ABX_REQUEST_PATH,
        .access = ABX_ACCESS_WRITE,
        .target = "/w/ask/f" };
    char longest[258];
    uint64_t given;

    memset(longest, 'a', sizeof longest);
    longest[257] = '\0';
    ck_assert_int_eq(
            abx_box_grant(box, &pattern, 0, 0, "a\xe2\x80\x8b", &given, NULL), ABX_ERR_INVALID);
    ck_assert_int_eq(abx_box_grant(box, &pattern, 0, 0, longest, &given, NULL), ABX_ERR_INVALID);
    longest[256] = '\0';
    ck_assert_int_eq(abx_box_grant(box, &pattern, 0, 0, longest, &given, NULL), ABX_OK);
    ck_assert_int_eq(abx_box_grant(box, &pattern, 0, 0, "", &given, NULL), ABX_OK);
}
END_TEST

START_TEST(no_grant_lifts_what_a_rule_denies)
{
    abx_process *process = spawn(NULL);
    uint64_t id = abx_process_get_id(process), given;

    ck_assert_int_eq(grant("/w/lock", ABX_ACCESS_WRITE, 0, 0, &given), ABX_ERR_DENIED);
    ck_assert_int_eq(grant("/w/lock/**", ABX_ACCESS_WRITE, 0, 0, &given), ABX_ERR_DENIED);
    ck_assert_int_eq(grant("/w/lock/a/**", ABX_ACCESS_WRITE, 0, 0, &given), ABX_ERR_DENIED);
    ck_assert_int_eq(grant("/secret/**", ABX_ACCESS_READ, 0, 0, &given), ABX_ERR_DENIED);
    ck_assert_int_eq(grant("/w/**", ABX_ACCESS_WRITE, 0, 0, &given), ABX_OK);
    ck_assert_int_eq(grant("/**", ABX_ACCESS_WRITE, 0, 0, &given), ABX_OK);
    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_WRITE, "/w/lock", NULL), ABX_VERDICT_DENY);
    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_WRITE, "/elsewhere", NULL), ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_READ, "/secret", NULL), ABX_VERDICT_DENY);
    abx_process_unref(process);
}
END_TEST

static const struct target_case {
    const char *name, *spelled, *target;
    bool below;
} target_cases[] = {
    { "a path", "/a/b", "/a/b", false },
    { "all below", "/a/**", "/a", true },
    { "all", "/**", "/", true },
    { "the root", "/", "/", false },
    { "escaped bytes", "/a\\x0A\\\\b", "/a\n\\b", false },
    { "relative", "a/b", NULL, false },
    { "a dot", "/a/.", NULL, false },
    { "dots", "/a/../b", NULL, false },
    { "a slash too many", "/a//b", NULL, false },
    { "a slash at the end", "/a/", NULL, false },
    { "an escaped NUL", "/a\\x00b", NULL, false },
    { "hidden dots stay a name", "/a/...", "/a/...", false },
};

START_TEST(targets_of_grants)
{
    const struct target_case *c = &target_cases[_i];
    bool below = false;
    char *target = grant_target(c->spelled, &below);

    if (c->target == NULL) {
        ck_assert_msg(target == NULL, "%s: %s", c->name, target);
    } else {
        ck_assert_msg(target != NULL && strcmp(target, c->target) == 0, "%s: %s", c->name, target);
        ck_assert_msg(below == c->below, "%s", c->name);
    }
    free(target);
}
END_TEST

/* ---- commands ---- */
START_TEST(the_environment_is_the_policys_and_the_callers)
{
    static const char *const extra[] = { "EXTRA=2", NULL };
    static const char *const forbidden[] = { "CI=0", NULL };
    static const char *const argv[] = { "fake", NULL };
    abx_spawn_options options = { .size = sizeof options, .env = extra, .cwd = "/w" };
    abx_process *process;
    const char *environment;

    setenv("ABX_TEST_NOT_PASSED", "secret", 1);
    process = spawn(&options);
    environment = fake_environment(abx_process_get_id(process));
    ck_assert_ptr_nonnull(strstr(environment, "PATH=/usr/local/bin:"));
    ck_assert_ptr_nonnull(strstr(environment, "\nCI=1\n"));
    ck_assert_ptr_nonnull(strstr(environment, "\nEXTRA=2\n"));
    ck_assert_ptr_nonnull(strstr(environment, "\nABX_TEST_PASSED=yes\n"));
    ck_assert_ptr_null(strstr(environment, "secret"));
    ck_assert_ptr_null(strstr(environment, "TMPDIR"));
    ck_assert_str_eq(fake_cwd(abx_process_get_id(process)), "/w");
    abx_process_unref(process);
    options.env = forbidden;
    ck_assert_int_eq(abx_box_spawn(box, argv, &options, &process, NULL), ABX_ERR_DENIED);
}
END_TEST

START_TEST(captured_output_is_kept_up_to_the_limit)
{
    abx_spawn_options options = {
        .size = sizeof options,
        .stdio = { ABX_STDIO_NULL, ABX_STDIO_CAPTURE, ABX_STDIO_CAPTURE },
    };
    abx_process *process = spawn(&options);
    uint64_t id = abx_process_get_id(process);
    char data[5000];
    char *text;
    size_t length = 0;

    memset(data, 'x', sizeof data);
    fake_write(id, 1, "hello\n", 6);
    fake_write(id, 2, data, sizeof data);
    ck_assert_ptr_null(abx_process_get_output(process, 1, &length));
    fake_exit(id, ABX_EXIT_CODE, 0, false);
    ck_assert_str_eq(abx_process_get_output(process, 1, &length), "hello\n");
    ck_assert_uint_eq(length, 6);
    ck_assert_ptr_nonnull(abx_process_get_output(process, 2, &length));
    ck_assert_uint_eq(length, 4096);
    ck_assert_ptr_null(abx_process_get_output(process, 0, &length));
    ck_assert_int_eq(abx_process_explain(process, "text", &text, &length), ABX_OK);
    ck_assert_str_eq(text,
            "What follows reached a limit: the same again right away would reach it, too.\n"
            "- output 'stderr': 4096 bytes were kept, 904 more were written. Instead: have it "
            "print less, or write to a file.\n");
    abx_free(text);
    abx_process_unref(process);
}
END_TEST

START_TEST(a_background_process_can_go_on_writing_after_the_exit)
{
    abx_spawn_options options = {
        .size = sizeof options,
        .stdio = { ABX_STDIO_NULL, ABX_STDIO_CAPTURE, ABX_STDIO_CAPTURE },
    };
    abx_process *process = spawn(&options);
    uint64_t id = abx_process_get_id(process);
    char data[1000] = "";
    size_t length;

    fake_write(id, 1, "before", 6);
    fake_exit(id, ABX_EXIT_CODE, 0, true);
    for (int i = 0; i < 500; i++) { /* more than a pipe holds */
        fake_write(id, 1, data, sizeof data);
    }
    ck_assert_str_eq(abx_process_get_output(process, 1, &length), "before");
    ck_assert_uint_eq(length, 6);
    abx_process_unref(process);
}
END_TEST

START_TEST(pipes_are_taken_once)
{
    abx_spawn_options options = {
        .size = sizeof options,
        .stdio = { ABX_STDIO_PIPE, ABX_STDIO_PIPE, ABX_STDIO_NULL },
    };
    abx_process *process = spawn(&options);
    uint64_t id = abx_process_get_id(process);
    int out = (int)abx_process_take_stdio(process, 1);
    char buffer[8] = "";

    ck_assert_int_ge(out, 0);
    ck_assert_int_eq(abx_process_take_stdio(process, 1), -1);
    ck_assert_int_eq(abx_process_take_stdio(process, 2), -1);
    ck_assert_int_eq(fcntl(out, F_GETFD), FD_CLOEXEC);
    fake_write(id, 1, "hi", 2);
    ck_assert_int_eq(read(out, buffer, sizeof buffer), 2);
    fake_exit(id, ABX_EXIT_CODE, 0, false);
    ck_assert_int_eq(read(out, buffer, sizeof buffer), 0);
    close(out);
    abx_process_unref(process);
}
END_TEST

START_TEST(a_directory_is_no_stream)
{
    static const char *const argv[] = { "fake", NULL };
    int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    abx_spawn_options options = {
        .size = sizeof options,
        .stdio = { ABX_STDIO_HANDLE, ABX_STDIO_NULL, ABX_STDIO_NULL },
        .handle = { fd, 0, 0 },
    };
    abx_process *process;

    ck_assert_int_eq(abx_box_spawn(box, argv, &options, &process, NULL), ABX_ERR_INVALID);
    options.handle[0] = 9999;
    ck_assert_int_eq(abx_box_spawn(box, argv, &options, &process, NULL), ABX_ERR_INVALID);
    close(fd);
}
END_TEST

START_TEST(the_wall_limit_ends_a_command)
{
    abx_spawn_options options = { .size = sizeof options, .timeout_ms = 20 };
    abx_process *process = spawn(&options);
    abx_exit result = { .size = sizeof result };
    char *text;

    ck_assert_int_eq(abx_process_wait(process, 0, &result), ABX_NONE);
    ck_assert_int_eq(abx_process_wait(process, 5000, &result), ABX_OK);
    ck_assert_uint_eq(result.reason, ABX_EXIT_TIMEOUT);
    ck_assert_int_eq(abx_process_explain(process, NULL, &text, NULL), ABX_OK);
    ck_assert_str_eq(text,
            "The command was stopped by its time limit of 20 ms. Instead: do less at once, or ask "
            "for more time.\n");
    abx_free(text);
    abx_process_unref(process);
}
END_TEST

START_TEST(a_failed_start_leaves_nothing_and_no_event)
{
    static const char *const argv[] = { "fake", NULL };
    abx_spawn_options options = {
        .size = sizeof options,
        .stdio = { ABX_STDIO_PIPE, ABX_STDIO_CAPTURE, ABX_STDIO_NULL },
        .timeout_ms = 1000,
    };
    abx_process *process = NULL;
    abx_error *error = NULL;
    abx_event *event;

    fake_fail_next(ABX_ERR_EXEC);
    ck_assert_int_eq(abx_box_spawn(box, argv, &options, &process, &error), ABX_ERR_EXEC);
    ck_assert_ptr_null(process);
    ck_assert_str_eq(abx_error_get_step(error), "fake:fail");
    ck_assert_int_eq(abx_error_get_os_code(error), 2);
    ck_assert_int_eq(abx_context_next_event(context, &event), ABX_NONE);
    ck_assert_uint_eq(box->processes.count, 0);
    abx_error_unref(error);
}
END_TEST

START_TEST(a_killed_box_takes_no_commands)
{
    static const char *const argv[] = { "fake", NULL };
    abx_process *process = spawn(NULL), *other;
    abx_exit result = { .size = sizeof result };

    ck_assert_int_eq(abx_box_kill(box), ABX_OK);
    ck_assert_int_eq(abx_process_wait(process, -1, &result), ABX_OK);
    ck_assert_uint_eq(result.reason, ABX_EXIT_KILLED);
    ck_assert_int_eq(abx_box_spawn(box, argv, NULL, &other, NULL), ABX_ERR_STATE);
    ck_assert_int_eq(abx_process_signal(process, SIGTERM), ABX_ERR_STATE);
    abx_process_unref(process);
}
END_TEST

START_TEST(a_record_outlives_its_box_and_context)
{
    abx_spawn_options options = {
        .size = sizeof options,
        .stdio = { ABX_STDIO_NULL, ABX_STDIO_CAPTURE, ABX_STDIO_CAPTURE },
    };
    abx_process *process = spawn(&options);
    abx_exit result = { .size = sizeof result };
    size_t length;

    fake_write(abx_process_get_id(process), 1, "out", 3);
    abx_context_unref(context);
    abx_box_unref(box);
    ck_assert_int_eq(abx_process_wait(process, -1, &result), ABX_OK);
    ck_assert_uint_eq(result.reason, ABX_EXIT_KILLED);
    ck_assert_int_eq(abx_process_signal(process, 9), ABX_ERR_STATE);
    ck_assert_str_eq(abx_process_get_output(process, 1, &length), "out");
    abx_process_unref(process);
    set_up();
}
END_TEST

START_TEST(a_box_that_cannot_be_built_leaves_nothing)
{
    struct fail fail = { 0 };
    abx_policy *policy = fake_policy(policy_json);
    abx_box *other = NULL;

    fake_fail_next(ABX_ERR_SETUP);
    ck_assert_int_eq(box_open(context, policy, NULL, &other, &fail), ABX_ERR_SETUP);
    ck_assert_ptr_null(other);
    ck_assert_str_eq(fail.step, "fake:fail");
    ck_assert_uint_eq(context->boxes.count, 1);
    ck_assert_uint_eq(fake_open_boundaries(), 1);
    abx_policy_unref(policy);
}
END_TEST

static const struct spoil_case {
    const char *name;
    char kind;
    int32_t error;
    const char *step; /* NULL: opens */
    bool is_filtered;
} spoil_cases[] = {
    { "a denied read that works", SAMPLE_READ, 0, "canary:read-denied" },
    { "a denied write that works", SAMPLE_CREATE, 0, "canary:write-denied" },
    { "a connection that works", SAMPLE_CONNECT, 0, "canary:connect-denied" },
    { "a namespace that can be had", SAMPLE_UNSHARE, 0, "canary:namespace-denied" },
    { "a call that does not exist", SAMPLE_UNSHARE, ENOSYS, NULL },
    { "a way out that is none", SAMPLE_CONNECT, ECONNREFUSED, "canary:connect-allowed", true },
};

START_TEST(a_box_whose_canary_is_not_stopped_does_not_open)
{
    const struct spoil_case *c = &spoil_cases[_i];
    struct fail fail = { 0 };
    abx_policy *policy =
            fake_policy("{\"version\":1,\"filesystem\":{\"read\":{\"deny\":[\"/secret\"]},"
                        "\"write\":{\"deny\":[\"/w\"]}}}");
    abx_policy *filtered = fake_policy("{\"version\":1,\"network\":{\"mode\":\"filtered\"}}");
    abx_box *other = NULL;
    abx_status r;

    fake_spoil_canary(c->kind, c->error);
    r = box_open(context, c->is_filtered ? filtered : policy, NULL, &other, &fail);
    if (c->step == NULL) {
        ck_assert_msg(r == ABX_OK, "%s: %s", c->name, fail.text);
        box_unref(other);
    } else {
        ck_assert_msg(r == ABX_ERR_SETUP && other == NULL, "%s", c->name);
        ck_assert_str_eq(fail.step, c->step);
    }
    ck_assert_uint_eq(fake_open_boundaries(), 1);
    abx_policy_unref(filtered);
    abx_policy_unref(policy);
}
END_TEST

START_TEST(the_canary_runs_once_for_a_policy_and_makes_no_event)
{
    struct fail fail = { 0 };
    abx_policy *policy = fake_policy(policy_json);
    size_t before = fake_canaries();
    abx_box *other;
    abx_event *event;
    char *json;

    ck_assert_int_eq(abx_context_next_event(context, &event), ABX_NONE);
    ck_assert_int_eq(box_open(context, policy, NULL, &other, &fail), ABX_OK);
    ck_assert_uint_eq(fake_canaries(), before);
    ck_assert_int_eq(abx_box_receipt(other, &json, NULL), ABX_OK);
    ck_assert_ptr_nonnull(strstr(json, "{\"sample\":\"read-denied\",\"target\":\"/secret\","
                                       "\"expected\":\"deny\",\"result\":\"EACCES\"}"));
    abx_free(json);
    box_unref(other);
    abx_policy_unref(policy);
}
END_TEST

static void
count_event(void *data, abx_event *event)
{
    int *count = data;

    ck_assert_ptr_nonnull(event);
    ck_assert_int_eq(abx_context_dispatch(context, count_event, data), ABX_NONE); /* not again */
    (*count)++;
}

START_TEST(dispatch_gives_what_was_queued_when_called)
{
    int count = 0;
    abx_process *process = spawn(NULL);

    fake_exit(abx_process_get_id(process), ABX_EXIT_CODE, 0, false);
    ck_assert_int_eq(abx_context_dispatch(context, count_event, &count), ABX_OK);
    ck_assert_int_eq(count, 2);
    ck_assert_int_eq(abx_context_dispatch(context, count_event, &count), ABX_NONE);
    abx_process_unref(process);
}
END_TEST

static void *
wait_for_exit(void *data)
{
    abx_exit result = { .size = sizeof result };

    return abx_process_wait(data, -1, &result) == ABX_OK && result.code == 7 ? data : NULL;
}

START_TEST(many_threads_may_wait_for_one_command)
{
    abx_process *process = spawn(NULL);
    pthread_t threads[4];
    void *result;

    for (size_t i = 0; i < N_ELEMENTS(threads); i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, wait_for_exit, process), 0);
    }
    fake_exit(abx_process_get_id(process), ABX_EXIT_CODE, 7, false);
    for (size_t i = 0; i < N_ELEMENTS(threads); i++) {
        pthread_join(threads[i], &result);
        ck_assert_ptr_eq(result, process);
    }
    abx_process_unref(process);
}
END_TEST

START_TEST(the_receipt_names_rung_mechanisms_and_policy)
{
    char *json;
    size_t length;

    ck_assert_int_eq(abx_box_receipt(box, &json, &length), ABX_OK);
    ck_assert_ptr_nonnull(strstr(json, "\"backend\":\"fake\",\"rung\":\"A\""));
    ck_assert_ptr_nonnull(strstr(json, "\"mechanism\":\"fake\""));
    ck_assert_ptr_nonnull(strstr(json, abx_policy_get_digest(box->policy)));
    abx_free(json);
}
END_TEST

static TCase *
new_case(Suite *suite, const char *name)
{
    TCase *tcase = tcase_create(name);

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    suite_add_tcase(suite, tcase);
    return tcase;
}

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("supervise");
    TCase *tcase = new_case(suite, "denials");

    tcase_add_test(tcase, a_denial_says_what_who_which_rule_and_what_instead);
    tcase_add_test(tcase, what_the_policy_allows_makes_no_event);
    tcase_add_test(tcase, a_loop_of_denials_makes_few_events_and_loses_no_count);
    tcase_add_test(tcase, many_different_denials_stay_bounded_and_counted);
    tcase_add_test(tcase, started_comes_first_and_exited_last);
    tcase_add_test(tcase, events_of_all_boxes_are_counted_by_their_context);
    tcase_add_test(tcase, a_refused_system_call_is_told_with_its_name);
    tcase_add_test(tcase, background_processes_keep_their_label);
    tcase_add_test(tcase, explain_is_made_from_events_and_empty_without_them);
    tcase_add_test(tcase, denials_of_another_program_are_counted_apart);
    tcase_add_test(tcase, equal_denials_of_many_targets_are_one_line_for_a_model);

    tcase = new_case(suite, "approvals");
    tcase_add_test(tcase, a_held_call_is_answered_once);
    tcase_add_test(tcase, equal_questions_share_a_ticket);
    tcase_add_test(tcase, a_refusal_is_a_denial_with_the_approvers_words);
    tcase_add_test(tcase, no_answer_by_the_deadline_is_a_denial);
    tcase_add_test(tcase, no_deadline_passes_while_the_box_closes);
    tcase_add_test(tcase, questions_are_limited_per_minute);
    tcase_add_test(tcase, an_interrupted_call_that_comes_back_gets_the_answer);
    tcase_add_test(tcase, a_question_ends_with_its_command);
    tcase_add_test(tcase, nothing_is_asked_or_refused_while_a_box_dies);
    tcase_add_loop_test(tcase, scopes_of_an_answer, 0, N_ELEMENTS(scope_cases));

    tcase = new_case(suite, "grants");
    tcase_add_test(tcase, a_grant_adds_exactly_one_request);
    tcase_add_test(tcase, a_grant_covers_all_below_on_request_and_counts_down);
    tcase_add_test(tcase, what_would_be_over_is_not_given);
    tcase_add_test(tcase, who_gives_a_grant_has_a_name_that_is_seen);
    tcase_add_test(tcase, no_grant_lifts_what_a_rule_denies);
    tcase_add_loop_test(tcase, targets_of_grants, 0, N_ELEMENTS(target_cases));

    tcase = new_case(suite, "commands");
    tcase_add_test(tcase, the_environment_is_the_policys_and_the_callers);
    tcase_add_test(tcase, captured_output_is_kept_up_to_the_limit);
    tcase_add_test(tcase, a_background_process_can_go_on_writing_after_the_exit);
    tcase_add_test(tcase, pipes_are_taken_once);
    tcase_add_test(tcase, a_directory_is_no_stream);
    tcase_add_test(tcase, the_wall_limit_ends_a_command);
    tcase_add_test(tcase, a_failed_start_leaves_nothing_and_no_event);
    tcase_add_test(tcase, a_killed_box_takes_no_commands);
    tcase_add_test(tcase, a_record_outlives_its_box_and_context);
    tcase_add_test(tcase, a_box_that_cannot_be_built_leaves_nothing);
    tcase_add_loop_test(
            tcase, a_box_whose_canary_is_not_stopped_does_not_open, 0, N_ELEMENTS(spoil_cases));
    tcase_add_test(tcase, the_canary_runs_once_for_a_policy_and_makes_no_event);
    tcase_add_test(tcase, dispatch_gives_what_was_queued_when_called);
    tcase_add_test(tcase, many_threads_may_wait_for_one_command);
    tcase_add_test(tcase, the_receipt_names_rung_mechanisms_and_policy);
    return suite;
}

UNIT_MAIN(make_suite)
