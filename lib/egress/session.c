/* SPDX-License-Identifier: Apache-2.0
 * The life of a session: its two connections, its clock, and the one function that looks at all of
 * it.  session_body.c, session_request.c, session_origin.c, session_forward.c and session_answer.c
 * are the stages of an exchange. */
#include "egress/session_private.h"

#include "egress/farewell.h"
#include "egress/problem.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 32u /* then it is the turn of others */
#define DISCARD_MAX (1u << 20) /* of what a client still sends after the last answer */

/* How long nothing may happen, in seconds. */
#define PATIENCE_HEAD 60u /* a handshake, or a head that began */
#define PATIENCE_IDLE 300u /* between two requests */
#define PATIENCE_HANDSHAKE 30u /* the origin's */
#define PATIENCE_BODY 120u /* a body that is gathered */
#define PATIENCE_ANSWER 900u
#define PATIENCE_CLOSE 2u /* for the client to read the last bytes */

unsigned session_second_ms = 1000;

static void
session_free(struct session *session)
{
    answer_leave(session);
    exchange_free(session->exchange);
    session->exchange = NULL;
    session_count_kept(session);
    part_remove(&session->part);
    origin_close(session, session->resets);
    stream_free(session->client, session->resets);
    if (session->clean != NULL) {
        evbuffer_free(session->clean);
    }
    if (session->timer != NULL) {
        event_free(session->timer);
    }
    if (session->again != NULL) {
        event_free(session->again);
    }
    free(session->errand);
    free(session);
}

static void
end_part(struct part *part)
{
    struct session *session = (struct session *)part;

    session->resets = true;
    session_free(session);
}

/* Not within session_run, which may free it. */
static void
revoke(struct part *part, uint64_t grant, uint64_t ticket)
{
    struct session *session = (struct session *)part;
    struct exchange *exchange = session->exchange;

    if (exchange == NULL || exchange->by == 0 ||
            (exchange->by != grant && exchange->by != ticket)) {
        return;
    }
    exchange->is_revoked = true;
    if (!request_holds(session)) {
        session_run(session);
    }
}

void
session_abort(struct session *session)
{
    session->is_over = session->resets = true;
}

void
session_close(struct session *session)
{
    session->is_closing = true;
    stream_shut(session->client);
}

void
session_refuse(
        struct session *session, int status, const char *detail, const struct refusal *refusal)
{
    struct exchange *exchange = session->exchange;
    struct problem problem = {
        .status = status,
        .detail = detail,
        .name = exchange->host,
        .port = exchange->port,
        .backend = session->part.box->backend,
        .refusal = refusal,
        .only_head = span_is(exchange->request.method, "HEAD"),
    };
    struct str text = { 0 };

    if (exchange->has_answer) {
        session_abort(session);
        return;
    }
    problem_response(&problem, &text);
    if (text.failed || evbuffer_add(session->client->output, text.data, text.length) != 0) {
        session_abort(session);
    } else {
        session_close(session);
    }
    str_done(&text);
    origin_close(session, true);
    exchange_free(exchange);
    session->exchange = NULL;
}

void
session_deny_as(struct session *session, int status, const struct refusal *refusal)
{
    struct exchange *exchange = session->exchange;
    const struct destination *here = &session->errand->destination;
    struct destination destination = { .way = here->way,
        .name = session->is_proxy ? exchange->host : here->name,
        .port = session->is_proxy ? exchange->port : here->port };

    tell_denial(session->part.box, &session->errand->subject, &destination, NULL, refusal);
    session_refuse(session, status, "the request was refused", refusal);
}

void
session_deny(struct session *session, int status, const char *rule, const char *reason,
        const char *alternative)
{
    struct refusal refusal = { 0 };

    refusal_set(&refusal, rule, reason, alternative);
    session_deny_as(session, status, &refusal);
}

/* ---- looking at all of it ---- */

/* How much of what the client sends is wanted. */
static size_t
client_room(const struct session *session)
{
    const struct exchange *exchange = session->exchange;

    if (exchange == NULL || exchange->stage < STAGE_FORWARD || exchange->out.is_over) {
        return HTTP_HEAD_MAX;
    }
    return evbuffer_get_length(session->origin.stream->output) < OUTPUT_MAX ? INPUT_MAX : 0;
}

