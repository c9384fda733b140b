/* SPDX-License-Identifier: Apache-2.0
 * Which proxy outside leads where, and how it is asked. */
#include "egress/upstream.h"
#include "egress_box.h"

#include "unit/main.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NETWORK "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[\"*.test\"]}}"

static struct fail fail;

static struct upstream *
upstream(const char *plain, const char *tunnel, const char *exceptions)
{
    const struct egress_upstream given = { plain, tunnel, exceptions };
    struct upstream *made = NULL;

    ck_assert_msg(upstream_new(&given, &made, &fail) == ABX_OK, "%s", fail.text);
    return made;
}

static const struct url_case {
    const char *url, *host;
    uint16_t port; /* 0: it is refused */
    const char *login; /* NULL: none */
} url_cases[] = {
    { "http://proxy.corp:3128", "proxy.corp", 3128, NULL },
    { "http://proxy.corp", "proxy.corp", 80, NULL },
    { "HTTP://Proxy.Corp:3128/", "proxy.corp", 3128, NULL },
    { "proxy:8080", "proxy", 8080, NULL },
    { "http://10.1.2.3:3128", "10.1.2.3", 3128, NULL },
    { "http://[fd00::1]:3128", "fd00::1", 3128, NULL },
    { "http://[fd00::1]", "fd00::1", 80, NULL },
    { "http://u:pw@proxy.corp:3128", "proxy.corp", 3128, "dTpwdw==" },
    { "http://u@proxy.corp:3128", "proxy.corp", 3128, "dTo=" },
    { "http://u:p%40w%3A@proxy.corp:3128", "proxy.corp", 3128, "dTpwQHc6" },
    { "http://u:p@w@proxy.corp:3128", "proxy.corp", 3128, "dTpwQHc=" },
    { "http://", NULL, 0, NULL },
    { "http://:3128", NULL, 0, NULL },
    { "http://proxy.corp:0", NULL, 0, NULL },
    { "http://proxy.corp:70000", NULL, 0, NULL },
    { "http://proxy.corp:x", NULL, 0, NULL },
    { "http://pro xy:3128", NULL, 0, NULL },
    { "http://[fd00::1]x:3128", NULL, 0, NULL },
    { "http://proxy.corp/path", NULL, 0, NULL },
    { "https://proxy.corp:3128", NULL, 0, NULL },
    { "socks5://u:hidden@proxy.corp:1080", NULL, 0, NULL },
    { "http://u:hidden@proxy.corp:port", NULL, 0, NULL },
};

START_TEST(a_url_names_a_proxy_and_who_asks_it)
{
    const struct url_case *c = &url_cases[_i];
    const struct egress_upstream given = { c->url, c->url, NULL };
    const struct destination to = { .way = WAY_TRANSPARENT, .name = "a.test", .port = 443 };
    struct upstream *made = NULL;
    const struct upstream_proxy *proxy;
    char line[128];
    abx_status r = upstream_new(&given, &made, &fail);

    if (c->port == 0) {
        ck_assert_msg(r == ABX_ERR_POLICY || r == ABX_ERR_UNSUPPORTED, "%s: %d", c->url, r);
        ck_assert_ptr_null(strstr(fail.text, "hidden"));
        return;
    }
    ck_assert_msg(r == ABX_OK, "%s: %s", c->url, fail.text);
    proxy = upstream_of(made, &to, false);
    ck_assert_str_eq(proxy->host, c->host);
    ck_assert_uint_eq(proxy->port, c->port);
    ck_assert_int_eq(proxy->authorization == NULL, c->login == NULL);
    if (c->login != NULL) {
        snprintf(line, sizeof line, "Proxy-Authorization: Basic %s\r\n", c->login);
        ck_assert_uint_eq(proxy->authorization->length, strlen(line));
        ck_assert_mem_eq(proxy->authorization->bytes, line, strlen(line));
    }
    upstream_free(made);
}
END_TEST

