/* SPDX-License-Identifier: Apache-2.0
 * What of a network is not a connection to a name: ports of the host and of the box, the proxy,
 * unix sockets of the host, and what no box gets. */
#include "live/net_box.h"

#include "base/mem.h"
#include "unit/main.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct net_box net;

static void
set_up(void)
{
    net_box_open(&net, "");
}

static void
tear_down(void)
{
    net_box_close(&net);
}

static void
open_again(const char *network)
{
    net_box_close(&net);
    net_box_open(&net, network);
}

/* ---- servers in the box ---- */

static const char *const server_addresses[] = { "127.0.0.1", "0.0.0.0", "::1", "::" };

START_TEST(a_server_of_the_box_has_the_port_of_an_allowed_one_outside)
{
    static const char format[] = "at = '%s'; f = socket.AF_INET6 if ':' in at else socket.AF_INET\n"
                                 "l = socket.socket(f); l.bind((at, PORT)); l.listen(8)\n"
                                 "def serve():\n"
                                 "    c, a = l.accept(); c.sendall(b'inner\\n'); c.close()\n"
                                 "t = threading.Thread(target=serve); t.start()\n"
                                 "hello('allowed.test', PORT)\n"
                                 "hello('::1' if f == socket.AF_INET6 else 'localhost', PORT, f)\n"
                                 "t.join(); hello('allowed.test', PORT)";
    const char *at = server_addresses[_i];
    const unsigned int port = net.server.port;
    char script[512], output[128];

    snprintf(script, sizeof script, format, at);
    snprintf(output, sizeof output, "allowed.test hello %u\n%s inner %u\nallowed.test hello %u\n",
            port, strchr(at, ':') != NULL ? "::1" : "localhost", port, port);
    net_box_expect(&net, script, output);
    ck_assert(net_box_noticed(&net, "opened inside the box\n"));
}
END_TEST

START_TEST(the_boxs_own_address_is_its_own)
{
    net_box_expect(&net,
            "l = socket.socket(); l.bind(('', 8080)); l.listen(8)\n"
            "for at in ('198.18.0.2', '127.0.0.1', '127.5.5.5', '0.0.0.0'):\n"
            "    s = socket.create_connection((at, 8080)); print(at)",
            "198.18.0.2\n127.0.0.1\n127.5.5.5\n0.0.0.0\n");
    ck_assert_uint_eq(net.fake.n_connected, 0);
}
END_TEST

/* ---- ports of the host in the box ---- */

START_TEST(a_port_of_the_host_is_at_the_boxs_own_loopback)
{
    struct hello_server host;
    char network[64], script[512], output[256];

    hello_server_start(&host, 0);
    snprintf(network, sizeof network, "\"host_loopback\": [%u, %u]", host.port,
            (unsigned int)free_port());
    open_again(network);
    snprintf(script, sizeof script,
            "P = %u\n"
            "for at in ('localhost', '127.0.0.1', '0.0.0.0'): hello(at, P)\n"
            "hello('::1', P, socket.AF_INET6); hello('127.0.0.2', P)\n"
            "s = socket.socket()\n"
            "try: s.bind(('127.0.0.1', P))\n"
            "except OSError as e: print(name(e))\n"
            "hello('127.0.0.1', %u)",
            host.port, host.port == 1 ? 2 : host.port - 1);
    snprintf(output, sizeof output,
            "localhost hello %u\n127.0.0.1 hello %u\n0.0.0.0 hello %u\n::1 hello %u\n"
            "127.0.0.2 ECONNREFUSED\nEADDRINUSE\n127.0.0.1 ECONNREFUSED\n",
            host.port, host.port, host.port, host.port);
    net_box_expect(&net, script, output);
    ck_assert_uint_eq(net.fake.n_connected, 4);
    ck_assert_int_eq(net.fake.log[0].way, WAY_HOST_LOOPBACK);
    ck_assert_uint_eq(net.fake.log[0].port, host.port);
    hello_server_stop(&host);
}
END_TEST

static const struct closed_port {
    const char *rule, *output;
} closed_ports[] = {
    { "\"deny\": [\"localhost\"]", "localhost EACCES\n127.0.0.1 EACCES\n::1 EACCES\n" },
    { "\"deny\": [\"127.0.0.1\"]", "localhost EACCES\n127.0.0.1 EACCES\n::1 EACCES\n" },
};

