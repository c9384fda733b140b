/* SPDX-License-Identifier: Apache-2.0
 * Owns connects from their start on: each has copies of what it needs, and nothing of the box's.
 * The lock guards the list and who is told; it is held while a call is answered, so that the box
 * cannot go meanwhile.  A call is known here by a number only: it may be dropped at any time. */
#include "linux/net/connecting.h"

#include "linux/listen/listeners.h"
#include "linux/listen/workers.h"
#include "linux/net/dialling.h"
#include "linux/net/doors.h"
#include "linux/net/net_private.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE_US 200000 /* how long a thread waits before the call is set aside */
#define QUEUE_MAX 8192 /* more pieces than a queue can have; 0 may be the end, or an empty one */
#define LATER (-1) /* instead of an errno */

struct connectors {
    atomic_uint parts; /* the box's, and one for each connect */
    struct workers *workers;
    pthread_mutex_t lock; /* of what follows */
    struct listeners *listeners; /* NULL: the box is closed */
    struct connecting *first;
};

struct connecting {
    struct connecting *next;
    struct connectors *connectors;
    int fd, object;
    struct address address;
    struct passage *passage; /* or NULL; what was dialled stays with the call until it is used */
    int error; /* or LATER */
    bool tells_refused; /* where it was, that is told */
};

/* ---- at once ---- */

/* connect() asks the socket whether to wait, which is the box's; this asks its own flags.  Without
 * data it sends what a connect sends, and asks for a cookie, which no listener of ours gives. */
static int
connect_without_waiting(int fd, const struct address *to)
{
    const struct sockaddr *name = (const struct sockaddr *)&to->storage;
    const int flags = MSG_FASTOPEN | MSG_DONTWAIT | MSG_NOSIGNAL;

    return sendto(fd, NULL, 0, flags, name, to->length) < 0 ? errno : 0;
}

int
connecting_try(int fd, const struct address *to)
{
    int protocol = 0, error;
    socklen_t size = sizeof protocol;

    if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) < 0 || protocol != IPPROTO_TCP) {
        return 1;
    }
    error = connect_without_waiting(fd, to);
    if (error == EINPROGRESS && (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0) {
        error = connect_without_waiting(fd, to); /* the listener has answered by now, mostly */
    }
    /* EOPNOTSUPP: the system's settings are without it. */
    return error == EALREADY || error == EAGAIN || error == EOPNOTSUPP ? 1 : -error;
}

/* ---- the threads of a box ---- */

struct connectors *
connectors_new(struct listeners *listeners)
{
    struct connectors *connectors = calloc(1, sizeof *connectors);

    if (connectors == NULL) {
        return NULL;
    }
    connectors->workers = workers_new();
    if (connectors->workers == NULL) {
        free(connectors);
        return NULL;
    }
    atomic_init(&connectors->parts, 1);
    pthread_mutex_init(&connectors->lock, NULL);
    connectors->listeners = listeners;
    return connectors;
}

static void
unref(struct connectors *connectors)
{
    if (atomic_fetch_sub(&connectors->parts, 1) == 1) {
        pthread_mutex_destroy(&connectors->lock);
        free(connectors);
    }
}

/* A handshake ends with its socket.  A unix socket waits for a listener, which may be in the
 * socket's own queue, on the way to nobody: it ends when that is emptied. */
static void
wake(int fd)
{
    char bytes[4096];

    shutdown(fd, SHUT_RDWR);
    for (int i = 0; i < QUEUE_MAX && recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) >= 0; i++) {
    }
}

void
connectors_leave(struct connectors *connectors)
{
    if (connectors == NULL) {
        return;
    }
    pthread_mutex_lock(&connectors->lock);
    connectors->listeners = NULL;
    for (const struct connecting *one = connectors->first; one != NULL; one = one->next) {
        wake(one->fd);
    }
    pthread_mutex_unlock(&connectors->lock);
    workers_leave(connectors->workers);
    unref(connectors);
}

/* ---- one connect ---- */

struct connecting *
connecting_new(int fd, const struct address *address, int object, struct passage **passage)
{
    struct connecting *connecting = calloc(1, sizeof *connecting);

    if (connecting == NULL) {
        return NULL;
    }
    connecting->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    connecting->object = object < 0 ? -1 : fcntl(object, F_DUPFD_CLOEXEC, 3);
    connecting->address = *address;
    if (connecting->fd < 0 || (object >= 0 && connecting->object < 0)) {
        connecting_free(connecting);
        return NULL;
    }
    connecting->passage = passage == NULL ? NULL : steal_ptr(passage);
    return connecting;
}

void
connecting_free(struct connecting *connecting)
{
    if (connecting != NULL) {
        close_fd(connecting->fd);
        close_fd(connecting->object);
        passage_free(connecting->passage);
        free(connecting);
    }
}