static const struct exception_case {
    const char *exceptions, *name;
    uint16_t port;
    bool is_dialled;
} exception_cases[] = {
    { "a.test", "a.test", 443, true },
    { "a.test", "b.a.test", 443, true },
    { "a.test", "ba.test", 443, false },
    { ".a.test", "b.a.test", 443, true },
    { "*.a.test", "b.a.test", 443, true },
    { "x.test, a.test", "a.test", 443, true },
    { "x.test a.test", "a.test", 443, true },
    { "x.test,,A.Test", "a.test", 443, true },
    { "a.test:443", "a.test", 443, true },
    { "a.test:8443", "a.test", 443, false },
    { "*", "a.test", 443, true },
    { "", "a.test", 443, false },
    { ",", "a.test", 443, false },
    { "10.0.0.0/8", "10.1.2.3", 443, true },
    { "10.0.0.0/8", "11.1.2.3", 443, false },
    { "10.0.0.0/9", "10.128.0.1", 443, false },
    { "10.0.0.0/40", "10.0.0.1", 443, false },
    { "0.0.0.0/0", "10.1.2.3", 443, true },
    { "0.0.0.0/0", "fd00::1", 443, false },
    { "::/0", "fd00::1", 443, true },
    { "10.0.0.0/", "10.0.0.1", 443, false },
    { "10.1.2.3", "10.1.2.3", 443, true },
    { "2.3", "10.1.2.3", 443, false },
    { "fd00::/8", "fd12::1", 443, true },
    { "fd00::1", "fd00::1", 443, true },
    { "[fd00::1]:443", "fd00::1", 443, true },
    { "[fd00::1]:80", "fd00::1", 443, false },
    { "[fd00::1]", "fd00::1", 443, true },
};

START_TEST(what_is_excepted_is_dialled)
{
    const struct exception_case *c = &exception_cases[_i];
    struct upstream *made = upstream("http://p:3128", "http://p:3128", c->exceptions);
    const struct destination to = { .way = WAY_TRANSPARENT, .name = c->name, .port = c->port };

    ck_assert_msg((upstream_of(made, &to, false) == NULL) == c->is_dialled, "'%s' and '%s' port %u",
            c->exceptions, c->name, c->port);
    upstream_free(made);
}
END_TEST

START_TEST(each_kind_of_connection_has_its_proxy)
{
    struct upstream *made = upstream("http://plain:1", NULL, NULL);
    struct destination to = { .way = WAY_TRANSPARENT, .name = "a.test", .port = 80 };

    ck_assert_ptr_null(upstream_of(made, &to, false));
    ck_assert_str_eq(upstream_of(made, &to, true)->host, "plain");
    ck_assert_ptr_eq(upstream_relay(made, &to), upstream_of(made, &to, true));
    to.port = 443;
    ck_assert_ptr_null(upstream_relay(made, &to));
    to.port = 80;
    to.way = WAY_PROXY; /* a CONNECT: any bytes may come */
    ck_assert_ptr_null(upstream_relay(made, &to));
    to.way = WAY_HOST_LOOPBACK;
    ck_assert_ptr_null(upstream_of(made, &to, true));
    upstream_free(made);
    ck_assert_ptr_null(upstream(NULL, "", "a.test"));
}
END_TEST

/* ---- asking it ---- */
static int listener;

