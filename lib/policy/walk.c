/* SPDX-License-Identifier: Apache-2.0
 * Owns the walk over all paths at once.  Which rule decides is told by the last component at which
 * any matched, since it matched the most; so a path comes down to three things: where it stands
 * among the literal paths (a tree), which parts of patterns it waits for (a set), and what was said
 * last in each track.  From each such state one component of each kind is tried.  Where no literal
 * path goes on, set and said are all there is, so each such pair is tried once; only names that
 * were literal children of the place it was tried from are left for another.  Pure, one thread. */
#include "policy/walk_private.h"

#include "base/str.h"

#include <stdlib.h>

/* What a step costs; it bounds memory, too. */
#define STEP_WORK 600u
#define GROUP_WORK 100u

const char *const walk_calls[WALK_CALLS] = { NULL, "open", "unlink", "mkdir", "chmod" };

struct walk_place {
    const struct walker *walker;
    const struct step *step;
};

/* ---- telling ---- */

static void
spell_out(struct walker *walker)
{
    for (uint32_t i = 0; i < walker->walk->n_tracks; i++) {
        for (unsigned k = 0; k < WALK_CALLS; k++) {
            walker->said[i * WALK_CALLS + k] = walker->shown[i] >> CALL_BITS * k & CALL_MASK;
        }
    }
}

/* The differences in what is shown, found out once; false: no memory. */
static bool
find_differences(struct walker *walker, uint32_t *ret_differences)
{
    uint32_t number = intern_put(
            &walker->shown_keys, walker->shown, walker->walk->n_tracks * sizeof *walker->shown);

    if (number == walker->differences.count) {
        spell_out(walker);
        if (!walk_push(&walker->differences,
                    walker->walk->find_differences(walker->walk->data, walker->said))) {
            return false;
        }
    }
    *ret_differences = number == INTERN_NONE ? 0 : *vec_at(&walker->differences, uint32_t, number);
    return number != INTERN_NONE;
}

static abx_status
visit(struct walker *walker, const struct step *step, uint32_t difference, struct fail *fail)
{
    struct walk_place place = { .walker = walker, .step = step };

    spell_out(walker);
    return walker->walk->visit(walker->walk->data, walker->said, difference, &place, fail);
}

static struct group *
group_at(const struct walker *walker, uint32_t number)
{
    return vec_at(&walker->groups, struct group, number);
}

/* Whether a step by this effect of a group of the set `of` can be off the literal paths. */
static bool
is_open(const struct walker *walker, const struct step *from, uint32_t of,
        const struct group *group, const struct effect *effect)
{
    const struct set *set = vec_at(&walker->sets, struct set, from->set);

    return (effect->name == INTERN_NONE ||
                   walk_child_of(walker, from->node, effect->name) == NO_NODE) &&
           (from->set == of ? walk_group_has(walker, set, group, effect)
                            : !walk_set_changes(walker, set, effect));
}

/* A new one has all effects of the group. */
static struct telling *
telling_of(struct walker *walker, uint32_t number, uint32_t difference)
{
    const struct group *group = group_at(walker, number);
    uint32_t key[2] = { number, difference };
    uint32_t at = intern_put(&walker->telling_keys, key, sizeof key);
    struct telling *telling;
    bool ok = true;

    if (at == INTERN_NONE || at < walker->tellings.count) {
        return at == INTERN_NONE ? NULL : vec_at(&walker->tellings, struct telling, at);
    }
    telling = vec_add(&walker->tellings);
    if (telling == NULL) {
        return NULL;
    }
    telling->untold = VEC(uint32_t);
    for (size_t i = 0; i < group->effects.count && ok; i++) {
        ok = walk_push(&telling->untold, *vec_at(&group->effects, uint32_t, i));
    }
    return ok ? telling : NULL;
}