START_TEST(a_port_of_the_host_that_another_rule_closes_is_denied_and_told)
{
    const struct closed_port *c = &closed_ports[_i];
    char network[128];

    snprintf(network, sizeof network, "\"host_loopback\": [28080], %s", c->rule);
    open_again(network);
    net_box_expect(&net,
            "hello('localhost', 28080); hello('127.0.0.1', 28080)\n"
            "hello('::1', 28080, socket.AF_INET6)",
            c->output);
    ck_assert(net_box_denied(&net, "connect 127.0.0.1:28080\n"));
    ck_assert_uint_eq(net.fake.n_connected, 0);
}
END_TEST

START_TEST(a_port_of_the_host_where_nobody_listens_refuses)
{
    char network[64], script[64];
    uint16_t port = free_port();

    snprintf(network, sizeof network, "\"host_loopback\": [%u]", port);
    open_again(network);
    snprintf(script, sizeof script, "hello('127.0.0.1', %u)", port);
    net_box_expect(&net, script, "127.0.0.1 ECONNREFUSED\n");
}
END_TEST

/* A socket that does not wait is refused behind its call. */
static const struct unopened_port {
    const char *network, *script, *output;
    bool is_told;
} unopened_ports[] = {
    { "\"allow\": [\"localhost:28080\"]", "hello('localhost', 28080)", "localhost ECONNREFUSED\n",
            true },
    { "\"ask\": [\"127.0.0.1:28080\"]", "hello('0.0.0.0', 28080)", "0.0.0.0 ECONNREFUSED\n", true },
    { "\"allow\": [\"localhost:28080\"]",
            "s = socket.socket(); s.setblocking(False)\n"
            "print(errno.errorcode[s.connect_ex(('127.0.0.1', 28080))])\n"
            "select.select([], [s], [])\n"
            "print(errno.errorcode[s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)])",
            "EINPROGRESS\nECONNREFUSED\n", true },
    { "\"allow\": [\"localhost:28080\"]",
            "l = socket.socket(); l.bind(('', 28080)); l.listen(8)\n"
            "s = socket.create_connection(('localhost', 28080)); print('own')",
            "own\n", false },
    { "\"allow\": [\"localhost:28081\"]", "hello('localhost', 28080)", "localhost ECONNREFUSED\n",
            false },
    { "\"allow\": [\"0.0.0.0/0:28080\"]", "hello('localhost', 28080)", "localhost ECONNREFUSED\n",
            false },
};

START_TEST(a_port_of_localhost_that_is_listed_and_not_opened_is_told_where_nobody_listens)
{
    const struct unopened_port *c = &unopened_ports[_i];
    char policy[256];

    snprintf(policy, sizeof policy,
            "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]}},"
            "\"network\":{\"mode\":\"filtered\",%s}}",
            c->network);
    net_box_close(&net);
    net_box_open_policy(&net, policy);
    net_box_expect(&net, c->script, c->output);
    ck_assert(net_box_denied(&net, "connect localhost:28080\n") == c->is_told);
    ck_assert_uint_eq(net.fake.n_connected, 0);
}
END_TEST

/* ---- the proxy ---- */

START_TEST(the_proxy_is_where_its_url_says_and_needs_no_rule)
{
    const char *url = backend_pick()->proxy(net.box.boundary);

    ck_assert_str_eq(url, "http://proxy.agentbox.internal:3128");
    net_box_expect(&net,
            "hello('proxy.agentbox.internal', 3128); hello('198.18.0.1', 3128)\n"
            "hello('proxy.agentbox.internal', 80)",
            "proxy.agentbox.internal proxy 3128\n198.18.0.1 proxy 3128\n"
            "proxy.agentbox.internal EACCES\n");
    ck_assert_uint_eq(net.fake.n_connected, 2);
    ck_assert_int_eq(net.fake.log[0].way, WAY_PROXY);
    ck_assert_str_eq(net.fake.log[0].name, "");
    ck_assert_uint_eq(net.fake.log[0].command, 1);
    ck_assert_uint_eq(net.fake.n_dials, 0);
}
END_TEST

/* ---- what no box gets ---- */

