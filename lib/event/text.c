/* SPDX-License-Identifier: Apache-2.0
 * Owns the text of an event for a person who decides by it: one fact a line, each with its name,
 * the real target beside what was asked for.  No value can make a line of its own. */
#include "event/event.h"

#include "base/json.h"
#include "base/mem.h"
#include "event/names.h"
#include "event/plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAME_WIDTH 10

static void
line_start(struct str *out, const char *name)
{
    str_printf(out, "  %-*s ", NAME_WIDTH, name);
}

/* The value itself, not as events escape it. */
static void
add_field(struct str *out, abx_event *event, uint32_t key)
{
    const char *text = event_text(event, key);
    char *bytes = event_is_bytes(key) ? text_unescape(text, NULL) : NULL;

    out->failed |= bytes == NULL && event_is_bytes(key);
    str_add_plain(out, bytes == NULL ? text : bytes);
    free(bytes);
}

static void
add_text(struct str *out, abx_event *event, uint32_t key, const char *name)
{
    if (event_text(event, key) != NULL) {
        line_start(out, name);
        add_field(out, event, key);
        str_add(out, "\n");
    }
}

static bool
is_action(abx_event *event)
{
    return event_number(event, ABX_FIELD_REQUEST) == ABX_REQUEST_ACTION;
}

static const char *
header(abx_event *event)
{
    switch (event->type) {
    case ABX_EVENT_APPROVAL:
        return is_action(event) ? "an action is asked for that the policy puts to you"
                                : "a command asks for something the policy puts to you";
    case ABX_EVENT_CREDENTIAL:
        return "a request wants a secret";
    case ABX_EVENT_DENIAL:
        return "something was denied";
    case ABX_EVENT_NOTICE:
        return event_number(event, ABX_FIELD_CLASS) != 0
                       ? "something failed, and was not denied"
                       : "something was allowed that is worth knowing";
    default:
        return name_of_event(event->type);
    }
}

/* ---- what an action is asked to do ---- */
struct arguments {
    struct str *out;
    const char *pointer; /* what the members are of */
};

static bool add_argument(struct str *out, const char *pointer, const struct json *value);

static bool
add_member(void *data, const char *key, const struct json *value)
{
    const struct arguments *arguments = data;
    struct str pointer = { 0 };
    bool ok;

    str_add(&pointer, arguments->pointer);
    json_pointer_add(&pointer, key);
    ok = !pointer.failed && add_argument(arguments->out, pointer.data, value);
    arguments->out->failed |= pointer.failed;
    str_done(&pointer);
    return ok;
}

/* Whether all names in it are there, and of letters, digits and what is plain beside them. */
static bool
is_plain_pointer(const char *pointer)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    size_t n = 0;

    for (; *pointer == '/' && (n = strspn(pointer + 1, plain)) > 0; pointer += 1 + n) {
    }
    return n > 0 && *pointer == '\0';
}

/* "ids/0", or the pointer in quotes. */
static void
argument_start(struct str *out, const char *pointer)
{
    line_start(out, "argument");
    if (is_plain_pointer(pointer)) {
        str_add(out, pointer + 1);
    } else {
        str_add_plain_quoted(out, pointer);
    }
    str_add(out, ": ");
}

/* How many stand first: of the records that an action is about. */
static void
add_elements(struct arguments *arguments, const struct json *array)
{
    const size_t n = json_count(array);
    char key[24];

    argument_start(arguments->out, arguments->pointer);
    str_printf(arguments->out, "%zu element%s\n", n, n == 1 ? "" : "s");
    for (size_t i = 0; i < n; i++) {
        snprintf(key, sizeof key, "%zu", i);
        if (!add_member(arguments, key, json_element(array, i))) {
            return;
        }
    }
}

static void
add_value(struct str *out, const struct json *value)
{
    const enum json_kind kind = json_kind_of(value);

    switch (kind) {
    case JSON_KIND_BOOL:
        str_add(out, json_truth(value) ? "true" : "false");
        break;
    case JSON_KIND_INTEGER:
        str_printf(out, "%lld", (long long)json_number(value));
        break;
    case JSON_KIND_TEXT:
        str_add_plain_quoted(out, json_text(value));
        break;
    case JSON_KIND_ARRAY:
        str_add(out, "[]");
        break;
    case JSON_KIND_OBJECT:
        str_add(out, "{}");
        break;
    case JSON_KIND_NULL:
    case JSON_KIND_REAL: /* no action has one */
        str_add(out, json_kind_name(kind));
        break;
    }
}

/* A line for each value that has none inside: what is long hides no other.  False: no memory. */
static bool
add_argument(struct str *out, const char *pointer, const struct json *value)
{
    struct arguments arguments = { out, pointer };

    if (json_count(value) == 0) {
        argument_start(out, pointer);
        add_value(out, value);
        str_add(out, "\n");
    } else if (json_kind_of(value) == JSON_KIND_ARRAY) {
        add_elements(&arguments, value);
    } else {
        json_each_member(value, add_member, &arguments);
    }
    return !out->failed;
}

