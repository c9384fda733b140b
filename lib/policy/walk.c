/* SPDX-License-Identifier: Apache-2.0
 * Owns the walk over all paths at once.  Which rule decides is told by the last component at which
 * any matched, since it matched the most; so a path comes down to three things: where it stands
 * among the literal paths (a tree), which parts of patterns it waits for (a set), and what was said
 * last in each track.  From each such state one component of each kind is tried.  Where no literal
 * path goes on, set and said are all there is, so each such pair is tried once; only names that
 * were literal children of the place it was tried from are left for another.  Pure, one thread. */
#include "policy/walk.h"

#include "base/mem.h"
#include "base/str.h"
#include "policy/index.h"

#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 4000000u
#define NO_NODE UINT32_MAX
#define CALL_BITS 3u
#define CALL_MASK 7u
#define ALL_CALLS ((1u << WALK_CALLS) - 1)

const char *const walk_calls[WALK_CALLS] = { NULL, "open", "unlink", "mkdir", "chmod" };

/* A part that a set waits for; the number is in the rule's row of them. */
struct part {
    uint32_t rule;
    const struct path_part *part;
    uint32_t matter; /* name or glob */
    bool is_last;
};

struct node {
    uint32_t name;
    uint32_t child, next; /* NO_NODE: none */
    struct vec rules; /* uint32_t */
};

/* A component, and what it does to a set. */
struct effect {
    const char *text;
    uint32_t length;
    uint32_t name; /* INTERN_NONE: it is an example of a kind */
    uint32_t set;
    uint32_t first, n; /* rules that it completes, in `completed` */
};

struct set {
    const uint32_t *parts; /* sorted */
    uint32_t n;
    uint32_t stay; /* the set of those that stay whatever comes */
    bool has_effects;
    struct vec by_name, by_glob; /* struct wait */
    struct vec effects; /* struct effect */
};

struct wait {
    uint32_t matter, part;
};

/* What was said last in a track. */
struct state {
    uint32_t said; /* CALL_BITS for each call */
    uint32_t root_refuses; /* calls that the deepest git root refuses here and below */
    uint32_t root, trees; /* enum git_place of the root's judge; those of other git directories */
    uint32_t has_tree;
};

struct step {
    uint32_t from; /* in `steps`; 0 from itself: the beginning */
    const char *text;
    uint32_t length;
    uint32_t node, set, states;
    bool is_masked; /* its own path comes to something else than what lies below */
};

/* A set and what was said, off the literal paths. */
struct context {
    bool is_tried, is_queued;
    struct vec left; /* uint32_t: effects that are not tried yet */
};

struct walker {
    struct walk *walk;
    struct kinds kinds;
    struct vec parts; /* struct part */
    struct vec first_part; /* uint32_t, by rule */
    struct vec nodes; /* struct node */
    struct intern edges; /* node and name; the number of the child, less one */
    struct intern set_keys, state_keys, context_keys;
    struct vec sets, contexts;
    struct vec completed; /* uint32_t */
    struct vec steps;
    struct state *states, *shown; /* of the step that is made; what its path itself comes to */
    uint32_t *said;
    uint64_t *ranks, *exact_ranks;
    uint32_t *best, *exact;
    uint32_t *begins; /* whether a rule names a git directory at this very place */
    bool has_git;
};

struct walk_place {
    const struct walker *walker;
    const struct step *step;
};

/* ---- getting ready ---- */

static bool
push(struct vec *vec, uint32_t number)
{
    uint32_t *slot = vec_add(vec);

    if (slot != NULL) {
        *slot = number;
    }
    return slot != NULL;
}

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
    return push(&vec_at(&walker->nodes, struct node, at)->rules, rule);
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
        if (!push(&walker->first_part, (uint32_t)walker->parts.count) ||
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

/* ---- sets ---- */

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
static bool
add_part(const struct walker *walker, struct vec *parts, uint32_t number)
{
    return push(parts, number) &&
           (part_at(walker, number)->part->kind != PART_DOUBLE || push(parts, number + 1));
}

static uint32_t intern_set(struct walker *walker, struct vec *parts);

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
            ok = add_part(walker, &stay, set->parts[i]);
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
    stays = ok ? intern_set(walker, &stay) : INTERN_NONE; /* moves `sets` */
    vec_at(&walker->sets, struct set, number)->stay = stays;
    vec_done(&stay);
    return stays != INTERN_NONE;
}

