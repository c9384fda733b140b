/* SPDX-License-Identifier: Apache-2.0
 * Owns the order of a context's events and that none is queued before it is recorded.  Any thread.
 */
#include "supervise/outlet.h"

#include "audit/log.h"
#include "base/mem.h"
#include "supervise/telling.h"

#define BODY_BYTES_MAX (RECORD_BYTES_MAX / 2)
#define TEXT_BYTES_MAX 1024u /* of each text of a record that would be too long */

void
outlet_init(struct outlet *outlet, struct abx_box *box)
{
    *outlet = (struct outlet){ .box = box };
}

static void
take_turn(struct outlet *outlet)
{
    pthread_mutex_lock(&outlet->box->context->telling);
}

static void
end_turn(struct outlet *outlet)
{
    pthread_mutex_unlock(&outlet->box->context->telling);
}

/* The event's JSON, and whose it is: numbers of boxes begin anew with each context. */
static abx_status
write_record(struct outlet *outlet, abx_event *event, struct fail *fail)
{
    const abx_context *context = outlet->box->context;
    AUTO(str_done) struct str body = { 0 };

    if (context->audit == NULL) {
        return ABX_OK;
    }
    if (event == NULL) {
        return fail_nomem(fail);
    }
    event_json(&body, event, 0);
    if (body.length > BODY_BYTES_MAX) {
        str_done(&body);
        event_json_cut(&body, event, TEXT_BYTES_MAX);
    }
    if (body.failed) {
        return fail_nomem(fail);
    }
    body.length--; /* the brace */
    str_printf(&body, ",\"context\":\"%s\"}", context->audit_name);
    return body.failed ? fail_nomem(fail) : audit_append(context->audit, body.data, fail);
}

static void
push(struct outlet *outlet, abx_event *event)
{
    queue_push(&outlet->box->context->queue, event);
}

/* Counts an event in; a number that is not used in the end leaves no gap. */
static void
number(struct outlet *outlet, abx_event *event)
{
    struct event_field *field = event == NULL ? NULL : event_find(event, ABX_FIELD_SEQUENCE);

    if (field != NULL) {
        field->number = (int64_t)outlet->box->context->sequence + 1;
    }
}

static void
count(struct outlet *outlet, const abx_event *event)
{
    outlet->box->context->sequence += event != NULL;
}

/* Once until a record could be written again. */
static void
tell_failure(struct outlet *outlet, const struct fail *fail)
{
    struct event_draft draft;
    abx_event *event;

    if (outlet->failing) {
        return;
    }
    outlet->failing = true;
    tell_begin(&draft, outlet->box, ABX_EVENT_NOTICE, 0, NULL);
    draft_number(&draft, ABX_FIELD_LAYER, ABX_LAYER_AUDIT);
    draft_text(&draft, ABX_FIELD_VERB, "record");
    draft_text(&draft, ABX_FIELD_RULE, "audit");
    draft_text(&draft, ABX_FIELD_REASON, fail->text);
    draft_text(&draft, ABX_FIELD_ALTERNATIVE, fail->remedy);
    draft_number(&draft, ABX_FIELD_REPEATS, 1);
    event = event_make(&draft);
    number(outlet, event);
    count(outlet, event);
    push(outlet, event);
}

void
outlet_tell(struct outlet *outlet, abx_event *event)
{
    struct fail fail = { 0 };
    abx_status r;

    take_turn(outlet);
    number(outlet, event);
    r = write_record(outlet, event, &fail);
    count(outlet, event);
    push(outlet, event);
    if (r < 0) {
        tell_failure(outlet, &fail);
    } else {
        outlet->failing = false;
    }
    end_turn(outlet);
}

abx_status
outlet_permit(struct outlet *outlet, abx_event *event, struct fail *fail)
{
    abx_status r;

    if (event == NULL) {
        return fail_nomem(fail);
    }
    take_turn(outlet);
    number(outlet, event);
    r = write_record(outlet, event, fail);
    if (r == ABX_OK) {
        outlet->failing = false;
        count(outlet, event);
        push(outlet, event);
    } else {
        event_unref(event);
        tell_failure(outlet, fail);
    }
    end_turn(outlet);
    return r;
}

abx_status
outlet_record(struct outlet *outlet, const struct event_draft *draft, struct fail *fail)
{
    abx_event *record;
    abx_status r;

    if (outlet->box->context->audit == NULL) {
        return ABX_OK;
    }
    record = event_make(draft);
    take_turn(outlet);
    r = write_record(outlet, record, fail);
    if (r < 0) {
        tell_failure(outlet, fail);
    } else {
        outlet->failing = false;
    }
    end_turn(outlet);
    event_unref(record);
    return r;
}

bool
outlet_repeat(struct outlet *outlet, abx_event *event, uint64_t times)
{
    abx_context *context = outlet->box->context;

    return context->audit == NULL && queue_repeat(&context->queue, event, times);
}
