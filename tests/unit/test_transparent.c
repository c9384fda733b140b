/* SPDX-License-Identifier: Apache-2.0
 * First bytes of a connection: which hosts they may name, how they are refused, and that nobody who
 * speaks first waits for them. */
#include "egress_box.h"

#include "base/mem.h"
#include "unit/main.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define POLICY                                                                                     \
    "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[\"*\",\"localhost\"],"           \
    "\"host_loopback\":[%u]}}"
#define NAME "public.test"

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

/* ---- greetings ---- */
static size_t
put_u16(uint8_t *at, size_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
    return 2;
}

/* A ClientHello with this server name (NULL: none) and perhaps an ECH extension. */
static size_t
make_hello(uint8_t *out, const char *name, bool ech)
{
    uint8_t extensions[512], *body = out + 9;
    size_t n = 0, m = 0, length = name == NULL ? 0 : strlen(name);

    if (name != NULL) {
        n += put_u16(extensions + n, 0);
        n += put_u16(extensions + n, length + 5);
        n += put_u16(extensions + n, length + 3);
        extensions[n++] = 0;
        n += put_u16(extensions + n, length);
        memcpy(extensions + n, name, length);
        n += length;
    }
    if (ech) {
        static const uint8_t outer[] = { 0, 0, 1, 0, 1, 7, 0, 2, 9, 9, 0, 2, 8, 8 };

        n += put_u16(extensions + n, 0xfe0d);
        n += put_u16(extensions + n, sizeof outer);
        memcpy(extensions + n, outer, sizeof outer);
        n += sizeof outer;
    }
    m += put_u16(body + m, 0x0303);
    memset(body + m, 7, 32);
    m += 32;
    body[m++] = 0; /* no session */
    m += put_u16(body + m, 2);
    m += put_u16(body + m, 0x1301);
    body[m++] = 1;
    body[m++] = 0;
    m += put_u16(body + m, n);
    memcpy(body + m, extensions, n);
    m += n;
    out[0] = 22;
    put_u16(out + 1, 0x0301);
    put_u16(out + 3, m + 4);
    out[5] = 1;
    out[6] = 0;
    put_u16(out + 7, m);
    return m + 9;
}

static void
close_both(int program, int server)
{
    close(program);
    close(server);
}

START_TEST(a_server_that_speaks_first_is_not_kept_waiting)
{
    int program, server;

    connect_both(NAME, listener, port, &program, &server);
    send_text(server, "SSH-2.0-test\r\n");
    expect_text(program, "SSH-2.0-test\r\n");
    send_text(program, "SSH-2.0-client\r\n");
    expect_text(server, "SSH-2.0-client\r\n");
    close_both(program, server);
}
END_TEST

static const struct passing_case {
    const char *what, *name;
    bool ech;
} passing_tls[] = {
    { "the same name", NAME, false },
    { "another spelling of it", "PUBLIC.Test", false },
    { "no name at all", NULL, false },
    { "the same name, and something encrypted", NAME, true },
};

START_TEST(a_tls_greeting_for_the_host_passes)
{
    const struct passing_case *c = &passing_tls[_i];
    uint8_t hello[1024];
    size_t length = make_hello(hello, c->name, c->ech);
    int program, server;

    connect_both(NAME, listener, port, &program, &server);
    send_bytes(program, hello, length);
    expect_bytes(server, hello, length);
    ck_assert_msg(broker_is_quiet(), "%s", c->what);
    close_both(program, server);
}
END_TEST

START_TEST(a_greeting_in_pieces_is_read_as_one)
{
    uint8_t hello[1024];
    size_t length = make_hello(hello, NAME, false);
    int program, server;

    connect_both(NAME, listener, port, &program, &server);
    for (size_t i = 0; i < length; i++) {
        send_bytes(program, hello + i, 1);
        usleep(1000);
    }
    expect_bytes(server, hello, length);
    close_both(program, server);
}
END_TEST

static const struct refused_case {
    const char *what, *name;
    bool ech;
    const char *rule;
} refused_tls[] = {
    { "another host", "other.test", false, "network:sni" },
    { "a host below", "a." NAME, false, "network:sni" },
    { "another host, encrypted", "other.test", true, "network:ech" },
    { "only something encrypted", NULL, true, "network:ech" },
    { "no valid name", "a b", false, "network:tls" },
    { "a dot at its end, which TLS does not know", NAME ".", false, "network:tls" },
};

