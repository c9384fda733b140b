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
#include <string.h>

#define STEPS_MAX 4000000u

const char *const walk_calls[WALK_CALLS] = { NULL, "open", "unlink", "mkdir", "chmod" };

struct walk_place {
    const struct walker *walker;
    const struct step *step;
};

/* ---- getting ready ---- */

static bool
add_node(struct walker *walker, uint32_t name)
{
    struct node *node = vec_add(&walker->nodes);

    if (node != NULL) {
        *node = (struct node){
            .name = name, .child = NO_NODE, .next = NO_NODE, .rules = VEC(uint32_t)
        };
    }
    return node != NULL;
}

static uint32_t
child_of(const struct walker *walker, uint32_t node, uint32_t name)
{
    uint32_t edge[2] = { node, name };
    uint32_t number =
            node == NO_NODE ? INTERN_NONE : intern_find(&walker->edges, edge, sizeof edge);

    return number == INTERN_NONE ? NO_NODE : number + 1;
}

static bool
add_literal(struct walker *walker, const char *path, uint32_t rule)
{
    uint32_t at = 0;

    for (path++; *path != '\0';) {
        const char *end = strchrnul(path, '/');
        uint32_t edge[2] = { at, kinds_add_name(&walker->kinds, path, (size_t)(end - path)) };
        uint32_t child = edge[1] == INTERN_NONE ? INTERN_NONE
                                                : intern_put(&walker->edges, edge, sizeof edge);

        if (child == INTERN_NONE) {
            return false;
        }
        if (++child == walker->nodes.count) {
            struct node *parent;

            if (!add_node(walker, edge[1])) {
                return false;
            }
            parent = vec_at(&walker->nodes, struct node, at);
            vec_at(&walker->nodes, struct node, child)->next = parent->child;
            parent->child = child;
        }
        at = child;
        path = *end == '/' ? end + 1 : end;
    }
    return walk_push(&vec_at(&walker->nodes, struct node, at)->rules, rule);
}

static bool
add_pattern(struct walker *walker, const struct path_pattern *pattern, uint32_t rule)
{
    for (uint32_t i = 0; i < pattern->n; i++) {
        const struct path_part *from = &pattern->parts[i];
        struct part *part = vec_add(&walker->parts);

        if (part == NULL) {
            return false;
        }
        *part = (struct part){ .rule = rule, .part = from, .is_last = i + 1 == pattern->n };
        part->matter = from->kind == PART_DOUBLE ? 0
                       : from->kind == PART_LITERAL
                               ? kinds_add_name(&walker->kinds, from->text, from->length)
                               : kinds_add_glob(&walker->kinds, from);
        if (part->matter == INTERN_NONE) {
            return false;
        }
    }
    return true;
}

static abx_status
add_own_kinds(struct walker *walker, struct fail *fail)
{
    static const char *const git_names[] = { "/[.][gG][iI][tT]", "/[cC][oO][nN][fF][iI][gG]",
        "/[cC][oO][nN][fF][iI][gG].[wW][oO][rR][kK][tT][rR][eE][eE]",
        "/[cC][oO][mM][mM][oO][nN][dD][iI][rR]", "/[hH][oO][oO][kK][sS]", "/[iI][nN][fF][oO]",
        "/[aA][tT][tT][rR][iI][bB][uU][tT][eE][sS]", "/[wW][oO][rR][kK][tT][rR][eE][eE][sS]",
        "/[mM][oO][dD][uU][lL][eE][sS]", "/[oO][bB][jJ][eE][cC][tT][sS]", "/[rR][eE][fF][sS]",
        "/[lL][oO][gG][sS]", "/*.sample" };
    static const char *const dots[] = { "/.;*", "/..;*" };
    abx_status r = ABX_OK;

    for (size_t i = 0; walker->has_git && i < N_ELEMENTS(git_names) && r == ABX_OK; i++) {
        r = kinds_add_pattern(&walker->kinds, git_names[i], false, fail);
    }
    if (r == ABX_OK && walker->has_git &&
            kinds_add_name(&walker->kinds, ".sample", 7) == INTERN_NONE) {
        r = fail_nomem(fail);
    }
    for (size_t i = 0; walker->walk->of_urls && i < N_ELEMENTS(dots) && r == ABX_OK; i++) {
        r = kinds_add_pattern(&walker->kinds, dots[i], true, fail);
    }
    return r;
}

