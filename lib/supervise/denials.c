/* SPDX-License-Identifier: Apache-2.0
 * Owns the table of a command's denials.  Bounded: 64 entries; the first ones of each kind stay,
 * the others take turns.  No lock of its own. */
#include "supervise/denials.h"

#include "supervise/box.h"

#include "base/loop.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define ENTRIES_MAX 64u
#define QUIET_NS 1000000000u /* at most one event in this time for equal attempts */

struct denial_entry {
    struct denial_key key; /* its target and program are those below */
    char *target;
    char *program; /* "": unknown */
    abx_event *event; /* the last one */
    bool is_kept;
    uint64_t total;
    uint64_t pending; /* counted since, in no event */
    uint64_t told_ns;
};

void
denials_init(struct denials *denials)
{
    *denials = (struct denials){ .entries = VEC(struct denial_entry) };
}

static void
entry_done(struct denial_entry *entry)
{
    free(entry->target);
    free(entry->program);
    event_unref(entry->event);
}

void
denials_done(struct denials *denials)
{
    for (size_t i = 0; i < denials->entries.count; i++) {
        entry_done(vec_at(&denials->entries, struct denial_entry, i));
    }
    vec_done(&denials->entries);
}

static bool
is_same_act(const struct denial_key *a, const struct denial_key *b)
{
    return a->type == b->type && a->layer == b->layer && a->request == b->request &&
           a->access == b->access && a->port == b->port && a->command == b->command &&
           strcmp(a->target, b->target) == 0;
}

/* Whether its event has this text; NULL: any will do. */
static bool
has_text(const struct denial_entry *entry, uint32_t field, const char *text)
{
    const char *other = event_text(entry->event, field);

    return text == NULL || (other != NULL && strcmp(other, text) == 0);
}

static bool
has_answer(const struct denial_entry *entry, const struct denial_key *key)
{
    return entry->key.status == key->status &&
           (key->problem != NULL || event_text(entry->event, ABX_FIELD_PROBLEM) == NULL) &&
           has_text(entry, ABX_FIELD_PROBLEM, key->problem) &&
           has_text(entry, ABX_FIELD_REASON, key->reason);
}

static bool
has_program(const struct denial_entry *entry, const struct denial_key *key)
{
    return key->program == NULL ? entry->key.pid == key->pid
                                : strcmp(entry->program, key->program) == 0;
}

static struct denial_entry *
find(struct denials *denials, const struct denial_key *key)
{
    for (size_t i = 0; i < denials->entries.count; i++) {
        struct denial_entry *entry = vec_at(&denials->entries, struct denial_entry, i);

        if (is_same_act(&entry->key, key) && has_text(entry, ABX_FIELD_VERB, key->verb) &&
                has_text(entry, ABX_FIELD_ASKED, key->asked) && has_answer(entry, key) &&
                has_program(entry, key)) {
            return entry;
        }
    }
    return NULL;
}

/* Tells what is pending by a copy of the last event. */
static void
flush_entry(struct denial_entry *entry, struct outlet *outlet)
{
    if (entry->pending > 0) {
        outlet_tell(outlet, event_again(entry->event, entry->pending));
        entry->pending = 0;
    }
}

static unsigned int *
count_of_kept(struct denials *denials, const struct denial_key *key)
{
    return key->status == 0 ? &denials->n_kept : &denials->n_replies_kept;
}

static bool
keep(struct denials *denials, const struct denial_key *key)
{
    unsigned int *n = count_of_kept(denials, key);
    bool is_room = *n < (key->status == 0 ? DENIALS_SHOWN : REPLIES_SHOWN);

    *n += is_room;
    return is_room;
}

static struct denial_entry *
next_victim(struct denials *denials)
{
    struct denial_entry *entry;

    do { /* there are more places than are kept */
        denials->next_victim = (denials->next_victim + 1) % ENTRIES_MAX;
        entry = vec_at(&denials->entries, struct denial_entry, denials->next_victim);
    } while (entry->is_kept);
    return entry;
}

/* A place for a new entry, empty; NULL without memory. */
static struct denial_entry *
make_place(struct denials *denials, struct outlet *outlet)
{
    struct denial_entry *entry;

    if (denials->entries.count < ENTRIES_MAX) {
        return vec_add(&denials->entries);
    }
    entry = next_victim(denials);
    flush_entry(entry, outlet);
    entry_done(entry);
    *entry = (struct denial_entry){ 0 };
    return entry;
}

