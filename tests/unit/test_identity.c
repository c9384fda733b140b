/* SPDX-License-Identifier: Apache-2.0
 * On whose behalf: names on every event, and what an expired delegation denies. */
#include "supervise/approvals.h"

#include "base/mem.h"
#include "fake-backend.h"
#include "unit/main.h"

#include <stdlib.h>
#include <string.h>

static const char policy_json[] =
        "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"],\"deny\":[\"/secret\"]},"
        "\"write\":{\"allow\":[\"/w\"],\"ask\":[\"/w/ask\"]},\"protect\":{\"defaults\":false}},"
        "\"network\":{\"mode\":\"filtered\",\"allow\":[\"good.test\"],\"deny\":[\"bad.test\"]}}";

static abx_context *context;
static abx_identity *identity;
static abx_box *box;
static abx_process *process;

static int64_t
in_an_hour(void)
{
    return event_time_now() / 1000000 + 3600000;
}

static abx_status
open_box(abx_box **ret_box, abx_error **reterr)
{
    abx_policy *policy = NULL;
    abx_status r;

    ck_assert_int_eq(abx_policy_from_json(policy_json, strlen(policy_json), &policy, NULL), ABX_OK);
    r = abx_box_open(context, policy, identity, ret_box, reterr);
    abx_policy_unref(policy);
    return r;
}

static abx_status
spawn(abx_process **ret_process, abx_error **reterr)
{
    static const char *const argv[] = { "/bin/fake", NULL };
    abx_spawn_options options = { .size = sizeof options, .label = "call" };

    return abx_box_spawn(box, argv, &options, ret_process, reterr);
}

static void
set_up(void)
{
    struct fail fail = { 0 };

    ck_assert_int_eq(context_new(&fake_backend, NULL, 100, &context, &fail), ABX_OK);
    ck_assert_int_eq(
            abx_identity_new("kim@example.com", "session-9", "d-7", in_an_hour(), &identity, NULL),
            ABX_OK);
    ck_assert_int_eq(open_box(&box, NULL), ABX_OK);
    ck_assert_int_eq(spawn(&process, NULL), ABX_OK);
}

static void
tear_down(void)
{
    abx_process_unref(process);
    abx_box_unref(box);
    abx_context_unref(context);
    abx_identity_unref(identity);
}

/* As if that hour had passed; no decision is under way. */
static void
let_it_expire(void)
{
    identity->expires_ns = 1;
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

static abx_verdict
connect_to(const char *host)
{
    struct act act = { .request = ABX_REQUEST_CONNECT,
        .target = host,
        .verb = "connect",
        .port = 443,
        .content = -1 };

    return fake_act(abx_process_get_id(process), &act, NULL);
}

static void
expect_identity_denial(const char *target)
{
    abx_event *event = next_event(ABX_EVENT_DENIAL);

    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_TARGET), target);
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_LAYER), ABX_LAYER_IDENTITY);
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_RETRY), ABX_RETRY_NONE);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_RULE), "identity:delegation");
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_CLASS), ABX_CLASS_IDENTITY);
    ck_assert_ptr_nonnull(strstr(abx_event_get_string(event, ABX_FIELD_REASON),
            "the delegation 'd-7' that this session acts under expired at "));
    abx_event_unref(event);
}

/* How the one question ended. */
static void
expect_ended(uint64_t timed_out, uint64_t refused)
{
    abx_stats stats = { .size = sizeof stats };

    ck_assert_int_eq(abx_context_stats(context, &stats), ABX_OK);
    ck_assert_uint_eq(stats.asked, 1);
    ck_assert_uint_eq(stats.timed_out, timed_out);
    ck_assert_uint_eq(stats.refused, refused);
}

