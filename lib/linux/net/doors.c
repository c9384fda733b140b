/* SPDX-License-Identifier: Apache-2.0
 * Owns the listeners and what is on its way through them.  A connection is expected by who made it,
 * on any thread, and arrives on the loop's, in whichever order; the second of the two hands it
 * over. The lock guards both lists and is not held across calls of the gateway. */
#include "linux/net/doors.h"

#include "linux/net/listening.h"
#include "plan/network.h"
#include "plan/wire.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define PENDING_MAX 2048u
#define PATIENCE_NS 30000000000u /* for the other half of a connection */
#define BACKLOG 4096

/* A listener that was made on request. */
struct door {
    int fd;
    uint16_t port;
    uint64_t used;
};

/* Half of a connection. */
struct half {
    struct endpoint from, to;
    uint64_t since_ns;
    struct passage *passage; /* expected; NULL: arrived, as `fd` */
    int fd;
};

struct doors {
    struct boundary *boundary;
    struct listening *listening;
    uint16_t shared_port; /* without a network of its own: where everything arrives, at the host's
                             loopback; else 0 */
    char proxy[64];
    pthread_mutex_t lock; /* of what follows */
    struct vec open; /* struct door */
    struct vec halves; /* struct half, the oldest first */
    uint64_t clock;
};

/* ---- the two halves of a connection ---- */

static void
drop_half(struct half *half)
{
    passage_free(half->passage);
    close_fd(half->fd);
}

/* Takes out the other half; false: it is not there yet. */
static bool
take_other(struct doors *doors, const struct half *half, struct half *ret_other)
{
    for (size_t i = 0; i < doors->halves.count; i++) {
        const struct half *other = vec_at(&doors->halves, struct half, i);

        if (endpoint_equal(&other->from, &half->from) && endpoint_equal(&other->to, &half->to) &&
                (other->passage == NULL) != (half->passage == NULL)) {
            *ret_other = *other;
            vec_remove(&doors->halves, i);
            return true;
        }
    }
    return false;
}

/* Takes out one that has waited too long, or for which there is no room. */
static bool
take_old(struct doors *doors, uint64_t now, struct half *ret_old)
{
    const struct half *oldest = vec_at(&doors->halves, struct half, 0);

    if (doors->halves.count == 0 ||
            (doors->halves.count < PENDING_MAX && now < oldest->since_ns + PATIENCE_NS)) {
        return false;
    }
    *ret_old = *oldest;
    vec_remove(&doors->halves, 0);
    return true;
}

static bool
keep_half(struct doors *doors, const struct half *half)
{
    struct half *place = vec_add(&doors->halves);

    if (place != NULL) {
        *place = *half;
    }
    return place != NULL;
}

/* Hands the connection over if both halves are there. */
static void
meet(struct doors *doors, struct half *half)
{
    struct half other = { .fd = -1 }, old = { .fd = -1 };
    bool has_met, is_kept;

    pthread_mutex_lock(&doors->lock);
    half->since_ns = clock_now_ns(); /* under the lock: the oldest stays first */
    while (take_old(doors, half->since_ns, &old)) {
        pthread_mutex_unlock(&doors->lock);
        drop_half(&old);
        pthread_mutex_lock(&doors->lock);
    }
    has_met = take_other(doors, half, &other);
    is_kept = !has_met && keep_half(doors, half);
    pthread_mutex_unlock(&doors->lock);
    if (has_met) {
        passage_finish(half->passage != NULL ? half->passage : other.passage,
                half->passage != NULL ? other.fd : half->fd);
    } else if (!is_kept) {
        drop_half(half);
    }
}

static bool
end_of(int socket, int (*get)(int socket, struct sockaddr *address, socklen_t *length),
        struct endpoint *ret_endpoint)
{
    struct address address = { .length = sizeof address.storage };

    if (get(socket, (struct sockaddr *)&address.storage, &address.length) < 0) {
        return false;
    }
    *ret_endpoint = address_endpoint(&address);
    return true;
}

void
doors_expect(struct doors *doors, int socket, const struct address *target, struct passage *passage)
{
    struct half half = { .to = address_endpoint(target), .passage = passage, .fd = -1 };

    if (end_of(socket, getsockname, &half.from)) {
        meet(doors, &half);
    } else {
        passage_free(passage);
    }
}

/* What it was connected to must be what it arrived at. */
static void
arrive(void *data, uint32_t port, int fd)
{
    struct doors *doors = data;
    struct half half = { .fd = fd };

    if (end_of(fd, getpeername, &half.from) && end_of(fd, getsockname, &half.to)) {
        meet(doors, &half);
    } else {
        close_fd(fd); /* over already */
    }
}

/* ---- listeners ---- */

/* Under lock; NULL: it does not stand. */
static struct door *
find(struct doors *doors, uint16_t port)
{
    for (size_t i = 0; i < doors->open.count; i++) {
        struct door *door = vec_at(&doors->open, struct door, i);

        if (door->port == port) {
            door->used = ++doors->clock;
            return door;
        }
    }
    return NULL;
}

void
doors_answer(struct doors *doors, uint16_t port)
{
    const struct door *door;
    int fd;

    pthread_mutex_lock(&doors->lock);
    door = find(doors, port);
    fd = door == NULL ? -1 : door->fd;
    pthread_mutex_unlock(&doors->lock);
    if (fd >= 0) {
        listening_accept(doors->listening, fd);
    }
}

