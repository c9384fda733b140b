/* SPDX-License-Identifier: Apache-2.0
 * Requests that somebody is asked about: what is looked at first, what a yes is for, and what ends
 * when it is taken back. */
#include "base/digest.h"
#include "base/mem.h"
#include "egress/session_private.h"
#include "egress_box.h"
#include "session_box.h"

#include "unit/main.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MIB (1u << 20)
#define RULES                                                                                      \
    ",{\"methods\":[\"*\"],\"path\":\"/ask/**\",\"action\":\"send\"}"                              \
    ",{\"methods\":[\"*\"],\"path\":\"/both/{id}\",\"action\":\"update\"}"
#define ACTIONS                                                                                    \
    ",\"actions\":[{\"name\":\"send\",\"verdict\":\"ask\"},{\"name\":\"update\",\"verdict\":"      \
    "\"ask\",\"arguments\":{\"id\":{\"type\":\"string\"}}}]"
#define HEAD_OF(length) "POST /ask/a HTTP/1.1\r\nHost: @\r\nContent-Length: " length "\r\n"
#define CHUNKED "POST /ask/a HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\n\r\n"

static void
set_up(void)
{
    session_room = 64 * MIB;
    session_box_open_with(RULES, ACTIONS);
    broker_says(fill("http://@/ask"), ABX_VERDICT_ASK);
    broker_says(fill("http://@/both"), ABX_VERDICT_ASK);
}

static void
tear_down(void)
{
    session_box_close();
}

static void
answer_yes(void)
{
    egress_answer(the_box, broker_ticket(), ABX_VERDICT_ALLOW, NULL);
}

static void
expect_bound(const char *body, const char *rest)
{
    char hex[DIGEST_HEX_SIZE], expected[768];

    broker_ticket();
    digest_hex(body, strlen(body), hex);
    snprintf(expected, sizeof expected, "{\"body\":{\"sha256\":\"%s\",\"length\":%zu}%s}", hex,
            strlen(body), rest);
    ck_assert_str_eq(broker_bound(), expected);
}

START_TEST(a_yes_is_for_the_body_that_was_there_when_it_was_asked_about)
{
    say(HEAD_OF("5") "Content-Type: text/plain; a=b\r\n\r\nhel");
    nobody_came();
    say("lo");
    expect_bound("hello", ",\"content_type\":\"text/plain; a=b\"");
    nobody_came();
    answer_yes();
    expect_request("POST /ask/a HTTP/1.1\r\nHost: @\r\nContent-Type: text/plain; a=b\r\n"
                   "Content-Length: 5\r\n\r\nhello");
}
END_TEST

START_TEST(a_body_in_chunks_has_the_digest_of_what_it_says)
{
    say(CHUNKED "3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n");
    expect_bound("hello", "");
    answer_yes();
    expect_request(HEAD_OF("5") "\r\nhello");
}
END_TEST

START_TEST(a_request_without_a_body_says_so)
{
    say("GET /ask/a HTTP/1.1\r\nHost: @\r\n\r\n");
    broker_ticket();
    ck_assert_str_eq(broker_bound(), "{\"body\":\"none\"}");
    answer_yes();
    expect_request("GET /ask/a HTTP/1.1\r\nHost: @\r\n\r\n");
}
END_TEST

START_TEST(a_request_that_becomes_a_connection_says_so)
{
#define UPGRADE                                                                                    \
    "GET /ask/a HTTP/1.1\r\nHost: @\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    say(UPGRADE);
    broker_ticket();
    ck_assert_str_eq(broker_bound(), "{\"body\":\"none\",\"upgrade\":\"websocket\"}");
    answer_yes();
    expect_request(UPGRADE);
}
END_TEST