START_TEST(all_three_names_are_on_every_event_of_the_box)
{
    static const uint32_t types[] = { ABX_EVENT_STARTED, ABX_EVENT_DENIAL, ABX_EVENT_APPROVAL,
        ABX_EVENT_NOTICE, ABX_EVENT_EXITED };
    abx_request pattern = {
        .size = sizeof pattern, .kind = ABX_REQUEST_PATH, .access = ABX_ACCESS_WRITE, .target = "/x"
    };
    uint64_t ticket, grant;

    fake_try(abx_process_get_id(process), ABX_ACCESS_READ, "/secret", NULL);
    fake_try(abx_process_get_id(process), ABX_ACCESS_WRITE, "/w/ask", &ticket);
    ck_assert_int_eq(abx_box_grant(box, &pattern, 0, 0, "pat", &grant, NULL), ABX_OK);
    fake_exit(abx_process_get_id(process), ABX_EXIT_CODE, 0, false);
    ck_assert_int_eq(abx_process_wait(process, -1, NULL), ABX_OK);
    for (size_t i = 0; i < N_ELEMENTS(types); i++) {
        abx_event *event = next_event(types[i]);
        char *json;

        ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_PRINCIPAL), "kim@example.com");
        ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_AGENT_SESSION), "session-9");
        ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_DELEGATION), "d-7");
        ck_assert_int_eq(abx_event_to_json(event, &json, NULL), ABX_OK);
        ck_assert_ptr_nonnull(strstr(json, "\"principal\":\"kim@example.com\",\"agent_session\":"
                                           "\"session-9\",\"delegation\":\"d-7\""));
        abx_free(json);
        abx_event_unref(event);
    }
}
END_TEST

START_TEST(the_receipt_has_the_identity)
{
    char *json;

    ck_assert_int_eq(abx_box_receipt(box, &json, NULL), ABX_OK);
    ck_assert_ptr_nonnull(strstr(json, "\"identity\":{\"principal\":\"kim@example.com\","
                                       "\"agent_session\":\"session-9\",\"delegation\":\"d-7\","
                                       "\"expires_ms\":"));
    abx_free(json);
}
END_TEST

START_TEST(an_expired_delegation_denies_what_goes_out)
{
    ck_assert_uint_eq(connect_to("good.test"), ABX_VERDICT_ALLOW);
    let_it_expire();
    ck_assert_uint_eq(connect_to("good.test"), ABX_VERDICT_DENY);
    expect_identity_denial("good.test");
}
END_TEST

START_TEST(what_the_policy_denies_stays_a_denial_of_the_policy)
{
    abx_event *event;

    let_it_expire();
    ck_assert_uint_eq(connect_to("bad.test"), ABX_VERDICT_DENY);
    event = next_event(ABX_EVENT_DENIAL);
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_LAYER), ABX_LAYER_NETWORK);
    abx_event_unref(event);
}
END_TEST

START_TEST(what_stays_in_the_box_goes_on)
{
    let_it_expire();
    ck_assert_uint_eq(fake_try(abx_process_get_id(process), ABX_ACCESS_WRITE, "/w/a", NULL),
            ABX_VERDICT_ALLOW);
}
END_TEST

START_TEST(nothing_is_asked_or_granted_after_it)
{
    abx_request pattern = {
        .size = sizeof pattern, .kind = ABX_REQUEST_PATH, .access = ABX_ACCESS_WRITE, .target = "/x"
    };
    abx_error *error = NULL;
    uint64_t grant, ticket;

    ck_assert_int_eq(abx_box_grant(box, &pattern, 0, 0, "pat", &grant, NULL), ABX_OK);
    let_it_expire();
    ck_assert_uint_eq(fake_try(abx_process_get_id(process), ABX_ACCESS_WRITE, "/w/ask", &ticket),
            ABX_VERDICT_DENY);
    expect_identity_denial("/w/ask");
    ck_assert_uint_eq(fake_try(abx_process_get_id(process), ABX_ACCESS_WRITE, "/x", &ticket),
            ABX_VERDICT_DENY);
    ck_assert_int_eq(abx_box_grant(box, &pattern, 0, 0, "pat", &grant, &error), ABX_ERR_DENIED);
    ck_assert_str_eq(abx_error_get_step(error), "identity:delegation");
    abx_error_unref(error);
}
END_TEST