/* A box whose way leads through a proxy that the test is, at the listener. */
static void
open_box(const char *login, bool is_there)
{
    static char url[128];
    uint16_t port;

    listener = listen_on_loopback(8, &port);
    snprintf(url, sizeof url, "http://%s127.0.0.1:%u", login, port);
    egress_box_upstream = (struct egress_upstream){ url, url, "direct.test" };
    if (!is_there) { /* something else has its descriptor, since they are counted */
        close(listener);
        listener = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    egress_box_open("%s", NETWORK);
}

static void
close_box(void)
{
    egress_box_close();
    egress_box_left_nothing();
    close(listener);
}

#define CONNECT(host) "CONNECT " host " HTTP/1.1\r\nHost: " host "\r\n"

/* The program's end of a connection that the proxy was asked for; what the proxy sees comes first.
 */
static int
ask(const char *name, uint16_t port, int *ret_proxy)
{
    int program = connect_box(name, port, WAY_TRANSPARENT, 0);

    *ret_proxy = accept_one(listener);
    return program;
}

START_TEST(a_name_is_sent_as_a_name_and_bytes_behind_the_answer_are_the_destinations)
{
    int program, proxy;

    open_box("", true);
    program = ask("nobody-knows.test", 22, &proxy);
    expect_text(proxy, CONNECT("nobody-knows.test:22") "\r\n");
    send_text(proxy, "HTTP/1.1 200 Connection esta");
    send_text(proxy, "blished\r\nVia: x\r\n\r\nSSH-2.0-x\r\n");
    expect_text(program, "SSH-2.0-x\r\n");
    send_text(program, "SSH-2.0-y\r\n");
    expect_text(proxy, "SSH-2.0-y\r\n");
    close(program);
    expect_end(proxy);
    close(proxy);
    ck_assert(broker_is_quiet());
    close_box();
}
END_TEST

START_TEST(the_proxy_is_told_who_asks_and_nobody_else_is)
{
    int program, proxy;
    struct told told;

    open_box("user:secret@", true);
    program = ask("a.test", 443, &proxy);
    expect_text(proxy, CONNECT("a.test:443") "Proxy-Authorization: Basic dXNlcjpzZWNyZXQ=\r\n\r\n");
    send_text(proxy, "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 2\r\n\r\nno");
    expect_reset(program);
    broker_tells(&told);
    ck_assert_uint_eq(told.type, ABX_EVENT_DENIAL);
    ck_assert_str_eq(told.target, "a.test");
    ck_assert_str_eq(told.rule, "network:upstream");
    ck_assert_int_eq(told.status, 407);
    ck_assert_uint_eq(told.layer, ABX_LAYER_IDENTITY);
    ck_assert_ptr_nonnull(strstr(told.reason, "407"));
    ck_assert_ptr_null(strstr(told.reason, "secret"));
    close(program);
    close(proxy);
    close_box();
}
END_TEST

START_TEST(port_80_is_dialled_where_only_tunnels_have_a_proxy)
{
    struct pollfd nobody;
    uint64_t dialled;
    uint16_t port;
    char url[64];

    listener = listen_on_loopback(8, &port);
    snprintf(url, sizeof url, "http://127.0.0.1:%u", port);
    egress_box_upstream = (struct egress_upstream){ NULL, url, NULL };
    egress_box_open("%s", NETWORK);
    /* Closed, so the dial ends where it is decided, and nothing is needed to listen. */
    ck_assert_int_eq(dial_and_wait("localhost", 80, WAY_TRANSPARENT, &dialled), EACCES);
    nobody = (struct pollfd){ .fd = listener, .events = POLLIN };
    ck_assert_int_eq(poll(&nobody, 1, 0), 0);
    close_box();
}
END_TEST

static const struct answer_case {
    const char *answer;
    uint32_t type;
    const char *says;
} answer_cases[] = {
    { "HTTP/1.1 403 Forbidden\r\n\r\n", ABX_EVENT_DENIAL, "answered 403" },
    { "HTTP/1.1 502 Bad Gateway\r\n\r\n", ABX_EVENT_NOTICE, "answered 502" },
    { "HTTP/1.1 504 Gateway Timeout\r\n\r\n", ABX_EVENT_NOTICE, "answered 504" },
    { "HTTP/1.1 302 Found\r\nLocation: http://x/\r\n\r\n", ABX_EVENT_NOTICE, "answered 302" },
    { "SSH-2.0-x\r\n\r\n", ABX_EVENT_NOTICE, "gave no answer" },
    { "", ABX_EVENT_NOTICE, "gave no answer" },
    { "HTTP/1.1 200 OK\r\nVia", ABX_EVENT_NOTICE, "gave no answer" },
};

START_TEST(whatever_it_answers_nothing_is_dialled_past_it)
{
    const struct answer_case *c = &answer_cases[_i];
    int program, proxy;
    struct told told;

    open_box("", true);
    program = ask("localhost", 443, &proxy); /* which could be dialled */
    expect_text(proxy, CONNECT("localhost:443") "\r\n");
    send_text(proxy, c->answer);
    close(proxy);
    expect_reset(program);
    broker_tells(&told);
    ck_assert_uint_eq(told.type, c->type);
    ck_assert_str_eq(told.rule, "network:upstream");
    ck_assert_msg(strstr(told.reason, c->says) != NULL, "%s", told.reason);
    close(program);
    close_box();
}
END_TEST

START_TEST(a_proxy_that_is_not_there_is_told)
{
    int program;
    struct told told;

    open_box("", false);
    program = connect_box("localhost", 443, WAY_TRANSPARENT, 0);
    expect_reset(program);
    broker_tells(&told);
    ck_assert_uint_eq(told.type, ABX_EVENT_NOTICE);
    ck_assert_ptr_nonnull(strstr(told.reason, "is not reached"));
    close(program);
    close_box();
}
END_TEST

/* Plain HTTP goes by URL, request by request; the secret stays with the proxy. */
START_TEST(a_plain_request_is_given_to_the_proxy_with_its_url)
{
    int program, proxy;

    open_box("user:secret@", true);
    program = ask("a.test", 80, &proxy);
    send_text(program, "GET /x?y HTTP/1.1\r\nHost: a.test\r\nAccept: */*\r\n\r\n");
    expect_text(proxy, "GET http://a.test/x?y HTTP/1.1\r\n"
                       "Proxy-Authorization: Basic dXNlcjpzZWNyZXQ=\r\nHost: a.test\r\n"
                       "Accept: */*\r\n\r\n");
    send_text(proxy, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    expect_text(program, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    send_text(program, "DELETE / HTTP/1.1\r\nHost: a.test\r\n\r\n");
    expect_text(proxy, "DELETE http://a.test/ HTTP/1.1\r\n"
                       "Proxy-Authorization: Basic dXNlcjpzZWNyZXQ=\r\nHost: a.test\r\n\r\n");
    close(program);
    close(proxy);
    close_box();
}
END_TEST

START_TEST(a_proxy_that_wants_another_login_is_no_matter_of_the_program)
{
    int program, proxy;
    struct told told;
    const char *answer;

    open_box("", true);
    program = ask("a.test", 80, &proxy);
    send_text(program, "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
    expect_text(proxy, "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n");
    send_text(proxy, "HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n");
    answer = receive_to_end(program);
    ck_assert_msg(strncmp(answer, "HTTP/1.1 502", 12) == 0, "%s", answer);
    ck_assert_ptr_nonnull(strstr(answer, "network:upstream"));
    ck_assert_ptr_null(strstr(answer, "Proxy-Authenticate"));
    broker_tells(&told);
    ck_assert_str_eq(told.rule, "network:upstream");
    ck_assert_int_eq(told.status, 407);
    ck_assert_uint_eq(told.layer, ABX_LAYER_IDENTITY);
    close(program);
    close(proxy);
    close_box();
}
END_TEST

START_TEST(what_is_no_http_does_not_pass_at_the_port_of_plain_requests)
{
    static const uint8_t hello[] = { 22, 3, 1, 0, 4, 1, 0, 0, 0 };
    int program, proxy;
    struct told told;

    open_box("", true);
    program = ask("a.test", 80, &proxy);
    send_bytes(program, hello, sizeof hello);
    broker_tells(&told);
    ck_assert_uint_eq(told.type, ABX_EVENT_DENIAL);
    close(program);
    close(proxy);
    close_box();
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("upstream");
    TCase *tcase = tcase_create("upstream");

    tcase_add_loop_test(tcase, a_url_names_a_proxy_and_who_asks_it, 0,
            (int)(sizeof url_cases / sizeof url_cases[0]));
    tcase_add_loop_test(tcase, what_is_excepted_is_dialled, 0,
            (int)(sizeof exception_cases / sizeof exception_cases[0]));
    tcase_add_test(tcase, each_kind_of_connection_has_its_proxy);
    tcase_add_test(
            tcase, a_name_is_sent_as_a_name_and_bytes_behind_the_answer_are_the_destinations);
    tcase_add_test(tcase, the_proxy_is_told_who_asks_and_nobody_else_is);
    tcase_add_test(tcase, port_80_is_dialled_where_only_tunnels_have_a_proxy);
    tcase_add_loop_test(tcase, whatever_it_answers_nothing_is_dialled_past_it, 0,
            (int)(sizeof answer_cases / sizeof answer_cases[0]));
    tcase_add_test(tcase, a_proxy_that_is_not_there_is_told);
    tcase_add_test(tcase, a_plain_request_is_given_to_the_proxy_with_its_url);
    tcase_add_test(tcase, a_proxy_that_wants_another_login_is_no_matter_of_the_program);
    tcase_add_test(tcase, what_is_no_http_does_not_pass_at_the_port_of_plain_requests);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
