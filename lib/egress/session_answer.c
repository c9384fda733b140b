/* SPDX-License-Identifier: Apache-2.0
 * What an answer says about why a request failed: who asks is not accepted, or a server does not
 * take the values of a named action.  It is told before the program sees the answer, so a problem
 * document, of which a little is read on its way, is held back until then.  Changes nothing. */
#include "egress/session_private.h"

#include "egress/problem_document.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is told ---- */

/* They say when, not what: 408, 425 and 429 are about the next attempt. */
static bool
is_about_time(int status)
{
    return status == 408 || status == 425 || status == 429;
}

static bool
is_problem_document(const struct http_head *answer)
{
    const struct http_field *type = http_field_get(answer, "content-type");

    return type != NULL && problem_document_is(type->value);
}

static bool
is_encoded(const struct http_head *answer)
{
    const struct http_field *encoding = http_field_get(answer, "content-encoding");

    return encoding != NULL && (http_field_count(answer, "content-encoding") != 1 ||
                                       !span_is(encoding->value, "identity"));
}

/* ABX_LAYER_*; 0: it says nothing, or nothing that is our matter. */
static uint32_t
layer_of_answer(const struct session *session)
{
    const struct exchange *exchange = session->exchange;
    const int status = exchange->answer.status;

    if (status == 401 || status == 403 || status == 407) {
        return policy_reads_http(session->part.box->policy, exchange->host, exchange->port)
                       ? ABX_LAYER_IDENTITY
                       : 0;
    }
    return exchange->key[0] != '\0' &&
                           (status == 422 || (status / 100 == 4 && !is_about_time(status) &&
                                                     is_problem_document(&exchange->answer)))
                   ? ABX_LAYER_ACTION
                   : 0;
}

/* ---- the words ---- */
struct words {
    char reason[256], alternative[256];
};

/* The credential of the policy that goes there, and whose place the program knows; or NULL. */
static const struct policy_credential *
credential_for(const struct session *session)
{
    abx_policy *policy = session->part.box->policy;
    const struct policy_settings *settings = policy_get_settings(policy);

    for (size_t i = 0; i < settings->n_credentials; i++) {
        if (settings->credentials[i].env != NULL &&
                policy_credential_goes_to(
                        policy, i, session->exchange->host, session->exchange->port)) {
            return &settings->credentials[i];
        }
    }
    return NULL;
}

static void
say_unknown(const struct session *session, int status, struct words *words)
{
    const char *sent = replace_sent(session->exchange->replace);
    const struct policy_credential *other = sent == NULL ? credential_for(session) : NULL;

    if (sent != NULL) {
        snprintf(words->reason, sizeof words->reason,
                "the server answered %d: it does not accept the credential '%.100s', which the "
                "host gave",
                status, sent);
        snprintf(words->alternative, sizeof words->alternative,
                "ask for another credential '%.100s' or a new login; nothing in the box can repair "
                "it",
                sent);
    } else if (other != NULL) {
        snprintf(words->reason, sizeof words->reason,
                "the server answered %d: it wants a login, and the credential '%.80s' was not sent",
                status, other->name);
        snprintf(words->alternative, sizeof words->alternative,
                "send what the variable %.80s holds, as it is", other->env);
    } else {
        snprintf(words->reason, sizeof words->reason,
                "the server answered %d: it wants a login, and got none that it accepts", status);
        snprintf(words->alternative, sizeof words->alternative, "ask for a credential for '%.100s'",
                session->exchange->host);
    }
}

static void
say_forbidden(const struct session *session, struct words *words)
{
    const struct exchange *exchange = session->exchange;
    const struct egress_box *box = session->part.box;
    const char *sent = replace_sent(exchange->replace);
    const char *header = policy_identity_header(box->policy, exchange->host, exchange->port);

    if (box->identity != NULL && header != NULL) {
        snprintf(words->reason, sizeof words->reason,
                "the server answered 403: whom the field '%.80s' names may not do this", header);
    } else if (sent != NULL) {
        snprintf(words->reason, sizeof words->reason,
                "the server answered 403: who has the credential '%.100s' may not do this", sent);
    } else {
        snprintf(words->reason, sizeof words->reason,
                "the server answered 403: whoever it takes this for may not do it");
    }
    snprintf(words->alternative, sizeof words->alternative,
            "ask for the right, or leave it to somebody who has it");
}

static void
say(const struct session *session, uint32_t layer, struct words *words)
{
    const int status = session->exchange->answer.status;

    if (layer == ABX_LAYER_ACTION) {
        snprintf(words->reason, sizeof words->reason,
                "the server answered %d: it does not take the values of this action", status);
        snprintf(words->alternative, sizeof words->alternative,
                "correct the values by what the answer says, or ask for the right ones");
    } else if (status == 403) {
        say_forbidden(session, words);
    } else {
        say_unknown(session, status, words);
    }
}

