/* SPDX-License-Identifier: Apache-2.0
 * The way out with a broker of the test's: what is dialled, what is refused and told, and that
 * bytes, ends and resets arrive as they were sent. */
#include "egress_box.h"

#include "egress/box.h"
#include "egress/decide.h"
#include "egress/thread.h"
#include "unit/main.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
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

/* A port that nobody listens on; the box is opened for it. */
static void
open_for_nobody(void)
{
    int fd = listen_on_loopback(1, &port);

    close(fd);
    egress_box_close();
    egress_box_open(POLICY, port);
}

/* ---- dialling ---- */
START_TEST(a_name_is_looked_up_on_the_host_and_dialled)
{
    int program, server;

    connect_both("localhost", listener, port, &program, &server);
    send_text(program, "question");
    expect_text(server, "question");
    send_text(server, "answer");
    expect_text(program, "answer");
    ck_assert(broker_is_quiet());
    close(program);
    expect_end(server);
    close(server);
}
END_TEST

START_TEST(an_address_is_dialled_as_it_is)
{
    int program, server;

    connect_both("127.0.0.1", listener, port, &program, &server);
    send_text(server, "hello");
    expect_text(program, "hello");
    close(program);
    close(server);
}
END_TEST

START_TEST(a_service_of_the_hosts_loopback_is_dialled_by_its_port)
{
    uint64_t dialled;

    ck_assert_int_eq(dial_and_wait("anything", port, WAY_HOST_LOOPBACK, &dialled), 0);
    close(accept_one(listener));
}
END_TEST

START_TEST(the_callers_errno_is_that_of_the_connection_outside)
{
    uint64_t dialled;

    open_for_nobody();
    ck_assert_int_eq(dial_and_wait("127.0.0.1", port, WAY_TRANSPARENT, &dialled), ECONNREFUSED);
    ck_assert_int_eq(dial_and_wait("localhost", port, WAY_TRANSPARENT, &dialled), ECONNREFUSED);
    ck_assert(broker_is_quiet());
}
END_TEST

START_TEST(a_name_that_leads_to_a_closed_address_is_denied_with_its_event)
{
    struct told told;
    uint64_t dialled;

    ck_assert_int_eq(dial_and_wait("private.test", port, WAY_TRANSPARENT, &dialled), EACCES);
    broker_tells(&told);
    ck_assert_uint_eq(told.type, ABX_EVENT_DENIAL);
    ck_assert_str_eq(told.target, "private.test");
    ck_assert_uint_eq(told.port, port);
    ck_assert_str_eq(told.asked, "10.0.0.1");
    ck_assert_str_eq(told.rule, "network:closed");
    ck_assert(told.reason[0] != '\0');
    ck_assert(broker_is_quiet());
}
END_TEST

START_TEST(of_a_names_addresses_only_those_that_may_be_are_dialled)
{
    uint64_t dialled;

    ck_assert_int_eq(dial_and_wait("mixed.test", port, WAY_TRANSPARENT, &dialled), 0);
    close(accept_one(listener));
    ck_assert(broker_is_quiet());
}
END_TEST

START_TEST(a_name_that_the_host_does_not_know_cannot_be_reached_and_is_told)
{
    struct told told;
    uint64_t dialled;

    ck_assert_int_eq(dial_and_wait("unknown.test", port, WAY_TRANSPARENT, &dialled), EHOSTUNREACH);
    broker_tells(&told);
    ck_assert_uint_eq(told.type, ABX_EVENT_NOTICE);
    ck_assert_str_eq(told.target, "unknown.test");
    ck_assert_str_eq(told.rule, "network:lookup");
}
END_TEST

/* What the host said of names holds from now on, however long the test takes. */
static void
names_hold(void)
{
    for (size_t i = 0; i < HOSTS_MAX; i++) {
        if (the_box->hosts.hosts[i] != NULL) {
            the_box->hosts.hosts[i]->until_ns = UINT64_MAX;
        }
    }
}

/* How often the host is asked for a name that is dialled twice at once after the other. */
static size_t
lookups_of_two_dials(const char *name, int expected)
{
    size_t before = resolver_was_asked();
    uint64_t dialled;

    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(dial_and_wait(name, port, WAY_TRANSPARENT, &dialled), expected);
        if (expected == 0) {
            close(accept_one(listener));
        }
        names_hold();
    }
    return resolver_was_asked() - before;
}