static abx_status
tell_group(struct walker *walker, const struct step *step, uint32_t of, uint32_t number,
        uint32_t difference, struct fail *fail)
{
    const struct step from = *vec_at(&walker->steps, struct step, step->from);
    const struct group *group = group_at(walker, number);
    struct telling *telling = telling_of(walker, group->origin, difference);
    size_t n = 0, count = telling == NULL ? 0 : telling->untold.count;
    abx_status r = telling == NULL ? fail_nomem(fail) : ABX_OK;

    for (size_t i = 0; i < count && r == ABX_OK; i++) {
        uint32_t *at = vec_at(&telling->untold, uint32_t, i);
        const struct effect *effect = vec_at(&walker->effects, struct effect, *at);
        struct step own = *step;

        if (!is_open(walker, &from, of, group, effect)) {
            *vec_at(&telling->untold, uint32_t, n++) = *at;
            continue;
        }
        own.text = effect->text;
        own.length = effect->length;
        r = visit(walker, &own, difference, fail);
        if (effect->n == 0) { /* no rule tells the others apart */
            break;
        }
    }
    if (telling != NULL) {
        telling->untold.count = n;
    }
    return r;
}

/* Rules win by an effect that a step can be made by. */
static void
note_wins(struct walker *walker, const struct step *from, uint32_t of, const struct group *group)
{
    struct vec *waiting = &group_at(walker, group->origin)->waiting;
    size_t n = 0;

    for (size_t i = 0; i < waiting->count; i++) {
        uint32_t *at = vec_at(waiting, uint32_t, i);
        const struct effect *effect = vec_at(&walker->effects, struct effect, *at);

        if (is_open(walker, from, of, group, effect)) {
            walk_compete(walker, effect, NO_NODE, true);
        } else {
            *vec_at(waiting, uint32_t, n++) = *at;
        }
    }
    waiting->count = n;
}

/* ---- steps ---- */

static struct context *
context_of(struct walker *walker, uint32_t set, uint32_t states)
{
    uint32_t key[2] = { set, states };
    uint32_t number = intern_put(&walker->context_keys, key, sizeof key);
    struct context *context;

    if (number == INTERN_NONE) {
        return NULL;
    }
    if (number < walker->contexts.count) {
        return vec_at(&walker->contexts, struct context, number);
    }
    context = vec_add(&walker->contexts);
    if (context != NULL) {
        context->left = VEC(uint32_t);
    }
    return context;
}

/* Off the literal paths only what leads to something new is gone on from. */
static abx_status
queue(struct walker *walker, const struct step *step, struct fail *fail)
{
    struct step *slot;

    if (step->node == NO_NODE) {
        struct context *context = context_of(walker, step->set, step->states);

        if (context == NULL) {
            return fail_nomem(fail);
        }
        if (context->is_queued || context->is_done) {
            return ABX_OK;
        }
        context->is_queued = true;
    }
    slot = vec_add(&walker->steps);
    if (slot == NULL) {
        return fail_nomem(fail);
    }
    *slot = *step;
    return ABX_OK;
}

/* Where all is denied for good, git's directories make no difference. */
static void
forget_git(struct walker *walker)
{
    for (uint32_t i = 0; i < walker->walk->n_tracks && walker->has_git; i++) {
        struct state *state = &walker->states[i];

        if (walker->only_denies[i] && walk_denies_all(state->said)) {
            *state = (struct state){ .said = state->said, .root = GIT_OUT };
        }
    }
}

static bool
needs_judgement(const struct walker *walker, const struct state *before)
{
    bool needs = false;

    for (uint32_t i = 0; i < walker->walk->n_tracks && walker->has_git && !needs; i++) {
        needs = before[i].root != GIT_OUT || before[i].trees != 0 || before[i].has_tree;
    }
    return needs;
}

/* How a step is made: by an effect to a node, or by one that stands for a group's. */
struct move {
    const struct effect *effect;
    uint32_t node;
    uint32_t group, of; /* and the set whose group it is; INTERN_NONE: none */
};

/* Where nothing was said that was not told of the path above, there is nothing to tell. */
static abx_status
tell(struct walker *walker, struct step *step, const struct move *move, bool is_news,
        struct fail *fail)
{
    uint32_t differences;
    abx_status r = ABX_OK;

    for (uint32_t i = 0; i < walker->walk->n_tracks; i++) {
        step->is_masked |= walker->shown[i] != walker->states[i].said;
    }
    if (step->text == NULL && walker->walk->without_root) {
        step->is_masked = true;
        return ABX_OK;
    }
    if (!is_news && !step->is_masked) {
        return ABX_OK;
    }
    if (!find_differences(walker, &differences)) {
        return fail_nomem(fail);
    }
    for (uint32_t bit = 1; bit <= differences && bit != 0 && r == ABX_OK; bit <<= 1) {
        if ((differences & bit) != 0) {
            r = move->group == INTERN_NONE
                        ? visit(walker, step, bit, fail)
                        : tell_group(walker, step, move->of, move->group, bit, fail);
        }
    }
    return r;
}

