/* SPDX-License-Identifier: Apache-2.0
 * Who must say yes, with what, and what is told of it. */
#include "supervise/approvals.h"

#include "base/digest.h"
#include "fake_box.h"
#include "unit/main.h"

#include <stdio.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

static const char two_json[] = "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]},"
                               "\"write\":{\"ask\":[\"/w\"]}},\"approvals\":{\"approvers\":2}}";
static const char step_up_json[] =
        "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]},"
        "\"write\":{\"ask\":[\"/w\"]}},\"approvals\":{\"step_up\":true}}";

static abx_context *context;
static abx_box *box;
static abx_process *process;

static void
open_with(const char *json)
{
    fake_box_open(fake_policy(json), 100, "call-7", &context, &box, &process);
}

static void
close_all(void)
{
    abx_process_unref(process);
    box_unref(box);
    context_unref(context);
}

static uint64_t
ask(const char *target)
{
    uint64_t ticket = 0;

    ck_assert_uint_eq(fake_try(abx_process_get_id(process), ABX_ACCESS_WRITE, target, &ticket),
            ABX_VERDICT_ASK);
    return ticket;
}

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
    ck_abort_msg("no event of type %u", type);
    return NULL;
}

/* Of this type; it comes, or the test's own deadline does. */
static abx_event *
wait_for(uint32_t type)
{
    struct pollfd fd = { .fd = (int)abx_context_take_wait_handle(context), .events = POLLIN };
    abx_event *event = NULL;

    for (;;) {
        while (abx_context_next_event(context, &event) == ABX_OK) {
            if (abx_event_get_type(event) == type) {
                close(fd.fd);
                return event;
            }
            abx_event_unref(event);
        }
        ck_assert_int_ge(poll(&fd, 1, -1), 0);
    }
}

static abx_status
yes(uint64_t ticket, const char *approver, const char *evidence, uint32_t scope)
{
    const abx_answer answer = { .size = sizeof answer,
        .verdict = ABX_VERDICT_ALLOW,
        .scope = scope,
        .approver = approver,
        .evidence = evidence };

    return abx_context_answer(context, ticket, &answer, NULL);
}

static abx_status
no(uint64_t ticket, const char *approver)
{
    const abx_answer answer = { .size = sizeof answer, .approver = approver };

    return abx_context_answer(context, ticket, &answer, NULL);
}

/* ---- two approvers ---- */
START_TEST(two_different_approvers_must_agree)
{
    uint64_t ticket;
    abx_event *event;

    open_with(two_json);
    ticket = ask("/w/f");
    event = next_event(ABX_EVENT_APPROVAL);
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_APPROVERS), 2);
    abx_event_unref(event);
    ck_assert_int_eq(yes(ticket, "alice", NULL, ABX_SCOPE_ONCE), ABX_NONE);
    ck_assert_int_eq(fake_answer_to(ticket), -1);
    event = next_event(ABX_EVENT_NOTICE);
    ck_assert_str_eq(
            abx_event_get_string(event, ABX_FIELD_REASON), "one of two approvers said yes");
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_APPROVER), "alice");
    abx_event_unref(event);
    ck_assert_int_eq(yes(ticket, "alice", NULL, ABX_SCOPE_ONCE), ABX_ERR_DENIED);
    ck_assert_int_eq(yes(ticket, "Alice", NULL, ABX_SCOPE_ONCE), ABX_ERR_DENIED);
    ck_assert_int_eq(yes(ticket, "alice ", NULL, ABX_SCOPE_ONCE), ABX_ERR_DENIED);
    ck_assert_int_eq(yes(ticket, " bob", NULL, ABX_SCOPE_ONCE), ABX_ERR_DENIED);
    ck_assert_int_eq(yes(ticket, "bob  b", NULL, ABX_SCOPE_ONCE), ABX_ERR_DENIED);
    ck_assert_int_eq(yes(ticket, NULL, NULL, ABX_SCOPE_ONCE), ABX_ERR_DENIED);
    ck_assert_int_eq(yes(ticket, "bob, carol", NULL, ABX_SCOPE_ONCE), ABX_ERR_DENIED);
    ck_assert_int_eq(fake_answer_to(ticket), -1);
    ck_assert_int_eq(yes(ticket, "bob", NULL, ABX_SCOPE_ONCE), ABX_OK);
    ck_assert_int_eq(fake_answer_to(ticket), ABX_VERDICT_ALLOW);
    event = next_event(ABX_EVENT_NOTICE);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_APPROVER), "alice, bob");
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_VERB), "approve");
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_TARGET), "/w/f");
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_LABEL), "call-7");
    ck_assert_uint_eq((uint64_t)abx_event_get_int(event, ABX_FIELD_TICKET), ticket);
    abx_event_unref(event);
    ck_assert_int_eq(yes(ticket, "carol", NULL, ABX_SCOPE_ONCE), ABX_ERR_STATE);
    close_all();
}
END_TEST

