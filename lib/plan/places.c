/* SPDX-License-Identifier: Apache-2.0
 * Finds the places at which the view of the file system changes: rules change it only at their
 * anchors, and below guarded directories each child that may be written is a place of its own.
 * Knows neither mounts nor the kernel. */
#include "plan/compile.h"

#include "base/mem.h"
#include "base/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* More children than this in guarded directories stay read-only for the kernel; what happens in
 * them is then done by the broker, which is right, and slower. */
#define GUARDED_CHILDREN_MAX 1024u

abx_verdict
compile_decide(const struct compiler *compiler, const char *path, uint32_t access,
        struct ruling *ret_ruling)
{
    abx_request request = {
        .size = sizeof request, .kind = ABX_REQUEST_PATH, .access = access, .target = path
    };

    return policy_decide(compiler->policy, &request, ret_ruling);
}

static bool
is_decoy(const struct compiler *compiler, const char *path)
{
    for (size_t i = 0; i < compiler->plan->decoys.count; i++) {
        if (strcmp(*vec_at(&compiler->plan->decoys, char *, i), path) == 0) {
            return true;
        }
    }
    return false;
}

/* How the policy sees a path that stands on the host. */
static struct place
view_of(const struct compiler *compiler, const char *path, bool is_directory)
{
    struct place view = { .is_directory = is_directory };
    struct ruling read;
    struct ruling other;

    view.read = (uint8_t)compile_decide(compiler, path, ABX_ACCESS_READ, &read);
    view.write = (uint8_t)compile_decide(compiler, path, ABX_ACCESS_WRITE, &other);
    if (is_decoy(compiler, path)) {
        view.read = ABX_VERDICT_DENY;
        view.write = ABX_VERDICT_DENY;
        return view;
    }
    view.by_default = view.read == ABX_VERDICT_DENY && read.from_default;
    if (compiler->settings->exec_rules && view.read == ABX_VERDICT_ALLOW) {
        /* With exec.allow everything else is denied by default: Landlock's part, not a mount's. */
        view.no_exec =
                compile_decide(compiler, path, ABX_ACCESS_EXEC, &other) == ABX_VERDICT_DENY &&
                !other.from_default;
    }
    view.guarded = view.read == ABX_VERDICT_ALLOW && view.write == ABX_VERDICT_ALLOW &&
                   (is_directory ? policy_guards(compiler->policy, path)
                                 : plan_is_git_link(compiler->plan, path));
    return view;
}

static bool
is_same_view(const struct place *a, const struct place *b)
{
    return a->read == b->read && a->write == b->write && a->no_exec == b->no_exec &&
           a->guarded == b->guarded && a->by_default == b->by_default;
}

static abx_status
add_place(struct compiler *compiler, const char *path, enum host_kind kind)
{
    struct place view = view_of(compiler, path, kind == HOST_DIRECTORY);
    struct place *place;

    view.path = strdup(path);
    if (view.path == NULL) {
        return fail_nomem(compiler->fail);
    }
    place = vec_add(&compiler->plan->places);
    if (place == NULL) {
        free(view.path);
        return fail_nomem(compiler->fail);
    }
    *place = view;
    return ABX_OK;
}

/* What stands at an anchor, HOST_MISSING also for links and what lies behind one: policy_resolve
 * has made a twin of the rule where the link leads. */
static abx_status
look_at_anchor(const struct compiler *compiler, const char *path, enum host_kind *ret_kind)
{
    enum host_kind kind = compiler->host->look(compiler->host->data, path);
    AUTO(freep) char *real = NULL;

    if (kind == HOST_MISSING || kind == HOST_SYMLINK) {
        *ret_kind = HOST_MISSING;
        return ABX_OK;
    }
    real = compiler->host->real_path(compiler->host->data, path);
    if (real == NULL) {
        return fail_nomem(compiler->fail);
    }
    *ret_kind = strcmp(real, path) == 0 ? kind : HOST_MISSING;
    return ABX_OK;
}

static const struct private_place *
private_of(const struct plan *plan, const char *path)
{
    for (size_t i = plan->privates.count; i > 0; i--) {
        const struct private_place *own = vec_at(&plan->privates, struct private_place, i - 1);

        if (private_is_directory(own) && path_is_within(path, own->path)) {
            return own;
        }
    }
    return NULL;
}

/* Whether the host's thing is shown below a private place.  A rule that only takes away has nothing
 * to take away there.  From the host's /proc nothing is ever shown, but files that the fresh one
 * has too may be covered; /dev has its own nodes. */
static bool
shows_in_private(const struct compiler *compiler, const struct private_place *own, const char *path,
        const char *parent, const struct place *view)
{
    struct ruling ruling;

    if (strcmp(path, own->path) == 0) {
        return false;
    }
    if (own->kind == PRIVATE_PROC) {
        return view->read != ABX_VERDICT_ALLOW;
    }
    for (size_t i = 0; plan_devices[i] != NULL; i++) {
        if (strcmp(path, plan_devices[i]) == 0) {
            return false;
        }
    }
    return view->read == ABX_VERDICT_ALLOW && !view->no_exec &&
           (view->write == ABX_VERDICT_ALLOW || compile_decide(compiler, parent, ABX_ACCESS_WRITE,
                                                        &ruling) != ABX_VERDICT_ALLOW);
}