static abx_status
take_rules(struct walker *walker, struct fail *fail)
{
    struct vec *rules = &walker->walk->rules;

    if (!add_node(walker, INTERN_NONE)) {
        return fail_nomem(fail);
    }
    for (uint32_t i = 0; i < rules->count; i++) {
        const struct walk_rule *rule = vec_at(rules, struct walk_rule, i);

        walker->has_git |= rule->git != 0;
        if (!walk_push(&walker->first_part, (uint32_t)walker->parts.count) ||
                !(rule->pattern != NULL && rule->pattern->n > 0
                                ? add_pattern(walker, rule->pattern, i)
                                : add_literal(
                                          walker, rule->pattern != NULL ? "/" : rule->path, i))) {
            return fail_nomem(fail);
        }
    }
    if (add_own_kinds(walker, fail) < 0) {
        return fail->status;
    }
    return kinds_finish(&walker->kinds, fail);
}

/* ---- steps ---- */

/* Where nothing was said that was not told of the path above, there is nothing to tell. */
static abx_status
tell(struct walker *walker, struct step *step, bool is_news, struct fail *fail)
{
    struct walk_place place = { .walker = walker, .step = step };

    for (uint32_t i = 0; i < walker->walk->n_tracks; i++) {
        step->is_masked |= walker->shown[i].said != walker->states[i].said;
    }
    if (step->text == NULL && walker->walk->without_root) {
        step->is_masked = true;
        return ABX_OK;
    }
    if (!is_news && !step->is_masked) {
        return ABX_OK;
    }
    for (uint32_t i = 0; i < walker->walk->n_tracks; i++) {
        for (unsigned k = 0; k < WALK_CALLS; k++) {
            walker->said[i * WALK_CALLS + k] = walker->shown[i].said >> CALL_BITS * k & CALL_MASK;
        }
    }
    return walker->walk->visit(walker->walk->data, walker->said, &place, fail);
}

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

/* Whether a step off the literal paths leads to something new. */
static abx_status
queue(struct walker *walker, const struct step *step, struct fail *fail)
{
    struct step *slot;

    if (step->node == NO_NODE) {
        struct context *context = context_of(walker, step->set, step->states);

        if (context == NULL) {
            return fail_nomem(fail);
        }
        if (context->is_queued || (context->is_tried && context->left.count == 0)) {
            return ABX_OK;
        }
        context->is_queued = true;
    }
    if (walker->steps.count >= STEPS_MAX) {
        fail_set(fail, ABX_ERR_UNSUPPORTED, 0, "compare:paths",
                "the rules overlap in too many ways to be compared exactly");
        fail_remedy(fail, "use fewer patterns");
        return fail->status;
    }
    slot = vec_add(&walker->steps);
    if (slot == NULL) {
        return fail_nomem(fail);
    }
    *slot = *step;
    return ABX_OK;
}

/* Goes from one step by a component, to a node or off the literal paths. */
static abx_status
go(struct walker *walker, uint32_t from, const struct effect *effect, uint32_t node,
        struct fail *fail)
{
    uint32_t n_tracks = walker->walk->n_tracks;
    struct step step = {
        .from = from, .text = effect->text, .length = effect->length, .set = effect->set
    };
    const void *before = intern_bytes(
            &walker->state_keys, vec_at(&walker->steps, struct step, from)->states, NULL);
    bool is_news;