START_TEST(one_no_of_two_is_a_no)
{
    uint64_t ticket;
    abx_event *event;

    open_with(two_json);
    ticket = ask("/w/f");
    ck_assert_int_eq(yes(ticket, "alice", NULL, ABX_SCOPE_BOX), ABX_NONE);
    ck_assert_int_eq(no(ticket, "bob"), ABX_OK);
    ck_assert_int_eq(fake_answer_to(ticket), ABX_VERDICT_DENY);
    event = next_event(ABX_EVENT_DENIAL);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_APPROVER), "bob");
    abx_event_unref(event);
    ask("/w/f"); /* and the yes before it left nothing */
    close_all();
}
END_TEST

START_TEST(one_yes_of_two_is_told_when_the_deadline_passes)
{
    abx_event *event;

    open_with("{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]},\"write\":{\"ask\":"
              "[\"/w\"]}},\"approvals\":{\"approvers\":2,\"timeout_ms\":500}}");
    ck_assert_int_eq(yes(ask("/w/f"), "alice", NULL, ABX_SCOPE_ONCE), ABX_NONE);
    event = wait_for(ABX_EVENT_DENIAL);
    ck_assert_str_eq(
            abx_event_get_string(event, ABX_FIELD_REASON), "1 of 2 approvers agreed in time");
    abx_event_unref(event);
    close_all();
}
END_TEST

static const struct {
    uint32_t first, second;
    bool is_allowed, is_for_others;
} scopes[] = {
    { ABX_SCOPE_BOX, ABX_SCOPE_ONCE, false, false },
    { ABX_SCOPE_ONCE, ABX_SCOPE_BOX, false, false },
    { ABX_SCOPE_BOX, ABX_SCOPE_COMMAND, true, false },
    { ABX_SCOPE_COMMAND, ABX_SCOPE_UNTIL, true, false },
    { ABX_SCOPE_UNTIL, ABX_SCOPE_BOX, true, true },
    { ABX_SCOPE_BOX, ABX_SCOPE_BOX, true, true },
};

static abx_status
yes_in(uint64_t ticket, const char *approver, uint32_t scope)
{
    const abx_answer answer = { .size = sizeof answer,
        .verdict = ABX_VERDICT_ALLOW,
        .scope = scope,
        .expires_ms = scope == ABX_SCOPE_UNTIL ? event_time_now() / 1000000 + 600000 : 0,
        .approver = approver };

    return abx_context_answer(context, ticket, &answer, NULL);
}

START_TEST(of_two_scopes_the_narrower_holds)
{
    uint64_t ticket, other;

    open_with(two_json);
    ticket = ask("/w/f");
    ck_assert_int_eq(yes_in(ticket, "alice", scopes[_i].first), ABX_NONE);
    ck_assert_int_eq(yes_in(ticket, "bob", scopes[_i].second), ABX_OK);
    ck_assert_uint_eq(fake_try(abx_process_get_id(process), ABX_ACCESS_WRITE, "/w/f", &other),
            scopes[_i].is_allowed ? ABX_VERDICT_ALLOW : ABX_VERDICT_ASK);
    ck_assert_uint_eq(fake_try(abx_process_get_id(process) + 1, ABX_ACCESS_WRITE, "/w/f", &other),
            scopes[_i].is_for_others ? ABX_VERDICT_ALLOW : ABX_VERDICT_ASK);
    close_all();
}
END_TEST

/* ---- evidence ---- */
START_TEST(a_step_up_needs_evidence_and_keeps_its_digest)
{
    char digest[DIGEST_HEX_SIZE];
    uint64_t ticket;
    abx_event *event;

    open_with(step_up_json);
    ticket = ask("/w/f");
    event = next_event(ABX_EVENT_APPROVAL);
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_STEP_UP), 1);
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_APPROVERS), 0);
    abx_event_unref(event);
    ck_assert_int_eq(yes(ticket, "alice", NULL, ABX_SCOPE_ONCE), ABX_ERR_DENIED);
    ck_assert_int_eq(yes(ticket, "alice", "", ABX_SCOPE_ONCE), ABX_ERR_DENIED);
    ck_assert_int_eq(fake_answer_to(ticket), -1);
    ck_assert_int_eq(yes(ticket, "alice", "assertion", ABX_SCOPE_ONCE), ABX_OK);
    ck_assert_int_eq(fake_answer_to(ticket), ABX_VERDICT_ALLOW);
    event = next_event(ABX_EVENT_NOTICE);
    digest_hex("assertion", 9, digest);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_EVIDENCE), digest);
    abx_event_unref(event);
    close_all();
}
END_TEST

