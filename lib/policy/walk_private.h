/* SPDX-License-Identifier: Apache-2.0
 * Inside the walk only: its state (walk.c), the parts that paths wait for (walk_sets.c), and what
 * is said about them (walk_said.c). */
#ifndef ABX_POLICY_WALK_PRIVATE_H
#define ABX_POLICY_WALK_PRIVATE_H

#include "base/mem.h"
#include "policy/index.h"
#include "policy/walk.h"

#define NO_NODE UINT32_MAX
#define CALL_BITS 3u
#define CALL_MASK 7u
#define ALL_CALLS ((1u << WALK_CALLS) - 1)

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

static inline bool
walk_push(struct vec *vec, uint32_t number)
{
    uint32_t *slot = vec_add(vec);

    if (slot != NULL) {
        *slot = number;
    }
    return slot != NULL;
}

/* walk_sets.c: a set is known by its number; false or INTERN_NONE: no memory. */
bool walk_add_part(const struct walker *walker, struct vec *parts, uint32_t number);
uint32_t walk_intern_set(struct walker *walker, struct vec *parts);
/* What each kind of component does to a set, once. */
bool walk_find_effects(struct walker *walker, uint32_t number);
bool walk_name_effect(
        struct walker *walker, uint32_t set, uint32_t number, struct effect *ret_effect);

/* walk_said.c: of the step that is made. */
/* A rule that matches all of the path so far. */
void walk_compete(struct walker *walker, uint32_t number);
/* Rules about git directories that stand at a node. */
void walk_judge_node(struct walker *walker, const struct step *step);
void walk_settle_track(struct walker *walker, uint32_t track);
void walk_show_roots(struct walker *walker);

#endif
