/* SPDX-License-Identifier: Apache-2.0
 * Lowers what a box sees of the file system to mounts.  Everything that is mounted has a path; in
 * the order of their paths what is above comes first, so each mount only adds to those before it.
 * Knows nothing of policy; any thread. */
#include "linux/lower/lower_view.h"

#include "base/mem.h"
#include "base/path.h"
#include "linux/mask/mask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#define BOX_ATTRS (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define COVER_ATTRS (BOX_ATTRS | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY)

enum item_kind { ITEM_LINK, ITEM_PIECE, ITEM_PLACE, ITEM_PRIVATE, ITEM_INPUT };
struct item {
    const char *path;
    enum item_kind kind;
    size_t i;
};

/* ---- targets ---- */

static const struct mounted *
mounted_above(const struct lowering *lowering, const char *path)
{
    for (size_t i = lowering->mounted.count; i > 0; i--) {
        const struct mounted *mounted = vec_at(&lowering->mounted, struct mounted, i - 1);

        if (path_is_below(path, mounted->path)) {
            return mounted;
        }
    }
    return NULL;
}

/* Whether it is new, and so has to be made. */
static bool
remember_made(struct lowering *lowering, const char *path)
{
    char **made;

    for (size_t i = 0; i < lowering->made.count; i++) {
        if (strcmp(*vec_at(&lowering->made, char *, i), path) == 0) {
            return false;
        }
    }
    made = vec_add(&lowering->made);
    if (made != NULL) {
        *made = strdup(path);
    }
    if (made == NULL || *made == NULL) {
        lowering->program.failed = true;
        lowering->made.count -= made != NULL;
        return false;
    }
    return true;
}

