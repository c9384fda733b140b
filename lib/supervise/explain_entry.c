/* SPDX-License-Identifier: Apache-2.0
 * One line for what was tried and why it failed, whatever the number of equal attempts and targets.
 * What programs and servers chose stands in quotation marks, which it cannot end. */
#include "supervise/explain.h"

#include "supervise/telling.h"

#include "base/json.h"
#include "base/mem.h"
#include "event/names.h"

#include <inttypes.h>
#include <string.h>

#define TEXT_MAX 300 /* bytes of one name or reason in the text form */
#define TARGETS_MAX 3 /* of one rule, program and access */

static void
add_cut(struct str *out, const char *text)
{
    size_t length = strlen(text);

    if (length <= TEXT_MAX) {
        str_add(out, text);
        return;
    }
    length = TEXT_MAX;
    while (length > 0 &&
            ((unsigned char)text[length] & 0xc0) == 0x80) { /* not inside a character */
        length--;
    }
    str_add_bytes(out, text, length);
    str_add(out, "...");
}

static void
add_quoted(struct str *out, const char *before, const char *text)
{
    if (text != NULL) {
        str_add(out, before);
        str_add_quoted(out, text, strlen(text), TEXT_MAX);
    }
}

static void
add_field(struct str *out, const char *before, abx_event *event, uint32_t key)
{
    const char *text = event_text(event, key);
    AUTO(freep) char *bytes = NULL;
    size_t length;

    if (text == NULL || !event_is_bytes(key)) {
        add_quoted(out, before, text);
        return;
    }
    bytes = text_unescape(text, &length);
    if (bytes == NULL) {
        out->failed = true;
        return;
    }
    str_add(out, before);
    str_add_quoted(out, bytes, length, TEXT_MAX);
}

