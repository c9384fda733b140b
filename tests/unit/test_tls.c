/* SPDX-License-Identifier: Apache-2.0
 * TLS over streams: both sides are ours here.  Real clients and origins are in tests/http. */
#include "base/mem.h"
#include "egress/stream.h"

#include "unit/main.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct fail fail;
static struct authority *authority;
static struct store *store;
static struct trust *trust; /* believes `authority` */
static struct event_base *base;
static struct stream *server, *client;
static size_t n_calls;

static void
set_up(void)
{
    ck_assert_int_eq(authority_new(&authority, &fail), ABX_OK);
    ck_assert_int_eq(store_new(&store, &fail), ABX_OK);
    ck_assert_int_eq(trust_new(store, authority_pem(authority), &trust, &fail), ABX_OK);
    base = event_base_new();
}

static void
hang_up(void)
{
    stream_free(server, false);
    stream_free(client, false);
    server = client = NULL;
}

static void
tear_down(void)
{
    hang_up();
    event_base_free(base);
    trust_free(trust);
    store_free(store);
    authority_free(authority);
}

static void
look(void *data)
{
    n_calls++;
}

/* Two streams that are connected; each has its TLS. */
static void
connect_streams(const char *is, struct trust *by, const char *wanted)
{
    int fds[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    server = stream_new(base, fds[0], look, NULL);
    client = stream_new(base, fds[1], look, NULL);
    stream_secure(server, tls_server(fds[0], authority, is));
    stream_secure(client, tls_client(fds[1], by, wanted));
    ck_assert(server->tls != NULL && client->tls != NULL);
}

/* Goes on until nothing more happens. */
static void
run(size_t most)
{
    for (int idle = 0; idle < 3;) {
        bool changed = stream_pull(server, most);

        changed |= stream_pull(client, most);
        changed |= stream_push(server);
        changed |= stream_push(client);
        event_base_loop(base, EVLOOP_NONBLOCK);
        idle = changed ? 0 : idle + 1;
    }
}

static const struct name_case {
    const char *is, *wanted;
    const char *why; /* NULL: it is */
} name_cases[] = {
    { "a.example", "a.example", NULL },
    { "a.example", "A.Example", NULL },
    { "127.0.0.1", "127.0.0.1", NULL },
    { "fd00::1", "fd00::1", NULL },
    { "a-name-that-is-longer-than-what-a-common-name-may-have.in-a-domain.example",
            "a-name-that-is-longer-than-what-a-common-name-may-have.in-a-domain.example", NULL },
    { "a.example", "b.example", "its certificate is for another name" },
    { "a.example", "x.a.example", "its certificate is for another name" },
    { "127.0.0.1", "127.0.0.2", "its certificate is for another name" },
    { "a.example", "127.0.0.1", "its certificate is for another name" },
};

START_TEST(an_origin_is_who_its_certificate_says)
{
    const struct name_case *c = &name_cases[_i];

    connect_streams(c->is, trust, c->wanted);
    run(1000);
    if (c->why == NULL) {
        ck_assert_msg(client->is_open && server->is_open, "%s", client->why);
    } else {
        ck_assert(client->has_failed && !client->is_open && !server->is_open);
        ck_assert_str_eq(client->why, c->why);
        ck_assert(server->has_failed); /* it was told */
    }
}
END_TEST

START_TEST(an_authority_is_believed_only_where_it_was_added)
{
    struct authority *other;
    struct trust *trusts[2];

    ck_assert_int_eq(authority_new(&other, &fail), ABX_OK);
    ck_assert_int_eq(trust_new(store, NULL, &trusts[0], &fail), ABX_OK);
    ck_assert_int_eq(trust_new(store, authority_pem(other), &trusts[1], &fail), ABX_OK);
    for (size_t i = 0; i < N_ELEMENTS(trusts); i++) {
        connect_streams("a.example", trusts[i], "a.example");
        run(1000);
        ck_assert(client->has_failed && !client->is_open);
        ck_assert_str_eq(client->why, "nobody who is trusted signed its certificate");
        hang_up();
        trust_free(trusts[i]);
    }
    authority_free(other);
}
END_TEST

/* A connection in which both said something, so that what is given to come back has arrived. */
static void
talk(const char *is, const char *wanted)
{
    connect_streams(is, trust, wanted);
    run(1000);
    ck_assert_msg(client->is_open, "%s", client->why);
    evbuffer_add(server->output, "hello", 5);
    run(1000);
    ck_assert_uint_eq(evbuffer_get_length(client->input), 5);
    hang_up();
}

START_TEST(an_origin_that_was_verified_comes_back_without_its_certificate)
{
    talk("a.example", "a.example");
    talk("b.example", "a.example"); /* it would not be believed */
    talk("b.example", "a.example");
}
END_TEST

START_TEST(nobody_comes_back_by_another_name_or_in_another_box)
{
    struct trust *other;

    talk("a.example", "a.example");
    connect_streams("a.example", trust, "b.example");
    run(1000);
    ck_assert(client->has_failed && !client->is_open);
    ck_assert_str_eq(client->why, "its certificate is for another name");
    hang_up();
    ck_assert_int_eq(trust_new(store, NULL, &other, &fail), ABX_OK);
    connect_streams("a.example", other, "a.example");
    run(1000);
    ck_assert(client->has_failed && !client->is_open);
    hang_up();
    trust_free(other);
}
END_TEST

START_TEST(what_is_added_must_hold_a_certificate)
{
    static const char *const texts[] = { "", "hello",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" };

    for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
        struct trust *none = NULL;

        ck_assert_int_lt(trust_new(store, texts[i], &none, &fail), 0);
        ck_assert_ptr_null(none);
        ck_assert_str_eq(fail.step, "tls:extra-ca");
    }
}
END_TEST

START_TEST(the_authority_shows_its_certificate_and_no_key)
{
    ck_assert_ptr_nonnull(strstr(authority_pem(authority), "-----BEGIN CERTIFICATE-----"));
    ck_assert_ptr_null(strstr(authority_pem(authority), "KEY"));
}
END_TEST

#define MANY (3u << 20)

START_TEST(bytes_arrive_both_ways_within_bounds_and_end)
{
    static char bytes[MANY];
    struct stream *ends[2];
    size_t got[2] = { 0 };

    for (size_t i = 0; i < MANY; i++) {
        bytes[i] = (char)(i * 7 + i / 251);
    }
    connect_streams("a.example", trust, "a.example");
    ends[0] = server;
    ends[1] = client;
    for (size_t i = 0; i < 2; i++) {
        evbuffer_add(ends[i]->output, bytes, MANY);
        stream_shut(ends[i]);
    }
    for (int times = 0; times < 10000 && got[0] + got[1] < 2 * MANY; times++) {
        run(50000);
        for (size_t i = 0; i < 2; i++) {
            size_t length = evbuffer_get_length(ends[i]->input);

            ck_assert_uint_lt(length, 50000 + (17u << 10));
            ck_assert(length == 0 ||
                      memcmp(evbuffer_pullup(ends[i]->input, -1), bytes + got[i], length) == 0);
            evbuffer_drain(ends[i]->input, length);
            got[i] += length;
        }
    }
    run(1000);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_uint_eq(got[i], MANY);
        ck_assert(ends[i]->has_ended && !ends[i]->has_failed && stream_is_shut(ends[i]));
    }
}
END_TEST