static const struct refusal_case {
    const char *name, *script, *output, *denial;
} refusal_cases[] = {
    { "a datagram to an address",
            "try: socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('allowed.test', 443))\n"
            "except OSError as e: print(name(e))",
            "EACCES\n", "sendto allowed.test:443\n" },
    { "a datagram over a connected socket",
            "s = socket.socket(type=socket.SOCK_DGRAM); s.connect(('other.test', 443)); "
            "s.send(b'x')\n"
            "try: s.recv(1)\n"
            "except OSError as e: print(name(e))",
            "ECONNREFUSED\n", "send other.test:443\n" },
    { "a datagram whose address no filter sees",
            "s = socket.socket(type=socket.SOCK_DGRAM); print(s.sendmsg([b'x'], [], 0, "
            "('192.0.2.99', 5353)))",
            "1\n", "send 192.0.2.99:5353\n" },
    { "a datagram to everyone on the link",
            "socket.socket(type=socket.SOCK_DGRAM).sendmsg([b'x'], [], 0, ('224.0.0.251', 5353))",
            "", "send 224.0.0.251:5353\n" },
    { "data in the first packet",
            "try: socket.socket().sendto(b'x', socket.MSG_FASTOPEN, ('allowed.test', 443))\n"
            "except OSError as e: print(name(e))",
            "ENOTSUP\n", "sendto sendto\n" },
    { "data in the first packet, by sendmsg",
            "try: socket.socket().sendmsg([b'x'], [], socket.MSG_FASTOPEN, ('allowed.test', 443))\n"
            "except OSError as e: print(name(e))",
            "ENOTSUP\n", "sendmsg sendmsg\n" },
    { "raw",
            "try: socket.socket(type=socket.SOCK_RAW, proto=socket.IPPROTO_ICMP)\n"
            "except OSError as e: print(name(e))",
            "EPERM\n", "socket socket\n" },
    { "ping",
            "try: socket.socket(type=socket.SOCK_DGRAM, proto=socket.IPPROTO_ICMP)\n"
            "except OSError as e: print(name(e))",
            "EPERM\n", "socket socket\n" },
    { "packets",
            "try: socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)\n"
            "except OSError as e: print(name(e))",
            "EPERM\n", "socket socket\n" },
    { "vsock",
            "try: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)\n"
            "except OSError as e: print(name(e))",
            "EPERM\n", "socket socket\n" },
};

START_TEST(what_no_box_gets_is_refused_with_its_event)
{
    const struct refusal_case *c = &refusal_cases[_i];

    net_box_expect(&net, c->script, c->output);
    ck_assert_msg(net_box_denied(&net, c->denial), "%s: %s", c->name, net.box.denials.data);
    ck_assert_uint_eq(net.fake.n_connected, 0);
}
END_TEST

START_TEST(multipath_tcp_falls_back_and_is_told)
{
    net_box_expect(&net,
            "try: socket.socket(proto=262)\n"
            "except OSError as e: print(name(e))",
            "EPROTONOSUPPORT\n");
    ck_assert(net_box_noticed(&net, "socket a box has TCP without further paths"));
    ck_assert_uint_eq(net.box.denials.length, 0);
}
END_TEST

START_TEST(choosing_among_addresses_denies_nothing)
{
    net_box_expect(&net,
            "for f, a in ((2, '198.18.1.1'), (10, 'fd61:6762:6f78::c612:101'), (2, '192.0.2.1')):\n"
            "    s = socket.socket(f, socket.SOCK_DGRAM); s.connect((a, 443)); "
            "print(s.getsockname()[0])",
            "198.18.0.2\nfd61:6762:6f78::c612:2\n198.18.0.2\n");
    ck_assert_uint_eq(net.box.denials.length, 0);
}
END_TEST

START_TEST(an_ipv6_address_is_reached_like_any_other)
{
    open_again("\"private\": [\"[fd00:9::9]:7\"]");
    fake_gateway_route(&net.fake, "fd00:9::9", 7, net.server.port, 0);
    net_box_expect(&net, "hello('fd00:9::9', 7, socket.AF_INET6)", "fd00:9::9 hello 7\n");
    ck_assert_str_eq(net.fake.log[0].name, "fd00:9::9");
}
END_TEST