static abx_status
go(struct walker *walker, uint32_t from, const struct move *move, struct fail *fail)
{
    const struct effect *effect = move->effect;
    uint32_t n_tracks = walker->walk->n_tracks;
    struct step step = { .from = from,
        .text = effect->text,
        .length = effect->length,
        .set = effect->set,
        .node = move->node };
    const struct state *before = intern_bytes(
            &walker->state_keys, vec_at(&walker->steps, struct step, from)->states, NULL);
    const struct judgement *judgement = NULL;
    struct judgement own;
    bool is_news = effect->n > 0 || effect->text == NULL ||
                   vec_at(&walker->steps, struct step, from)->is_masked;

    if (move->group == INTERN_NONE) {
        is_news |= vec_at(&walker->nodes, struct node, move->node)->rules.count > 0;
        walk_compete(walker, effect, move->node, true);
        walk_say(walker, before, walker->outcome);
        if (effect->text != NULL && needs_judgement(walker, before)) {
            walk_make_judgement(effect->text, effect->length, &own);
            judgement = &own;
        }
    } else {
        struct group *group = group_at(walker, move->group);

        note_wins(walker, vec_at(&walker->steps, struct step, from), move->of, group);
        walk_say(walker, before, intern_bytes(&walker->outcomes, group->outcome, NULL));
        judgement = walker->has_git ? intern_bytes(&walker->judgements, group->judged, NULL) : NULL;
    }
    if (walker->has_git) {
        walk_judge(walker, &step, judgement);
    }
    if (tell(walker, &step, move, is_news, fail) < 0) {
        return fail->status;
    }
    if (step.node == NO_NODE) {
        forget_git(walker);
    }
    step.states =
            intern_put(&walker->state_keys, walker->states, n_tracks * sizeof *walker->states);
    return step.states == INTERN_NONE ? fail_nomem(fail) : queue(walker, &step, fail);
}

static abx_status
go_to_children(struct walker *walker, uint32_t number, struct fail *fail)
{
    struct step at = *vec_at(&walker->steps, struct step, number);
    uint32_t child =
            at.node == NO_NODE ? NO_NODE : vec_at(&walker->nodes, struct node, at.node)->child;
    abx_status r = ABX_OK;

    for (; child != NO_NODE && r == ABX_OK;
            child = vec_at(&walker->nodes, struct node, child)->next) {
        uint32_t name = vec_at(&walker->nodes, struct node, child)->name;
        struct effect effect;
        struct move move = { .effect = &effect, .node = child, .group = INTERN_NONE };

        if (!vec_at(&walker->kinds.names, struct kind_name, name)->is_possible) {
            continue;
        }
        r = walk_name_effect(walker, at.set, name, &effect) ? go(walker, number, &move, fail)
                                                            : work_fail(walker->walk->work, fail);
    }
    return r;
}

/* An effect of the group by which a step can leave the literal paths; INTERN_NONE: none. */
static uint32_t
open_effect(const struct walker *walker, const struct step *from, uint32_t of, uint32_t number)
{
    const struct group *group = group_at(walker, number);
    const struct vec *effects = &group_at(walker, group->origin)->effects;

    for (size_t i = 0; i < effects->count; i++) {
        uint32_t at = *vec_at(effects, uint32_t, i);

        if (is_open(walker, from, of, group, vec_at(&walker->effects, struct effect, at))) {
            return at;
        }
    }
    return INTERN_NONE;
}

