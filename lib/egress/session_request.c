/* SPDX-License-Identifier: Apache-2.0
 * A request from its first byte until it may go out: read, held against where the connection goes,
 * decided, and given its credentials.  A held question holds this connection and nothing else. */
#include "egress/session_private.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
exchange_free(struct exchange *exchange)
{
    if (exchange == NULL) {
        return;
    }
    decision_cancel(exchange->decision);
    if (exchange->replace != NULL) {
        replace_free(exchange->replace);
    }
    flow_done(&exchange->out);
    flow_done(&exchange->in);
    if (exchange->collected != NULL) {
        evbuffer_free(exchange->collected);
    }
    if (exchange->held != NULL) {
        evbuffer_free(exchange->held);
    }
    str_done(&exchange->document);
    sealed_unref(exchange->head);
    free(exchange->bytes);
    free(exchange->answer_bytes);
    free(exchange);
}

void
request_deny_unreadable(struct session *session, int status, const char *why)
{
    char reason[sizeof((struct refusal *)0)->reason];

    snprintf(reason, sizeof reason, "its HTTP request is refused: %s", why);
    session_deny(session, status, "network:http", reason, NULL);
}

/* ---- where to ---- */
static bool
spell_host(const struct http_head *request, char host[POLICY_HOST_SIZE])
{
    char text[POLICY_HOST_SIZE];

    if (request->host.length >= sizeof text) {
        return false;
    }
    memcpy(text, request->host.at, request->host.length);
    text[request->host.length] = '\0';
    return policy_host_spelling(text, host);
}

/* A proxy goes where the target says. */
static bool
find_place_for_proxy(struct session *session)
{
    struct exchange *exchange = session->exchange;
    const struct http_head *request = &exchange->request;

    if (request->form != HTTP_ABSOLUTE || request->is_https) {
        request_deny_unreadable(session, 400,
                request->is_https ? "a proxy is asked for https by CONNECT"
                                  : "a proxy wants a URL as its target");
        return false;
    }
    exchange->port = request->port == 0 ? 80 : request->port;
    return true;
}

/* Elsewhere a request must be for where the connection goes. */
static bool
is_for_here(struct session *session)
{
    const struct destination *here = &session->errand->destination;
    const struct exchange *exchange = session->exchange;
    const struct http_head *request = &exchange->request;
    uint16_t usual = session->is_tls ? 443 : 80;
    char reason[sizeof((struct refusal *)0)->reason], quoted[156];

    if (request->form == HTTP_AUTHORITY) {
        request_deny_unreadable(session, 400, "this is no proxy");
        return false;
    }
    if (strcmp(exchange->host, here->name) == 0 &&
            (request->port == 0 ? usual : request->port) == here->port &&
            (request->form == HTTP_ORIGIN || request->is_https == session->is_tls)) {
        return true;
    }
    snprintf(reason, sizeof reason,
            "its request names %s port %u, which is not where it connected to",
            text_quote(exchange->host, quoted, sizeof quoted),
            request->port == 0 ? usual : request->port);
    session_deny(session, 421, "network:host", reason, "connect to each host by its own name");
    return false;
}

static bool
find_place(struct session *session)
{
    struct exchange *exchange = session->exchange;
    const struct destination *here = &session->errand->destination;

    if (exchange->request.host.length == 0) { /* HTTP/1.0 */
        snprintf(exchange->host, sizeof exchange->host, "%s", here->name);
        exchange->port = here->port;
        return !session->is_proxy || find_place_for_proxy(session);
    }
    if (!spell_host(&exchange->request, exchange->host)) {
        exchange->host[0] = '\0';
        request_deny_unreadable(session, 400, "its host is no valid name");
        return false;
    }
    if (session->is_proxy) {
        return find_place_for_proxy(session);
    }
    if (!is_for_here(session)) {
        return false;
    }
    exchange->port = here->port;
    return true;
}

/* ---- reading ---- */
static bool
keep_head(struct exchange *exchange, struct evbuffer *input, size_t length)
{
    const char *why;

    exchange->bytes = malloc(length);
    if (exchange->bytes == NULL || evbuffer_remove(input, exchange->bytes, length) != (int)length) {
        return false;
    }
    return http_request_parse(exchange->bytes, length, &exchange->request, &why) == (int)length;
}

