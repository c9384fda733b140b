/* SPDX-License-Identifier: Apache-2.0
 * Actions that the host asks for, and the same as requests of a command: one verdict, one limit,
 * one approval. */
#include "supervise/approvals.h"

#include "base/mem.h"
#include "fake-backend.h"
#include "unit/main.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char policy_json[] =
        "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/"
        "\"]}},\"network\":{\"mode\":\"filtered\","
        "\"allow\":[{\"host\":\"hr.test\",\"http\":["
        "{\"methods\":[\"PUT\"],\"path\":\"/v1/{id}\",\"action\":\"update\"},"
        "{\"methods\":[\"GET\"],\"path\":\"/v1/{id}\",\"action\":\"read\"},"
        "{\"methods\":[\"POST\"],\"path\":\"/v3\",\"action\":\"export\"},"
        "{\"methods\":[\"DELETE\"],\"path\":\"/v4/**\",\"action\":\"never\"},"
        "{\"methods\":[\"POST\"],\"path\":\"/v2/**\",\"action\":\"any\"}]}]},"
        "\"actions\":[{\"name\":\"update\",\"verdict\":\"ask\",\"arguments\":{\"id\":{\"type\":"
        "\"string\","
        "\"pattern\":\"[0-9]+\"}},\"limits\":{\"per_box\":2},"
        "\"id\":\"master-data\",\"reason\":\"HR confirms it\",\"instead\":\"let HR do it\"},"
        "{\"name\":\"read\",\"verdict\":\"allow\",\"arguments\":{\"id\":{\"type\":\"string\"}},"
        "\"limits\":{\"per_command\":2,\"per_box\":3}},"
        "{\"name\":\"any\",\"verdict\":\"allow\",\"limits\":{\"per_box\":1}},"
        "{\"name\":\"never\",\"verdict\":\"deny\"},"
        "{\"name\":\"export\",\"verdict\":\"ask\",\"approvers\":2}]}";

static abx_context *context;
static abx_box *box;
static abx_process *process;

static abx_process *
spawn(void)
{
    static const char *const argv[] = { "/bin/fake", NULL };
    abx_spawn_options options = { .size = sizeof options, .label = "call" };
    abx_process *started = NULL;

    ck_assert_int_eq(abx_box_spawn(box, argv, &options, &started, NULL), ABX_OK);
    return started;
}

static void
open_with(abx_policy *policy)
{
    struct fail fail = { 0 };

    ck_assert_int_eq(context_new(&fake_backend, NULL, 200, &context, &fail), ABX_OK);
    ck_assert_int_eq(abx_box_open(context, policy, NULL, &box, NULL), ABX_OK);
    process = spawn();
}

static void
set_up(void)
{
    abx_policy *policy = NULL;
    abx_error *error = NULL;

    ck_assert_msg(abx_policy_from_json(policy_json, strlen(policy_json), &policy, &error) == ABX_OK,
            "%s", abx_error_get_message(error));
    open_with(policy);
    abx_policy_unref(policy);
}

static void
tear_down(void)
{
    abx_process_unref(process);
    abx_box_unref(box);
    abx_context_unref(context);
}

static abx_event *
next_event(uint32_t type, uint32_t layer)
{
    abx_event *event;

    while (abx_context_next_event(context, &event) == ABX_OK) {
        if (abx_event_get_type(event) == type &&
                abx_event_get_int(event, ABX_FIELD_LAYER) == layer) {
            return event;
        }
        abx_event_unref(event);
    }
    return NULL;
}

/* The host asks; the caller frees *ret_json. */
static abx_status
want(const char *name, const char *arguments, uint32_t *ret_verdict, uint64_t *ret_ticket,
        char **ret_json)
{
    abx_request request = {
        .size = sizeof request, .kind = ABX_REQUEST_ACTION, .target = name, .verb = arguments
    };
    abx_decision decision = { .size = sizeof decision };
    abx_status r = abx_box_request(box, &request, &decision, ret_ticket, ret_json, NULL);

    *ret_verdict = decision.verdict;
    return r;
}

static void
expect_verdict(const char *name, const char *arguments, uint32_t expected, const char *has)
{
    uint32_t verdict;
    uint64_t ticket;
    char *json;

    ck_assert_int_ge(want(name, arguments, &verdict, &ticket, &json), 0);
    ck_assert_msg(verdict == expected && strstr(json, has) != NULL, "%u %s", verdict, json);
    abx_free(json);
}