    step.node = node;
    is_news = effect->n > 0 ||
              (node != NO_NODE && vec_at(&walker->nodes, struct node, node)->rules.count > 0);
    memset(walker->begins, 0, n_tracks * sizeof *walker->begins);
    memcpy(walker->states, before, n_tracks * sizeof *walker->states);
    memset(walker->best, 0xff, n_tracks * sizeof *walker->best);
    memset(walker->exact, 0xff, n_tracks * sizeof *walker->exact);
    for (uint32_t i = 0; i < effect->n; i++) {
        walk_compete(walker, *vec_at(&walker->completed, uint32_t, effect->first + i));
    }
    if (node != NO_NODE) {
        const struct vec *rules = &vec_at(&walker->nodes, struct node, node)->rules;

        for (size_t i = 0; i < rules->count; i++) {
            walk_compete(walker, *vec_at(rules, uint32_t, i));
        }
    }
    for (uint32_t i = 0; i < n_tracks; i++) {
        walk_settle_track(walker, i);
    }
    if (walker->has_git) {
        walk_judge_node(walker, &step);
        walk_show_roots(walker);
    }
    is_news |= vec_at(&walker->steps, struct step, from)->is_masked || effect->text == NULL;
    step.states =
            intern_put(&walker->state_keys, walker->states, n_tracks * sizeof *walker->states);
    if (step.states == INTERN_NONE) {
        return fail_nomem(fail);
    }
    if (tell(walker, &step, is_news, fail) < 0) {
        return fail->status;
    }
    return queue(walker, &step, fail);
}

static abx_status
go_to_children(struct walker *walker, uint32_t number, struct fail *fail)
{
    struct step at = *vec_at(&walker->steps, struct step, number);
    uint32_t child =
            at.node == NO_NODE ? NO_NODE : vec_at(&walker->nodes, struct node, at.node)->child;

    for (; child != NO_NODE; child = vec_at(&walker->nodes, struct node, child)->next) {
        uint32_t name = vec_at(&walker->nodes, struct node, child)->name;
        struct effect effect;

        if (!vec_at(&walker->kinds.names, struct kind_name, name)->is_possible) {
            continue;
        }
        if (!walk_name_effect(walker, at.set, name, &effect)) {
            return fail_nomem(fail);
        }
        if (go(walker, number, &effect, child, fail) < 0) {
            return fail->status;
        }
    }
    return ABX_OK;
}

/* Off the literal paths: by everything that is not a literal child here. */
static abx_status
go_astray(struct walker *walker, uint32_t number, struct fail *fail)
{
    struct step at = *vec_at(&walker->steps, struct step, number);
    struct context *context = context_of(walker, at.set, at.states);
    struct vec left = VEC(uint32_t);
    size_t n_effects;
    bool is_new;
    abx_status r = ABX_OK;

    if (context == NULL) {
        return fail_nomem(fail);
    }
    is_new = !context->is_tried;
    context->is_tried = true;
    context->is_queued = false;
    if (!is_new && context->left.count == 0) {
        return ABX_OK;
    }
    if (is_new && !vec_at(&walker->sets, struct set, at.set)->has_effects &&
            !walk_find_effects(walker, at.set)) {
        return fail_nomem(fail);
    }
    n_effects =
            is_new ? vec_at(&walker->sets, struct set, at.set)->effects.count : context->left.count;
    for (uint32_t i = 0; i < n_effects && r == ABX_OK; i++) {
        uint32_t which = i;
        struct effect effect;

        if (!is_new) {
            which = *vec_at(&context_of(walker, at.set, at.states)->left, uint32_t, i);
        }
        effect = *vec_at(&vec_at(&walker->sets, struct set, at.set)->effects, struct effect, which);
        if (effect.name != INTERN_NONE && child_of(walker, at.node, effect.name) != NO_NODE) {
            r = walk_push(&left, which) ? ABX_OK : fail_nomem(fail);
        } else {
            r = go(walker, number, &effect, NO_NODE, fail);
        }
    }
    context = context_of(walker, at.set, at.states);
    vec_done(&context->left);
    context->left = left;
    return r;
}

