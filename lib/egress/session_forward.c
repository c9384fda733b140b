/* SPDX-License-Identifier: Apache-2.0
 * A request on its way out and its answer on the way in, at the same time, each no faster than its
 * reader; and what follows an upgrade. */
#include "egress/session_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INTERIM_MAX 64u /* answers before the answer */

/* ---- the request ---- */
static bool
has_room(const struct stream *stream)
{
    return evbuffer_get_length(stream->output) < OUTPUT_MAX;
}

/* The head for a proxy outside: with the whole URL, and what the proxy wants to know of us.  NULL:
 * no memory. */
static struct sealed *
head_for_relay(const struct exchange *exchange, const struct upstream_proxy *proxy)
{
    const struct sealed *head = exchange->head;
    const struct span method = exchange->request.method;
    const char *path = head->bytes + method.length + 1;
    const char *end = head->bytes + head->length;
    const char *line = memchr(path, '\n', (size_t)(end - path));
    struct evbuffer *text = evbuffer_new();
    struct str url = { 0 };
    struct sealed *whole = NULL;

    line = line == NULL ? end : line + 1;
    str_add_bytes(&url, method.at, method.length);
    str_add(&url, " http://");
    http_authority_write(&url, exchange->host, exchange->port, false);
    if (text != NULL && !url.failed && evbuffer_add(text, url.data, url.length) == 0 &&
            evbuffer_add(text, path, (size_t)(line - path)) == 0 &&
            (proxy->authorization == NULL || evbuffer_add(text, proxy->authorization->bytes,
                                                     proxy->authorization->length) == 0) &&
            evbuffer_add(text, line, (size_t)(end - line)) == 0) {
        whole = sealed_take(text);
    }
    if (text != NULL) {
        evbuffer_free(text);
    }
    str_done(&url);
    return whole;
}

static bool
send_head(struct session *session)
{
    struct exchange *exchange = session->exchange;
    const struct upstream_proxy *relay = session->origin.relay;
    struct sealed *head = relay == NULL ? exchange->head : head_for_relay(exchange, relay);
    bool is_sent = head != NULL && sealed_add(head, session->origin.stream->output);

    if (relay != NULL) {
        sealed_unref(head);
    }
    return is_sent;
}

static bool
begin(struct session *session)
{
    struct exchange *exchange = session->exchange;
    struct evbuffer *output = session->origin.stream->output;

    exchange->has_begun = true;
    if (!send_head(session) || (exchange->collected != NULL &&
                                       evbuffer_add_buffer(output, exchange->collected) != 0)) {
        session_abort(session);
    }
    return true;
}

/* A piece of the request's body. */
static bool
send_piece(struct session *session)
{
    struct exchange *exchange = session->exchange;
    struct flow *flow = &exchange->out;
    const char *why = flow_take(flow, session->client->input);
    bool is_last = http_body_is_over(&flow->body);
    bool is_new = evbuffer_get_length(flow->raw) != flow->left;

    if (why != NULL) {
        char reason[sizeof((struct refusal *)0)->reason];

        snprintf(reason, sizeof reason, "its HTTP request is refused: %s", why);
        session_deny(session, 400, "network:http", reason, NULL);
        return true;
    }
    if (!is_new && !is_last && !exchange->waits) {
        if (session->client->has_ended) { /* in the middle */
            session_abort(session);
        }
        return false;
    }
    switch (replace_request_body(exchange->replace, flow->raw, flow->frame.framing == HTTP_LENGTH,
            is_last, session->clean)) {
    case REPLACE_WAIT:
        exchange->waits = true;
        break;
    case REPLACE_REFUSED:
        session_refuse(session, replace_status(exchange->replace), "the request was denied",
                replace_refusal(exchange->replace));
        return true;
    case REPLACE_DONE:
        exchange->waits = false;
        break;
    }
    flow->left = evbuffer_get_length(flow->raw);
    is_new |= evbuffer_get_length(session->clean) > 0;
    is_last &= !exchange->waits;
    if (!flow_give(flow, session->clean, is_last, session->origin.stream->output)) {
        session_abort(session);
    }
    return is_new || is_last;
}

static bool
send_request(struct session *session)
{
    struct exchange *exchange = session->exchange;

    if (!exchange->has_begun) {
        return begin(session);
    }
    return !exchange->out.is_over && has_room(session->origin.stream) && send_piece(session);
}

/* ---- the answer's head ---- */
static void
refuse_answer(struct session *session, const char *why)
{
    char detail[256];

    snprintf(detail, sizeof detail, "the answer of the destination is refused: %s", why);
    session_refuse(session, 502, detail, NULL);
}