/* A command makes a request. */
static abx_verdict
request(abx_process *of, const char *method, const char *url, const char *body, char *key,
        uint64_t *ret_ticket)
{
    struct refusal refusal;
    struct act act = { .request = ABX_REQUEST_HTTP,
        .target = url,
        .verb = method,
        .port = 443,
        .content = -1,
        .body = body,
        .body_length = body == NULL ? 0 : strlen(body),
        .key = key,
        .refusal = &refusal };

    return fake_act(abx_process_get_id(of), &act, ret_ticket);
}

static void
answer(uint64_t ticket, abx_verdict verdict)
{
    abx_answer reply = { .size = sizeof reply, .verdict = verdict, .approver = "pat" };

    ck_assert_int_eq(abx_context_answer(context, ticket, &reply, NULL), ABX_OK);
}

START_TEST(what_the_policy_allows_is_told_with_its_key)
{
    abx_event *event;
    uint32_t verdict;
    uint64_t ticket;
    char *json;

    ck_assert_int_eq(want("read", "{ \"id\" : \"7\" }", &verdict, &ticket, &json), ABX_OK);
    ck_assert_uint_eq(verdict, ABX_VERDICT_ALLOW);
    ck_assert_ptr_nonnull(strstr(json, "\"arguments\":{\"id\":\"7\"}"));
    event = next_event(ABX_EVENT_NOTICE, ABX_LAYER_ACTION);
    ck_assert_ptr_nonnull(event);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_TARGET), "read");
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_VERB), "{\"id\":\"7\"}");
    ck_assert_uint_eq(strlen(abx_event_get_string(event, ABX_FIELD_IDEMPOTENCY_KEY)), 32);
    ck_assert_ptr_nonnull(strstr(json, abx_event_get_string(event, ABX_FIELD_IDEMPOTENCY_KEY)));
    abx_event_unref(event);
    abx_free(json);
}
END_TEST

START_TEST(what_does_not_fit_is_denied_with_its_pointer)
{
    abx_event *event;
    const char *asked;
    bool found;

    expect_verdict("read", "{\"ix\":\"7\"}", ABX_VERDICT_DENY,
            "\"reason\":\"/ix: the action has no such argument; probably 'id' was meant\"");
    event = next_event(ABX_EVENT_DENIAL, ABX_LAYER_ACTION);
    ck_assert_ptr_nonnull(event);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_RULE), "action:arguments");
    abx_event_unref(event);
    ck_assert_uint_eq(request(process, "GET", "https://hr.test/v1/7?x=1", NULL, NULL, NULL),
            ABX_VERDICT_DENY);
    ck_assert_uint_eq(
            request(process, "GET", "https://hr.test/v1/7", "{", NULL, NULL), ABX_VERDICT_DENY);
    expect_verdict("read", "{}", ABX_VERDICT_DENY,
            "\"alternative\":\"correct the arguments, and try again\"");
    expect_verdict(
            "update", "{\"id\":\"x\"}", ABX_VERDICT_DENY, "\"alternative\":\"let HR do it\"");
    ck_assert_uint_eq(
            request(process, "PUT", "https://hr.test/v1/x", "{}", NULL, NULL), ABX_VERDICT_DENY);
    do {
        event = next_event(ABX_EVENT_DENIAL, ABX_LAYER_ACTION);
        ck_assert_ptr_nonnull(event);
        asked = abx_event_get_string(event, ABX_FIELD_ASKED);
        found = asked != NULL && strcmp(asked, "PUT https://hr.test/v1/x") == 0;
        if (found) {
            ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_ALTERNATIVE), "let HR do it");
        }
        abx_event_unref(event);
    } while (!found);
    expect_verdict("never", NULL, ABX_VERDICT_DENY, "\"rule\":\"/actions/3\"");
    expect_verdict("unknown", NULL, ABX_VERDICT_DENY, "\"rule\":\"default\"");
}
END_TEST