/* ---- telling ---- */

/* The request as it is told. */
struct told {
    char *url, *method;
    struct act act;
};

static void
told_make(const struct session *session, struct told *ret_told)
{
    const struct exchange *exchange = session->exchange;
    struct told told = { .url = request_url(session), .method = request_method(session) };
    const bool is_action = exchange->key[0] != '\0' && told.url != NULL && told.method != NULL;

    told.act = (struct act){ .request = ABX_REQUEST_HTTP,
        .target = told.url == NULL ? exchange->host : told.url,
        .verb = told.method == NULL ? "" : told.method,
        .port = exchange->port,
        .content = -1,
        .action = is_action ? policy_http_action_name(
                                      session->part.box->policy, told.url, told.method)
                            : NULL };
    *ret_told = told;
}

static void
told_done(struct told *told)
{
    free(told->url);
    free(told->method);
}

static void
tell(struct session *session, uint32_t layer, const char *problem)
{
    const struct broker *broker = session->part.box->broker;
    struct reply reply = { .status = session->exchange->answer.status, .problem = problem };
    AUTO(told_done) struct told told;
    struct words words;
    char rule[32];

    told_make(session, &told);
    told.act.layer = layer;
    told.act.reply = &reply;
    say(session, layer, &words);
    snprintf(rule, sizeof rule, "upstream:%d", reply.status);
    session->part.box->has_refused_login |= layer == ABX_LAYER_IDENTITY;
    broker->report(broker->data, ABX_EVENT_NOTICE, &session->errand->subject, &told.act, rule,
            words.reason, words.alternative);
}

/* Many programs ask without a login first, and with one only when they are told to. */
static void
tell_accepted(struct session *session)
{
    const struct broker *broker = session->part.box->broker;
    AUTO(told_done) struct told told;

    told_make(session, &told);
    told.act.layer = ABX_LAYER_IDENTITY;
    broker->accepted(broker->data, &session->errand->subject, &told.act);
}

/* ---- the answer on its way ---- */
bool
answer_look(struct session *session)
{
    struct exchange *exchange = session->exchange;
    const uint32_t layer = layer_of_answer(session);

    if (session->part.box->has_refused_login && exchange->answer.status / 100 == 2) {
        tell_accepted(session);
    }
    if (layer == 0) {
        return true;
    }
    if (exchange->answer.framing == HTTP_NO_BODY || !is_problem_document(&exchange->answer) ||
            is_encoded(&exchange->answer)) {
        tell(session, layer, NULL);
        return true;
    }
    exchange->held = evbuffer_new();
    return exchange->held != NULL;
}

bool
answer_read(struct session *session, bool is_last)
{
    struct exchange *exchange = session->exchange;
    const size_t length = evbuffer_get_length(session->clean);
    const unsigned char *bytes =
            exchange->held == NULL ? NULL : evbuffer_pullup(session->clean, -1);
    AUTO(str_done) struct str problem = { 0 };
    struct str *document = &exchange->document;

    if (exchange->held == NULL || exchange->is_told) {
        return true;
    }
    if (length > 0 && bytes == NULL) {
        return false;
    }
    str_add_bytes(document, (const char *)bytes, length);
    if (!is_last && !document->failed && document->length <= PROBLEM_DOCUMENT_MAX &&
            session_has_room(session)) {
        return true;
    }
    if (!document->failed && document->length <= PROBLEM_DOCUMENT_MAX) {
        problem_document_read(document->data, document->length, &problem);
    }
    tell(session, layer_of_answer(session), problem.failed ? NULL : problem.data);
    exchange->is_told = true;
    return true;
}

void
answer_leave(struct session *session)
{
    const struct exchange *exchange = session->exchange;

    if (exchange != NULL && exchange->held != NULL && !exchange->is_told &&
            !session->part.box->stopped) { /* of a box that closes nothing is told any more */
        tell(session, layer_of_answer(session), NULL);
    }
}

struct evbuffer *
answer_output(const struct session *session)
{
    const struct exchange *exchange = session->exchange;

    return exchange->held == NULL ? session->client->output : exchange->held;
}

bool
answer_release(struct session *session)
{
    struct exchange *exchange = session->exchange;

    if (exchange->held == NULL || !exchange->is_told) {
        return true;
    }
    if (evbuffer_add_buffer(session->client->output, exchange->held) != 0) {
        return false;
    }
    evbuffer_free(exchange->held);
    exchange->held = NULL;
    return true;
}
