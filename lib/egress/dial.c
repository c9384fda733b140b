/* SPDX-License-Identifier: Apache-2.0
 * One connection outside: the name is looked up, each address is checked, and those that may be
 * dialled are, the next one where the one before fails or takes long (RFC 8305, lightly).  What
 * the caller is told is the errno that it would have got.
 *
 * The policy never changes, so an address that was checked is dialled without another look.
 *
 * Where the way leads through a proxy outside, that is what is dialled: the host says who it is, so
 * its address is not the policy's matter, and it looks the name up.  Nothing is ever dialled past
 * it. */
#include "egress/dial.h"

#include "egress/box.h"
#include "egress/decide.h"
#include "egress/lookup.h"
#include "egress/named.h"
#include "egress/through.h"

#include "base/loop.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ADDRESSES_MAX 16u
#define NEXT_AFTER_MS 250
#define PATIENCE_S 60 /* for all of it */

struct attempt {
    struct dial *dial;
    struct event *event;
    int fd; /* -1: none, or over */
    struct address address;
};

struct dial {
    struct egress_box *box;
    struct errand *errand;
    dial_fn fn;
    void *data;
    const struct upstream_proxy *proxy; /* what is dialled instead; NULL: the destination */
    enum dial_use use;
    struct through *through;
    int fd; /* the proxy's, while it is asked; else -1 */
    struct lookup *lookup;
    struct named_search *search; /* for a name of the address */
    struct decision *decision; /* about an address */
    struct event *next_timer, *patience;
    struct attempt attempts[ADDRESSES_MAX]; /* in the order in which they are dialled */
    size_t n, begun, failed;
    int error; /* of the attempts until now, 0: none */
    bool *ended; /* dial_start wants to know; or NULL */
};

static void
dial_free(struct dial *dial)
{
    if (dial->lookup != NULL) {
        lookup_cancel(dial->lookup);
    }
    named_search_cancel(dial->search);
    decision_cancel(dial->decision);
    through_cancel(dial->through);
    close_fd(dial->fd);
    for (size_t i = 0; i < dial->n; i++) {
        if (dial->attempts[i].event != NULL) {
            event_free(dial->attempts[i].event);
        }
        close_fd(dial->attempts[i].fd);
    }
    if (dial->next_timer != NULL) {
        event_free(dial->next_timer);
    }
    if (dial->patience != NULL) {
        event_free(dial->patience);
    }
    free(dial->errand);
    free(dial);
}

void
dial_cancel(struct dial *dial)
{
    if (dial != NULL) {
        dial_free(dial);
    }
}

/* Frees it, then tells. */
static void
finish(struct dial *dial, int fd, int error, const struct refusal *refusal)
{
    dial_fn fn = dial->fn;
    void *data = dial->data;

    if (dial->ended != NULL) {
        *dial->ended = true;
    }
    dial_free(dial);
    fn(data, fd, error, refusal);
}

/* ---- through a proxy outside ---- */

/* The program sees an errno: the event says what it was. */
static void
tell_proxy(struct dial *dial, const char *what)
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
    finish(dial, -1, EACCES, &refusal);
}

static void
proxy_answered(void *data, int status)
{
    struct dial *dial = data;
    char what[64];

    dial->through = NULL;
    if (status / 100 == 2) {
        finish(dial, steal_fd(&dial->fd), 0, NULL);
    } else if (status / 100 == 4) {
        proxy_refused(dial, status);
    } else {
        snprintf(what, sizeof what, status < 0 ? "gave no answer: %s" : "answered %s%d",
                status < 0 ? strerror(-status) : "", status);
        tell_proxy(dial, what);
        finish(dial, -1, status == 504 ? ETIMEDOUT : EHOSTUNREACH, NULL);
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
        tell_proxy(dial, "was not asked: it took no request, or there is no memory");
        finish(dial, -1, ECONNRESET, NULL);
    }
}