START_TEST(the_host_and_a_command_share_one_limit)
{
    abx_event *event;

    expect_verdict("read", "{\"id\":\"1\"}", ABX_VERDICT_ALLOW, "");
    ck_assert_uint_eq(
            request(process, "GET", "https://hr.test/v1/1", NULL, NULL, NULL), ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(
            request(process, "GET", "https://hr.test/v1/1", NULL, NULL, NULL), ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(
            request(process, "GET", "https://hr.test/v1/1", NULL, NULL, NULL), ABX_VERDICT_DENY);
    event = next_event(ABX_EVENT_DENIAL, ABX_LAYER_LIMIT);
    ck_assert_ptr_nonnull(event);
    ck_assert_ptr_nonnull(
            strstr(abx_event_get_string(event, ABX_FIELD_REASON), "3 times in one box"));
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_RULE), "/actions/1");
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_ASKED), "GET https://hr.test/v1/1");
    abx_event_unref(event);
    expect_verdict("read", "{\"id\":\"1\"}", ABX_VERDICT_DENY, "3 times in one box");
}
END_TEST

START_TEST(a_command_has_a_limit_of_its_own)
{
    abx_process *other = spawn();

    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq(request(process, "GET", "https://hr.test/v1/1", NULL, NULL, NULL),
                ABX_VERDICT_ALLOW);
    }
    ck_assert_uint_eq(
            request(process, "GET", "https://hr.test/v1/1", NULL, NULL, NULL), ABX_VERDICT_DENY);
    ck_assert_uint_eq(
            request(other, "GET", "https://hr.test/v1/1", NULL, NULL, NULL), ABX_VERDICT_ALLOW);
    abx_process_unref(other);
}
END_TEST

START_TEST(a_request_without_declared_arguments_counts_too)
{
    ck_assert_uint_eq(request(process, "POST", "https://hr.test/v2/a?b=c", "x", NULL, NULL),
            ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(request(process, "POST", "https://hr.test/v2/a?b=c", "x", NULL, NULL),
            ABX_VERDICT_DENY);
}
END_TEST

START_TEST(the_host_asks_again_after_a_yes_and_has_it_once)
{
    abx_event *event;
    uint32_t verdict;
    uint64_t ticket, again;
    char *json;

    ck_assert_int_eq(want("update", "{\"id\":\"7\"}", &verdict, &ticket, &json), ABX_NONE);
    ck_assert_uint_eq(verdict, ABX_VERDICT_ASK);
    abx_free(json);
    event = next_event(ABX_EVENT_APPROVAL, ABX_LAYER_ACTION);
    ck_assert_ptr_nonnull(event);
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_TICKET), (int64_t)ticket);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_VERB), "{\"id\":\"7\"}");
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_ADDS),
            "{\"request\":\"action\",\"target\":\"update\",\"arguments\":{\"id\":\"7\"}}");
    abx_event_unref(event);
    ck_assert_int_eq(want("update", " {\"id\":\"7\"}", &verdict, &again, &json), ABX_NONE);
    ck_assert_uint_eq(again, ticket);
    abx_free(json);
    answer(ticket, ABX_VERDICT_ALLOW);
    expect_verdict("update", "{\"id\":\"8\"}", ABX_VERDICT_ASK, "");
    expect_verdict("update", "{\"id\":\"7\"}", ABX_VERDICT_ALLOW, "idempotency_key");
    expect_verdict("update", "{\"id\":\"7\"}", ABX_VERDICT_ASK, "");
}
END_TEST

START_TEST(a_held_request_goes_on_with_the_key_that_the_event_has)
{
    char key[ACTION_KEY_SIZE] = "";
    abx_event *event;
    uint64_t ticket;

    ck_assert_uint_eq(
            request(process, "PUT", "https://hr.test/v1/7", "{}", key, &ticket), ABX_VERDICT_ASK);
    ck_assert_uint_eq(strlen(key), 32);
    event = next_event(ABX_EVENT_APPROVAL, ABX_LAYER_ACTION);
    ck_assert_ptr_nonnull(event);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_RULE), "master-data");
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_REASON), "HR confirms it");
    abx_event_unref(event);
    answer(ticket, ABX_VERDICT_ALLOW);
    ck_assert_int_eq(fake_answer_to(ticket), ABX_VERDICT_ALLOW);
    event = next_event(ABX_EVENT_NOTICE, ABX_LAYER_ACTION);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_IDEMPOTENCY_KEY), key);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_LABEL), "call");
    abx_event_unref(event);
}
END_TEST

