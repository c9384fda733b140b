/* SPDX-License-Identifier: Apache-2.0
 * What rules and git say about a step of the walk, call by call. */
#include "policy/walk_private.h"

#include <string.h>

static uint32_t
refused_calls(enum git_file file)
{
    uint32_t refused = 0;

    for (unsigned i = 0; i < WALK_CALLS; i++) {
        refused |= git_file_refuses(file, walk_calls[i]) ? 1u << i : 0;
    }
    return refused;
}

void
walk_find_refusals(struct walker *walker)
{
    for (enum git_file file = GIT_FREE; file <= GIT_COPY; file++) {
        walker->refused[file] = (uint8_t)refused_calls(file);
    }
}

static void
refuse(uint16_t *said, uint32_t calls)
{
    for (unsigned i = 0; i < WALK_CALLS && calls != 0; i++) {
        if ((calls >> i & 1) != 0) {
            *said = (uint16_t)((*said & ~(CALL_MASK << CALL_BITS * i)) |
                               walk_said(ABX_VERDICT_DENY, false) << CALL_BITS * i);
        }
    }
}

/* ---- rules ---- */

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

static uint8_t
outcome_of(struct walker *walker, uint32_t number, bool wins)
{
    const struct walk_rule *rule = vec_at(&walker->walk->rules, struct walk_rule, number);

    if (wins && rule->won != NULL) {
        *rule->won = true;
    }
    return (uint8_t)rule->said;
}

void
walk_compete(struct walker *walker, const struct effect *effect, uint32_t node, bool wins)
{
    uint32_t n_tracks = walker->walk->n_tracks;
    const struct vec *rules =
            node == NO_NODE ? NULL : &vec_at(&walker->nodes, struct node, node)->rules;

    memset(walker->outcome, 0, n_tracks * sizeof *walker->outcome);
    if (effect->n == 0 && (rules == NULL || rules->count == 0)) {
        return;
    }
    memset(walker->best, 0xff, n_tracks * sizeof *walker->best);
    memset(walker->exact, 0xff, n_tracks * sizeof *walker->exact);
    for (uint32_t i = 0; i < effect->n; i++) {
        compete(walker, *vec_at(&walker->completed, uint32_t, effect->first + i));
    }
    for (size_t i = 0; rules != NULL && i < rules->count; i++) {
        compete(walker, *vec_at(rules, uint32_t, i));
    }
    for (uint32_t i = 0; i < n_tracks; i++) {
        uint32_t best = walker->best[i], exact = walker->exact[i];

        if (best != INTERN_NONE) {
            walker->outcome[i].below = outcome_of(walker, best, wins);
        }
        if (exact != INTERN_NONE &&
                (best == INTERN_NONE || walker->exact_ranks[i] > walker->ranks[i] ||
                        (walker->exact_ranks[i] == walker->ranks[i] && exact < best))) {
            walker->outcome[i].itself = outcome_of(walker, exact, wins);
        }
    }
}

void
walk_say(struct walker *walker, const void *before, const struct outcome *outcome)
{
    memcpy(walker->states, before, walker->walk->n_tracks * sizeof *walker->states);
    for (uint32_t i = 0; i < walker->walk->n_tracks; i++) {
        struct state *state = &walker->states[i];

        if (outcome[i].below != 0) {
            state->said = (uint16_t)(outcome[i].below * EACH_CALL);
            state->root_refuses = 0;
        }
        walker->shown[i] =
                outcome[i].itself != 0 ? (uint16_t)(outcome[i].itself * EACH_CALL) : state->said;
    }
}

/* ---- git directories ---- */

void
walk_make_judgement(const char *text, size_t length, struct judgement *ret_judgement)
{
    memset(ret_judgement, 0, sizeof *ret_judgement);
    ret_judgement->is_git = git_is_name(text, length);
    for (enum git_place place = GIT_INSIDE; place < GIT_OUT; place++) {
        enum git_file file;
        bool inherits;

        ret_judgement->next[place] =
                (uint8_t)git_place_enter(place, text, length, &file, &inherits);
        ret_judgement->file[place] = (uint8_t)file;
        ret_judgement->inherits[place] = inherits;
    }
}

/* The judges of git directories above take one more name; each git directory that begins here gets
 * one.  Of those that a rule names only the deepest is asked. */
static void
judge_track(struct walker *walker, uint32_t track, const struct judgement *judgement)
{
    struct state *state = &walker->states[track];
    uint16_t *shown = &walker->shown[track];
    uint32_t trees = state->trees, next = 0;

    for (unsigned place = GIT_INSIDE; place < GIT_OUT && trees != 0; place++) {
        if ((trees >> place & 1) != 0) {
            uint32_t refused = walker->refused[judgement->file[place]];

            next |= 1u << judgement->next[place];
            refuse(shown, refused);
            refuse(&state->said, judgement->inherits[place] ? refused : 0);
        }
    }
    state->trees = (uint8_t)(next & ~(1u << GIT_OUT));
    if (!walker->begins[track] && state->root != GIT_OUT) {
        uint32_t refused = walker->refused[judgement->file[state->root]];

        state->root_refuses |= judgement->inherits[state->root] ? refused : 0;
        state->root = judgement->next[state->root];
        refuse(shown, refused);
    }
    if (state->has_tree && judgement->is_git) {
        state->trees |= 1u << GIT_INSIDE;
        refuse(shown, walker->refused[GIT_DIRECTORY]);
    }
}

/* Rules about git directories that stand at a node. */
static void
judge_node(struct walker *walker, const struct vec *rules)
{
    for (size_t i = 0; i < rules->count; i++) {
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

void
walk_judge(struct walker *walker, const struct step *step, const struct judgement *judgement)
{
    uint32_t n_tracks = walker->walk->n_tracks;
    const struct vec *rules =
            step->node == NO_NODE ? NULL : &vec_at(&walker->nodes, struct node, step->node)->rules;

    memset(walker->begins, 0, n_tracks * sizeof *walker->begins);
    for (size_t i = 0; rules != NULL && i < rules->count; i++) {
        const struct walk_rule *rule =
                vec_at(&walker->walk->rules, struct walk_rule, *vec_at(rules, uint32_t, i));

        walker->begins[rule->track] |= rule->git == RULE_GIT_ROOT;
    }
    for (uint32_t i = 0; i < n_tracks && step->text != NULL; i++) {
        judge_track(walker, i, judgement);
    }
    if (rules != NULL) {
        judge_node(walker, rules);
    }
    for (uint32_t i = 0; i < n_tracks; i++) {
        refuse(&walker->shown[i], walker->states[i].root_refuses);
        refuse(&walker->shown[i], walker->begins[i] ? walker->refused[GIT_DIRECTORY] : 0);
    }
}
