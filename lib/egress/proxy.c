/* SPDX-License-Identifier: Apache-2.0
 * The explicit proxy: HTTP CONNECT, absolute-form HTTP, SOCKS 4, 4a and 5, told apart by the first
 * byte.  Reads no further than what it answers, so what follows is still in the socket when the
 * connection is handed on.  What is asked for is decided as a connect of the program would be. */
#include "egress/proxy.h"

#include "egress/decide.h"
#include "egress/dial.h"
#include "egress/farewell.h"
#include "egress/http_head.h"
#include "egress/problem.h"
#include "egress/reading.h"
#include "egress/socks.h"
#include "egress/transparent.h"

#include "base/mem.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define REQUEST_S 60 /* a client that asked for nothing by then is sent away */

struct proxy {
    struct part part;
    struct egress_box *box;
    struct errand *asker; /* without a destination */
    struct errand *errand; /* with one; NULL until it is known */
    struct decision *decision;
    struct dial *dial;
    struct event *event;
    struct socks socks;
    size_t head; /* length of the CONNECT that is answered when it is known how */
    int fd;
};

/* Gives the descriptor away. */
static int
proxy_free(struct proxy *proxy)
{
    int fd = proxy->fd;

    part_remove(&proxy->part);
    decision_cancel(proxy->decision);
    dial_cancel(proxy->dial);
    if (proxy->event != NULL) {
        event_free(proxy->event);
    }
    free(proxy->asker);
    free(proxy->errand);
    free(proxy);
    return fd;
}

static void
end_part(struct part *part)
{
    close_with_reset(proxy_free((struct proxy *)part));
}

static bool
speaks_socks(const struct proxy *proxy)
{
    return proxy->socks.version != 0;
}

/* ---- answers ---- */
/* The bytes are not the proxy's, which is gone first. */
static void
say_last(struct proxy *proxy, const void *bytes, size_t length)
{
    struct egress_box *box = proxy->box;

    farewell(box, proxy_free(proxy), bytes, length);
}

static void
say_last_in_socks(struct proxy *proxy)
{
    struct socks last = proxy->socks;

    say_last(proxy, last.reply, last.reply_length);
}

static void
say_problem(struct proxy *proxy, const struct problem *problem)
{
    struct str response = { 0 };

    problem_response(problem, &response);
    say_last(proxy, response.data, response.failed ? 0 : response.length);
    str_done(&response);
}

/* The destination was refused, or not reached. */
static void
fail(struct proxy *proxy, int error, const struct refusal *refusal)
{
    struct problem problem = {
        .status = 403,
        .detail = "the connection was refused",
        .name = proxy->errand->destination.name,
        .port = proxy->errand->destination.port,
        .backend = proxy->box->backend,
        .refusal = refusal,
    };

    if (speaks_socks(proxy)) {
        socks_answer(&proxy->socks, error);
        say_last_in_socks(proxy);
        return;
    }
    if (refusal == NULL) {
        problem_of_errno(&problem, error);
    }
    say_problem(proxy, &problem);
}

/* Takes `length` bytes that were peeked at out of the socket. */
static bool
use_up(struct proxy *proxy, size_t length)
{
    return recv(proxy->fd, egress_scratch(proxy->box), length, 0) == (ssize_t)length;
}

static bool
say(struct proxy *proxy, const void *bytes, size_t length)
{
    return send(proxy->fd, bytes, length, MSG_NOSIGNAL) == (ssize_t)length;
}

static void
dialled(void *data, int fd, int error, const struct refusal *refusal)
{
    static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";
    struct proxy *proxy = data;
    struct egress_box *box = proxy->box;
    struct errand *errand;
    bool said;

    proxy->dial = NULL;
    if (error != 0) {
        fail(proxy, error, refusal);
        return;
    }
    if (speaks_socks(proxy)) {
        socks_answer(&proxy->socks, 0);
        said = say(proxy, proxy->socks.reply, proxy->socks.reply_length);
    } else {
        said = use_up(proxy, proxy->head) && say(proxy, established, sizeof established - 1);
    }
    if (!said) {
        close_fd(fd);
        close_with_reset(proxy_free(proxy));
        return;
    }
    errand = steal_ptr(&proxy->errand);
    transparent_start(box, errand, proxy_free(proxy), fd);
    free(errand);
}

static void
decided(void *data, abx_verdict verdict, const struct refusal *refusal)
{
    struct proxy *proxy = data;
    struct dial *dial;

    proxy->decision = NULL;
    if (verdict != ABX_VERDICT_ALLOW) {
        fail(proxy, EACCES, refusal);
        return;
    }
    dial = dial_start(proxy->box, &proxy->errand->subject, &proxy->errand->destination, DIAL_TUNNEL,
            dialled, proxy);
    if (dial != NULL) {
        proxy->dial = dial;
    }
}

/* ---- requests ---- */

/* `host` as it was sent: a name that is none is refused by the broker, which has an event for it.
 */
static void
connect_to(struct proxy *proxy, const char *host, uint16_t port)
{
    char name[POLICY_HOST_SIZE];
    struct destination destination = {
        .way = WAY_PROXY,
        .name = policy_host_spelling(host, name) ? name : host,
        .port = port,
    };
    struct act act = {
        .request = ABX_REQUEST_CONNECT,
        .port = port,
        .target = destination.name,
        .verb = "connect",
        .content = -1,
    };
    struct decision *decision;

    proxy->errand = errand_new(&proxy->asker->subject, &destination);
    if (proxy->errand == NULL) {
        close_with_reset(proxy_free(proxy));
        return;
    }
    if (port == 0) { /* to a policy that would be any */
        struct refusal refusal = { 0 };

        refusal_set(&refusal, "network:port", "there is no port 0", NULL);
        tell_denial(proxy->box, &proxy->asker->subject, &destination, NULL, &refusal);
        fail(proxy, EACCES, &refusal);
        return;
    }
    decision = decision_start(proxy->box, &proxy->asker->subject, &act, decided, proxy);
    if (decision != NULL) {
        proxy->decision = decision;
    }
}