START_TEST(an_action_that_two_agreed_to_names_both)
{
    static const char *const names[] = { "ada", "bob" };
    abx_event *event;
    uint64_t ticket;

    ck_assert_uint_eq(
            request(process, "POST", "https://hr.test/v3", "x", NULL, &ticket), ABX_VERDICT_ASK);
    for (int i = 0; i < 2; i++) {
        abx_answer yes = { .size = sizeof yes, .verdict = ABX_VERDICT_ALLOW, .approver = names[i] };

        ck_assert_int_eq(
                abx_context_answer(context, ticket, &yes, NULL), i == 0 ? ABX_NONE : ABX_OK);
    }
    event = next_event(ABX_EVENT_NOTICE, ABX_LAYER_ACTION);
    ck_assert_ptr_nonnull(event);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_APPROVER), "ada, bob");
    abx_event_unref(event);
}
END_TEST

START_TEST(nobody_is_asked_about_what_could_not_be_done)
{
    uint64_t first, second, third;

    ck_assert_uint_eq(
            request(process, "PUT", "https://hr.test/v1/1", NULL, NULL, &first), ABX_VERDICT_ASK);
    ck_assert_uint_eq(
            request(process, "PUT", "https://hr.test/v1/2", NULL, NULL, &second), ABX_VERDICT_ASK);
    ck_assert_uint_eq(
            request(process, "PUT", "https://hr.test/v1/3", NULL, NULL, &third), ABX_VERDICT_ASK);
    answer(first, ABX_VERDICT_ALLOW);
    answer(second, ABX_VERDICT_ALLOW);
    answer(third, ABX_VERDICT_ALLOW); /* the limit is two */
    ck_assert_int_eq(fake_answer_to(second), ABX_VERDICT_ALLOW);
    ck_assert_int_eq(fake_answer_to(third), ABX_VERDICT_DENY);
    ck_assert_uint_eq(
            request(process, "PUT", "https://hr.test/v1/4", NULL, NULL, NULL), ABX_VERDICT_DENY);
}
END_TEST

START_TEST(calls_that_share_a_question_count_each)
{
    uint64_t ticket, same;
    abx_event *event;

    ck_assert_uint_eq(
            request(process, "PUT", "https://hr.test/v1/1", NULL, NULL, &ticket), ABX_VERDICT_ASK);
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq(request(process, "PUT", "https://hr.test/v1/1", NULL, NULL, &same),
                ABX_VERDICT_ASK);
        ck_assert_uint_eq(same, ticket);
    }
    answer(ticket, ABX_VERDICT_ALLOW);
    ck_assert_int_eq(fake_answer_to(ticket), ABX_VERDICT_DENY);
    event = next_event(ABX_EVENT_DENIAL, ABX_LAYER_LIMIT);
    ck_assert_ptr_nonnull(strstr(abx_event_get_string(event, ABX_FIELD_REASON),
            "2 times in one box: 2 of 2 left, and 3 wanted"));
    abx_event_unref(event);
}
END_TEST

START_TEST(calls_that_share_a_question_are_one_record)
{
    uint64_t ticket;
    abx_event *event;

    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq(request(process, "PUT", "https://hr.test/v1/1", NULL, NULL, &ticket),
                ABX_VERDICT_ASK);
    }
    answer(ticket, ABX_VERDICT_ALLOW);
    event = next_event(ABX_EVENT_NOTICE, ABX_LAYER_ACTION);
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_REPEATS), 2);
    abx_event_unref(event);
    ck_assert_ptr_null(next_event(ABX_EVENT_NOTICE, ABX_LAYER_ACTION));
    expect_verdict("update", "{\"id\":\"1\"}", ABX_VERDICT_DENY, "0 of 2 left");
}
END_TEST

START_TEST(a_question_counts_nothing)
{
    uint64_t ticket;

    ck_assert_uint_eq(
            request(process, "PUT", "https://hr.test/v1/1", NULL, NULL, &ticket), ABX_VERDICT_ASK);
    ck_assert_uint_eq(box->action_counts.count, 0);
}
END_TEST

static abx_status
grant(const char *name, const char *arguments, uint32_t uses, uint64_t *ret_grant)
{
    abx_request pattern = {
        .size = sizeof pattern, .kind = ABX_REQUEST_ACTION, .target = name, .verb = arguments
    };

    return abx_box_grant(box, &pattern, 0, uses, "pat", ret_grant, NULL);
}

