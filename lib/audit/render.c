/* SPDX-License-Identifier: Apache-2.0
 * Owns the ways in which the records of a log are shown but for the page.  Names in a log are
 * hostile, and so may be the log: what is not seen is written out, and bodies are read strictly. */
#include "audit/render.h"

#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

const struct renderer *
renderer_find(const char *format)
{
    static const struct renderer *const all[] = { &render_text, &render_json, &render_html };

    for (size_t i = 0; i < N_ELEMENTS(all); i++) {
        if (strcmp(all[i]->name, format) == 0) {
            return all[i];
        }
    }
    return NULL;
}

const char *
body_text(const struct json *body, const char *key)
{
    const struct json *value =
            json_kind_of(body) == JSON_KIND_OBJECT ? json_member(body, key) : NULL;

    return value != NULL && json_kind_of(value) == JSON_KIND_TEXT ? json_text(value) : "";
}

bool
body_integer(const struct json *body, const char *key, int64_t *ret_number)
{
    const struct json *value = json_member(body, key);

    if (value == NULL || json_kind_of(value) != JSON_KIND_INTEGER) {
        return false;
    }
    *ret_number = json_number(value);
    return true;
}

static void
add_word(struct str *out, const char *before, const char *word)
{
    if (word[0] != '\0') {
        str_add(out, before);
        str_add(out, word);
    }
}

/* A name that somebody chose: in quotation marks where it could be read as more than one word. */
static void
add_name(struct str *out, const char *before, const struct json *body, const char *key)
{
    const char *name = body_text(body, key);
    const bool is_bytes = strcmp(key, "target") == 0 || strcmp(key, "program") == 0;
    AUTO(freep) char *bytes = NULL;
    size_t length = strlen(name);

    if (strpbrk(name, " '") == NULL) {
        add_word(out, before, name);
        return;
    }
    bytes = is_bytes ? text_unescape(name, &length) : strdup(name);
    if (bytes == NULL) {
        out->failed = true;
        return;
    }
    str_add(out, before);
    str_add_quoted(out, bytes, length, SIZE_MAX);
}

static void
add_number(struct str *out, const struct json *body, const char *key)
{
    int64_t number;

    if (body_integer(body, key, &number)) {
        str_printf(out, " %s %" PRId64, key, number);
    }
}

/* " code 0", " signal 9", " timeout, signal 9" */
static void
add_exit(struct str *out, const struct json *body)
{
    const char *reason = body_text(body, "exit_reason");
    int64_t code;

    if (reason[0] == '\0' || !body_integer(body, "exit_code", &code)) {
        return;
    }
    add_word(out, " ", reason);
    str_printf(out, "%s %" PRId64,
            strcmp(reason, "code") == 0 || strcmp(reason, "signal") == 0 ? "" : ", signal", code);
}

void
body_summary(const struct json *body, struct str *out)
{
    static const char *const numbers[] = { "port", "repeats", "ticket", "bytes", "records", "uid" };

    const bool is_action = strcmp(body_text(body, "request"), "action") == 0;

    if (is_action) { /* "hr.read {...}" */
        add_name(out, "", body, "target");
        add_word(out, " ", body_text(body, "verb"));
    } else {
        add_word(out, "", body_text(body, "verb"));
        add_name(out, " ", body, "target");
    }
    for (size_t i = 0; i < N_ELEMENTS(numbers); i++) {
        add_number(out, body, numbers[i]);
    }
    add_name(out, " by ", body, "program");
    add_name(out, " rule ", body, "rule");
    add_name(out, " approver ", body, "approver");
    add_exit(out, body);
    add_word(out, ": ", body_text(body, "reason"));
}

bool
render_record(void *data, const struct record *record)
{
    struct rendering *rendering = data;
    struct json_problem problem = { 0 };
    struct json *body = record->body == NULL ? NULL
                                             : json_read(record->body, record->body_length,
                                                       JSON_NESTING_MAX, &problem);
    bool wanted = rendering->layer == NULL ||
                  (body != NULL && strcmp(body_text(body, "layer"), rendering->layer) == 0);

    if (wanted) {
        rendering->renderer->record(&rendering->out, record, body);
    }
    json_free(body);
    return !rendering->out.failed && !problem.no_memory;
}

/* ---- text ---- */
static void
begin_nothing(struct str *out)
{
    str_add(out, "");
}

static void
record_text(struct str *out, const struct record *record, const struct json *body)
{
    AUTO(str_done) struct str line = { 0 };

    str_printf(&line, "%" PRIu64, record->n);
    if (body == NULL) {
        str_add(&line, record->body == NULL ? " redacted" : " (no JSON)");
    } else {
        add_word(&line, " ", body_text(body, "time"));
        add_word(&line, " ", body_text(body, "type"));
        add_word(&line, " ", body_text(body, "layer"));
        add_number(&line, body, "box");
        add_number(&line, body, "command");
        add_name(&line, " for ", body, "principal");
        add_name(&line, " by ", body, "agent_session");
        add_name(&line, " under ", body, "delegation");
        add_name(&line, " call ", body, "label");
        str_add(&line, " ");
        body_summary(body, &line);
    }
    if (line.failed) {
        out->failed = true;
        return;
    }
    str_add_escaped(out, line.data, line.length, false);
    str_add(out, "\n");
}

static void
end_text(struct str *out, const char *problem)
{
    if (problem[0] != '\0') {
        str_printf(out, "NOT WHOLE: %s\n", problem);
    }
}

const struct renderer render_text = { "text", begin_nothing, record_text, end_text };

/* ---- JSON ---- */
static void
record_json(struct str *out, const struct record *record, const struct json *body)
{
    if (body == NULL) {
        str_printf(out, "{\"n\":%" PRIu64 ",\"type\":\"%s\"}\n", record->n,
                record->body == NULL ? "redacted" : "unreadable");
        return;
    }
    str_printf(out, "{\"n\":%" PRIu64 "%s", record->n, json_count(body) > 0 ? "," : "");
    str_add_bytes(out, record->body + 1, record->body_length - 1);
    str_add(out, "\n");
}

static void
end_json(struct str *out, const char *problem)
{
    if (problem[0] != '\0') {
        str_add(out, "{\"type\":\"broken\",\"problem\":");
        str_add_json(out, problem);
        str_add(out, "}\n");
    }
}

const struct renderer render_json = { "json", begin_nothing, record_json, end_json };
