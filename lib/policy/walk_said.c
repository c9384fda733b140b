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
void
walk_judge_node(struct walker *walker, const struct step *step)
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
void
walk_compete(struct walker *walker, uint32_t number)
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

void
walk_settle_track(struct walker *walker, uint32_t track)
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

void
walk_show_roots(struct walker *walker)
{
    const uint32_t deny = walk_said(ABX_VERDICT_DENY, false);

    for (uint32_t i = 0; i < walker->walk->n_tracks; i++) {
        say(&walker->shown[i].said, walker->states[i].root_refuses, deny);
        if (walker->begins[i] != 0) {
            say(&walker->shown[i].said, refused_calls(GIT_DIRECTORY), deny);
        }
    }
}