void
lower_target(struct lowering *lowering, const char *path, bool is_directory)
{
    const struct mounted *above = mounted_above(lowering, path);
    AUTO(freep) char *part = strdup(path);

    if (part == NULL) {
        lowering->program.failed = true;
        return;
    }
    if (above == NULL || !above->own) {
        return;
    }
    for (char *slash = part + (strcmp(above->path, "/") == 0 ? 0 : strlen(above->path)) + 1;
            (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        if (remember_made(lowering, part)) {
            lower_at(lowering, OP_MKDIR, NULL, part, 0755, 0, 0);
        }
        *slash = '/';
    }
    if (remember_made(lowering, path)) {
        if (is_directory) {
            lower_at(lowering, OP_MKDIR, NULL, path, 0755, 0, 0);
        } else {
            lower_text_at(lowering, "", path, 0644);
        }
    }
}

void
lower_cover(struct lowering *lowering, const char *path, bool is_directory)
{
    lower_at(lowering, OP_BIND, is_directory ? STAGE_EMPTY : STAGE_NOTHING, path, COVER_ATTRS, 0,
            OPF_FROM_BOX);
}

/* ---- places ---- */

/* How a place is mounted. */
static uint64_t
attrs_of(const struct place *place)
{
    uint64_t attrs = BOX_ATTRS;

    if (place->write != ABX_VERDICT_ALLOW || place->guarded) {
        attrs |= MOUNT_ATTR_RDONLY;
    }
    if (place->no_exec) {
        attrs |= MOUNT_ATTR_NOEXEC;
    }
    return attrs;
}

static bool
is_masked(const struct place *place)
{
    return place->read != ABX_VERDICT_ALLOW;
}

/* The place above, or NULL if a private place is between or there is none. */
static const struct place *
place_above(const struct plan *plan, const char *path)
{
    AUTO(freep) char *parent = path_parent(path);

    if (parent == NULL || strcmp(path, "/") == 0 || plan_is_private(plan, parent)) {
        return NULL;
    }
    return plan_place_of(plan, parent);
}

static void
lower_masked(struct lowering *lowering, size_t i, const struct place *place)
{
    char entry[MASK_ENTRY_ROOM];

    if (!lowering->plan->mask || !mask_entry(lowering->plan, i, entry)) {
        lower_cover(lowering, place->path, place->is_directory);
    } else {
        AUTO(freep) char *from = path_join(STAGE_MASK, entry);

        if (from == NULL) {
            lowering->program.failed = true;
            return;
        }
        /* What may be read after a question may be executed after it. */
        lower_at(lowering, OP_BIND, from, place->path,
                place->read == ABX_VERDICT_ASK && !place->no_exec ? COVER_ATTRS & ~MOUNT_ATTR_NOEXEC
                                                                  : COVER_ATTRS,
                0, OPF_FROM_BOX);
    }
}

static void
lower_place(struct lowering *lowering, size_t i)
{
    const struct plan *plan = lowering->plan;
    const struct place *place = vec_at(&plan->places, struct place, i);
    const struct place *above = place_above(plan, place->path);
    bool may_vanish;

    if (strcmp(place->path, "/") == 0) {
        return;
    }
    if (above != NULL &&
            (is_masked(place) ? is_masked(above)
                              : !is_masked(above) && attrs_of(above) == attrs_of(place))) {
        return;
    }
    lower_target(lowering, place->path, place->is_directory);
    /* A child of a guarded directory: gone or replaced meanwhile, it stays read-only. */
    may_vanish = above != NULL && above->guarded && place->write == ABX_VERDICT_ALLOW;
    if (is_masked(place)) {
        lower_masked(lowering, i, place);
    } else if (path_is_below(place->path, "/dev") && !place->is_directory &&
               lowering->host->look(lowering->host->data, place->path) == HOST_OTHER) {
        lower_at(lowering, OP_DEVICE, place->path, place->path, 0, 0, 0);
    } else {
        lower_at(lowering, OP_BIND, place->path, place->path, attrs_of(place), 0,
                OPF_RECURSIVE | (may_vanish ? OPF_MAY_VANISH : 0));
    }
    lower_mounted(lowering, place->path, false);
}

/* ---- the root ---- */

static void
lower_stage(struct lowering *lowering)
{
    lower_op(lowering, OP_ROOT_TMPFS, "mount:stage", NULL, NULL, 0755, 0, 0);
    lower_op(lowering, OP_MKDIR, "make:root", NULL, STAGE_ROOT, 0755, 0, 0);
    lower_op(lowering, OP_MKDIR, "make:empty", NULL, STAGE_EMPTY, 0, 0, 0);
    lower_content(lowering, "make:nothing", "", 0, STAGE_NOTHING, 0);
    if (plan_adds_trust(lowering->plan)) {
        const struct trust_files *trust = lowering->trust;

        lower_content(
                lowering, "make:bundle", trust->bundle, trust->bundle_length, STAGE_BUNDLE, 0444);
        lower_content(lowering, "make:truststore", trust->store, trust->store_length,
                STAGE_TRUSTSTORE, 0444);
    }
    if (lowering->plan->mask) {
        lower_op(lowering, OP_MKDIR, "make:mask", NULL, STAGE_MASK, 0755, 0, 0);
        lower_op(lowering, OP_FUSE, "mount:mask", NULL, STAGE_MASK, 0, 0, 0);
    }
}

static void
lower_root(struct lowering *lowering)
{
    const struct plan *plan = lowering->plan;
    const struct place *root = vec_at(&plan->places, struct place, 0);

    switch (plan->root) {
    case ROOT_HOST:
        lower_at(lowering, OP_BIND, "/", "/", attrs_of(root), 0, OPF_RECURSIVE);
        break;
    case ROOT_MASK:
        lower_masked(lowering, 0, root);
        break;
    case ROOT_PIECES:
        lower_at(lowering, OP_TMPFS, NULL, "/", 0755, 0, 0);
        break;
    }
    lower_mounted(lowering, "/", plan->root == ROOT_PIECES);
}

/* A top-level entry of the host, where the root is made of pieces and may be read. */
static void
lower_piece(struct lowering *lowering, const char *path)
{
    const struct place *root = vec_at(&lowering->plan->places, struct place, 0);
    enum host_kind kind = lowering->host->look(lowering->host->data, path);

    if (kind != HOST_DIRECTORY && kind != HOST_FILE) {
        return;
    }
    lower_target(lowering, path, kind == HOST_DIRECTORY);
    lower_at(lowering, OP_BIND, path, path, attrs_of(root), 0, OPF_RECURSIVE);
    lower_mounted(lowering, path, false);
}

static void
lower_input(struct lowering *lowering, const struct plan_input *input)
{
    lower_target(lowering, input->as,
            lowering->host->look(lowering->host->data, input->from) == HOST_DIRECTORY);
    lower_at(lowering, OP_BIND, input->from, input->as, BOX_ATTRS | MOUNT_ATTR_RDONLY, 0,
            OPF_RECURSIVE);
    lower_mounted(lowering, input->as, false);
}

/* ---- in the order of paths ---- */

static void
add_item(struct lowering *lowering, struct vec *items, const char *path, enum item_kind kind,
        size_t i)
{
    struct item *item = vec_add(items);

    if (item == NULL) {
        lowering->program.failed = true;
        return;
    }
    item->path = path;
    item->kind = kind;
    item->i = i;
}

/* The host's top-level names; private places come later and replace theirs. */
static void
list_pieces(struct lowering *lowering, struct vec *pieces)
{
    struct vec names = VEC(char *);

    if (lowering->host->list(lowering->host->data, "/", &names) == -ENOMEM) {
        lowering->program.failed = true;
    }
    for (size_t i = 0; i < names.count; i++) {
        char *name = *vec_at(&names, char *, i);
        char **piece = vec_add(pieces);

        if (piece != NULL) {
            *piece = path_join("/", name);
        }
        if (piece == NULL || *piece == NULL) {
            lowering->program.failed = true;
            pieces->count -= piece != NULL;
        }
        free(name);
    }
    vec_done(&names);
}

static int
compare_items(const void *a, const void *b)
{
    const struct item *left = a;
    const struct item *right = b;
    int order = strcmp(left->path, right->path);

    return order != 0 ? order : (int)left->kind - (int)right->kind;
}

static void
collect_items(struct lowering *lowering, const struct vec *pieces, struct vec *items)
{
    const struct plan *plan = lowering->plan;

    for (size_t i = 0; i < plan->links.count && plan->root == ROOT_PIECES; i++) {
        add_item(lowering, items, vec_at(&plan->links, struct plan_link, i)->path, ITEM_LINK, i);
    }
    for (size_t i = 0; i < pieces->count; i++) {
        const char *path = *vec_at(pieces, char *, i);

        if (!plan_is_private(plan, path)) {
            add_item(lowering, items, path, ITEM_PIECE, i);
        }
    }
    for (size_t i = 0; i < plan->places.count; i++) {
        add_item(lowering, items, vec_at(&plan->places, struct place, i)->path, ITEM_PLACE, i);
    }
    for (size_t i = 0; i < plan->privates.count; i++) {
        add_item(lowering, items, vec_at(&plan->privates, struct private_place, i)->path,
                ITEM_PRIVATE, i);
    }
    for (size_t i = 0; i < plan->inputs.count; i++) {
        add_item(lowering, items, vec_at(&plan->inputs, struct plan_input, i)->as, ITEM_INPUT, i);
    }
    if (items->count > 0) {
        qsort(items->data, items->count, sizeof(struct item), compare_items);
    }
}

static void
lower_item(struct lowering *lowering, const struct item *item)
{
    const struct plan_link *link;

    switch (item->kind) {
    case ITEM_LINK:
        link = vec_at(&lowering->plan->links, struct plan_link, item->i);
        lower_at(lowering, OP_SYMLINK, link->target, link->path, 0, 0, 0);
        break;
    case ITEM_PIECE:
        lower_piece(lowering, item->path);
        break;
    case ITEM_PLACE:
        lower_place(lowering, item->i);
        break;
    case ITEM_PRIVATE:
        lower_private(lowering, item->i);
        break;
    case ITEM_INPUT:
        lower_input(lowering, vec_at(&lowering->plan->inputs, struct plan_input, item->i));
        break;
    }
}

void
lower_view(struct lowering *lowering)
{
    const struct plan *plan = lowering->plan;
    struct vec pieces = VEC(char *);
    struct vec items = VEC(struct item);

    lower_stage(lowering);
    lower_root(lowering);
    if (plan->root == ROOT_PIECES && !is_masked(vec_at(&plan->places, struct place, 0))) {
        list_pieces(lowering, &pieces);
    }
    collect_items(lowering, &pieces, &items);
    for (size_t i = 0; i < items.count; i++) {
        lower_item(lowering, vec_at(&items, struct item, i));
    }
    lower_close_privates(lowering);
    /* lowering->mounted borrows their paths; nothing looks at it from here. */
    for (size_t i = 0; i < pieces.count; i++) {
        free(*vec_at(&pieces, char *, i));
    }
    vec_done(&pieces);
    vec_done(&items);
}
