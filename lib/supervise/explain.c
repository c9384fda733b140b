/* SPDX-License-Identifier: Apache-2.0
 * Says what stopped a command, for a model or a program.  Made from events only, never from output
 * or exit codes; bounded; names that programs chose are escaped, quoted and cut. */
#include "supervise/process.h"
#include "supervise/telling.h"

#include "base/mem.h"
#include "event/names.h"

#include <inttypes.h>
#include <stdlib.h>
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
        str_add(out, "'");
        add_cut(out, text);
        str_add(out, "'");
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
    static const uint32_t numbers[] = { ABX_FIELD_REQUEST, ABX_FIELD_ACCESS, ABX_FIELD_LAYER,
        ABX_FIELD_PORT };
    static const uint32_t texts[] = { ABX_FIELD_PROGRAM, ABX_FIELD_RULE, ABX_FIELD_SOURCE,
        ABX_FIELD_REASON, ABX_FIELD_ALTERNATIVE };

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
is_told(const abx_process *process, size_t n, abx_event *event)
{
    uint64_t times;

    for (size_t i = 0; i < n; i++) {
        if (is_alike(denials_get(&process->denials, i, &times), event)) {
            return true;
        }
    }
    return false;
}

/* Further targets of what entry `first` says; all attempts are added to *times. */
static void
add_targets(struct str *out, const abx_process *process, size_t first, uint64_t *times)
{
    uint64_t unused, more;
    abx_event *event, *alike = denials_get(&process->denials, first, &unused);
    unsigned int n = 1;

    for (size_t i = first + 1; (event = denials_get(&process->denials, i, &more)) != NULL; i++) {
        if (!is_alike(event, alike)) {
            continue;
        }
        *times += more;
        if (n++ < TARGETS_MAX) {
            add_quoted(out, ", ", event_text(event, ABX_FIELD_TARGET));
        }
    }
    if (n > TARGETS_MAX) {
        str_printf(out, " and %u more", n - TARGETS_MAX);
    }
}

/* "write '/w/lock' by '/usr/bin/sh'" */
static void
add_what(struct str *out, const abx_process *process, size_t i, uint64_t *times)
{
    uint64_t unused;
    abx_event *event = denials_get(&process->denials, i, &unused);
    const char *access = name_of_access((uint32_t)event_number(event, ABX_FIELD_ACCESS));
    const char *request = name_of_request((uint32_t)event_number(event, ABX_FIELD_REQUEST));
    bool is_http = event_number(event, ABX_FIELD_REQUEST) == ABX_REQUEST_HTTP;
    const char *method = is_http ? event_text(event, ABX_FIELD_VERB) : NULL;
    int64_t port = is_http ? 0 : event_number(event, ABX_FIELD_PORT); /* it is in the URL */

    str_add(out, access != NULL    ? access
                 : method != NULL  ? method
                 : request != NULL ? request
                                   : "use");
    add_quoted(out, " ", event_text(event, ABX_FIELD_TARGET));
    if (event_number(event, ABX_FIELD_REQUEST) == ABX_REQUEST_CREDENTIAL) {
        add_quoted(out, " for ", event_text(event, ABX_FIELD_VERB));
    }
    if (port != 0) {
        str_printf(out, " port %" PRId64, port);
    }
    add_quoted(out,
            event_number(event, ABX_FIELD_REQUEST) == ABX_REQUEST_CONNECT ? " (which is at "
                                                                          : " (asked for as ",
            event_text(event, ABX_FIELD_ASKED));
    str_add(out, event_text(event, ABX_FIELD_ASKED) == NULL ? "" : ")");
    add_targets(out, process, i, times);
    add_quoted(out, " by ", event_text(event, ABX_FIELD_PROGRAM));
}

static void
add_denial(struct str *out, const abx_process *process, size_t i)
{
    uint64_t times;
    abx_event *event = denials_get(&process->denials, i, &times);
    const char *reason = event_text(event, ABX_FIELD_REASON);
    const char *alternative = event_text(event, ABX_FIELD_ALTERNATIVE);

    str_add(out, "- ");
    add_what(out, process, i, &times);
    str_add(out, event_number(event, ABX_FIELD_LAYER) == ABX_LAYER_APPROVAL ? ": refused when asked"
                                                                            : ": denied");
    add_quoted(out, " by rule ", event_text(event, ABX_FIELD_RULE));
    add_quoted(out, " of ", event_text(event, ABX_FIELD_SOURCE));
    if (times > 1) {
        str_printf(out, ", %" PRIu64 " times", times);
    }
    str_add(out, ".");
    if (reason != NULL) {
        str_add(out, " Reason: ");
        add_cut(out, reason);
        str_add(out, ".");
    }
    if (alternative != NULL) {
        str_add(out, " Instead: ");
        add_cut(out, alternative);
        str_add(out, ".");
    }
    str_add(out, "\n");
}