/* The number of the set of these parts, which are sorted on the way. */
static uint32_t
intern_set(struct walker *walker, struct vec *parts)
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

    return part->is_last ? push(completed, part->rule) : add_part(walker, parts, number + 1);
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
            ok = push(&parts, stay->parts[i]);
        }
        next = ok ? intern_set(walker, &parts) : INTERN_NONE;
    }
    vec_done(&parts);
    ret_effect->name = name;
    ret_effect->set = next;
    ret_effect->first = (uint32_t)n_completed;
    ret_effect->n = (uint32_t)(walker->completed.count - n_completed);
    return ok && next != INTERN_NONE;
}

static bool
name_effect(struct walker *walker, uint32_t set, uint32_t number, struct effect *ret_effect)
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
static bool
find_effects(struct walker *walker, uint32_t number)
{
    uint32_t last = INTERN_NONE;
    struct effect effect;
    bool ok = true;

    vec_at(&walker->sets, struct set, number)->has_effects = true;
    for (size_t i = 0; ok && i < vec_at(&walker->sets, struct set, number)->by_name.count; i++) {
        uint32_t name =
                vec_at(&vec_at(&walker->sets, struct set, number)->by_name, struct wait, i)->matter;

        if (name != last && vec_at(&walker->kinds.names, struct kind_name, name)->is_possible) {
            ok = name_effect(walker, number, name, &effect) && add_effect(walker, number, &effect);
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
            ok = name_effect(walker, number, *vec_at(&kind->only, uint32_t, k), &effect) &&
                 add_effect(walker, number, &effect);
        }
    }
    return ok;
}

/* ---- what is said ---- */

static uint32_t
refused_calls(enum git_file file)
{
    uint32_t refused = 0;

    for (unsigned i = 0; i < WALK_CALLS; i++) {
        refused |= git_file_refuses(file, walk_calls[i]) ? 1u << i : 0;
    }
    return refused;
}

static void
say(uint32_t *said, uint32_t calls, uint32_t what)
{
    for (unsigned i = 0; i < WALK_CALLS; i++) {
        if ((calls >> i & 1) != 0) {
            *said = (*said & ~(CALL_MASK << CALL_BITS * i)) | what << CALL_BITS * i;
        }
    }
}

/* The judges of git directories above take one more name; each git directory that begins here gets
 * one.  Of those that a rule names only the deepest is asked. */
static void
judge_git(struct walker *walker, const struct step *step)
{
    const uint32_t deny = walk_said(ABX_VERDICT_DENY, false);

    for (uint32_t i = 0; i < walker->walk->n_tracks; i++) {
        struct state *state = &walker->states[i];
        uint32_t trees = state->trees;
        enum git_file file;
        bool inherits;

        state->trees = 0;
        for (enum git_place place = GIT_INSIDE; place < GIT_OUT; place++) {
            if ((trees >> place & 1) != 0) {
                uint32_t next = git_place_enter(place, step->text, step->length, &file, &inherits);

                state->trees |= 1u << next;
                say(&walker->shown[i].said, refused_calls(file), deny);
                say(&state->said, inherits ? refused_calls(file) : 0, deny);
            }
        }
        state->trees &= ~(1u << GIT_OUT);
        if (walker->begins[i] == 0 && state->root != GIT_OUT) {
            state->root = git_place_enter(state->root, step->text, step->length, &file, &inherits);
            state->root_refuses |= inherits ? refused_calls(file) : 0;
            say(&walker->shown[i].said, refused_calls(file), deny);
        }
        if (state->has_tree && git_is_name(step->text, step->length)) {
            state->trees |= 1u << GIT_INSIDE;
            say(&walker->shown[i].said, refused_calls(GIT_DIRECTORY), deny);
        }
    }
}