/* What is no upgrade to WebSocket is sent without it. */
START_TEST(an_upgrade_that_does_not_pass_is_none)
{
    say("GET /ask/a HTTP/1.1\r\nHost: @\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
    broker_ticket();
    ck_assert_str_eq(broker_bound(), "{\"body\":\"none\"}");
    answer_yes();
    expect_request("GET /ask/a HTTP/1.1\r\nHost: @\r\n\r\n");
}
END_TEST

START_TEST(a_yes_is_for_how_the_body_is_encoded)
{
    say(HEAD_OF("5") "Content-Encoding: gzip\r\nContent-Type: a/b\r\nContent-Encoding: "
                     "br\r\n\r\nhello");
    expect_bound("hello", ",\"content_type\":\"a/b\",\"content_encoding\":\"gzip\\\\x0Abr\"");
}
END_TEST

START_TEST(of_a_long_type_the_digest_is_bound)
{
    char type[301], head[512], rest[512], hex[DIGEST_HEX_SIZE];

    memset(type, 'y', 300);
    memcpy(type, "a/b; c=", 7);
    type[300] = '\0';
    snprintf(head, sizeof head, HEAD_OF("5") "Content-Type: %s\r\n\r\nhello", type);
    say(head);
    digest_hex(type, 300, hex);
    snprintf(rest, sizeof rest,
            ",\"content_type\":\"%.256s\",\"content_type_length\":300,\"content_type_sha256\":"
            "\"%s\"",
            type, hex);
    expect_bound("hello", rest);
}
END_TEST

START_TEST(who_waits_to_be_told_to_go_on_is_told_before_anybody_is_asked)
{
    say(HEAD_OF("2") "Expect: 100-continue\r\n\r\n");
    expect_answer("HTTP/1.1 100 Continue\r\n\r\n");
    say("{}");
    expect_bound("{}", "");
    answer_yes();
    expect_request(HEAD_OF("2") "\r\n{}");
}
END_TEST

START_TEST(what_counts_as_an_action_is_for_its_arguments)
{
    say("POST /both/7 HTTP/1.1\r\nHost: @\r\nContent-Type: application/json\r\n"
        "Content-Length: 2\r\n\r\n{}");
    broker_ticket();
    ck_assert_str_eq(broker_body(), "{}");
}
END_TEST

/* ---- what is too long ---- */
static char *
filled_with(char byte, size_t length)
{
    char *bytes = malloc(length + 1);

    ck_assert_ptr_nonnull(bytes);
    memset(bytes, byte, length);
    bytes[length] = '\0';
    return bytes;
}

/* One thread is on both sides, so what is on its way must fit between them. */
static void
expect_long(char byte, size_t length)
{
    AUTO(freep) char *expected = filled_with(byte, length), *got = filled_with(' ', length);

    ck_assert_int_eq(recv(origin, got, length, MSG_WAITALL), (ssize_t)length);
    ck_assert(memcmp(got, expected, length) == 0);
}

START_TEST(a_long_body_is_not_looked_at_and_a_yes_is_for_this_request)
{
    say(HEAD_OF("1048577") "Content-Type: a/b\r\n\r\n12345");
    broker_ticket();
    ck_assert_str_eq(broker_bound(), "{\"body\":\"not looked "
                                     "at\",\"exchange\":1,\"length\":1048577,\"content_type\":\"a/"
                                     "b\"}");
    answer_yes();
    expect_request("POST /ask/a HTTP/1.1\r\nHost: @\r\nContent-Type: a/b\r\n"
                   "Content-Length: 1048577\r\n\r\n12345");
}
END_TEST

START_TEST(no_two_bodies_that_are_not_looked_at_are_equal)
{
    for (unsigned i = 1; i <= 2; i++) {
        char expected[128];

        say(HEAD_OF("1048577") "\r\n12345");
        while (broker_ticket() != i) {
            sched_yield();
        }
        snprintf(expected, sizeof expected,
                "{\"body\":\"not looked at\",\"exchange\":%u,\"length\":1048577}", i);
        ck_assert_str_eq(broker_bound(), expected);
        close_and_start("localhost");
    }
}
END_TEST

START_TEST(chunks_that_do_not_end_go_on_as_they_come)
{
    AUTO(freep) char *bytes = filled_with('x', MIB + 1);

    say(CHUNKED "100001\r\n");
    send_text(program, bytes);
    broker_ticket();
    ck_assert_str_eq(broker_bound(), "{\"body\":\"not looked at\",\"exchange\":1}");
    nobody_came();
    answer_yes();
    expect_request(CHUNKED "100001\r\n");
    expect_long('x', MIB + 1);
    say("\r\n3\r\nend\r\n0\r\n\r\n");
    expect_request("\r\n3\r\nend\r\n0\r\n\r\n");
    send_text(origin, OK);
    expect_answer(OK);
}
END_TEST

/* ---- what all of them together may keep ---- */
START_TEST(a_body_for_which_there_is_no_room_is_not_looked_at)
{
    session_room = 4;
    say(HEAD_OF("8") "Expect: 100-continue\r\n\r\n");
    expect_answer("HTTP/1.1 100 Continue\r\n\r\n");
    say("hello");
    broker_ticket();
    ck_assert_str_eq(broker_bound(), "{\"body\":\"not looked at\",\"exchange\":1,\"length\":8}");
    answer_yes();
    expect_request(HEAD_OF("8") "\r\nhello");
    say("abc");
    expect_request("abc");
    send_text(origin, OK);
    expect_answer(OK);
    session_room = 8; /* nothing is left of it */
    say(HEAD_OF("5") "\r\nhel");
    nobody_came();
    say("lo");
    while (broker_ticket() != 2) {
        sched_yield();
    }
    expect_bound("hello", "");
}
END_TEST

START_TEST(arguments_for_which_there_is_no_room_are_refused)
{
    session_room = 4;
    say("POST /both/7 HTTP/1.1\r\nHost: @\r\nContent-Type: application/json\r\n"
        "Content-Length: 9\r\n\r\n{\"a\":");
    expect_told("boundary:bodies", "too many requests");
    expect_problem(503, "boundary:bodies");
    nobody_came();
}
END_TEST

/* ---- taking back ---- */
#define AFTERWARDS 1000u /* a grant that came from a yes */
#define GIVEN 2000u /* grants of the host */
#define ALSO_GIVEN 2001u

START_TEST(a_request_that_was_let_through_ends_when_that_is_taken_back)
{
    say(HEAD_OF("2") "\r\n{}");
    answer_yes();
    expect_request(HEAD_OF("2") "\r\n{}");
    broker_takes_back(AFTERWARDS, broker_ticket());
    expect_told("grant:revoked", "took the grant back");
    expect_problem(403, "grant:revoked");
    expect_reset(origin);
}
END_TEST

START_TEST(a_request_that_something_else_allows_goes_on)
{
    say("GET /ask/a HTTP/1.1\r\nHost: @\r\n\r\n");
    answer_yes();
    expect_request("GET /ask/a HTTP/1.1\r\nHost: @\r\n\r\n");
    broker_says(fill("http://@/ask"), ABX_VERDICT_ALLOW);
    broker_takes_back(AFTERWARDS, broker_ticket());
    ck_assert(broker_is_quiet());
    send_text(origin, OK);
    expect_answer(OK);
}
END_TEST

START_TEST(an_answer_that_is_on_its_way_is_cut)
{
    say("GET /ask/a HTTP/1.1\r\nHost: @\r\n\r\n");
    answer_yes();
    expect_request("GET /ask/a HTTP/1.1\r\nHost: @\r\n\r\n");
    send_text(origin, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel");
    expect_answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel");
    broker_takes_back(AFTERWARDS, broker_ticket());
    expect_told("grant:revoked", "took the grant back");
    expect_reset(program);
    expect_reset(origin);
}
END_TEST

START_TEST(a_yes_that_is_taken_back_before_it_arrives_lets_nothing_through)
{
    say("GET /ask/a HTTP/1.1\r\nHost: @\r\n\r\n");
    broker_ticket();
    broker_takes_back(AFTERWARDS, broker_ticket());
    ck_assert(broker_is_quiet()); /* it is only asked about */
    answer_yes();
    expect_told("grant:revoked", "took the grant back");
    expect_problem(403, "grant:revoked");
    nobody_came();
}
END_TEST

START_TEST(what_the_policy_allows_goes_on)
{
    say("GET /other HTTP/1.1\r\nHost: @\r\n\r\n");
    expect_request("GET /other HTTP/1.1\r\nHost: @\r\n\r\n");
    broker_takes_back(AFTERWARDS, 0);
    ck_assert(broker_is_quiet());
    send_text(origin, OK);
    expect_answer(OK);
}
END_TEST

/* A request under way that GIVEN let through. */
static void
let_through(void)
{
    broker_allows_by(GIVEN);
    say("GET /other HTTP/1.1\r\nHost: @\r\n\r\n");
    expect_request("GET /other HTTP/1.1\r\nHost: @\r\n\r\n");
}

START_TEST(a_request_is_of_the_grant_that_let_it_through_and_of_no_other)
{
    let_through();
    broker_allows_by(ALSO_GIVEN); /* which covers it, too */
    broker_takes_back(AFTERWARDS, 1);
    broker_says(fill("http://@/other"), ABX_VERDICT_DENY);
    broker_takes_back(ALSO_GIVEN, 0);
    ck_assert(broker_is_quiet());
    broker_takes_back(GIVEN, 0);
    expect_told("grant:revoked", "took the grant back");
    expect_problem(403, "grant:revoked");
    expect_reset(origin);
}
END_TEST

START_TEST(what_another_grant_still_allows_is_of_that_one_from_then_on)
{
    let_through();
    broker_allows_by(ALSO_GIVEN);
    broker_takes_back(GIVEN, 0);
    ck_assert(broker_is_quiet());
    broker_says(fill("http://@/other"), ABX_VERDICT_DENY);
    broker_takes_back(GIVEN, 0);
    ck_assert(broker_is_quiet());
    broker_takes_back(ALSO_GIVEN, 0);
    expect_told("grant:revoked", "took the grant back");
    expect_problem(403, "grant:revoked");
    expect_reset(origin);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("session_asked");
    TCase *tcase = tcase_create("asked");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, a_yes_is_for_the_body_that_was_there_when_it_was_asked_about);
    tcase_add_test(tcase, a_body_in_chunks_has_the_digest_of_what_it_says);
    tcase_add_test(tcase, a_request_without_a_body_says_so);
    tcase_add_test(tcase, a_request_that_becomes_a_connection_says_so);
    tcase_add_test(tcase, an_upgrade_that_does_not_pass_is_none);
    tcase_add_test(tcase, a_yes_is_for_how_the_body_is_encoded);
    tcase_add_test(tcase, of_a_long_type_the_digest_is_bound);
    tcase_add_test(tcase, who_waits_to_be_told_to_go_on_is_told_before_anybody_is_asked);
    tcase_add_test(tcase, what_counts_as_an_action_is_for_its_arguments);
    tcase_add_test(tcase, a_long_body_is_not_looked_at_and_a_yes_is_for_this_request);
    tcase_add_test(tcase, no_two_bodies_that_are_not_looked_at_are_equal);
    tcase_add_test(tcase, chunks_that_do_not_end_go_on_as_they_come);
    tcase_add_test(tcase, a_body_for_which_there_is_no_room_is_not_looked_at);
    tcase_add_test(tcase, arguments_for_which_there_is_no_room_are_refused);
    tcase_add_test(tcase, a_request_that_was_let_through_ends_when_that_is_taken_back);
    tcase_add_test(tcase, a_request_that_something_else_allows_goes_on);
    tcase_add_test(tcase, an_answer_that_is_on_its_way_is_cut);
    tcase_add_test(tcase, a_yes_that_is_taken_back_before_it_arrives_lets_nothing_through);
    tcase_add_test(tcase, what_the_policy_allows_goes_on);
    tcase_add_test(tcase, a_request_is_of_the_grant_that_let_it_through_and_of_no_other);
    tcase_add_test(tcase, what_another_grant_still_allows_is_of_that_one_from_then_on);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