START_TEST(a_grant_of_an_action_is_for_its_arguments_however_they_come)
{
    uint64_t given;
    char *listing;
    size_t length;

    ck_assert_int_eq(grant("update", " { \"id\" : \"7\" }", 0, &given), ABX_OK);
    ck_assert_int_eq(abx_box_grants(box, &listing, &length), ABX_OK);
    ck_assert_ptr_nonnull(strstr(listing, "\"request\":\"action\",\"target\":\"update\""));
    abx_free(listing);
    expect_verdict("update", "{\"id\":\"7\"}", ABX_VERDICT_ALLOW, "idempotency_key");
    ck_assert_uint_eq(
            request(process, "PUT", "https://hr.test/v1/8", NULL, NULL, NULL), ABX_VERDICT_ASK);
    ck_assert_uint_eq(
            request(process, "PUT", "https://hr.test/v1/7", "{}", NULL, NULL), ABX_VERDICT_ALLOW);
    expect_verdict("update", "{\"id\":\"7\"}", ABX_VERDICT_DENY, "2 times in one box");
}
END_TEST

START_TEST(a_grant_of_an_action_counts_down_and_is_taken_back)
{
    uint64_t given;

    ck_assert_int_eq(grant("update", "{\"id\":\"7\"}", 1, &given), ABX_OK);
    expect_verdict("update", "{\"id\":\"8\"}", ABX_VERDICT_ASK, "");
    expect_verdict("update", "{\"id\":\"7\"}", ABX_VERDICT_ALLOW, "");
    expect_verdict("update", "{\"id\":\"7\"}", ABX_VERDICT_ASK, "");
    ck_assert_int_eq(abx_box_revoke(box, given), ABX_ERR_STATE);
    ck_assert_int_eq(grant("update", "{\"id\":\"9\"}", 1, &given), ABX_OK);
    ck_assert_int_eq(abx_box_revoke(box, given), ABX_OK);
    expect_verdict("update", "{\"id\":\"9\"}", ABX_VERDICT_ASK, "");
}
END_TEST

START_TEST(what_the_limit_denies_takes_no_use_of_a_grant)
{
    uint64_t given;

    ck_assert_int_eq(grant("update", "{\"id\":\"7\"}", 3, &given), ABX_OK);
    expect_verdict("update", "{\"id\":\"7\"}", ABX_VERDICT_ALLOW, "");
    expect_verdict("update", "{\"id\":\"7\"}", ABX_VERDICT_ALLOW, "");
    expect_verdict("update", "{\"id\":\"7\"}", ABX_VERDICT_DENY, "2 times in one box");
    expect_verdict("update", "{\"id\":\"7\"}", ABX_VERDICT_DENY, "2 times in one box");
    ck_assert_int_eq(abx_box_revoke(box, given), ABX_OK); /* one is left */
}
END_TEST

START_TEST(without_arguments_a_grant_is_for_the_action_without_them)
{
    uint64_t given;

    ck_assert_int_eq(grant("any", NULL, 0, &given), ABX_OK);
    ck_assert_int_eq(grant("update", NULL, 0, &given), ABX_ERR_DENIED); /* it wants one */
    ck_assert_int_eq(grant("update", "{\"id\":\"x\"}", 0, &given), ABX_ERR_DENIED);
    ck_assert_int_eq(grant("update", "{", 0, &given), ABX_ERR_DENIED);
    ck_assert_int_eq(grant("never", NULL, 0, &given), ABX_ERR_DENIED);
    ck_assert_int_eq(grant(NULL, NULL, 0, &given), ABX_ERR_INVALID);
}
END_TEST

START_TEST(a_request_that_counts_as_an_action_is_granted_as_that)
{
    abx_request pattern = { .size = sizeof pattern,
        .kind = ABX_REQUEST_HTTP,
        .target = "https://hr.test/v1/7",
        .verb = "PUT" };
    abx_error *error = NULL;
    uint64_t given;

    ck_assert_int_eq(abx_box_grant(box, &pattern, 0, 0, NULL, &given, &error), ABX_ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(abx_error_get_message(error), "counts as the action 'update'"));
    abx_error_unref(error);
    pattern.target = "https://hr.test/v1/**";
    ck_assert_int_eq(abx_box_grant(box, &pattern, 0, 0, NULL, &given, NULL), ABX_ERR_DENIED);
    pattern.target = "https://hr.test/v2/**"; /* an action without arguments, which is allowed */
    pattern.verb = "POST";
    ck_assert_int_eq(abx_box_grant(box, &pattern, 0, 0, NULL, &given, NULL), ABX_OK);
}
END_TEST