/* What it has in this field, or NULL; the caller frees. */
static struct json *
read_json(abx_event *event, uint32_t key)
{
    const char *text = event_text(event, key);
    struct json_problem problem;

    return text == NULL ? NULL : json_read(text, strlen(text), JSON_NESTING_MAX, &problem);
}

/* The same of such a request only. */
static struct json *
read_json_of(abx_event *event, int64_t request, uint32_t key)
{
    return event_number(event, ABX_FIELD_REQUEST) == request ? read_json(event, key) : NULL;
}

/* The action's name, then what it is to be done with.  False: the event tells of no arguments. */
static bool
add_action(struct str *out, abx_event *event)
{
    struct json *arguments = read_json_of(event, ABX_REQUEST_ACTION, ABX_FIELD_VERB);

    if (arguments == NULL) {
        return false;
    }
    add_text(out, event, ABX_FIELD_TARGET, "action");
    if (json_count(arguments) > 0) {
        add_argument(out, "", arguments);
    }
    json_free(arguments);
    return true;
}

/* "write path: open", "http: PUT". */
static void
add_act(struct str *out, abx_event *event)
{
    const char *request = name_of_request((uint32_t)event_number(event, ABX_FIELD_REQUEST));
    const char *access = name_of_access((uint32_t)event_number(event, ABX_FIELD_ACCESS));
    const char *verb = event_text(event, ABX_FIELD_VERB);

    if (request == NULL) {
        return;
    }
    line_start(out, "wants to");
    str_printf(out, "%s%s%s", access == NULL ? "" : access, access == NULL ? "" : " ", request);
    if (verb != NULL) {
        str_add(out, ": ");
        str_add_plain(out, verb);
    }
    str_add(out, "\n");
}

static void
add_target(struct str *out, abx_event *event)
{
    const int64_t port = event_number(event, ABX_FIELD_PORT);

    if (event_text(event, ABX_FIELD_TARGET) == NULL) {
        return;
    }
    line_start(out, "what");
    add_field(out, event, ABX_FIELD_TARGET);
    if (port != 0) {
        str_printf(out, " port %lld", (long long)port);
    }
    str_add(out, "\n");
}

/* Bytes, escaped as names are; the end of a long one is not there. */
static void
add_program_argument(struct str *out, const struct json *shown, const struct json *length)
{
    size_t n = 0;
    char *bytes = text_unescape(json_text(shown), &n);
    const int64_t more = json_number(length) - (int64_t)n;

    line_start(out, "argument");
    str_add_plain_quoted(out, bytes == NULL ? "" : bytes);
    if (more > 0) {
        str_printf(out, " [%lld MORE BYTES]", (long long)more);
    }
    str_add(out, "\n");
    out->failed |= bytes == NULL;
    free(bytes);
}

/* A line for each argument of a program, as far as they are shown. */
static void
add_command(struct str *out, abx_event *event)
{
    struct json *shown = read_json_of(event, ABX_REQUEST_EXEC, ABX_FIELD_BOUND);
    const struct json *arguments = json_member(shown, "arguments");
    const struct json *lengths = json_member(shown, "argument_lengths");
    const struct json *count = json_member(shown, "argument_count");
    const int64_t more = json_number(count) - (int64_t)json_count(arguments);

    for (size_t i = 0; i < json_count(arguments); i++) {
        add_program_argument(out, json_element(arguments, i), json_element(lengths, i));
    }
    if (more > 0) {
        line_start(out, "argument");
        str_printf(out, "[%lld MORE ARGUMENTS]\n", (long long)more);
    }
    json_free(shown);
}

/* A field of a request, as far as it is shown; nothing where there is none. */
static void
add_shown_field(struct str *out, const char *before, const struct json *shown, const char *key)
{
    const struct json *value = json_member(shown, key);
    char length_key[32];
    int64_t more;
    size_t n = 0;
    char *bytes;

    if (value == NULL) {
        return;
    }
    bytes = text_unescape(json_text(value), &n);
    snprintf(length_key, sizeof length_key, "%s_length", key);
    more = json_number(json_member(shown, length_key)) - (int64_t)n;
    str_add(out, before);
    str_add_plain_quoted(out, bytes == NULL ? "" : bytes);
    if (more > 0) {
        str_printf(out, " [%lld MORE BYTES]", (long long)more);
    }
    out->failed |= bytes == NULL;
    free(bytes);
}

static bool
says(const struct json *shown, const char *key, const char *text)
{
    const char *said = json_text(json_member(shown, key));

    return said != NULL && strcmp(said, text) == 0;
}

