/* SPDX-License-Identifier: Apache-2.0
 * A connection of the box that was decided by its name: dials if that was not done yet, connects
 * the two, and looks at what the client says first.  A protocol in which the server speaks first is
 * not delayed: its side flows at once, and only what the client sends waits until it was looked at.
 *
 * What is looked at stays in the socket, so nothing has to be handed on. */
#include "egress/transparent.h"

#include "egress/decide.h"
#include "egress/dial.h"
#include "egress/greeting.h"
#include "egress/problem.h"
#include "egress/reading.h"
#include "egress/replace.h"
#include "egress/tunnel.h"
#include "egress/upstream.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define GREETING_S 30 /* a greeting that began is over after this */

struct transparent {
    struct part part; /* while it dials; then the tunnel is one */
    struct egress_box *box;
    struct errand *errand;
    struct dial *dial;
    struct decision *decision; /* about the host that a greeting names */
    struct tunnel *tunnel;
    struct event *timer;
    struct greeting greeting;
    bool reads; /* requests to the destination are read */
    bool is_service; /* of the host's loopback: any name may stand for it, and any protocol */
    int inside; /* while it dials */
};

static void
transparent_free(struct transparent *transparent)
{
    part_remove(&transparent->part);
    dial_cancel(transparent->dial);
    decision_cancel(transparent->decision);
    if (transparent->timer != NULL) {
        event_free(transparent->timer);
    }
    free(transparent->errand);
    free(transparent);
}

static void
end_part(struct part *part)
{
    struct transparent *transparent = (struct transparent *)part;

    close_with_reset(transparent->inside);
    transparent_free(transparent);
}

/* ---- the ways it ends ---- */
static void
release(struct transparent *transparent)
{
    struct tunnel *tunnel = transparent->tunnel;

    transparent_free(transparent);
    tunnel_release(tunnel);
}

static void
tunnel_is_gone(void *data)
{
    transparent_free(data);
}

/* In the words of its protocol. */
static void
refuse(struct transparent *transparent, int status, const struct refusal *refusal)
{
    static const uint8_t access_denied[] = { 21, 3, 3, 0, 2, 2, 49 }; /* a fatal TLS alert */
    const struct destination *to = &transparent->errand->destination;
    struct problem problem = {
        .status = status,
        .detail = "the connection was refused",
        .name = to->name,
        .port = to->port,
        .backend = transparent->box->backend,
        .refusal = refusal,
    };
    struct tunnel *tunnel = transparent->tunnel;
    struct str response = { 0 };

    switch (transparent->greeting.kind) {
    case GREETING_TLS:
    case GREETING_BAD_TLS:
        tunnel_refuse(tunnel, access_denied, sizeof access_denied);
        break;
    case GREETING_HTTP:
    case GREETING_HTTP2:
    case GREETING_BAD_HTTP:
        problem_response(&problem, &response);
        tunnel_refuse(tunnel, response.data, response.failed ? 0 : response.length);
        str_done(&response);
        break;
    case GREETING_MORE:
    case GREETING_OTHER:
        tunnel_refuse(tunnel, NULL, 0);
        break;
    }
    transparent_free(transparent);
}

/* The same, with its event. */
static void
deny(struct transparent *transparent, int status, const char *rule, const char *reason,
        const char *alternative)
{
    struct refusal refusal = { 0 };

    refusal_set(&refusal, rule, reason, alternative);
    tell_denial(transparent->box, &transparent->errand->subject, &transparent->errand->destination,
            NULL, &refusal);
    refuse(transparent, status, &refusal);
}

/* ---- judging ---- */

/* What is not read further must have nothing in it that stands for a secret, as far as it is seen.
 */
static bool
shows_secret(struct transparent *transparent, const uint8_t *bytes, size_t length)
{
    const struct errand *errand = transparent->errand;
    struct refusal refusal = { 0 };

    if (transparent->reads ||
            !replace_refuses(transparent->box, &errand->subject, errand->destination.name,
                    errand->destination.port, bytes, length, &refusal)) {
        return false;
    }
    refuse(transparent, 403, &refusal);
    return true;
}

static void
pass(struct transparent *transparent)
{
    const struct greeting *greeting = &transparent->greeting;
    int inside, outside;

    if (!transparent->reads) {
        release(transparent);
        return;
    }
    tunnel_take(transparent->tunnel, &inside, &outside);
    reading_start(transparent->box, transparent->errand,
            greeting->host[0] != '\0' ? greeting->host : transparent->errand->destination.name,
            greeting->kind == GREETING_TLS, inside, outside);
    transparent_free(transparent);
}