bool
request_has_body(const struct http_head *request)
{
    return request->framing != HTTP_NO_BODY &&
           (request->framing != HTTP_LENGTH || request->content_length > 0);
}

bool
request_read(struct session *session)
{
    struct evbuffer *input = session->client->input;
    size_t length = evbuffer_get_length(input);
    const char *bytes, *why = NULL;
    struct exchange *exchange;
    int r;

    length = length < HTTP_HEAD_MAX ? length : HTTP_HEAD_MAX;
    if (length == 0) {
        return false;
    }
    exchange = calloc(1, sizeof *exchange);
    bytes = (const char *)evbuffer_pullup(input, (ssize_t)length);
    if (exchange == NULL || bytes == NULL) {
        free(exchange);
        session_abort(session);
        return true;
    }
    r = http_request_parse(bytes, length, &exchange->request, &why);
    if (r == 0) {
        free(exchange);
        return false;
    }
    session->exchange = exchange;
    if (r < 0) {
        exchange->request = (struct http_head){ .length = 0 };
        request_deny_unreadable(session, -r, why);
        return true;
    }
    if (!keep_head(exchange, input, (size_t)r)) {
        session_abort(session);
        return true;
    }
    if (find_place(session)) {
        exchange->stage = session->is_proxy ? STAGE_CONNECT : STAGE_BODY;
    }
    return true;
}

/* ---- deciding ---- */
static void
decided(void *data, abx_verdict verdict, const struct refusal *refusal)
{
    struct session *session = data;
    struct exchange *exchange = session->exchange;

    exchange->decision = NULL;
    exchange->is_decided = true;
    exchange->verdict = verdict;
    if (refusal != NULL) {
        exchange->refusal = *refusal;
    }
    if (!session->is_running) {
        session_run(session);
    }
}

static void
ask(struct session *session, const struct act *act)
{
    struct exchange *exchange = session->exchange;
    struct decision *decision;

    exchange->is_asked = true;
    exchange->is_decided = false;
    decision = decision_start(session->part.box, &session->errand->subject, act, decided, session);
    if (decision != NULL) {
        exchange->decision = decision;
    }
}

static void
ask_for_connection(struct session *session)
{
    struct exchange *exchange = session->exchange;
    struct act act = {
        .request = ABX_REQUEST_CONNECT,
        .port = exchange->port,
        .target = exchange->host,
        .verb = "connect",
        .content = -1,
    };

    ask(session, &act);
}

char *
request_url(const struct session *session)
{
    const struct exchange *exchange = session->exchange;
    const struct span *path = &exchange->request.path;
    struct str url = { 0 };

    str_add(&url, session->is_tls ? "https://" : "http://");
    http_authority_write(&url, exchange->host, exchange->port, session->is_tls);
    str_add_bytes(&url, path->at, path->length);
    return str_steal(&url, NULL);
}

char *
request_method(const struct session *session)
{
    const struct span *method = &session->exchange->request.method;

    return strndup(method->at, method->length);
}

static void
ask_for_request(struct session *session)
{
    struct exchange *exchange = session->exchange;
    AUTO(freep) char *url = request_url(session);
    AUTO(freep) char *verb = request_method(session);
    AUTO(freep) char *bound = body_shown(session);
    struct act act = {
        .request = ABX_REQUEST_HTTP,
        .port = exchange->port,
        .target = url,
        .verb = verb,
        .bound = bound,
        .content = -1,
        .unreadable = exchange->unreadable,
        .key = exchange->key,
        .by = &exchange->by,
    };

    if (url == NULL || verb == NULL || bound == NULL ||
            !body_bytes(exchange, &act.body, &act.body_length)) {
        session_abort(session);
        return;
    }
    ask(session, &act);
    if (exchange->decision != NULL) {
        exchange->by = decision_ticket(exchange->decision);
    }
}

