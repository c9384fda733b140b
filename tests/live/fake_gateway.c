/* SPDX-License-Identifier: Apache-2.0 */
#include "live/fake_gateway.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define WAIT_SECONDS 20
#define HELLO "hello\n"

/* ---- sockets of the host ---- */

static int
reach(uint16_t port)
{
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (connect(fd, (const struct sockaddr *)&to, sizeof to) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static int
open_port(uint16_t *port)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(*port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
    };
    socklen_t size = sizeof at;
    const int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    *port = ntohs(at.sin_port);
    return fd;
}

uint16_t
free_port(void)
{
    static unsigned int n;

    while (n < 4500) {
        const uint16_t port = (uint16_t)(61000 + ((unsigned int)getpid() * 16 + n++) % 4500);
        const struct sockaddr_in at = { .sin_family = AF_INET,
            .sin_port = htons(port),
            .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const int r = bind(fd, (const struct sockaddr *)&at, sizeof at);

        close(fd);
        if (r == 0) {
            return port;
        }
    }
    ck_abort_msg("no port is free");
}

int
serve_unix(const char *path)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq(listen(fd, 4), 0);
    return fd;
}

static void *
say_hello(void *data)
{
    int fd = (int)(intptr_t)data;
    char buffer[16384];
    ssize_t n = send(fd, HELLO, strlen(HELLO), MSG_NOSIGNAL);

    while (n > 0 && (n = recv(fd, buffer, sizeof buffer, 0)) > 0) {
        n = send(fd, buffer, (size_t)n, MSG_NOSIGNAL);
    }
    close(fd);
    return NULL;
}

static bool
start(void *(*fn)(void *data), void *data)
{
    pthread_attr_t attributes;
    pthread_t thread;
    int r;

    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    r = pthread_create(&thread, &attributes, fn, data);
    pthread_attr_destroy(&attributes);
    return r == 0;
}

static void *
serve(void *data)
{
    struct hello_server *server = data;
    int fd;

    while ((fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        start(say_hello, (void *)(intptr_t)fd);
    }
    return NULL;
}

void
hello_server_start(struct hello_server *server, uint16_t port)
{
    server->port = port;
    server->fd = open_port(&server->port);
    ck_assert_int_eq(listen(server->fd, 1024), 0);
    ck_assert_int_eq(pthread_create(&server->thread, NULL, serve, server), 0);
}

void
hello_server_stop(struct hello_server *server)
{
    shutdown(server->fd, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->fd);
}

/* ---- passing on ---- */

struct pair {
    struct fake_gateway *fake;
    int a, b;
};

static void
count(struct fake_gateway *fake, unsigned int *counter, int step)
{
    pthread_mutex_lock(&fake->lock);
    *counter += (unsigned int)step;
    pthread_cond_broadcast(&fake->changed);
    pthread_mutex_unlock(&fake->lock);
}

static void
block(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
}

/* False: that direction is over. */
static bool
pass(int from, int to)
{
    char buffer[65536];
    ssize_t n = recv(from, buffer, sizeof buffer, 0);

    for (ssize_t done = 0; n > 0 && done < n;) {
        ssize_t sent = send(to, buffer + done, (size_t)(n - done), MSG_NOSIGNAL);

        if (sent < 0) {
            return false;
        }
        done += sent;
    }
    if (n <= 0) {
        shutdown(to, SHUT_WR);
    }
    return n > 0;
}

static void *
pass_on(void *data)
{
    struct pair pair = *(struct pair *)data;
    struct pollfd fds[2] = { { .fd = pair.a, .events = POLLIN },
        { .fd = pair.b, .events = POLLIN } };

    free(data);
    block(pair.a);
    block(pair.b);
    while ((fds[0].fd >= 0 || fds[1].fd >= 0) && poll(fds, 2, -1) > 0) {
        if (fds[0].revents != 0 && !pass(pair.a, pair.b)) {
            fds[0].fd = -1;
        }
        if (fds[1].revents != 0 && !pass(pair.b, pair.a)) {
            fds[1].fd = -1;
        }
    }
    close(pair.a);
    close(pair.b);
    count(pair.fake, &pair.fake->n_threads, -1);
    return NULL;
}

static void
pass_between(struct fake_gateway *fake, int a, int b)
{
    struct pair *pair = malloc(sizeof *pair);

    *pair = (struct pair){ fake, a, b };
    count(fake, &fake->n_threads, 1);
    ck_assert(start(pass_on, pair));
}

/* As the egress does where nothing answers: a reset. */
static void
reset(int fd)
{
    const struct linger now = { .l_onoff = 1 };

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(fd);
}

/* ---- the gateway ---- */

static const struct fake_route *
find_route(const struct fake_gateway *fake, const struct destination *destination)
{
    for (size_t i = 0; i < FAKE_ROUTES; i++) {
        const struct fake_route *route = &fake->routes[i];

        if (route->name != NULL && strcmp(route->name, destination->name) == 0 &&
                (route->port == 0 || route->port == destination->port)) {
            return route;
        }
    }
    return NULL;
}

static int
go(struct fake_gateway *fake, const struct destination *destination, int *ret_error)
{
    const struct fake_route *route = find_route(fake, destination);
    uint16_t port = route != NULL ? route->host_port : 0;
    int fd = -1;

    if (destination->way == WAY_HOST_LOOPBACK) {
        port = destination->port;
    }
    if (route != NULL && route->error != 0) {
        *ret_error = route->error;
        return -1;
    }
    if (port != 0) {
        fd = reach(port);
    }
    *ret_error = fd < 0 ? ECONNREFUSED : 0;
    return fd;
}

struct dial {
    struct fake_gateway *fake;
    struct destination destination;
    char name[128];
    dialled_fn fn;
    void *data;
};

static void *
run_dial(void *data)
{
    struct dial *dial = data;
    struct fake_gateway *fake = dial->fake;
    uint64_t number = 0;
    int error = 0;
    int fd;

    poll(NULL, 0, fake->delay_ms);
    fd = go(fake, &dial->destination, &error);
    if (fd >= 0) {
        pthread_mutex_lock(&fake->lock);
        while (fake->dialled[number] != 0) {
            number++;
        }
        fake->dialled[number++] = fd;
        pthread_mutex_unlock(&fake->lock);
    }
    dial->fn(dial->data, error, number);
    count(fake, &fake->n_threads, -1);
    free(dial);
    return NULL;
}

static void
dial(void *data, const struct subject *subject, const struct destination *destination,
        dialled_fn fn, void *fn_data)
{
    struct fake_gateway *fake = data;
    struct dial *work = calloc(1, sizeof *work);

    *work = (struct dial){ .fake = fake, .destination = *destination, .fn = fn, .data = fn_data };
    snprintf(work->name, sizeof work->name, "%s", destination->name);
    work->destination.name = work->name;
    count(fake, &fake->n_threads, 1);
    count(fake, &fake->n_dials, 1);
    if (fake->delay_ms == 0) {
        run_dial(work); /* before this returns */
    } else {
        ck_assert(start(run_dial, work));
    }
}

static int
take(struct fake_gateway *fake, uint64_t dialled)
{
    int fd;

    pthread_mutex_lock(&fake->lock);
    fd = fake->dialled[dialled - 1];
    fake->dialled[dialled - 1] = -1;
    pthread_mutex_unlock(&fake->lock);
    ck_assert_int_gt(fd, 0);
    return fd;
}

static void
hang_up(void *data, uint64_t dialled)
{
    struct fake_gateway *fake = data;

    close(take(fake, dialled));
    count(fake, &fake->n_hung_up, 1);
}

static void
remember(struct fake_gateway *fake, const struct subject *subject,
        const struct destination *destination, bool was_dialled)
{
    struct fake_connection *entry;

    pthread_mutex_lock(&fake->lock);
    ck_assert_uint_lt(fake->n_connected, FAKE_LOG);
    entry = &fake->log[fake->n_connected++];
    *entry = (struct fake_connection){ .way = destination->way,
        .port = destination->port,
        .command = subject->command,
        .was_dialled = was_dialled };
    snprintf(entry->name, sizeof entry->name, "%s", destination->name);
    snprintf(entry->program, sizeof entry->program, "%s", subject->program);
    pthread_cond_broadcast(&fake->changed);
    pthread_mutex_unlock(&fake->lock);
}

static void
connected(void *data, int fd, const struct subject *subject, const struct destination *destination,
        uint64_t dialled)
{
    struct fake_gateway *fake = data;
    int error, out;

    remember(fake, subject, destination, dialled != 0);
    ck_assert_int_ne(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
    if (destination->way == WAY_PROXY) {
        ck_assert_int_gt(send(fd, "proxy\n", 6, MSG_NOSIGNAL), 0);
        close(fd);
        return;
    }
    out = dialled != 0 ? take(fake, dialled) : go(fake, destination, &error);
    if (out < 0) {
        reset(fd);
    } else {
        pass_between(fake, fd, out);
    }
}

static void
relay(void *data, int client, int server)
{
    struct fake_gateway *fake = data;

    count(fake, &fake->n_relayed, 1);
    pass_between(fake, client, server);
}

void
fake_gateway_init(struct fake_gateway *fake)
{
    *fake = (struct fake_gateway){ .gateway = { fake, dial, hang_up, connected, relay } };
    pthread_mutex_init(&fake->lock, NULL);
    pthread_cond_init(&fake->changed, NULL);
}

void
fake_gateway_route(
        struct fake_gateway *fake, const char *name, uint16_t port, uint16_t host_port, int error)
{
    size_t i = 0;

    while (fake->routes[i].name != NULL) {
        i++;
    }
    ck_assert_uint_lt(i, FAKE_ROUTES);
    fake->routes[i] = (struct fake_route){ name, port, host_port, error };
}

static bool
wait_for(struct fake_gateway *fake, const unsigned int *counter, unsigned int value, bool is_least)
{
    struct timespec deadline;
    int r = 0;
    bool is_so;

    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += WAIT_SECONDS;
    pthread_mutex_lock(&fake->lock);
    while ((is_least ? *counter < value : *counter > value) && r == 0) {
        r = pthread_cond_timedwait(&fake->changed, &fake->lock, &deadline);
    }
    is_so = is_least ? *counter >= value : *counter <= value;
    pthread_mutex_unlock(&fake->lock);
    return is_so;
}

bool
fake_gateway_wait(struct fake_gateway *fake, const unsigned int *counter, unsigned int value)
{
    return wait_for(fake, counter, value, true);
}

void
fake_gateway_done(struct fake_gateway *fake)
{
    ck_assert(wait_for(fake, &fake->n_threads, 0, false));
    for (size_t i = 0; i < FAKE_DIALS; i++) {
        ck_assert_msg(fake->dialled[i] <= 0, "dialled and neither used nor hung up");
    }
    pthread_cond_destroy(&fake->changed);
    pthread_mutex_destroy(&fake->lock);
}