static void
host_decided(void *data, abx_verdict verdict, const struct refusal *refusal)
{
    struct transparent *transparent = data;

    transparent->decision = NULL;
    if (verdict == ABX_VERDICT_ALLOW) {
        pass(transparent);
    } else {
        refuse(transparent, 403, refusal);
    }
}

/* The destination was an address, and the greeting names a host: is that allowed, too? */
static void
decide_host(struct transparent *transparent)
{
    const struct destination *to = &transparent->errand->destination;
    struct act act = {
        .request = ABX_REQUEST_CONNECT,
        .port = to->port,
        .target = transparent->greeting.host,
        .asked = to->name,
        .verb = "connect",
        .content = -1,
    };
    struct decision *decision;

    transparent->reads = transparent->errand->relay != NULL ||
                         policy_reads_http(transparent->box->policy, act.target, act.port);
    decision = decision_start(
            transparent->box, &transparent->errand->subject, &act, host_decided, transparent);
    if (decision != NULL) {
        transparent->decision = decision;
    }
}

static void
deny_other_host(struct transparent *transparent)
{
    bool is_tls = transparent->greeting.kind == GREETING_TLS;
    char reason[sizeof((struct refusal *)0)->reason], quoted[184];

    snprintf(reason, sizeof reason, "%s %s, which is another host than it connected to",
            is_tls ? "its TLS greeting names" : "its request names",
            text_quote(transparent->greeting.host, quoted, sizeof quoted));
    deny(transparent, is_tls ? 403 : 421, is_tls ? "network:sni" : "network:host", reason,
            "connect to each host by its own name");
}

static void
deny_relayed(struct transparent *transparent)
{
    deny(transparent, 403, "network:upstream",
            "port 80 leads to a proxy outside, which gets requests, and this is no HTTP/1.1",
            "use https on its own port, or HTTP/1.1");
}

/* It goes where no requests are expected that are read: gRPC on a port of its own. */
static void
judge_http2(struct transparent *transparent)
{
    if (transparent->errand->relay != NULL) {
        deny_relayed(transparent);
    } else if (transparent->reads || transparent->errand->destination.port == 80) {
        deny(transparent, 505, "network:http",
                "HTTP/2 without TLS names its hosts where they are not read",
                "use https, HTTP/1.1, or a port of its own");
    } else {
        release(transparent);
    }
}

/* Then nothing but its own name goes: by another one other requests could be allowed. */
static bool
reads_destination(const struct transparent *transparent)
{
    const struct destination *to = &transparent->errand->destination;

    return policy_reads_http(transparent->box->policy, to->name, to->port);
}

/* One place for the policy, too. */
static bool
is_loopback(const char *host)
{
    return strcmp(host, "localhost") == 0 || strcmp(host, "127.0.0.1") == 0 ||
           strcmp(host, "::1") == 0;
}

static void
deny_unfinished(struct transparent *transparent)
{
    deny(transparent, 403, "network:greeting",
            "its first bytes are the beginning of a greeting that does not end", NULL);
}

static void
judge(struct transparent *transparent)
{
    const char *name = transparent->errand->destination.name;
    const struct greeting *greeting = &transparent->greeting;
    char reason[128];

    switch (greeting->kind) {
    case GREETING_BAD_TLS:
    case GREETING_BAD_HTTP:
        snprintf(reason, sizeof reason, "its %s is refused: %s",
                greeting->kind == GREETING_BAD_TLS ? "TLS greeting" : "HTTP request",
                greeting->why);
        deny(transparent, greeting->status,
                greeting->kind == GREETING_BAD_TLS ? "network:tls" : "network:http", reason, NULL);
        return;
    case GREETING_OTHER:
    case GREETING_MORE:
        if (greeting->could_be_http) {
            deny_unfinished(transparent);
        } else if (transparent->errand->relay != NULL) {
            deny_relayed(transparent);
        } else if (transparent->reads) {
            deny(transparent, 403, "network:http",
                    "the policy reads requests to this host, and this is neither TLS nor HTTP/1.1",
                    "use https, or HTTP/1.1");
        } else {
            release(transparent);
        }
        return;
    case GREETING_TLS:
        if (transparent->errand->relay != NULL) {
            deny_relayed(transparent);
            return;
        }
        break;
    case GREETING_HTTP2:
        judge_http2(transparent);
        return;
    case GREETING_HTTP:
        break;
    }
    if (greeting->has_ech && strcmp(greeting->host, name) != 0) {
        deny(transparent, 403, "network:ech",
                "its TLS greeting is encrypted, and may be for another host",
                "turn Encrypted Client Hello off");
    } else if (greeting->host[0] == '\0' || strcmp(greeting->host, name) == 0) {
        pass(transparent);
    } else if (transparent->reads && is_loopback(name) && is_loopback(greeting->host)) {
        pass(transparent);
    } else if (is_address(name) && !reads_destination(transparent)) {
        decide_host(transparent);
    } else {
        deny_other_host(transparent);
    }
}