START_TEST(more_ports_than_listeners_still_work)
{
    open_again("\"private\": [\"10.8.0.1:1000-1299\"]");
    fake_gateway_route(&net.fake, "10.8.0.1", 0, net.server.port, 0);
    net_box_expect(&net,
            "n = 0\n"
            "for p in list(range(1000, 1300)) + [1000, 1299]:\n"
            "    s = socket.socket(); s.setblocking(p % 2); s.connect_ex(('10.8.0.1', p))\n"
            "    s.setblocking(True); n += s.recv(6) == b'hello\\n'; s.close()\n"
            "print(n)",
            "302\n");
}
END_TEST

/* ---- ports of the box on the host ---- */

static char *
ask_host(uint16_t port)
{
    static char answer[64];
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ssize_t n = -1;

    if (connect(fd, (const struct sockaddr *)&to, sizeof to) == 0) {
        n = recv(fd, answer, sizeof answer - 1, 0);
    }
    close(fd);
    answer[n < 0 ? 0 : n] = '\0';
    return answer;
}

#define SERVE                                                                                      \
    "f = socket.AF_INET6 if ':' in '%s' else socket.AF_INET\n"                                     \
    "l = socket.socket(f); l.bind(('%s', %u)); l.listen(8)\n"                                      \
    "hello('allowed.test', 443)\n"                                                                 \
    "c, a = l.accept(); c.sendall(b'from the box'); c.close(); l.close()\n"

START_TEST(a_listed_port_that_the_box_opens_is_on_the_host_too)
{
    const uint16_t port = free_port();
    char network[64], script[512], notice[128];
    struct net_run run;

    snprintf(network, sizeof network, "\"listen\": [%u]", port);
    open_again(network);
    snprintf(script, sizeof script, SERVE, server_addresses[_i], server_addresses[_i], port);
    net_box_start(&net, script, &run);
    ck_assert(fake_gateway_wait(&net.fake, &net.fake.n_connected, 1)); /* it listens */
    ck_assert_str_eq(ask_host(port), "from the box");
    net_run_expect(&run, "allowed.test hello 443\n");
    ck_assert_uint_eq(net.fake.n_relayed, 1);
    snprintf(notice, sizeof notice,
            "listen port %u opened inside the box, and at 127.0.0.1 of the host\n", port);
    ck_assert(net_box_noticed(&net, notice));
    ck_assert_str_eq(ask_host(port), ""); /* nobody listens there any more */
}
END_TEST

START_TEST(a_port_that_is_not_listed_stays_in_the_box)
{
    const uint16_t port = free_port(), other = free_port();
    char network[64], script[512];

    snprintf(network, sizeof network, "\"listen\": [%u]", other);
    open_again(network);
    snprintf(script, sizeof script,
            "l = socket.socket(); l.bind(('', %u)); l.listen(8); hello('allowed.test', 443)", port);
    net_box_expect(&net, script, "allowed.test hello 443\n");
    ck_assert_str_eq(ask_host(port), "");
    ck_assert(net_box_noticed(&net, "opened inside the box\n"));
    ck_assert_uint_eq(net.box.denials.length, 0);
}
END_TEST

START_TEST(a_port_that_is_taken_on_the_host_is_told)
{
    struct hello_server taken;
    char network[64], script[128];

    hello_server_start(&taken, 0);
    snprintf(network, sizeof network, "\"listen\": [%u]", taken.port);
    open_again(network);
    snprintf(script, sizeof script, "l = socket.socket(); l.bind(('', %u)); l.listen(8)",
            taken.port);
    net_box_expect(&net, script, "");
    ck_assert(net_box_noticed(&net, "but not on the host, where it is taken\n"));
    hello_server_stop(&taken);
}
END_TEST

/* ---- unix sockets of the host ---- */

#define REACH                                                                                      \
    "import stat\n"                                                                                \
    "print(stat.S_ISSOCK(os.stat('%s/a').st_mode))\n"                                              \
    "for n in 'ab':\n"                                                                             \
    "    s = socket.socket(socket.AF_UNIX)\n"                                                      \
    "    try: s.connect('%s/' + n); print(n)\n"                                                    \
    "    except OSError as e: print(name(e))\n"