/* The anchors come sorted, so the places do. */
static abx_status
add_anchor(struct compiler *compiler, const char *path)
{
    enum host_kind kind = HOST_MISSING;
    const struct private_place *own;
    const struct place *above;
    AUTO(freep) char *parent = path_parent(path);
    struct place view;
    abx_status r;

    if (parent == NULL) {
        return fail_nomem(compiler->fail);
    }
    if (strcmp(path, "/") == 0) {
        return ABX_OK;
    }
    r = look_at_anchor(compiler, path, &kind);
    if (r < 0 || kind == HOST_MISSING) {
        return r;
    }
    own = private_of(compiler->plan, path);
    above = plan_place_of(compiler->plan, path);
    view = view_of(compiler, path, kind == HOST_DIRECTORY);
    if (own != NULL && !path_is_below(above->path, own->path) &&
            !shows_in_private(compiler, own, path, parent, &view)) {
        return ABX_OK;
    }
    return add_place(compiler, path, kind);
}

static int
compare_places(const void *a, const void *b)
{
    return strcmp(((const struct place *)a)->path, ((const struct place *)b)->path);
}

/* Whether a child is an anchor's place already, or a private place stands there. */
static bool
is_taken(const struct plan *plan, size_t n_anchors, const char *path)
{
    const struct private_place *own = private_of(plan, path);

    for (size_t i = 0; i < n_anchors; i++) {
        if (strcmp(vec_at(&plan->places, struct place, i)->path, path) == 0) {
            return true;
        }
    }
    return own != NULL && strcmp(own->path, path) == 0;
}

/* Adds the child directories of a guarded one that may be written. */
static abx_status
add_children(struct compiler *compiler, const char *directory, size_t n_anchors, size_t *n_children)
{
    struct plan *plan = compiler->plan;
    struct vec names = VEC(char *);
    abx_status r = ABX_OK;

    if (compiler->host->list(compiler->host->data, directory, &names) == -ENOMEM) {
        r = fail_nomem(compiler->fail);
    }
    for (size_t i = 0; i < names.count; i++) {
        char *name = *vec_at(&names, char *, i);
        AUTO(freep) char *path = path_join(directory, name);
        struct ruling ruling;

        free(name);
        if (path == NULL) {
            r = fail_nomem(compiler->fail);
        }
        if (r < 0 || *n_children >= GUARDED_CHILDREN_MAX || is_taken(plan, n_anchors, path) ||
                compiler->host->look(compiler->host->data, path) != HOST_DIRECTORY ||
                compile_decide(compiler, path, ABX_ACCESS_WRITE, &ruling) != ABX_VERDICT_ALLOW) {
            continue;
        }
        (*n_children)++;
        r = add_place(compiler, path, HOST_DIRECTORY);
    }
    vec_done(&names);
    return r;
}

/* New places are added behind and looked at in turn. Patterns guard every directory: there none. */
static abx_status
open_guarded(struct compiler *compiler)
{
    struct plan *plan = compiler->plan;
    size_t n_anchors = plan->places.count;
    size_t n_children = 0;

    for (size_t i = 0; i < plan->places.count && !plan->guard_patterns; i++) {
        const struct place *place = vec_at(&plan->places, struct place, i);
        AUTO(freep) char *path = NULL;
        abx_status r;

        if (!place->guarded) {
            continue;
        }
        path = strdup(place->path);
        if (path == NULL) {
            return fail_nomem(compiler->fail);
        }
        r = add_children(compiler, path, n_anchors, &n_children);
        if (r < 0) {
            return r;
        }
    }
    if (plan->places.count > 0) {
        qsort(plan->places.data, plan->places.count, sizeof(struct place), compare_places);
    }
    return ABX_OK;
}

/* Removes places that look like the one above them.  What covers a place first in a private one is
 * the private place, so those stay. */
static void
drop_repeated(struct plan *plan)
{
    size_t kept = 0;

    for (size_t i = 0; i < plan->places.count; i++) {
        struct place place = *vec_at(&plan->places, struct place, i);
        struct plan before = { .places = plan->places };
        const struct private_place *own = private_of(plan, place.path);
        const struct place *above;

        before.places.count = kept;
        above = plan_place_of(&before, place.path);
        if (above != NULL &&
                (strcmp(above->path, place.path) == 0 ||
                        (is_same_view(above, &place) &&
                                (own == NULL || path_is_below(above->path, own->path))))) {
            free(place.path);
        } else {
            *vec_at(&plan->places, struct place, kept++) = place;
        }
    }
    plan->places.count = kept;
}

abx_status
compile_places(struct compiler *compiler)
{
    abx_status r = add_place(compiler, "/", HOST_DIRECTORY);

    for (size_t i = 0; i < compiler->anchors.count && r >= 0; i++) {
        r = add_anchor(compiler, *vec_at(&compiler->anchors, const char *, i));
    }
    if (r >= 0) {
        r = open_guarded(compiler);
    }
    if (r >= 0) {
        drop_repeated(compiler->plan);
    }
    return r;
}