START_TEST(a_yes_that_comes_after_it_is_a_no)
{
    abx_answer yes = { .size = sizeof yes, .verdict = ABX_VERDICT_ALLOW, .approver = "pat" };
    abx_error *error = NULL;
    uint64_t ticket;
    abx_event *event;

    ck_assert_uint_eq(fake_try(abx_process_get_id(process), ABX_ACCESS_WRITE, "/w/ask", &ticket),
            ABX_VERDICT_ASK);
    event = next_event(ABX_EVENT_APPROVAL);
    abx_event_unref(event);
    let_it_expire();
    ck_assert_int_eq(abx_context_answer(context, ticket, &yes, &error), ABX_ERR_DENIED);
    ck_assert_str_eq(abx_error_get_step(error), "identity:delegation");
    abx_error_unref(error);
    ck_assert_int_eq(fake_answer_to(ticket), ABX_VERDICT_DENY);
    ck_assert_int_eq(abx_context_next_event(context, &event), ABX_OK); /* and no yes before it */
    ck_assert_uint_eq(abx_event_get_type(event), ABX_EVENT_DENIAL);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_RULE), "identity:delegation");
    abx_event_unref(event);
    expect_ended(0, 1);
    ck_assert_int_eq(abx_context_answer(context, ticket, &yes, NULL), ABX_ERR_STATE);
}
END_TEST

START_TEST(a_question_ends_with_the_delegation)
{
    const int64_t expires_ms = event_time_now() / 1000000 + 200;
    uint64_t ticket, limit_ns = clock_now_ns() + 10000000000u;
    abx_event *event;

    identity->expires_ms = expires_ms;
    identity->expires_ns = clock_now_ns() + 200000000u;
    ck_assert_uint_eq(fake_try(abx_process_get_id(process), ABX_ACCESS_WRITE, "/w/ask", &ticket),
            ABX_VERDICT_ASK);
    event = next_event(ABX_EVENT_APPROVAL);
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_DEADLINE_MS), expires_ms);
    abx_event_unref(event);
    while (fake_answer_to(ticket) < 0) {
        ck_assert_uint_lt(clock_now_ns(), limit_ns);
    }
    ck_assert_int_eq(fake_answer_to(ticket), ABX_VERDICT_DENY);
    expect_identity_denial("/w/ask");
    expect_ended(1, 0);
}
END_TEST

START_TEST(no_command_starts_after_it)
{
    abx_process *other = NULL;
    abx_error *error = NULL;

    let_it_expire();
    ck_assert_int_eq(spawn(&other, &error), ABX_ERR_DENIED);
    ck_assert_ptr_null(other);
    ck_assert_str_eq(abx_error_get_step(error), "identity:delegation");
    ck_assert_str_eq(abx_error_get_remedy(error), "open a box under a new delegation");
    abx_error_unref(error);
    expect_identity_denial("/bin/fake");
}
END_TEST

START_TEST(no_box_opens_after_it)
{
    abx_box *other = NULL;
    abx_error *error = NULL;

    let_it_expire();
    ck_assert_int_eq(open_box(&other, &error), ABX_ERR_DENIED);
    ck_assert_str_eq(abx_error_get_step(error), "identity:delegation");
    abx_error_unref(error);
}
END_TEST

START_TEST(it_expires_by_either_clock)
{
    abx_identity *old, *ever;

    ck_assert_int_eq(abx_identity_new("a", "b", "c", 1, &old, NULL), ABX_OK);
    ck_assert_int_eq(abx_identity_new("a", "b", "c", 0, &ever, NULL), ABX_OK);
    ck_assert(identity_is_over(old) && !identity_is_over(ever) && !identity_is_over(identity));
    let_it_expire(); /* the clock that cannot be set */
    ck_assert(identity_is_over(identity));
    identity->expires_ns = UINT64_MAX; /* the machine slept */
    identity->expires_ms = 1;
    ck_assert(identity_is_over(identity));
    abx_identity_unref(old);
    abx_identity_unref(ever);
}
END_TEST