START_TEST(one_way_may_end_before_the_other)
{
    connect_streams("a.example", trust, "a.example");
    evbuffer_add(client->output, "question", 8);
    stream_shut(client);
    run(1000);
    ck_assert(server->has_ended && !client->has_ended && !server->has_failed);
    evbuffer_add(server->output, "answer", 6);
    stream_shut(server);
    run(1000);
    ck_assert(client->has_ended && !client->has_failed);
    ck_assert_uint_eq(evbuffer_get_length(client->input), 6);
}
END_TEST

START_TEST(a_connection_that_is_cut_has_not_ended)
{
    connect_streams("a.example", trust, "a.example");
    evbuffer_add(server->output, "half an ans", 11);
    run(1000);
    ck_assert_uint_eq(evbuffer_get_length(client->input), 11);
    shutdown(server->fd, SHUT_RDWR); /* below TLS, which says nothing */
    for (int times = 0; times < 5; times++) {
        event_base_loop(base, EVLOOP_NONBLOCK);
        stream_pull(client, 1000);
    }
    ck_assert(client->has_failed && !client->has_ended);
    ck_assert_str_eq(client->why, "the connection was closed in the middle");
}
END_TEST

START_TEST(what_is_no_handshake_fails)
{
    int fds[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    client = stream_new(base, fds[0], look, NULL);
    server = stream_new(base, fds[1], look, NULL);
    stream_secure(server, tls_server(fds[1], authority, "a.example"));
    evbuffer_add(client->output, "GET / HTTP/1.1\r\n\r\n", 18);
    run(1000);
    ck_assert(server->has_failed && !server->is_open);
}
END_TEST

START_TEST(certificates_are_kept_but_not_without_end)
{
    char name[32];

    connect_streams("a.example", trust, "a.example");
    for (int i = 0; i < 400; i++) { /* the first one's goes, while its connection lives */
        struct tls *tls;
        int fds[2];

        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        snprintf(name, sizeof name, "n%d.example", i / 2);
        tls = tls_server(fds[0], authority, name);
        ck_assert_ptr_nonnull(tls);
        tls_free(tls);
        close(fds[0]);
        close(fds[1]);
    }
    for (int i = 0; i < 300; i++) {
        struct tls *tls;

        snprintf(name, sizeof name, "m%d.example", i);
        tls = tls_server(server->fd, authority, name);
        ck_assert_ptr_nonnull(tls);
        tls_free(tls);
    }
    run(1000);
    ck_assert(client->is_open && server->is_open);
}
END_TEST

START_TEST(plain_streams_end_and_break)
{
    int fds[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    client = stream_new(base, fds[0], look, NULL);
    server = stream_new(base, fds[1], look, NULL);
    evbuffer_add(client->output, "hello", 5);
    stream_shut(client);
    run(3);
    ck_assert_uint_eq(evbuffer_get_length(server->input), 5);
    ck_assert(!server->has_ended); /* not looked at: there was enough */
    run(100);
    ck_assert(server->has_ended && !client->has_ended);
    n_calls = 0;
    stream_free(client, false);
    client = NULL;
    evbuffer_add(server->output, "hello", 5);
    stream_push(server);
    ck_assert(server->has_failed);
    ck_assert_str_eq(server->why, "the connection broke");
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("tls");
    TCase *cases = tcase_create("tls");

    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_loop_test(cases, an_origin_is_who_its_certificate_says, 0, N_ELEMENTS(name_cases));
    tcase_add_test(cases, an_authority_is_believed_only_where_it_was_added);
    tcase_add_test(cases, an_origin_that_was_verified_comes_back_without_its_certificate);
    tcase_add_test(cases, nobody_comes_back_by_another_name_or_in_another_box);
    tcase_add_test(cases, what_is_added_must_hold_a_certificate);
    tcase_add_test(cases, the_authority_shows_its_certificate_and_no_key);
    tcase_add_test(cases, bytes_arrive_both_ways_within_bounds_and_end);
    tcase_add_test(cases, one_way_may_end_before_the_other);
    tcase_add_test(cases, a_connection_that_is_cut_has_not_ended);
    tcase_add_test(cases, what_is_no_handshake_fails);
    tcase_add_test(cases, certificates_are_kept_but_not_without_end);
    tcase_add_test(cases, plain_streams_end_and_break);
    suite_add_tcase(suite, cases);
    return suite;
}

UNIT_MAIN(make_suite)