/* ---- connecting ---- */
static void begin_next(struct dial *dial);

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
        finish(dial, fd, 0, NULL);
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
        begin_next(dial);
    } else if (dial->failed == dial->n) {
        if (dial->proxy != NULL) {
            char what[128];

            snprintf(what, sizeof what, "is not reached: %s", strerror(dial->error));
            tell_proxy(dial, what);
        }
        finish(dial, -1, dial->error, NULL);
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

static void
begin_next(struct dial *dial)
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

static void
next_is_due(evutil_socket_t fd, short events, void *data)
{
    struct dial *dial = data;

    if (dial->begun < dial->n) {
        begin_next(dial);
    }
}

static void
patience_is_over(evutil_socket_t fd, short events, void *data)
{
    struct dial *dial = data;

    if (dial->proxy != NULL) {
        tell_proxy(dial, "does not answer");
    }
    finish(dial, -1, ETIMEDOUT, NULL);
}

/* ---- which addresses ---- */
static bool
address_text(const struct address *address, char text[INET6_ADDRSTRLEN])
{
    const void *at =
            address->storage.ss_family == AF_INET
                    ? (const void *)&((const struct sockaddr_in *)&address->storage)->sin_addr
                    : (const void *)&((const struct sockaddr_in6 *)&address->storage)->sin6_addr;

    return inet_ntop(address->storage.ss_family, at, text, INET6_ADDRSTRLEN) != NULL;
}

static void
add_address(struct dial *dial, const struct sockaddr *address, socklen_t length)
{
    struct attempt *attempt = &dial->attempts[dial->n];

    if (dial->n < ADDRESSES_MAX && length <= sizeof attempt->address.storage &&
            (address->sa_family == AF_INET || address->sa_family == AF_INET6)) {
        attempt->fd = -1;
        memcpy(&attempt->address.storage, address, length);
        attempt->address.length = length;
        dial->n++;
    }
}

/* Keeps those with this verdict; returns how many there are. */
static size_t
keep(struct dial *dial, const abx_verdict *verdicts, abx_verdict verdict)
{
    size_t kept = 0;

    for (size_t i = 0; i < dial->n; i++) {
        if (verdicts[i] == verdict) {
            dial->attempts[kept++].address = dial->attempts[i].address;
        }
    }
    dial->n = kept == 0 ? dial->n : kept;
    return kept;
}

static void
address_decided(void *data, abx_verdict verdict, const struct refusal *refusal)
{
    struct dial *dial = data;

    dial->decision = NULL;
    if (verdict == ABX_VERDICT_ALLOW) {
        begin_next(dial);
    } else {
        finish(dial, -1, EACCES, refusal);
    }
}

/* The first address, which stands for those that are asked about. */
static void
ask(struct dial *dial, const char *text)
{
    const struct destination *to = &dial->errand->destination;
    struct act act = {
        .request = ABX_REQUEST_CONNECT,
        .port = to->port,
        .target = text,
        .asked = to->name,
        .verb = "connect",
        .content = -1,
    };
    struct decision *decision;

    dial->n = 1;
    decision = decision_start(dial->box, &dial->errand->subject, &act, address_decided, dial);
    if (decision != NULL) { /* else the dial may be over */
        dial->decision = decision;
    }
}

static void
deny(struct dial *dial, const char *text, const struct ruling *ruling)
{
    struct refusal refusal;

    refusal_set(&refusal, ruling->id, ruling->reason, ruling->alternative);
    tell_denial(dial->box, &dial->errand->subject, &dial->errand->destination, text, &refusal);
    finish(dial, -1, EACCES, &refusal);
}

/* Dials what may be dialled; where nothing may, asks about the first that can be asked about. */
static void
dial_allowed(struct dial *dial)
{
    const struct destination *to = &dial->errand->destination;
    char text[INET6_ADDRSTRLEN] = "";
    abx_verdict verdicts[ADDRESSES_MAX] = { 0 };
    struct ruling ruling = { 0 };

    for (size_t i = dial->n; i-- > 0;) { /* the ruling that stays is about the first */
        if (address_text(&dial->attempts[i].address, text)) {
            verdicts[i] =
                    policy_decide_address(dial->box->policy, to->name, text, to->port, &ruling);
        }
    }
    if (keep(dial, verdicts, ABX_VERDICT_ALLOW) > 0) {
        begin_next(dial);
    } else if (keep(dial, verdicts, ABX_VERDICT_ASK) > 0) {
        address_text(&dial->attempts[0].address, text);
        ask(dial, text);
    } else {
        deny(dial, text, &ruling);
    }
}

/* ---- names ---- */
static const char *
name_of(const struct dial *dial)
{
    return dial->proxy != NULL ? dial->proxy->host : dial->errand->destination.name;
}

static uint16_t
port_of(const struct dial *dial)
{
    return dial->proxy != NULL ? dial->proxy->port : dial->errand->destination.port;
}

/* The program sees an errno, and no name that is unknown: the event says what it was. */
static void
tell_unknown(struct dial *dial, int error)
{
    const struct destination *to = &dial->errand->destination;
    struct act act = {
        .request = ABX_REQUEST_CONNECT,
        .port = to->port,
        .target = to->name,
        .verb = "connect",
        .content = -1,
    };
    char reason[256];

    snprintf(reason, sizeof reason, "the host cannot look this name up: %s", gai_strerror(error));
    dial->box->broker->report(dial->box->broker->data, ABX_EVENT_NOTICE, &dial->errand->subject,
            &act, "network:lookup", reason, NULL);
}

static void
dial_found(struct dial *dial)
{
    if (dial->proxy != NULL) {
        begin_next(dial);
    } else {
        dial_allowed(dial);
    }
}

static void
keep_host(struct dial *dial)
{
    struct address addresses[ADDRESSES_MAX];

    for (size_t i = 0; i < dial->n; i++) {
        addresses[i] = dial->attempts[i].address;
    }
    hosts_keep(&dial->box->hosts, clock_now_ns(), name_of(dial), port_of(dial), addresses, dial->n);
}

static void
looked_up(void *data, int error, const struct addrinfo *addresses)
{
    struct dial *dial = data;

    dial->lookup = NULL;
    if (error == 0 && dial->proxy == NULL) {
        named_note(dial->box->named, dial->errand->destination.name, dial->errand->destination.port,
                addresses);
    }
    for (; error == 0 && addresses != NULL; addresses = addresses->ai_next) {
        add_address(dial, addresses->ai_addr, addresses->ai_addrlen);
    }
    if (error == 0 && dial->n > 0) {
        keep_host(dial);
        dial_found(dial);
        return;
    }
    if (dial->proxy != NULL) {
        tell_proxy(dial, "is a name that the host does not know");
    } else {
        tell_unknown(dial, error == 0 ? EAI_NONAME : error);
    }
    finish(dial, -1, EHOSTUNREACH, NULL);
}

/* False: the host is to be asked. */
static bool
add_host(struct dial *dial, const char *name, uint16_t port)
{
    const struct host *host = hosts_find(&dial->box->hosts, clock_now_ns(), name, port);

    for (size_t i = 0; host != NULL && i < host->n; i++) {
        const struct address *address = &host->addresses[i];

        add_address(dial, (const struct sockaddr *)&address->storage, address->length);
    }
    return host != NULL;
}

/* False: it is a name. */
static bool
add_literal(struct dial *dial, const char *text, uint16_t port)
{
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

    if (inet_pton(AF_INET, text, &in.sin_addr) == 1) {
        add_address(dial, (const struct sockaddr *)&in, sizeof in);
        return true;
    }
    if (inet_pton(AF_INET6, text, &in6.sin6_addr) == 1) {
        add_address(dial, (const struct sockaddr *)&in6, sizeof in6);
        return true;
    }
    return false;
}

/* ---- addresses that were asked for as such, which are decided already ---- */

static void
name_searched(void *data, int error, const char *name)
{
    struct dial *dial = data;
    const struct destination *to = &dial->errand->destination;
    struct refusal refusal = { 0 };
    char reason[sizeof refusal.reason], alternative[sizeof refusal.alternative];

    dial->search = NULL;
    if (error != 0) {
        finish(dial, -1, error, NULL);
        return;
    }
    if (name == NULL) {
        begin_next(dial);
        return;
    }
    snprintf(reason, sizeof reason,
            "'%.180s' leads to this address, and the policy reads requests to it", name);
    snprintf(alternative, sizeof alternative, "connect to '%.180s' by its name", name);
    refusal_set(&refusal, "network:by-name", reason, alternative);
    tell_denial(dial->box, &dial->errand->subject, to, NULL, &refusal);
    finish(dial, -1, EACCES, &refusal);
}

/* An address that the policy lists by itself, or reads requests to, is its own matter.  Any other
 * is dialled unless a name leads there to which requests are read. */
static void
begin_address(struct dial *dial, const char *address)
{
    const uint16_t port = dial->errand->destination.port;
    struct named_search *search;

    if (dial->proxy != NULL || policy_lists_address(dial->box->policy, address, port) ||
            policy_reads_http(dial->box->policy, address, port)) {
        begin_next(dial);
        return;
    }
    search = named_search_start(dial->box, address, port, name_searched, dial);
    if (search != NULL) { /* else the dial may be over */
        dial->search = search;
    }
}

static void
first_step(struct dial *dial)
{
    const struct destination *to = &dial->errand->destination;
    const char *name = name_of(dial);
    const uint16_t port = port_of(dial);

    if (to->way == WAY_HOST_LOOPBACK) { /* the policy lists the port */
        add_literal(dial, "127.0.0.1", to->port);
        add_literal(dial, "::1", to->port);
        begin_address(dial, "127.0.0.1");
    } else if (add_literal(dial, name, port)) {
        begin_address(dial, name);
    } else if (add_host(dial, name, port)) {
        dial_found(dial);
    } else {
        dial->lookup =
                lookup_start(dial->box->egress->lookups, dial->box, name, port, looked_up, dial);
        if (dial->lookup == NULL) {
            finish(dial, -1, EAGAIN, NULL);
        }
    }
}

static struct dial *
dial_new(struct egress_box *box, const struct subject *subject,
        const struct destination *destination, enum dial_use use, dial_fn fn, void *data)
{
    static const struct timeval patience = { .tv_sec = PATIENCE_S };
    struct dial *dial = calloc(1, sizeof *dial);

    if (dial == NULL) {
        return NULL;
    }
    *dial = (struct dial){
        .box = box,
        .fn = fn,
        .data = data,
        .proxy = upstream_of(box->upstream, destination, use == DIAL_PLAIN),
        .use = use,
        .fd = -1,
    };
    dial->errand = errand_new(subject, destination);
    dial->next_timer = evtimer_new(egress_base(box), next_is_due, dial);
    dial->patience = evtimer_new(egress_base(box), patience_is_over, dial);
    if (dial->errand == NULL || dial->next_timer == NULL || dial->patience == NULL ||
            event_add(dial->patience, &patience) != 0) {
        dial_free(dial);
        return NULL;
    }
    return dial;
}

struct dial *
dial_start(struct egress_box *box, const struct subject *subject,
        const struct destination *destination, enum dial_use use, dial_fn fn, void *data)
{
    struct dial *dial = dial_new(box, subject, destination, use, fn, data);
    bool ended = false;

    if (dial == NULL) {
        fn(data, -1, ENOMEM, NULL);
        return NULL;
    }
    dial->ended = &ended;
    first_step(dial);
    if (ended) {
        return NULL;
    }
    dial->ended = NULL;
    return dial;
}