START_TEST(a_no_needs_no_evidence)
{
    uint64_t ticket;

    open_with(step_up_json);
    ticket = ask("/w/f");
    ck_assert_int_eq(no(ticket, NULL), ABX_OK);
    ck_assert_int_eq(fake_answer_to(ticket), ABX_VERDICT_DENY);
    close_all();
}
END_TEST

START_TEST(an_approvers_name_is_what_is_seen)
{
    static const char *const names[] = {
        "a\nb", "a\033[2J", "\xff", "\x7f", /* lines */
        "J\xc3\xbcrgen\xe2\x80\x8b", "J\xc3\xbcr\xe2\x80\x8dgen", /* no width */
        "J\xc3\xbcrgen\xe2\x80\x8e", "\xe2\x80\xaeJ\xc3\xbcrgen", "\xe2\x81\xa6J\xc3\xbcrgen",
        "J\xc3\xbcrgen\xd8\x9c", /* directions */
        "J\xc3\xbcr\xc2\xadgen", "J\xcd\x8f\xc3\xbcrgen", "J\xc3\xbcrgen\xef\xb8\x8f",
        "J\xc3\xbcrgen\xe3\x85\xa4", "J\xc3\xbcrgen\xf3\xa0\x81\xa1" /* not shown */
    };
    uint64_t ticket;

    open_with(two_json);
    ticket = ask("/w/f");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        ck_assert_int_eq(yes(ticket, names[i], NULL, ABX_SCOPE_ONCE), ABX_ERR_INVALID);
    }
    ck_assert_int_eq(yes(ticket, "J\xc3\xbcrgen", NULL, ABX_SCOPE_ONCE), ABX_NONE);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        ck_assert_int_eq(yes(ticket, names[i], NULL, ABX_SCOPE_ONCE), ABX_ERR_INVALID);
    }
    ck_assert_int_eq(fake_answer_to(ticket), -1);
    close_all();
}
END_TEST

/* ---- how many ---- */
static const char many_json[] = "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]},"
                                "\"write\":{\"ask\":[\"/w\"]}},\"approvals\":{\"per_minute\":%d}}";

static abx_verdict
try_number(unsigned n, uint64_t *ret_ticket)
{
    char target[32];

    snprintf(target, sizeof target, "/w/%u", n);
    return fake_try(abx_process_get_id(process), ABX_ACCESS_WRITE, target, ret_ticket);
}

static void
expect_refused(const char *reason)
{
    abx_event *event = next_event(ABX_EVENT_DENIAL);

    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_LAYER), ABX_LAYER_APPROVAL);
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_CLASS), ABX_CLASS_LIMIT);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_REASON), reason);
    abx_event_unref(event);
}

START_TEST(a_box_has_so_many_open_questions_and_no_more)
{
    char json[256];
    uint64_t ticket = 0;

    snprintf(json, sizeof json, many_json, 1000);
    open_with(json);
    for (unsigned i = 0; i < APPROVALS_MAX; i++) {
        ck_assert_uint_eq(try_number(i, &ticket), ABX_VERDICT_ASK);
    }
    ck_assert_uint_eq(try_number(APPROVALS_MAX, NULL), ABX_VERDICT_DENY);
    expect_refused("too many questions are open");
    ck_assert_int_eq(no(ticket, NULL), ABX_OK);
    ck_assert_uint_eq(try_number(APPROVALS_MAX, NULL), ABX_VERDICT_ASK);
    close_all();
}
END_TEST

START_TEST(equal_questions_are_one_in_their_minute)
{
    char json[256];

    snprintf(json, sizeof json, many_json, 2);
    open_with(json);
    for (unsigned i = 0; i < 5; i++) {
        ck_assert_uint_eq(try_number(1, NULL), ABX_VERDICT_ASK);
    }
    ck_assert_uint_eq(try_number(2, NULL), ABX_VERDICT_ASK);
    ck_assert_uint_eq(try_number(3, NULL), ABX_VERDICT_DENY);
    expect_refused("too many questions in this minute");
    ck_assert_uint_eq(try_number(1, NULL), ABX_VERDICT_ASK); /* nobody is asked anew */
    close_all();
}
END_TEST

/* ---- what the model is told ---- */
START_TEST(the_words_of_who_refuses_reach_the_model)
{
    const abx_answer words = {
        .size = sizeof words, .approver = "pat", .message = "ask me\non \033[1mMonday"
    };
    abx_exit ended = { .size = sizeof ended };
    uint64_t ticket;
    char *text;

    open_with(step_up_json);
    ticket = ask("/w/f");
    ck_assert_int_eq(abx_context_answer(context, ticket, &words, NULL), ABX_OK);
    fake_exit(abx_process_get_id(process), ABX_EXIT_CODE, 1, false);
    ck_assert_int_eq(abx_process_wait(process, -1, &ended), ABX_OK);
    ck_assert_int_eq(abx_process_explain(process, NULL, &text, NULL), ABX_OK);
    ck_assert_msg(strstr(text, "ask me") != NULL && strstr(text, "Monday") != NULL, "%s", text);
    ck_assert_msg(strchr(text, '\033') == NULL && strstr(text, "me\non") == NULL, "%s", text);
    abx_free(text);
    close_all();
}
END_TEST

