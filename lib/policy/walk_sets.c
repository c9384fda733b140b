/* SPDX-License-Identifier: Apache-2.0
 * Sets of the parts that a path waits for, each kept once, and what components do to one: those
 * that do the same, whatever was said before, are a group.  A set of which some parts wait for the
 * next component only has groups of its own just for components that these take; any other does
 * what it does to the base. */
#include "policy/walk_private.h"

#include <stdlib.h>
#include <string.h>

/* What a part of a set costs; it bounds memory, too. */
#define PART_WORK 50u

static int
compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static void
sort_numbers(struct vec *vec)
{
    uint32_t *numbers = vec->data;
    size_t n = 1;

    while (n < vec->count && numbers[n - 1] < numbers[n]) {
        n++;
    }
    if (n >= vec->count) {
        return; /* as they mostly come */
    }
    n = 0;
    if (vec->count > 1) {
        qsort(numbers, vec->count, sizeof *numbers, compare_numbers);
    }
    for (size_t i = 0; i < vec->count; i++) {
        if (n == 0 || numbers[n - 1] != numbers[i]) {
            numbers[n++] = numbers[i];
        }
    }
    vec->count = n;
}

static bool
has_number(const uint32_t *numbers, size_t n, uint32_t number)
{
    return n > 0 && bsearch(&number, numbers, n, sizeof number, compare_numbers) != NULL;
}

static const struct part *
part_at(const struct walker *walker, uint32_t number)
{
    return vec_at(&walker->parts, struct part, number);
}

static struct set *
set_at(const struct walker *walker, uint32_t number)
{
    return vec_at(&walker->sets, struct set, number);
}

/* ---- sets ---- */

/* Adds a part, and the one after it if it may stand for nothing. */
bool
walk_add_part(const struct walker *walker, struct vec *parts, uint32_t number)
{
    return walk_push(parts, number) &&
           (part_at(walker, number)->part->kind != PART_DOUBLE || walk_push(parts, number + 1));
}

static bool
fill_set(const struct walker *walker, struct set *set)
{
    for (uint32_t i = 0; i < set->n; i++) {
        const struct part *part = part_at(walker, set->parts[i]);
        struct wait *wait;

        if (part->part->kind == PART_DOUBLE) {
            continue;
        }
        wait = vec_add(part->part->kind == PART_LITERAL ? &set->by_name : &set->by_glob);
        if (wait == NULL) {
            return false;
        }
        *wait = (struct wait){ .matter = part->matter, .part = set->parts[i] };
    }
    if (set->by_name.count > 1) {
        qsort(set->by_name.data, set->by_name.count, sizeof(struct wait), compare_numbers);
    }
    return true;
}

/* INTERN_NONE as `base`: the set is one itself. */
static uint32_t
intern_parts(struct walker *walker, uint32_t base, struct vec *parts)
{
    uint32_t number;
    size_t bytes;
    struct set *set;

    sort_numbers(parts);
    if (!walk_push(parts, base) || !work_spend(walker->walk->work, PART_WORK * parts->count)) {
        return INTERN_NONE;
    }
    number = intern_put(&walker->set_keys, parts->data, parts->count * sizeof(uint32_t));
    if (number == INTERN_NONE || number < walker->sets.count) {
        return number;
    }
    set = vec_add(&walker->sets);
    if (set == NULL) {
        return INTERN_NONE;
    }
    set->base = base == INTERN_NONE ? number : base;
    set->parts = intern_bytes(&walker->set_keys, number, &bytes);
    set->n = (uint32_t)parts->count - 1;
    set->by_name = set->by_glob = VEC(struct wait);
    set->groups = VEC(uint32_t);
    set->by_kind = VEC(struct kind_effect);
    return fill_set(walker, set) ? number : INTERN_NONE;
}

/* The base and what of the parts stays, too. */
static uint32_t
add_staying(struct walker *walker, uint32_t base, const struct vec *parts)
{
    struct vec all = VEC(uint32_t);
    bool ok = true, is_more = false;
    uint32_t number = base;

    for (size_t i = 0; i < parts->count && ok; i++) {
        uint32_t part = *vec_at(parts, uint32_t, i);

        if (part_at(walker, part)->part->kind == PART_DOUBLE) {
            is_more = true;
            ok = walk_add_part(walker, &all, part);
        }
    }
    if (ok && is_more) {
        const struct set *set = set_at(walker, base);

        for (uint32_t i = 0; i < set->n && ok; i++) {
            ok = walk_push(&all, set->parts[i]);
        }
        number = ok ? intern_parts(walker, INTERN_NONE, &all) : INTERN_NONE;
    }
    vec_done(&all);
    return ok ? number : INTERN_NONE;
}

