/* SPDX-License-Identifier: Apache-2.0
 * Owns what a walk goes over: the rules' literal paths as a tree, the parts of their patterns, and
 * the kinds of components that both tell apart. */
#include "policy/walk_private.h"

#include <string.h>

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

uint32_t
walk_child_of(const struct walker *walker, uint32_t node, uint32_t name)
{
    uint32_t edge[2] = { node, name };
    uint32_t number =
            node == NO_NODE ? INTERN_NONE : intern_find(&walker->edges, edge, sizeof edge);

    return number == INTERN_NONE ? NO_NODE : number + 1;
}

/* The deepest node on the way to the last path that is on this one, too; *ret_length: how much of
 * the path leads there. */
static uint32_t
begin_way(struct walker *walker, const char *path, size_t *ret_length)
{
    const char *last = walker->last_path == NULL ? "" : walker->last_path;
    size_t common = 0, n = 0;
    uint32_t at = 0;

    while (path[common] != '\0' && path[common] == last[common]) {
        common++;
    }
    *ret_length = 0;
    for (; n < walker->way.count; n++) {
        const struct landmark *landmark = vec_at(&walker->way, struct landmark, n);

        if (landmark->length > common || strchr("/", path[landmark->length]) == NULL) {
            break;
        }
        at = landmark->node;
        *ret_length = landmark->length;
    }
    walker->way.count = n;
    walker->last_path = path;
    return at;
}

static bool
add_child(struct walker *walker, uint32_t parent, uint32_t name)
{
    uint32_t child = (uint32_t)walker->nodes.count;
    struct node *node;

    if (!add_node(walker, name)) {
        return false;
    }
    node = vec_at(&walker->nodes, struct node, parent);
    vec_at(&walker->nodes, struct node, child)->next = node->child;
    node->child = child;
    return true;
}

static bool
add_literal(struct walker *walker, const char *path, uint32_t rule)
{
    size_t length;
    uint32_t at = begin_way(walker, path, &length);

    while (path[length] != '\0' && path[length + 1] != '\0') {
        const char *name = path + length + 1, *end = strchrnul(name, '/');
        uint32_t edge[2] = { at, kinds_add_name(&walker->kinds, name, (size_t)(end - name)) };
        uint32_t child = edge[1] == INTERN_NONE ? INTERN_NONE
                                                : intern_put(&walker->edges, edge, sizeof edge);
        struct landmark *landmark = child == INTERN_NONE ? NULL : vec_add(&walker->way);

        if (landmark == NULL ||
                (child + 1 == walker->nodes.count && !add_child(walker, at, edge[1]))) {
            return false;
        }
        at = child + 1;
        length = (size_t)(end - path);
        *landmark = (struct landmark){ .length = length, .node = at };
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

abx_status
walk_take_rules(struct walker *walker, struct fail *fail)
{
    struct vec *rules = &walker->walk->rules;

    if (!add_node(walker, INTERN_NONE)) {
        return fail_nomem(fail);
    }
    memset(walker->only_denies, true, walker->walk->n_tracks);
    for (uint32_t i = 0; i < rules->count; i++) {
        const struct walk_rule *rule = vec_at(rules, struct walk_rule, i);

        walker->has_git |= rule->git != 0;
        walker->only_denies[rule->track] &= rule->pattern == NULL || rule->pattern->n == 0 ||
                                            walk_denies_all(rule->said * EACH_CALL);
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
    return kinds_finish(&walker->kinds, walker->walk->work, fail);
}
