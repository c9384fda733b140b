/* SPDX-License-Identifier: Apache-2.0
 * The explicit proxy: what it understands, what is decided, and how a program is told. */
#include "egress_box.h"

#include "base/mem.h"
#include "unit/main.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define POLICY                                                                                     \
    "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[\"*\",\"localhost\"],"           \
    "\"host_loopback\":[%u]}}"

static int listener;
static uint16_t port;

static void
set_up(void)
{
    listener = listen_on_loopback(16, &port);
    egress_box_open(POLICY, port);
}

static void
tear_down(void)
{
    egress_box_close();
    egress_box_left_nothing();
    close(listener);
}

static int
connect_proxy(void)
{
    return connect_box("", 0, WAY_PROXY, 0);
}

static void
send_format(int fd, const char *format, ...)
{
    char text[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    send_text(fd, text);
}

/* ---- HTTP ---- */
START_TEST(connect_reaches_the_destination_and_the_rest_is_a_tunnel)
{
    int program = connect_proxy(), server;

    send_format(program,
            "CONNECT Public.TEST:%u HTTP/1.1\r\nHost: public.test:%u\r\nUser-Agent: t\r\n\r\nearly",
            port, port);
    server = accept_one(listener);
    expect_text(program, "HTTP/1.1 200 Connection established\r\n\r\n");
    expect_text(server, "early");
    send_text(server, "late");
    expect_text(program, "late");
    ck_assert(broker_is_quiet());
    close(server);
    expect_end(program);
    close(program);
}
END_TEST

START_TEST(connect_in_pieces_is_read_as_one)
{
    int program = connect_proxy(), server;
    char text[128];

    snprintf(text, sizeof text, "CONNECT localhost:%u HTTP/1.1\r\nHost: localhost:%u\r\n\r\n", port,
            port);
    for (size_t i = 0; text[i] != '\0'; i++) {
        ck_assert_int_eq(send(program, text + i, 1, MSG_NOSIGNAL), 1);
        usleep(500);
    }
    server = accept_one(listener);
    expect_text(program, "HTTP/1.1 200 Connection established\r\n\r\n");
    close(server);
    close(program);
}
END_TEST

static void
expect_in(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "no '%s' in: %s", part, text);
}

START_TEST(a_refused_connect_is_a_403_that_says_why)
{
    int program = connect_proxy();
    struct told told;
    const char *text;

    broker_says("evil.test", ABX_VERDICT_DENY);
    send_text(program, "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n");
    text = receive_to_end(program);
    ck_assert_msg(strncmp(text, "HTTP/1.1 403 Denied by policy: rule /network/deny/0\r\n", 52) == 0,
            "%s", text);
    expect_in(text, "\r\nContent-Type: application/problem+json\r\n");
    expect_in(text, "\"title\":\"Denied by policy\"");
    expect_in(text, "\"status\":403");
    expect_in(text, "\"destination\":\"evil.test:443\"");
    expect_in(text, "\"rule\":\"/network/deny/0\"");
    expect_in(text, "\"reason\":\"the test says no\"");
    expect_in(text, "\"alternative\":\"ask the test\"");
    expect_in(text, "\"backend\":\"test\"");
    ck_assert_ptr_null(strstr(text, "ticket"));
    broker_tells(&told);
    ck_assert_str_eq(told.target, "evil.test");
    close(program);
}
END_TEST

START_TEST(a_question_is_held_and_its_no_has_the_ticket)
{
    int program = connect_proxy(), server;
    char ticket[64];
    const char *text;

    broker_says("maybe.test", ABX_VERDICT_ASK);
    send_text(program, "CONNECT maybe.test:443 HTTP/1.1\r\nHost: maybe.test\r\n\r\n");
    snprintf(ticket, sizeof ticket, "\"ticket\":%u", (unsigned)broker_ticket());
    egress_answer(the_box, broker_ticket(), ABX_VERDICT_DENY, "not on Sundays");
    text = receive_to_end(program);
    expect_in(text, "\"reason\":\"not on Sundays\"");
    expect_in(text, ticket);
    close(program);

    broker_says("public.test", ABX_VERDICT_ASK);
    program = connect_proxy();
    send_format(program, "CONNECT public.test:%u HTTP/1.1\r\nHost: public.test\r\n\r\n", port);
    while (broker_ticket() < 2) {
        usleep(1000);
    }
    egress_answer(the_box, 2, ABX_VERDICT_ALLOW, NULL);
    server = accept_one(listener);
    expect_text(program, "HTTP/1.1 200 Connection established\r\n\r\n");
    close(server);
    close(program);
}
END_TEST