static bool
pull(struct session *session)
{
    struct stream *origin = session->origin.stream;
    bool changed = stream_pull(session->client, client_room(session));

    /* Before its handshake an origin of TLS says nothing that could be read. */
    if (origin != NULL && (!session->is_tls || origin->tls != NULL)) {
        changed |= stream_pull(origin, HTTP_HEAD_MAX);
    }
    return changed;
}

static bool
push(struct session *session)
{
    struct stream *origin = session->origin.stream;
    bool changed = stream_push(session->client);

    return (origin != NULL && stream_push(origin)) || changed;
}

/* What the client still sends is read, since a close would be a reset otherwise. */
static void
discard(struct session *session)
{
    struct stream *client = session->client;

    session->discarded += evbuffer_get_length(client->input);
    evbuffer_drain(client->input, evbuffer_get_length(client->input));
    if (client->has_failed || (client->has_ended && stream_is_shut(client)) ||
            session->discarded > DISCARD_MAX) {
        session->is_over = true;
    }
}

/* Between two exchanges. */
static bool
wait_for_request(struct session *session)
{
    struct stream *origin = session->origin.stream;

    if (origin != NULL &&
            (origin->has_ended || origin->has_failed || evbuffer_get_length(origin->input) > 0)) {
        origin_close(session, false);
    }
    if (request_read(session)) {
        return true;
    }
    if (session->client->has_ended) {
        session_close(session);
        return true;
    }
    return false;
}

/* A program that does not believe the box's authority says something vague; the event helps. */
static void
tell_handshake(const struct session *session)
{
    const struct broker *broker = session->part.box->broker;
    struct act act = {
        .request = ABX_REQUEST_CONNECT,
        .port = session->errand->destination.port,
        .target = session->errand->destination.name,
        .verb = "connect",
        .content = -1,
    };
    char reason[256];

    snprintf(reason, sizeof reason,
            "the program and the box did not agree on TLS (%s), which ends here so that its "
            "requests can be read",
            session->client->why);
    broker->report(broker->data, ABX_EVENT_NOTICE, &session->errand->subject, &act, "network:tls",
            reason, "let it believe the system's certificates, or the file SSL_CERT_FILE names");
}

static bool
advance(struct session *session)
{
    struct exchange *exchange = session->exchange;

    if (session->client->has_failed && !session->is_closing) {
        if (!session->client->is_open) {
            tell_handshake(session);
        }
        session_abort(session);
        return true;
    }
    if (!session->client->is_open) {
        return false;
    }
    if (session->is_closing) {
        discard(session);
        return false;
    }
    if (exchange == NULL) {
        return wait_for_request(session);
    }
    /* While somebody is asked, or a secret is fetched, a client that ends has gone. */
    if (session->client->has_ended && (exchange->decision != NULL || exchange->waits) &&
            evbuffer_get_length(session->client->input) == 0) {
        session_abort(session);
        return true;
    }
    switch (exchange->stage) {
    case STAGE_CONNECT:
    case STAGE_BODY:
    case STAGE_REQUEST:
    case STAGE_COLLECT:
    case STAGE_CREDENTIALS:
        return request_advance(session);
    case STAGE_ORIGIN:
        return origin_advance(session);
    case STAGE_FORWARD:
    case STAGE_UPGRADED:
        return forward_advance(session);
    }
    return false;
}

/* ---- the clock ---- */
static unsigned
patience(const struct session *session)
{
    const struct exchange *exchange = session->exchange;

    if (session->is_closing) {
        return PATIENCE_CLOSE;
    }
    if (!session->client->is_open) {
        return PATIENCE_HEAD;
    }
    if (exchange == NULL) {
        return evbuffer_get_length(session->client->input) > 0 ? PATIENCE_HEAD : PATIENCE_IDLE;
    }
    switch (exchange->stage) {
    case STAGE_BODY:
    case STAGE_COLLECT:
        return PATIENCE_BODY;
    case STAGE_ORIGIN:
        return session->origin.stream != NULL ? PATIENCE_HANDSHAKE : 0;
    case STAGE_FORWARD:
        return PATIENCE_ANSWER;
    case STAGE_CONNECT: /* they have clocks of their own */
    case STAGE_REQUEST:
    case STAGE_CREDENTIALS:
    case STAGE_UPGRADED: /* as long as both want */
        break;
    }
    return 0;
}

