/* SPDX-License-Identifier: Apache-2.0
 * Owns abx_event: two blocks of memory, the fields and all texts.  Knows nothing of queues. */
#include "event/event.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

void
draft_number(struct event_draft *draft, uint32_t key, int64_t value)
{
    if (draft->count < EVENT_FIELDS_MAX) {
        draft->fields[draft->count++] = (struct event_field){ .key = key, .number = value };
    }
}

void
draft_text(struct event_draft *draft, uint32_t key, const char *text)
{
    if (text != NULL && text[0] != '\0' && draft->count < EVENT_FIELDS_MAX) {
        draft->fields[draft->count++] =
                (struct event_field){ .key = key, .is_text = true, .text = text };
    }
}

bool
event_is_bytes(uint32_t key)
{
    return key == ABX_FIELD_TARGET || key == ABX_FIELD_ASKED || key == ABX_FIELD_PROGRAM;
}

static void
add_plain(struct str *texts, const struct event_field *field)
{
    str_add(texts, field->text);
}

static void
add_escaped(struct str *texts, const struct event_field *field)
{
    str_add_escaped(texts, field->text, strlen(field->text), event_is_bytes(field->key));
}

static abx_event *
make(const struct event_draft *draft, void (*add)(struct str *, const struct event_field *))
{
    abx_event *event = calloc(1, sizeof *event + draft->count * sizeof event->fields[0]);
    struct str texts = { 0 };

    if (event == NULL) {
        return NULL;
    }
    event->type = draft->type;
    event->count = draft->count;
    event->fields = (struct event_field *)(event + 1);
    atomic_init(&event->references, 1);
    for (uint32_t i = 0; i < draft->count; i++) {
        const struct event_field *from = &draft->fields[i];

        event->fields[i] = *from;
        event->fields[i].text = NULL;
        if (from->is_text) {
            event->fields[i].number = (int64_t)texts.length;
            add(&texts, from);
            str_add_bytes(&texts, "", 1);
        }
    }
    event->texts = str_steal(&texts, NULL);
    if (event->texts == NULL) {
        free(event);
        return NULL;
    }
    return event;
}

abx_event *
event_make(const struct event_draft *draft)
{
    return make(draft, add_escaped);
}

abx_event *
event_again(const abx_event *event, uint64_t repeats)
{
    struct event_draft draft = { .type = event->type, .count = event->count };

    for (uint32_t i = 0; i < event->count; i++) {
        struct event_field *field = &draft.fields[i];

        *field = event->fields[i];
        if (field->is_text) {
            field->text = event->texts + event->fields[i].number;
        } else if (field->key == ABX_FIELD_REPEATS) {
            field->number = (int64_t)repeats;
        } else if (field->key == ABX_FIELD_TIME_NS) {
            field->number = event_time_now();
        }
    }
    return make(&draft, add_plain);
}

int64_t
event_time_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

abx_event *
event_ref(abx_event *event)
{
    if (event != NULL) {
        atomic_fetch_add_explicit(&event->references, 1, memory_order_relaxed);
    }
    return event;
}

void
event_unref(abx_event *event)
{
    if (event != NULL &&
            atomic_fetch_sub_explicit(&event->references, 1, memory_order_acq_rel) == 1) {
        free(event->texts);
        free(event);
    }
}

struct event_field *
event_find(abx_event *event, uint32_t key)
{
    for (uint32_t i = 0; i < event->count; i++) {
        if (event->fields[i].key == key) {
            return &event->fields[i];
        }
    }
    return NULL;
}

int64_t
event_number(abx_event *event, uint32_t key)
{
    const struct event_field *field = event_find(event, key);

    return field == NULL || field->is_text ? 0 : field->number;
}

const char *
event_text(abx_event *event, uint32_t key)
{
    const struct event_field *field = event_find(event, key);

    return field == NULL || !field->is_text ? NULL : event->texts + field->number;
}
