/* SPDX-License-Identifier: Apache-2.0
 * Sets of the parts that a path waits for, each kept once, and what a component does to one. */
#include "policy/walk_private.h"

#include <stdlib.h>
#include <string.h>

static int
compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static const struct part *
part_at(const struct walker *walker, uint32_t number)
{
    return vec_at(&walker->parts, struct part, number);
}

/* Adds a part, and the one after it if it may stand for nothing. */
bool
walk_add_part(const struct walker *walker, struct vec *parts, uint32_t number)
{
    return walk_push(parts, number) &&
           (part_at(walker, number)->part->kind != PART_DOUBLE || walk_push(parts, number + 1));
}

static bool
fill_set(struct walker *walker, uint32_t number)
{
    struct vec by_name = VEC(struct wait), by_glob = VEC(struct wait), stay = VEC(uint32_t);
    struct set *set = vec_at(&walker->sets, struct set, number);
    uint32_t stays;
    bool ok = true;

    for (uint32_t i = 0; i < set->n && ok; i++) {
        const struct part *part = part_at(walker, set->parts[i]);

        if (part->part->kind == PART_DOUBLE) {
            ok = walk_add_part(walker, &stay, set->parts[i]);
        } else {
            struct wait *wait = vec_add(part->part->kind == PART_LITERAL ? &by_name : &by_glob);

            ok = wait != NULL;
            if (ok) {
                *wait = (struct wait){ .matter = part->matter, .part = set->parts[i] };
            }
        }
    }
    if (by_name.count > 1) {
        qsort(by_name.data, by_name.count, sizeof(struct wait), compare_numbers);
    }
    set->by_name = by_name;
    set->by_glob = by_glob;
    stays = ok ? walk_intern_set(walker, &stay) : INTERN_NONE; /* moves `sets` */
    vec_at(&walker->sets, struct set, number)->stay = stays;
    vec_done(&stay);
    return stays != INTERN_NONE;
}

/* The number of the set of these parts, which are sorted on the way. */
uint32_t
walk_intern_set(struct walker *walker, struct vec *parts)
{
    uint32_t *numbers = parts->data;
    size_t n = 0, bytes;
    uint32_t number;
    struct set *set;

    if (parts->count > 1) {
        qsort(numbers, parts->count, sizeof *numbers, compare_numbers);
    }
    for (size_t i = 0; i < parts->count; i++) {
        if (n == 0 || numbers[n - 1] != numbers[i]) {
            numbers[n++] = numbers[i];
        }
    }
    number = intern_put(&walker->set_keys, numbers, n * sizeof *numbers);
    if (number == INTERN_NONE || number < walker->sets.count) {
        return number;
    }
    set = vec_add(&walker->sets);
    if (set == NULL) {
        return INTERN_NONE;
    }
    set->parts = intern_bytes(&walker->set_keys, number, &bytes);
    set->n = (uint32_t)n;
    set->stay = number;
    set->by_name = set->by_glob = VEC(struct wait);
    set->effects = VEC(struct effect);
    return fill_set(walker, number) ? number : INTERN_NONE;
}

static bool
advance(const struct walker *walker, uint32_t number, struct vec *parts, struct vec *completed)
{
    const struct part *part = part_at(walker, number);

    return part->is_last ? walk_push(completed, part->rule)
                         : walk_add_part(walker, parts, number + 1);
}

static bool
advance_names(const struct walker *walker, const struct set *set, uint32_t name, struct vec *parts,
        struct vec *completed)
{
    size_t low = 0, high = set->by_name.count;
    bool ok = true;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (vec_at(&set->by_name, struct wait, middle)->matter < name) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; ok && low < set->by_name.count &&
            vec_at(&set->by_name, struct wait, low)->matter == name;
            low++) {
        ok = advance(walker, vec_at(&set->by_name, struct wait, low)->part, parts, completed);
    }
    return ok;
}

/* What a component does to a set; its completed rules go to the end of `completed`. */
static bool
make_effect(struct walker *walker, uint32_t from, uint32_t name, uint32_t kind,
        struct effect *ret_effect)
{
    const struct set *set = vec_at(&walker->sets, struct set, from);
    struct vec parts = VEC(uint32_t);
    size_t n_completed = walker->completed.count;
    bool ok = true;
    uint32_t next = set->stay;

    if (name != INTERN_NONE) {
        ok = advance_names(walker, set, name, &parts, &walker->completed);
    }
    for (size_t i = 0; i < set->by_glob.count && ok; i++) {
        const struct wait *wait = vec_at(&set->by_glob, struct wait, i);

        if (kind_has_glob(&walker->kinds, kind, wait->matter)) {
            ok = advance(walker, wait->part, &parts, &walker->completed);
        }
    }
    if (ok && parts.count > 0) {
        const struct set *stay = vec_at(&walker->sets, struct set, set->stay);

        for (uint32_t i = 0; i < stay->n && ok; i++) {
            ok = walk_push(&parts, stay->parts[i]);
        }
        next = ok ? walk_intern_set(walker, &parts) : INTERN_NONE;
    }
    vec_done(&parts);
    ret_effect->name = name;
    ret_effect->set = next;
    ret_effect->first = (uint32_t)n_completed;
    ret_effect->n = (uint32_t)(walker->completed.count - n_completed);
    return ok && next != INTERN_NONE;
}

bool
walk_name_effect(struct walker *walker, uint32_t set, uint32_t number, struct effect *ret_effect)
{
    const struct kind_name *name = vec_at(&walker->kinds.names, struct kind_name, number);

    ret_effect->text = name->text;
    ret_effect->length = name->length;
    return make_effect(walker, set, number, name->kind, ret_effect);
}

static bool
add_effect(struct walker *walker, uint32_t set, const struct effect *effect)
{
    struct effect *slot = vec_add(&vec_at(&walker->sets, struct set, set)->effects);

    if (slot != NULL) {
        *slot = *effect;
    }
    return slot != NULL;
}

/* One of each kind; names that some part of the set waits for; and those that are all of a kind. */
bool
walk_find_effects(struct walker *walker, uint32_t number)
{
    uint32_t last = INTERN_NONE;
    struct effect effect;
    bool ok = true;

    vec_at(&walker->sets, struct set, number)->has_effects = true;
    for (size_t i = 0; ok && i < vec_at(&walker->sets, struct set, number)->by_name.count; i++) {
        uint32_t name =
                vec_at(&vec_at(&walker->sets, struct set, number)->by_name, struct wait, i)->matter;

        if (name != last && vec_at(&walker->kinds.names, struct kind_name, name)->is_possible) {
            ok = walk_name_effect(walker, number, name, &effect) &&
                 add_effect(walker, number, &effect);
        }
        last = name;
    }
    for (uint32_t i = 0; i < walker->kinds.kinds.count && ok; i++) {
        const struct kind *kind = vec_at(&walker->kinds.kinds, struct kind, i);

        if (kind->example != NULL) {
            effect.text = kind->example;
            effect.length = kind->example_length;
            ok = make_effect(walker, number, INTERN_NONE, i, &effect) &&
                 add_effect(walker, number, &effect);
        }
        for (size_t k = 0; k < kind->only.count && ok; k++) {
            ok = walk_name_effect(walker, number, *vec_at(&kind->only, uint32_t, k), &effect) &&
                 add_effect(walker, number, &effect);
        }
    }
    return ok;
}
