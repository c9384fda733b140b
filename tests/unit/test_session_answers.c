/* SPDX-License-Identifier: Apache-2.0
 * What is told of an answer that refuses a request: who asks is not accepted, or a server does not
 * take the values of a named action.  What the program gets is the same in every case. */
#include "base/mem.h"
#include "egress/problem_document.h"
#include "egress/session_private.h"
#include "egress/thread.h"
#include "egress_box.h"
#include "fake_replace.h"
#include "session_box.h"
#include "unit/main.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SECTIONS                                                                                   \
    ",\"actions\":[{\"name\":\"update\",\"verdict\":\"allow\",\"arguments\":{\"id\":{"             \
    "\"type\":\"string\"}}}]"
#define RULE ",{\"methods\":[\"PUT\"],\"path\":\"/v1/{id}\",\"action\":\"update\"}"
#define PUT "PUT /v1/7 HTTP/1.1\r\nHost: @\r\nContent-Length: 0\r\n\r\n"
#define PASSED "PUT /v1/7 HTTP/1.1\r\nHost: @\r\nIdempotency-Key: k-1\r\nContent-Length: 0\r\n\r\n"
#define GET "GET /a?b HTTP/1.1\r\nHost: @\r\n\r\n"
#define PROBLEM "Content-Type: application/problem+json\r\n"
#define PAID "{\"title\":\"Paid\",\"x\":1}"

static void
set_up(void)
{
    session_box_open_with(RULE, SECTIONS);
}

static void
tear_down(void)
{
    broker_gives_key(NULL);
    session_box_close();
}

static void
expect_told_of(
        uint32_t layer, const char *action, int status, const char *target, struct told *told)
{
    broker_tells(told);
    ck_assert_uint_eq(told->type, ABX_EVENT_NOTICE);
    ck_assert_uint_eq(told->layer, layer);
    ck_assert_uint_eq(told->request, ABX_REQUEST_HTTP);
    ck_assert_str_eq(told->action, action);
    ck_assert_int_eq(told->status, status);
    ck_assert_str_eq(told->target, fill(target));
}

/* ---- who asks ---- */
static const struct identity_case {
    int status;
    const char *sent, *reason, *alternative;
} identity_cases[] = {
    { 401, NULL, "the server answered 401: it wants a login, and got none that it accepts",
            "ask for a credential for 'localhost'" },
    { 401, "hr", "the server answered 401: it does not accept the credential 'hr'",
            "ask for another credential 'hr' or a new login" },
    { 403, NULL, "the server answered 403: whoever it takes this for may not do it",
            "ask for the right" },
    { 403, "hr", "the server answered 403: who has the credential 'hr' may not do this",
            "ask for the right" },
    { 407, NULL, "the server answered 407: it wants a login", "ask for a credential" },
};

START_TEST(who_is_not_accepted_is_told_so)
{
    const struct identity_case *c = &identity_cases[_i];
    struct told told;
    char answer[128], rule[32];

    fake_replace.sent = c->sent;
    snprintf(answer, sizeof answer, "HTTP/1.1 %d No\r\nContent-Length: 2\r\n\r\nno", c->status);
    snprintf(rule, sizeof rule, "upstream:%d", c->status);
    say(GET);
    expect_request(GET);
    send_text(origin, answer);
    expect_answer(answer);
    expect_told_of(ABX_LAYER_IDENTITY, "", c->status, "http://@/a?b", &told);
    ck_assert_str_eq(told.rule, rule);
    ck_assert_msg(strncmp(told.reason, c->reason, strlen(c->reason)) == 0, "%s", told.reason);
    ck_assert_msg(strncmp(told.alternative, c->alternative, strlen(c->alternative)) == 0, "%s",
            told.alternative);
    ck_assert(broker_is_quiet());
}
END_TEST