void
connecting_tell_refused(struct connecting *connecting)
{
    connecting->tells_refused = true;
}

/* A path cannot be longer than an address; any object can be named so. */
static void
name_object(struct connecting *connecting)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };

    snprintf(name.sun_path, sizeof name.sun_path, "/proc/self/fd/%d", connecting->object);
    connecting->address = (struct address){ .length = sizeof name };
    memcpy(&connecting->address.storage, &name, sizeof name);
}

static int
connect_now(const struct connecting *connecting)
{
    const struct sockaddr *to = (const struct sockaddr *)&connecting->address.storage;

    return connect(connecting->fd, to, connecting->address.length) < 0 ? errno : 0;
}

/* A connect that waits for a full backlog would hold a thread: it is given up for now, and asked
 * again later, when it finds its own attempt going on or done. */
static int
connect_patiently(const struct connecting *connecting)
{
    static const struct timeval patience = { .tv_usec = PATIENCE_US };
    struct timeval before = { 0 };
    socklen_t size = sizeof before;
    int fd = connecting->fd, error;
    bool limited;

    if ((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0) {
        return connect_now(connecting);
    }
    getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &before, &size);
    limited = before.tv_sec == 0 && before.tv_usec > 0 && before.tv_usec <= PATIENCE_US;
    if (!limited) {
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    }
    error = connect_now(connecting);
    if (!limited) {
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &before, sizeof before);
    }
    if (!limited && (error == EINPROGRESS || error == EALREADY || error == EAGAIN)) {
        return LATER;
    }
    return error == EINTR ? LATER : error; /* a stop of the host: no signal of the caller's */
}

/* A socket that does not wait is refused behind the call, on loopback at once.  The error stays the
 * caller's. */
static bool
was_refused(const struct connecting *connecting)
{
    struct pollfd state = { .fd = connecting->fd, .events = POLLOUT };

    return connecting->error == ECONNREFUSED ||
           (connecting->error == EINPROGRESS && poll(&state, 1, PATIENCE_US / 1000) == 1 &&
                   (state.revents & POLLERR) != 0);
}

/* Under lock: answers the call, if it still waits. */
static void
tell(struct connecting *connecting, struct listeners *listeners)
{
    struct call *call = held_connected(listeners, connecting);
    struct passage **passage = &connecting->passage;

    if (call == NULL) {
        return;
    }
    call->waits_for = NULL;
    if (connecting->error == LATER) {
        call->wait = WAIT_WHILE;
        held_add(call);
        return;
    }
    if (call->dialling != NULL) {
        (void)dialling_result(call->dialling, &passage);
    }
    if (*passage != NULL && (connecting->error == 0 || connecting->error == EINPROGRESS)) {
        doors_expect(
                call->boundary->doors, connecting->fd, &connecting->address, steal_ptr(passage));
    }
    if (connecting->tells_refused) {
        net_tell_refused(call, &connecting->address);
    }
    call_finish(call,
            connecting->error == 0 ? call_return(call, 0) : call_fail(call, connecting->error));
}

static void
finish(struct connecting *connecting)
{
    struct connectors *connectors = connecting->connectors;

    pthread_mutex_lock(&connectors->lock);
    for (struct connecting **at = &connectors->first; *at != NULL; at = &(*at)->next) {
        if (*at == connecting) {
            *at = connecting->next;
            break;
        }
    }
    if (connectors->listeners != NULL) {
        tell(connecting, connectors->listeners);
    }
    pthread_mutex_unlock(&connectors->lock);
    connecting_free(connecting);
    unref(connectors);
}

static bool
is_wanted(struct connectors *connectors)
{
    bool wanted;

    pthread_mutex_lock(&connectors->lock);
    wanted = connectors->listeners != NULL;
    pthread_mutex_unlock(&connectors->lock);
    return wanted;
}

static void
run(void *data)
{
    struct connecting *connecting = data;

    if (connecting->object >= 0) {
        name_object(connecting);
    }
    connecting->error =
            is_wanted(connecting->connectors) ? connect_patiently(connecting) : ECANCELED;
    connecting->tells_refused = connecting->tells_refused && was_refused(connecting);
    finish(connecting);
}

void
connecting_start(struct call *call)
{
    struct connecting *connecting = steal_ptr(&call->connecting);
    struct connectors *connectors = call->boundary->listeners->connectors;

    connecting->connectors = connectors;
    atomic_fetch_add(&connectors->parts, 1);
    pthread_mutex_lock(&connectors->lock);
    connecting->next = connectors->first;
    connectors->first = connecting;
    pthread_mutex_unlock(&connectors->lock);
    call->waits_for = connecting;
    call->wait = WAIT_CONNECT;
    held_add(call);
    if (workers_do(connectors->workers, run, connecting) != 0) {
        connecting->error = LATER; /* as many wait as may */
        finish(connecting);
    }
}
