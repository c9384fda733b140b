/* SPDX-License-Identifier: Apache-2.0
 * The network of a box that has none of its own: for want of a namespace, where the broker alone
 * decides, or because the policy says so. */
#include "live/net_box.h"

#include "base/mem.h"
#include "unit/main.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct net_box net;
static const char *const lowered[] = { "netns=0", "userns=0" };

static void
open_on(int rung, const char *network)
{
    ck_assert_int_eq(setenv("AGENTBOX_TEST_CAPS", lowered[rung], 1), 0);
    net_box_open(&net, network);
}

/* Puts what stands in place of P into a script. */
static void
expect(const char *format, unsigned int port, const char *output)
{
    char script[1024];

    snprintf(script, sizeof script, "P = %u\n%s", port, format);
    net_box_expect(&net, script, output);
}

static unsigned int
proxy_port(void)
{
    unsigned int port = 0;

    ck_assert_int_eq(
            sscanf(backend_pick()->proxy(net.box.boundary), "http://127.0.0.1:%u", &port), 1);
    return port;
}

START_TEST(the_proxy_is_at_a_port_of_the_host_that_serves_the_box_alone)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct pollfd answer = { .events = POLLIN };
    unsigned int port;
    char output[64];

    open_on(_i, "");
    port = proxy_port();
    snprintf(output, sizeof output, "127.0.0.1 proxy %u\n", port);
    expect("hello('127.0.0.1', P)", port, output);
    ck_assert_uint_eq(net.fake.n_connected, 1);
    ck_assert_int_eq(net.fake.log[0].way, WAY_PROXY);
    ck_assert_uint_eq(net.fake.log[0].command, 1);
    /* A process of the host is not expected. */
    to.sin_port = htons((uint16_t)port);
    answer.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(answer.fd, (struct sockaddr *)&to, sizeof to), 0);
    ck_assert_int_eq(poll(&answer, 1, 300), 0);
    close(answer.fd);
    ck_assert_uint_eq(net.fake.n_connected, 1);
    net_box_close(&net);
}
END_TEST

START_TEST(an_allowed_address_goes_through_the_gateway)
{
    open_on(_i, "\"private\": [\"10.9.9.9:7\", \"[fd00:9::9]:7\"]");
    fake_gateway_route(&net.fake, "10.9.9.9", 7, net.server.port, 0);
    fake_gateway_route(&net.fake, "fd00:9::9", 7, net.server.port, 0);
    expect("s = socket.socket(); s.connect(('10.9.9.9', 7)); print(s.recv(6))\n"
           "s = socket.socket(); s.setblocking(False); s.connect_ex(('10.9.9.9', 7))\n"
           "s.setblocking(True); print(s.recv(6))\n"
           "s = socket.socket(socket.AF_INET6); s.connect(('fd00:9::9', 7)); print(s.recv(6))\n"
           "hello('10.9.9.9', 8); hello('127.0.0.1', P)",
            net.server.port,
            "b'hello\\n'\nb'hello\\n'\nb'hello\\n'\n10.9.9.9 EACCES\n127.0.0.1 EACCES\n");
    ck_assert_uint_eq(net.fake.n_connected, 3);
    ck_assert_str_eq(net.fake.log[0].name, "10.9.9.9");
    ck_assert_uint_eq(net.fake.log[0].port, 7);
    ck_assert(net.fake.log[0].was_dialled && !net.fake.log[1].was_dialled);
    ck_assert(net_box_denied(&net, "connect 10.9.9.9:8\n"));
    net_box_close(&net);
}
END_TEST

START_TEST(a_listed_port_of_the_host_is_where_it_is)
{
    struct hello_server host;
    char network[64], output[64];

    hello_server_start(&host, 0);
    snprintf(network, sizeof network, "\"host_loopback\": [%u]", host.port);
    open_on(_i, network);
    snprintf(output, sizeof output, "127.0.0.1 hello %u\n", proxy_port());
    expect("hello('127.0.0.1', P)", host.port, output);
    ck_assert_int_eq(net.fake.log[0].way, WAY_HOST_LOOPBACK);
    net_box_close(&net);
    hello_server_stop(&host);
}
END_TEST