/* ---- as the policy says it ---- */

#define ACTION(more) "{\"version\":1,\"actions\":[{\"name\":\"pay\",\"verdict\":\"ask\"" more "}]}"
#define ALL(more) "{\"version\":1,\"approvals\":{" more "}}"

static void
expect_explained(const char *json, const char *expected)
{
    const abx_request request = {
        .size = sizeof request, .kind = ABX_REQUEST_ACTION, .target = "pay"
    };
    abx_policy *policy = fake_policy(json);
    char *text;

    ck_assert_int_eq(abx_policy_explain(policy, &request, &text, NULL), ABX_OK);
    ck_assert_msg(strstr(text, expected) != NULL, "%s", text);
    abx_free(text);
    abx_policy_unref(policy);
}

START_TEST(an_action_says_what_a_yes_needs)
{
    expect_explained(ACTION(""), "\"approvers\":1,\"step_up\":false");
    expect_explained(ACTION(",\"approvers\":2"), "\"approvers\":2,\"step_up\":false");
    expect_explained(ACTION(",\"step_up\":true"), "\"approvers\":1,\"step_up\":true");
    expect_explained("{\"version\":1,\"layers\":[" ACTION(",\"approvers\":2") "," ACTION(
                             ",\"step_up\":true") "]}",
            "\"approvers\":2,\"step_up\":true");
}
END_TEST

static const struct {
    const char *before, *after;
    uint32_t relation;
} pairs[] = {
    { ACTION(""), ACTION(",\"approvers\":2"), ABX_RELATION_NARROWER },
    { ACTION(",\"step_up\":true"), ACTION(""), ABX_RELATION_WIDER },
    { ACTION(",\"step_up\":true"), ACTION(",\"approvers\":2"), ABX_RELATION_NEITHER },
    { ACTION(",\"approvers\":1"), ACTION(""), ABX_RELATION_EQUAL },
    { ALL(""), ALL("\"approvers\":2"), ABX_RELATION_NARROWER },
    { ALL("\"step_up\":true"), ALL(""), ABX_RELATION_WIDER },
    { ALL("\"step_up\":true"), ALL("\"approvers\":2"), ABX_RELATION_NEITHER },
};

START_TEST(what_a_yes_needs_is_compared_and_kept)
{
    abx_policy *before = fake_policy(pairs[_i].before), *after = fake_policy(pairs[_i].after),
               *again;
    abx_report *report = NULL;
    char *text, *expected;

    ck_assert_int_eq(abx_policy_compare(before, after, &report, NULL), pairs[_i].relation);
    abx_report_unref(report);
    ck_assert_int_eq(abx_policy_to_json(after, &text, NULL), ABX_OK);
    again = fake_policy(text);

    ck_assert_str_eq(abx_policy_get_digest(again), abx_policy_get_digest(after));
    ck_assert_int_eq(abx_policy_to_json(again, &expected, NULL), ABX_OK);
    ck_assert_str_eq(text, expected);
    abx_free(text);
    abx_free(expected);
    abx_policy_unref(before);
    abx_policy_unref(after);
    abx_policy_unref(again);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("approvals");
    TCase *tcase = tcase_create("approvals");

    tcase_add_test(tcase, two_different_approvers_must_agree);
    tcase_add_test(tcase, one_no_of_two_is_a_no);
    tcase_add_test(tcase, one_yes_of_two_is_told_when_the_deadline_passes);
    tcase_add_loop_test(
            tcase, of_two_scopes_the_narrower_holds, 0, (int)(sizeof scopes / sizeof scopes[0]));
    tcase_add_test(tcase, a_step_up_needs_evidence_and_keeps_its_digest);
    tcase_add_test(tcase, a_no_needs_no_evidence);
    tcase_add_test(tcase, an_approvers_name_is_what_is_seen);
    tcase_add_test(tcase, a_box_has_so_many_open_questions_and_no_more);
    tcase_add_test(tcase, equal_questions_are_one_in_their_minute);
    tcase_add_test(tcase, the_words_of_who_refuses_reach_the_model);
    tcase_add_test(tcase, an_action_says_what_a_yes_needs);
    tcase_add_loop_test(
            tcase, what_a_yes_needs_is_compared_and_kept, 0, (int)(sizeof pairs / sizeof pairs[0]));
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
