/* SPDX-License-Identifier: Apache-2.0
 * The body of a request that is decided about: gathered before that where it has the arguments of
 * an action, or where somebody is asked; and what of it a yes is for. */
#include "egress/session_private.h"

#include "base/digest.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BODY_SHOWN_MAX (1u << 20) /* of a body that somebody is asked about */
#define FIELD_SHOWN_MAX 256u /* bytes of a field; of a longer one the digest, too */

/* Whether somebody would be asked; the policy alone knows of most requests that nobody is. */
static bool
is_asked_about(const struct session *session, const char *url, const char *method)
{
    const struct egress_box *box = session->part.box;
    const struct act act = {
        .request = ABX_REQUEST_HTTP,
        .port = session->exchange->port,
        .target = url,
        .verb = method,
        .content = -1,
        .quiet = true,
    };
    struct ruling ruling;
    uint64_t unused = 0;

    return policy_decide_connected(box->policy, url, method, &ruling) == ABX_VERDICT_ASK &&
           box->broker->decide(box->broker->data, &session->errand->subject, &act, &unused) ==
                   ABX_VERDICT_ASK;
}

/* How much of the body is gathered first; 0: nothing. */
static size_t
wanted(struct session *session)
{
    struct exchange *exchange = session->exchange;
    const struct http_head *request = &exchange->request;
    bool has_length = request->framing == HTTP_LENGTH;
    AUTO(freep) char *url = request_url(session);
    AUTO(freep) char *method = request_method(session);

    if (url == NULL || method == NULL) {
        session_abort(session);
        return 0;
    }
    if (action_wants_body(session, url, method)) {
        exchange->unreadable = action_body_is_wrong(request);
        return exchange->unreadable == NULL ? ACTION_INPUT_MAX : 0;
    }
    return (!has_length || request->content_length <= BODY_SHOWN_MAX) &&
                           is_asked_about(session, url, method)
                   ? BODY_SHOWN_MAX
                   : 0;
}

static bool
start(struct session *session)
{
    struct exchange *exchange = session->exchange;
    struct http_frame frame = { .framing = HTTP_LENGTH };

    exchange->collected = evbuffer_new();
    if (exchange->collected == NULL || !flow_start(&exchange->out, &exchange->request, &frame)) {
        return false;
    }
    if (!exchange->request.expects_continue) {
        return true;
    }
    exchange->request.expects_continue = false;
    return evbuffer_add_printf(session->client->output, "HTTP/1.1 100 Continue\r\n\r\n") >= 0;
}

bool
body_let_go(struct exchange *exchange)
{
    exchange->out.frame.framing = exchange->request.framing;
    exchange->out.frame.length = exchange->request.content_length;
    exchange->request.expects_continue = false; /* that was said */
    if (evbuffer_add_buffer(exchange->out.raw, exchange->collected) != 0) {
        return false;
    }
    evbuffer_free(exchange->collected);
    exchange->collected = NULL;
    return true;
}

/* It has more than is gathered: arguments have an end, other bodies go on as they come. */
static bool
give_up(struct exchange *exchange)
{
    if (exchange->most == ACTION_INPUT_MAX) {
        exchange->unreadable = "its body is longer than 64 KiB";
        return true;
    }
    return body_let_go(exchange);
}

/* There is no room for more of it.  False: it is over. */
static bool
make_room(struct session *session)
{
    if (session->exchange->most == ACTION_INPUT_MAX) {
        session_deny(session, 503, "boundary:bodies",
                "the box has too many requests whose bodies are not there yet",
                "send fewer at a time, and each whole");
        return false;
    }
    if (!body_let_go(session->exchange)) {
        session_abort(session);
        return false;
    }
    return true;
}