/* Below /tmp the box sees nothing of the host; in /var/tmp it sees what is there. */
static const struct unix_case {
    const char *folder, *output;
} unix_cases[] = {
    { "/tmp/abx-ways-XXXXXX", "True\na\nENOENT\n" },
    { "/var/tmp/abx-ways-XXXXXX", "True\na\nEACCES\n" },
};

START_TEST(a_listed_socket_of_the_host_is_reached_and_no_other)
{
    char folder[32], path[48], network[80], script[768];
    int a, b;

    snprintf(folder, sizeof folder, "%s", unix_cases[_i].folder);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a", folder);
    a = serve_unix(path);
    snprintf(network, sizeof network, "\"sockets\": [\"%s\"]", path);
    snprintf(path, sizeof path, "%s/b", folder);
    b = serve_unix(path);
    open_again(network);
    snprintf(script, sizeof script, REACH, folder, folder);
    net_box_expect(&net, script, unix_cases[_i].output);
    /* The service starts anew: another object, the same name. */
    close(a);
    snprintf(path, sizeof path, "%s/a", folder);
    unlink(path);
    a = serve_unix(path);
    net_box_expect(&net, script, unix_cases[_i].output);
    close(a);
    close(b);
    unlink(path);
    snprintf(path, sizeof path, "%s/b", folder);
    unlink(path);
    rmdir(folder);
}
END_TEST

START_TEST(the_cache_of_names_is_absent_and_no_denial)
{
    net_box_close(&net);
    net_box_open_policy(&net,
            "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/usr\",\"/bin\",\"/lib\",\"/"
            "lib64\","
            "\"/etc\",\"/"
            "tmp\"]}},\"network\":{\"mode\":\"filtered\",\"allow\":[\"allowed.test\"]}}");
    net_box_expect(&net,
            "for n in ('/var/run/nscd/socket', '/run/nscd/socket', '/var/run/other'):\n"
            "    try: socket.socket(socket.AF_UNIX).connect(n); print(n)\n"
            "    except OSError as e: print(name(e))\n"
            "print(socket.gethostbyname('localhost'))",
            "ENOENT\nENOENT\nEACCES\n127.0.0.1\n");
    ck_assert(net_box_denied(&net, "connect /var/run/other\n"));
    ck_assert(!net_box_denied(&net, "nscd"));
}
END_TEST

static Suite *
make_suite(void)
{
    const int n_addresses = N_ELEMENTS(server_addresses);
    Suite *suite = suite_create("network_ways");
    TCase *tcase = tcase_create("network_ways");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(
            tcase, a_server_of_the_box_has_the_port_of_an_allowed_one_outside, 0, n_addresses);
    tcase_add_test(tcase, the_boxs_own_address_is_its_own);
    tcase_add_test(tcase, a_port_of_the_host_is_at_the_boxs_own_loopback);
    tcase_add_loop_test(tcase, a_port_of_the_host_that_another_rule_closes_is_denied_and_told, 0,
            (int)N_ELEMENTS(closed_ports));
    tcase_add_test(tcase, a_port_of_the_host_where_nobody_listens_refuses);
    tcase_add_loop_test(tcase,
            a_port_of_localhost_that_is_listed_and_not_opened_is_told_where_nobody_listens, 0,
            (int)N_ELEMENTS(unopened_ports));
    tcase_add_test(tcase, the_proxy_is_where_its_url_says_and_needs_no_rule);
    tcase_add_loop_test(
            tcase, what_no_box_gets_is_refused_with_its_event, 0, N_ELEMENTS(refusal_cases));
    tcase_add_test(tcase, multipath_tcp_falls_back_and_is_told);
    tcase_add_test(tcase, choosing_among_addresses_denies_nothing);
    tcase_add_test(tcase, an_ipv6_address_is_reached_like_any_other);
    tcase_add_test(tcase, more_ports_than_listeners_still_work);
    tcase_add_loop_test(tcase, a_listed_port_that_the_box_opens_is_on_the_host_too, 0, n_addresses);
    tcase_add_test(tcase, a_port_that_is_not_listed_stays_in_the_box);
    tcase_add_test(tcase, a_port_that_is_taken_on_the_host_is_told);
    tcase_add_loop_test(
            tcase, a_listed_socket_of_the_host_is_reached_and_no_other, 0, N_ELEMENTS(unix_cases));
    tcase_add_test(tcase, the_cache_of_names_is_absent_and_no_denial);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