/* A head that cannot be read names no destination: the event has what stands in its place. */
static void
deny_head(struct proxy *proxy, const char *bytes, size_t length, int status, const char *why)
{
    struct destination destination = { .way = WAY_PROXY };
    const char *end = memchr(bytes, '\n', length);
    const char *start = memchr(bytes, ' ', end == NULL ? length : (size_t)(end - bytes));
    char target[POLICY_HOST_SIZE] = "";
    struct problem problem = { .status = status, .detail = "the request was refused" };
    struct refusal refusal = { 0 };

    for (size_t n = 0; start != NULL && ++start < bytes + length && n + 1 < sizeof target; n++) {
        if (*start == ' ' || *start == '\r' || *start == '\n') {
            break;
        }
        target[n] = (char)(*start == '\0' ? '?' : *start);
        target[n + 1] = '\0';
    }
    destination.name = target;
    refusal_set(&refusal, "network:http", why, NULL);
    tell_denial(proxy->box, &proxy->asker->subject, &destination, NULL, &refusal);
    problem.backend = proxy->box->backend;
    problem.refusal = &refusal;
    say_problem(proxy, &problem);
}

/* What is no CONNECT is a request like those that follow it on the same connection. */
static void
hand_on(struct proxy *proxy)
{
    struct egress_box *box = proxy->box;
    struct errand *asker = steal_ptr(&proxy->asker);

    reading_start(box, asker, "", false, proxy_free(proxy), -1);
    free(asker);
}

static void
read_http(struct proxy *proxy, const char *bytes, size_t length)
{
    struct http_head head;
    const char *why;
    char host[POLICY_HOST_SIZE];
    int r = http_request_parse(bytes, length, &head, &why);

    if (r == 0) {
        return;
    }
    if (r < 0) {
        deny_head(proxy, bytes, length, -r, why);
    } else if (head.form != HTTP_AUTHORITY) {
        hand_on(proxy);
    } else if (head.host.length >= sizeof host || head.framing != HTTP_NO_BODY) {
        deny_head(proxy, bytes, length, 400, "a CONNECT has a host name, and no body");
    } else {
        memcpy(host, head.host.at, head.host.length);
        host[head.host.length] = '\0';
        proxy->head = head.length;
        connect_to(proxy, host, head.port);
    }
}

static void
read_socks(struct proxy *proxy, const uint8_t *bytes, size_t length)
{
    struct socks *socks = &proxy->socks;
    size_t used = 0, all = 0;

    for (;;) {
        switch (socks_read(socks, bytes + all, length - all, &used)) {
        case SOCKS_MORE:
            if (all > 0 && !use_up(proxy, all)) {
                close_with_reset(proxy_free(proxy));
            }
            return;
        case SOCKS_GO_ON:
            all += used;
            if (!say(proxy, socks->reply, socks->reply_length)) {
                close_with_reset(proxy_free(proxy));
                return;
            }
            break;
        case SOCKS_CONNECT:
            if (!use_up(proxy, all + used)) {
                close_with_reset(proxy_free(proxy));
            } else {
                connect_to(proxy, socks->host, socks->port);
            }
            return;
        case SOCKS_REFUSED:
            say_last_in_socks(proxy);
            return;
        }
    }
}

static bool
is_gone(int fd)
{
    struct pollfd state = { .fd = fd, .events = POLLRDHUP };

    return poll(&state, 1, 0) == 1;
}

static void
ready(evutil_socket_t fd, short events, void *data)
{
    struct proxy *proxy = data;
    uint8_t *bytes = egress_scratch(proxy->box);
    ssize_t n;

    if (proxy->errand != NULL) { /* it is being decided or dialled: only the client's end counts */
        if (is_gone(fd)) {
            close_with_reset(proxy_free(proxy));
        }
        return;
    }
    if ((events & EV_TIMEOUT) != 0) {
        close_with_reset(proxy_free(proxy));
        return;
    }
    n = recv(fd, bytes, HTTP_HEAD_MAX, MSG_PEEK);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n <= 0) {
        close_fd(proxy_free(proxy));
    } else if (speaks_socks(proxy) || bytes[0] == 4 || bytes[0] == 5) {
        read_socks(proxy, bytes, (size_t)n);
    } else {
        read_http(proxy, (const char *)bytes, (size_t)n);
    }
}

void
proxy_start(struct egress_box *box, const struct errand *errand, int fd)
{
    static const struct timeval patience = { .tv_sec = REQUEST_S };
    struct proxy *proxy = calloc(1, sizeof *proxy);

    if (proxy == NULL ||
            !part_add(&proxy->part, box, end_part, &errand->subject, &errand->destination)) {
        free(proxy);
        close_with_reset(fd);
        return;
    }
    proxy->box = box;
    proxy->fd = fd;
    proxy->asker = errand_new(&errand->subject, &errand->destination);
    proxy->event = event_new(egress_base(box), fd, EV_READ | EV_PERSIST | EV_ET, ready, proxy);
    if (proxy->asker == NULL || proxy->event == NULL || event_add(proxy->event, &patience) != 0) {
        close_with_reset(proxy_free(proxy));
    }
}
