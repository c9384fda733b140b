/* SPDX-License-Identifier: Apache-2.0
 * Says what stopped a command, for a model or a program.  Made from events and limits only, never
 * from output or exit codes; bounded. */
#include "supervise/explain.h"

#include "base/mem.h"
#include "event/names.h"

#include <inttypes.h>
#include <string.h>

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
explain_stop(struct str *out, const abx_process *process)
{
    if (process->result.reason == ABX_EXIT_TIMEOUT) {
        str_printf(out,
                "The command was stopped by its time limit of %" PRIu64
                " ms. Instead: do less at once, or ask for more time.\n",
                process->wall_ms);
    } else if (process->result.reason == ABX_EXIT_LIMIT) {
        str_printf(out,
                "The command was stopped by its limit on %s. Instead: do less at once, or ask for "
                "more.\n",
                process->limit->name);
    } else if (process->result.reason == ABX_EXIT_KILLED) {
        str_add(out, "The command was stopped because its box was closed.\n");
    }
}

/* What each class has in common, in the order in which they are told. */
static const struct {
    uint32_t failure;
    const char *lead;
} classes[] = {
    { ABX_CLASS_POLICY,
            "The sandbox stopped what follows. It is policy, not a fault of the command: trying "
            "the same again will not help." },
    { ABX_CLASS_APPROVAL,
            "What follows needed somebody's yes and did not get it. It is no fault of the command: "
            "trying the same again will not help unless they change their mind." },
    { ABX_CLASS_IDENTITY,
            "What follows failed because of who asks, not because of what was asked: trying the "
            "same again will not help until there is another login or right." },
    { ABX_CLASS_VALIDATION,
            "A server refused what follows by rules of its own. That is not the sandbox: correct "
            "the values, and do not send the same again." },
    { ABX_CLASS_TERMINAL,
            "What follows wanted to ask a person, who is not there: trying the same again will not "
            "help." },
    { ABX_CLASS_LIMIT,
            "What follows reached a limit: the same again right away would reach it, too." },
};

static void
explain_text(struct str *out, const abx_process *process)
{
    uint64_t more = process->denials.total - count_shown(process);

    explain_stop(out, process);
    for (size_t i = 0; i < N_ELEMENTS(classes); i++) {
        explain_class(out, &process->denials, classes[i].failure, classes[i].lead);
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

/* Whether there is anything to say: then the text says it. */
static bool
has_something(const abx_process *process)
{
    struct str text = { 0 };
    bool something;

    explain_text(&text, process);
    something = text.failed || text.length > 0;
    str_done(&text);
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