/* How the body goes on: as it came, but chunked where its length is not known, and until the
 * connection closes where the client knows no chunks. */
static struct http_frame
answer_frame(const struct exchange *exchange)
{
    const struct http_head *answer = &exchange->answer;
    bool changes = replace_changes_answer(exchange->replace);
    struct http_frame frame = { .framing = answer->framing,
        .length = answer->content_length,
        .keeps_length = !changes && answer->status >= 200 && answer->status != 204 };

    if (frame.framing == HTTP_LENGTH && changes) {
        frame.framing = HTTP_CHUNKED;
    }
    if (frame.framing == HTTP_CHUNKED && exchange->request.minor == 0) {
        frame.framing = HTTP_UNTIL_CLOSE;
    }
    return frame;
}

/* Whether the client's connection can stay: it asked for that, and nobody is in doubt about whether
 * a body still comes. */
static bool
may_keep(const struct exchange *exchange, const struct http_frame *frame)
{
    bool in_doubt = exchange->request.expects_continue && !exchange->out.is_over;

    return exchange->request.keep_alive && frame->framing != HTTP_UNTIL_CLOSE && !in_doubt;
}

/* Passes the head in exchange->answer on. */
static void
pass_head(struct session *session)
{
    struct exchange *exchange = session->exchange;
    struct http_frame frame = answer_frame(exchange);
    struct evbuffer *head = evbuffer_new();
    struct str text = { 0 };

    exchange->keeps = may_keep(exchange, &frame);
    http_answer_write(&text, &exchange->answer, &frame, exchange->keeps, exchange->request.minor);
    if (head == NULL || text.failed || evbuffer_add(head, text.data, text.length) != 0 ||
            !flow_start(&exchange->in, &exchange->answer, &frame)) {
        session_abort(session);
    } else if (replace_answer(exchange->replace, head) == REPLACE_REFUSED) {
        session_refuse(session, replace_status(exchange->replace), "the answer was refused",
                replace_refusal(exchange->replace));
    } else if (!answer_look(session) || evbuffer_add_buffer(answer_output(session), head) != 0) {
        session_abort(session);
    } else {
        exchange->has_answer = exchange->answer.status >= 200;
    }
    if (head != NULL) {
        evbuffer_free(head);
    }
    str_done(&text);
}

/* 100, 102, 103: to who understands them and, for 100, waits for it. */
static void
take_interim(struct session *session)
{
    struct exchange *exchange = session->exchange;
    bool wanted = exchange->request.minor > 0 &&
                  (exchange->answer.status != 100 ||
                          (exchange->request.expects_continue && exchange->collected == NULL));

    if (++exchange->n_interim > INTERIM_MAX) {
        refuse_answer(session, "too many answers before the answer");
        return;
    }
    if (wanted) {
        pass_head(session);
    }
    if (!session->is_closing) {
        free(exchange->answer_bytes);
        exchange->answer_bytes = NULL;
    }
}

static void
take_upgrade(struct session *session)
{
    struct exchange *exchange = session->exchange;

    if (!http_upgrade_passes(&exchange->request)) {
        refuse_answer(session, "it changes the protocol, which nobody asked for");
        return;
    }
    pass_head(session);
    if (!session->is_closing && !session->is_over) {
        exchange->has_answer = true;
        exchange->stage = STAGE_UPGRADED;
    }
}

/* The proxy outside wants to know who asks: not the program's matter. */
static void
deny_proxy(struct session *session)
{
    struct refusal refusal;

    upstream_refusal(session->origin.relay, session->exchange->answer.status, &refusal);
    session_deny_as(session, 502, &refusal);
}

/* True: a head was there. */
static bool
take_head(struct session *session)
{
    struct exchange *exchange = session->exchange;
    struct evbuffer *input = session->origin.stream->input;
    size_t length = evbuffer_get_length(input);
    const char *bytes, *why = "out of memory";
    int r;

    length = length < HTTP_HEAD_MAX ? length : HTTP_HEAD_MAX;
    if (length == 0) {
        return false;
    }
    bytes = (const char *)evbuffer_pullup(input, (ssize_t)length);
    r = bytes == NULL ? -502
                      : http_response_parse(
                                bytes, length, exchange->request.method, &exchange->answer, &why);
    if (r == 0) {
        return false;
    }
    exchange->answer_bytes = r > 0 ? malloc((size_t)r) : NULL;
    if (r < 0 || exchange->answer_bytes == NULL ||
            evbuffer_remove(input, exchange->answer_bytes, (size_t)r) != r ||
            http_response_parse(exchange->answer_bytes, (size_t)r, exchange->request.method,
                    &exchange->answer, &why) != r) {
        refuse_answer(session, why);
        return true;
    }
    if (session->origin.relay != NULL && exchange->answer.status == 407) {
        deny_proxy(session);
    } else if (exchange->answer.status == 101) {
        take_upgrade(session);
    } else if (exchange->answer.status < 200) {
        take_interim(session);
    } else {
        pass_head(session);
    }
    return true;
}

