/* SPDX-License-Identifier: Apache-2.0
 * Lowers a root that is the mask.  The kernel lets only processes of the box's user namespace walk
 * through the mask, so the supervisor, which looks paths up in the box, could not get behind "/".
 * So the box is built of pieces first; a clone of that is what the supervisor looks through, and
 * the root of the box is the mask with the same pieces mounted in it. */
#include "linux/lower/lower_view.h"

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "linux/mask/mask.h"
#include "linux/mask/mask_tree.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

static bool
is_link(const struct plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->links.count; i++) {
        if (strcmp(vec_at(&plan->links, struct plan_link, i)->path, path) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether the node is mounted in the mask itself, not in something that is mounted there. */
static bool
is_outermost(const struct lowering *lowering, const struct mask_tree *tree, const char *path)
{
    AUTO(freep) char *above = path_parent(path);

    while (above != NULL && strcmp(above, "/") != 0) {
        size_t i = mask_tree_find(tree, above);
        char *next = path_parent(above);

        if (i == SIZE_MAX || vec_at(&tree->nodes, struct mask_node, i)->kind == MASK_THROUGH) {
            free(next);
            return false;
        }
        free(above);
        above = next;
    }
    return above != NULL;
}

static void
attach(struct lowering *lowering, const char *path)
{
    struct str from = { 0 }, to = { 0 }, step = { 0 };

    str_printf(&from, "%s%s", STAGE_ROOT, path);
    str_printf(&to, "%s%s", STAGE_MASKED, path);
    str_printf(&step, "bind:%s", path);
    if (from.failed || to.failed || step.failed) {
        lowering->program.failed = true;
    } else {
        lower_op(lowering, OP_BIND, step.data, from.data, to.data, 0, 0,
                OPF_FROM_BOX | OPF_RECURSIVE);
    }
    str_done(&from);
    str_done(&to);
    str_done(&step);
}

void
lower_masked_root(struct lowering *lowering)
{
    char entry[MASK_ENTRY_ROOM];
    AUTO(freep)
    char *mask = mask_entry(lowering->plan, 0, entry) ? path_join(STAGE_MASK, entry) : NULL;
    struct mask_tree tree = { 0 };
    struct fail fail = { 0 };

    if (mask == NULL || mask_tree_make(lowering->plan, &tree, &fail) < 0) {
        lowering->program.failed = true;
        return;
    }
    lower_op(lowering, OP_OPEN_TREE, "clone:/", STAGE_ROOT, NULL, WIRE_SLOT_VIEW, 0,
            OPF_FROM_BOX | OPF_RECURSIVE);
    lower_op(lowering, OP_MKDIR, "make:root", NULL, STAGE_MASKED, 0755, 0, 0);
    lower_op(lowering, OP_BIND, "bind:/", mask, STAGE_MASKED,
            MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, 0,
            OPF_FROM_BOX);
    for (size_t i = 0; i < tree.nodes.count; i++) {
        const struct mask_node *node = vec_at(&tree.nodes, struct mask_node, i);

        if (node->kind == MASK_THROUGH && !is_link(lowering->plan, node->path) &&
                is_outermost(lowering, &tree, node->path)) {
            attach(lowering, node->path);
        }
    }
    mask_tree_done(&tree);
}
