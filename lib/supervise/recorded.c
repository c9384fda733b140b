/* SPDX-License-Identifier: Apache-2.0
 * Owns what records mean as calls: the other direction of recording.c and telling.c.  A log may be
 * anything: what is not as it would have been written is a gap.  Knows no policy. */
#include "supervise/recorded.h"

#include "audit/render.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/names.h"
#include "supervise/observe.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void
recorded_init(struct recorded_state *state)
{
    intern_init(&state->questions);
    intern_init(&state->commands);
    state->programs = VEC(char *);
}

void
recorded_done(struct recorded_state *state)
{
    for (size_t i = 0; i < state->programs.count; i++) {
        free(*vec_at(&state->programs, char *, i));
    }
    vec_done(&state->programs);
    intern_done(&state->commands);
    intern_done(&state->questions);
}

void
recorded_call_done(struct recorded_call *call)
{
    free(call->target);
    free(call->verb);
    free(call->address);
    free(call->arguments);
    *call = (struct recorded_call){ 0 };
}

/* ---- what a body says ---- */

static bool
begins(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

static bool
is(const struct json *body, const char *key, const char *word)
{
    return strcmp(body_text(body, key), word) == 0;
}

/* The number that a word stands for, 0: none. */
static uint32_t
number_of(const char *word, const char *(*name_of)(uint32_t), bool is_bit)
{
    const char *name;

    for (uint32_t i = 1; (name = name_of(i)) != NULL; i = is_bit ? i << 1 : i + 1) {
        if (strcmp(name, word) == 0) {
            return i;
        }
    }
    return 0;
}

/* A long text was cut, and says so. */
static bool
was_cut(const char *text)
{
    const size_t length = strlen(text), end = strlen(EVENT_CUT_END);

    return length > end && strcmp(text + length - end, EVENT_CUT_END) == 0 &&
           strstr(text, EVENT_CUT) != NULL;
}

/* "METHOD URL", as the request that an action was is told; NULL: it was none. */
static const char *
url_of(const char *asked)
{
    const size_t length = strspn(asked, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-");

    return length > 0 && asked[length] == ' ' && begins(asked + length + 1, "http")
                   ? asked + length + 1
                   : NULL;
}

/* ---- texts of a call ---- */

/* A name as it was; the record has it escaped. */
static enum recorded
give_name(char **ret_name, const char *text)
{
    size_t length = 0;

    *ret_name = text_unescape(text, &length);
    return *ret_name == NULL             ? RECORDED_NOMEM
           : strlen(*ret_name) == length ? RECORDED_CALL
                                         : RECORDED_GAP;
}

static enum recorded
give_text(char **ret_text, const char *text)
{
    *ret_text = strdup(text);
    return *ret_text == NULL ? RECORDED_NOMEM : RECORDED_CALL;
}

/* An action that was a request is asked about as that: another policy may take it for another. */
static enum recorded
read_request_of_action(const struct json *body, const char *url, struct recorded_call *call)
{
    const char *asked = body_text(body, "asked"), *arguments = body_text(body, "verb");
    enum recorded found = give_name(&call->target, url);

    call->request.kind = ABX_REQUEST_HTTP;
    call->verb = strndup(asked, (size_t)(url - asked) - 1);
    if (arguments[0] != '\0' && found == RECORDED_CALL) {
        found = give_text(&call->arguments, arguments);
    }
    call->lacks_body = arguments[0] == '\0';
    return call->verb == NULL ? RECORDED_NOMEM : found;
}

static enum recorded
read_texts(const struct json *body, struct recorded_call *call)
{
    const char *asked = body_text(body, "asked"), *verb = body_text(body, "verb");
    const char *url = call->request.kind == ABX_REQUEST_ACTION ? url_of(asked) : NULL;
    enum recorded found;

    if (url != NULL) {
        return read_request_of_action(body, url, call);
    }
    found = give_name(&call->target, body_text(body, "target"));
    if (found != RECORDED_CALL) {
        return found;
    }
    call->lacks_body = call->request.kind == ABX_REQUEST_HTTP;
    if (call->request.kind == ABX_REQUEST_ACTION) {
        return give_text(&call->arguments, verb[0] == '\0' ? "{}" : verb);
    }
    if (call->request.kind == ABX_REQUEST_CONNECT && asked[0] != '\0') {
        found = give_name(&call->address, asked);
    }
    return found == RECORDED_CALL && verb[0] != '\0' ? give_text(&call->verb, verb) : found;
}

/* The request of a record; `before` is set by the caller. */
static enum recorded
read_call(const struct json *body, struct recorded_call *call, enum recorded_gap *ret_gap)
{
    int64_t port = 0;
    enum recorded found;

    *ret_gap = GAP_UNREADABLE;
    call->request = (abx_request){ .size = sizeof call->request,
        .kind = number_of(body_text(body, "request"), name_of_request, false),
        .access = number_of(body_text(body, "access"), name_of_access, true) };
    if (body_integer(body, "port", &port) && port > 0 && port <= 65535) {
        call->request.port = (uint32_t)port;
    }
    if (call->request.kind == 0 || was_cut(body_text(body, "target")) ||
            was_cut(body_text(body, "asked")) || was_cut(body_text(body, "verb"))) {
        return RECORDED_GAP;
    }
    found = read_texts(body, call);
    call->request.target = call->target;
    call->request.verb = call->verb;
    return found;
}

/* ---- records that are of one call ---- */

/* False: no memory. */
static bool
make_key(const struct json *body, const struct recorded_call *call, struct str *key)
{
    int64_t box = 0, command = 0;

    body_integer(body, "box", &box);
    body_integer(body, "command", &command);
    str_printf(key, "%s %" PRId64 " %" PRId64, body_text(body, "context"), box, command);
    if (call != NULL) {
        str_printf(key, " %u %u %u %s %s %s", (unsigned)call->request.kind,
                (unsigned)call->request.access,
                call->request.kind == ABX_REQUEST_HTTP ? 0 : (unsigned)call->request.port,
                call->target, call->verb == NULL ? "" : call->verb,
                call->arguments == NULL ? "" : call->arguments);
    }
    return !key->failed;
}

/* A question is the call; its end is not another one. */
static enum recorded
take_question(struct recorded_state *state, const struct json *body, struct recorded_call *call)
{
    AUTO(str_done) struct str key = { 0 };

    return make_key(body, call, &key) &&
                           intern_put(&state->questions, key.data, key.length) != INTERN_NONE
                   ? RECORDED_CALL
                   : RECORDED_NOMEM;
}

static enum recorded
take_unless_asked(
        struct recorded_state *state, const struct json *body, const struct recorded_call *call)
{
    AUTO(str_done) struct str key = { 0 };

    if (!make_key(body, call, &key)) {
        return RECORDED_NOMEM;
    }
    return intern_find(&state->questions, key.data, key.length) == INTERN_NONE ? RECORDED_CALL
                                                                               : RECORDED_NOTHING;
}

/* ---- records by what they are ---- */

/* Of a server or proxy to what was allowed. */
static bool
is_answer_from_outside(const struct json *body)
{
    return json_member(body, "http_status") != NULL;
}

/* A policy may be called "boundary" too; the rules of the boundary are not called as its.  Some
 * addresses are closed to a policy that does not open them. */
static bool
is_of_boundary(const struct json *body)
{
    const char *rule = body_text(body, "rule");

    return is(body, "source", "boundary") &&
           (begins(rule, "boundary") ||
                   (begins(rule, "network:") && strcmp(rule, "network:closed") != 0 &&
                           strcmp(rule, "network:loopback") != 0 &&
                           strcmp(rule, "network:mode") != 0));
}

/* Which are decided by something else than a policy; GAPS: by one. */
static enum recorded_gap
gap_of_denial(const struct json *body)
{
    const char *rule = body_text(body, "rule");

    if (is(body, "layer", "audit")) {
        return GAP_AUDIT;
    }
    if (is(body, "layer", "limit")) {
        return GAP_LIMIT;
    }
    if (strcmp(rule, "identity:delegation") == 0) {
        return GAP_IDENTITY;
    }
    if (strcmp(rule, "grant:revoked") == 0) {
        return GAP_GRANT;
    }
    return is(body, "request", "syscall") || is_answer_from_outside(body) || is_of_boundary(body)
                   ? GAP_BOUNDARY
                   : GAPS;
}

static enum recorded
take_denial(struct recorded_state *state, const struct json *body, struct recorded_call *call,
        enum recorded_gap *ret_gap)
{
    const enum recorded_gap gap = gap_of_denial(body);
    const bool is_answer = is(body, "layer", "approval") || is(body, "request", "credential");
    enum recorded found;

    if (gap != GAPS) {
        *ret_gap = gap;
        return RECORDED_GAP;
    }
    found = read_call(body, call, ret_gap);
    call->before = is(body, "layer", "approval") ? ABX_VERDICT_ASK : ABX_VERDICT_DENY;
    return found == RECORDED_CALL && is_answer ? take_unless_asked(state, body, call) : found;
}

/* Of what is told besides, these are calls: actions, ports, and what a box only observed. */
static enum recorded
take_notice(struct recorded_state *state, const struct json *body, struct recorded_call *call,
        enum recorded_gap *ret_gap)
{
    const bool is_observed = begins(body_text(body, "reason"), OBSERVED_REASON);
    const bool is_action = is(body, "layer", "action") && is(body, "request", "action") &&
                           !is_answer_from_outside(body);
    const bool is_port = is(body, "request", "listen") && is(body, "rule", "boundary:listen");
    enum recorded found;

    if (!is_observed && !is_action && !is_port) {
        return RECORDED_NOTHING;
    }
    found = read_call(body, call, ret_gap);
    call->before = is_action && begins(body_text(body, "rule"), "grant:") ? ABX_VERDICT_ASK
                                                                          : ABX_VERDICT_ALLOW;
    return found == RECORDED_CALL && is_action ? take_unless_asked(state, body, call) : found;
}

static enum recorded
take_spawn(struct recorded_state *state, const struct json *body)
{
    AUTO(str_done) struct str key = { 0 };
    AUTO(freep) char *program = strdup(body_text(body, "program"));
    uint32_t number = program == NULL || !make_key(body, NULL, &key)
                              ? INTERN_NONE
                              : intern_put(&state->commands, key.data, key.length);

    if (number == INTERN_NONE) {
        return RECORDED_NOMEM;
    }
    if (number == state->programs.count && vec_add(&state->programs) == NULL) {
        return RECORDED_NOMEM;
    }
    if (number < state->programs.count) {
        char **slot = vec_at(&state->programs, char *, number);

        free(*slot);
        *slot = steal_ptr(&program);
    }
    return RECORDED_NOTHING;
}

/* That a command started is that its program was executed. */
static enum recorded
take_started(struct recorded_state *state, const struct json *body, struct recorded_call *call,
        enum recorded_gap *ret_gap)
{
    AUTO(str_done) struct str key = { 0 };
    AUTO(freep) char *program = NULL;
    uint32_t number;
    enum recorded found;

    if (!make_key(body, NULL, &key)) {
        return RECORDED_NOMEM;
    }
    number = intern_find(&state->commands, key.data, key.length);
    if (number < state->programs.count) {
        program = steal_ptr(vec_at(&state->programs, char *, number));
    }
    if (program == NULL) {
        return RECORDED_NOTHING;
    }
    *ret_gap = was_cut(program) ? GAP_UNREADABLE : GAP_PROGRAM;
    if (program[0] != '/' || *ret_gap == GAP_UNREADABLE) {
        return RECORDED_GAP;
    }
    found = give_name(&call->target, program);
    call->request = (abx_request){ .size = sizeof call->request,
        .kind = ABX_REQUEST_EXEC,
        .access = ABX_ACCESS_EXEC,
        .target = call->target };
    call->is_spelled = true;
    call->before = ABX_VERDICT_ALLOW;
    return found;
}

static enum recorded
take(struct recorded_state *state, const struct json *body, struct recorded_call *call,
        enum recorded_gap *ret_gap)
{
    enum recorded found;

    if (is(body, "type", "denial")) {
        return take_denial(state, body, call, ret_gap);
    }
    if (is(body, "type", "notice")) {
        return take_notice(state, body, call, ret_gap);
    }
    if (is(body, "type", "spawn")) {
        return take_spawn(state, body);
    }
    if (is(body, "type", "started")) {
        return take_started(state, body, call, ret_gap);
    }
    if (!is(body, "type", "approval") && !is(body, "type", "credential")) {
        return RECORDED_NOTHING;
    }
    found = read_call(body, call, ret_gap);
    call->before = is(body, "type", "approval") ? ABX_VERDICT_ASK : ABX_VERDICT_ALLOW;
    return found == RECORDED_CALL ? take_question(state, body, call) : found;
}

enum recorded
recorded_take(struct recorded_state *state, const struct record *record, const struct json *body,
        struct recorded_call *ret_call, enum recorded_gap *ret_gap)
{
    struct recorded_call call = { 0 };
    enum recorded found;

    if (body == NULL || json_kind_of(body) != JSON_KIND_OBJECT) {
        *ret_gap = record->body == NULL ? GAP_REDACTED : GAP_UNREADABLE;
        return RECORDED_GAP;
    }
    found = take(state, body, &call, ret_gap);
    if (found == RECORDED_CALL) {
        *ret_call = call;
    } else {
        recorded_call_done(&call);
    }
    return found;
}