START_TEST(who_goes_away_takes_the_question_along)
{
    int program = connect_proxy();

    broker_says("maybe.test", ABX_VERDICT_ASK);
    send_text(program, "CONNECT maybe.test:443 HTTP/1.1\r\nHost: maybe.test\r\n\r\n");
    broker_ticket();
    close(program);
    while (broker_withdrawn() == 0) {
        usleep(1000);
    }
}
END_TEST

START_TEST(what_is_not_reached_is_a_502)
{
    int program = connect_proxy(), gone;
    uint16_t nobody;
    const char *text;

    gone = listen_on_loopback(1, &nobody);
    close(gone);
    send_format(program, "CONNECT public.test:%u HTTP/1.1\r\nHost: public.test\r\n\r\n", nobody);
    text = receive_to_end(program);
    ck_assert_msg(strncmp(text, "HTTP/1.1 502 Not reached\r\n", 26) == 0, "%s", text);
    expect_in(text, "the destination refused the connection");
    expect_in(text, "\"type\":\"about:blank\"");
    close(program);
}
END_TEST

START_TEST(a_name_at_a_closed_address_is_denied_here_too)
{
    int program = connect_proxy();
    struct told told;

    send_text(program, "CONNECT private.test:443 HTTP/1.1\r\nHost: private.test\r\n\r\n");
    expect_in(receive_to_end(program), "\"rule\":\"network:closed\"");
    broker_tells(&told);
    ck_assert_str_eq(told.asked, "10.0.0.1");
    close(program);
}
END_TEST

static const struct {
    const char *target, *status;
} bad_heads[] = {
    { "user:pass@public.test:443", "400" },
    { "public.test", "400" },
    { "public.test:0", "400" },
    { "public.test:65536", "400" },
    { "public.test:44x", "400" },
    { "pub\tlic.test:443", "400" },
    { "http://public.test:443/", "400" },
    { "[::1:443", "400" },
    { "b\xc3\xbc.test:443", "400" },
};

START_TEST(a_head_that_is_odd_is_refused_with_its_event)
{
    int program = connect_proxy();
    struct told told;
    const char *text;

    send_format(program, "CONNECT %s HTTP/1.1\r\nHost: public.test\r\n\r\n", bad_heads[_i].target);
    text = receive_to_end(program);
    ck_assert_msg(
            strncmp(text + 9, bad_heads[_i].status, 3) == 0, "%s: %s", bad_heads[_i].target, text);
    broker_tells(&told);
    ck_assert_str_eq(told.rule, "network:http");
    ck_assert(strlen(told.target) > 0);
    close(program);
}
END_TEST

/* Names that a policy spells otherwise, and what is asked about then. */
static const struct {
    const char *sent, *asked;
} spellings[] = {
    { "EVIL.test", "evil.test" }, { "evil.test.", "evil.test" }, { "0x7f.1", "127.0.0.1" },
    { "2130706433", "127.0.0.1" }, { "[::ffff:7f00:1]", "127.0.0.1" }, { "[0:0::1]", "::1" },
    { "xn--bcher-kva.test", "xn--bcher-kva.test" },
    { "-evil.test", "-evil.test" }, /* no valid name: the broker refuses it by its own rule */
};