/* Rules about git directories that stand at a node. */
static void
judge_node(struct walker *walker, const struct step *step)
{
    const struct vec *rules =
            step->node == NO_NODE ? NULL : &vec_at(&walker->nodes, struct node, step->node)->rules;

    for (size_t i = 0; rules != NULL && i < rules->count; i++) {
        const struct walk_rule *rule =
                vec_at(&walker->walk->rules, struct walk_rule, *vec_at(rules, uint32_t, i));

        walker->begins[rule->track] |= rule->git == RULE_GIT_ROOT;
    }
    if (step->text != NULL) {
        judge_git(walker, step);
    }
    for (size_t i = 0; rules != NULL && i < rules->count; i++) {
        const struct walk_rule *rule =
                vec_at(&walker->walk->rules, struct walk_rule, *vec_at(rules, uint32_t, i));
        struct state *state = &walker->states[rule->track];

        if (rule->git == RULE_GIT_TREE) {
            state->has_tree = 1;
        } else if (rule->git == RULE_GIT_ROOT) {
            state->root = GIT_INSIDE;
            state->root_refuses = 0;
        }
    }
}

/* Rules that match all of the path so far. */
static void
compete(struct walker *walker, uint32_t number)
{
    const struct walk_rule *rule = vec_at(&walker->walk->rules, struct walk_rule, number);
    uint64_t *ranks = rule->is_exact ? walker->exact_ranks : walker->ranks;
    uint32_t *best = rule->is_exact ? walker->exact : walker->best;
    uint32_t track = rule->track;

    if (rule->git == 0 && (best[track] == INTERN_NONE || rule->rank > ranks[track] ||
                                  (rule->rank == ranks[track] && number < best[track]))) {
        best[track] = number;
        ranks[track] = rule->rank;
    }
}

static void
win(struct walker *walker, uint32_t *said, uint32_t number)
{
    const struct walk_rule *rule = vec_at(&walker->walk->rules, struct walk_rule, number);

    say(said, ALL_CALLS, rule->said);
    if (rule->won != NULL) {
        *rule->won = true;
    }
}

static void
settle_track(struct walker *walker, uint32_t track)
{
    struct state *state = &walker->states[track];
    uint32_t best = walker->best[track], exact = walker->exact[track];

    if (best != INTERN_NONE) {
        win(walker, &state->said, best);
        state->root_refuses = 0;
    }
    walker->shown[track].said = state->said;
    if (exact != INTERN_NONE &&
            (best == INTERN_NONE || walker->exact_ranks[track] > walker->ranks[track] ||
                    (walker->exact_ranks[track] == walker->ranks[track] && exact < best))) {
        win(walker, &walker->shown[track].said, exact);
    }
}

static void
show_roots(struct walker *walker)
{
    const uint32_t deny = walk_said(ABX_VERDICT_DENY, false);

    for (uint32_t i = 0; i < walker->walk->n_tracks; i++) {
        say(&walker->shown[i].said, walker->states[i].root_refuses, deny);
        if (walker->begins[i] != 0) {
            say(&walker->shown[i].said, refused_calls(GIT_DIRECTORY), deny);
        }
    }
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
        compete(walker, *vec_at(&walker->completed, uint32_t, effect->first + i));
    }
    if (node != NO_NODE) {
        const struct vec *rules = &vec_at(&walker->nodes, struct node, node)->rules;

        for (size_t i = 0; i < rules->count; i++) {
            compete(walker, *vec_at(rules, uint32_t, i));
        }
    }
    for (uint32_t i = 0; i < n_tracks; i++) {
        settle_track(walker, i);
    }
    if (walker->has_git) {
        judge_node(walker, &step);
        show_roots(walker);
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
        if (!name_effect(walker, at.set, name, &effect)) {
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
            !find_effects(walker, at.set)) {
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
            r = push(&left, which) ? ABX_OK : fail_nomem(fail);
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
            ok = add_part(walker, &parts, *vec_at(&walker->first_part, uint32_t, i));
        }
    }
    effect.set = ok ? intern_set(walker, &parts) : INTERN_NONE;
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