/* A method or an operation, as a word where it is one. */
static void
add_verb(struct str *out, const char *verb)
{
    if (verb[strspn(verb, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_")] == '\0') {
        str_add(out, verb);
    } else {
        add_quoted(out, "", verb);
    }
}

static bool
is_same_text(abx_event *a, abx_event *b, uint32_t field)
{
    const char *left = event_text(a, field), *right = event_text(b, field);

    return (left == NULL) == (right == NULL) && (left == NULL || strcmp(left, right) == 0);
}

/* The same for another target: one line says it for all. */
static bool
is_alike(abx_event *a, abx_event *b)
{
    static const uint32_t numbers[] = { ABX_FIELD_CLASS, ABX_FIELD_REQUEST, ABX_FIELD_ACCESS,
        ABX_FIELD_LAYER, ABX_FIELD_PORT, ABX_FIELD_HTTP_STATUS };
    static const uint32_t texts[] = { ABX_FIELD_PROGRAM, ABX_FIELD_RULE, ABX_FIELD_SOURCE,
        ABX_FIELD_REASON, ABX_FIELD_ALTERNATIVE, ABX_FIELD_PROBLEM };

    if (a->type != b->type) {
        return false;
    }
    for (size_t i = 0; i < N_ELEMENTS(numbers); i++) {
        if (event_number(a, numbers[i]) != event_number(b, numbers[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
        if (!is_same_text(a, b, texts[i])) {
            return false;
        }
    }
    return !act_has_verb((uint32_t)event_number(a, ABX_FIELD_REQUEST)) ||
           is_same_text(a, b, ABX_FIELD_VERB);
}

/* Whether an earlier one has the line. */
static bool
is_told(const struct denials *denials, size_t n, abx_event *event)
{
    uint64_t times;

    for (size_t i = 0; i < n; i++) {
        if (is_alike(denials_get(denials, i, &times), event)) {
            return true;
        }
    }
    return false;
}

/* Further targets of what entry `first` says; all attempts are added to *times. */
static void
add_targets(struct str *out, const struct denials *denials, size_t first, uint64_t *times)
{
    uint64_t unused, more;
    abx_event *event, *alike = denials_get(denials, first, &unused);
    unsigned int n = 1;

    for (size_t i = first + 1; (event = denials_get(denials, i, &more)) != NULL; i++) {
        if (!is_alike(event, alike)) {
            continue;
        }
        *times += more;
        if (n++ < TARGETS_MAX) {
            add_field(out, ", ", event, ABX_FIELD_TARGET);
        }
    }
    if (n > TARGETS_MAX) {
        str_printf(out, " and %u more", n - TARGETS_MAX);
    }
}

/* "write '/w/lock' by '/usr/bin/sh'" */
static void
add_what(struct str *out, const struct denials *denials, size_t i, uint64_t *times)
{
    uint64_t unused;
    abx_event *event = denials_get(denials, i, &unused);
    const uint32_t kind = (uint32_t)event_number(event, ABX_FIELD_REQUEST);
    const char *access = name_of_access((uint32_t)event_number(event, ABX_FIELD_ACCESS));
    const char *request = name_of_request(kind), *verb = event_text(event, ABX_FIELD_VERB);
    bool is_http = kind == ABX_REQUEST_HTTP;
    int64_t port = is_http ? 0 : event_number(event, ABX_FIELD_PORT); /* it is in the URL */

    add_verb(out, access != NULL                                 ? access
                  : verb != NULL && (is_http || request == NULL) ? verb
                  : request != NULL                              ? request
                                                                 : "use");
    add_field(out, " ", event, ABX_FIELD_TARGET);
    if (kind == ABX_REQUEST_CREDENTIAL) {
        add_quoted(out, " for ", verb);
    }
    if (port != 0) {
        str_printf(out, " port %" PRId64, port);
    }
    add_field(out, kind == ABX_REQUEST_CONNECT ? " (which is at " : " (asked for as ", event,
            ABX_FIELD_ASKED);
    str_add(out, event_text(event, ABX_FIELD_ASKED) == NULL ? "" : ")");
    add_targets(out, denials, i, times);
    add_field(out, " by ", event, ABX_FIELD_PROGRAM);
}

static void
add_sentence(struct str *out, const char *before, const char *text)
{
    if (text != NULL) {
        str_add(out, before);
        add_cut(out, text);
        str_add(out, ".");
    }
}

static void
add_times(struct str *out, uint64_t times)
{
    if (times > 1) {
        str_printf(out, ", %" PRIu64 " times", times);
    }
}

static void
add_denied(struct str *out, abx_event *event, uint64_t times)
{
    const char *rule = event_text(event, ABX_FIELD_RULE);
    const bool was_asked = event_number(event, ABX_FIELD_CLASS) == ABX_CLASS_APPROVAL &&
                           (rule == NULL || strncmp(rule, "grant:", strlen("grant:")) != 0);

    str_add(out, was_asked ? ": refused when asked" : ": denied");
    add_field(out, " by rule ", event, ABX_FIELD_RULE);
    add_field(out, " of ", event, ABX_FIELD_SOURCE);
    add_times(out, times);
    str_add(out, ".");
    add_sentence(out, " Reason: ", event_text(event, ABX_FIELD_REASON));
}

/* What a server said, as its words. */
static void
add_problem(struct str *out, abx_event *event)
{
    static const char *const texts[] = { "title", "detail" };
    const char *text = event_text(event, ABX_FIELD_PROBLEM), *before = " It says: ";
    struct json_problem unused;
    struct json *problem =
            text == NULL ? NULL : json_read(text, strlen(text), JSON_NESTING_MAX, &unused);
    const struct json *fields = json_member(problem, "fields");

    for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
        const struct json *value = json_member(problem, texts[i]);

        if (json_text(value) != NULL) {
            add_quoted(out, before, json_text(value));
            before = ", ";
        }
    }
    if (before[0] == ',') {
        str_add(out, ".");
    }
    for (size_t i = 0; i < json_count(fields); i++) {
        if (json_text(json_element(fields, i)) != NULL) {
            add_quoted(
                    out, i == 0 ? " It does not take: " : ", ", json_text(json_element(fields, i)));
        }
    }
    str_add(out, json_count(fields) == 0 ? "" : ".");
    json_free(problem);
}

static void
add_entry(struct str *out, const struct denials *denials, size_t i)
{
    uint64_t times;
    abx_event *event = denials_get(denials, i, &times);

    str_add(out, "- ");
    add_what(out, denials, i, &times);
    if (event->type == ABX_EVENT_DENIAL) {
        add_denied(out, event, times);
    } else {
        add_times(out, times);
        add_sentence(out, ": ", event_text(event, ABX_FIELD_REASON));
    }
    add_problem(out, event);
    add_sentence(out, " Instead: ", event_text(event, ABX_FIELD_ALTERNATIVE));
    str_add(out, "\n");
}

/* That the command was stopped is said before anything else. */
static bool
is_stop(abx_event *event)
{
    const char *verb = event_text(event, ABX_FIELD_VERB);

    return event_number(event, ABX_FIELD_LAYER) == ABX_LAYER_LIMIT && verb != NULL &&
           strcmp(verb, "stop") == 0;
}

void
explain_class(struct str *out, const struct denials *denials, uint32_t failure, const char *lead)
{
    uint64_t times;
    abx_event *event;

    for (size_t i = 0; (event = denials_get(denials, i, &times)) != NULL; i++) {
        if (event_number(event, ABX_FIELD_CLASS) != failure || is_stop(event) ||
                is_told(denials, i, event)) {
            continue;
        }
        if (lead != NULL) {
            str_printf(out, "%s\n", lead);
            lead = NULL;
        }
        add_entry(out, denials, i);
    }
}