START_TEST(a_name_that_was_looked_up_a_moment_ago_is_not_asked_for_again)
{
    ck_assert_uint_eq(lookups_of_two_dials("localhost", 0), 1);
}
END_TEST

START_TEST(what_is_known_of_a_name_is_decided_about_each_time)
{
    struct told told;

    ck_assert_uint_eq(lookups_of_two_dials("private.test", EACCES), 1);
    for (int i = 0; i < 2; i++) {
        broker_tells(&told);
        ck_assert_str_eq(told.target, "private.test");
        ck_assert_str_eq(told.rule, "network:closed");
    }
    ck_assert(broker_is_quiet());
}
END_TEST

START_TEST(a_name_that_the_host_does_not_know_is_asked_for_again)
{
    ck_assert_uint_eq(lookups_of_two_dials("unknown.test", EHOSTUNREACH), 2);
}
END_TEST

#define READ(host) "{\"host\":\"" host "\",\"http\":[{\"methods\":[\"GET\"],\"path\":\"/**\"}]}"

/* 8.8.8.8 is what public.test leads to. */
static const struct spelled_case {
    const char *name, *network, *more;
    int error;
} spelled_cases[] = {
    { "a name with rules about requests", READ("public.test:1-65535"), "", EACCES },
    { "a name that a credential goes to", "\"public.test:1-65535\"",
            ",\"credentials\":[{\"name\":\"k\",\"env\":\"K\",\"hosts\":[\"public.test:1-65535\"]}]",
            EACCES },
    { "a name that is told on whose behalf", "\"public.test:1-65535\"",
            ",\"identity\":{\"header\":\"X-On-Behalf-Of\",\"hosts\":[\"public.test:1-65535\"]}",
            EACCES },
    { "a name without", "\"public.test:1-65535\"", "", 0 },
    { "a name with rules that leads elsewhere", READ("private.test:1-65535"), "", 0 },
    { "a name with rules that is unknown", READ("unknown.test:1-65535"), "", 0 },
    { "a name with rules at another port", READ("public.test:1"), "", 0 },
    { "an address that is listed by itself", "\"8.8.8.8:1-65535\"," READ("public.test:1-65535"), "",
            0 },
    { "an address with rules of its own", READ("8.8.8.8:1-65535") "," READ("public.test:1-65535"),
            "", 0 },
};