START_TEST(a_field_is_a_structured_one)
{
    abx_identity *other;

    ck_assert_str_eq(identity->field,
            "principal=\"kim@example.com\", agent-session=\"session-9\", delegation=\"d-7\"");
    ck_assert_int_eq(
            abx_identity_new("J\xc3\xbcrg \"x\" 5%", "a\"b\\c", NULL, 0, &other, NULL), ABX_OK);
    ck_assert_str_eq(
            other->field, "principal=%\"J%c3%bcrg %22x%22 5%25\", agent-session=\"a\\\"b\\\\c\"");
    abx_identity_unref(other);
}
END_TEST

START_TEST(a_policy_that_tells_it_wants_a_box_that_has_one)
{
    static const char tells[] = "{\"version\":1,\"network\":{\"mode\":\"filtered\"},\"identity\":{"
                                "\"header\":\"X-Agent\",\"hosts\":[\"good.test\"]}}";
    abx_policy *policy = NULL;
    abx_box *other = NULL;
    abx_error *error = NULL;

    ck_assert_int_eq(abx_policy_from_json(tells, strlen(tells), &policy, NULL), ABX_OK);
    ck_assert_int_eq(abx_box_open(context, policy, NULL, &other, &error), ABX_ERR_INVALID);
    ck_assert_str_eq(abx_error_get_step(error), "open:identity");
    abx_error_unref(error);
    abx_policy_unref(policy);
}
END_TEST

static const struct bad_case {
    const char *name, *principal, *session, *delegation;
    int64_t expires_ms;
} bad_cases[] = {
    { "no principal", NULL, "s", NULL, 0 },
    { "an empty one", "", "s", NULL, 0 },
    { "no session", "p", NULL, NULL, 0 },
    { "an empty delegation", "p", "s", "", 0 },
    { "a line break", "p\nq", "s", NULL, 0 },
    { "a right-to-left override", "p\xe2\x80\xaeq", "s", NULL, 0 },
    { "not UTF-8", "p", "s\xff", NULL, 0 },
    { "nothing that expires", "p", "s", NULL, 5 },
    { "before 1970", "p", "s", "d", -1 },
};

START_TEST(an_identity_that_could_pass_for_another_is_refused)
{
    const struct bad_case *c = &bad_cases[_i];
    abx_identity *other = NULL;

    ck_assert_msg(abx_identity_new(c->principal, c->session, c->delegation, c->expires_ms, &other,
                          NULL) == ABX_ERR_INVALID,
            "%s", c->name);
    ck_assert_ptr_null(other);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("identity");
    TCase *tc = tcase_create("identity");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, all_three_names_are_on_every_event_of_the_box);
    tcase_add_test(tc, the_receipt_has_the_identity);
    tcase_add_test(tc, an_expired_delegation_denies_what_goes_out);
    tcase_add_test(tc, what_the_policy_denies_stays_a_denial_of_the_policy);
    tcase_add_test(tc, what_stays_in_the_box_goes_on);
    tcase_add_test(tc, nothing_is_asked_or_granted_after_it);
    tcase_add_test(tc, a_yes_that_comes_after_it_is_a_no);
    tcase_add_test(tc, a_question_ends_with_the_delegation);
    tcase_add_test(tc, no_command_starts_after_it);
    tcase_add_test(tc, no_box_opens_after_it);
    tcase_add_test(tc, it_expires_by_either_clock);
    tcase_add_test(tc, a_field_is_a_structured_one);
    tcase_add_test(tc, a_policy_that_tells_it_wants_a_box_that_has_one);
    tcase_add_loop_test(
            tc, an_identity_that_could_pass_for_another_is_refused, 0, N_ELEMENTS(bad_cases));
    suite_add_tcase(suite, tc);
    return suite;
}

UNIT_MAIN(make_suite)
