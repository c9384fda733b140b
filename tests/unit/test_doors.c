/* SPDX-License-Identifier: Apache-2.0
 * Which connection is whose: what arrives is handed over only if it was expected, from there to
 * there, in whichever order the two come. */
#include "linux/net/doors.h"

#include "unit/main.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct plan plan = { .network = NETWORK_FILTERED,
    .capabilities = { .net_namespace = true } };
static struct boundary boundary;
static struct doors *doors;
static struct address listener; /* of the doors */
static pthread_t thread;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char order[32]; /* names of what was handed over, as many as fit */
static unsigned int n_handed_over;
static unsigned int n_hung_up;

static void
hang_up(void *data, uint64_t dialled)
{
    pthread_mutex_lock(&lock);
    n_hung_up++;
    pthread_mutex_unlock(&lock);
}

static void
connected(void *data, int fd, const struct subject *subject, const struct destination *destination,
        uint64_t dialled)
{
    pthread_mutex_lock(&lock);
    n_handed_over++;
    strncat(order, destination->name, sizeof order - strlen(order) - 1);
    pthread_mutex_unlock(&lock);
    close(fd);
}

static const struct gateway gateway = { .hang_up = hang_up, .connected = connected };

static void *
run(void *data)
{
    loop_run(data);
    return NULL;
}

static void
set_up(void)
{
    struct fail fail = { 0 };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    boundary = (struct boundary){ .plan = &plan, .loop = loop_new(), .gateway = &gateway };
    doors = doors_new(&boundary, &fail);
    ck_assert_int_eq(doors_watch(doors, &fail), ABX_OK);
    listener = address_of_ipv4(INADDR_LOOPBACK, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&listener.storage, listener.length), 0);
    ck_assert_int_eq(listen(fd, 4096), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&listener.storage, &listener.length), 0);
    ck_assert(doors_add(doors, fd, address_port(&listener)));
    ck_assert_int_eq(pthread_create(&thread, NULL, run, boundary.loop), 0);
}

static void
tear_down(void)
{
    loop_stop(boundary.loop);
    pthread_join(thread, NULL);
    doors_free(doors);
    loop_free(boundary.loop);
}

static int
reach(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(connect(fd, (struct sockaddr *)&listener.storage, listener.length), 0);
    return fd;
}

static struct passage *
passage_to(const char *name)
{
    const struct call call = { .boundary = &boundary, .command = 1 };
    struct passage *passage = passage_new(&call, WAY_TRANSPARENT, name, &listener);

    ck_assert_ptr_nonnull(passage);
    passage->dialled = 7;
    return passage;
}

/* Whether exactly this was handed over, after a while. */
static bool
was_handed_over(const char *names)
{
    bool is_so = false;

    for (int i = 0; i < 200 && !is_so; i++) {
        poll(NULL, 0, 10);
        pthread_mutex_lock(&lock);
        is_so = strcmp(order, names) == 0;
        pthread_mutex_unlock(&lock);
    }
    return is_so;
}

START_TEST(a_connection_that_arrives_first_waits_for_its_passage)
{
    int a = reach(), b = reach();

    poll(NULL, 0, 50);
    ck_assert(was_handed_over(""));
    doors_expect(doors, b, &listener, passage_to("b"));
    doors_expect(doors, a, &listener, passage_to("a"));
    ck_assert(was_handed_over("ba"));
    ck_assert_uint_eq(n_hung_up, 0);
    close(a);
    close(b);
}
END_TEST

/* A socket that has a port and is not connected yet. */
static int
bound(void)
{
    const struct address any = address_of_ipv4(INADDR_LOOPBACK, 0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&any.storage, any.length), 0);
    return fd;
}

START_TEST(a_passage_that_comes_first_waits_for_its_connection)
{
    int fd = bound();

    doors_expect(doors, fd, &listener, passage_to("a"));
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&listener.storage, listener.length), 0);
    ck_assert(was_handed_over("a"));
    close(fd);
}
END_TEST

START_TEST(nothing_is_handed_over_that_was_not_expected)
{
    const struct address elsewhere = address_of_ipv4(0x0a000001, address_port(&listener));
    int expected_elsewhere = reach(), unexpected = reach(), good = reach();

    doors_expect(doors, expected_elsewhere, &elsewhere, passage_to("x"));
    doors_expect(doors, good, &listener, passage_to("g"));
    ck_assert(was_handed_over("g"));
    poll(NULL, 0, 100);
    ck_assert(was_handed_over("g"));
    close(expected_elsewhere);
    close(unexpected);
    close(good);
}
END_TEST

START_TEST(what_was_dialled_and_never_arrives_is_hung_up)
{
    enum { MANY = 2100 }; /* more than are kept */

    for (int i = 0; i < MANY; i++) {
        int fd = bound();

        doors_expect(doors, fd, &listener, passage_to("a"));
        close(fd);
    }
    ck_assert_uint_eq(n_hung_up, MANY - 2048);
}
END_TEST

enum { THREADS = 8, CONNECTIONS = 400 };

static void *
connect_many(void *data)
{
    for (int i = 0; i < CONNECTIONS; i++) {
        int fd = reach();

        struct pollfd end = { .fd = fd, .events = POLLIN };

        doors_expect(doors, fd, &listener, passage_to("a"));
        poll(&end, 1, 5000); /* who gets it closes it */
        close(fd);
    }
    return NULL;
}

START_TEST(of_many_at_once_none_is_lost)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, connect_many, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_mutex_lock(&lock);
    ck_assert_uint_eq(n_handed_over, THREADS * CONNECTIONS);
    ck_assert_uint_eq(n_hung_up, 0);
    pthread_mutex_unlock(&lock);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("doors");
    TCase *tcase = tcase_create("doors");

    tcase_set_timeout(tcase, 30);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, a_connection_that_arrives_first_waits_for_its_passage);
    tcase_add_test(tcase, a_passage_that_comes_first_waits_for_its_connection);
    tcase_add_test(tcase, nothing_is_handed_over_that_was_not_expected);
    tcase_add_test(tcase, what_was_dialled_and_never_arrives_is_hung_up);
    tcase_add_test(tcase, of_many_at_once_none_is_lost);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
