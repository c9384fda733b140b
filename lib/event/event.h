/* SPDX-License-Identifier: Apache-2.0
 * One thing that happened, as fields by number.  Made from a draft, immutable afterwards; only
 * its number is set before it is queued, and its count while it is. */
#ifndef ABX_EVENT_EVENT_H
#define ABX_EVENT_EVENT_H

#include "base/str.h"

#include <agentbox/agentbox.h>
#include <stdatomic.h>

#define EVENT_FIELDS_MAX 40u

/* What only audit records have: no event of these types is queued. */
enum { RECORD_OPENED = 0x100, RECORD_SPAWN, RECORD_SUPPLY, RECORD_CLOSED, RECORD_REFUSED };
enum { FIELD_DIGEST = 0x10000, FIELD_EXPIRES_MS };

struct event_field {
    uint32_t key; /* ABX_FIELD_* */
    bool is_text;
    int64_t number; /* or, in an event, the text's offset in `texts` */
    const char *text; /* in a draft only */
};

/* Fields on the stack; texts are borrowed until event_make. */
struct event_draft {
    uint32_t type; /* ABX_EVENT_* */
    uint32_t count;
    struct event_field fields[EVENT_FIELDS_MAX];
};

struct abx_event {
    atomic_uint references;
    uint32_t type;
    uint32_t count;
    struct event_field *fields;
    char *texts;
    struct abx_event *previous, *next; /* the queue's, under its lock */
    bool queued; /* same */
};

void draft_number(struct event_draft *draft, uint32_t key, int64_t value);
/* NULL and "" are not kept: a field is there or it is not. */
void draft_text(struct event_draft *draft, uint32_t key, const char *text);
/* Texts are copied and escaped, so that a getter always lends valid UTF-8 on one line.  NULL: no
 * memory. */
abx_event *event_make(const struct event_draft *draft);
/* The same facts, now, for `repeats` attempts. */
abx_event *event_again(const abx_event *event, uint64_t repeats);
/* Unix time in ns. */
int64_t event_time_now(void);
struct event_field *event_find(abx_event *event, uint32_t key);
abx_event *event_ref(abx_event *event);
void event_unref(abx_event *event);
int64_t event_number(abx_event *event, uint32_t key); /* 0 if it has none */
const char *event_text(abx_event *event, uint32_t key); /* NULL if it has none */
/* Whether the text is a name that programs choose: any bytes, escaped so that text_unescape undoes
 * it. */
bool event_is_bytes(uint32_t key);

/* text.c: appends the event in lines for a person. */
void event_write_text(struct str *out, abx_event *event);
/* Appends one JSON object; `repeats` 0: the event's own count. */
void event_json(struct str *out, abx_event *event, uint64_t repeats);
/* The same, of each text at most so many bytes and a mark; what is JSON itself is then a text. */
void event_json_cut(struct str *out, abx_event *event, size_t most);
/* The mark: "... (cut, of 5000 bytes)". */
#define EVENT_CUT "... (cut, of "
#define EVENT_CUT_END " bytes)"
/* Appends `,"time":"..."`: RFC 3339 in UTC, to the nanosecond. */
void event_json_time(struct str *out, int64_t time_ns);

#endif