uint32_t
walk_intern_set(struct walker *walker, uint32_t base, struct vec *parts)
{
    struct vec none = VEC(uint32_t);
    uint32_t *numbers = parts->data;
    const struct set *set;
    size_t n = 0;

    if (base == INTERN_NONE) {
        base = intern_parts(walker, INTERN_NONE, &none);
        vec_done(&none);
    }
    base = base == INTERN_NONE ? INTERN_NONE : add_staying(walker, base, parts);
    if (base == INTERN_NONE) {
        return INTERN_NONE;
    }
    set = set_at(walker, base);
    for (size_t i = 0; i < parts->count; i++) {
        if (!has_number(set->parts, set->n, numbers[i])) {
            numbers[n++] = numbers[i];
        }
    }
    parts->count = n;
    return n == 0 ? base : intern_parts(walker, base, parts);
}

/* ---- effects ---- */

static size_t
first_wait(const struct set *set, uint32_t name)
{
    size_t low = 0, high = set->by_name.count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (vec_at(&set->by_name, struct wait, middle)->matter < name) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool
waits_for(const struct set *set, size_t at, uint32_t name)
{
    return at < set->by_name.count && vec_at(&set->by_name, struct wait, at)->matter == name;
}

static bool
advance(struct walker *walker, uint32_t number, struct vec *parts)
{
    const struct part *part = part_at(walker, number);

    return part->is_last ? walk_push(&walker->completed, part->rule)
                         : walk_add_part(walker, parts, number + 1);
}

static bool
advance_set(struct walker *walker, const struct set *set, const struct effect *effect,
        struct vec *parts)
{
    bool ok = true;

    for (size_t i = first_wait(set, effect->name);
            ok && effect->name != INTERN_NONE && waits_for(set, i, effect->name); i++) {
        ok = advance(walker, vec_at(&set->by_name, struct wait, i)->part, parts);
    }
    for (size_t i = 0; i < set->by_glob.count && ok; i++) {
        const struct wait *wait = vec_at(&set->by_glob, struct wait, i);

        if (kind_has_glob(&walker->kinds, effect->kind, wait->matter)) {
            ok = advance(walker, wait->part, parts);
        }
    }
    return ok;
}

/* Where a component of this name and kind leads from a set; its completed rules go to the end of
 * `completed`. */
static bool
make_effect(struct walker *walker, uint32_t from, struct effect *effect)
{
    uint32_t base = set_at(walker, from)->base;
    struct vec parts = VEC(uint32_t);
    bool ok;

    effect->first = (uint32_t)walker->completed.count;
    ok = advance_set(walker, set_at(walker, base), effect, &parts) &&
         (base == from || advance_set(walker, set_at(walker, from), effect, &parts));
    effect->n = (uint32_t)walker->completed.count - effect->first;
    effect->set = ok ? walk_intern_set(walker, base, &parts) : INTERN_NONE;
    vec_done(&parts);
    return effect->set != INTERN_NONE;
}

static void
name_effect(const struct walker *walker, uint32_t number, struct effect *ret_effect)
{
    const struct kind_name *name = vec_at(&walker->kinds.names, struct kind_name, number);

    *ret_effect = (struct effect){
        .text = name->text, .length = name->length, .name = number, .kind = name->kind
    };
}

bool
walk_name_effect(struct walker *walker, uint32_t set, uint32_t number, struct effect *ret_effect)
{
    name_effect(walker, number, ret_effect);
    return make_effect(walker, set, ret_effect);
}

static bool
takes_kind(const struct walker *walker, const struct set *set, uint32_t kind)
{
    bool takes = false;

    for (size_t i = 0; i < set->by_glob.count && !takes; i++) {
        takes = kind_has_glob(&walker->kinds, kind, vec_at(&set->by_glob, struct wait, i)->matter);
    }
    return takes;
}

bool
walk_set_changes(const struct walker *walker, const struct set *set, const struct effect *effect)
{
    return (effect->name != INTERN_NONE &&
                   waits_for(set, first_wait(set, effect->name), effect->name)) ||
           takes_kind(walker, set, effect->kind);
}

/* ---- groups ---- */

static uint32_t
judgement_of(struct walker *walker, const struct effect *effect)
{
    struct judgement judgement;

    if (!walker->has_git) {
        return 0;
    }
    walk_make_judgement(effect->text, effect->length, &judgement);
    return intern_put(&walker->judgements, &judgement, sizeof judgement);
}

/* A group of a set, which may be there; one that is `like` another has that one's effects. */
static struct group *
add_group(struct walker *walker, uint32_t set, const struct group *like)
{
    const uint32_t key[] = { set, like->set, like->outcome, like->judged, like->origin,
        like->kind };
    uint32_t number = intern_put(&walker->group_keys, key, sizeof key);
    struct group *group;

    if (number == INTERN_NONE || number < walker->groups.count) {
        return number == INTERN_NONE ? NULL : vec_at(&walker->groups, struct group, number);
    }
    group = vec_add(&walker->groups);
    if (group == NULL || !walk_push(&set_at(walker, set)->groups, number)) {
        return NULL;
    }
    *group = *like;
    group->origin = like->origin == INTERN_NONE ? number : like->origin;
    group->effects = group->waiting = VEC(uint32_t);
    return group;
}

/* The group of an effect on a set; a new one has none yet. */
static struct group *
group_of(struct walker *walker, uint32_t set, const struct effect *effect)
{
    struct group own = { .set = effect->set, .origin = INTERN_NONE };

    walk_compete(walker, effect, NO_NODE, false);
    own.judged = judgement_of(walker, effect);
    own.outcome = intern_put(
            &walker->outcomes, walker->outcome, walker->walk->n_tracks * sizeof *walker->outcome);
    return own.outcome == INTERN_NONE || own.judged == INTERN_NONE ? NULL
                                                                   : add_group(walker, set, &own);
}

static bool
add_effect(struct walker *walker, uint32_t set, struct effect *effect)
{
    uint32_t number = (uint32_t)walker->effects.count;
    struct group *group;
    struct effect *slot;

    if (!make_effect(walker, set, effect)) {
        return false;
    }
    group = group_of(walker, set, effect);
    slot = group == NULL ? NULL : vec_add(&walker->effects);
    if (slot == NULL) {
        return false;
    }
    *slot = *effect;
    return walk_push(&group->effects, number) &&
           (effect->n == 0 || walk_push(&group->waiting, number));
}

/* ---- what the base does to what a set takes, too ---- */

static bool
is_taken_alike(const struct walker *walker, const struct set *set, uint32_t a, uint32_t b)
{
    bool is_alike = true;

    for (size_t i = 0; i < set->by_glob.count && is_alike && a != b; i++) {
        uint32_t glob = vec_at(&set->by_glob, struct wait, i)->matter;

        is_alike = kind_has_glob(&walker->kinds, a, glob) == kind_has_glob(&walker->kinds, b, glob);
    }
    return is_alike;
}

bool
walk_group_has(const struct walker *walker, const struct set *set, const struct group *group,
        const struct effect *effect)
{
    return vec_at(&walker->groups, struct group, group->origin) == group ||
           ((effect->name == INTERN_NONE ||
                    !waits_for(set, first_wait(set, effect->name), effect->name)) &&
                   is_taken_alike(walker, set, effect->kind, group->kind));
}

/* Whether a part that the set waits for beside its base's ends with such a component. */
static bool
completes(const struct walker *walker, const struct set *set, uint32_t kind)
{
    bool does = false;

    for (size_t i = 0; i < set->by_glob.count && !does; i++) {
        const struct wait *wait = vec_at(&set->by_glob, struct wait, i);

        does = part_at(walker, wait->part)->is_last &&
               kind_has_glob(&walker->kinds, kind, wait->matter);
    }
    return does;
}

/* An effect of the base that the set's globs take, too.  What they complete competes with what the
 * base completes; else only what is waited for next is another set. */
static bool
add_taken(struct walker *walker, uint32_t number, uint32_t origin, uint32_t which)
{
    struct effect effect = *vec_at(&walker->effects, struct effect, which);
    struct group like = *vec_at(&walker->groups, struct group, origin);
    const struct vec *groups = &set_at(walker, number)->groups;
    bool is_known = false;

    if (completes(walker, set_at(walker, number), effect.kind)) {
        return add_effect(walker, number, &effect);
    }
    for (size_t i = 0; i < groups->count && !is_known; i++) {
        const struct group *group =
                vec_at(&walker->groups, struct group, *vec_at(groups, uint32_t, i));

        is_known = group->origin == origin &&
                   is_taken_alike(walker, set_at(walker, number), group->kind, effect.kind);
    }
    if (is_known) {
        return true;
    }
    if (!make_effect(walker, number, &effect)) {
        return false;
    }
    like.set = effect.set;
    like.kind = effect.kind;
    return add_group(walker, number, &like) != NULL;
}

static int
compare_kind_effects(const void *a, const void *b)
{
    const struct kind_effect *x = a, *y = b;

    return x->kind != y->kind     ? (x->kind > y->kind) - (x->kind < y->kind)
           : x->group != y->group ? (x->group > y->group) - (x->group < y->group)
                                  : (x->effect > y->effect) - (x->effect < y->effect);
}

/* Once for each base. */
static bool
sort_by_kind(const struct walker *walker, struct set *base)
{
    if (base->by_kind.count > 0) {
        return true;
    }
    for (size_t i = 0; i < base->groups.count; i++) {
        uint32_t number = *vec_at(&base->groups, uint32_t, i);
        const struct vec *effects = &vec_at(&walker->groups, struct group, number)->effects;

        for (size_t k = 0; k < effects->count; k++) {
            uint32_t effect = *vec_at(effects, uint32_t, k);
            struct kind_effect *slot = vec_add(&base->by_kind);

            if (slot == NULL) {
                return false;
            }
            *slot = (struct kind_effect){ vec_at(&walker->effects, struct effect, effect)->kind,
                number, effect };
        }
    }
    if (base->by_kind.count > 1) {
        qsort(base->by_kind.data, base->by_kind.count, sizeof(struct kind_effect),
                compare_kind_effects);
    }
    return true;
}

/* Where the effects of the next kind begin. */
static size_t
next_kind(const struct vec *by_kind, size_t at)
{
    uint32_t kind = vec_at(by_kind, struct kind_effect, at)->kind;
    size_t low = at + 1, high = by_kind->count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (vec_at(by_kind, struct kind_effect, middle)->kind == kind) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool
add_all_taken(struct walker *walker, uint32_t number)
{
    uint32_t base = set_at(walker, number)->base;
    uint64_t cost = 10 + set_at(walker, number)->by_glob.count;
    bool ok = sort_by_kind(walker, set_at(walker, base));

    for (size_t i = 0; ok && i < set_at(walker, base)->by_kind.count;) {
        const struct kind_effect taken =
                *vec_at(&set_at(walker, base)->by_kind, struct kind_effect, i);
        const struct effect *effect = vec_at(&walker->effects, struct effect, taken.effect);
        const struct set *set = set_at(walker, number);

        ok = work_spend(walker->walk->work, cost);
        if (!takes_kind(walker, set, taken.kind)) {
            i = next_kind(&set_at(walker, base)->by_kind, i);
            continue;
        }
        if (ok && (effect->name == INTERN_NONE ||
                          !waits_for(set, first_wait(set, effect->name), effect->name))) {
            ok = add_taken(walker, number, taken.group, taken.effect);
        }
        i++;
    }
    return ok;
}

/* ---- all groups of a set ---- */

static bool
add_names(struct walker *walker, uint32_t number, struct vec *names)
{
    struct effect effect;
    bool ok = true;

    sort_numbers(names);
    for (size_t i = 0; i < names->count && ok; i++) {
        uint32_t name = *vec_at(names, uint32_t, i);

        if (vec_at(&walker->kinds.names, struct kind_name, name)->is_possible) {
            name_effect(walker, name, &effect);
            ok = add_effect(walker, number, &effect);
        }
    }
    return ok;
}

static bool
add_waited(struct walker *walker, uint32_t number, struct vec *names)
{
    const struct set *set = set_at(walker, number);
    bool ok = true;

    for (size_t i = 0; i < set->by_name.count && ok; i++) {
        ok = walk_push(names, vec_at(&set->by_name, struct wait, i)->matter);
    }
    return ok;
}

/* One component of each kind, and names that are all there is of a kind. */
static bool
add_kinds(struct walker *walker, uint32_t number, struct vec *names)
{
    bool ok = true;

    for (uint32_t i = 0; i < walker->kinds.kinds.count && ok; i++) {
        const struct kind *kind = vec_at(&walker->kinds.kinds, struct kind, i);
        struct effect effect = {
            .text = kind->example, .length = kind->example_length, .name = INTERN_NONE, .kind = i
        };

        ok = kind->example == NULL || add_effect(walker, number, &effect);
        for (size_t k = 0; k < kind->only.count && ok; k++) {
            ok = walk_push(names, *vec_at(&kind->only, uint32_t, k));
        }
    }
    return ok;
}

bool
walk_find_groups(struct walker *walker, uint32_t number)
{
    uint32_t base = set_at(walker, number)->base;
    uint64_t n_globs = set_at(walker, number)->by_glob.count + set_at(walker, base)->by_glob.count;
    struct vec names = VEC(uint32_t);
    bool ok = true;

    if (set_at(walker, number)->has_groups) {
        return true;
    }
    if (base == number) {
        ok = work_spend(walker->walk->work, (n_globs + 1) * walker->kinds.kinds.count) &&
             add_kinds(walker, number, &names);
    } else if (set_at(walker, number)->by_glob.count > 0) {
        ok = walk_find_groups(walker, base) && add_all_taken(walker, number);
    }
    ok = ok && add_waited(walker, number, &names) &&
         work_spend(walker->walk->work, (n_globs + 1) * names.count) &&
         add_names(walker, number, &names);
    set_at(walker, number)->has_groups = true;
    vec_done(&names);
    return ok;
}
