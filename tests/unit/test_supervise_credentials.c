/* SPDX-License-Identifier: Apache-2.0
 * The supervisor and secrets: what commands get in their place, how one is asked for, given and
 * refused, and that none is in what is told. */
#include "supervise/approvals.h"

#include "base/mem.h"
#include "fake_box.h"
#include "unit/main.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECRET "zzreal-secret-1234567890"
#define POLICY                                                                                     \
    "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]}},\"network\":{"                   \
    "\"mode\":\"filtered\",\"allow\":[\"hr.test\",{\"host\":\"api.test\",\"http\":[{\"methods\":"  \
    "[\"*\"],\"path\":\"/a\",\"action\":\"a\"}]}]},\"actions\":[{\"name\":\"a\",\"verdict\":"      \
    "\"ask\"}],\"credentials\":[{\"name\":\"hr\",\"env\":\"HR_TOKEN\",\"hosts\":[\"hr.test\"]},"   \
    "{\"name\":\"s3\",\"hosts\":[\"hr.test\"],\"as\":\"sigv4\"}]}"
#define OFFLINE                                                                                    \
    "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]}},\"credentials\":[{\"name\":"     \
    "\"hr\",\"env\":\"HR_TOKEN\",\"hosts\":[\"hr.test\"]}]}"

static abx_context *context;
static abx_box *box;
static abx_process *process;

static void
open_with(const char *json)
{
    fake_box_open(fake_policy(json), 100, NULL, &context, &box, &process);
}

static void
tear_down(void)
{
    abx_process_unref(process);
    abx_box_unref(box);
    abx_context_unref(context);
}

/* As the egress asks. */
static abx_verdict
want(const char *name, const char *host, struct refusal *refusal, uint64_t *ret_ticket)
{
    struct act act = { .request = ABX_REQUEST_CREDENTIAL,
        .target = name,
        .verb = host,
        .port = 443,
        .content = -1,
        .refusal = refusal };

    return fake_act(abx_process_get_id(process), &act, ret_ticket);
}

static abx_event *
next_event(uint32_t type)
{
    abx_event *event;

    while (abx_context_next_event(context, &event) == ABX_OK) {
        if (abx_event_get_type(event) == type) {
            return event;
        }
        abx_event_unref(event);
    }
    ck_abort_msg("no event of this type");
}

START_TEST(a_command_gets_what_stands_for_a_secret)
{
    const char *environment, *value;

    open_with(POLICY);
    environment = fake_environment(abx_process_get_id(process));
    value = strstr(environment, "\nHR_TOKEN=");
    ck_assert_msg(value != NULL, "%s", environment);
    ck_assert_uint_eq(strcspn(value + 10, "\n"), 40);
    ck_assert_ptr_nonnull(strstr(environment, "\nAWS_ACCESS_KEY_ID=AKIA"));
    ck_assert_ptr_nonnull(strstr(environment, "\nAWS_SECRET_ACCESS_KEY="));
    tear_down();
    open_with(OFFLINE);
    ck_assert_ptr_null(strstr(fake_environment(abx_process_get_id(process)), "HR_TOKEN"));
    tear_down();
}
END_TEST

START_TEST(a_caller_cannot_put_the_secret_there_instead)
{
    static const char *const argv[] = { "/bin/true", NULL };
    static const char *const env[] = { "HR_TOKEN=" SECRET, NULL };
    abx_spawn_options options = { .size = sizeof options, .env = env };
    abx_process *other = NULL;
    abx_error *error = NULL;

    open_with(POLICY);
    ck_assert_int_eq(abx_box_spawn(box, argv, &options, &other, &error), ABX_ERR_DENIED);
    ck_assert_ptr_null(strstr(abx_error_get_message(error), SECRET));
    abx_error_unref(error);
    tear_down();
}
END_TEST

START_TEST(a_secret_that_comes_after_the_delegation_is_denied)
{
    abx_error *error = NULL;
    uint64_t ticket = 0;

    open_with(POLICY);
    ck_assert_int_eq(abx_identity_new("kim", "s", "d", event_time_now() / 1000000 + 3600000,
                             &box->identity, NULL),
            ABX_OK);
    ck_assert_uint_eq(want("hr", "hr.test", NULL, &ticket), ABX_VERDICT_ASK);
    box->identity->expires_ns = 1;
    ck_assert_int_eq(
            abx_context_supply(context, ticket, SECRET, strlen(SECRET), 0, &error), ABX_ERR_DENIED);
    ck_assert_str_eq(abx_error_get_step(error), "identity:delegation");
    abx_error_unref(error);
    ck_assert_int_eq(fake_answer_to(ticket), ABX_VERDICT_DENY);
    tear_down();
}
END_TEST