static void
open_for_spelling(const char *network, const char *more)
{
    egress_box_close();
    egress_box_open("{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":["
                    "\"8.0.0.0/8:1-65535\",%s],\"host_loopback\":[%u]}%s}",
            network, port, more);
}

static void
expect_by_name(const char *address, const char *name)
{
    struct told told;

    broker_tells(&told);
    ck_assert_uint_eq(told.type, ABX_EVENT_DENIAL);
    ck_assert_str_eq(told.target, address);
    ck_assert_str_eq(told.rule, "network:by-name");
    ck_assert_ptr_nonnull(strstr(told.reason, name));
}

START_TEST(who_spells_the_address_of_a_name_goes_past_no_rule)
{
    const struct spelled_case *c = &spelled_cases[_i];
    uint64_t dialled;

    open_for_spelling(c->network, c->more);
    for (int i = 0; i < 2; i++) { /* looked up, and known */
        ck_assert_msg(dial_and_wait("8.8.8.8", port, WAY_TRANSPARENT, &dialled) == c->error, "%s",
                c->name);
        if (c->error != 0) {
            expect_by_name("8.8.8.8", "'public.test'");
        } else {
            close(accept_one(listener));
        }
    }
    ck_assert(broker_is_quiet());
}
END_TEST

START_TEST(a_name_that_a_pattern_stands_for_is_known_once_it_was_looked_up)
{
    uint64_t dialled;

    open_for_spelling(READ("*.test:1-65535"), "");
    ck_assert_int_eq(dial_and_wait("8.8.8.8", port, WAY_TRANSPARENT, &dialled), 0);
    close(accept_one(listener));
    ck_assert_int_eq(dial_and_wait("public.test", port, WAY_TRANSPARENT, &dialled), 0);
    close(accept_one(listener));
    ck_assert_int_eq(dial_and_wait("8.8.8.8", port, WAY_TRANSPARENT, &dialled), EACCES);
    expect_by_name("8.8.8.8", "'public.test'");
    ck_assert(broker_is_quiet());
}
END_TEST

START_TEST(a_name_that_leads_to_the_hosts_loopback_is_asked_for_by_its_name)
{
    uint64_t dialled;

    open_for_spelling(READ("slow.test:1-65535"), "");
    resolver_be_quick();
    ck_assert_int_eq(dial_and_wait("127.0.0.1", port, WAY_HOST_LOOPBACK, &dialled), EACCES);
    expect_by_name("127.0.0.1", "'slow.test'");
}
END_TEST

START_TEST(closing_does_not_wait_for_the_name_of_an_address)
{
    int program;

    open_for_spelling(READ("slow.test:1-65535"), "");
    program = connect_box("8.8.8.8", port, WAY_TRANSPARENT, 0);
    while (resolver_is_busy_with() < 1) {
        poll(NULL, 0, 10);
    }
    egress_box_close();
    expect_reset(program);
    close(program);
    resolver_be_quick();
    egress_box_open(POLICY, port);
}
END_TEST

START_TEST(slow_lookups_of_one_box_do_not_hold_up_another)
{
    struct egress_box *slow = the_box, *other;
    struct egress_setup setup = egress_box_setup();
    struct fail fail;
    int programs[40];
    uint64_t dialled;

    for (int i = 0; i < 40; i++) {
        programs[i] = connect_box("slow.test", port, WAY_TRANSPARENT, 0);
    }
    while (resolver_is_busy_with() < 4) {
        poll(NULL, 0, 10);
    }
    ck_assert_int_eq(egress_open(the_egress, &setup, &other, &fail), ABX_OK);
    the_box = other;
    ck_assert_int_eq(dial_and_wait("localhost", port, WAY_TRANSPARENT, &dialled), 0);
    close(accept_one(listener));
    ck_assert_uint_eq(resolver_is_busy_with(), 4);
    egress_close(other);
    the_box = slow;
    for (int i = 0; i < 20; i++) { /* nobody waits for these any more */
        close(programs[i]);
    }
    resolver_be_quick();
    for (int i = 20; i < 40; i++) {
        close(accept_one(listener));
        close(programs[i]);
    }
}
END_TEST

START_TEST(closing_does_not_wait_for_a_resolver)
{
    int program = connect_box("slow.test", port, WAY_TRANSPARENT, 0);

    while (resolver_is_busy_with() < 1) {
        poll(NULL, 0, 10);
    }
    egress_box_close();
    expect_reset(program);
    close(program);
    ck_assert_uint_eq(resolver_is_busy_with(), 1);
    resolver_be_quick();
    egress_box_open(POLICY, port);
}
END_TEST

START_TEST(what_was_dialled_and_is_not_wanted_is_closed)
{
    const struct gateway *gateway = egress_gateway(the_box);
    uint64_t dialled;
    int server;

    ck_assert_int_eq(dial_and_wait("localhost", port, WAY_TRANSPARENT, &dialled), 0);
    server = accept_one(listener);
    gateway->hang_up(gateway->data, dialled);
    expect_end(server);
    close(server);
}
END_TEST

START_TEST(a_connection_that_nothing_was_dialled_for_is_dialled_then)
{
    int program = connect_box("localhost", port, WAY_TRANSPARENT, 0);
    int server = accept_one(listener);

    send_text(program, "late");
    expect_text(server, "late");
    close(program);
    close(server);
}
END_TEST

START_TEST(a_failed_dial_is_a_reset_where_the_connection_stands_already)
{
    int program;

    open_for_nobody();
    program = connect_box("localhost", port, WAY_TRANSPARENT, 0);
    expect_reset(program);
    close(program);
}
END_TEST

START_TEST(a_number_that_was_never_dialled_is_a_reset)
{
    int program = connect_box("localhost", port, WAY_TRANSPARENT, 99);

    expect_reset(program);
    close(program);
}
END_TEST

static struct {
    int done, error;
} cancelled;

static void
note_end(void *data, int error, uint64_t dialled)
{
    cancelled.error = error;
    cancelled.done++;
}

START_TEST(close_tells_who_waits_and_ends_what_is_open)
{
    const struct gateway *gateway;
    struct subject subject = { .program = "" };
    struct destination destination = { .way = WAY_TRANSPARENT, .name = "127.0.0.1" };
    int program, server, fds[2], silent;

    egress_box_close(); /* another policy */
    silent = listen_on_loopback(-1, &destination.port);
    egress_box_open("{\"version\":1,\"network\":{\"mode\":\"filtered\",\"host_loopback\":[%u,%u]}}",
            port, destination.port);
    cancelled.done = 0;
    for (int i = 0; i < 2; i++) { /* fill its queue: then it answers nothing */
        fds[i] = connect_box("127.0.0.1", destination.port, WAY_TRANSPARENT, 0);
    }
    connect_both("127.0.0.1", listener, port, &program, &server);
    gateway = egress_gateway(the_box);
    for (int i = 0; i < 3; i++) {
        gateway->dial(gateway->data, &subject, &destination, note_end, NULL);
    }
    poll(NULL, 0, 100);
    egress_box_close();
    ck_assert_int_eq(cancelled.done, 3);
    ck_assert_int_eq(cancelled.error, ECANCELED);
    expect_reset(program);
    expect_reset(server);
    close(program);
    close(server);
    close(fds[0]);
    close(fds[1]);
    close(silent);
    egress_box_open(POLICY, port);
}
END_TEST

/* ---- questions ---- */
static void
open_with_question(void)
{
    egress_box_close();
    egress_box_open(
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"ask\":[\"8.8.8.8:%u\"]}}", port);
    broker_says("8.8.8.8", ABX_VERDICT_ASK);
}

START_TEST(an_address_that_is_asked_about_waits_for_the_answer)
{
    int program, server;

    open_with_question();
    program = connect_box("public.test", port, WAY_TRANSPARENT, 0);
    egress_answer(the_box, broker_ticket() + 5, ABX_VERDICT_DENY, "of somebody else");
    egress_answer(the_box, broker_ticket(), ABX_VERDICT_ALLOW, NULL);
    server = accept_one(listener);
    send_text(program, "held");
    expect_text(server, "held");
    ck_assert_uint_eq(broker_withdrawn(), 0);
    close(program);
    close(server);
}
END_TEST

START_TEST(a_question_that_is_answered_with_no_refuses)
{
    int program;

    open_with_question();
    program = connect_box("public.test", port, WAY_TRANSPARENT, 0);
    egress_answer(the_box, broker_ticket(), ABX_VERDICT_DENY, "not today");
    expect_reset(program);
    close(program);
}
END_TEST

START_TEST(an_open_question_is_withdrawn_when_the_box_closes)
{
    int program;

    open_with_question();
    program = connect_box("public.test", port, WAY_TRANSPARENT, 0);
    broker_ticket();
    egress_box_close();
    ck_assert_uint_eq(broker_withdrawn(), 1);
    expect_reset(program);
    close(program);
    egress_box_open(POLICY, port);
}
END_TEST

static struct {
    abx_verdict verdict;
    struct refusal refusal;
    bool returned, done;
} decided;

static void
note_decision(void *data, abx_verdict verdict, const struct refusal *refusal)
{
    decided.verdict = verdict;
    decided.done = true;
    if (refusal != NULL) {
        decided.refusal = *refusal;
    }
}

static void
decide_now(void *data)
{
    struct subject subject = { .program = "" };
    struct act act = { .request = ABX_REQUEST_CONNECT, .target = data, .port = 443, .content = -1 };

    decided.returned = decision_start(the_box, &subject, &act, note_decision, NULL) == NULL;
}

static void
nothing(void *data)
{
}

START_TEST(a_decision_has_the_words_of_its_refusal)
{
    broker_says("no.", ABX_VERDICT_DENY);
    broker_says("maybe.", ABX_VERDICT_ASK);
    memset(&decided, 0, sizeof decided);
    egress_call(the_egress, decide_now, (char[]){ "yes.test" });
    ck_assert(decided.returned && decided.verdict == ABX_VERDICT_ALLOW);
    egress_call(the_egress, decide_now, (char[]){ "no.test" });
    ck_assert(decided.returned && decided.verdict == ABX_VERDICT_DENY);
    ck_assert_str_eq(decided.refusal.reason, "the test says no");
    ck_assert_uint_eq(decided.refusal.ticket, 0);
    decided.done = false;
    egress_call(the_egress, decide_now, (char[]){ "maybe.test" });
    ck_assert(!decided.returned && !decided.done);
    egress_answer(the_box, broker_ticket(), ABX_VERDICT_DENY, "ask again tomorrow");
    egress_call(the_egress, nothing, NULL);
    ck_assert(decided.done && decided.verdict == ABX_VERDICT_DENY);
    ck_assert_str_eq(decided.refusal.rule, "/network/deny/0");
    ck_assert_str_eq(decided.refusal.reason, "ask again tomorrow");
    ck_assert_str_eq(decided.refusal.alternative, "ask the test");
    ck_assert_uint_eq(decided.refusal.ticket, broker_ticket());
}
END_TEST

/* ---- tunnels ---- */
START_TEST(half_closes_are_kept)
{
    int program, server;

    connect_both("localhost", listener, port, &program, &server);
    send_text(program, "all I say");
    ck_assert_int_eq(shutdown(program, SHUT_WR), 0);
    expect_text(server, "all I say");
    expect_end(server);
    send_text(server, "still here");
    expect_text(program, "still here");
    close(server);
    expect_end(program);
    close(program);
}
END_TEST

static void
reset(int fd)
{
    struct linger linger = { .l_onoff = 1 };

    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger), 0);
    close(fd);
}