START_TEST(a_login_that_a_program_sends_when_it_is_told_to_is_said_to_be_accepted)
{
    struct told told;

    say(GET);
    expect_request(GET);
    send_text(origin, OK);
    expect_answer(OK);
    ck_assert_uint_eq(broker_accepted(), 0); /* nothing had been refused */
    say(GET);
    expect_request(GET);
    send_text(origin, "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n");
    expect_answer("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n");
    expect_told_of(ABX_LAYER_IDENTITY, "", 401, "http://@/a?b", &told);
    ck_assert_uint_eq(broker_accepted(), 0);
    say(GET);
    expect_request(GET);
    send_text(origin, OK);
    expect_answer(OK);
    ck_assert_uint_eq(broker_accepted(), 1);
    say(GET);
    expect_request(GET);
    send_text(origin, "HTTP/1.1 422 No\r\nContent-Length: 0\r\n\r\n");
    expect_answer("HTTP/1.1 422 No\r\nContent-Length: 0\r\n\r\n");
    ck_assert(broker_is_quiet()); /* what was refused before makes nothing of another answer */
    say(GET);
    expect_request(GET);
    send_text(origin, "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n");
    expect_answer("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n");
    expect_told_of(ABX_LAYER_IDENTITY, "", 403, "http://@/a?b", &told);
}
END_TEST

START_TEST(what_a_request_without_a_named_action_is_answered_otherwise_is_its_own_matter)
{
    static const int statuses[] = { 200, 302, 400, 404, 409, 422, 429, 500 };
    char answer[128];

    snprintf(answer, sizeof answer, "HTTP/1.1 %d X\r\n" PROBLEM "Content-Length: 2\r\n\r\n{}",
            statuses[_i]);
    say(GET);
    expect_request(GET);
    send_text(origin, answer);
    expect_answer(answer);
    ck_assert(broker_is_quiet());
}
END_TEST

/* ---- values ---- */
static const struct action_case {
    const char *name, *answer, *got;
    int status; /* that is told; 0: nothing is */
    const char *problem;
} action_cases[] = {
    { "a status alone", "422 X\r\nContent-Length: 2\r\n\r\nno",
            "422 X\r\nContent-Length: 2\r\n\r\nno", 422, "" },
    { "a document", "409 X\r\n" PROBLEM "Content-Length: 22\r\n\r\n" PAID,
            "409 X\r\n" PROBLEM "Content-Length: 22\r\n\r\n" PAID, 409, "{\"title\":\"Paid\"}" },
    { "in chunks",
            "422 X\r\n" PROBLEM "Transfer-Encoding: chunked\r\n\r\n3\r\n{\"t\r\n"
            "13\r\nitle\":\"Paid\",\"x\":1}\r\n0\r\n\r\n",
            "422 X\r\n" PROBLEM "Transfer-Encoding: chunked\r\n\r\n16\r\n" PAID "\r\n0\r\n\r\n",
            422, "{\"title\":\"Paid\"}" },
    { "with a charset",
            "400 X\r\nContent-Type: Application/Problem+JSON; charset=utf-8\r\n"
            "Content-Length: 22\r\n\r\n" PAID,
            "400 X\r\nContent-Type: Application/Problem+JSON; charset=utf-8\r\n"
            "Content-Length: 22\r\n\r\n" PAID,
            400, "{\"title\":\"Paid\"}" },
    { "a document that is none", "422 X\r\n" PROBLEM "Content-Length: 2\r\n\r\n[]",
            "422 X\r\n" PROBLEM "Content-Length: 2\r\n\r\n[]", 422, "" },
    { "compressed", "422 X\r\n" PROBLEM "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\nxx",
            "422 X\r\n" PROBLEM "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\nxx", 422, "" },
    { "not compressed",
            "422 X\r\n" PROBLEM "Content-Encoding: identity\r\nContent-Length: 22\r\n\r\n" PAID,
            "422 X\r\n" PROBLEM "Content-Encoding: identity\r\nContent-Length: 22\r\n\r\n" PAID,
            422, "{\"title\":\"Paid\"}" },
    { "an error without a document", "404 X\r\nContent-Length: 2\r\n\r\nno",
            "404 X\r\nContent-Length: 2\r\n\r\nno", 0, NULL },
    { "too many", "429 X\r\n" PROBLEM "Content-Length: 2\r\n\r\n{}",
            "429 X\r\n" PROBLEM "Content-Length: 2\r\n\r\n{}", 0, NULL },
    { "an error of the server", "500 X\r\n" PROBLEM "Content-Length: 2\r\n\r\n{}",
            "500 X\r\n" PROBLEM "Content-Length: 2\r\n\r\n{}", 0, NULL },
};