/* Under lock. Where there are too many, takes out the one that was used longest ago; else -1. */
static int
take_unused(struct doors *doors)
{
    size_t oldest = 0;
    int fd = -1;

    for (size_t i = 1; i < doors->open.count; i++) {
        if (vec_at(&doors->open, struct door, i)->used <
                vec_at(&doors->open, struct door, oldest)->used) {
            oldest = i;
        }
    }
    if (doors->open.count > DOORS_MAX) {
        fd = vec_at(&doors->open, struct door, oldest)->fd;
        vec_remove(&doors->open, oldest);
    }
    return fd;
}

static int
add(struct doors *doors, int fd, uint16_t port)
{
    struct door *place;
    int unused;

    if (!listening_add(doors->listening, fd, port)) {
        return -ENOMEM;
    }
    pthread_mutex_lock(&doors->lock);
    place = vec_add(&doors->open);
    if (place != NULL) {
        *place = (struct door){ fd, port, ++doors->clock };
    }
    unused = place == NULL ? fd : take_unused(doors);
    pthread_mutex_unlock(&doors->lock);
    if (unused >= 0) {
        listening_remove(doors->listening, unused);
    }
    return place == NULL ? -ENOMEM : 0;
}

/* Another worker may have asked at the same time: then one stands. */
static int
make(struct doors *doors, uint16_t port)
{
    int fd = boundary_make_socket(doors->boundary, WIRE_SOCKET_GATEWAY, port);

    if (fd < 0) {
        return fd == -EADDRINUSE ? 0 : fd;
    }
    return add(doors, fd, port);
}

bool
doors_add(struct doors *doors, int fd, uint16_t port)
{
    return listening_add(doors->listening, fd, port);
}

int
doors_open(
        struct doors *doors, const struct address *to, bool may_block, struct address *ret_target)
{
    const uint16_t port = address_port(to);
    bool does_stand;

    *ret_target = *to;
    if (doors->shared_port != 0) {
        address_point_to(ret_target, INADDR_LOOPBACK, doors->shared_port);
        return 0;
    }
    if (address_is_loopback(to)) {
        return 0;
    }
    pthread_mutex_lock(&doors->lock);
    does_stand = find(doors, port) != NULL;
    pthread_mutex_unlock(&doors->lock);
    if (does_stand) {
        return 0;
    }
    return may_block ? make(doors, port) : -EAGAIN;
}

bool
doors_are_at(const struct doors *doors, const struct address *target)
{
    return doors->shared_port == 0 && !address_is_loopback(target);
}

bool
doors_is_proxy(const struct doors *doors, const struct address *address)
{
    uint32_t host;

    if (doors->shared_port != 0) {
        return address_ipv4(address, &host) && host == INADDR_LOOPBACK &&
               address_port(address) == doors->shared_port;
    }
    return address_is_own(address, NETWORK_GATEWAY) && address_port(address) == NETWORK_PROXY_PORT;
}

const char *
doors_proxy(const struct doors *doors)
{
    return doors->proxy;
}

/* ---- the whole ---- */

/* Any address of the host's loopback that is free, for this box alone: who else connects to it is
 * not expected. */
static bool
open_shared(struct doors *doors)
{
    struct address address = address_of_ipv4(INADDR_LOOPBACK, 0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address.storage, address.length) < 0 ||
            listen(fd, BACKLOG) < 0 ||
            getsockname(fd, (struct sockaddr *)&address.storage, &address.length) < 0) {
        close_fd(fd);
        return false;
    }
    doors->shared_port = address_port(&address);
    snprintf(doors->proxy, sizeof doors->proxy, "http://127.0.0.1:%u", doors->shared_port);
    return doors_add(doors, fd, doors->shared_port);
}

struct doors *
doors_new(struct boundary *boundary, struct fail *fail)
{
    struct doors *doors = calloc(1, sizeof *doors);

    if (doors == NULL) {
        fail_nomem(fail);
        return NULL;
    }
    doors->boundary = boundary;
    doors->open = VEC(struct door);
    doors->halves = VEC(struct half);
    pthread_mutex_init(&doors->lock, NULL);
    snprintf(doors->proxy, sizeof doors->proxy, "%s", NETWORK_PROXY_URL);
    doors->listening = listening_new(boundary->loop, arrive, doors);
    if (doors->listening == NULL || (plan_shares_network(boundary->plan) && !open_shared(doors))) {
        fail_set(fail, ABX_ERR_SETUP, errno, "network:gateway", "connections cannot be accepted");
        doors_free(doors);
        return NULL;
    }
    return doors;
}

abx_status
doors_watch(struct doors *doors, struct fail *fail)
{
    return listening_watch(doors->listening)
                   ? ABX_OK
                   : fail_set(fail, ABX_ERR_SETUP, errno, "network:gateway",
                             "connections cannot be watched");
}

void
doors_free(struct doors *doors)
{
    if (doors == NULL) {
        return;
    }
    listening_free(doors->listening);
    for (size_t i = 0; i < doors->halves.count; i++) {
        drop_half(vec_at(&doors->halves, struct half, i));
    }
    vec_done(&doors->halves);
    vec_done(&doors->open);
    pthread_mutex_destroy(&doors->lock);
    free(doors);
}
