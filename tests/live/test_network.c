/* SPDX-License-Identifier: Apache-2.0
 * Programs in a real box connect outside, in every way that programs do. */
#include "live/net_box.h"

#include "base/mem.h"
#include "unit/main.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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

/* ---- allowed, denied, dead ---- */

START_TEST(an_allowed_name_is_reached_and_the_gateway_is_told_who)
{
    net_box_expect(&net, "s = hello('allowed.test', 443); s.send(b'echo'); print(s.recv(4))",
            "allowed.test hello 443\nb'echo'\n");
    ck_assert_uint_eq(net.fake.n_connected, 1);
    ck_assert_str_eq(net.fake.log[0].name, "allowed.test");
    ck_assert_uint_eq(net.fake.log[0].port, 443);
    ck_assert_int_eq(net.fake.log[0].way, WAY_TRANSPARENT);
    ck_assert_uint_eq(net.fake.log[0].command, 1);
    ck_assert_ptr_nonnull(strstr(net.fake.log[0].program, "python3"));
    ck_assert(net.fake.log[0].was_dialled);
    ck_assert_uint_eq(net.fake.n_hung_up, 0);
    ck_assert(net.box.denials.length == 0);
}
END_TEST

START_TEST(what_a_program_sends_first_is_not_dropped)
{
    net_box_expect(&net,
            "import struct; s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)\n"
            "s.send(struct.pack('=IHHIIBxHiII', 32, 18, 1, 1, 0, 0, 0, 2000, 0, 0))\n"
            "print(b'noqueue\\0' in s.recv(65536))",
            "True\n"); /* the link's queue; else it is \"noop\" */
}
END_TEST

static const struct spelling_case {
    const char *script, *output;
} spelling_cases[] = {
    { "s = hello('ALLOWED.test.', 443)", "ALLOWED.test. hello 443\n" },
    { "hello('::ffff:' + socket.gethostbyname('allowed.test'), 443, socket.AF_INET6) and print(1)",
            NULL },
    { "s = socket.create_connection(('allowed.test', 443)); "
      "print(s.getpeername()[0] in [a[4][0] for a in socket.getaddrinfo('allowed.test', 443)])",
            "True\n" },
    { "print(socket.getfqdn(socket.gethostbyname('allowed.test')))", "allowed.test\n" },
};

START_TEST(however_the_name_is_spelled)
{
    const struct spelling_case *c = &spelling_cases[_i];

    if (c->output != NULL) {
        net_box_expect(&net, c->script, c->output);
    } else {
        net_box_expect(&net, c->script, "::ffff:198.18.1.1 hello 443\n1\n");
    }
}
END_TEST

START_TEST(a_denied_name_fails_at_once_with_its_event)
{
    net_box_expect(&net,
            "hello('other.test', 443); hello('192.0.2.7', 80); hello('10.0.0.1', 22)\n"
            "hello('2001:db8::1', 443, socket.AF_INET6); hello('198.18.7.7', 80)\n"
            "hello('fd61:6762:6f78::c612:707', 80, socket.AF_INET6)\n"
            "s = socket.socket(); s.setblocking(False); print(s.connect_ex(('192.0.2.8', 81)))",
            "other.test EACCES\n192.0.2.7 EACCES\n10.0.0.1 EACCES\n2001:db8::1 EACCES\n"
            "198.18.7.7 EACCES\nfd61:6762:6f78::c612:707 EACCES\n13\n");
    ck_assert(net_box_denied(&net, "connect other.test:443\n"));
    ck_assert(net_box_denied(&net, "connect 192.0.2.7:80\n"));
    ck_assert(net_box_denied(&net, "connect 192.0.2.8:81\n"));
    ck_assert_uint_eq(net.fake.n_dials, 0);
}
END_TEST

static const struct dead_case {
    int error;
    const char *output;
} dead_cases[] = {
    { ECONNREFUSED, "dead.allowed.test ECONNREFUSED\n" },
    { ETIMEDOUT, "dead.allowed.test ETIMEDOUT\n" },
    { EHOSTUNREACH, "dead.allowed.test EHOSTUNREACH\n" },
    { EACCES, "dead.allowed.test EACCES\n" },
};

START_TEST(a_dead_destination_is_one_for_the_caller_that_waits)
{
    net_box_close(&net);
    net_box_open(&net, "\"deny\": [\"x.test\"], \"private\": [\"10.9.9.9:7\"]");
    fake_gateway_route(&net.fake, "10.9.9.9", 7, 0, dead_cases[_i].error);
    net_box_expect(&net,
            "try: socket.create_connection(('10.9.9.9', 7))\n"
            "except OSError as e: print('dead.allowed.test', name(e))",
            dead_cases[_i].output);
    ck_assert_uint_eq(net.fake.n_connected, 0);
}
END_TEST

