/* SPDX-License-Identifier: Apache-2.0
 * Fields of requests that are the library's to say, whatever a program says. */
#include "egress_box.h"
#include "session_box.h"
#include "unit/main.h"

#include <stdio.h>
#include <string.h>

#define IDENTITY(host) ",\"identity\":{\"header\":\"X-Agent\",\"hosts\":[\"" host ":1-65535\"]}"

static void
open_with(const char *sections)
{
    egress_box_identity = "principal=\"kim\", agent-session=\"s-1\"";
    session_box_open_with("", sections);
}

static void
tear_down(void)
{
    session_box_close();
    egress_box_identity = NULL;
}

START_TEST(a_listed_host_is_told_on_whose_behalf_and_nothing_else_of_that_name)
{
    open_with(IDENTITY("localhost"));
    say("GET / HTTP/1.1\r\nHost: @\r\nx-agent: root\r\nA: b\r\nX_AGENT: root\r\n"
        "X.Agent: root\r\nx~agent: root\r\n"
        "X-Agents: c\r\nConnection: x-agent\r\n\r\n");
    expect_request(
            "GET / HTTP/1.1\r\nHost: @\r\nX-Agent: principal=\"kim\", agent-session=\"s-1\"\r\n"
            "A: b\r\nX-Agents: c\r\n\r\n");
    tear_down();
}
END_TEST

START_TEST(the_proxy_of_the_box_tells_it_too)
{
    open_with(IDENTITY("localhost"));
    close_and_start("");
    say("GET http://@/ HTTP/1.1\r\nHost: @\r\nX-Agent: root\r\n\r\n");
    expect_request("GET / HTTP/1.1\r\nHost: @\r\n"
                   "X-Agent: principal=\"kim\", agent-session=\"s-1\"\r\n\r\n");
    tear_down();
}
END_TEST

START_TEST(another_host_is_told_nothing)
{
    open_with(IDENTITY("other.test"));
    say("GET / HTTP/1.1\r\nHost: @\r\nX-Agent: mine\r\n\r\n");
    expect_request("GET / HTTP/1.1\r\nHost: @\r\nX-Agent: mine\r\n\r\n");
    tear_down();
}
END_TEST

/* ---- requests that count as actions ---- */
#define ACTION                                                                                     \
    ",{\"methods\":[\"PUT\"],\"path\":\"/v1/{id}\",\"action\":\"update\"}",                        \
            ",\"actions\":[{\"name\":\"update\",\"verdict\":\"allow\",\"arguments\":{\"id\":{"     \
            "\"type\":\"string\"}}}]"

#define FORM "Content-Type: application/x-www-form-urlencoded"
#define JSON "Content-Type: application/json\r\n"

static void
set_up_action(void)
{
    session_box_open_with(ACTION);
    broker_gives_key("k-1");
}

static void
tear_down_action(void)
{
    broker_gives_key(NULL);
    session_box_close();
}

START_TEST(the_body_of_an_action_is_decided_about_and_goes_on_as_it_was)
{
    say("PUT /v1/7 HTTP/1.1\r\nHost: @\r\nIdempotency-Key: mine\r\nIdempotency.Key: mine\r\n" JSON
        "Content-Length: 11\r\n\r\n{\"a\" : \"b\"}");
    expect_request("PUT /v1/7 HTTP/1.1\r\nHost: @\r\nIdempotency-Key: k-1\r\n" JSON
                   "Content-Length: 11\r\n\r\n{\"a\" : \"b\"}");
    ck_assert_str_eq(broker_body(), "{\"a\" : \"b\"}");
}
END_TEST

START_TEST(a_body_in_chunks_is_one_body)
{
    say("PUT /v1/7 HTTP/1.1\r\nHost: @\r\nContent-Type: application/json; charset=utf-8\r\n"
        "Transfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n6\r\n\":\"b\"}\r\n0\r\n\r\n");
    expect_request("PUT /v1/7 HTTP/1.1\r\nHost: @\r\nIdempotency-Key: k-1\r\n"
                   "Content-Type: application/json; charset=utf-8\r\nContent-Length: "
                   "9\r\n\r\n{\"a\":\"b\"}");
    ck_assert_str_eq(broker_body(), "{\"a\":\"b\"}");
}
END_TEST

START_TEST(json_with_a_name_of_its_own_is_json)
{
    say("PUT /v1/7 HTTP/1.1\r\nHost: @\r\nContent-Type: Application/vnd.hr-2+json "
        ";\tcharset=utf-8\r\n"
        "Content-Length: 2\r\n\r\n{}");
    expect_request("PUT /v1/7 HTTP/1.1\r\nHost: @\r\nIdempotency-Key: k-1\r\n"
                   "Content-Type: Application/vnd.hr-2+json ;\tcharset=utf-8\r\nContent-Length: "
                   "2\r\n\r\n{}");
}
END_TEST