START_TEST(what_the_server_of_a_named_action_does_not_take_is_told)
{
    const struct action_case *c = &action_cases[_i];
    struct told told;
    char answer[512], got[512];

    broker_gives_key("k-1");
    snprintf(answer, sizeof answer, "HTTP/1.1 %s", c->answer);
    snprintf(got, sizeof got, "HTTP/1.1 %s", c->got);
    for (int times = 0; times < 2; times++) { /* the second over the same two connections */
        say(PUT);
        expect_request(PASSED);
        send_text(origin, answer);
        expect_answer(got);
        if (c->status != 0) {
            expect_told_of(ABX_LAYER_ACTION, "update", c->status, "http://@/v1/7", &told);
            ck_assert_str_eq(told.problem, c->problem);
            ck_assert_ptr_nonnull(strstr(told.reason, "does not take the values of this action"));
        }
    }
    ck_assert(broker_is_quiet());
}
END_TEST

START_TEST(an_action_that_somebody_may_not_do_is_a_matter_of_who_asks)
{
    struct told told;

    broker_gives_key("k-1");
    say(PUT);
    expect_request(PASSED);
    send_text(origin, "HTTP/1.1 403 X\r\n" PROBLEM "Content-Length: 22\r\n\r\n" PAID);
    expect_answer("HTTP/1.1 403 X\r\n" PROBLEM "Content-Length: 22\r\n\r\n" PAID);
    expect_told_of(ABX_LAYER_IDENTITY, "update", 403, "http://@/v1/7", &told);
    ck_assert_str_eq(told.problem, "{\"title\":\"Paid\"}");
}
END_TEST

static void
nothing(void *data)
{
}

/* What was sent to the egress has been looked at. */
static void
let_it_run(void)
{
    egress_call(the_egress, nothing, NULL);
    egress_call(the_egress, nothing, NULL);
}

START_TEST(the_program_sees_nothing_of_a_document_before_it_is_told)
{
    struct pollfd ready = { .fd = program, .events = POLLIN };
    struct told told;

    broker_gives_key("k-1");
    say(PUT);
    expect_request(PASSED);
    send_text(origin, "HTTP/1.1 422 X\r\n" PROBLEM "Content-Length: 22\r\n\r\n{\"title\":");
    let_it_run();
    ck_assert_int_eq(poll(&ready, 1, 0), 0);
    ck_assert(broker_is_quiet());
    send_text(origin, "\"Paid\",\"x\":1}");
    expect_answer("HTTP/1.1 422 X\r\n" PROBLEM "Content-Length: 22\r\n\r\n" PAID);
    expect_told_of(ABX_LAYER_ACTION, "update", 422, "http://@/v1/7", &told);
}
END_TEST

START_TEST(a_long_document_passes_and_its_status_is_told)
{
    static char body[3 * PROBLEM_DOCUMENT_MAX], answer[sizeof body + 128];
    struct told told;

    memset(body, ' ', sizeof body - 1);
    memcpy(body, PAID, strlen(PAID));
    snprintf(answer, sizeof answer, "HTTP/1.1 422 X\r\n" PROBLEM "Content-Length: %zu\r\n\r\n%s",
            strlen(body), body);
    broker_gives_key("k-1");
    say(PUT);
    expect_request(PASSED);
    send_text(origin, answer);
    for (size_t at = 0; at < strlen(answer); at += 1024) {
        const size_t left = strlen(answer + at);

        expect_bytes(program, answer + at, left < 1024 ? left : 1024);
    }
    expect_told_of(ABX_LAYER_ACTION, "update", 422, "http://@/v1/7", &told);
    ck_assert_str_eq(told.problem, "");
    ck_assert(broker_is_quiet());
}
END_TEST