static void
record_first(struct denials *denials, struct outlet *outlet, const struct denial_key *key,
        abx_event *event, uint64_t times)
{
    char *target = strdup(key->target), *program = strdup(key->program == NULL ? "" : key->program);
    struct denial_entry *entry =
            target == NULL || program == NULL || event == NULL ? NULL : make_place(denials, outlet);

    if (entry == NULL) {
        free(target);
        free(program);
        return;
    }
    entry->key = *key;
    entry->key.target = target;
    entry->key.program = program;
    entry->key.verb = entry->key.asked = NULL; /* the event has them */
    entry->key.problem = entry->key.reason = NULL; /* same */
    entry->target = target;
    entry->program = program;
    entry->event = event_ref(event);
    entry->is_kept = keep(denials, key);
    entry->total = times;
    entry->told_ns = clock_now_ns();
}

static void
count(struct denials *denials, struct outlet *outlet, const struct denial_key *key, uint64_t times,
        bool was_denied)
{
    struct stats *stats = &outlet->box->context->stats;

    if (key->type == ABX_EVENT_DENIAL) {
        denials->total += times;
        stats_add(stats, STAT_DENIALS, times);
        stats_add(stats, STAT_REPEATS, was_denied ? times : 0);
    }
}

static abx_event *
make_event(struct event_draft *draft, uint64_t repeats)
{
    draft_number(draft, ABX_FIELD_REPEATS, (int64_t)repeats);
    return event_make(draft);
}

bool
denials_count(struct denials *denials, struct outlet *outlet, const struct denial_key *key,
        uint64_t times)
{
    struct denial_entry *entry = find(denials, key);

    if (entry == NULL) {
        return false;
    }
    entry->key.pid = key->pid;
    if (entry->pending != 0 || !outlet_repeat(outlet, entry->event, times)) {
        if (clock_now_ns() - entry->told_ns >= QUIET_NS) {
            return false;
        }
        entry->pending += times;
    }
    count(denials, outlet, key, times, true);
    entry->total += times;
    return true;
}

void
denials_record(struct denials *denials, struct outlet *outlet, const struct denial_key *key,
        struct event_draft *draft, uint64_t times)
{
    struct denial_entry *entry;
    abx_event *event;

    if (denials_count(denials, outlet, key, times)) {
        return;
    }
    entry = find(denials, key);
    count(denials, outlet, key, times, entry != NULL);
    if (entry == NULL) {
        event = make_event(draft, times);
        record_first(denials, outlet, key, event, times);
        outlet_tell(outlet, event);
        return;
    }
    entry->total += times;
    entry->pending += times;
    event = make_event(draft, entry->pending);
    if (event == NULL) {
        return; /* stays pending */
    }
    event_unref(entry->event);
    entry->event = event_ref(event);
    entry->pending = 0;
    entry->told_ns = clock_now_ns();
    outlet_tell(outlet, event);
}

void
denials_forget(struct denials *denials, struct outlet *outlet, const struct denial_key *key,
        const char *asked)
{
    for (size_t i = denials->entries.count; i-- > 0;) {
        struct denial_entry *entry = vec_at(&denials->entries, struct denial_entry, i);

        if (entry->key.status != 0 && is_same_act(&entry->key, key) &&
                has_text(entry, ABX_FIELD_VERB, key->verb) &&
                has_text(entry, ABX_FIELD_ASKED, asked)) {
            flush_entry(entry, outlet);
            *count_of_kept(denials, &entry->key) -= entry->is_kept;
            entry_done(entry);
            vec_remove(&denials->entries, i);
        }
    }
}

void
denials_flush(struct denials *denials, struct outlet *outlet)
{
    for (size_t i = 0; i < denials->entries.count; i++) {
        flush_entry(vec_at(&denials->entries, struct denial_entry, i), outlet);
    }
}

abx_event *
denials_get(const struct denials *denials, size_t i, uint64_t *ret_times)
{
    for (size_t at = 0; at < denials->entries.count; at++) {
        const struct denial_entry *entry = vec_at(&denials->entries, struct denial_entry, at);

        if (entry->is_kept && i-- == 0) {
            *ret_times = entry->total;
            return entry->event;
        }
    }
    return NULL;
}