START_TEST(a_yes_to_an_action_is_not_for_a_connection_that_it_would_become)
{
    struct act act = { .request = ABX_REQUEST_HTTP,
        .target = "https://hr.test/v1/7",
        .verb = "PUT",
        .port = 443,
        .bound = BOUND_NO_BODY,
        .content = -1 };
    const abx_answer yes = {
        .size = sizeof yes, .verdict = ABX_VERDICT_ALLOW, .scope = ABX_SCOPE_BOX, .approver = "pat"
    };
    uint64_t plain = 0, upgrade = 0;

    ck_assert_uint_eq(fake_act(abx_process_get_id(process), &act, &plain), ABX_VERDICT_ASK);
    act.bound = BOUND_UPGRADE;
    ck_assert_uint_eq(fake_act(abx_process_get_id(process), &act, &upgrade), ABX_VERDICT_ASK);
    ck_assert_uint_ne(plain, upgrade);
    ck_assert_int_eq(abx_context_answer(context, plain, &yes, NULL), ABX_OK);
    ck_assert_uint_eq(fake_act(abx_process_get_id(process), &act, NULL), ABX_VERDICT_ASK);
}
END_TEST

START_TEST(the_bytes_of_an_actions_body_make_no_other_question)
{
    struct act act = { .request = ABX_REQUEST_HTTP,
        .target = "https://hr.test/v1/7",
        .verb = "PUT",
        .port = 443,
        .content = -1,
        .body = "{}",
        .body_length = 2,
        .bound = "{\"body\":1}" };
    uint64_t one = 0, other = 0;

    ck_assert_uint_eq(fake_act(abx_process_get_id(process), &act, &one), ABX_VERDICT_ASK);
    act.body = "{ }";
    act.body_length = 3;
    act.bound = "{\"body\":2}";
    ck_assert_uint_eq(fake_act(abx_process_get_id(process), &act, &other), ABX_VERDICT_ASK);
    ck_assert_uint_eq(one, other);
}
END_TEST

START_TEST(an_action_that_the_policy_does_not_declare_is_never_granted)
{
    abx_request pattern = {
        .size = sizeof pattern, .kind = ABX_REQUEST_ACTION, .target = "updaet"
    };
    abx_error *error = NULL;
    uint64_t given;

    ck_assert_int_eq(grant("nosuch", NULL, 2, &given), ABX_ERR_DENIED);
    ck_assert_int_eq(abx_box_grant(box, &pattern, 0, 2, NULL, &given, &error), ABX_ERR_DENIED);
    ck_assert_str_eq(abx_error_get_message(error),
            "the policy declares no action 'updaet'; the nearest one is 'update'");
    abx_error_unref(error);
    expect_verdict("nosuch", NULL, ABX_VERDICT_DENY, "\"rule\":\"default\"");
}
END_TEST

/* The next event of an action that was done. */
static void
expect_done(const char *rule, const char *approver)
{
    abx_event *event = next_event(ABX_EVENT_NOTICE, ABX_LAYER_ACTION);

    ck_assert_ptr_nonnull(event);
    ck_assert_uint_eq(strlen(abx_event_get_string(event, ABX_FIELD_IDEMPOTENCY_KEY)), 32);
    ck_assert_pstr_eq(abx_event_get_string(event, ABX_FIELD_RULE), rule);
    ck_assert_pstr_eq(abx_event_get_string(event, ABX_FIELD_APPROVER), approver);
    abx_event_unref(event);
}