static void
set_clock(struct session *session)
{
    uint64_t ms = (uint64_t)patience(session) * session_second_ms;
    struct timeval after = { .tv_sec = (time_t)(ms / 1000),
        .tv_usec = (suseconds_t)(ms % 1000 * 1000) };

    if (ms == 0) {
        event_del(session->timer);
    } else {
        event_add(session->timer, &after);
    }
}

static void
time_is_over(evutil_socket_t fd, short events, void *data)
{
    struct session *session = data;
    const struct exchange *exchange = session->exchange;

    if (exchange == NULL || session->is_closing || exchange->has_answer ||
            exchange->stage < STAGE_ORIGIN) {
        session->resets = exchange != NULL && exchange->has_answer;
        session->is_over = true;
    } else {
        session_refuse(session, 504, "the destination did not answer in time", NULL);
    }
    session_run(session);
}

static void
run_again(evutil_socket_t fd, short events, void *data)
{
    session_run(data);
}

/* Comes back after the others had their turn. */
static void
come_back(struct session *session)
{
    static const struct timeval at_once = { 0 };

    if (session->again == NULL) {
        session->again = evtimer_new(egress_base(session->part.box), run_again, session);
    }
    if (session->again == NULL || event_add(session->again, &at_once) != 0) {
        session_abort(session);
    }
}

void
session_run(struct session *session)
{
    bool changed = true;
    size_t steps = 0;

    session->is_running = true;
    while (changed && !session->is_over && steps++ < STEPS_MAX) {
        changed = pull(session);
        changed |= advance(session);
        changed |= !session->is_over && push(session);
    }
    if (changed && !session->is_over) {
        come_back(session);
    }
    session->is_running = false;
    if (session->is_over) {
        session_free(session);
        return;
    }
    session_count_kept(session);
    set_clock(session);
}

/* ---- beginning ---- */
static void
something_happened(void *data)
{
    session_run(data);
}

/* The descriptors are taken. */
static bool
set_up(struct session *session, const struct session_setup *setup, int inside, int outside)
{
    const struct destination *destination = &setup->errand->destination;
    struct event_base *base = egress_base(setup->box);
    struct tls *tls;

    session->is_tls = setup->is_tls;
    session->is_proxy = destination->name[0] == '\0';
    session->authority = setup->authority;
    session->trust = setup->trust;
    session->client = stream_new(base, inside, something_happened, session);
    if (outside >= 0) {
        session->origin.stream = stream_new(base, outside, something_happened, session);
        snprintf(session->origin.host, sizeof session->origin.host, "%s", destination->name);
        session->origin.port = destination->port;
        session->origin.relay = setup->errand->relay;
        session->origin.may_be_stale = true;
    }
    session->errand = errand_new(&setup->errand->subject, destination);
    session->clean = evbuffer_new();
    session->timer = evtimer_new(base, time_is_over, session);
    if (session->client == NULL || (outside >= 0 && session->origin.stream == NULL) ||
            session->errand == NULL || session->clean == NULL || session->timer == NULL) {
        return false;
    }
    if (setup->is_tls) {
        tls = tls_server(inside, setup->authority, destination->name);
        if (tls == NULL) {
            return false;
        }
        stream_secure(session->client, tls);
    }
    return true;
}

void
session_start(const struct session_setup *setup, int inside, int outside)
{
    struct session *session = calloc(1, sizeof *session);

    if (session == NULL || !part_add(&session->part, setup->box, end_part, &setup->errand->subject,
                                   &setup->errand->destination)) {
        free(session);
        close_with_reset(inside);
        close_with_reset(outside);
        return;
    }
    session->part.revoke = revoke;
    if (!set_up(session, setup, inside, outside)) {
        session->resets = true;
        session_free(session);
        return;
    }
    session_run(session);
}