/* By what a set's groups do: the step's own, or those of its base that it does not change. */
static abx_status
go_by_groups(struct walker *walker, uint32_t number, uint32_t of, struct fail *fail)
{
    const struct step at = *vec_at(&walker->steps, struct step, number);
    struct context *context = context_of(walker, of, at.states);
    struct vec left = VEC(uint32_t), groups;
    abx_status r = ABX_OK;

    if (context == NULL) {
        return fail_nomem(fail);
    }
    if (!context->is_tried && !walk_find_groups(walker, of)) {
        return work_fail(walker->walk->work, fail);
    }
    groups = context->is_tried ? context->left : vec_at(&walker->sets, struct set, of)->groups;
    for (size_t i = 0; i < groups.count && r == ABX_OK; i++) {
        uint32_t group = *vec_at(&groups, uint32_t, i);
        uint32_t which = open_effect(walker, &at, of, group);
        struct effect effect;
        struct move move = { .effect = &effect, .node = NO_NODE, .group = group, .of = of };

        if (which == INTERN_NONE) {
            r = walk_push(&left, group) ? ABX_OK : fail_nomem(fail);
        } else {
            effect = *vec_at(&walker->effects, struct effect, which);
            effect.set = group_at(walker, group)->set;
            r = go(walker, number, &move, fail);
        }
    }
    if (r == ABX_OK && !work_spend(walker->walk->work, GROUP_WORK * groups.count)) {
        r = work_fail(walker->walk->work, fail);
    }
    context = context_of(walker, of, at.states); /* it may have moved */
    if (context->is_tried) {
        vec_done(&context->left);
    }
    context->left = left;
    context->is_tried = true;
    if (of == at.set) {
        context->is_queued = false;
        context->is_done |= at.node == NO_NODE;
    }
    return r;
}

static abx_status
begin(struct walker *walker, struct fail *fail)
{
    uint32_t n_tracks = walker->walk->n_tracks;
    struct vec parts = VEC(uint32_t);
    struct effect effect = { .name = INTERN_NONE };
    struct move move = { .effect = &effect, .node = 0, .group = INTERN_NONE };
    struct step *first = vec_add(&walker->steps);
    bool ok = first != NULL;

    if (walker->has_git) {
        walk_find_refusals(walker);
    }
    for (uint32_t i = 0; i < walker->first_part.count && ok; i++) {
        const struct walk_rule *rule = vec_at(&walker->walk->rules, struct walk_rule, i);

        if (rule->pattern != NULL && rule->pattern->n > 0) {
            ok = walk_add_part(walker, &parts, *vec_at(&walker->first_part, uint32_t, i));
        }
    }
    effect.set = ok ? walk_intern_set(walker, INTERN_NONE, &parts) : INTERN_NONE;
    vec_done(&parts);
    for (uint32_t i = 0; i < n_tracks; i++) {
        walker->states[i] = (struct state){ .root = GIT_OUT };
    }
    if (effect.set == INTERN_NONE) {
        return work_fail(walker->walk->work, fail);
    }
    /* Something to start from; it is gone over again as the step that it leads to. */
    first->states =
            intern_put(&walker->state_keys, walker->states, n_tracks * sizeof *walker->states);
    if (first->states == INTERN_NONE) {
        return fail_nomem(fail);
    }
    return go(walker, 0, &move, fail);
}

static abx_status
go_everywhere(struct walker *walker, struct fail *fail)
{
    abx_status r = begin(walker, fail);

    for (uint32_t i = 1; i < walker->steps.count && r == ABX_OK; i++) {
        uint32_t set = vec_at(&walker->steps, struct step, i)->set;
        uint32_t base = vec_at(&walker->sets, struct set, set)->base;

        r = work_spend(walker->walk->work, STEP_WORK) ? go_to_children(walker, i, fail)
                                                      : work_fail(walker->walk->work, fail);
        r = r == ABX_OK ? go_by_groups(walker, i, set, fail) : r;
        r = r == ABX_OK && base != set ? go_by_groups(walker, i, base, fail) : r;
    }
    return r;
}

static void
walker_init(struct walker *walker)
{
    size_t n = walker->walk->n_tracks;

    walker->parts = VEC(struct part);
    walker->first_part = VEC(uint32_t);
    walker->nodes = VEC(struct node);
    walker->way = VEC(struct landmark);
    walker->sets = VEC(struct set);
    walker->effects = VEC(struct effect);
    walker->groups = VEC(struct group);
    walker->contexts = VEC(struct context);
    walker->tellings = VEC(struct telling);
    walker->differences = VEC(uint32_t);
    walker->completed = VEC(uint32_t);
    walker->steps = VEC(struct step);
    kinds_init(&walker->kinds, walker->walk->of_urls);
    intern_init(&walker->edges);
    intern_init(&walker->set_keys);
    intern_init(&walker->group_keys);
    intern_init(&walker->outcomes);
    intern_init(&walker->judgements);
    intern_init(&walker->state_keys);
    intern_init(&walker->context_keys);
    intern_init(&walker->shown_keys);
    intern_init(&walker->telling_keys);
    walker->only_denies = calloc(n, sizeof *walker->only_denies);
    walker->states = calloc(n, sizeof *walker->states);
    walker->shown = calloc(n, sizeof *walker->shown);
    walker->outcome = calloc(n, sizeof *walker->outcome);
    walker->said = calloc(n, WALK_CALLS * sizeof *walker->said);
    walker->ranks = calloc(n, sizeof *walker->ranks);
    walker->exact_ranks = calloc(n, sizeof *walker->exact_ranks);
    walker->best = calloc(n, sizeof *walker->best);
    walker->exact = calloc(n, sizeof *walker->exact);
    walker->begins = calloc(n, sizeof *walker->begins);
}