START_TEST(resets_are_passed_on)
{
    int program, server;

    connect_both("localhost", listener, port, &program, &server);
    send_text(program, "x");
    expect_text(server, "x");
    reset(program);
    expect_reset(server);
    close(server);
    connect_both("localhost", listener, port, &program, &server);
    send_text(program, "x");
    expect_text(server, "x");
    reset(server);
    expect_reset(program);
    close(program);
}
END_TEST

/* What stands at `at` of a long text: a piece that is missing, or of another place, shows. */
static uint8_t
byte_at(size_t at)
{
    return (uint8_t)(at ^ at >> 8 ^ at >> 16);
}

/* Writes until nothing is taken any more for 200 ms; returns how much was. */
static size_t
write_until_full(int fd)
{
    static uint8_t block[65536];
    struct pollfd ready = { .fd = fd, .events = POLLOUT };
    size_t total = 0;
    ssize_t n;

    ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    while (poll(&ready, 1, 200) == 1) {
        for (size_t i = 0; i < sizeof block; i++) {
            block[i] = byte_at(total + i);
        }
        n = send(fd, block, sizeof block, MSG_NOSIGNAL);
        total += n < 0 ? 0 : (size_t)n;
    }
    return total;
}

START_TEST(a_stuck_peer_holds_up_its_own_sender_only_and_loses_nothing)
{
    static uint8_t block[65536];
    int program[2], server[2];
    size_t sent, got = 0;
    bool differs = false;

    for (int i = 0; i < 2; i++) {
        connect_both("localhost", listener, port, &program[i], &server[i]);
    }
    sent = write_until_full(program[0]);
    ck_assert_uint_lt(sent, 64u << 20);
    send_text(program[1], "quick");
    expect_text(server[1], "quick");
    shutdown(program[0], SHUT_WR);
    while (got < sent) {
        ssize_t n = recv(server[0], block, sizeof block, 0);

        ck_assert_int_gt(n, 0);
        for (ssize_t i = 0; i < n; i++) {
            differs |= block[i] != byte_at(got++);
        }
    }
    ck_assert(!differs);
    expect_end(server[0]);
    for (int i = 0; i < 2; i++) {
        close(program[i]);
        close(server[i]);
    }
}
END_TEST