START_TEST(who_waits_to_be_told_to_go_on_is_told)
{
    say("PUT /v1/7 HTTP/1.1\r\nHost: @\r\n" JSON
        "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    expect_answer("HTTP/1.1 100 Continue\r\n\r\n");
    say("{}");
    expect_request("PUT /v1/7 HTTP/1.1\r\nHost: @\r\nIdempotency-Key: k-1\r\n" JSON
                   "Content-Length: 2\r\n\r\n{}");
}
END_TEST

START_TEST(an_action_without_a_body_goes_on)
{
    say("PUT /v1/7 HTTP/1.1\r\nHost: @\r\nContent-Length: 0\r\n\r\n");
    expect_request("PUT /v1/7 HTTP/1.1\r\nHost: @\r\nIdempotency-Key: k-1\r\n"
                   "Content-Length: 0\r\n\r\n");
    ck_assert_str_eq(broker_body(), "");
}
END_TEST

START_TEST(two_actions_on_one_connection_are_two)
{
    for (int i = 0; i < 2; i++) {
        say("PUT /v1/7 HTTP/1.1\r\nHost: @\r\n" JSON "Content-Length: 2\r\n\r\n{}");
        expect_request("PUT /v1/7 HTTP/1.1\r\nHost: @\r\nIdempotency-Key: k-1\r\n" JSON
                       "Content-Length: 2\r\n\r\n{}");
        send_text(origin, OK);
        expect_answer(OK);
    }
}
END_TEST

static const struct unreadable_case {
    const char *fields, *why;
} unreadable_cases[] = {
    { "Content-Type: text/plain\r\nContent-Length: 2", "its body is not said to be JSON" },
    { "Content-Length: 2", "its body is not said to be JSON" },
    { "Content-Type: application/json; charset=utf-16\r\nContent-Length: 2", "its body is not" },
    { FORM " , application/+json\r\nContent-Length: 2", "its body is not" },
    { FORM ", application/a+json\r\nContent-Length: 2", "its body is not" },
    { FORM "+json\r\nContent-Length: 2", "its body is not" },
    { "Content-Type: application/+json\r\nContent-Length: 2", "its body is not" },
    { "Content-Type: application/a/b+json\r\nContent-Length: 2", "its body is not" },
    { "Content-Type: application/a b+json\r\nContent-Length: 2", "its body is not" },
    { "Content-Type: application/json; charset=utf-8; a=b\r\nContent-Length: 2",
            "its body is not" },
    { JSON "Content-Encoding: gzip\r\nContent-Length: 2", "its body is encoded" },
    { JSON "Content-Length: 65537", "its body is longer than 64 KiB" },
};

START_TEST(a_body_that_could_be_read_otherwise_is_left_to_the_broker)
{
    const struct unreadable_case *c = &unreadable_cases[_i];
    char text[512];

    broker_says("http", ABX_VERDICT_DENY);
    snprintf(text, sizeof text, "PUT /v1/7 HTTP/1.1\r\nHost: @\r\n%s\r\n\r\n{}", c->fields);
    say(text);
    expect_problem(403, "the test says no");
    ck_assert_msg(strncmp(broker_body(), c->why, strlen(c->why)) == 0, "%s", broker_body());
    nobody_came();
}
END_TEST

START_TEST(what_is_no_action_streams_as_before)
{
    broker_gives_key(NULL);
    say("POST /v1/7 HTTP/1.1\r\nHost: @\r\nContent-Length: 4\r\n\r\n{");
    expect_request("POST /v1/7 HTTP/1.1\r\nHost: @\r\nContent-Length: 4\r\n\r\n{");
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("session_own");
    TCase *tcase = tcase_create("own");

    tcase_add_test(tcase, a_listed_host_is_told_on_whose_behalf_and_nothing_else_of_that_name);
    tcase_add_test(tcase, the_proxy_of_the_box_tells_it_too);
    tcase_add_test(tcase, another_host_is_told_nothing);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("actions");
    tcase_add_checked_fixture(tcase, set_up_action, tear_down_action);
    tcase_add_test(tcase, the_body_of_an_action_is_decided_about_and_goes_on_as_it_was);
    tcase_add_test(tcase, a_body_in_chunks_is_one_body);
    tcase_add_test(tcase, json_with_a_name_of_its_own_is_json);
    tcase_add_test(tcase, who_waits_to_be_told_to_go_on_is_told);
    tcase_add_test(tcase, an_action_without_a_body_goes_on);
    tcase_add_test(tcase, two_actions_on_one_connection_are_two);
    tcase_add_loop_test(tcase, a_body_that_could_be_read_otherwise_is_left_to_the_broker, 0,
            (int)(sizeof unreadable_cases / sizeof unreadable_cases[0]));
    tcase_add_test(tcase, what_is_no_action_streams_as_before);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