/* How much a request sends, and as what; its digest says nothing to a person. */
static void
add_body(struct str *out, abx_event *event)
{
    struct json *shown = read_json_of(event, ABX_REQUEST_HTTP, ABX_FIELD_BOUND);
    const struct json *body = json_member(shown, "body");
    bool is_seen = body != NULL && json_kind_of(body) == JSON_KIND_OBJECT;
    const struct json *length = json_member(is_seen ? body : shown, "length");

    if (body != NULL && !says(shown, "body", "none")) {
        line_start(out, "body");
        if (length != NULL) {
            str_printf(out, "%lld bytes", (long long)json_number(length));
        }
        str_add(out, is_seen ? "" : length == NULL ? "NOBODY LOOKED AT IT" : " NOBODY LOOKED AT");
        add_shown_field(out, " of type ", shown, "content_type");
        add_shown_field(out, " encoded as ", shown, "content_encoding");
        str_add(out, "\n");
    }
    json_free(shown);
}

static void
add_upgrade(struct str *out, abx_event *event)
{
    struct json *shown = read_json(event, ABX_FIELD_BOUND);

    if (says(shown, "upgrade", "websocket")) {
        line_start(out, "upgrade");
        str_add(out, "becomes a connection of its own (WebSocket), of which nothing is looked at "
                     "afterwards\n");
    }
    json_free(shown);
}

static void
add_program(struct str *out, abx_event *event)
{
    const int64_t pid = event_number(event, ABX_FIELD_PID);

    if (event_text(event, ABX_FIELD_PROGRAM) == NULL) {
        return;
    }
    line_start(out, "program");
    add_field(out, event, ABX_FIELD_PROGRAM);
    if (pid != 0) {
        str_printf(out, " (process %lld)", (long long)pid);
    }
    str_add(out, "\n");
}

/* What an answer for longer than once would let happen again. */
static void
add_validity(struct str *out, abx_event *event)
{
    if (event->type == ABX_EVENT_APPROVAL && is_action(event)) {
        line_start(out, "a yes holds");
        str_add(out, "once, or as long as it says, for this action with exactly these arguments\n");
    } else {
        add_text(out, event, ABX_FIELD_ADDS,
                event->type == ABX_EVENT_APPROVAL ? "would add" : "grant");
    }
}

static void
add_said(struct str *out, const char *name, const struct json *value)
{
    if (json_text(value) != NULL) {
        line_start(out, name);
        str_add_plain_quoted(out, json_text(value));
        str_add(out, "\n");
    }
}

/* What a server said when it refused: its words, each a line. */
static void
add_problem(struct str *out, abx_event *event)
{
    struct json *problem = read_json(event, ABX_FIELD_PROBLEM);
    const struct json *fields = json_member(problem, "fields");

    add_said(out, "title", json_member(problem, "title"));
    add_said(out, "detail", json_member(problem, "detail"));
    for (size_t i = 0; i < json_count(fields); i++) {
        add_said(out, "field", json_element(fields, i));
    }
    json_free(problem);
}

static void
add_needs(struct str *out, abx_event *event)
{
    const bool two = event_number(event, ABX_FIELD_APPROVERS) > 1;
    const bool step_up = event_number(event, ABX_FIELD_STEP_UP) != 0;

    if (two || step_up) {
        line_start(out, "a yes needs");
        str_printf(out, "%s%s%s\n", two ? "two different approvers" : "",
                two && step_up ? ", each with " : "", step_up ? "evidence" : "");
    }
}

static void
add_deadline(struct str *out, abx_event *event)
{
    const int64_t deadline_ms = event_number(event, ABX_FIELD_DEADLINE_MS);
    const time_t seconds = (time_t)(deadline_ms / 1000);
    struct tm tm;
    char text[32];

    if (deadline_ms != 0 && gmtime_r(&seconds, &tm) != NULL) {
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &tm);
        line_start(out, "answer by");
        str_printf(out, "%s, then it is refused\n", text);
    }
}

void
event_write_text(struct str *out, abx_event *event)
{
    static const struct {
        uint32_t key;
        const char *name;
    } after[] = {
        { ABX_FIELD_LABEL, "call" },
        { ABX_FIELD_PRINCIPAL, "for" },
        { ABX_FIELD_AGENT_SESSION, "agent" },
        { ABX_FIELD_DELEGATION, "delegation" },
        { ABX_FIELD_RULE, "rule" },
        { ABX_FIELD_SOURCE, "of" },
        { ABX_FIELD_REASON, "because" },
        { ABX_FIELD_ALTERNATIVE, "instead" },
        { ABX_FIELD_APPROVER, "answered by" },
    };

    str_printf(out, "%s\n", header(event));
    if (!add_action(out, event)) {
        add_act(out, event);
        add_target(out, event);
    }
    add_command(out, event);
    add_body(out, event);
    add_upgrade(out, event);
    add_text(out, event, ABX_FIELD_ASKED, "spelled");
    add_program(out, event);
    for (size_t i = 0; i < N_ELEMENTS(after); i++) {
        add_text(out, event, after[i].key, after[i].name);
    }
    add_problem(out, event);
    add_validity(out, event);
    add_needs(out, event);
    add_deadline(out, event);
}