/* Whether it is allowed now, and no use of a grant would be taken for it; *ret_by: by which. */
static bool
is_free(const struct session *session, const struct act *act, uint64_t *ret_by)
{
    const struct broker *broker = session->part.box->broker;
    struct act quiet = *act;
    uint64_t by = 0, counted = 0, unused = 0;

    quiet.quiet = true;
    quiet.by = &by;
    quiet.counted = &counted;
    if (broker->decide(broker->data, &session->errand->subject, &quiet, &unused) !=
                    ABX_VERDICT_ALLOW ||
            counted != 0) {
        return false;
    }
    *ret_by = by;
    return true;
}

bool
request_holds(struct session *session)
{
    const struct broker *broker = session->part.box->broker;
    struct exchange *exchange = session->exchange;
    AUTO(freep) char *url = request_url(session);
    AUTO(freep) char *verb = request_method(session);
    const struct act act = {
        .request = ABX_REQUEST_HTTP,
        .port = exchange->port,
        .target = url,
        .verb = verb,
        .bound = http_upgrade_passes(&exchange->request) ? BOUND_UPGRADE : NULL,
        .content = -1,
    };
    struct refusal refusal = { 0 };

    if (!exchange->is_revoked || exchange->decision != NULL) {
        return true;
    }
    if (url == NULL || verb == NULL) {
        session_abort(session);
        return false;
    }
    if (is_free(session, &act, &exchange->by)) {
        exchange->is_revoked = false;
        return true;
    }
    broker->revoked(broker->data, &session->errand->subject, &act);
    refusal_revoked(&refusal);
    session_refuse(session, 403, "the request was denied", &refusal);
    return false;
}

/* True: allowed, and the next stage may begin. */
static bool
pass_decision(struct session *session, void (*ask_for)(struct session *session), bool *changed)
{
    struct exchange *exchange = session->exchange;

    if (!exchange->is_asked) {
        ask_for(session);
        *changed = true;
    }
    if (session->is_over || !exchange->is_decided) {
        return false;
    }
    *changed = true;
    exchange->is_asked = false;
    if (exchange->verdict != ABX_VERDICT_ALLOW) {
        session_refuse(session, 403, "the request was denied", &exchange->refusal);
        return false;
    }
    return true;
}

/* ---- credentials ---- */
static void
secret_is_there(void *data)
{
    session_run(data);
}

/* Whether the body is to be known with the head. */
static bool
wants_body(const struct exchange *exchange)
{
    return exchange->request.framing == HTTP_LENGTH &&
           exchange->request.content_length <= REPLACE_BODY_MAX &&
           replace_wants_body(exchange->replace);
}

static bool
start_credentials(struct session *session)
{
    struct exchange *exchange = session->exchange;
    struct replace_setup setup = {
        .box = session->part.box,
        .subject = &session->errand->subject,
        .host = exchange->host,
        .port = exchange->port,
        .tls = session->is_tls,
        .ready = secret_is_there,
        .data = session,
    };
    struct http_frame frame = { .framing = exchange->request.framing,
        .length = exchange->request.content_length };

    exchange->replace = replace_new(&setup);
    if (exchange->replace == NULL) {
        return false;
    }
    if (exchange->collected != NULL) { /* decided about; its length is known now */
        exchange->out.frame = (struct http_frame){ .framing = HTTP_LENGTH,
            .length = evbuffer_get_length(exchange->collected) };
    } else if (exchange->out.raw == NULL &&
               !flow_start(&exchange->out, &exchange->request, &frame)) {
        return false;
    } else if (wants_body(exchange)) {
        exchange->collected = evbuffer_new();
        if (exchange->collected == NULL) {
            return false;
        }
        if (exchange->request.expects_continue) {
            evbuffer_add_printf(session->client->output, "HTTP/1.1 100 Continue\r\n\r\n");
        }
    }
    exchange->stage = STAGE_COLLECT;
    return true;
}

