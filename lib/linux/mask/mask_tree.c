/* SPDX-License-Identifier: Apache-2.0
 * From a plan to the fixed nodes of the mask.  Owns nothing but the tree it makes, looks at no
 * file.
 *
 * The nearest place or private place above a path says how the path is seen.  A masked region
 * begins where a place that may not be read lies below one that may (its top), and has holes where
 * a place may be read again or is the box's own; the nodes are the tops, the holes and what is
 * between. */
#include "linux/mask/mask_tree.h"

#include "base/mem.h"
#include "base/str.h"
#include "linux/mask/mask.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *
mask_name(const char *path)
{
    return strrchr(path, '/') + 1;
}

static int
place_compare(const void *key, const void *element)
{
    return strcmp(key, ((const struct place *)element)->path);
}

static const struct place *
place_at(const struct plan *plan, const char *path)
{
    if (plan->places.count == 0) {
        return NULL;
    }
    return bsearch(
            path, plan->places.data, plan->places.count, sizeof(struct place), place_compare);
}

static bool
is_private_top(const struct plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->privates.count; i++) {
        if (strcmp(vec_at(&plan->privates, struct private_place, i)->path, path) == 0) {
            return true;
        }
    }
    return false;
}

/* Shortens a path to its parent; false at "/". */
static bool
to_parent(char *path)
{
    char *slash = strrchr(path, '/');

    if (path[1] == '\0') {
        return false;
    }
    slash[slash == path ? 1 : 0] = '\0';
    return true;
}

/* The place that says how `path` is seen, which becomes that place's path; NULL below a private
 * one. */
static const struct place *
governing(const struct plan *plan, char *path)
{
    do {
        const struct place *place = place_at(plan, path);

        if (is_private_top(plan, path)) {
            return NULL;
        }
        if (place != NULL) {
            return place;
        }
    } while (to_parent(path));
    return NULL;
}

/* The top of the masked region in which a place lies, or NULL if it is not masked. */
static const struct place *
region_top(const struct plan *plan, const struct place *place)
{
    char path[PATH_MAX + 1];
    const struct place *top = NULL;

    if (strlen(place->path) >= sizeof path || is_private_top(plan, place->path)) {
        return NULL;
    }
    memcpy(path, place->path, strlen(place->path) + 1);
    while (place != NULL && place->read != ABX_VERDICT_ALLOW) {
        top = place;
        if (!to_parent(path)) {
            return plan->root == ROOT_MASK ? top : NULL;
        }
        place = governing(plan, path);
    }
    return place == NULL ? NULL : top;
}

static bool
is_decoy(const struct plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->decoys.count; i++) {
        if (strcmp(*vec_at(&plan->decoys, char *, i), path) == 0) {
            return true;
        }
    }
    return false;
}

bool
mask_needed(const struct plan *plan)
{
    for (size_t i = 0; plan->mask && i < plan->places.count; i++) {
        const struct place *place = vec_at(&plan->places, struct place, i);

        if (region_top(plan, place) == place) {
            return true;
        }
    }
    return false;
}

bool
mask_entry(const struct plan *plan, size_t i, char name[MASK_ENTRY_ROOM])
{
    const struct place *place = vec_at(&plan->places, struct place, i);

    if (region_top(plan, place) != place) {
        return false;
    }
    snprintf(name, MASK_ENTRY_ROOM, "%zu", i);
    return true;
}

/* ---- making the tree ---- */

static enum mask_kind
kind_of(const struct place *place)
{
    if (place->read == ABX_VERDICT_ASK) {
        return MASK_ASK;
    }
    if (place->read == ABX_VERDICT_ALLOW) {
        return MASK_THROUGH;
    }
    return place->by_default ? MASK_DEFAULT : MASK_DENIED;
}

static bool
add_node(struct mask_tree *tree, const struct mask_node *node)
{
    char *copy = strdup(node->path);
    struct mask_node *added = copy == NULL ? NULL : vec_add(&tree->nodes);

    if (added == NULL) {
        free(copy);
        return false;
    }
    *added = *node;
    added->path = copy;
    return true;
}