START_TEST(a_document_that_is_cut_is_told_by_its_status)
{
    struct told told;

    broker_gives_key("k-1");
    say(PUT);
    expect_request(PASSED);
    send_text(origin, "HTTP/1.1 422 X\r\n" PROBLEM "Content-Length: 22\r\n\r\n{\"title\":");
    close(origin);
    origin = -1;
    expect_told_of(ABX_LAYER_ACTION, "update", 422, "http://@/v1/7", &told);
    ck_assert_str_eq(told.problem, "");
    expect_reset(program);
}
END_TEST

/* Who ends an answer of which a part is held. */
static void
leave(void)
{
    close_with_reset(program);
    program = -1;
}

static void
make_seconds_short(void *data)
{
    session_second_ms = 5;
}

static void
make_seconds_long(void *data)
{
    session_second_ms = 1000;
}

static void
let_time_pass(void)
{
    egress_call(the_egress, make_seconds_short, NULL);
    send_text(origin, "\""); /* it goes on, once */
}

static void (*const enders[])(void) = { leave, let_time_pass };

START_TEST(a_document_that_is_not_waited_for_is_told_by_its_status)
{
    struct told told;

    broker_gives_key("k-1");
    say(PUT);
    expect_request(PASSED);
    send_text(origin, "HTTP/1.1 422 X\r\n" PROBLEM "Content-Length: 22\r\n\r\n{\"title\":");
    let_it_run();
    ck_assert(broker_is_quiet());
    enders[_i]();
    expect_told_of(ABX_LAYER_ACTION, "update", 422, "http://@/v1/7", &told);
    ck_assert_str_eq(told.problem, "");
    expect_reset(origin);
    ck_assert(broker_is_quiet());
    egress_call(the_egress, make_seconds_long, NULL);
}
END_TEST

START_TEST(no_secret_of_an_answer_is_in_what_is_told)
{
    struct told told;

    broker_gives_key("k-1");
    fake_replace.changes_answers = true;
    say(PUT);
    expect_request(PASSED);
    send_text(origin, "HTTP/1.1 422 X\r\n" PROBLEM "Content-Length: 22\r\n\r\n"
                      "{\"title\":\"THE-SECRET\"}");
    expect_answer("HTTP/1.1 422 X\r\n" PROBLEM "Transfer-Encoding: chunked\r\n\r\n");
    expect_told_of(ABX_LAYER_ACTION, "update", 422, "http://@/v1/7", &told);
    ck_assert_str_eq(told.problem, "{\"title\":\"STANDIN\"}");
}
END_TEST

START_TEST(the_answer_to_head_has_no_document)
{
    struct told told;

    say("HEAD /a HTTP/1.1\r\nHost: @\r\n\r\n");
    expect_request("HEAD /a HTTP/1.1\r\nHost: @\r\n\r\n");
    send_text(origin, "HTTP/1.1 401 X\r\n" PROBLEM "Content-Length: 22\r\n\r\n");
    expect_answer("HTTP/1.1 401 X\r\n" PROBLEM "Content-Length: 22\r\n\r\n");
    expect_told_of(ABX_LAYER_IDENTITY, "", 401, "http://@/a", &told);
}
END_TEST

