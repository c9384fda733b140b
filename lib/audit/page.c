/* SPDX-License-Identifier: Apache-2.0
 * Owns the page of a log: one file that loads nothing and runs nothing, which its first lines also
 * forbid.  Layers are chosen by style alone.  All text from the log is escaped. */
#include "audit/render.h"

#include "base/mem.h"
#include "event/names.h"

#include <inttypes.h>
#include <string.h>

/* Those that look like something. */
static const char *const types[] = { "denial", "approval", "credential", "notice" };

static void
add_html(struct str *out, const char *text, size_t length)
{
    AUTO(str_done) struct str seen = { 0 };

    str_add_escaped(&seen, text, length, false);
    for (size_t i = 0; i < seen.length; i++) {
        switch (seen.data[i]) {
        case '&':
            str_add(out, "&amp;");
            break;
        case '<':
            str_add(out, "&lt;");
            break;
        case '>':
            str_add(out, "&gt;");
            break;
        case '"':
            str_add(out, "&quot;");
            break;
        case '\'':
            str_add(out, "&#39;");
            break;
        default:
            str_add_bytes(out, &seen.data[i], 1);
        }
    }
    out->failed = out->failed || seen.failed;
}

/* Classes are our words, never the log's. */
static const char *
class_of_type(const char *type)
{
    for (size_t i = 0; i < N_ELEMENTS(types); i++) {
        if (strcmp(types[i], type) == 0) {
            return types[i];
        }
    }
    return "other";
}

static const char *
class_of_layer(const char *layer)
{
    const char *word;

    for (uint32_t i = 1; (word = name_of_layer(i)) != NULL; i++) {
        if (strcmp(word, layer) == 0) {
            return word;
        }
    }
    return "none";
}

static void
add_style(struct str *out, const char *layer)
{
    str_printf(out, "body:has(#show-%s:checked) tbody tr:not(.layer-%s){display:none}\n", layer,
            layer);
}

static void
add_choice(struct str *out, const char *layer)
{
    str_printf(out, "<label><input type=\"radio\" name=\"layer\" id=\"show-%s\"> %s</label>\n",
            layer, layer);
}

static void
each_layer(struct str *out, void (*add)(struct str *out, const char *layer))
{
    const char *word;

    for (uint32_t i = 1; (word = name_of_layer(i)) != NULL; i++) {
        add(out, word);
    }
    add(out, "none");
}

static void
begin_page(struct str *out)
{
    str_add(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                 "style-src 'unsafe-inline'\">\n"
                 "<meta name=\"viewport\" content=\"width=device-width\">\n"
                 "<title>Audit log</title>\n<style>\n"
                 "body{font:14px/1.4 sans-serif;margin:1em;color:#222;background:#fff}\n"
                 "table{border-collapse:collapse;width:100%;margin-top:1em}\n"
                 "td,th{border-bottom:1px solid #ddd;padding:.2em .5em;text-align:left;"
                 "vertical-align:top;overflow-wrap:anywhere}\n"
                 "label{margin-right:1em;white-space:nowrap}\n"
                 ".denial{background:#fde8e8}.approval,.credential{background:#fff5d6}\n"
                 ".notice{background:#e9f3ff}.broken{background:#c00;color:#fff;padding:.5em}\n");
    each_layer(out, add_style);
    str_add(out,
            "</style></head><body>\n<h1>Audit log</h1>\n"
            "<label><input type=\"radio\" name=\"layer\" id=\"show-all\" checked> all</label>\n");
    each_layer(out, add_choice);
    str_add(out, "<table><thead><tr><th>n</th><th>time</th><th>type</th><th>layer</th>"
                 "<th>box, command</th><th>who</th><th>what</th></tr></thead><tbody>\n");
}

static void
add_cell(struct str *out, const char *text)
{
    str_add(out, "<td>");
    add_html(out, text, strlen(text));
    str_add(out, "</td>");
}

static void
add_cells(struct str *out, const struct json *body)
{
    AUTO(str_done) struct str summary = { 0 };
    AUTO(str_done) struct str who = { 0 };
    int64_t box = 0, command = 0;

    body_integer(body, "box", &box);
    body_integer(body, "command", &command);
    add_cell(out, body_text(body, "time"));
    add_cell(out, body_text(body, "type"));
    add_cell(out, body_text(body, "layer"));
    str_printf(out, "<td>%" PRId64 ", %" PRId64 "</td>", box, command);
    str_printf(&who, "%s %s %s %s", body_text(body, "principal"), body_text(body, "agent_session"),
            body_text(body, "delegation"), body_text(body, "label"));
    str_add(&summary, "");
    body_summary(body, &summary);
    if (summary.failed || who.failed) {
        out->failed = true;
        return;
    }
    add_cell(out, who.data);
    add_cell(out, summary.data);
}

static void
record_row(struct str *out, const struct record *record, const struct json *body)
{
    str_printf(out, "<tr class=\"layer-%s %s\"><td>%" PRIu64 "</td>",
            body == NULL ? "none" : class_of_layer(body_text(body, "layer")),
            body == NULL ? "other" : class_of_type(body_text(body, "type")), record->n);
    if (body == NULL) {
        str_printf(out, "<td></td><td>%s</td><td></td><td></td><td></td><td></td>",
                record->body == NULL ? "redacted" : "unreadable");
    } else {
        add_cells(out, body);
    }
    str_add(out, "</tr>\n");
}

static void
end_page(struct str *out, const char *problem)
{
    str_add(out, "</tbody></table>\n");
    if (problem[0] != '\0') {
        str_add(out, "<p class=\"broken\">Not whole: ");
        add_html(out, problem, strlen(problem));
        str_add(out, "</p>\n");
    }
    str_add(out, "</body></html>\n");
}

const struct renderer render_html = { "html", begin_page, record_row, end_page };