START_TEST(an_action_that_is_done_names_what_let_it_through)
{
    uint64_t given, ticket;
    uint32_t verdict;
    char rule[32], *json;

    expect_verdict("read", "{\"id\":\"1\"}", ABX_VERDICT_ALLOW, "idempotency_key");
    expect_done("/actions/1", NULL);
    ck_assert_int_eq(grant("update", "{\"id\":\"7\"}", 1, &given), ABX_OK);
    expect_verdict("update", "{\"id\":\"7\"}", ABX_VERDICT_ALLOW, "idempotency_key");
    snprintf(rule, sizeof rule, "grant:%llu", (unsigned long long)given);
    expect_done(rule, "pat");
    ck_assert_int_eq(want("update", "{\"id\":\"8\"}", &verdict, &ticket, &json), ABX_NONE);
    abx_free(json);
    answer(ticket, ABX_VERDICT_ALLOW);
    expect_verdict("update", "{\"id\":\"8\"}", ABX_VERDICT_ALLOW, "idempotency_key");
    expect_done("master-data", "pat");
}
END_TEST

/* Denied as a request that counts as this action. */
static void
expect_denied_as(uint32_t layer, const char *name, const char *asked)
{
    abx_event *event = next_event(ABX_EVENT_DENIAL, layer);

    ck_assert_ptr_nonnull(event);
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_REQUEST), ABX_REQUEST_ACTION);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_TARGET), name);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_ASKED), asked);
    abx_event_unref(event);
}

START_TEST(a_denied_request_that_counts_as_an_action_names_it)
{
    static const char *const unfit[] = { "https://hr.test/v1/x", "https://hr.test/v1/7?a=1",
        "https://hr.test/v1/7?a=%zz", "https://hr.test/v1/7?a;b" };
    char asked[64];
    uint64_t ticket;

    for (size_t i = 0; i < N_ELEMENTS(unfit); i++) {
        ck_assert_uint_eq(request(process, "PUT", unfit[i], "{}", NULL, NULL), ABX_VERDICT_DENY);
        snprintf(asked, sizeof asked, "PUT %s", unfit[i]);
        expect_denied_as(ABX_LAYER_ACTION, "update", asked);
    }
    ck_assert_uint_eq(
            request(process, "DELETE", "https://hr.test/v4/a", NULL, NULL, NULL), ABX_VERDICT_DENY);
    expect_denied_as(ABX_LAYER_ACTION, "never", "DELETE https://hr.test/v4/a");
    ck_assert_uint_eq(
            request(process, "DELETE", "https://hr.test/v4/b", NULL, NULL, NULL), ABX_VERDICT_DENY);
    expect_denied_as(ABX_LAYER_ACTION, "never", "DELETE https://hr.test/v4/b");
    ck_assert_uint_eq(
            request(process, "POST", "https://hr.test/v3", "x", NULL, &ticket), ABX_VERDICT_ASK);
    answer(ticket, ABX_VERDICT_DENY);
    expect_denied_as(ABX_LAYER_APPROVAL, "export", "POST https://hr.test/v3");
    for (int i = 0; i < 2; i++) {
        request(process, "POST", "https://hr.test/v2/a", "x", NULL, NULL);
    }
    expect_denied_as(ABX_LAYER_LIMIT, "any", "POST https://hr.test/v2/a");
}
END_TEST

START_TEST(what_a_ceiling_takes_for_an_action_has_its_record_under_a_grant_too)
{
    static const char inner_json[] =
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[\"other.test\"]}}";
    abx_request pattern = { .size = sizeof pattern,
        .kind = ABX_REQUEST_HTTP,
        .target = "https://hr.test/v2/**",
        .verb = "POST" };
    abx_policy *ceiling, *inner, *both;
    char key[ACTION_KEY_SIZE] = "", rule[32];
    uint64_t given;

    ck_assert_int_eq(
            abx_policy_from_json(policy_json, strlen(policy_json), &ceiling, NULL), ABX_OK);
    ck_assert_int_eq(abx_policy_from_json(inner_json, strlen(inner_json), &inner, NULL), ABX_OK);
    ck_assert_int_eq(abx_policy_intersect(ceiling, inner, &both, NULL), ABX_OK);
    tear_down();
    open_with(both);
    ck_assert_int_eq(abx_box_grant(box, &pattern, 0, 0, "pat", &given, NULL), ABX_OK);
    ck_assert_uint_eq(
            request(process, "POST", "https://hr.test/v2/a", NULL, key, NULL), ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(strlen(key), 32);
    snprintf(rule, sizeof rule, "grant:%llu", (unsigned long long)given);
    expect_done(rule, "pat");
    ck_assert_uint_eq(request(process, "POST", "https://hr.test/v2/b", NULL, key, NULL),
            ABX_VERDICT_DENY); /* its limit */
    abx_policy_unref(ceiling);
    abx_policy_unref(inner);
    abx_policy_unref(both);
}
END_TEST

static void *
read_once(void *data)
{
    uint32_t verdict;
    char *json;

    want("read", "{\"id\":\"1\"}", &verdict, &(uint64_t){ 0 }, &json);
    abx_free(json);
    return verdict == ABX_VERDICT_ALLOW ? data : NULL;
}

START_TEST(of_many_threads_as_many_as_the_limit_says_may)
{
    pthread_t threads[16];
    size_t n = 0;

    for (size_t i = 0; i < N_ELEMENTS(threads); i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, read_once, &n), 0);
    }
    for (size_t i = 0; i < N_ELEMENTS(threads); i++) {
        void *result;

        pthread_join(threads[i], &result);
        n += result != NULL;
    }
    ck_assert_uint_eq(n, 3);
}
END_TEST