/* ---- documents ---- */
static const struct document_case {
    const char *document, *kept;
} document_cases[] = {
    { "{}", "" },
    { "", "" },
    { "{", "" },
    { "[1]", "" },
    { "\"title\"", "" },
    { "{\"title\":1,\"detail\":null,\"errors\":7}", "" },
    { "{\"title\":\"\",\"detail\":\"\"}", "" },
    { "{\"title\":\"a\",\"title\":\"b\"}", "" },
    { "{\"detail\":\"d\",\"title\":\"t\",\"status\":422}", "{\"title\":\"t\",\"detail\":\"d\"}" },
    { "{\"title\":\"a\\u202eb\\nc\\\"d\\\\\"}",
            "{\"title\":\"a\\\\xE2\\\\x80\\\\xAEb\\\\x0Ac\\\"d\\\\\"}" },
    { "{\"errors\":[{\"detail\":\"no\",\"pointer\":\"#/age\"},{\"name\":\"b\"},{},3]}",
            "{\"fields\":[\"#/age\",\"b\"]}" },
    { "{\"errors\":{\"Age\":[\"no\"],\"\":[]}}", "{\"fields\":[\"Age\",\"\"]}" },
    { "{\"invalid-params\":[{\"name\":\"age\",\"reason\":\"no\"}]}", "{\"fields\":[\"age\"]}" },
    { "{\"errors\":[],\"invalid_params\":[{\"field\":\"x\"}]}", "{\"fields\":[\"x\"]}" },
    { "{\"detail\":[{\"loc\":[\"body\",\"age\"]}]}", "" },
};

START_TEST(a_little_of_a_document_is_kept)
{
    const struct document_case *c = &document_cases[_i];
    struct str kept = { 0 };

    problem_document_read(c->document, strlen(c->document), &kept);
    ck_assert_str_eq(kept.data == NULL ? "" : kept.data, c->kept);
    str_done(&kept);
}
END_TEST

START_TEST(what_is_long_is_cut_and_never_within_a_character)
{
    struct str document = { 0 }, kept = { 0 };

    str_add(&document, "{\"title\":\"");
    for (int i = 0; i < 2000; i++) {
        str_add(&document, "\xc3\xa4");
    }
    str_add(&document, "\",\"detail\":\"x");
    for (int i = 0; i < 2000; i++) {
        str_add(&document, "\xe2\x82\xac");
    }
    str_add(&document, "\",\"errors\":{");
    for (int i = 0; i < 100; i++) {
        str_printf(&document, "%s\"name-%d\":1", i == 0 ? "" : ",", i);
    }
    str_add(&document, "}}");
    problem_document_read(document.data, document.length, &kept);
    ck_assert_uint_lt(kept.length, 1200);
    ck_assert_ptr_nonnull(strstr(kept.data, "\xc3\xa4...\",\"detail\":\"x\xe2"));
    ck_assert_ptr_nonnull(strstr(kept.data, "\xac...\",\"fields\":[\"name-"));
    ck_assert_ptr_null(strstr(kept.data, "\\x"));
    str_done(&document);
    str_done(&kept);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("session_answers");
    TCase *tcase = tcase_create("answers");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, who_is_not_accepted_is_told_so, 0,
            (int)(sizeof identity_cases / sizeof identity_cases[0]));
    tcase_add_test(tcase, a_login_that_a_program_sends_when_it_is_told_to_is_said_to_be_accepted);
    tcase_add_loop_test(tcase,
            what_a_request_without_a_named_action_is_answered_otherwise_is_its_own_matter, 0, 8);
    tcase_add_loop_test(tcase, what_the_server_of_a_named_action_does_not_take_is_told, 0,
            (int)(sizeof action_cases / sizeof action_cases[0]));
    tcase_add_test(tcase, an_action_that_somebody_may_not_do_is_a_matter_of_who_asks);
    tcase_add_test(tcase, the_program_sees_nothing_of_a_document_before_it_is_told);
    tcase_add_test(tcase, a_long_document_passes_and_its_status_is_told);
    tcase_add_test(tcase, a_document_that_is_cut_is_told_by_its_status);
    tcase_add_loop_test(tcase, a_document_that_is_not_waited_for_is_told_by_its_status, 0,
            (int)N_ELEMENTS(enders));
    tcase_add_test(tcase, no_secret_of_an_answer_is_in_what_is_told);
    tcase_add_test(tcase, the_answer_to_head_has_no_document);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("documents");
    tcase_add_loop_test(tcase, a_little_of_a_document_is_kept, 0,
            (int)(sizeof document_cases / sizeof document_cases[0]));
    tcase_add_test(tcase, what_is_long_is_cut_and_never_within_a_character);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
