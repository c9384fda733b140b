/* SPDX-License-Identifier: Apache-2.0
 * Owns the JSON form of an event: the names and their order are a contract (docs/events.md). */
#include "event/event.h"

#include "base/mem.h"
#include "event/names.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

static const struct json_field {
    uint32_t key;
    const char *name;
    const char *(*word)(uint32_t value); /* NULL: the number itself, or a text */
} json_fields[] = {
    { ABX_FIELD_SEQUENCE, "sequence", NULL },
    { ABX_FIELD_BOX, "box", NULL },
    { ABX_FIELD_PROCESS, "command", NULL },
    { ABX_FIELD_LABEL, "label", NULL },
    { ABX_FIELD_PRINCIPAL, "principal", NULL },
    { ABX_FIELD_AGENT_SESSION, "agent_session", NULL },
    { ABX_FIELD_DELEGATION, "delegation", NULL },
    { ABX_FIELD_PID, "pid", NULL },
    { ABX_FIELD_PROGRAM, "program", NULL },
    { ABX_FIELD_LAYER, "layer", name_of_layer },
    { ABX_FIELD_CLASS, "class", name_of_class },
    { ABX_FIELD_REQUEST, "request", name_of_request },
    { ABX_FIELD_ACCESS, "access", name_of_access },
    { ABX_FIELD_TARGET, "target", NULL },
    { ABX_FIELD_ASKED, "asked", NULL },
    { ABX_FIELD_PORT, "port", NULL },
    { ABX_FIELD_VERB, "verb", NULL },
    { ABX_FIELD_RULE, "rule", NULL },
    { ABX_FIELD_SOURCE, "source", NULL },
    { ABX_FIELD_REASON, "reason", NULL },
    { ABX_FIELD_ALTERNATIVE, "alternative", NULL },
    { ABX_FIELD_HTTP_STATUS, "http_status", NULL },
    { ABX_FIELD_PROBLEM, "problem", NULL },
    { ABX_FIELD_BACKEND, "backend", NULL },
    { ABX_FIELD_RETRY, "retry", name_of_retry },
    { ABX_FIELD_REPEATS, "repeats", NULL },
    { ABX_FIELD_TICKET, "ticket", NULL },
    { ABX_FIELD_DEADLINE_MS, "deadline_ms", NULL },
    { ABX_FIELD_ADDS, "adds", NULL },
    { ABX_FIELD_BOUND, "bound", NULL },
    { ABX_FIELD_APPROVERS, "approvers", NULL },
    { ABX_FIELD_STEP_UP, "step_up", NULL },
    { ABX_FIELD_APPROVER, "approver", NULL },
    { ABX_FIELD_EVIDENCE, "evidence", NULL },
    { ABX_FIELD_IDEMPOTENCY_KEY, "idempotency_key", NULL },
    { ABX_FIELD_EXIT_REASON, "exit_reason", name_of_exit },
    { ABX_FIELD_EXIT_CODE, "exit_code", NULL },
    { ABX_FIELD_DROPPED, "dropped", NULL },
    { ABX_FIELD_LEVEL, "level", NULL },
    { ABX_FIELD_MESSAGE, "message", NULL },
    { FIELD_DIGEST, "digest", NULL },
    { FIELD_EXPIRES_MS, "expires_ms", NULL },
};

void
event_json_time(struct str *out, int64_t time_ns)
{
    time_t seconds = (time_t)(time_ns / 1000000000);
    struct tm tm;
    char buffer[32];

    if (gmtime_r(&seconds, &tm) == NULL) {
        return;
    }
    strftime(buffer, sizeof buffer, "%Y-%m-%dT%H:%M:%S", &tm);
    str_printf(out, ",\"time\":\"%s.%09" PRId64 "Z\"", buffer, time_ns % 1000000000);
}

/* The beginning of a text, never a part of a character, and how long all of it is. */
static void
add_beginning(struct str *out, const char *text, size_t most)
{
    AUTO(str_done) struct str cut = { 0 };

    while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80) {
        most--;
    }
    str_add_bytes(&cut, text, most);
    str_printf(&cut, EVENT_CUT "%zu" EVENT_CUT_END, strlen(text));
    if (cut.failed) {
        out->failed = true;
        return;
    }
    str_add_json(out, cut.data);
}

static void
add_field(struct str *out, abx_event *event, const struct json_field *json, uint64_t repeats,
        size_t most)
{
    const struct event_field *field = event_find(event, json->key);
    int64_t number;

    if (field == NULL || (json->key == ABX_FIELD_SEQUENCE && field->number == 0)) {
        return; /* only what is queued has a number */
    }
    str_printf(out, ",\"%s\":", json->name);
    if (field->is_text && strlen(event->texts + field->number) > most) {
        add_beginning(out, event->texts + field->number, most);
        return;
    }
    if (json->key == ABX_FIELD_ADDS || json->key == ABX_FIELD_BOUND ||
            json->key == ABX_FIELD_PROBLEM) {
        str_add(out, event->texts + field->number); /* is JSON itself */
        return;
    }
    if (field->is_text) {
        str_add_json(out, event->texts + field->number);
        return;
    }
    number = json->key == ABX_FIELD_REPEATS && repeats > 0 ? (int64_t)repeats : field->number;
    if (json->word != NULL && json->word((uint32_t)number) != NULL) {
        str_add_json(out, json->word((uint32_t)number));
    } else {
        str_printf(out, "%" PRId64, number);
    }
}

static void
add_event(struct str *out, abx_event *event, uint64_t repeats, size_t most)
{
    const struct event_field *time = event_find(event, ABX_FIELD_TIME_NS);

    str_printf(out, "{\"type\":\"%s\"", name_of_event(event->type));
    if (time != NULL) {
        event_json_time(out, time->number);
    }
    for (size_t i = 0; i < N_ELEMENTS(json_fields); i++) {
        add_field(out, event, &json_fields[i], repeats, most);
    }
    str_add(out, "}");
}

void
event_json(struct str *out, abx_event *event, uint64_t repeats)
{
    add_event(out, event, repeats, SIZE_MAX);
}

void
event_json_cut(struct str *out, abx_event *event, size_t most)
{
    add_event(out, event, 0, most);
}