START_TEST(no_datagram_leaves_it)
{
    open_on(_i, "\"private\": [\"10.9.9.9:7\"]");
    expect("for a in (('10.9.9.9', 7), ('127.0.0.53', 53)):\n"
           "    for f in (lambda s: s.connect(a), lambda s: s.sendto(b'x', a),\n"
           "              lambda s: s.sendmsg([b'x'], [], 0, a)):\n"
           "        try: f(socket.socket(type=socket.SOCK_DGRAM)); print('sent')\n"
           "        except OSError as e: print(name(e))",
            0, "EACCES\nEACCES\nEACCES\nEACCES\nEACCES\nEACCES\n");
    ck_assert(net_box_denied(&net, "connect 10.9.9.9:7\n"));
    ck_assert(net_box_denied(&net, "sendto 10.9.9.9:7\n"));
    ck_assert(net_box_denied(&net, "sendmsg 127.0.0.53:53\n"));
    net_box_close(&net);
}
END_TEST

START_TEST(ports_are_opened_where_they_are_listed)
{
    const unsigned int port = free_port();
    char network[64];

    snprintf(network, sizeof network, "\"listen\": [%u]", port);
    open_on(_i, network);
    expect("l = socket.socket(); l.bind(('127.0.0.1', P)); l.listen(1); print('open')\n"
           "for bind in (lambda l: l.bind(('127.0.0.1', P - 1)), lambda l: l.listen(1)):\n"
           "    try: bind(socket.socket()); print('open')\n"
           "    except OSError as e: print(name(e))",
            port, "open\nEACCES\nEACCES\n");
    ck_assert(net_box_noticed(&net, "opened on the host\n"));
    net_box_close(&net);
}
END_TEST

/* ---- the host's network, by the policy ---- */

#define HOST_POLICY                                                                                \
    "{\"version\": 1, \"filesystem\": {\"read\": {\"allow\": [\"/\"]}, \"write\": {\"allow\": "    \
    "[\"/tmp\"]}}, \"network\": {\"mode\": \"host\"}, \"weaken\": [{\"what\": \"host-network\", "  \
    "\"reason\": \"test\"}]}"

static const char *const rungs[] = { "", "netns=0", "userns=0" };

START_TEST(in_the_network_of_the_host_everything_is_reached_but_its_unix_sockets)
{
    char folder[] = "/var/tmp/abx-host-XXXXXX", path[48], script[1024], output[128];
    int service;

    ck_assert_int_eq(setenv("AGENTBOX_TEST_CAPS", rungs[_i], 1), 0);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/s", folder);
    service = serve_unix(path);
    net_box_open_policy(&net, HOST_POLICY);
    ck_assert_ptr_null(backend_pick()->proxy(net.box.boundary));
    snprintf(script, sizeof script,
            "hello('127.0.0.1', PORT) and print(1)\n"
            "s = socket.socket(); s.setblocking(False); s.connect_ex(('127.0.0.1', PORT))\n"
            "s.setblocking(True); print(s.recv(6))\n"
            "u = socket.socket(type=socket.SOCK_DGRAM); u.bind(('127.0.0.1', 0))\n"
            "v = socket.socket(type=socket.SOCK_DGRAM); v.sendto(b'a', u.getsockname())\n"
            "v.sendmsg([b'b'], [], 0, u.getsockname()); v.connect(u.getsockname()); v.send(b'c')\n"
            "print(u.recv(9), u.recv(9), u.recv(9))\n"
            "l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(1)\n"
            "for a in ('%s', '\\0abx-host-test'):\n"
            "    try: socket.socket(socket.AF_UNIX).connect(a); print('reached')\n"
            "    except OSError as e: print(name(e))",
            path);
    snprintf(output, sizeof output,
            "127.0.0.1 hello %u\n1\nb'hello\\n'\nb'a' b'b' b'c'\nEACCES\nEACCES\n",
            net.server.port);
    net_box_expect(&net, script, output);
    ck_assert(net_box_noticed(&net, "opened on the host\n"));
    ck_assert_uint_eq(net.fake.n_connected, 0);
    net_box_close(&net);
    close(service);
    unlink(path);
    rmdir(folder);
}
END_TEST

static Suite *
make_suite(void)
{
    const int n = N_ELEMENTS(lowered);
    Suite *suite = suite_create("network_rungs");
    TCase *tcase = tcase_create("network_rungs");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, the_proxy_is_at_a_port_of_the_host_that_serves_the_box_alone, 0, n);
    tcase_add_loop_test(tcase, an_allowed_address_goes_through_the_gateway, 0, n);
    tcase_add_loop_test(tcase, a_listed_port_of_the_host_is_where_it_is, 0, n);
    tcase_add_loop_test(tcase, no_datagram_leaves_it, 0, n);
    tcase_add_loop_test(tcase, ports_are_opened_where_they_are_listed, 0, n);
    tcase_add_loop_test(tcase,
            in_the_network_of_the_host_everything_is_reached_but_its_unix_sockets, 0,
            N_ELEMENTS(rungs));
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
