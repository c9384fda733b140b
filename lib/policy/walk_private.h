/* SPDX-License-Identifier: Apache-2.0
 * Inside the walk only: its state (walk.c), what it goes over (walk_rules.c), the parts that paths
 * wait for (walk_sets.c), and what is said about them (walk_said.c). */
#ifndef ABX_POLICY_WALK_PRIVATE_H
#define ABX_POLICY_WALK_PRIVATE_H

#include "base/mem.h"
#include "policy/index.h"
#include "policy/walk.h"

#define NO_NODE UINT32_MAX
#define CALL_BITS 3u
#define CALL_MASK 7u
#define EACH_CALL 0x1249u /* one for each */

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

/* A node, and how much of a path leads to it. */
struct landmark {
    size_t length;
    uint32_t node;
};

/* A component, and what it does to a set. */
struct effect {
    const char *text;
    uint32_t length;
    uint32_t name; /* INTERN_NONE: it is an example of a kind */
    uint32_t kind;
    uint32_t set;
    uint32_t first, n; /* rules that it completes, in `completed` */
};

/* What the rules that a component completes say, of one track; 0: nothing. */
struct outcome {
    uint8_t below; /* of the path and all below */
    uint8_t itself; /* of the path alone, if that is another thing */
};

/* Effects on one set that lead to the same, whatever was said before. */
struct group {
    uint32_t set;
    uint32_t outcome, judged; /* in `outcomes`, `judgements` */
    uint32_t origin; /* the group that has the effects: itself, or one of the base */
    uint32_t kind; /* of the base's the set's globs take these as they take this kind */
    struct vec effects; /* uint32_t */
    struct vec waiting; /* uint32_t: effects that no step was made by yet; none of them won */
};

/* What git makes of a name in each place. */
struct judgement {
    uint8_t next[GIT_OUT], file[GIT_OUT];
    bool inherits[GIT_OUT];
    bool is_git;
};

/* An effect of a base's group. */
struct kind_effect {
    uint32_t kind, group, effect;
};

/* The parts that a path waits for are those that stay whatever comes, which are a set of their own,
 * the base, and some that the next component takes or drops. */
struct set {
    uint32_t base; /* itself: it has none that go */
    const uint32_t *parts; /* sorted; but for a base only those that go */
    uint32_t n;
    struct vec by_name, by_glob; /* struct wait: of `parts` */
    bool has_groups;
    struct vec groups; /* uint32_t; but for a base only where it differs from what its base does */
    struct vec by_kind; /* struct kind_effect, sorted: of a base on which such a set stands */
};

struct wait {
    uint32_t matter, part;
};

/* What was said last in a track. */
struct state {
    uint16_t said; /* CALL_BITS for each call */
    uint8_t root_refuses; /* calls that the deepest git root refuses here and below */
    uint8_t root, trees; /* enum git_place of the root's judge; those of other git directories */
    uint8_t has_tree;
};

struct step {
    uint32_t from; /* in `steps`; 0 from itself: the beginning */
    const char *text;
    uint32_t length;
    uint32_t node, set, states;
    bool is_masked; /* its own path comes to something else than what lies below */
};

/* The groups of a set and what was said. */
struct context {
    bool is_tried, is_queued;
    bool is_done; /* tried off the literal paths, so that nothing more can be */
    struct vec left; /* uint32_t: groups that are not tried yet */
};

/* A difference that a group makes: the effects that it was not yet told with. */
struct telling {
    struct vec untold; /* uint32_t */
};

struct walker {
    struct walk *walk;
    struct kinds kinds;
    struct vec parts; /* struct part */
    struct vec first_part; /* uint32_t, by rule */
    struct vec nodes; /* struct node */
    const char *last_path; /* the literal one that was added last, or NULL */
    struct vec way; /* struct landmark: on it */
    struct intern edges; /* node and name; the number of the child, less one */
    struct intern set_keys, group_keys, outcomes, judgements, state_keys, context_keys;
    struct intern shown_keys, telling_keys;
    struct vec sets, effects, groups, contexts, tellings;
    struct vec differences; /* uint32_t, by what is shown */
    struct vec completed; /* uint32_t */
    struct vec steps;
    bool *only_denies; /* by track: its patterns do nothing else */
    struct state *states; /* of the step that is made */
    uint16_t *shown; /* what its path itself comes to */
    struct outcome *outcome;
    uint32_t *said;
    uint64_t *ranks, *exact_ranks;
    uint32_t *best, *exact;
    bool *begins; /* whether a rule names a git directory at this very place */
    uint8_t refused[GIT_COPY + 1]; /* calls */
    bool has_git;
};

/* Whether every call is denied. */
static inline bool
walk_denies_all(uint32_t said)
{
    return (said & ~(WALK_IMPLIED * EACH_CALL)) == walk_said(ABX_VERDICT_DENY, false) * EACH_CALL;
}

static inline bool
walk_push(struct vec *vec, uint32_t number)
{
    uint32_t *slot = vec_add(vec);

    if (slot != NULL) {
        *slot = number;
    }
    return slot != NULL;
}

/* walk_rules.c */
/* Makes the tree, the parts and the kinds of the walk's rules. */
abx_status walk_take_rules(struct walker *walker, struct fail *fail);
/* The node of a literal path that goes on by this name; NO_NODE: none does. */
uint32_t walk_child_of(const struct walker *walker, uint32_t node, uint32_t name);

/* walk_sets.c: a set is known by its number; false or INTERN_NONE: no memory, or no work left. */
bool walk_add_part(const struct walker *walker, struct vec *parts, uint32_t number);
/* The set of the base's parts (INTERN_NONE: it has none) and these, which are sorted on the way. */
uint32_t walk_intern_set(struct walker *walker, uint32_t base, struct vec *parts);
/* What each component does to a set, once. */
bool walk_find_groups(struct walker *walker, uint32_t number);
bool walk_name_effect(
        struct walker *walker, uint32_t set, uint32_t number, struct effect *ret_effect);
/* Whether the set makes something else of a component than its base does. */
bool walk_set_changes(
        const struct walker *walker, const struct set *set, const struct effect *effect);
/* Whether an effect of the group's origin is one of the group, which is the set's. */
bool walk_group_has(const struct walker *walker, const struct set *set, const struct group *group,
        const struct effect *effect);

/* walk_said.c */
/* What rules that match all of the path so far come to, of which the `n` at `completed` are some
 * and a node's the others. */
void walk_compete(struct walker *walker, const struct effect *effect, uint32_t node, bool wins);
/* Of the step that is made: what rules say, and where git directories are. */
void walk_say(struct walker *walker, const void *before, const struct outcome *outcome);
void walk_judge(struct walker *walker, const struct step *step, const struct judgement *judgement);
void walk_make_judgement(const char *text, size_t length, struct judgement *ret_judgement);
/* Which calls each kind of file of git refuses, once. */
void walk_find_refusals(struct walker *walker);

#endif
