/* SPDX-License-Identifier: Apache-2.0
 * The connections that a dial tries, the next one where the one before fails or takes long; and
 * where that leads to a proxy outside, the question to it. */
#include "egress/dial_private.h"

#include "egress/decide.h"
#include "egress/through.h"

#include "base/mem.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#define NEXT_AFTER_MS 250

/* ---- through a proxy outside ---- */

void
dial_tell_proxy(struct dial *dial, const char *what)
{
    const struct destination *to = &dial->errand->destination;
    struct act act = {
        .request = ABX_REQUEST_CONNECT,
        .port = to->port,
        .target = to->name,
        .verb = "connect",
        .content = -1,
    };
    char reason[sizeof((struct refusal *)0)->reason];

    snprintf(reason, sizeof reason, "the proxy outside, '%.100s' port %u, %s", dial->proxy->host,
            dial->proxy->port, what);
    dial->box->broker->report(dial->box->broker->data, ABX_EVENT_NOTICE, &dial->errand->subject,
            &act, "network:upstream", reason, NULL);
}

/* It said no, for whoever runs it. */
static void
proxy_refused(struct dial *dial, int status)
{
    struct refusal refusal;

    upstream_refusal(dial->proxy, status, &refusal);
    tell_denial(dial->box, &dial->errand->subject, &dial->errand->destination, NULL, &refusal);
    dial_finish(dial, -1, EACCES, &refusal);
}

static void
proxy_answered(void *data, int status)
{
    struct dial *dial = data;
    char what[64];

    dial->through = NULL;
    if (status / 100 == 2) {
        dial_finish(dial, steal_fd(&dial->fd), 0, NULL);
    } else if (status / 100 == 4) {
        proxy_refused(dial, status);
    } else {
        snprintf(what, sizeof what, status < 0 ? "gave no answer: %s" : "answered %s%d",
                status < 0 ? strerror(-status) : "", status);
        dial_tell_proxy(dial, what);
        dial_finish(dial, -1, status == 504 ? ETIMEDOUT : EHOSTUNREACH, NULL);
    }
}

static void
ask_proxy(struct dial *dial, int fd)
{
    event_del(dial->next_timer);
    dial->fd = fd;
    dial->begun = dial->n; /* no other address */
    dial->through = through_start(
            dial->box, fd, dial->proxy, &dial->errand->destination, proxy_answered, dial);
    if (dial->through == NULL) {
        dial_tell_proxy(dial, "was not asked: it took no request, or there is no memory");
        dial_finish(dial, -1, ECONNRESET, NULL);
    }
}

/* ---- connecting ---- */
static bool
end_of(int fd, int (*get)(int fd, struct sockaddr *name, socklen_t *length),
        struct address *ret_end)
{
    *ret_end = (struct address){ .length = sizeof ret_end->storage };
    return get(fd, (struct sockaddr *)&ret_end->storage, &ret_end->length) == 0;
}

static in_port_t
port_at(const struct address *address)
{
    return address->storage.ss_family == AF_INET
                   ? ((const struct sockaddr_in *)&address->storage)->sin_port
                   : ((const struct sockaddr_in6 *)&address->storage)->sin6_port;
}

/* A connection to the caller itself, which loopback makes where nobody listens. */
static bool
is_own(const struct attempt *attempt)
{
    struct address here, there;

    return end_of(attempt->fd, getsockname, &here) &&
           port_at(&here) == port_at(&attempt->address) &&
           end_of(attempt->fd, getpeername, &there) && here.length == there.length &&
           memcmp(&here.storage, &there.storage, here.length) == 0;
}

/* What this host cannot reach at all says less than what an address answered. */
static bool
says_little(int error)
{
    return error == 0 || error == ENETUNREACH || error == EHOSTUNREACH || error == EADDRNOTAVAIL ||
           error == EAFNOSUPPORT;
}

