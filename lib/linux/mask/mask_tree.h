/* SPDX-License-Identifier: Apache-2.0
 * Inside the mask only: which places of a plan it covers, and the fixed part of what it serves
 * there.  Pure. */
#ifndef ABX_LINUX_MASK_TREE_H
#define ABX_LINUX_MASK_TREE_H

#include "base/fail.h"
#include "base/vec.h"
#include "plan/plan.h"

enum mask_kind {
    MASK_DENIED, /* by a rule: every name below is refused */
    MASK_DEFAULT, /* denied by default: names that do not exist stay missing */
    MASK_ASK, /* attributes are served, opening is asked */
    MASK_THROUGH, /* readable or the box's own: something to mount over, or a link of the host */
    MASK_DECOY /* a file with an invented secret */
};

/* What is served at a path whatever the host has there.  Everything on the way from the top of a
 * masked region to a place that is mounted through it has one. */
struct mask_node {
    char *path;
    enum mask_kind kind;
    bool is_directory; /* with a `host` of another type, that counts */
    bool is_top; /* an entry, bound over its path */
    bool has_nodes; /* others are below: a directory denied by default shows these */
    const char *host; /* path on the host of what is shown (the plan's or this node's); NULL: the
                         box's own */
};

/* Sorted by path. */
struct mask_tree {
    struct vec nodes; /* struct mask_node */
};

abx_status mask_tree_make(const struct plan *plan, struct mask_tree *ret_tree, struct fail *fail);
void mask_tree_done(struct mask_tree *tree);

/* Index of a path, or of a name in the directory that is node `parent`, or of the entry with this
 * name (mask_entry); SIZE_MAX if there is none. */
size_t mask_tree_find(const struct mask_tree *tree, const char *path);
size_t mask_tree_child(const struct mask_tree *tree, size_t parent, const char *name);
size_t mask_tree_top(const struct mask_tree *tree, const struct plan *plan, const char *entry);
/* Whether node `i` lies directly in node `parent`. */
bool mask_tree_is_child(const struct mask_tree *tree, size_t parent, size_t i);
/* The last component of a path; "/" has "". */
const char *mask_name(const char *path);

#endif