START_TEST(a_tls_greeting_for_another_host_is_refused_with_an_alert)
{
    static const uint8_t alert[] = { 21, 3, 3, 0, 2, 2, 49 };
    const struct refused_case *c = &refused_tls[_i];
    uint8_t hello[1024];
    size_t length = make_hello(hello, c->name, c->ech);
    struct told told;
    int program, server;

    connect_both(NAME, listener, port, &program, &server);
    send_bytes(program, hello, length);
    expect_bytes(program, alert, sizeof alert);
    expect_end(program);
    expect_reset(server);
    broker_tells(&told);
    ck_assert_uint_eq(told.type, ABX_EVENT_DENIAL);
    ck_assert_str_eq(told.target, NAME);
    ck_assert_uint_eq(told.port, port);
    ck_assert_str_eq(told.rule, c->rule);
    ck_assert(c->name == NULL || strstr(told.reason, c->name) != NULL || c->ech ||
              strcmp(c->rule, "network:tls") == 0);
    close_both(program, server);
}
END_TEST

static const struct {
    const char *what, *bytes;
} passing_text[] = {
    { "the same host", "GET / HTTP/1.1\r\nHost: public.test\r\n\r\n" },
    { "with a port", "GET / HTTP/1.1\r\nHost: Public.Test:8080\r\n\r\n" },
    { "an old request", "GET / HTTP/1.0\r\n\r\n" },
    { "a mail client", "EHLO other.test\r\n" },
    { "a chat client", "NICK someone\r\n" },
    { "a request of before there were hosts", "GET /\r\n" },
    { "HTTP/2 without TLS, on a port of its own", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" },
    { "empty lines before a request", "\r\n\nGET / HTTP/1.1\r\nHost: public.test\r\n\r\n" },
    { "what is neither, though it begins alike", "\x16\x16\x16\x16\x16\x16" },
    { "a word without an end", "quick" },
    { "a word that could be a method, and is none", "GETTING" },
};

START_TEST(first_bytes_without_another_host_pass)
{
    int program, server;

    connect_both(NAME, listener, port, &program, &server);
    send_text(program, passing_text[_i].bytes);
    expect_text(server, passing_text[_i].bytes);
    ck_assert_msg(broker_is_quiet(), "%s", passing_text[_i].what);
    close_both(program, server);
}
END_TEST

static const struct {
    const char *bytes, *status, *rule;
} refused_http[] = {
    { "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n", "421 ", "network:host" },
    { "GET http://other.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n", "421 ", "network:host" },
    { "CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n", "421 ", "network:host" },
    { "GET / HTTP/1.1\r\nHost: public.test\r\nHost: other.test\r\n\r\n", "400 ", "network:http" },
    { "GET / HTTP/1.1\nHost: public.test\n\n", "400 ", "network:http" },
    { "\r\nGET / HTTP/1.1\r\nHost: other.test\r\n\r\n", "421 ", "network:host" },
    { "\nGET / HTTP/1.1\r\nHost: other.test\r\n\r\n", "421 ", "network:host" },
    { "PURGE / HTTP/1.1\r\nHost: other.test\r\n\r\n", "421 ", "network:host" },
    { "GET / HTTP/1.1 \r\nHost: other.test\r\n\r\n", "505 ", "network:http" },
    { "GET / http/1.1\r\nHost: other.test\r\n\r\n", "505 ", "network:http" },
    { "GET / HTTP/2.0\r\nHost: other.test\r\n\r\n", "505 ", "network:http" },
    { "PRI * HTTP/2.1\r\n\r\nSM\r\n\r\n", "505 ", "network:http" },
};

/* A server may take what came for a request, or wait for the rest of it. */
static const char *const unfinished[] = {
    "GET / HTTP/1.1\r\nHost: other.test\r\n",
    "GET / HTTP/1.1\r\n",
    "GET / HT",
    "PURGE /",
    "G",
    "\r\n",
};

START_TEST(a_request_that_ends_before_its_head_does_is_refused)
{
    struct told told;
    int program, server;

    connect_both(NAME, listener, port, &program, &server);
    send_text(program, unfinished[_i]);
    shutdown(program, SHUT_WR);
    expect_reset(program);
    expect_reset(server);
    broker_tells(&told);
    ck_assert_str_eq(told.rule, "network:greeting");
    close_both(program, server);
}
END_TEST

START_TEST(a_request_for_another_host_is_refused_as_a_problem)
{
    struct told told;
    int program, server;
    const char *text;

    connect_both(NAME, listener, port, &program, &server);
    send_text(program, refused_http[_i].bytes);
    text = receive_to_end(program);
    ck_assert_msg(strncmp(text, "HTTP/1.1 ", 9) == 0 &&
                          strncmp(text + 9, refused_http[_i].status, 4) == 0,
            "%s", text);
    ck_assert_ptr_nonnull(strstr(text, "\r\nContent-Type: application/problem+json\r\n"));
    ck_assert_ptr_nonnull(strstr(text, "\"type\":\"urn:agentbox:denied\""));
    ck_assert_ptr_nonnull(strstr(text, refused_http[_i].rule));
    ck_assert_ptr_nonnull(strstr(text, "\"backend\":\"test\""));
    expect_reset(server);
    broker_tells(&told);
    ck_assert_str_eq(told.rule, refused_http[_i].rule);
    close_both(program, server);
}
END_TEST

/* ---- destinations that are addresses ---- */
START_TEST(a_host_that_is_named_at_an_address_is_decided_too)
{
    static const uint8_t alert[] = { 21, 3, 3, 0, 2, 2, 49 };
    uint8_t hello[1024];
    size_t length = make_hello(hello, "inner.test", false);
    struct told told;
    int program, server;

    connect_both("127.0.0.1", listener, port, &program, &server);
    send_bytes(program, hello, length);
    expect_bytes(server, hello, length);
    ck_assert_uint_eq(broker_asked(), 1);
    close_both(program, server);

    broker_says("inner.test", ABX_VERDICT_DENY);
    connect_both("127.0.0.1", listener, port, &program, &server);
    send_bytes(program, hello, length);
    expect_bytes(program, alert, sizeof alert);
    expect_reset(server);
    broker_tells(&told);
    ck_assert_str_eq(told.target, "inner.test");
    ck_assert_str_eq(told.asked, "127.0.0.1");
    close_both(program, server);
}
END_TEST

START_TEST(a_host_that_is_asked_about_waits)
{
    int program, server;

    broker_says("inner.test", ABX_VERDICT_ASK);
    connect_both("127.0.0.1", listener, port, &program, &server);
    send_text(program, "GET / HTTP/1.1\r\nHost: inner.test\r\n\r\n");
    egress_answer(the_box, broker_ticket(), ABX_VERDICT_ALLOW, NULL);
    expect_text(server, "GET / HTTP/1.1\r\nHost: inner.test\r\n\r\n");
    close_both(program, server);
}
END_TEST

START_TEST(a_question_ends_with_its_connection)
{
    int program, server;

    broker_says("inner.test", ABX_VERDICT_ASK);
    connect_both("127.0.0.1", listener, port, &program, &server);
    send_text(program, "GET / HTTP/1.1\r\nHost: inner.test\r\n\r\n");
    broker_ticket();
    close(server);
    expect_end(program);
    close(program);
}
END_TEST

START_TEST(the_hosts_own_services_may_be_called_as_one_likes)
{
    uint64_t dialled;
    int program, server;

    ck_assert_int_eq(dial_and_wait("localhost", port, WAY_HOST_LOOPBACK, &dialled), 0);
    server = accept_one(listener);
    program = connect_box("localhost", port, WAY_HOST_LOOPBACK, dialled);
    send_text(program, "GET / HTTP/1.1\r\nHost: myapp.test\r\n\r\n");
    expect_text(server, "GET / HTTP/1.1\r\nHost: myapp.test\r\n\r\n");
    close_both(program, server);
}
END_TEST

/* ---- requests that are to be read ---- */
START_TEST(requests_to_the_hosts_own_services_are_read_where_rules_are_about_them)
{
    struct told told;
    uint64_t dialled;
    int program, server;

    egress_box_close();
    egress_box_open("{\"version\":1,\"network\":{\"mode\":\"filtered\",\"host_loopback\":[%u],"
                    "\"allow\":[\"myapp.test\",{\"host\":\"localhost:%u\",\"http\":[{\"methods\":"
                    "[\"GET\"],\"path\":\"/v1/**\"}]}]}}",
            port, port);
    ck_assert_int_eq(dial_and_wait("127.0.0.1", port, WAY_HOST_LOOPBACK, &dialled), 0);
    server = accept_one(listener);
    program = connect_box("127.0.0.1", port, WAY_HOST_LOOPBACK, dialled);
    if (_i == 0) {
        send_text(program, "GET / HTTP/1.1\r\nHost: myapp.test\r\n\r\n");
        ck_assert_int_eq(strncmp(receive_to_end(program), "HTTP/1.1 421 ", 13), 0);
    } else {
        send_text(program, "EHLO me\r\n");
        expect_reset(program);
    }
    expect_reset(server);
    broker_tells(&told);
    ck_assert_str_eq(told.rule, _i == 0 ? "network:host" : "network:http");
    close_both(program, server);
}
END_TEST

START_TEST(a_stand_in_is_not_said_to_the_hosts_own_services)
{
    struct told told;
    uint64_t dialled;
    int program, server;

    egress_box_close();
    egress_box_open("{\"version\":1,\"network\":{\"mode\":\"filtered\",\"host_loopback\":[%u]},"
                    "\"credentials\":[{\"name\":\"hr\",\"env\":\"T\",\"hosts\":[\"hr.test\"]}]}",
            port);
    broker_says("hr", ABX_VERDICT_DENY);
    ck_assert_int_eq(dial_and_wait("127.0.0.1", port, WAY_HOST_LOOPBACK, &dialled), 0);
    server = accept_one(listener);
    program = connect_box("127.0.0.1", port, WAY_HOST_LOOPBACK, dialled);
    send_text(program, "AUTH ");
    expect_text(server, "AUTH ");
    send_text(program, "still not read\r\n");
    expect_text(server, "still not read\r\n");
    close_both(program, server);

    ck_assert_int_eq(dial_and_wait("127.0.0.1", port, WAY_HOST_LOOPBACK, &dialled), 0);
    server = accept_one(listener);
    program = connect_box("127.0.0.1", port, WAY_HOST_LOOPBACK, dialled);
    send_text(program, strchr(egress_environment(the_box)[0], '=') + 1);
    expect_reset(program);
    expect_reset(server);
    broker_tells(&told);
    ck_assert_str_eq(told.target, "hr");
    close_both(program, server);
}
END_TEST

static void
open_reading(void)
{
    egress_box_close();
    egress_box_open("{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":["
                    "{\"host\":\"public.test:%u\",\"http\":[{\"methods\":[\"GET\"],\"path\":"
                    "\"/**\"}]}]}}",
            port);
}

START_TEST(a_stand_in_is_not_said_where_nobody_replaces_it)
{
    static const char *const before[] = { "AUTH ",
        "GET / HTTP/1.1\r\nHost: public.test\r\nAuthorization: Bearer " };
    char bytes[256];
    struct told told;
    int program, server;

    egress_box_close();
    egress_box_open(
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[\"public.test:%u\"]},"
            "\"credentials\":[{\"name\":\"hr\",\"env\":\"T\",\"hosts\":[\"hr.test\"]}]}",
            port);
    broker_says("hr", ABX_VERDICT_DENY);
    snprintf(bytes, sizeof bytes, "%s%s\r\n\r\n", before[_i],
            strchr(egress_environment(the_box)[0], '=') + 1);
    connect_both(NAME, listener, port, &program, &server);
    send_text(program, bytes);
    if (_i == 0) {
        expect_reset(program);
    } else {
        ck_assert_int_eq(strncmp(receive_to_end(program), "HTTP/1.1 403 ", 13), 0);
    }
    expect_reset(server);
    broker_tells(&told);
    ck_assert_str_eq(told.target, "hr");
    close_both(program, server);
}
END_TEST

START_TEST(where_requests_are_read_nothing_else_passes)
{
    struct told told;
    int program, server;

    open_reading();
    connect_both(NAME, listener, port, &program, &server);
    send_text(server, "220 I speak first\r\n");
    send_text(program, "EHLO me\r\n");
    expect_reset(program);
    expect_reset(server);
    broker_tells(&told);
    ck_assert_str_eq(told.rule, "network:http");
    close_both(program, server);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("transparent");
    TCase *tcase = tcase_create("greetings");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, a_server_that_speaks_first_is_not_kept_waiting);
    tcase_add_loop_test(tcase, a_tls_greeting_for_the_host_passes, 0, (int)N_ELEMENTS(passing_tls));
    tcase_add_test(tcase, a_greeting_in_pieces_is_read_as_one);
    tcase_add_loop_test(tcase, a_tls_greeting_for_another_host_is_refused_with_an_alert, 0,
            (int)N_ELEMENTS(refused_tls));
    tcase_add_loop_test(
            tcase, first_bytes_without_another_host_pass, 0, (int)N_ELEMENTS(passing_text));
    tcase_add_loop_test(tcase, a_request_for_another_host_is_refused_as_a_problem, 0,
            (int)N_ELEMENTS(refused_http));
    tcase_add_loop_test(tcase, a_request_that_ends_before_its_head_does_is_refused, 0,
            (int)N_ELEMENTS(unfinished));
    tcase_add_test(tcase, a_host_that_is_named_at_an_address_is_decided_too);
    tcase_add_test(tcase, a_host_that_is_asked_about_waits);
    tcase_add_test(tcase, a_question_ends_with_its_connection);
    tcase_add_test(tcase, the_hosts_own_services_may_be_called_as_one_likes);
    tcase_add_loop_test(tcase, a_stand_in_is_not_said_where_nobody_replaces_it, 0, 2);
    tcase_add_loop_test(
            tcase, requests_to_the_hosts_own_services_are_read_where_rules_are_about_them, 0, 2);
    tcase_add_test(tcase, a_stand_in_is_not_said_to_the_hosts_own_services);
    tcase_add_test(tcase, where_requests_are_read_nothing_else_passes);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
