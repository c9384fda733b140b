/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a problem document of a server: what is kept of it is bounded, one line of UTF-8,
 * and JSON that reads as what it says. */
#include "egress/problem_document.h"

#include "base/json.h"
#include "event/event.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool is_so)
{
    if (!is_so) {
        abort();
    }
}

/* An event has it as it is, so equal ones are found. */
static void
keep(const char *text)
{
    struct event_draft draft = { .type = ABX_EVENT_NOTICE };
    struct str lines = { 0 };
    abx_event *event;

    draft_text(&draft, ABX_FIELD_PROBLEM, text);
    event = event_make(&draft);
    must(event != NULL && strcmp(event_text(event, ABX_FIELD_PROBLEM), text) == 0);
    event_write_text(&lines, event);
    must(!lines.failed);
    str_done(&lines);
    event_unref(event);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_problem problem;
    struct json *kept;
    struct str out = { 0 };

    if (size > PROBLEM_DOCUMENT_MAX) {
        return 0;
    }
    problem_document_read((const char *)data, size, &out);
    must(!out.failed && out.length < 16384);
    if (out.length > 0) {
        kept = json_read(out.data, out.length, 2, &problem);
        must(kept != NULL && json_count(kept) > 0 && json_count(kept) <= 3);
        json_free(kept);
        keep(out.data);
    }
    str_done(&out);
    return 0;
}
