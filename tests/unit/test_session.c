/* SPDX-License-Identifier: Apache-2.0
 * Requests through a session, with a broker, a resolver, credentials and an origin of the test's:
 * what the origin gets, what the program gets, and what is told. */
#include "base/mem.h"
#include "egress_box.h"
#include "session_box.h"

#include "unit/main.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- messages ---- */

/* What is said; what the origin gets, and says; what the program gets. */
static const struct pass_case {
    const char *name;
    const char *request, *passed;
    const char *answer, *got;
} pass_cases[] = {
    { "a request and an answer", "GET /a?b HTTP/1.1\r\nHost: @\r\nAccept: x\r\n\r\n",
            "GET /a?b HTTP/1.1\r\nHost: @\r\nAccept: x\r\n\r\n",
            "HTTP/1.1 200 Fine\r\nContent-Length: 5\r\nServer: y\r\n\r\nhello",
            "HTTP/1.1 200 Fine\r\nServer: y\r\nContent-Length: 5\r\n\r\nhello" },
    { "what belongs to a connection stays there",
            "GET / HTTP/1.1\r\nConnection: keep-alive, X-A\r\nX-A: 1\r\nX-B: 2\r\nhost: "
            "@\r\nKeep-Alive: 3\r\n"
            "Proxy-Authorization: s\r\nProxy-Connection: t\r\nTE: trailers\r\nUpgrade: h2c\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: @\r\nX-B: 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\nConnection: X-C\r\nX-C: 1\r\nX-D: 2\r\nKeep-Alive: "
            "3\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nX-D: 2\r\nContent-Length: 0\r\n\r\n" },
    { "a body with a length", "POST / HTTP/1.1\r\nContent-Length: 5\r\nHost: @\r\n\r\nhello",
            "POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 5\r\n\r\nhello", OK, OK },
    { "a body in chunks is framed again, without extras",
            "POST / HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\n\r\n"
            "005;a=b\r\nhello\r\n0\r\nX-Sum: 5\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: "
            "chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            OK, OK },
    { "an answer in chunks is framed again", "GET / HTTP/1.1\r\nHost: @\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: @\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: "
            "X\r\n\r\n5;x\r\nhello\r\n0\r\nX: y\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" },
    { "HEAD", "HEAD / HTTP/1.1\r\nHost: @\r\n\r\n", "HEAD / HTTP/1.1\r\nHost: @\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" },
    { "204", "GET / HTTP/1.1\r\nHost: @\r\n\r\n", "GET / HTTP/1.1\r\nHost: @\r\n\r\n",
            "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 204 No Content\r\n\r\n" },
    { "304", "GET / HTTP/1.1\r\nHost: @\r\n\r\n", "GET / HTTP/1.1\r\nHost: @\r\n\r\n",
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n",
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n" },
    { "answers before the answer", "GET / HTTP/1.1\r\nHost: @\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: @\r\n\r\n",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" OK,
            "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" OK },
    { "the dot at a name's end", "GET / HTTP/1.1\r\nHost: LOCALHOST.:#\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: @\r\n\r\n", OK, OK },
    { "an absolute target", "GET http://@/x HTTP/1.1\r\nHost: @\r\n\r\n",
            "GET /x HTTP/1.1\r\nHost: @\r\n\r\n", OK, OK },
    { "an error of the origin's", "GET / HTTP/1.1\r\nHost: @\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: @\r\n\r\n", "HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\nno",
            "HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\nno" },
};

START_TEST(a_message_is_passed_on_as_it_must_be)
{
    const struct pass_case *c = &pass_cases[_i];
    char request[1024];
    const char *hash = strchr(c->request, '#');

    if (hash != NULL) {
        snprintf(request, sizeof request, "%.*s%u%s", (int)(hash - c->request), c->request, port,
                hash + 1);
    } else {
        snprintf(request, sizeof request, "%s", c->request);
    }
    for (int times = 0; times < 2; times++) { /* the second over the same two connections */
        say(request);
        expect_request(c->passed);
        send_text(origin, c->answer);
        expect_answer(c->got);
    }
    nobody_came();
    ck_assert(broker_is_quiet());
    close(program);
    expect_end(origin);
    program = -1;
}
END_TEST

START_TEST(requests_that_come_at_once_are_answered_in_their_order)
{
    say("GET /1 HTTP/1.1\r\nHost: @\r\n\r\nPOST /2 HTTP/1.1\r\nHost: @\r\nContent-Length: "
        "1\r\n\r\nx"
        "GET /3 HTTP/1.1\r\nHost: @\r\nConnection: close\r\n\r\nGET /4 HTTP/1.1\r\nHost: "
        "@\r\n\r\n");
    expect_request("GET /1 HTTP/1.1\r\nHost: @\r\n\r\n");
    send_text(origin, OK);
    expect_request("POST /2 HTTP/1.1\r\nHost: @\r\nContent-Length: 1\r\n\r\nx");
    send_text(origin, OK);
    expect_request("GET /3 HTTP/1.1\r\nHost: @\r\n\r\n");
    send_text(origin, OK);
    expect_answer(OK OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
    expect_end(program);
    ck_assert_uint_eq(broker_asked(), 3);
}
END_TEST

START_TEST(a_client_of_http_1_0_gets_no_chunks)
{
    say("GET / HTTP/1.0\r\n\r\n");
    expect_request("GET / HTTP/1.1\r\nHost: @\r\n\r\n");
    send_text(
            origin, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
    expect_answer("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello");
    expect_end(program);
}
END_TEST

START_TEST(a_client_of_http_1_0_may_stay)
{
    for (int times = 0; times < 2; times++) {
        say("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        expect_request("GET / HTTP/1.1\r\nHost: @\r\n\r\n");
        send_text(origin, OK);
        expect_answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok");
    }
}
END_TEST

START_TEST(an_answer_without_a_length_ends_with_its_connection)
{
    say("GET / HTTP/1.1\r\nHost: @\r\n\r\n");
    expect_request("GET / HTTP/1.1\r\nHost: @\r\n\r\n");
    send_text(origin, "HTTP/1.1 200 OK\r\n\r\nhello");
    expect_answer("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello");
    close(origin);
    origin = -1;
    expect_end(program);
}
END_TEST

static const char *const cut_answers[] = {
    "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nx",
};

START_TEST(an_answer_that_is_cut_is_not_taken_for_the_whole)
{
    char byte[256];
    ssize_t n;

    say("GET / HTTP/1.1\r\nHost: @\r\n\r\n");
    expect_request("GET / HTTP/1.1\r\nHost: @\r\n\r\n");
    send_text(origin, cut_answers[_i]);
    close(origin);
    origin = -1;
    do {
        struct pollfd ready = { .fd = program, .events = POLLIN };

        ck_assert_int_eq(poll(&ready, 1, 10000), 1);
        n = recv(program, byte, sizeof byte, 0);
    } while (n > 0);
    ck_assert_int_eq(n, -1); /* a reset, no end */
}
END_TEST

static const char *const bad_answers[] = {
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
    "HTTP/1.1 200 OK\nContent-Length: 1\n\nx",
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    "SSH-2.0-x\r\n\r\n",
    "HTTP/1.1 200 OK\r\nConte",
    "",
};

START_TEST(an_answer_that_cannot_be_read_is_502)
{
    say("POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 1\r\n\r\nx");
    expect_request("POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 1\r\n\r\nx");
    send_text(origin, bad_answers[_i]);
    shutdown(origin, SHUT_WR);
    expect_problem(502, "the ");
    ck_assert(broker_is_quiet());
}
END_TEST

START_TEST(an_origin_that_is_not_there_is_502)
{
    close(listener);
    say("GET / HTTP/1.1\r\nHost: @\r\n\r\n");
    expect_problem(502, "the destination refused the connection");
    listener = listen_on_loopback(1, &port);
}
END_TEST

/* ---- deciding ---- */
START_TEST(a_denied_request_goes_nowhere_and_says_why)
{
    struct told told;
    const char *text;

    broker_says(fill("http://@/secret"), ABX_VERDICT_DENY);
    say("POST /secret?x=1 HTTP/1.1\r\nHost: @\r\nContent-Length: 3\r\n\r\nabcGET / "
        "HTTP/1.1\r\nHost: @\r\n\r\n");
    text = read_to_end();
    ck_assert_msg(strncmp(text, "HTTP/1.1 403 ", 13) == 0, "%s", text);
    ck_assert_ptr_nonnull(strstr(text, "\"rule\":\"/network/deny/0\""));
    ck_assert_ptr_nonnull(strstr(text, "\"reason\":\"the test says no\""));
    ck_assert_ptr_nonnull(strstr(text, "\"alternative\":\"ask the test\""));
    ck_assert_ptr_nonnull(strstr(text, fill("\"destination\":\"@\"")));
    broker_tells(&told);
    ck_assert_str_eq(told.target, fill("http://@/secret?x=1"));
    ck_assert_uint_eq(told.port, port);
    nobody_came();
}
END_TEST

START_TEST(what_was_allowed_before_a_denial_was_done)
{
    broker_says(fill("http://@/secret"), ABX_VERDICT_DENY);
    say("GET /a HTTP/1.1\r\nHost: @\r\n\r\nGET /secret HTTP/1.1\r\nHost: @\r\n\r\n");
    expect_request("GET /a HTTP/1.1\r\nHost: @\r\n\r\n");
    send_text(origin, OK);
    expect_answer(OK);
    expect_problem(403, "the test says no");
    expect_reset(origin);
}
END_TEST

START_TEST(a_question_holds_the_request)
{
    broker_says(fill("http://@/ask"), ABX_VERDICT_ASK);
    say("GET /ask HTTP/1.1\r\nHost: @\r\n\r\n");
    uint64_t ticket = broker_ticket();
    nobody_came();
    egress_answer(the_box, ticket, ABX_VERDICT_ALLOW, NULL);
    expect_request("GET /ask HTTP/1.1\r\nHost: @\r\n\r\n");
    send_text(origin, OK);
    expect_answer(OK);
}
END_TEST

START_TEST(a_question_that_is_answered_with_no_refuses_it)
{
    char ticket_text[64];

    broker_says(fill("http://@/ask"), ABX_VERDICT_ASK);
    say("GET /ask HTTP/1.1\r\nHost: @\r\n\r\n");
    uint64_t ticket = broker_ticket();
    egress_answer(the_box, ticket, ABX_VERDICT_DENY, "not today");
    snprintf(ticket_text, sizeof ticket_text, "\"ticket\":%u", (unsigned)ticket);
    expect_problem(403, ticket_text);
    nobody_came();
}
END_TEST

START_TEST(who_goes_away_asks_no_more)
{
    broker_says(fill("http://@/ask"), ABX_VERDICT_ASK);
    say("GET /ask HTTP/1.1\r\nHost: @\r\n\r\n");
    broker_ticket();
    shutdown(program, SHUT_WR);
    for (int times = 0; times < 1000 && broker_withdrawn() == 0; times++) {
        poll(NULL, 0, 10);
    }
    ck_assert_uint_eq(broker_withdrawn(), 1);
}
END_TEST

static const struct refuse_case {
    const char *request;
    int status;
    const char *rule, *reason;
} refuse_cases[] = {
    { "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n", 421, "network:host", "'other.test'" },
    { "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 421, "network:host", "port 80" },
    { "GET http://other.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n", 421, "network:host",
            "'other.test'" },
    { "GET http://other.test/ HTTP/1.1\r\nHost: @\r\n\r\n", 421, "network:http",
            "Host is not that of the target" },
    { "GET https://@/ HTTP/1.1\r\nHost: @\r\n\r\n", 421, "network:host", "'localhost'" },
    { "CONNECT @ HTTP/1.1\r\nHost: @\r\n\r\n", 400, "network:http", "this is no proxy" },
    { "GET / HTTP/1.1\r\nHost: @\r\nHost: other.test\r\n\r\n", 400, "network:http", "twice" },
    { "GET /../x HTTP/1.1\r\nHost: @\r\n\r\n", 400, "network:http", "dot segment" },
    { "GET / HTTP/1.1\nHost: @\n\n", 400, "network:http", "CR LF" },
    { "POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400,
            "network:http", "in one message" },
    { "POST / HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501, "network:http",
            "Transfer-Encoding" },
    { "GET / HTTP/2.0\r\nHost: @\r\n\r\n", 505, "network:http", "HTTP/1.1" },
    { "GET / HTTP/1.1\r\nHost: @\r\nExpect: x\r\n\r\n", 417, "network:http", "Expect" },
    { "GET / HTTP/1.1\r\nHost: a..b\r\n\r\n", 400, "network:http", "no valid name" },
};

START_TEST(a_request_that_is_ambiguous_or_for_elsewhere_is_refused_and_told)
{
    const struct refuse_case *c = &refuse_cases[_i];

    say(c->request);
    expect_problem(c->status, NULL);
    expect_told(c->rule, c->reason);
    ck_assert(broker_is_quiet());
    nobody_came();
}
END_TEST

START_TEST(a_chunk_that_is_ambiguous_ends_both_connections)
{
    say("POST / HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    expect_request(
            "POST / HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    say("+5\r\nhello\r\n0\r\n\r\n");
    expect_problem(400, "chunk");
    expect_told("network:http", "a chunk's size is no plain number");
    expect_reset(origin);
}
END_TEST

/* ---- the proxy ---- */
START_TEST(a_proxy_goes_where_each_request_says_and_asks_twice)
{
    close(program);
    start_session("", -1);
    say("GET http://@/a HTTP/1.1\r\nHost: @\r\nProxy-Connection: keep-alive\r\n\r\n");
    expect_request("GET /a HTTP/1.1\r\nHost: @\r\n\r\n");
    send_text(origin, OK);
    expect_answer(OK);
    ck_assert_uint_eq(broker_asked(), 2);
    say("GET http://@/b HTTP/1.1\r\nHost: @\r\n\r\n");
    expect_request("GET /b HTTP/1.1\r\nHost: @\r\n\r\n");
    nobody_came(); /* over the same connection */
    send_text(origin, OK);
    expect_answer(OK);
    ck_assert_uint_eq(broker_asked(), 4);
    close(origin);
    origin = -1;
    /* Its requests are not read, only where they go. */
    say(strcat(strcpy((char[256]){ 0 }, "GET http://public.test"), strchr(fill("@/c"), ':')));
    say(" HTTP/1.1\r\nHost: public.test");
    say(strchr(fill("@\r\n\r\n"), ':'));
    expect_request("GET /c HTTP/1.1\r\nHost: public.test");
    expect_request(strchr(fill("@\r\n\r\n"), ':'));
    send_text(origin, OK);
    expect_answer(OK);
    ck_assert_uint_eq(broker_asked(), 5);
}
END_TEST

START_TEST(a_proxy_denies_by_name_before_it_looks_at_the_request)
{
    struct told told;

    broker_says("denied.test", ABX_VERDICT_DENY);
    close(program);
    start_session("", -1);
    say("GET http://Denied.TEST./x HTTP/1.1\r\nHost: denied.test.\r\n\r\n");
    expect_problem(403, "\"destination\":\"denied.test:80\"");
    broker_tells(&told);
    ck_assert_str_eq(told.target, "denied.test");
    ck_assert_uint_eq(told.port, 80);
}
END_TEST

static const char *const no_proxy_requests[] = {
    "GET /x HTTP/1.1\r\nHost: @\r\n\r\n",
    "GET /x HTTP/1.0\r\n\r\n",
    "GET https://@/x HTTP/1.1\r\nHost: @\r\n\r\n",
    "CONNECT @ HTTP/1.1\r\nHost: @\r\n\r\n",
    "hello\r\n\r\n",
};

START_TEST(a_proxy_wants_a_url)
{
    struct told told;

    close(program);
    start_session("", -1);
    say(no_proxy_requests[_i]);
    ck_assert_ptr_nonnull(strstr(read_to_end(), "HTTP/1.1 400 "));
    broker_tells(&told);
    ck_assert_str_eq(told.rule, "network:http");
    nobody_came();
}
END_TEST

START_TEST(a_name_that_leads_to_a_private_address_is_denied_when_it_is_dialled)
{
    struct told told;

    close(program);
    start_session("", -1);
    say("GET http://private.test/ HTTP/1.1\r\nHost: private.test\r\n\r\n");
    expect_problem(403, "\"destination\":\"private.test:80\"");
    broker_tells(&told);
    ck_assert_str_eq(told.target, "private.test");
}
END_TEST

static Suite *
make_suite(void)
{
    const struct {
        const TTest *test;
        int times;
    } tests[] = {
        { a_message_is_passed_on_as_it_must_be, N_ELEMENTS(pass_cases) },
        { requests_that_come_at_once_are_answered_in_their_order, 1 },
        { a_client_of_http_1_0_gets_no_chunks, 1 },
        { a_client_of_http_1_0_may_stay, 1 },
        { an_answer_without_a_length_ends_with_its_connection, 1 },
        { an_answer_that_is_cut_is_not_taken_for_the_whole, N_ELEMENTS(cut_answers) },
        { an_answer_that_cannot_be_read_is_502, N_ELEMENTS(bad_answers) },
        { an_origin_that_is_not_there_is_502, 1 },
        { a_denied_request_goes_nowhere_and_says_why, 1 },
        { what_was_allowed_before_a_denial_was_done, 1 },
        { a_question_holds_the_request, 1 },
        { a_question_that_is_answered_with_no_refuses_it, 1 },
        { who_goes_away_asks_no_more, 1 },
        { a_request_that_is_ambiguous_or_for_elsewhere_is_refused_and_told,
                N_ELEMENTS(refuse_cases) },
        { a_chunk_that_is_ambiguous_ends_both_connections, 1 },
        { a_proxy_goes_where_each_request_says_and_asks_twice, 1 },
        { a_proxy_denies_by_name_before_it_looks_at_the_request, 1 },
        { a_proxy_wants_a_url, N_ELEMENTS(no_proxy_requests) },
        { a_name_that_leads_to_a_private_address_is_denied_when_it_is_dialled, 1 },
    };
    Suite *suite = suite_create("session");
    TCase *cases = tcase_create("session");

    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, session_box_open, session_box_close);
    for (size_t i = 0; i < N_ELEMENTS(tests); i++) {
        tcase_add_loop_test(cases, tests[i].test, 0, tests[i].times);
    }
    suite_add_tcase(suite, cases);
    return suite;
}

UNIT_MAIN(make_suite)