static void
greeting_is_late(evutil_socket_t fd, short events, void *data)
{
    struct transparent *transparent = data;

    if (transparent->is_service && !transparent->reads) {
        release(transparent);
    } else {
        deny_unfinished(transparent);
    }
}

static bool
is_over(int fd)
{
    struct pollfd state = { .fd = fd, .events = POLLRDHUP };

    return poll(&state, 1, 0) == 1 && (state.revents & POLLRDHUP) != 0;
}

static void
wait_for_more(struct transparent *transparent)
{
    static const struct timeval patience = { .tv_sec = GREETING_S };

    if (transparent->timer == NULL) {
        transparent->timer =
                evtimer_new(egress_base(transparent->box), greeting_is_late, transparent);
        if (transparent->timer == NULL || event_add(transparent->timer, &patience) != 0) {
            deny(transparent, 403, "network:greeting", "out of memory", NULL);
        }
    }
}

/* It is over before it began: the server may still speak, unless that is to be read. */
static void
nothing_was_said(struct transparent *transparent)
{
    if (transparent->reads) {
        tunnel_refuse(transparent->tunnel, NULL, 0);
        transparent_free(transparent);
    } else {
        release(transparent);
    }
}

static void
look(void *data)
{
    struct transparent *transparent = data;
    int fd = tunnel_client(transparent->tunnel);
    uint8_t *bytes = egress_scratch(transparent->box);
    ssize_t n = transparent->decision == NULL ? recv(fd, bytes, GREETING_MAX, MSG_PEEK) : 0;

    if (transparent->decision != NULL || (n < 0 && (errno == EAGAIN || errno == EINTR))) {
        return;
    }
    if (n <= 0) {
        nothing_was_said(transparent);
        return;
    }
    greeting_read(bytes, (size_t)n, &transparent->greeting);
    if (transparent->greeting.kind == GREETING_MORE && !is_over(fd)) {
        wait_for_more(transparent);
    } else if (shows_secret(transparent, bytes, (size_t)n)) {
        return;
    } else if (transparent->is_service && !transparent->reads) {
        release(transparent);
    } else {
        judge(transparent);
    }
}

/* ---- beginning ---- */
static void
connect_both(struct transparent *transparent, int outside)
{
    const struct destination *to = &transparent->errand->destination;
    const struct watch watch = { look, tunnel_is_gone, transparent };

    part_remove(&transparent->part); /* the tunnel takes its place */
    transparent->is_service = to->way == WAY_HOST_LOOPBACK;
    transparent->reads = transparent->errand->relay != NULL ||
                         policy_reads_http(transparent->box->policy, to->name, to->port);
    transparent->tunnel = tunnel_start(transparent->box, transparent->errand, transparent->inside,
            outside, transparent->reads ? HOLD_BOTH : HOLD_CLIENT, &watch);
    if (transparent->tunnel == NULL) {
        transparent_free(transparent);
    }
}

static void
dialled(void *data, int fd, int error, const struct refusal *refusal)
{
    struct transparent *transparent = data;

    transparent->dial = NULL;
    if (error != 0) {
        close_with_reset(transparent->inside);
        transparent_free(transparent);
    } else {
        connect_both(transparent, fd);
    }
}

void
transparent_start(struct egress_box *box, const struct errand *errand, int inside, int outside)
{
    struct transparent *transparent = calloc(1, sizeof *transparent);
    struct dial *dial;

    if (transparent != NULL) {
        transparent->errand = errand_new(&errand->subject, &errand->destination);
    }
    if (transparent == NULL || transparent->errand == NULL ||
            !part_add(&transparent->part, box, end_part, &errand->subject, &errand->destination)) {
        if (transparent != NULL) {
            transparent_free(transparent);
        }
        close_with_reset(inside);
        close_with_reset(outside);
        return;
    }
    transparent->box = box;
    transparent->inside = inside;
    transparent->errand->relay =
            outside >= 0 ? errand->relay : upstream_relay(box->upstream, &errand->destination);
    if (outside >= 0) {
        connect_both(transparent, outside);
        return;
    }
    dial = dial_start(box, &errand->subject, &errand->destination,
            upstream_is_plain(&errand->destination) ? DIAL_PLAIN : DIAL_TUNNEL, dialled,
            transparent);
    if (dial != NULL) {
        transparent->dial = dial;
    }
}