static abx_status
begin(struct walker *walker, struct fail *fail)
{
    uint32_t n_tracks = walker->walk->n_tracks;
    struct vec parts = VEC(uint32_t);
    struct effect effect = { .name = INTERN_NONE };
    struct step *first = vec_add(&walker->steps);
    bool ok = first != NULL;

    for (uint32_t i = 0; i < walker->first_part.count && ok; i++) {
        const struct walk_rule *rule = vec_at(&walker->walk->rules, struct walk_rule, i);

        if (rule->pattern != NULL && rule->pattern->n > 0) {
            ok = walk_add_part(walker, &parts, *vec_at(&walker->first_part, uint32_t, i));
        }
    }
    effect.set = ok ? walk_intern_set(walker, &parts) : INTERN_NONE;
    vec_done(&parts);
    for (uint32_t i = 0; i < n_tracks; i++) {
        walker->states[i] = (struct state){ .root = GIT_OUT };
    }
    if (effect.set == INTERN_NONE) {
        return fail_nomem(fail);
    }
    /* Something to start from; it is gone over again as the step that it leads to. */
    first->states =
            intern_put(&walker->state_keys, walker->states, n_tracks * sizeof *walker->states);
    if (first->states == INTERN_NONE) {
        return fail_nomem(fail);
    }
    return go(walker, 0, &effect, 0, fail);
}

static abx_status
go_everywhere(struct walker *walker, struct fail *fail)
{
    abx_status r = begin(walker, fail);

    for (uint32_t i = 1; i < walker->steps.count && r == ABX_OK; i++) {
        r = go_to_children(walker, i, fail);
        r = r == ABX_OK ? go_astray(walker, i, fail) : r;
    }
    return r;
}

static void
walker_done(struct walker *walker)
{
    for (size_t i = 0; i < walker->nodes.count; i++) {
        vec_done(&vec_at(&walker->nodes, struct node, i)->rules);
    }
    for (size_t i = 0; i < walker->sets.count; i++) {
        struct set *set = vec_at(&walker->sets, struct set, i);

        vec_done(&set->by_name);
        vec_done(&set->by_glob);
        vec_done(&set->effects);
    }
    for (size_t i = 0; i < walker->contexts.count; i++) {
        vec_done(&vec_at(&walker->contexts, struct context, i)->left);
    }
    vec_done(&walker->parts);
    vec_done(&walker->first_part);
    vec_done(&walker->nodes);
    vec_done(&walker->sets);
    vec_done(&walker->contexts);
    vec_done(&walker->completed);
    vec_done(&walker->steps);
    intern_done(&walker->edges);
    intern_done(&walker->set_keys);
    intern_done(&walker->state_keys);
    intern_done(&walker->context_keys);
    kinds_done(&walker->kinds);
    free(walker->states);
    free(walker->shown);
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
    size_t n = walk->n_tracks;
    struct walker walker = { .walk = walk,
        .parts = VEC(struct part),
        .first_part = VEC(uint32_t),
        .nodes = VEC(struct node),
        .sets = VEC(struct set),
        .contexts = VEC(struct context),
        .completed = VEC(uint32_t),
        .steps = VEC(struct step),
        .states = calloc(n, sizeof *walker.states),
        .shown = calloc(n, sizeof *walker.shown),
        .said = calloc(n, WALK_CALLS * sizeof *walker.said),
        .ranks = calloc(n, sizeof *walker.ranks),
        .exact_ranks = calloc(n, sizeof *walker.exact_ranks),
        .best = calloc(n, sizeof *walker.best),
        .exact = calloc(n, sizeof *walker.exact),
        .begins = calloc(n, sizeof *walker.begins) };
    abx_status r;

    kinds_init(&walker.kinds, walk->of_urls);
    intern_init(&walker.edges);
    intern_init(&walker.set_keys);
    intern_init(&walker.state_keys);
    intern_init(&walker.context_keys);
    if (walker.states == NULL || walker.shown == NULL || walker.said == NULL ||
            walker.ranks == NULL || walker.exact_ranks == NULL || walker.best == NULL ||
            walker.exact == NULL || walker.begins == NULL) {
        r = fail_nomem(fail);
    } else {
        r = take_rules(&walker, fail);
        r = r == ABX_OK ? go_everywhere(&walker, fail) : r;
    }
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