static bool
collect(struct session *session)
{
    struct exchange *exchange = session->exchange;
    const char *why;
    bool is_new;

    if (exchange->collected == NULL) {
        exchange->stage = STAGE_CREDENTIALS;
        return true;
    }
    why = flow_take(&exchange->out, session->client->input);
    is_new = evbuffer_get_length(exchange->out.raw) > 0; /* then there may be more */
    if (why != NULL || evbuffer_add_buffer(exchange->collected, exchange->out.raw) != 0) {
        session_abort(session);
        return true;
    }
    if (!http_body_is_over(&exchange->out.body)) {
        if (session->client->has_ended && evbuffer_get_length(session->client->input) == 0) {
            session_abort(session); /* in the middle */
        }
        if (session->is_over || session_has_room(session)) {
            return is_new;
        }
        if (!body_let_go(exchange)) {
            session_abort(session);
        }
        exchange->stage = STAGE_CREDENTIALS;
        return true;
    }
    exchange->out.is_over = true;
    exchange->stage = STAGE_CREDENTIALS;
    return true;
}

/* Fields that are ours to say. */
static size_t
own_fields(const struct session *session, struct http_own own[2])
{
    const struct egress_box *box = session->part.box;
    const struct exchange *exchange = session->exchange;
    const char *identity = policy_identity_header(box->policy, exchange->host, exchange->port);

    size_t n = 0;

    if (identity != NULL) {
        own[n++] = (struct http_own){ identity, box->identity };
    }
    if (exchange->key[0] != '\0') {
        own[n++] = (struct http_own){ "Idempotency-Key", exchange->key };
    }
    return n;
}

/* The head as it goes out.  False: it waits, or was refused. */
static bool
write_head(struct session *session)
{
    struct exchange *exchange = session->exchange;
    struct evbuffer *head = evbuffer_new();
    struct str text = { 0 };
    enum replace_result result = REPLACE_REFUSED;
    struct http_own own[2];
    size_t n_own = own_fields(session, own);

    http_request_write(&text, &exchange->request, exchange->host, exchange->port, session->is_tls,
            &exchange->out.frame, exchange->request.expects_continue && exchange->collected == NULL,
            own, n_own);
    if (head == NULL || text.failed || evbuffer_add(head, text.data, text.length) != 0) {
        session_abort(session);
    } else {
        result = replace_request(exchange->replace, head, exchange->collected);
        exchange->waits = result == REPLACE_WAIT;
        if (result == REPLACE_REFUSED) {
            session_refuse(session, replace_status(exchange->replace), "the request was denied",
                    replace_refusal(exchange->replace));
        } else if (result == REPLACE_DONE) {
            exchange->head = sealed_take(head);
        }
    }
    str_done(&text);
    if (head != NULL) {
        evbuffer_free(head);
    }
    return result == REPLACE_DONE;
}

/* What a proxy's connection leads to changes with each request. */
static bool
goes_there(struct session *session)
{
    const struct exchange *exchange = session->exchange;
    const struct destination destination = {
        .way = session->errand->destination.way, .name = exchange->host, .port = exchange->port
    };

    return part_goes_to(&session->part, &session->errand->subject, &destination);
}

bool
request_advance(struct session *session)
{
    struct exchange *exchange = session->exchange;
    bool changed = false;

    switch (exchange->stage) {
    case STAGE_CONNECT:
        if (pass_decision(session, ask_for_connection, &changed)) {
            if (!goes_there(session)) {
                session_abort(session);
                return true;
            }
            exchange->stage = STAGE_BODY;
            if (!policy_reads_http(session->part.box->policy, exchange->host, exchange->port)) {
                exchange->stage = STAGE_REQUEST;
                exchange->is_asked = exchange->is_decided = true; /* that was all */
            }
        }
        return changed;
    case STAGE_BODY:
        return body_advance(session);
    case STAGE_REQUEST:
        if (pass_decision(session, ask_for_request, &changed) && request_holds(session) &&
                !start_credentials(session)) {
            session_abort(session);
        }
        return changed;
    case STAGE_COLLECT:
        return collect(session);
    case STAGE_CREDENTIALS:
        if (!write_head(session)) {
            return session->is_closing || session->is_over;
        }
        if (exchange->head == NULL) {
            session_abort(session);
            return true;
        }
        exchange->stage = STAGE_ORIGIN;
        return true;
    case STAGE_ORIGIN:
    case STAGE_FORWARD:
    case STAGE_UPGRADED:
        break;
    }
    return false;
}
