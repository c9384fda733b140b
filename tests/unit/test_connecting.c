/* SPDX-License-Identifier: Apache-2.0
 * A connect to a listener of ours that cannot wait, whatever the box's socket says. */
#include "linux/net/connecting.h"

#include "unit/main.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

static int listener;
static struct address target;

static void
listen_with(int backlog)
{
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    target = address_of_ipv4(INADDR_LOOPBACK, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&target.storage, target.length), 0);
    ck_assert_int_eq(listen(listener, backlog), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&target.storage, &target.length), 0);
}

static void
set_up(void)
{
    listen_with(16);
}

static void
tear_down(void)
{
    close(listener);
}

static int
new_socket(int type)
{
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

    ck_assert_int_ge(fd, 0);
    return fd;
}

/* Until it is connected. */
static void
wait_for(int fd)
{
    struct pollfd state = { .fd = fd, .events = POLLOUT };

    ck_assert_int_eq(poll(&state, 1, 10000), 1);
    ck_assert_int_eq(state.revents, POLLOUT);
}

START_TEST(a_connect_that_is_over_at_once_is_made)
{
    int fd = new_socket(SOCK_STREAM), r = connecting_try(fd, &target), client;

    ck_assert(r == 0 || r == 1); /* 1: this machine was busy */
    wait_for(fd);
    client = accept(listener, NULL, NULL);
    ck_assert_int_ge(client, 0);
    ck_assert_int_eq(send(fd, "x", 1, 0), 1);
    close(client);
    close(fd);
}
END_TEST

START_TEST(who_does_not_wait_is_told_that_it_goes_on)
{
    int fd = new_socket(SOCK_STREAM | SOCK_NONBLOCK);

    ck_assert_int_eq(connecting_try(fd, &target), -EINPROGRESS);
    wait_for(fd);
    close(fd);
}
END_TEST

START_TEST(who_would_wait_does_not)
{
    int waits[3], r = 0;

    close(listener);
    listen_with(0);
    for (size_t i = 0; i < 3; i++) { /* its queue is full with one or two */
        waits[i] = new_socket(SOCK_STREAM);
        r = connecting_try(waits[i], &target);
    }
    ck_assert_int_eq(r, 1);
    ck_assert_int_eq(connecting_try(waits[2], &target), 1);
    for (size_t i = 0; i < 3; i++) {
        close(waits[i]);
    }
}
END_TEST

START_TEST(the_error_is_that_of_a_connect)
{
    int fd = new_socket(SOCK_STREAM), r;

    close(listener);
    r = connecting_try(fd, &target);
    ck_assert(r == -ECONNREFUSED || r == 1);
    close(fd);
    set_up();
}
END_TEST

START_TEST(nothing_but_tcp_is_tried)
{
    int fd = new_socket(SOCK_DGRAM), peer = new_socket(SOCK_DGRAM);
    struct address address = address_of_ipv4(INADDR_LOOPBACK, 0);
    char byte;

    ck_assert_int_eq(bind(peer, (struct sockaddr *)&address.storage, address.length), 0);
    ck_assert_int_eq(getsockname(peer, (struct sockaddr *)&address.storage, &address.length), 0);
    ck_assert_int_eq(connecting_try(fd, &address), 1);
    ck_assert_int_lt(recv(peer, &byte, 1, MSG_DONTWAIT), 0);
    close(fd);
    close(peer);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("connecting");
    TCase *at_once = tcase_create("at once");

    tcase_add_checked_fixture(at_once, set_up, tear_down);
    tcase_add_test(at_once, a_connect_that_is_over_at_once_is_made);
    tcase_add_test(at_once, who_does_not_wait_is_told_that_it_goes_on);
    tcase_add_test(at_once, who_would_wait_does_not);
    tcase_add_test(at_once, the_error_is_that_of_a_connect);
    tcase_add_test(at_once, nothing_but_tcp_is_tried);
    suite_add_tcase(suite, at_once);
    return suite;
}

UNIT_MAIN(make_suite)