static uint64_t
count_shown(const abx_process *process)
{
    uint64_t shown = 0, times;
    abx_event *event;

    for (size_t i = 0; (event = denials_get(&process->denials, i, &times)) != NULL; i++) {
        shown += event->type == ABX_EVENT_DENIAL ? times : 0;
    }
    return shown;
}

static void
explain_limits(struct str *out, const abx_process *process)
{
    uint64_t times;
    abx_event *event;

    if (process->result.reason == ABX_EXIT_TIMEOUT) {
        str_printf(out, "The command was stopped by its time limit of %" PRIu64 " ms.\n",
                process->wall_ms);
    } else if (process->result.reason == ABX_EXIT_LIMIT) {
        str_add(out, "The command was stopped by a limit on processor time or memory.\n");
    } else if (process->result.reason == ABX_EXIT_KILLED) {
        str_add(out, "The command was stopped because its box was closed.\n");
    }
    for (size_t i = 0; (event = denials_get(&process->denials, i, &times)) != NULL; i++) {
        if (event->type == ABX_EVENT_NOTICE &&
                event_number(event, ABX_FIELD_LAYER) == ABX_LAYER_LIMIT) {
            str_printf(out, "Output limit on %s: %s.\n", event_text(event, ABX_FIELD_TARGET),
                    event_text(event, ABX_FIELD_REASON));
        }
    }
}

static void
explain_text(struct str *out, const abx_process *process)
{
    uint64_t more = process->denials.total - count_shown(process), times;
    abx_event *event;

    explain_limits(out, process);
    if (process->denials.total == 0) {
        return;
    }
    str_add(out,
            "The sandbox stopped what follows. It is policy, not a fault of the command: trying "
            "the same again will not help.\n");
    for (size_t i = 0; (event = denials_get(&process->denials, i, &times)) != NULL; i++) {
        if (event->type == ABX_EVENT_DENIAL && !is_told(process, i, event)) {
            add_denial(out, process, i);
        }
    }
    if (more > 0) {
        str_printf(out, "- and %" PRIu64 " more\n", more);
    }
}

static void
explain_json(struct str *out, const abx_process *process)
{
    uint64_t more = process->denials.total - count_shown(process), times;
    abx_event *event;
    const char *comma = "";

    str_printf(out, "{\"command\":%" PRIu64, process->id);
    if (process->exited) {
        str_printf(out, ",\"exit_reason\":\"%s\",\"exit_code\":%" PRId32,
                name_of_exit(process->result.reason), process->result.code);
    }
    str_printf(out, ",\"denials\":%" PRIu64 ",\"more\":%" PRIu64 ",\"events\":[",
            process->denials.total, more);
    for (size_t i = 0; (event = denials_get(&process->denials, i, &times)) != NULL; i++) {
        str_add(out, comma);
        event_json(out, event, times);
        comma = ",";
    }
    str_add(out, "]}");
}

static bool
has_something(const abx_process *process)
{
    struct str limits = { 0 };
    bool something;

    explain_limits(&limits, process);
    something = process->denials.total > 0 || limits.length > 0;
    str_done(&limits);
    return something;
}

abx_status
process_explain(abx_process *process, const char *format, char **ret_text, size_t *ret_length)
{
    bool is_json = format != NULL && strcmp(format, "json") == 0;
    struct str out = { 0 };
    char *text;

    if (!is_json && format != NULL && strcmp(format, "text") != 0) {
        return ABX_ERR_INVALID;
    }
    pthread_mutex_lock(&process->lock);
    if (is_json && has_something(process)) {
        explain_json(&out, process);
    } else if (!is_json) {
        explain_text(&out, process);
    }
    pthread_mutex_unlock(&process->lock);
    text = str_steal(&out, ret_length);
    if (text == NULL) {
        return ABX_ERR_NOMEM;
    }
    *ret_text = text;
    return ABX_OK;
}