/* ---- the answer's body ---- */
static void
finish(struct session *session)
{
    struct exchange *exchange = session->exchange;
    struct stream *origin = session->origin.stream;
    bool is_whole = exchange->has_begun && exchange->out.is_over;
    bool keeps = exchange->keeps && is_whole;

    if (!is_whole || !exchange->answer.keep_alive || origin->has_ended || origin->has_failed ||
            evbuffer_get_length(origin->input) > 0) {
        origin_close(session, false);
    } else {
        session->origin.may_be_stale = true;
    }
    exchange_free(exchange);
    session->exchange = NULL;
    if (!keeps) {
        session_close(session);
    }
}

static bool
take_body(struct session *session)
{
    struct exchange *exchange = session->exchange;
    struct flow *flow = &exchange->in;
    struct stream *origin = session->origin.stream;
    size_t before = evbuffer_get_length(origin->input);
    const char *why = NULL;
    bool is_new, is_last;

    if (flow->is_over) {
        finish(session);
        return true;
    }
    if (!has_room(session->client)) {
        return false;
    }
    why = flow_take(flow, origin->input);
    is_new = evbuffer_get_length(origin->input) != before;
    is_last = http_body_is_over(&flow->body) ||
              (origin->has_ended && http_body_may_end(&flow->body) &&
                      evbuffer_get_length(origin->input) == 0);
    if (!is_new && !is_last && why == NULL && !origin->has_failed && !origin->has_ended) {
        return false;
    }
    if (why != NULL || (!is_new && !is_last) ||
            replace_answer_body(exchange->replace, flow->raw, is_last, session->clean) !=
                    REPLACE_DONE ||
            !answer_read(session, is_last) ||
            !flow_give(flow, session->clean, is_last, answer_output(session)) ||
            !answer_release(session)) {
        session_abort(session); /* the client must not take it for the whole */
    }
    return true;
}

static bool
take_answer(struct session *session)
{
    struct stream *origin = session->origin.stream;

    if (session->exchange->has_answer) {
        return take_body(session);
    }
    if (take_head(session)) {
        return true;
    }
    if (!origin->has_failed && !origin->has_ended) {
        return false;
    }
    if (evbuffer_get_length(origin->input) > 0 || session->exchange->n_interim > 0) {
        refuse_answer(session, "it ends in the middle of its head");
    } else {
        origin_lost(session);
    }
    return true;
}

/* ---- bytes ---- */

/* One way. */
static bool
pump(struct session *session, struct stream *from, struct stream *to)
{
    struct evbuffer_iovec bytes;
    bool changed = false;

    while (has_room(to) && evbuffer_peek(from->input, -1, NULL, &bytes, 1) > 0 &&
            bytes.iov_len > 0) {
        if (replace_watch(session->exchange->replace, from != session->client, bytes.iov_base,
                    bytes.iov_len) != REPLACE_DONE ||
                evbuffer_remove_buffer(from->input, to->output, bytes.iov_len) !=
                        (int)bytes.iov_len) {
            session_abort(session);
            return true;
        }
        changed = true;
    }
    if (from->has_ended && evbuffer_get_length(from->input) == 0) {
        stream_shut(to);
    }
    return changed;
}

static bool
pump_both(struct session *session)
{
    struct stream *client = session->client, *origin = session->origin.stream;
    bool changed = pump(session, client, origin);

    changed |= !session->is_over && pump(session, origin, client);
    if (origin->has_failed) {
        session_abort(session);
    } else if (stream_is_shut(client) && stream_is_shut(origin)) {
        session->is_over = true;
    }
    return changed;
}

bool
forward_advance(struct session *session)
{
    bool changed;

    if (session->exchange->stage == STAGE_UPGRADED) {
        return pump_both(session);
    }
    changed = send_request(session);
    if (session->is_closing || session->is_over) {
        return true;
    }
    return take_answer(session) || changed;
}