START_TEST(requests_with_a_url_go_where_each_says)
{
    int program = connect_proxy(), server;
    char text[256];

    send_format(program, "GET http://Public.TEST:%u/a HTTP/1.1\r\nHost: public.test:%u\r\n\r\n",
            port, port);
    server = accept_one(listener);
    snprintf(text, sizeof text, "GET /a HTTP/1.1\r\nHost: public.test:%u\r\n\r\n", port);
    expect_text(server, text);
    send_text(server, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    expect_text(program, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    broker_says("denied.test", ABX_VERDICT_DENY);
    send_text(program, "GET http://denied.test/ HTTP/1.1\r\nHost: denied.test\r\n\r\n");
    expect_text(program, "HTTP/1.1 403 ");
    close(server);
    close(program);
}
END_TEST

START_TEST(a_name_has_one_spelling)
{
    int program = connect_proxy();
    struct told told;

    broker_says("", ABX_VERDICT_DENY);
    send_format(program, "CONNECT %s:443 HTTP/1.1\r\nHost: %s:443\r\n\r\n", spellings[_i].sent,
            spellings[_i].sent);
    expect_in(receive_to_end(program), "HTTP/1.1 403 ");
    broker_tells(&told);
    ck_assert_str_eq(told.target, spellings[_i].asked);
    close(program);
}
END_TEST

/* ---- SOCKS ---- */
/* A request by name, of version 5, with the greeting before it. */
static size_t
socks5_name(uint8_t *out, const char *name, size_t length, uint16_t to)
{
    const uint8_t start[] = { 5, 1, 0, 5, 1, 0, 3, (uint8_t)length };

    memcpy(out, start, sizeof start);
    memcpy(out + sizeof start, name, length);
    out[sizeof start + length] = (uint8_t)(to >> 8);
    out[sizeof start + length + 1] = (uint8_t)to;
    return sizeof start + length + 2;
}

static const uint8_t method_none[] = { 5, 0 };

static void
expect_reply_5(int program, uint8_t code)
{
    const uint8_t reply[] = { 5, code, 0, 1, 0, 0, 0, 0, 0, 0 };

    expect_bytes(program, method_none, sizeof method_none);
    expect_bytes(program, reply, sizeof reply);
}

START_TEST(socks5_by_name_all_at_once_or_byte_by_byte)
{
    for (int piecewise = 0; piecewise < 2; piecewise++) {
        int program = connect_proxy(), server;
        uint8_t request[64];
        size_t length = socks5_name(request, "public.test", 11, port);

        for (size_t i = 0; piecewise && i < length; i++) {
            send_bytes(program, request + i, 1);
            usleep(500);
        }
        if (!piecewise) {
            send_bytes(program, request, length);
        }
        server = accept_one(listener);
        expect_reply_5(program, 0);
        send_text(program, "hello");
        expect_text(server, "hello");
        close(program);
        close(server);
    }
}
END_TEST

START_TEST(socks5_by_address_and_with_a_password)
{
    const uint8_t greeting[] = { 5, 1, 2 }, wants_password[] = { 5, 2 };
    const uint8_t password[] = { 1, 4, 'u', 's', 'e', 'r', 2, 'p', 'w' }, accepted[] = { 1, 0 };
    const uint8_t request[] = { 5, 1, 0, 1, 127, 0, 0, 1, (uint8_t)(port >> 8), (uint8_t)port };
    const uint8_t reply[] = { 5, 0, 0, 1, 0, 0, 0, 0, 0, 0 };
    int program = connect_proxy(), server;

    send_bytes(program, greeting, sizeof greeting);
    expect_bytes(program, wants_password, sizeof wants_password);
    send_bytes(program, password, sizeof password);
    expect_bytes(program, accepted, sizeof accepted);
    send_bytes(program, request, sizeof request);
    expect_bytes(program, reply, sizeof reply);
    server = accept_one(listener);
    close(program);
    close(server);
}
END_TEST

START_TEST(socks4_by_address_and_4a_by_name)
{
    for (int by_name = 0; by_name < 2; by_name++) {
        const uint8_t reply[] = { 0, 90, 0, 0, 0, 0, 0, 0 };
        uint8_t request[64] = { 4, 1, (uint8_t)(port >> 8), (uint8_t)port };
        int program = connect_proxy(), server;

        memcpy(request + 4, by_name ? "\0\0\0\1me\0public.test" : "\177\0\0\1me", by_name ? 19 : 7);
        send_bytes(program, request, by_name ? 23 : 11);
        expect_bytes(program, reply, sizeof reply);
        server = accept_one(listener);
        close(program);
        close(server);
    }
}
END_TEST

START_TEST(socks_says_by_number_what_became_of_it)
{
    uint8_t request[64];
    struct told told;
    int program, gone;
    uint16_t nobody;

    broker_says("evil.test", ABX_VERDICT_DENY);
    program = connect_proxy();
    send_bytes(program, request, socks5_name(request, "evil.test", 9, 443));
    expect_reply_5(program, 2);
    expect_end(program);
    broker_tells(&told);
    ck_assert_str_eq(told.target, "evil.test");
    close(program);

    gone = listen_on_loopback(1, &nobody);
    close(gone);
    program = connect_proxy();
    send_bytes(program, request, socks5_name(request, "public.test", 11, nobody));
    expect_reply_5(program, 5);
    close(program);

    program = connect_proxy();
    send_bytes(program, request, socks5_name(request, "unknown.test", 12, 443));
    expect_reply_5(program, 4);
    close(program);
}
END_TEST

START_TEST(a_socks_name_with_a_nul_is_no_name)
{
    uint8_t request[64];
    struct told told;
    int program = connect_proxy();

    broker_says("evil.test?", ABX_VERDICT_DENY);
    send_bytes(program, request, socks5_name(request, "evil.test\0.public.test", 22, 443));
    expect_reply_5(program, 2);
    broker_tells(&told);
    ck_assert_str_eq(told.target, "evil.test?.public.test");
    close(program);
}
END_TEST

static const struct {
    const char *what;
    uint8_t request[16];
    size_t length;
    uint8_t reply[16];
    size_t reply_length;
} bad_socks[] = {
    { "BIND", { 5, 1, 0, 5, 2, 0, 1, 8, 8, 8, 8, 0, 80 }, 13, { 5, 0, 5, 7, 0, 1 }, 6 },
    { "UDP ASSOCIATE", { 5, 1, 0, 5, 3, 0, 1, 0, 0, 0, 0, 0, 0 }, 13, { 5, 0, 5, 7, 0, 1 }, 6 },
    { "an address of no kind", { 5, 1, 0, 5, 1, 0, 9, 8, 8, 8, 8, 0, 80 }, 13, { 5, 0, 5, 8, 0, 1 },
            6 },
    { "no method that we know", { 5, 1, 1 }, 3, { 5, 0xff }, 2 },
    { "BIND of version 4", { 4, 2, 0, 80, 8, 8, 8, 8, 0 }, 9, { 0, 91 }, 2 },
    { "port 0", { 5, 1, 0, 5, 1, 0, 1, 8, 8, 8, 8, 0, 0 }, 13, { 5, 0, 5, 2, 0, 1 }, 6 },
};

START_TEST(other_socks_requests_are_refused)
{
    int program = connect_proxy();

    send_bytes(program, bad_socks[_i].request, bad_socks[_i].length);
    expect_bytes(program, bad_socks[_i].reply, bad_socks[_i].reply_length);
    close(program);
}
END_TEST

START_TEST(a_tls_greeting_through_the_proxy_is_looked_at_too)
{
    int program = connect_proxy(), server;
    struct told told;

    send_format(program, "CONNECT public.test:%u HTTP/1.1\r\nHost: public.test\r\n\r\n", port);
    server = accept_one(listener);
    expect_text(program, "HTTP/1.1 200 Connection established\r\n\r\n");
    send_text(program, "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n");
    expect_in(receive_to_end(program), "HTTP/1.1 421 ");
    broker_tells(&told);
    ck_assert_str_eq(told.rule, "network:host");
    close(program);
    close(server);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("proxy");
    TCase *http = tcase_create("http"), *socks = tcase_create("socks");

    tcase_add_checked_fixture(http, set_up, tear_down);
    tcase_add_test(http, connect_reaches_the_destination_and_the_rest_is_a_tunnel);
    tcase_add_test(http, connect_in_pieces_is_read_as_one);
    tcase_add_test(http, a_refused_connect_is_a_403_that_says_why);
    tcase_add_test(http, a_question_is_held_and_its_no_has_the_ticket);
    tcase_add_test(http, who_goes_away_takes_the_question_along);
    tcase_add_test(http, what_is_not_reached_is_a_502);
    tcase_add_test(http, a_name_at_a_closed_address_is_denied_here_too);
    tcase_add_loop_test(
            http, a_head_that_is_odd_is_refused_with_its_event, 0, (int)N_ELEMENTS(bad_heads));
    tcase_add_loop_test(http, a_name_has_one_spelling, 0, (int)N_ELEMENTS(spellings));
    tcase_add_test(http, a_tls_greeting_through_the_proxy_is_looked_at_too);
    tcase_add_test(http, requests_with_a_url_go_where_each_says);
    suite_add_tcase(suite, http);
    tcase_add_checked_fixture(socks, set_up, tear_down);
    tcase_add_test(socks, socks5_by_name_all_at_once_or_byte_by_byte);
    tcase_add_test(socks, socks5_by_address_and_with_a_password);
    tcase_add_test(socks, socks4_by_address_and_4a_by_name);
    tcase_add_test(socks, socks_says_by_number_what_became_of_it);
    tcase_add_test(socks, a_socks_name_with_a_nul_is_no_name);
    tcase_add_loop_test(socks, other_socks_requests_are_refused, 0, (int)N_ELEMENTS(bad_socks));
    suite_add_tcase(suite, socks);
    return suite;
}

UNIT_MAIN(make_suite)
