/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/policy: every way in which some rules about paths can decide, each with a path. */
#ifndef ABX_POLICY_WALK_H
#define ABX_POLICY_WALK_H

#include "policy/gitdir.h"
#include "policy/kinds.h"
#include "policy/rules.h"
#include "policy/work.h"

/* A decision about writing may depend on the call; these stand for all calls. */
#define WALK_CALLS 5u
extern const char *const walk_calls[WALK_CALLS];

/* What a competition has come to, for one call: 0 is that no rule matched. */
enum { WALK_NOTHING = 0, WALK_IMPLIED = 4 };
static inline uint32_t
walk_said(abx_verdict verdict, bool implied)
{
    return verdict + 1 + (implied ? WALK_IMPLIED : 0);
}

struct walk_rule {
    uint32_t track; /* rules of one track compete with each other */
    const struct path_pattern *pattern; /* NULL: `path` is a literal one */
    const char *path;
    uint64_t rank; /* among those that match equally much; of equal ones the first decides */
    uint32_t said; /* walk_said */
    bool is_exact; /* says nothing about what lies below */
    uint32_t git; /* RULE_GIT_ROOT or RULE_GIT_TREE of this track, and no other rule; or 0 */
    bool *won; /* set once it decides something; or NULL */
};

struct walk_place; /* where a visit stands */

struct walk {
    bool of_urls;
    bool without_root; /* "/" is none of the paths */
    uint32_t n_tracks;
    struct vec rules; /* struct walk_rule */
    struct work *work;
    void *data;
    /* What to visit of something that the rules can come to, a bit for each thing that is told
     * apart: `said` has WALK_CALLS entries for each track. */
    uint32_t (*find_differences)(void *data, const uint32_t *said);
    /* One bit of that.  Each that some path leads to is visited, with each component that leads
     * there by rules of its own. */
    abx_status (*visit)(void *data, const uint32_t *said, uint32_t difference,
            const struct walk_place *place, struct fail *fail);
};

/* ABX_ERR_UNSUPPORTED: there are more ways than there is work for. */
abx_status walk_all(struct walk *walk, struct fail *fail);
/* The path of a visit, "/a/b"; caller frees.  NULL: no memory. */
char *walk_path(const struct walk_place *place);

#endif
