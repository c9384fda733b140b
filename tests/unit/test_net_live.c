/* SPDX-License-Identifier: Apache-2.0
 * Socket calls of a process with a network of its own, decided by the real listener. */
#include "unit/notify_box.h"

#include "base/mem.h"
#include "unit/main.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define FLIPS 1500

static const struct rule_row rules[] = { { "", ABX_VERDICT_ALLOW },
    { "/.bashrc", ABX_VERDICT_DENY }, { "/free/host", ABX_VERDICT_DENY }, { NULL, 0 } };

static struct notify_box box;
static int host_socket = -1; /* "free/host" of the workspace, listening outside */

/* In the box: returns the line that is not so. */
#define EXPECT(is_so)                                                                              \
    do {                                                                                           \
        if (!(is_so)) {                                                                            \
            fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #is_so, strerror(errno));      \
            return __LINE__ % 250 + 1;                                                             \
        }                                                                                          \
    } while (0)
#define FAILS(call, error) ((call) < 0 && errno == (error))

static struct sockaddr_un
unix_address(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    return address;
}

static void
set_up(void)
{
    struct sockaddr_un address;
    char path[sizeof address.sun_path];

    notify_box_init(&box, rules, false);
    snprintf(path, sizeof path, "%s/free/host", box.workspace);
    address = unix_address(path);
    host_socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(bind(host_socket, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(host_socket, 8), 0);
}

static void
tear_down(void)
{
    ck_assert_int_eq(accept(host_socket, NULL, NULL), -1);
    close(host_socket);
    notify_box_done(&box);
}

static bool
was_told(const char *target, const char *rule)
{
    for (unsigned int i = 0; i < box.n_told; i++) {
        if (strcmp(box.told[i].target, target) == 0 && strcmp(box.told[i].rule, rule) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- in the box ---- */

static int
serve(const char *path)
{
    struct sockaddr_un address = unix_address(path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 4) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static int
reach(const char *path, int flags)
{
    struct sockaddr_un address = unix_address(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | flags, 0);

    return connect(fd, (struct sockaddr *)&address, sizeof address) < 0 ? -1 : fd;
}

static int
talk_over_own_sockets(struct notify_box *b)
{
    static const char *const paths[] = { "free/s", "top", "free/../free/t" };
    char byte = 0;

    umask(077);
    for (size_t i = 0; i < N_ELEMENTS(paths); i++) {
        int server = serve(paths[i]), fd, peer;
        struct stat st;

        EXPECT(server >= 0);
        EXPECT(stat(paths[i], &st) == 0 && S_ISSOCK(st.st_mode));
        EXPECT((st.st_mode & 0777) == 0700);
        fd = reach(paths[i], i == 0 ? SOCK_NONBLOCK : 0);
        EXPECT(fd >= 0);
        peer = accept(server, NULL, NULL);
        EXPECT(peer >= 0 && write(fd, "x", 1) == 1 && read(peer, &byte, 1) == 1 && byte == 'x');
    }
    EXPECT(FAILS(serve("top"), EADDRINUSE));
    EXPECT(FAILS(reach("free/none", 0), ENOENT));
    EXPECT(FAILS(reach("free", 0), ECONNREFUSED));
    return 0;
}

START_TEST(a_socket_that_the_box_made_is_reached)
{
    ck_assert_int_eq(notify_box_run(&box, talk_over_own_sockets), 0);
    ck_assert_uint_eq(box.n_told, 0);
}
END_TEST

static int
talk_without_paths(struct notify_box *b)
{
    struct sockaddr_un abstract = { .sun_family = AF_UNIX, .sun_path = "\0box" };
    struct sockaddr_un exact = unix_address("free/exact-name");
    socklen_t length = offsetof(struct sockaddr_un, sun_path) + 4;
    int server = socket(AF_UNIX, SOCK_STREAM, 0), fd = socket(AF_UNIX, SOCK_STREAM, 0);

    EXPECT(bind(server, (struct sockaddr *)&abstract, length) == 0 && listen(server, 1) == 0);
    EXPECT(connect(fd, (struct sockaddr *)&abstract, length) == 0);
    EXPECT(accept(server, NULL, NULL) >= 0);
    /* A path that ends with the address, not with a NUL. */
    length = offsetof(struct sockaddr_un, sun_path) + (socklen_t)strlen("free/exact");
    server = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT(bind(server, (struct sockaddr *)&exact, length) == 0);
    EXPECT(access("free/exact", F_OK) == 0);
    EXPECT(FAILS(bind(server, (struct sockaddr *)&exact, 1), EINVAL));
    EXPECT(FAILS(connect(fd, (struct sockaddr *)&exact, 4000), EINVAL));
    EXPECT(FAILS(connect(fd, NULL, 16), EFAULT));
    EXPECT(FAILS(connect(77, (struct sockaddr *)&abstract, 6), EBADF));
    return 0;
}

START_TEST(abstract_names_and_odd_addresses_are_as_the_kernel_has_them)
{
    ck_assert_int_eq(notify_box_run(&box, talk_without_paths), 0);
    ck_assert_uint_eq(box.n_told, 0);
}
END_TEST

static int
reach_host(struct notify_box *b)
{
    EXPECT(FAILS(reach("free/host", 0), EACCES));
    EXPECT(FAILS(reach("free/host", SOCK_NONBLOCK), EACCES));
    EXPECT(symlink("host", "free/link") == 0);
    EXPECT(FAILS(reach("free/link", 0), EACCES));
    EXPECT(rename("free/host", "free2/moved") == 0 || errno == EXDEV);
    EXPECT(FAILS(serve(".bashrc"), EACCES));
    EXPECT(access(".bashrc", F_OK) < 0);
    return 0;
}

START_TEST(a_socket_of_the_host_is_refused_with_an_event)
{
    ck_assert_int_eq(notify_box_run(&box, reach_host), 0);
    ck_assert(notify_box_denied(&box, "free/host"));
    ck_assert(notify_box_denied(&box, ".bashrc"));
    ck_assert_uint_eq(box.n_told, 4);
}
END_TEST

static struct sockaddr_un flipped;
static atomic_bool stop;

static void *
flip(void *data)
{
    while (!stop) {
        memcpy(flipped.sun_path, "free/host", sizeof "free/host");
        atomic_thread_fence(memory_order_seq_cst); /* or only the second copy is made */
        memcpy(flipped.sun_path, "free/mine", sizeof "free/mine");
        atomic_thread_fence(memory_order_seq_cst);
    }
    return NULL;
}

static int
race(struct notify_box *b)
{
    int server = serve("free/mine"), denied = 0;
    pthread_t thread;

    EXPECT(server >= 0 && fcntl(server, F_SETFL, O_NONBLOCK) == 0);
    flipped = unix_address("free/mine");
    EXPECT(pthread_create(&thread, NULL, flip, NULL) == 0);
    for (int i = 0; i < FLIPS; i++) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

        if (connect(fd, (struct sockaddr *)&flipped, sizeof flipped) < 0) {
            denied += errno == EACCES;
        }
        close(fd);
        fd = accept(server, NULL, NULL);
        if (fd >= 0) {
            close(fd);
        }
    }
    stop = true;
    pthread_join(thread, NULL);
    EXPECT(denied > 0);
    return 0;
}

START_TEST(a_path_that_changes_under_the_call_reaches_no_socket_of_the_host)
{
    ck_assert_int_eq(notify_box_run(&box, race), 0);
}
END_TEST

static void *
put_host_in_place(void *data)
{
    while (!stop) {
        if (link("free/host", "free/link") == 0) {
            rename("free/link", "free/swap");
        }
    }
    return NULL;
}

static int
race_bind(struct notify_box *b)
{
    pthread_t thread;

    stop = false;
    EXPECT(pthread_create(&thread, NULL, put_host_in_place, NULL) == 0);
    for (int i = 0; i < FLIPS / 5; i++) {
        int fd;

        unlink("free/swap");
        fd = serve("free/swap");
        EXPECT(FAILS(reach("free/host", SOCK_NONBLOCK), EACCES));
        close(fd);
    }
    stop = true;
    pthread_join(thread, NULL);
    return 0;
}

START_TEST(a_socket_of_the_host_put_where_the_box_binds_is_still_the_hosts)
{
    ck_assert_int_eq(notify_box_run(&box, race_bind), 0);
}
END_TEST

static int
inet(int family, int type, const char *text, uint16_t port, bool send)
{
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
    struct sockaddr *address = family == AF_INET ? (struct sockaddr *)&in : (struct sockaddr *)&in6;
    socklen_t length = family == AF_INET ? sizeof in : sizeof in6;
    int fd = socket(family, type, 0);
    int r;

    inet_pton(family, text, family == AF_INET ? (void *)&in.sin_addr : (void *)&in6.sin6_addr);
    r = send ? (int)sendto(fd, "x", 1, 0, address, length) : connect(fd, address, length);
    return r < 0 ? -1 : fd;
}

static int
reach_out(struct notify_box *b)
{
    EXPECT(FAILS(inet(AF_INET, SOCK_STREAM, "203.0.113.5", 443, false), EACCES));
    EXPECT(FAILS(inet(AF_INET6, SOCK_STREAM, "2001:db8::1", 443, false), EACCES));
    EXPECT(FAILS(inet(AF_INET6, SOCK_STREAM, "::ffff:203.0.113.6", 443, false), EACCES));
    EXPECT(FAILS(inet(AF_INET, SOCK_DGRAM, "203.0.113.7", 53, true), EACCES));
    EXPECT(FAILS(inet(AF_INET, SOCK_DGRAM, "203.0.113.8", 53, false), EACCES));
    return 0;
}

START_TEST(every_address_outside_is_refused_with_an_event)
{
    ck_assert_int_eq(notify_box_run(&box, reach_out), 0);
    ck_assert(was_told("203.0.113.5", ""));
    ck_assert(was_told("2001:db8::1", ""));
    ck_assert(was_told("203.0.113.6", ""));
    ck_assert(was_told("203.0.113.7", ""));
    ck_assert(was_told("203.0.113.8", ""));
    ck_assert_uint_eq(box.n_told, 5);
}
END_TEST

static int
talk_over_loopback(struct notify_box *b)
{
    struct sockaddr_in in = { .sin_family = AF_INET };
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
    struct sockaddr none = { .sa_family = AF_UNSPEC };
    socklen_t length = sizeof in;
    int server = socket(AF_INET, SOCK_STREAM, 0), fd;
    uint16_t port;

    EXPECT(bind(server, (struct sockaddr *)&in, sizeof in) == 0 && listen(server, 8) == 0);
    EXPECT(getsockname(server, (struct sockaddr *)&in, &length) == 0);
    port = ntohs(in.sin_port);
    EXPECT(inet(AF_INET, SOCK_STREAM, "127.0.0.1", port, false) >= 0);
    EXPECT(inet(AF_INET, SOCK_STREAM, "127.9.9.9", port, false) >= 0);
    EXPECT(inet(AF_INET, SOCK_STREAM, "0.0.0.0", port, false) >= 0);
    EXPECT(inet(AF_INET6, SOCK_STREAM, "::ffff:127.0.0.1", port, false) >= 0);
    fd = inet(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, "127.0.0.1", port, false);
    EXPECT(fd >= 0 || errno == EINPROGRESS);
    EXPECT(FAILS(inet(AF_INET, SOCK_STREAM, "127.0.0.1", 1, false), ECONNREFUSED));
    EXPECT(inet(AF_INET, SOCK_DGRAM, "127.0.0.53", 53, true) >= 0);
    EXPECT(inet(AF_INET6, SOCK_DGRAM, "::1", 53, true) >= 0);
    fd = inet(AF_INET, SOCK_DGRAM, "127.0.0.1", 53, false);
    EXPECT(fd >= 0 && connect(fd, &none, sizeof none) == 0);
    server = socket(AF_INET6, SOCK_STREAM, 0);
    EXPECT(bind(server, (struct sockaddr *)&in6, sizeof in6) == 0 && listen(server, 8) == 0);
    return 0;
}

START_TEST(the_boxs_own_loopback_is_free_and_a_port_that_opens_is_told)
{
    ck_assert_int_eq(notify_box_run(&box, talk_over_loopback), 0);
    ck_assert(was_told("", "boundary:listen"));
    ck_assert_uint_eq(box.n_told, 2);
}
END_TEST

/* A full backlog: the connect waits without a worker, and ends when there is room. */
static void *
accept_later(void *data)
{
    int server = *(int *)data;

    poll(NULL, 0, 600);
    for (int i = 0; i < 3; i++) {
        accept(server, NULL, NULL);
    }
    return NULL;
}

static int
wait_for_backlog(struct notify_box *b)
{
    struct sockaddr_un address = unix_address("free/full");
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    pthread_t thread;

    EXPECT(bind(server, (struct sockaddr *)&address, sizeof address) == 0);
    EXPECT(listen(server, 0) == 0);
    EXPECT(reach("free/full", 0) >= 0);
    EXPECT(FAILS(reach("free/full", SOCK_NONBLOCK), EAGAIN));
    EXPECT(pthread_create(&thread, NULL, accept_later, &server) == 0);
    EXPECT(reach("free/full", 0) >= 0);
    return 0;
}

START_TEST(a_connect_that_must_wait_waits)
{
    ck_assert_int_eq(notify_box_run(&box, wait_for_backlog), 0);
}
END_TEST

#define STOPS 30

/* As a shell does with a job; each time what waits in the kernel is woken, whatever is blocked. */
static void
stop_again_and_again(pid_t host)
{
    for (int i = 0; i < STOPS; i++) {
        kill(host, SIGSTOP);
        poll(NULL, 0, 2);
        kill(host, SIGCONT);
        poll(NULL, 0, 25);
    }
}

START_TEST(a_stop_of_the_host_ends_no_connect_that_waits)
{
    const pid_t host = getpid(), stopper = fork();

    if (stopper == 0) {
        stop_again_and_again(host);
        _exit(0);
    }
    ck_assert_int_eq(notify_box_run(&box, wait_for_backlog), 0);
    ck_assert_int_eq(waitpid(stopper, NULL, 0), stopper);
}
END_TEST

static int
make_odd_sockets(struct notify_box *b)
{
    int pair[2];

    EXPECT(FAILS(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP), EPERM));
    EXPECT(FAILS(socket(AF_UNIX, SOCK_DGRAM, 0), EPERM));
    EXPECT(FAILS(socket(AF_PACKET, SOCK_DGRAM, 0), EPERM));
    EXPECT(FAILS(socket(AF_ALG, SOCK_SEQPACKET, 0), EAFNOSUPPORT));
    EXPECT(FAILS(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), EPERM));
    EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    EXPECT(socket(AF_NETLINK, SOCK_RAW, 0) >= 0);
    return 0;
}

START_TEST(sockets_that_no_box_gets_are_refused_with_an_event)
{
    ck_assert_int_eq(notify_box_run(&box, make_odd_sockets), 0);
    ck_assert(was_told("socket", "boundary:socket"));
    ck_assert(was_told("socketpair", "boundary:socketpair"));
    ck_assert_uint_eq(box.n_told, 5);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("net_live");
    TCase *tcase = tcase_create("net_live");

    tcase_set_timeout(tcase, 30);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, a_socket_that_the_box_made_is_reached);
    tcase_add_test(tcase, abstract_names_and_odd_addresses_are_as_the_kernel_has_them);
    tcase_add_test(tcase, a_socket_of_the_host_is_refused_with_an_event);
    tcase_add_test(tcase, a_path_that_changes_under_the_call_reaches_no_socket_of_the_host);
    tcase_add_test(tcase, a_socket_of_the_host_put_where_the_box_binds_is_still_the_hosts);
    tcase_add_test(tcase, every_address_outside_is_refused_with_an_event);
    tcase_add_test(tcase, the_boxs_own_loopback_is_free_and_a_port_that_opens_is_told);
    tcase_add_test(tcase, a_connect_that_must_wait_waits);
    tcase_add_test(tcase, a_stop_of_the_host_ends_no_connect_that_waits);
    tcase_add_test(tcase, sockets_that_no_box_gets_are_refused_with_an_event);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