/* The attempts that still go on. */
static void
drop_others(struct dial *dial)
{
    for (size_t i = 0; i < dial->n; i++) {
        if (dial->attempts[i].event != NULL) {
            event_free(dial->attempts[i].event);
            dial->attempts[i].event = NULL;
        }
        close_fd(steal_fd(&dial->attempts[i].fd));
    }
}

static void
succeeded(struct attempt *attempt)
{
    struct dial *dial = attempt->dial;
    int on = 1, fd;

    if (attempt->event != NULL) {
        event_free(attempt->event);
        attempt->event = NULL;
    }
    fd = steal_fd(&attempt->fd);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    if (dial->proxy != NULL && dial->use == DIAL_TUNNEL) {
        drop_others(dial);
        ask_proxy(dial, fd);
    } else {
        dial_finish(dial, fd, 0, NULL);
    }
}

/* The dial may be over after it. */
static void
attempt_failed(struct attempt *attempt, int error)
{
    struct dial *dial = attempt->dial;

    if (attempt->event != NULL) {
        event_free(attempt->event);
        attempt->event = NULL;
    }
    close_fd(steal_fd(&attempt->fd));
    dial->failed++;
    dial->error = says_little(dial->error) ? error : dial->error;
    if (dial->begun < dial->n) {
        dial_next(dial);
    } else if (dial->failed == dial->n) {
        if (dial->proxy != NULL) {
            char what[128];

            snprintf(what, sizeof what, "is not reached: %s", strerror(dial->error));
            dial_tell_proxy(dial, what);
        }
        dial_finish(dial, -1, dial->error, NULL);
    }
}

static void
attempt_ready(evutil_socket_t fd, short events, void *data)
{
    struct attempt *attempt = data;
    int error = 0;
    socklen_t size = sizeof error;

    if (getsockopt(attempt->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0) {
        error = errno;
    }
    if (error == 0 && is_own(attempt)) {
        error = ECONNREFUSED;
    }
    if (error != 0) {
        attempt_failed(attempt, error);
    } else {
        succeeded(attempt);
    }
}

static int
connect_to(const struct attempt *attempt)
{
    const struct sockaddr *to = (const struct sockaddr *)&attempt->address.storage;

    return connect(attempt->fd, to, attempt->address.length) < 0 ? errno : 0;
}

/* 0: it goes on, or *ret_done; else an errno. */
static int
begin(struct attempt *attempt, bool *ret_done)
{
    int error;

    attempt->fd = socket(attempt->address.storage.ss_family,
            SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
    if (attempt->fd < 0) {
        return errno;
    }
    error = connect_to(attempt);
    if (error == EINPROGRESS) { /* who is on this host has answered by now, often */
        error = connect_to(attempt);
    }
    if (error != EALREADY) {
        *ret_done = error == 0;
        return error == 0 && is_own(attempt) ? ECONNREFUSED : error;
    }
    attempt->event = event_new(
            egress_base(attempt->dial->box), attempt->fd, EV_WRITE, attempt_ready, attempt);
    return attempt->event == NULL || event_add(attempt->event, NULL) != 0 ? ENOMEM : 0;
}

void
dial_next(struct dial *dial)
{
    static const struct timeval wait = { .tv_usec = NEXT_AFTER_MS * 1000 };
    struct attempt *attempt = &dial->attempts[dial->begun++];
    bool done = false;
    int error;

    attempt->dial = dial;
    if (dial->begun < dial->n) {
        event_add(dial->next_timer, &wait);
    }
    error = begin(attempt, &done);
    if (error != 0) {
        attempt_failed(attempt, error);
    } else if (done) {
        succeeded(attempt);
    }
}

void
dial_next_is_due(evutil_socket_t fd, short events, void *data)
{
    struct dial *dial = data;

    if (dial->begun < dial->n) {
        dial_next(dial);
    }
}

void
dial_patience_is_over(evutil_socket_t fd, short events, void *data)
{
    struct dial *dial = data;

    if (dial->proxy != NULL) {
        dial_tell_proxy(dial, "does not answer");
    }
    dial_finish(dial, -1, ETIMEDOUT, NULL);
}
