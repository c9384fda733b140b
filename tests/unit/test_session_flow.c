/* SPDX-License-Identifier: Apache-2.0
 * Sessions in time: bodies that stream, peers that end or say nothing, connections that are used
 * again, upgrades, and credentials that change what is sent. */
#include "base/mem.h"
#include "egress_box.h"
#include "fake_replace.h"
#include "session_box.h"

#include "egress/session_private.h"
#include "unit/main.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- bodies in time ---- */
START_TEST(who_asks_whether_to_go_on_is_told_by_the_origin)
{
    say("POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    expect_request(
            "POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    send_text(origin, "HTTP/1.1 100 Continue\r\n\r\n");
    expect_answer("HTTP/1.1 100 Continue\r\n\r\n");
    say("hello");
    expect_request("hello");
    send_text(origin, OK);
    expect_answer(OK);
}
END_TEST

START_TEST(who_is_not_told_to_go_on_does_not_stay)
{
    say("POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    expect_request(
            "POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    send_text(origin, "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n");
    expect_answer("HTTP/1.1 403 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    expect_end(program);
}
END_TEST

START_TEST(an_answer_may_come_before_the_request_is_whole)
{
    say("POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 5000000\r\n\r\nhello");
    expect_request("POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 5000000\r\n\r\nhello");
    send_text(origin, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno");
    expect_answer("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno");
    say("and more"); /* is read, so that no reset takes the answer away */
    expect_end(program);
}
END_TEST

START_TEST(a_client_that_ends_in_the_middle_ends_the_request)
{
    say("POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 5\r\n\r\nhe");
    expect_request("POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 5\r\n\r\nhe");
    shutdown(program, SHUT_WR);
    expect_reset(origin);
}
END_TEST

START_TEST(a_client_that_says_no_more_still_gets_its_answer)
{
    say("GET / HTTP/1.1\r\nHost: @\r\n\r\n");
    shutdown(program, SHUT_WR);
    expect_request("GET / HTTP/1.1\r\nHost: @\r\n\r\n");
    send_text(origin, OK);
    expect_answer(OK);
    expect_end(program);
}
END_TEST

#define MANY (24u << 20)

/* Sends as much as is taken while nobody reads at the other end; how much. */
static size_t
fill_up(int fd)
{
    static char bytes[1 << 16];
    struct pollfd ready = { .fd = fd, .events = POLLOUT };
    size_t sent = 0;

    while (poll(&ready, 1, 300) == 1) {
        ssize_t n = send(fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL);

        ck_assert_int_gt(n, 0);
        sent += (size_t)n;
        ck_assert_uint_lt(sent, MANY);
    }
    return sent;
}

static void
drain(int fd, size_t length)
{
    static char bytes[1 << 16];

    while (length > 0) {
        ssize_t n = recv(fd, bytes, length < sizeof bytes ? length : sizeof bytes, 0);

        ck_assert_int_gt(n, 0);
        length -= (size_t)n;
    }
}

START_TEST(a_slow_reader_slows_its_writer_and_nobody_gathers_the_rest)
{
    size_t sent;
    int small = 65536;

    setsockopt(program, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    say("POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 25165824\r\n\r\n"); /* MANY */
    expect_request("POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 25165824\r\n\r\n");
    sent = fill_up(program);
    drain(origin, sent);
    for (size_t left = MANY - sent; left > 0;) {
        static char bytes[1 << 16];
        size_t piece = left < sizeof bytes ? left : sizeof bytes;

        ck_assert_int_eq(send(program, bytes, piece, 0), (ssize_t)piece);
        drain(origin, piece);
        left -= piece;
    }
    send_text(origin, "HTTP/1.1 200 OK\r\nContent-Length: 25165824\r\n\r\n");
    sent = fill_up(origin);
    expect_answer("HTTP/1.1 200 OK\r\nContent-Length: 25165824\r\n\r\n");
    drain(program, sent);
}
END_TEST

/* ---- the connection outside ---- */
START_TEST(an_origin_that_left_meanwhile_is_dialled_again)
{
    say("GET /1 HTTP/1.1\r\nHost: @\r\n\r\n");
    expect_request("GET /1 HTTP/1.1\r\nHost: @\r\n\r\n");
    send_text(origin, OK);
    expect_answer(OK);
    close(origin);
    origin = -1;
    say("POST /2 HTTP/1.1\r\nHost: @\r\nContent-Length: 1\r\n\r\nx");
    expect_request("POST /2 HTTP/1.1\r\nHost: @\r\nContent-Length: 1\r\n\r\nx");
    send_text(origin, OK);
    expect_answer(OK);
}
END_TEST

/* The origin leaves just when the second request comes. */
static void
leave_in_the_middle(const char *request)
{
    say("GET /1 HTTP/1.1\r\nHost: @\r\n\r\n");
    expect_request("GET /1 HTTP/1.1\r\nHost: @\r\n\r\n");
    send_text(origin, OK);
    expect_answer(OK);
    say(request);
    expect_request(request);
    close(origin);
    origin = -1;
}

START_TEST(what_may_come_twice_is_tried_again_once)
{
    leave_in_the_middle("GET /2 HTTP/1.1\r\nHost: @\r\n\r\n");
    expect_request("GET /2 HTTP/1.1\r\nHost: @\r\n\r\n");
    close(origin);
    origin = -1;
    expect_problem(502, "gave no answer");
}
END_TEST

START_TEST(what_may_not_come_twice_fails_as_without_us)
{
    leave_in_the_middle("POST /2 HTTP/1.1\r\nHost: @\r\nContent-Length: 1\r\n\r\nx");
    expect_reset(program);
    nobody_came();
}
END_TEST

START_TEST(a_connection_that_was_dialled_before_is_used)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    close(program);
    start_session("localhost", fd);
    say("GET / HTTP/1.1\r\nHost: @\r\n\r\n");
    expect_request("GET / HTTP/1.1\r\nHost: @\r\n\r\n");
    nobody_came();
    send_text(origin, OK);
    expect_answer(OK);
}
END_TEST

/* ---- upgrades ---- */
#define UPGRADE "Connection: Upgrade\r\nUpgrade: websocket\r\n"

START_TEST(an_upgrade_that_is_allowed_is_bytes_from_then_on)
{
    say("GET /chat HTTP/1.1\r\nHost: @\r\nSec-WebSocket-Version: 13\r\n" UPGRADE "\r\n");
    expect_request("GET /chat HTTP/1.1\r\nHost: @\r\nSec-WebSocket-Version: 13\r\n" UPGRADE "\r\n");
    send_text(origin, "HTTP/1.1 101 Switching Protocols\r\n" UPGRADE "X: y\r\n\r\nfirst");
    expect_answer("HTTP/1.1 101 Switching Protocols\r\nX: y\r\n" UPGRADE "\r\nfirst");
    say("GET / HTTP/1.1\r\nHost: other.test\r\n\r\n"); /* only bytes */
    expect_request("GET / HTTP/1.1\r\nHost: other.test\r\n\r\n");
    send_text(origin, "more");
    expect_answer("more");
    shutdown(program, SHUT_WR);
    expect_end(origin);
    send_text(origin, "last");
    expect_answer("last");
    close(origin);
    origin = -1;
    expect_end(program);
}
END_TEST

START_TEST(an_upgrade_follows_the_rule_of_its_request)
{
    broker_says(fill("http://@/chat"), ABX_VERDICT_DENY);
    say("GET /chat HTTP/1.1\r\nHost: @\r\n" UPGRADE "\r\n");
    expect_problem(403, "the test says no");
    nobody_came();
}
END_TEST

START_TEST(an_upgrade_that_the_origin_declines_is_an_answer)
{
    for (int times = 0; times < 2; times++) {
        say("GET /chat HTTP/1.1\r\nHost: @\r\n" UPGRADE "\r\n");
        expect_request("GET /chat HTTP/1.1\r\nHost: @\r\n" UPGRADE "\r\n");
        send_text(origin, OK);
        expect_answer(OK);
    }
}
END_TEST

/* ---- time ---- */
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

START_TEST(an_origin_that_says_nothing_is_504)
{
    egress_call(the_egress, make_seconds_short, NULL);
    say("GET / HTTP/1.1\r\nHost: @\r\n\r\n");
    expect_request("GET / HTTP/1.1\r\nHost: @\r\n\r\n");
    expect_problem(504, "did not answer in time");
    egress_call(the_egress, make_seconds_long, NULL);
}
END_TEST

START_TEST(a_client_that_does_not_go_on_is_left)
{
    egress_call(the_egress, make_seconds_short, NULL);
    say("GET / HT");
    ck_assert_str_eq(read_to_end(), "");
    egress_call(the_egress, make_seconds_long, NULL);
}
END_TEST

static const char *const stages[] = { "", "GET / HT", "GET /ask HTTP/1.1\r\nHost: @\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 5\r\n\r\nhe", "GET /bad path\r\n\r\n" };

START_TEST(the_end_of_the_box_ends_a_session_at_any_stage)
{
    broker_says(fill("http://@/ask"), ABX_VERDICT_ASK);
    say(stages[_i]);
    if (_i == 2) {
        broker_ticket();
    } else if (_i == 3) {
        expect_request(stages[_i]);
    } else if (_i == 4) {
        expect_told("network:http", "HTTP/1.1");
    }
}
END_TEST

/* ---- credentials ---- */
START_TEST(a_secret_goes_out_and_does_not_come_back)
{
    fake_replace.changes_answers = true;
    say("POST /?k=STANDIN HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\nX: "
        "STANDIN\r\n\r\n4\r\nSTAN\r\n");
    say("6\r\nDIN!ST\r\n0\r\n\r\n");
    expect_request("POST /?k=THE-SECRET HTTP/1.1\r\nHost: @\r\nX: THE-SECRET\r\nTransfer-Encoding: "
                   "chunked\r\n\r\n");
    /* In which pieces is not said. */
    expect_request("d\r\nTHE-SECRET!ST\r\n0\r\n\r\n");
    send_text(origin, OK);
    expect_answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n");
}
END_TEST

START_TEST(a_body_of_known_length_is_gathered_where_it_is_needed_with_the_head)
{
    fake_replace.wants_body = true;
    say("POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n");
    expect_answer("HTTP/1.1 100 Continue\r\n\r\n");
    say("a STAN");
    say("DIN");
    expect_request("POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 12\r\n\r\na THE-SECRET");
    send_text(origin, "HTTP/1.1 100 Continue\r\n\r\n" OK);
    expect_answer(OK);
}
END_TEST

START_TEST(a_long_body_that_is_there_already_is_gathered_to_its_end)
{
    static char body[400001], got[sizeof body];

    memset(body, 'x', sizeof body - 1);
    fake_replace.wants_body = true;
    broker_says(fill("http://@/"), ABX_VERDICT_ASK);
    say("POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 400000\r\n\r\n");
    send_text(program, body);
    egress_answer(the_box, broker_ticket(), ABX_VERDICT_ALLOW, NULL);
    expect_request("POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 400000\r\n\r\n");
    ck_assert_int_eq(recv(origin, got, sizeof body - 1, MSG_WAITALL), sizeof body - 1);
    ck_assert_str_eq(got, body);
}
END_TEST

START_TEST(an_answer_that_may_change_is_sent_in_chunks)
{
    fake_replace.changes_answers = true;
    say("GET / HTTP/1.1\r\nHost: @\r\n\r\n");
    expect_request("GET / HTTP/1.1\r\nHost: @\r\n\r\n");
    send_text(origin, "HTTP/1.1 200 OK\r\nX: THE-SECRET\r\nContent-Length: 12\r\n\r\nTHE-SECRET!!");
    expect_answer("HTTP/1.1 200 OK\r\nX: STANDIN\r\nTransfer-Encoding: chunked\r\n\r\n");
    expect_answer("9\r\nSTANDIN!!\r\n0\r\n\r\n");
    say("GET / HTTP/1.0\r\n\r\n");
    expect_request("GET / HTTP/1.1\r\nHost: @\r\n\r\n");
    send_text(origin, "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nTHE-SECRET!!");
    expect_answer("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nSTANDIN!!");
    expect_end(program);
}
END_TEST

static void
go_on(void *data)
{
    fake_replace_go_on();
}

START_TEST(a_secret_that_is_not_there_yet_is_waited_for)
{
    fake_replace.waits = true;
    say("GET / HTTP/1.1\r\nHost: @\r\nX: STANDIN\r\n\r\n");
    while (fake_replace_alive() == 0) {
        poll(NULL, 0, 10);
    }
    nobody_came();
    egress_call(the_egress, go_on, NULL);
    expect_request("GET / HTTP/1.1\r\nHost: @\r\nX: THE-SECRET\r\n\r\n");
    send_text(origin, OK);
    expect_answer(OK);
}
END_TEST

START_TEST(a_body_may_wait_for_a_secret_too)
{
    fake_replace.body_waits = true;
    say("POST / HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: "
        "chunked\r\n\r\n7\r\nSTANDIN\r\n0\r\n\r\n");
    expect_request("POST / HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\n\r\n");
    egress_call(the_egress, go_on, NULL);
    expect_request("a\r\nTHE-SECRET\r\n0\r\n\r\n");
    send_text(origin, OK);
    expect_answer(OK);
}
END_TEST

START_TEST(who_goes_away_waits_for_no_secret)
{
    fake_replace.waits = true;
    say("GET / HTTP/1.1\r\nHost: @\r\nX: STANDIN\r\n\r\n");
    while (fake_replace_alive() == 0) {
        poll(NULL, 0, 10);
    }
    close(program);
    while (fake_replace_alive() != 0) {
        poll(NULL, 0, 10);
    }
    program = -1;
}
END_TEST

START_TEST(a_stand_in_in_a_wrong_place_refuses_the_request)
{
    fake_replace.refuses_head = true;
    say("GET / HTTP/1.1\r\nHost: @\r\n\r\n");
    expect_problem(403, "the fake says no");
    nobody_came();
}
END_TEST

START_TEST(a_stand_in_in_a_body_refuses_the_request)
{
    fake_replace.refuses_body = true;
    say("POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 7\r\n\r\nSTANDIN");
    expect_problem(403, "the fake says no");
    expect_request("POST / HTTP/1.1\r\nHost: @\r\nContent-Length: 7\r\n\r\n");
    expect_reset(origin);
}
END_TEST

START_TEST(an_answer_that_cannot_be_cleaned_is_502)
{
    fake_replace.refuses_answer = true;
    say("GET / HTTP/1.1\r\nHost: @\r\n\r\n");
    expect_request("GET / HTTP/1.1\r\nHost: @\r\n\r\n");
    send_text(origin, OK);
    expect_problem(502, "the fake says no");
}
END_TEST

START_TEST(a_stand_in_in_an_upgraded_connection_ends_it)
{
    fake_replace.refuses_watch = true;
    say("GET / HTTP/1.1\r\nHost: @\r\n" UPGRADE "\r\n");
    expect_request("GET / HTTP/1.1\r\nHost: @\r\n" UPGRADE "\r\n");
    send_text(origin, "HTTP/1.1 101 Yes\r\n" UPGRADE "\r\n");
    expect_answer("HTTP/1.1 101 Yes\r\n" UPGRADE "\r\n");
    say("a STANDIN");
    expect_reset(program);
    expect_reset(origin);
}
END_TEST

static Suite *
make_suite(void)
{
    const struct {
        const TTest *test;
        int times;
    } tests[] = {
        { who_asks_whether_to_go_on_is_told_by_the_origin, 1 },
        { who_is_not_told_to_go_on_does_not_stay, 1 },
        { an_answer_may_come_before_the_request_is_whole, 1 },
        { a_client_that_ends_in_the_middle_ends_the_request, 1 },
        { a_client_that_says_no_more_still_gets_its_answer, 1 },
        { a_slow_reader_slows_its_writer_and_nobody_gathers_the_rest, 1 },
        { an_origin_that_left_meanwhile_is_dialled_again, 1 },
        { what_may_come_twice_is_tried_again_once, 1 },
        { what_may_not_come_twice_fails_as_without_us, 1 },
        { a_connection_that_was_dialled_before_is_used, 1 },
        { an_upgrade_that_is_allowed_is_bytes_from_then_on, 1 },
        { an_upgrade_follows_the_rule_of_its_request, 1 },
        { an_upgrade_that_the_origin_declines_is_an_answer, 1 },
        { an_origin_that_says_nothing_is_504, 1 },
        { a_client_that_does_not_go_on_is_left, 1 },
        { the_end_of_the_box_ends_a_session_at_any_stage, N_ELEMENTS(stages) },
        { a_secret_goes_out_and_does_not_come_back, 1 },
        { a_body_of_known_length_is_gathered_where_it_is_needed_with_the_head, 1 },
        { a_long_body_that_is_there_already_is_gathered_to_its_end, 1 },
        { an_answer_that_may_change_is_sent_in_chunks, 1 },
        { a_secret_that_is_not_there_yet_is_waited_for, 1 },
        { a_body_may_wait_for_a_secret_too, 1 },
        { who_goes_away_waits_for_no_secret, 1 },
        { a_stand_in_in_a_wrong_place_refuses_the_request, 1 },
        { a_stand_in_in_a_body_refuses_the_request, 1 },
        { an_answer_that_cannot_be_cleaned_is_502, 1 },
        { a_stand_in_in_an_upgraded_connection_ends_it, 1 },
    };
    Suite *suite = suite_create("session_flow");
    TCase *cases = tcase_create("session_flow");

    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, session_box_open, session_box_close);
    for (size_t i = 0; i < N_ELEMENTS(tests); i++) {
        tcase_add_loop_test(cases, tests[i].test, 0, tests[i].times);
    }
    suite_add_tcase(suite, cases);
    return suite;
}

UNIT_MAIN(make_suite)