static bool
is_ready(const struct walker *walker)
{
    return walker->only_denies != NULL && walker->states != NULL && walker->shown != NULL &&
           walker->outcome != NULL && walker->said != NULL && walker->ranks != NULL &&
           walker->exact_ranks != NULL && walker->best != NULL && walker->exact != NULL &&
           walker->begins != NULL;
}

static void
elements_done(struct walker *walker)
{
    for (size_t i = 0; i < walker->nodes.count; i++) {
        vec_done(&vec_at(&walker->nodes, struct node, i)->rules);
    }
    for (size_t i = 0; i < walker->sets.count; i++) {
        struct set *set = vec_at(&walker->sets, struct set, i);

        vec_done(&set->by_name);
        vec_done(&set->by_glob);
        vec_done(&set->groups);
        vec_done(&set->by_kind);
    }
    for (size_t i = 0; i < walker->groups.count; i++) {
        vec_done(&vec_at(&walker->groups, struct group, i)->effects);
        vec_done(&vec_at(&walker->groups, struct group, i)->waiting);
    }
    for (size_t i = 0; i < walker->contexts.count; i++) {
        vec_done(&vec_at(&walker->contexts, struct context, i)->left);
    }
    for (size_t i = 0; i < walker->tellings.count; i++) {
        vec_done(&vec_at(&walker->tellings, struct telling, i)->untold);
    }
}

static void
walker_done(struct walker *walker)
{
    elements_done(walker);
    vec_done(&walker->parts);
    vec_done(&walker->first_part);
    vec_done(&walker->nodes);
    vec_done(&walker->way);
    vec_done(&walker->sets);
    vec_done(&walker->effects);
    vec_done(&walker->groups);
    vec_done(&walker->contexts);
    vec_done(&walker->tellings);
    vec_done(&walker->differences);
    vec_done(&walker->completed);
    vec_done(&walker->steps);
    intern_done(&walker->edges);
    intern_done(&walker->set_keys);
    intern_done(&walker->group_keys);
    intern_done(&walker->outcomes);
    intern_done(&walker->judgements);
    intern_done(&walker->state_keys);
    intern_done(&walker->context_keys);
    intern_done(&walker->shown_keys);
    intern_done(&walker->telling_keys);
    kinds_done(&walker->kinds);
    free(walker->only_denies);
    free(walker->states);
    free(walker->shown);
    free(walker->outcome);
    free(walker->said);
    free(walker->ranks);
    free(walker->exact_ranks);
    free(walker->best);
    free(walker->exact);
    free(walker->begins);
}

abx_status
walk_all(struct walk *walk, struct fail *fail)
{
    struct walker walker = { .walk = walk };
    abx_status r;

    walker_init(&walker);
    r = is_ready(&walker) ? walk_take_rules(&walker, fail) : fail_nomem(fail);
    r = r == ABX_OK ? go_everywhere(&walker, fail) : r;
    walker_done(&walker);
    return r;
}

char *
walk_path(const struct walk_place *place)
{
    const struct walker *walker = place->walker;
    AUTO(str_done) struct str path = { 0 };
    struct vec back = VEC(const struct step *);
    bool ok = true;

    for (const struct step *step = place->step; ok && step->text != NULL;
            step = vec_at(&walker->steps, struct step, step->from)) {
        const struct step **slot = vec_add(&back);

        ok = slot != NULL;
        if (ok) {
            *slot = step;
        }
    }
    for (size_t i = back.count; i-- > 0;) {
        const struct step *step = *vec_at(&back, const struct step *, i);

        str_add(&path, "/");
        str_add_bytes(&path, step->text, step->length);
    }
    vec_done(&back);
    if (path.length == 0) {
        str_add(&path, "/");
    }
    return ok ? str_steal(&path, NULL) : NULL;
}