START_TEST(a_wanted_secret_is_an_event_and_goes_on_when_it_is_supplied)
{
    uint64_t ticket = 0, other = 0;
    abx_event *event;

    open_with(POLICY);
    ck_assert_uint_eq(want("hr", "hr.test", NULL, &ticket), ABX_VERDICT_ASK);
    event = next_event(ABX_EVENT_CREDENTIAL);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_TARGET), "hr");
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_VERB), "hr.test");
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_TICKET), (int64_t)ticket);
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_LAYER), ABX_LAYER_IDENTITY);
    ck_assert_int_gt(abx_event_get_int(event, ABX_FIELD_DEADLINE_MS), 0);
    ck_assert_ptr_null(abx_event_get_string(event, ABX_FIELD_ADDS));
    abx_event_unref(event);
    ck_assert_uint_eq(want("hr", "hr.test", NULL, &other), ABX_VERDICT_ASK);
    ck_assert_uint_eq(other, ticket); /* equal questions are one */
    ck_assert_int_eq(abx_context_supply(context, ticket, SECRET, strlen(SECRET), 0, NULL), ABX_OK);
    ck_assert_int_eq(fake_answer_to(ticket), ABX_VERDICT_ALLOW);
    ck_assert_int_eq(
            abx_context_supply(context, ticket, SECRET, strlen(SECRET), 0, NULL), ABX_ERR_STATE);
    tear_down();
}
END_TEST

START_TEST(a_secret_given_beforehand_answers_who_waits_for_it_and_nobody_else)
{
    uint64_t hr = 0, s3 = 0;

    open_with(POLICY);
    ck_assert_uint_eq(want("hr", "hr.test", NULL, &hr), ABX_VERDICT_ASK);
    ck_assert_uint_eq(want("s3", "hr.test", NULL, &s3), ABX_VERDICT_ASK);
    ck_assert_int_eq(abx_box_set_credential(box, "hr", SECRET, strlen(SECRET), 0, NULL), ABX_OK);
    ck_assert_int_eq(fake_answer_to(hr), ABX_VERDICT_ALLOW);
    ck_assert_int_eq(fake_answer_to(s3), -1);
    tear_down();
}
END_TEST

START_TEST(a_secret_is_refused_by_an_answer_and_given_by_none)
{
    abx_answer answer = {
        .size = sizeof answer, .verdict = ABX_VERDICT_ALLOW, .message = "not today"
    };
    abx_error *error = NULL;
    uint64_t ticket = 0;
    abx_event *event;

    open_with(POLICY);
    ck_assert_uint_eq(want("hr", "hr.test", NULL, &ticket), ABX_VERDICT_ASK);
    ck_assert_int_eq(abx_context_answer(context, ticket, &answer, &error), ABX_ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(abx_error_get_remedy(error), "abx_context_supply"));
    abx_error_unref(error);
    answer.verdict = ABX_VERDICT_DENY;
    ck_assert_int_eq(abx_context_answer(context, ticket, &answer, NULL), ABX_OK);
    ck_assert_int_eq(fake_answer_to(ticket), ABX_VERDICT_DENY);
    event = next_event(ABX_EVENT_DENIAL);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_REASON), "not today");
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_LAYER), ABX_LAYER_IDENTITY);
    abx_event_unref(event);
    tear_down();
}
END_TEST

START_TEST(a_credential_for_another_host_is_denied_with_where_it_works)
{
    struct refusal refusal = { 0 };
    abx_event *event;

    open_with(POLICY);
    ck_assert_uint_eq(want("hr", "evil.test", &refusal, NULL), ABX_VERDICT_DENY);
    ck_assert_str_eq(refusal.alternative, "use it with 'hr.test'");
    event = next_event(ABX_EVENT_DENIAL);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_TARGET), "hr");
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_VERB), "evil.test");
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_RULE), "/credentials/0");
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_LAYER), ABX_LAYER_IDENTITY);
    abx_event_unref(event);
    tear_down();
}
END_TEST

static const struct wrong_call {
    const char *name, *secret;
    size_t length;
    int64_t expires_ms;
    abx_status status;
} wrong_calls[] = {
    { "other", SECRET, 24, 0, ABX_ERR_INVALID },
    { "hr", SECRET, 7, 0, ABX_ERR_INVALID },
    { "hr", SECRET, 24, 1, ABX_ERR_INVALID },
    { "hr", SECRET, 24, -1, ABX_ERR_INVALID },
    { NULL, SECRET, 24, 0, ABX_ERR_INVALID },
    { "hr", NULL, 24, 0, ABX_ERR_INVALID },
};

START_TEST(a_secret_that_cannot_be_is_an_error_without_it)
{
    const struct wrong_call *c = &wrong_calls[_i];
    abx_error *error = NULL;

    open_with(POLICY);
    ck_assert_int_eq(
            abx_box_set_credential(box, c->name, c->secret, c->length, c->expires_ms, &error),
            c->status);
    ck_assert_ptr_null(strstr(abx_error_get_message(error), "zzreal"));
    abx_error_unref(error);
    tear_down();
    open_with(OFFLINE);
    ck_assert_int_eq(
            abx_box_set_credential(box, "hr", SECRET, strlen(SECRET), 0, NULL), ABX_ERR_STATE);
    ck_assert_int_eq(
            abx_context_supply(context, 4711, SECRET, strlen(SECRET), 0, NULL), ABX_ERR_STATE);
    tear_down();
}
END_TEST