static bool
gather(struct session *session)
{
    struct exchange *exchange = session->exchange;
    const char *why = flow_take(&exchange->out, session->client->input);
    bool is_new = evbuffer_get_length(exchange->out.raw) > 0; /* then there may be more */

    if (why != NULL) {
        request_deny_unreadable(session, 400, why);
        return true;
    }
    if (evbuffer_add_buffer(exchange->collected, exchange->out.raw) != 0) {
        session_abort(session);
        return true;
    }
    if (evbuffer_get_length(exchange->collected) > exchange->most) {
        if (!give_up(exchange)) {
            session_abort(session);
            return true;
        }
    } else if (!http_body_is_over(&exchange->out.body)) {
        if (session->client->has_ended && evbuffer_get_length(session->client->input) == 0) {
            session_abort(session); /* in the middle */
            return true;
        }
        if (session_has_room(session)) {
            return is_new;
        }
        if (!make_room(session)) {
            return true;
        }
    }
    exchange->stage = STAGE_REQUEST;
    return true;
}

bool
body_advance(struct session *session)
{
    struct exchange *exchange = session->exchange;

    if (exchange->collected != NULL) {
        return gather(session);
    }
    exchange->most = request_has_body(&exchange->request) ? wanted(session) : 0;
    if (exchange->most == 0) {
        exchange->stage = STAGE_REQUEST;
    } else if (!start(session)) {
        session_abort(session);
    }
    return true;
}

bool
body_bytes(const struct exchange *exchange, const char **ret_bytes, size_t *ret_length)
{
    size_t length = exchange->collected == NULL ? 0 : evbuffer_get_length(exchange->collected);
    const char *bytes = length == 0 ? NULL : (const char *)evbuffer_pullup(exchange->collected, -1);

    if (length > 0 && bytes == NULL) {
        return false;
    }
    *ret_bytes = bytes;
    *ret_length = length;
    return true;
}

/* ---- what a yes is for ---- */
/* Its values, one on each line where it stands there more than once. */
static void
field_values(const struct http_head *request, const char *name, struct str *out)
{
    for (size_t i = 0; i < request->n_fields; i++) {
        const struct http_field *field = &request->fields[i];

        if (span_is(field->name, name)) {
            str_add(out, out->length == 0 ? "" : "\n");
            str_add_bytes(out, field->value.at, field->value.length);
        }
    }
}

static void
add_field(struct str *out, const struct http_head *request, const char *name, const char *key)
{
    AUTO(str_done) struct str values = { 0 };
    char hex[DIGEST_HEX_SIZE];

    if (http_field_get(request, name) == NULL) {
        return;
    }
    field_values(request, name, &values);
    out->failed |= values.failed;
    str_printf(out, ",\"%s\":", key);
    if (values.failed || values.length <= FIELD_SHOWN_MAX) {
        str_add_json_bytes(out, values.length == 0 || values.failed ? "" : values.data, true);
        return;
    }
    digest_hex(values.data, values.length, hex);
    values.data[FIELD_SHOWN_MAX] = '\0';
    str_add_json_bytes(out, values.data, true);
    str_printf(out, ",\"%s_length\":%zu,\"%s_sha256\":\"%s\"", key, values.length, key, hex);
}

char *
body_shown(struct session *session)
{
    const struct exchange *exchange = session->exchange;
    const struct http_head *request = &exchange->request;
    struct str out = { 0 };
    char hex[DIGEST_HEX_SIZE];
    const char *bytes;
    size_t length;

    if (!request_has_body(request)) {
        return strdup(http_upgrade_passes(request) ? BOUND_UPGRADE : BOUND_NO_BODY);
    }
    if (!body_bytes(exchange, &bytes, &length)) {
        return NULL;
    }
    if (exchange->collected != NULL) {
        digest_hex(length == 0 ? "" : bytes, length, hex);
        str_printf(&out, "{\"body\":{\"sha256\":\"%s\",\"length\":%zu}", hex, length);
    } else { /* a number that no other request has: a yes is for this one */
        str_printf(&out, "{\"body\":\"not looked at\",\"exchange\":%" PRIu64,
                ++session->part.box->last_unseen);
    }
    if (request->framing == HTTP_LENGTH && exchange->collected == NULL) {
        str_printf(&out, ",\"length\":%" PRIu64, request->content_length);
    }
    add_field(&out, request, "content-type", "content_type");
    add_field(&out, request, "content-encoding", "content_encoding");
    str_add(&out, "}");
    return str_steal(&out, NULL);
}