/* A node for a directory between a hole and its top. */
static bool
add_way(const struct plan *plan, struct mask_tree *tree, char *path)
{
    AUTO(freep) char *at = strdup(path);
    const struct place *place = at == NULL ? NULL : governing(plan, at);

    return place != NULL && add_node(tree, &(struct mask_node){ .path = path,
                                                   .kind = kind_of(place),
                                                   .is_directory = true,
                                                   .has_nodes = true,
                                                   .host = "" });
}

/* A node for this path and for each directory from there up to the top of its region; nothing if
 * the path is not in one, or is denied like what is around it. */
static bool
add_hole(const struct plan *plan, struct mask_tree *tree, const struct mask_node *hole)
{
    AUTO(freep) char *way = strdup(hole->path);
    AUTO(freep) char *at = strdup(hole->path);
    const struct place *above, *top;

    if (way == NULL || at == NULL) {
        return false;
    }
    above = to_parent(at) ? governing(plan, at) : NULL;
    top = above == NULL ? NULL : region_top(plan, above);
    if (top == NULL) {
        return true;
    }
    if ((hole->kind == MASK_DENIED || hole->kind == MASK_DEFAULT) &&
            above->read != ABX_VERDICT_ASK) {
        return true;
    }
    if (!add_node(tree, hole)) {
        return false;
    }
    while (to_parent(way) && strlen(way) >= strlen(top->path)) {
        if (!add_way(plan, tree, way)) {
            return false;
        }
    }
    return true;
}

static bool
add_places(const struct plan *plan, struct mask_tree *tree)
{
    for (size_t i = 0; i < plan->places.count; i++) {
        const struct place *place = vec_at(&plan->places, struct place, i);
        struct mask_node node = { .path = place->path,
            .kind = kind_of(place),
            .is_directory = place->is_directory,
            .host = "" };
        bool decoy = !place->is_directory && is_decoy(plan, place->path);

        node.kind = decoy ? MASK_DECOY : node.kind;
        node.is_top = region_top(plan, place) == place;
        if (is_private_top(plan, place->path)) {
            continue;
        }
        if (!(node.is_top ? add_node(tree, &node) : add_hole(plan, tree, &node))) {
            return false;
        }
    }
    return true;
}

static bool
add_others(const struct plan *plan, struct mask_tree *tree)
{
    for (size_t i = 0; i < plan->privates.count; i++) {
        const struct private_place *private = vec_at(&plan->privates, struct private_place, i);
        struct mask_node node = {
            .path = private->path, .kind = MASK_THROUGH, .is_directory = true
        };

        /* Files of the box go over readable ones of the host only. */
        if (private_is_directory(private) && !add_hole(plan, tree, &node)) {
            return false;
        }
    }
    for (size_t i = 0; i < plan->inputs.count; i++) {
        const struct plan_input *input = vec_at(&plan->inputs, struct plan_input, i);
        struct mask_node node = { .path = input->as, .kind = MASK_THROUGH, .host = input->from };

        if (!add_hole(plan, tree, &node)) {
            return false;
        }
    }
    for (size_t i = 0; i < plan->links.count; i++) {
        char *path = vec_at(&plan->links, struct plan_link, i)->path;

        if (!add_hole(plan, tree,
                    &(struct mask_node){ .path = path, .kind = MASK_THROUGH, .host = "" })) {
            return false;
        }
    }
    for (size_t i = 0; i < plan->decoys.count; i++) {
        struct mask_node node = { .path = *vec_at(&plan->decoys, char *, i), .kind = MASK_DECOY };

        if (!add_hole(plan, tree, &node)) {
            return false;
        }
    }
    return true;
}

/* By path; of equal ones the one that counts comes first. */
static int
node_compare(const void *a, const void *b)
{
    const struct mask_node *x = a, *y = b;
    int order = strcmp(x->path, y->path);

    if (order != 0) {
        return order;
    }
    if (x->kind != y->kind) {
        return x->kind > y->kind ? -1 : 1;
    }
    return (x->host != NULL) - (y->host != NULL);
}