static abx_verdict
request(const char *method, uint64_t *ret_ticket)
{
    struct act act = {
        .request = ABX_REQUEST_HTTP, .target = "https://api.test/a", .verb = method, .content = -1
    };

    return fake_act(abx_process_get_id(process), &act, ret_ticket);
}

START_TEST(a_request_is_asked_about_by_method_and_url)
{
    abx_answer yes = { .size = sizeof yes, .verdict = ABX_VERDICT_ALLOW, .scope = ABX_SCOPE_BOX };
    uint64_t get = 0, put = 0;
    abx_event *event;

    open_with(POLICY);
    ck_assert_uint_eq(request("GET", &get), ABX_VERDICT_ASK);
    ck_assert_uint_eq(request("PUT", &put), ABX_VERDICT_ASK);
    ck_assert_uint_ne(get, put);
    event = next_event(ABX_EVENT_APPROVAL);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_ADDS),
            "{\"request\":\"http\",\"method\":\"GET\",\"target\":\"https://api.test/a\"}");
    abx_event_unref(event);
    ck_assert_int_eq(abx_context_answer(context, get, &yes, NULL), ABX_OK);
    ck_assert_uint_eq(request("GET", NULL), ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(request("PUT", &put), ABX_VERDICT_ASK);
    tear_down();
}
END_TEST

START_TEST(a_ticket_of_an_approval_takes_no_secret)
{
    uint64_t ticket = 0;

    open_with(POLICY);
    ck_assert_uint_eq(request("GET", &ticket), ABX_VERDICT_ASK);
    ck_assert_int_eq(
            abx_context_supply(context, ticket, SECRET, strlen(SECRET), 0, NULL), ABX_ERR_INVALID);
    tear_down();
}
END_TEST

START_TEST(no_secret_is_in_anything_that_is_told)
{
    uint64_t ticket = 0;
    AUTO(freep) char *receipt = NULL;
    AUTO(freep) char *text = NULL;
    AUTO(freep) char *json = NULL;
    abx_event *event;
    size_t length;

    open_with(POLICY);
    want("hr", "hr.test", NULL, &ticket);
    ck_assert_int_eq(abx_context_supply(context, ticket, SECRET, strlen(SECRET), 0, NULL), ABX_OK);
    want("hr", "evil.test", NULL, NULL);
    ck_assert_int_eq(abx_box_receipt(box, &receipt, &length), ABX_OK);
    ck_assert_ptr_null(strstr(receipt, SECRET));
    ck_assert_int_eq(abx_process_explain(process, "text", &text, &length), ABX_OK);
    ck_assert_ptr_null(strstr(text, SECRET));
    ck_assert_msg(strstr(text, "credential 'hr' for 'evil.test'") != NULL, "%s", text);
    ck_assert_int_eq(abx_box_grants(box, &json, &length), ABX_OK);
    ck_assert_ptr_null(strstr(json, SECRET));
    ck_assert_ptr_null(strstr(fake_environment(abx_process_get_id(process)), SECRET));
    while (abx_context_next_event(context, &event) == ABX_OK) {
        char *line = NULL;

        ck_assert_int_eq(abx_event_to_json(event, &line, &length), ABX_OK);
        ck_assert_ptr_null(strstr(line, SECRET));
        abx_free(line);
        abx_event_unref(event);
    }
    tear_down();
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("supervise_credentials");
    TCase *tcase = tcase_create("credentials");

    tcase_add_test(tcase, a_command_gets_what_stands_for_a_secret);
    tcase_add_test(tcase, a_caller_cannot_put_the_secret_there_instead);
    tcase_add_test(tcase, a_secret_that_comes_after_the_delegation_is_denied);
    tcase_add_test(tcase, a_wanted_secret_is_an_event_and_goes_on_when_it_is_supplied);
    tcase_add_test(tcase, a_secret_given_beforehand_answers_who_waits_for_it_and_nobody_else);
    tcase_add_test(tcase, a_secret_is_refused_by_an_answer_and_given_by_none);
    tcase_add_test(tcase, a_credential_for_another_host_is_denied_with_where_it_works);
    tcase_add_loop_test(
            tcase, a_secret_that_cannot_be_is_an_error_without_it, 0, N_ELEMENTS(wrong_calls));
    tcase_add_test(tcase, a_request_is_asked_about_by_method_and_url);
    tcase_add_test(tcase, a_ticket_of_an_approval_takes_no_secret);
    tcase_add_test(tcase, no_secret_is_in_anything_that_is_told);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