START_TEST(what_is_no_request_for_an_action_is_an_error)
{
    abx_request path = { .size = sizeof path, .kind = ABX_REQUEST_PATH, .target = "/" };
    abx_request action = { .size = sizeof action, .kind = ABX_REQUEST_ACTION, .target = "read" };
    abx_decision decision = { .size = sizeof decision };

    ck_assert_int_eq(abx_box_request(box, &path, &decision, NULL, NULL, NULL), ABX_ERR_INVALID);
    ck_assert_int_eq(abx_box_request(box, NULL, &decision, NULL, NULL, NULL), ABX_ERR_INVALID);
    decision.size = 4;
    ck_assert_int_eq(abx_box_request(box, &action, &decision, NULL, NULL, NULL), ABX_ERR_ABI);
    decision.size = sizeof decision;
    abx_box_kill(box);
    ck_assert_int_eq(abx_box_request(box, &action, &decision, NULL, NULL, NULL), ABX_ERR_STATE);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("supervise_actions");
    TCase *tc = tcase_create("actions");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, what_the_policy_allows_is_told_with_its_key);
    tcase_add_test(tc, what_does_not_fit_is_denied_with_its_pointer);
    tcase_add_test(tc, the_host_and_a_command_share_one_limit);
    tcase_add_test(tc, a_command_has_a_limit_of_its_own);
    tcase_add_test(tc, a_request_without_declared_arguments_counts_too);
    tcase_add_test(tc, the_host_asks_again_after_a_yes_and_has_it_once);
    tcase_add_test(tc, a_held_request_goes_on_with_the_key_that_the_event_has);
    tcase_add_test(tc, an_action_that_two_agreed_to_names_both);
    tcase_add_test(tc, nobody_is_asked_about_what_could_not_be_done);
    tcase_add_test(tc, calls_that_share_a_question_count_each);
    tcase_add_test(tc, calls_that_share_a_question_are_one_record);
    tcase_add_test(tc, a_question_counts_nothing);
    tcase_add_test(tc, a_grant_of_an_action_is_for_its_arguments_however_they_come);
    tcase_add_test(tc, a_grant_of_an_action_counts_down_and_is_taken_back);
    tcase_add_test(tc, what_the_limit_denies_takes_no_use_of_a_grant);
    tcase_add_test(tc, without_arguments_a_grant_is_for_the_action_without_them);
    tcase_add_test(tc, a_request_that_counts_as_an_action_is_granted_as_that);
    tcase_add_test(tc, a_yes_to_an_action_is_not_for_a_connection_that_it_would_become);
    tcase_add_test(tc, the_bytes_of_an_actions_body_make_no_other_question);
    tcase_add_test(tc, an_action_that_the_policy_does_not_declare_is_never_granted);
    tcase_add_test(tc, an_action_that_is_done_names_what_let_it_through);
    tcase_add_test(tc, a_denied_request_that_counts_as_an_action_names_it);
    tcase_add_test(tc, what_a_ceiling_takes_for_an_action_has_its_record_under_a_grant_too);
    tcase_add_test(tc, of_many_threads_as_many_as_the_limit_says_may);
    tcase_add_test(tc, what_is_no_request_for_an_action_is_an_error);
    suite_add_tcase(suite, tc);
    return suite;
}

UNIT_MAIN(make_suite)