START_TEST(a_caller_that_does_not_wait_sees_a_dead_destination_as_a_reset)
{
    net_box_close(&net);
    net_box_open(&net, "\"private\": [\"10.9.9.9:7\"]");
    fake_gateway_route(&net.fake, "10.9.9.9", 7, 0, ECONNREFUSED);
    net_box_expect(&net,
            "s = socket.socket(); s.setblocking(False)\n"
            "r = s.connect_ex(('10.9.9.9', 7)); print(r in (0, errno.EINPROGRESS))\n"
            "s.setblocking(True)\n"
            "try: print(s.recv(1))\n"
            "except OSError as e: print(name(e))",
            "True\nECONNRESET\n");
    ck_assert(!net.fake.log[0].was_dialled);
}
END_TEST

/* ---- ways to connect ---- */

static const struct way_case {
    const char *name, *script, *output;
} way_cases[] = {
    { "non-blocking, then poll",
            "s = socket.socket(); s.setblocking(False)\n"
            "r = s.connect_ex((socket.gethostbyname('allowed.test'), 443))\n"
            "p = select.poll(); p.register(s, select.POLLOUT); p.poll()\n"
            "print(r in (0, errno.EINPROGRESS), s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))\n"
            "print([s.connect_ex((socket.gethostbyname('allowed.test'), 443)) for i in (1, 2)][1] "
            "== errno.EISCONN)\n"
            "s.setblocking(True); print(s.recv(6))",
            "True 0\nTrue\nb'hello\\n'\n" },
    { "registered with epoll before it is connected",
            "s = socket.socket(); s.setblocking(False)\n"
            "e = select.epoll(); e.register(s, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)\n"
            "s.connect_ex((socket.gethostbyname('allowed.test'), 443))\n"
            "seen = 0\n"
            "while seen & select.EPOLLIN == 0:\n"
            "    for fd, what in e.poll(10): seen |= what\n"
            "print(seen & select.EPOLLOUT != 0, s.recv(6))",
            "True b'hello\\n'\n" },
    { "a duplicate, made before, is connected too",
            "s = socket.socket(); d = os.dup(s.fileno())\n"
            "s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)\n"
            "s.connect((socket.gethostbyname('allowed.test'), 443))\n"
            "print(os.read(d, 6), s.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0)",
            "b'hello\\n' True\n" },
    { "a limit of the socket's own",
            "s = socket.socket()\n"
            "s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack('ll', 5, 0))\n"
            "s.connect((socket.gethostbyname('allowed.test'), 443)); print(s.recv(6))\n"
            "print(struct.unpack('ll', s.getsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, 16)))",
            "b'hello\\n'\n(5, 0)\n" },
    { "bound to an address and port first",
            "s = socket.socket(); s.bind(('0.0.0.0', 4321))\n"
            "s.connect((socket.gethostbyname('allowed.test'), 443)); print(s.recv(6))\n"
            "print(s.getsockname())",
            "b'hello\\n'\n('198.18.0.2', 4321)\n" },
    { "the same socket again after a disconnect",
            "import ctypes\n"
            "s = socket.socket(); at = (socket.gethostbyname('allowed.test'), 443)\n"
            "s.connect(at); print(s.recv(6))\n"
            "ctypes.CDLL(None).connect(s.fileno(), struct.pack('H14x', socket.AF_UNSPEC), 16)\n"
            "s.connect(at); print(s.recv(6))",
            "b'hello\\n'\nb'hello\\n'\n" },
    { "asyncio",
            "import asyncio\n"
            "async def main():\n"
            "    r, w = await asyncio.open_connection('allowed.test', 443)\n"
            "    print(await r.readline()); w.close()\n"
            "asyncio.run(main())",
            "b'hello\\n'\n" },
};

START_TEST(every_way_to_connect_works)
{
    const struct way_case *c = &way_cases[_i];

    net_box_expect(&net, c->script, c->output);
}
END_TEST

START_TEST(two_hundred_connections_at_once_each_find_their_own)
{
    net.fake.delay_ms = 20;
    net_box_expect(&net,
            "at = socket.gethostbyname('allowed.test'); good = []\n"
            "def one(i):\n"
            "    s = socket.socket()\n"
            "    if i % 3 == 0: s.setblocking(False)\n"
            "    s.connect_ex((at, 443 if i % 2 else PORT)); s.setblocking(True)\n"
            "    text = b'%06d' % i; s.sendall(text); got = b''\n"
            "    while len(got) < 12: got += s.recv(12 - len(got))\n"
            "    good.append(got == b'hello\\n' + text)\n"
            "all = [threading.Thread(target=one, args=(i,)) for i in range(200)]\n"
            "for t in all: t.start()\n"
            "for t in all: t.join()\n"
            "print(len(good), sum(good))",
            "200 200\n");
    ck_assert_uint_eq(net.fake.n_connected, 200);
    ck_assert_uint_eq(net.fake.n_hung_up, 0);
}
END_TEST

START_TEST(much_data_goes_through_unchanged)
{
    net_box_expect(&net,
            "import hashlib\n"
            "s = hello('allowed.test', 443); data = os.urandom(1 << 20) * 16; got = "
            "hashlib.sha256()\n"
            "def read():\n"
            "    n = 0\n"
            "    while n < len(data):\n"
            "        b = s.recv(1 << 16); n += len(b); got.update(b)\n"
            "t = threading.Thread(target=read); t.start(); s.sendall(data); t.join()\n"
            "print(got.digest() == hashlib.sha256(data).digest())",
            "allowed.test hello 443\nTrue\n");
}
END_TEST