/* Sorts, and leaves one node for each path. */
static void
settle(struct mask_tree *tree)
{
    size_t kept = 0;

    qsort(tree->nodes.data, tree->nodes.count, sizeof(struct mask_node), node_compare);
    for (size_t i = 0; i < tree->nodes.count; i++) {
        struct mask_node *node = vec_at(&tree->nodes, struct mask_node, i);
        struct mask_node *last =
                kept == 0 ? NULL : vec_at(&tree->nodes, struct mask_node, kept - 1);

        if (last != NULL && strcmp(last->path, node->path) == 0) {
            last->is_top |= node->is_top;
            last->has_nodes |= node->has_nodes;
            free(node->path);
            continue;
        }
        *vec_at(&tree->nodes, struct mask_node, kept++) = *node;
    }
    tree->nodes.count = kept;
    for (size_t i = 0; i < kept; i++) {
        struct mask_node *node = vec_at(&tree->nodes, struct mask_node, i);

        node->host = node->host != NULL && node->host[0] == '\0' ? node->path : node->host;
    }
}

abx_status
mask_tree_make(const struct plan *plan, struct mask_tree *ret_tree, struct fail *fail)
{
    struct mask_tree tree = { .nodes = VEC(struct mask_node) };

    if (!add_places(plan, &tree) || !add_others(plan, &tree)) {
        mask_tree_done(&tree);
        return fail_nomem(fail);
    }
    if (tree.nodes.count > 0) {
        settle(&tree);
    }
    *ret_tree = tree;
    return ABX_OK;
}

void
mask_tree_done(struct mask_tree *tree)
{
    for (size_t i = 0; i < tree->nodes.count; i++) {
        free(vec_at(&tree->nodes, struct mask_node, i)->path);
    }
    vec_done(&tree->nodes);
}

/* ---- finding ---- */

static int
path_compare(const void *key, const void *element)
{
    return strcmp(key, ((const struct mask_node *)element)->path);
}

size_t
mask_tree_find(const struct mask_tree *tree, const char *path)
{
    const struct mask_node *node = tree->nodes.count == 0
                                           ? NULL
                                           : bsearch(path, tree->nodes.data, tree->nodes.count,
                                                     sizeof *node, path_compare);

    return node == NULL ? SIZE_MAX : (size_t)(node - (const struct mask_node *)tree->nodes.data);
}

size_t
mask_tree_child(const struct mask_tree *tree, size_t parent, const char *name)
{
    const char *directory = vec_at(&tree->nodes, struct mask_node, parent)->path;
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", directory[1] == '\0' ? "" : directory, name);

    if (length < 0 || (size_t)length >= sizeof path) {
        return SIZE_MAX;
    }
    return mask_tree_find(tree, path);
}

size_t
mask_tree_top(const struct mask_tree *tree, const struct plan *plan, const char *entry)
{
    char *end = NULL;
    unsigned long place = strtoul(entry, &end, 10);
    size_t found;

    if (entry[0] < '0' || entry[0] > '9' || *end != '\0' || place >= plan->places.count) {
        return SIZE_MAX;
    }
    found = mask_tree_find(tree, vec_at(&plan->places, struct place, place)->path);
    if (found == SIZE_MAX || !vec_at(&tree->nodes, struct mask_node, found)->is_top) {
        return SIZE_MAX;
    }
    return found;
}

bool
mask_tree_is_child(const struct mask_tree *tree, size_t parent, size_t i)
{
    const char *directory = vec_at(&tree->nodes, struct mask_node, parent)->path;
    const char *path = vec_at(&tree->nodes, struct mask_node, i)->path;
    const char *name = mask_name(path);
    size_t length = directory[1] == '\0' ? 1 : strlen(directory) + 1;

    return name[0] != '\0' && (size_t)(name - path) == length &&
           memcmp(path, directory, length - 1) == 0;
}
