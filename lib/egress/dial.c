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
#include "egress/dial_private.h"

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

#define PATIENCE_S 60 /* for all of it */

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

void
dial_finish(struct dial *dial, int fd, int error, const struct refusal *refusal)
{
    dial_fn fn = dial->fn;
    void *data = dial->data;

    if (dial->ended != NULL) {
        *dial->ended = true;
    }
    dial_free(dial);
    fn(data, fd, error, refusal);
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
        dial_next(dial);
    } else {
        dial_finish(dial, -1, EACCES, refusal);
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
    struct refusal refusal = { 0 };

    refusal_set(&refusal, ruling->id, ruling->reason, ruling->alternative);
    tell_denial(dial->box, &dial->errand->subject, &dial->errand->destination, text, &refusal);
    dial_finish(dial, -1, EACCES, &refusal);
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
        dial_next(dial);
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
        dial_next(dial);
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
        dial_tell_proxy(dial, "is a name that the host does not know");
    } else {
        tell_unknown(dial, error == 0 ? EAI_NONAME : error);
    }
    dial_finish(dial, -1, EHOSTUNREACH, NULL);
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
        dial_finish(dial, -1, error, NULL);
        return;
    }
    if (name == NULL) {
        dial_next(dial);
        return;
    }
    snprintf(reason, sizeof reason,
            "'%.180s' leads to this address, and the policy reads requests to it", name);
    snprintf(alternative, sizeof alternative, "connect to '%.180s' by its name", name);
    refusal_set(&refusal, "network:by-name", reason, alternative);
    tell_denial(dial->box, &dial->errand->subject, to, NULL, &refusal);
    dial_finish(dial, -1, EACCES, &refusal);
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
        dial_next(dial);
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
            dial_finish(dial, -1, EAGAIN, NULL);
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
    dial->next_timer = evtimer_new(egress_base(box), dial_next_is_due, dial);
    dial->patience = evtimer_new(egress_base(box), dial_patience_is_over, dial);
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