/* ---- waiting ---- */

START_TEST(an_asked_connect_waits_for_its_answer)
{
    struct net_run run;
    uint64_t ticket;

    net_box_start(&net, "hello('asked.test', 443)", &run);
    ticket = policy_box_wait_question(&net.box);
    ck_assert_uint_ne(ticket, 0);
    ck_assert_uint_eq(net.fake.n_dials, 0);
    backend_pick()->answer(
            net.box.boundary, ticket, _i == 0 ? ABX_VERDICT_ALLOW : ABX_VERDICT_DENY);
    net_run_expect(&run, _i == 0 ? "asked.test hello 443\n" : "asked.test EACCES\n");
    ck_assert_uint_eq(net.fake.n_connected, _i == 0 ? 1 : 0);
}
END_TEST

/* Who disturbs a call that is on its way waits for an answer, which comes when it is. */
static void
answer_when_dialled(void)
{
    uint64_t ticket = policy_box_wait_question(&net.box);

    ck_assert_uint_ne(ticket, 0);
    ck_assert(fake_gateway_wait(&net.fake, &net.fake.n_dials, 1));
    backend_pick()->answer(net.box.boundary, ticket, ABX_VERDICT_DENY);
}

START_TEST(an_interrupted_call_hangs_up)
{
    struct net_run run;

    net.fake.delay_ms = 1000;
    net_box_start(&net,
            "import ctypes\n"
            "libc = ctypes.CDLL(None, use_errno=True)\n"
            "signal.signal(signal.SIGALRM, lambda *a: None); signal.siginterrupt(signal.SIGALRM, "
            "True)\n"
            "s = socket.socket()\n"
            "at = struct.pack('!2xH4s8x', 443, "
            "socket.inet_aton(socket.gethostbyname('allowed.test')))\n"
            "at = struct.pack('H', socket.AF_INET) + at[2:]\n"
            "main = threading.main_thread().ident\n"
            "def ring(): hello('asked.test', 443); signal.pthread_kill(main, signal.SIGALRM)\n"
            "threading.Thread(target=ring).start()\n"
            "print(libc.connect(s.fileno(), at, 16), ctypes.get_errno() == errno.EINTR)",
            &run);
    answer_when_dialled();
    net_run_expect(&run, "asked.test EACCES\n-1 True\n");
    ck_assert(fake_gateway_wait(&net.fake, &net.fake.n_hung_up, 1));
    ck_assert_uint_eq(net.fake.n_connected, 0);
}
END_TEST

START_TEST(a_killed_caller_hangs_up)
{
    struct net_run run;

    net.fake.delay_ms = 1000;
    net_box_start(&net,
            "pid = os.fork()\n"
            "if pid == 0: hello('allowed.test', 443); os._exit(0)\n"
            "hello('asked.test', 443)\n"
            "os.kill(pid, 9); print(os.waitpid(pid, 0)[1])",
            &run);
    answer_when_dialled();
    net_run_expect(&run, "asked.test EACCES\n9\n");
    ck_assert(fake_gateway_wait(&net.fake, &net.fake.n_hung_up, 1));
}
END_TEST

START_TEST(a_box_that_closes_while_it_dials_waits_for_nobody)
{
    struct net_run run;

    net.fake.delay_ms = 1500;
    net_box_start(&net, "hello('allowed.test', 443)", &run);
    ck_assert(fake_gateway_wait(&net.fake, &net.fake.n_dials, 1));
    backend_pick()->kill(net.box.boundary);
    pthread_join(run.thread, NULL);
    free(run.output);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("network");
    TCase *tcase = tcase_create("network");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, an_allowed_name_is_reached_and_the_gateway_is_told_who);
    tcase_add_test(tcase, what_a_program_sends_first_is_not_dropped);
    tcase_add_loop_test(tcase, however_the_name_is_spelled, 0, N_ELEMENTS(spelling_cases));
    tcase_add_test(tcase, a_denied_name_fails_at_once_with_its_event);
    tcase_add_loop_test(
            tcase, a_dead_destination_is_one_for_the_caller_that_waits, 0, N_ELEMENTS(dead_cases));
    tcase_add_test(tcase, a_caller_that_does_not_wait_sees_a_dead_destination_as_a_reset);
    tcase_add_loop_test(tcase, every_way_to_connect_works, 0, N_ELEMENTS(way_cases));
    tcase_add_test(tcase, much_data_goes_through_unchanged);
    tcase_add_loop_test(tcase, an_asked_connect_waits_for_its_answer, 0, 2);
    tcase_add_test(tcase, an_interrupted_call_hangs_up);
    tcase_add_test(tcase, a_killed_caller_hangs_up);
    tcase_add_test(tcase, a_box_that_closes_while_it_dials_waits_for_nobody);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("many");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, two_hundred_connections_at_once_each_find_their_own);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
