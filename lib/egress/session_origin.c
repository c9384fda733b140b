/* SPDX-License-Identifier: Apache-2.0
 * The connection outside: dialled when an exchange wants it, secured where the client spoke TLS,
 * kept for the next exchange.  One that was open before may have been closed meanwhile without
 * anybody's fault; then what was not answered is tried once more, if that does no harm. */
#include "egress/session_private.h"

#include "egress/problem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void
origin_close(struct session *session, bool resets)
{
    struct origin *origin = &session->origin;

    dial_cancel(origin->dial);
    stream_free(origin->stream, resets);
    *origin = (struct origin){ .stream = NULL };
}

static void
something_happened(void *data)
{
    session_run(data);
}

static void
dialled(void *data, int fd, int error, const struct refusal *refusal)
{
    struct session *session = data;
    struct origin *origin = &session->origin;

    origin->dial = NULL;
    origin->error = error;
    if (error == 0) {
        origin->stream =
                stream_new(egress_base(session->part.box), fd, something_happened, session);
        origin->error = origin->stream == NULL ? ENOMEM : 0;
    } else if (refusal != NULL) {
        origin->is_refused = true;
        session->exchange->refusal = *refusal;
    }
    if (!session->is_running) {
        session_run(session);
    }
}

static void
dial(struct session *session)
{
    struct exchange *exchange = session->exchange;
    struct origin *origin = &session->origin;
    struct destination destination = {
        .way = session->errand->destination.way, .name = exchange->host, .port = exchange->port
    };
    struct dial *dial;

    snprintf(origin->host, sizeof origin->host, "%s", exchange->host);
    origin->port = exchange->port;
    origin->relay =
            session->is_tls ? NULL : upstream_of(session->part.box->upstream, &destination, true);
    dial = dial_start(session->part.box, &session->errand->subject, &destination,
            session->is_tls ? DIAL_TUNNEL : DIAL_PLAIN, dialled, session);
    if (dial != NULL) {
        origin->dial = dial;
    }
}

static void
refuse_unreached(struct session *session)
{
    struct problem problem = { .status = 502 };

    if (session->origin.is_refused) {
        session_refuse(session, 403, "the connection was denied", &session->exchange->refusal);
        return;
    }
    problem_of_errno(&problem, session->origin.error);
    session_refuse(session, problem.status, problem.detail, NULL);
}

/* Methods that mean the same when they come twice (RFC 9110, 9.2.2). */
static bool
is_idempotent(struct span method)
{
    static const char *const methods[] = { "GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE",
        NULL };

    return span_is_one_of(method, methods);
}

void
origin_lost(struct session *session)
{
    struct exchange *exchange = session->exchange;
    struct origin *origin = &session->origin;
    bool was_stale = origin->may_be_stale;
    char detail[256];

    snprintf(detail, sizeof detail, "the destination gave no answer: %s",
            origin->stream->has_failed ? origin->stream->why : "it closed the connection");
    if (was_stale && !exchange->was_retried &&
            (!exchange->has_begun || (is_idempotent(exchange->request.method) &&
                                             exchange->request.framing == HTTP_NO_BODY))) {
        origin_close(session, true);
        exchange->was_retried = true;
        exchange->has_begun = false;
        exchange->stage = STAGE_ORIGIN;
        return;
    }
    origin_close(session, true);
    if (was_stale && exchange->has_begun) {
        /* As if there were nobody in between: the client knows whether it tries again. */
        session_abort(session);
    } else {
        session_refuse(session, 502, detail, NULL);
    }
}

/* False: no memory. */
static bool
secure(struct session *session)
{
    struct stream *stream = session->origin.stream;
    struct tls *tls = tls_client(stream->fd, session->trust, session->origin.host);

    if (tls == NULL) {
        return false;
    }
    stream_secure(stream, tls);
    stream_pull(stream, 0);
    return true;
}

/* It goes there, and nobody said in the meantime that it is over. */
static bool
can_be_used(const struct origin *origin, const struct exchange *exchange)
{
    const struct stream *stream = origin->stream;

    return origin->port == exchange->port && strcmp(origin->host, exchange->host) == 0 &&
           (!origin->may_be_stale || (!stream->has_ended && !stream->has_failed &&
                                             evbuffer_get_length(stream->input) == 0));
}

bool
origin_advance(struct session *session)
{
    struct exchange *exchange = session->exchange;
    struct origin *origin = &session->origin;

    if (origin->stream != NULL && !can_be_used(origin, exchange)) {
        origin_close(session, false);
    }
    if (origin->stream == NULL && origin->dial == NULL && origin->error == 0) {
        dial(session);
    }
    if (origin->error != 0) {
        refuse_unreached(session);
        return true;
    }
    if (origin->stream == NULL) {
        return false;
    }
    if (session->is_tls && origin->stream->tls == NULL && !secure(session)) {
        session_refuse(session, 502, "out of memory", NULL);
        return true;
    }
    if (origin->stream->has_failed) {
        origin_lost(session);
        return true;
    }
    if (!origin->stream->is_open) {
        return false;
    }
    exchange->stage = STAGE_FORWARD;
    return true;
}