START_TEST(a_published_port_is_relayed)
{
    const struct gateway *gateway = egress_gateway(the_box);
    int client, accepted, server, to_server;

    tcp_pair(&client, &accepted);
    tcp_pair(&server, &to_server);
    gateway->relay(gateway->data, accepted, to_server);
    send_text(client, "from outside");
    expect_text(server, "from outside");
    close(server);
    expect_end(client);
    close(client);
}
END_TEST

START_TEST(too_many_connections_are_refused_with_an_event)
{
    struct rlimit before, few;
    int programs[64], servers[64];
    struct told told;
    uint64_t dialled;
    int n = 0, error = 0;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = 256; /* 32 connections of one box */
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    while (n < 33 && (error = dial_and_wait("127.0.0.1", port, WAY_TRANSPARENT, &dialled)) == 0) {
        servers[n] = accept_one(listener);
        programs[n++] = connect_box("127.0.0.1", port, WAY_TRANSPARENT, dialled);
    }
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    ck_assert_int_eq(n, 32);
    ck_assert_int_eq(error, EACCES);
    broker_tells(&told);
    ck_assert_str_eq(told.rule, "boundary:connections");
    while (n-- > 0) {
        close(programs[n]);
        close(servers[n]);
    }
}
END_TEST

START_TEST(an_egress_needs_descriptors_and_says_so)
{
    struct rlimit before, few;
    struct egress *egress = NULL;
    struct fail fail = { 0 };
    int lowest = dup(0), n_free = 0;
    abx_status r;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    close(lowest);
    do {
        few = before;
        few.rlim_cur = (rlim_t)(lowest + n_free);
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
        r = egress_new(&egress, &fail);
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
        ck_assert(r == ABX_OK || (r == ABX_ERR_SETUP && fail.os_code == EMFILE));
    } while (r < 0 && ++n_free < 16);
    ck_assert_int_eq(r, ABX_OK);
    ck_assert_int_ge(n_free, 2); /* to be woken, and to wait */
    egress_free(egress);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("egress");
    TCase *alone = tcase_create("alone"), *dial = tcase_create("dial"), *ask = tcase_create("ask"),
          *tunnel = tcase_create("tunnel");

    tcase_add_checked_fixture(dial, set_up, tear_down);
    tcase_add_test(alone, an_egress_needs_descriptors_and_says_so);
    suite_add_tcase(suite, alone);
    tcase_add_test(dial, a_name_is_looked_up_on_the_host_and_dialled);
    tcase_add_test(dial, an_address_is_dialled_as_it_is);
    tcase_add_test(dial, a_service_of_the_hosts_loopback_is_dialled_by_its_port);
    tcase_add_test(dial, the_callers_errno_is_that_of_the_connection_outside);
    tcase_add_test(dial, a_name_that_leads_to_a_closed_address_is_denied_with_its_event);
    tcase_add_test(dial, of_a_names_addresses_only_those_that_may_be_are_dialled);
    tcase_add_test(dial, a_name_that_the_host_does_not_know_cannot_be_reached_and_is_told);
    tcase_add_test(dial, a_name_that_was_looked_up_a_moment_ago_is_not_asked_for_again);
    tcase_add_test(dial, what_is_known_of_a_name_is_decided_about_each_time);
    tcase_add_test(dial, a_name_that_the_host_does_not_know_is_asked_for_again);
    tcase_add_loop_test(dial, who_spells_the_address_of_a_name_goes_past_no_rule, 0,
            (int)(sizeof spelled_cases / sizeof spelled_cases[0]));
    tcase_add_test(dial, a_name_that_a_pattern_stands_for_is_known_once_it_was_looked_up);
    tcase_add_test(dial, a_name_that_leads_to_the_hosts_loopback_is_asked_for_by_its_name);
    tcase_add_test(dial, closing_does_not_wait_for_the_name_of_an_address);
    tcase_add_test(dial, slow_lookups_of_one_box_do_not_hold_up_another);
    tcase_add_test(dial, closing_does_not_wait_for_a_resolver);
    tcase_add_test(dial, what_was_dialled_and_is_not_wanted_is_closed);
    tcase_add_test(dial, a_connection_that_nothing_was_dialled_for_is_dialled_then);
    tcase_add_test(dial, a_failed_dial_is_a_reset_where_the_connection_stands_already);
    tcase_add_test(dial, a_number_that_was_never_dialled_is_a_reset);
    tcase_add_test(dial, close_tells_who_waits_and_ends_what_is_open);
    suite_add_tcase(suite, dial);
    tcase_add_checked_fixture(ask, set_up, tear_down);
    tcase_add_test(ask, an_address_that_is_asked_about_waits_for_the_answer);
    tcase_add_test(ask, a_question_that_is_answered_with_no_refuses);
    tcase_add_test(ask, an_open_question_is_withdrawn_when_the_box_closes);
    tcase_add_test(ask, a_decision_has_the_words_of_its_refusal);
    suite_add_tcase(suite, ask);
    tcase_add_checked_fixture(tunnel, set_up, tear_down);
    tcase_set_timeout(tunnel, 30);
    tcase_add_test(tunnel, half_closes_are_kept);
    tcase_add_test(tunnel, resets_are_passed_on);
    tcase_add_test(tunnel, a_stuck_peer_holds_up_its_own_sender_only_and_loses_nothing);
    tcase_add_test(tunnel, a_published_port_is_relayed);
    tcase_add_test(tunnel, too_many_connections_are_refused_with_an_event);
    suite_add_tcase(suite, tunnel);
    return suite;
}

UNIT_MAIN(make_suite)
