/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE /* asprintf */
#endif
#include "harness.h"

#include <agentbox/auto.h>

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

static void
answer(struct harness *harness, abx_event *event)
{
    abx_answer answer = { .size = sizeof answer, .approver = "person" };
    const bool may_ask = !harness->is_strict || harness->refusals == 0;

    if (may_ask && harness->ask(harness->person, abx_event_get_string(event, ABX_FIELD_TARGET),
                           abx_event_get_string(event, ABX_FIELD_REASON))) {
        answer.verdict = ABX_VERDICT_ALLOW;
        answer.scope = ABX_SCOPE_COMMAND;
    } else {
        answer.message = may_ask ? "the user said no" : "the user said no to something before";
        harness->refusals++;
    }
    abx_context_answer(
            harness->context, (uint64_t)abx_event_get_int(event, ABX_FIELD_TICKET), &answer, NULL);
}

static void
take_events(struct harness *harness)
{
    abx_event *event;

    while (abx_context_next_event(harness->context, &event) == ABX_OK) {
        if (abx_event_get_type(event) == ABX_EVENT_APPROVAL) {
            answer(harness, event);
        }
        abx_event_unref(event);
    }
}

char *
harness_run_tool(struct harness *harness, const char *const *argv)
{
    abx_spawn_options options = { .size = sizeof options,
        .stdio = { ABX_STDIO_NULL, ABX_STDIO_CAPTURE, ABX_STDIO_CAPTURE } };
    abx_exit ended = { .size = sizeof ended };
    ABX_AUTO(abx_process) process = NULL;
    ABX_AUTO_BUFFER explanation = NULL;
    struct pollfd wait;
    char *text = NULL;

    if (abx_box_spawn(harness->box, argv, &options, &process, NULL) < 0) {
        return NULL;
    }
    wait = (struct pollfd){ .fd = (int)abx_context_take_wait_handle(harness->context),
        .events = POLLIN };
    while (abx_process_wait(process, 0, &ended) == ABX_NONE && poll(&wait, 1, -1) > 0) {
        take_events(harness);
    }
    close(wait.fd);
    abx_process_explain(process, "text", &explanation, NULL);
    if (asprintf(&text, "%s[exit %d]\n%s", abx_process_get_output(process, 1, NULL), ended.code,
                explanation) < 0) {
        return NULL;
    }
    return text;
}
