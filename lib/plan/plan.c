/* SPDX-License-Identifier: Apache-2.0
 * Owns the life of a plan, and answers questions about a finished one.  Pure; a finished plan is
 * immutable, so any thread may ask. */
#include "plan/plan.h"

#include "base/path.h"
#include "policy/gitdir.h"
#include "policy/policy.h"

#include <stdlib.h>
#include <string.h>

static void
free_texts(struct vec *texts)
{
    for (size_t i = 0; i < texts->count; i++) {
        free(*vec_at(texts, char *, i));
    }
    vec_done(texts);
}

void
plan_done(struct plan *plan)
{
    for (size_t i = 0; i < plan->places.count; i++) {
        free(vec_at(&plan->places, struct place, i)->path);
    }
    vec_done(&plan->places);
    for (size_t i = 0; i < plan->privates.count; i++) {
        free(vec_at(&plan->privates, struct private_place, i)->path);
        free(vec_at(&plan->privates, struct private_place, i)->content);
    }
    vec_done(&plan->privates);
    for (size_t i = 0; i < plan->links.count; i++) {
        free(vec_at(&plan->links, struct plan_link, i)->path);
        free(vec_at(&plan->links, struct plan_link, i)->target);
    }
    vec_done(&plan->links);
    for (size_t i = 0; i < plan->inputs.count; i++) {
        free(vec_at(&plan->inputs, struct plan_input, i)->from);
        free(vec_at(&plan->inputs, struct plan_input, i)->as);
    }
    vec_done(&plan->inputs);
    vec_done(&plan->host_ports);
    free_texts(&plan->guards);
    free_texts(&plan->git_roots);
    free_texts(&plan->git_trees);
    free_texts(&plan->git_inside);
    free_texts(&plan->patterns);
    free_texts(&plan->exec_allowed);
    free_texts(&plan->decoys);
    free(plan->bundle);
    free(plan->hostname);
    *plan = (struct plan){ 0 };
}

bool
plan_has_mounts(const struct plan *plan)
{
    return plan->capabilities.user_namespace && plan->capabilities.mount_namespace;
}

bool
private_is_directory(const struct private_place *own)
{
    return own->kind == PRIVATE_TMPFS || own->kind == PRIVATE_DEV || own->kind == PRIVATE_PROC;
}

bool
plan_has_network(const struct plan *plan)
{
    return plan->capabilities.net_namespace && plan->network != NETWORK_HOST;
}

bool
plan_shares_network(const struct plan *plan)
{
    return !plan->capabilities.net_namespace && plan->network != NETWORK_HOST;
}

bool
plan_has_gateway(const struct plan *plan)
{
    return plan_has_network(plan) && plan->network == NETWORK_FILTERED;
}

bool
plan_has_host_port(const struct plan *plan, uint32_t port)
{
    for (size_t i = 0; i < plan->host_ports.count; i++) {
        if (*vec_at(&plan->host_ports, uint16_t, i) == port) {
            return true;
        }
    }
    return false;
}

static bool
has_private(const struct plan *plan, enum private_kind kind, const char *path)
{
    for (size_t i = 0; i < plan->privates.count; i++) {
        const struct private_place *own = vec_at(&plan->privates, struct private_place, i);

        if (own->kind == kind && strcmp(own->path, path) == 0) {
            return true;
        }
    }
    return false;
}

bool
plan_is_host_socket(const struct plan *plan, const char *path)
{
    return has_private(plan, PRIVATE_SOCKET, path);
}

bool
plan_adds_trust(const struct plan *plan)
{
    return has_private(plan, PRIVATE_BUNDLE, TRUST_BUNDLE);
}

/* The last of the places at the first `length` bytes of the path, or NULL. */
static const struct place *
place_at(const struct plan *plan, const char *path, size_t length)
{
    size_t low = 0, high = plan->places.count;
    const struct place *place;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *other = vec_at(&plan->places, struct place, middle)->path;
        int order = strncmp(other, path, length);

        if (order < 0 || (order == 0 && other[length] == '\0')) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    place = low == 0 ? NULL : vec_at(&plan->places, struct place, low - 1);
    return place != NULL && strncmp(place->path, path, length) == 0 && place->path[length] == '\0'
                   ? place
                   : NULL;
}

const struct place *
plan_place_of(const struct plan *plan, const char *path)
{
    size_t length = strlen(path);
    const struct place *place = place_at(plan, path, length);

    while (place == NULL && length > 1) {
        do {
            length--;
        } while (length > 1 && path[length] != '/');
        place = place_at(plan, path, length);
    }
    return place;
}

/* The path inside the deepest git directory that it is in ("" for that itself); NULL: in none. */
static const char *
inside_git(const struct plan *plan, const char *path)
{
    for (size_t i = plan->git_roots.count; i > 0; i--) {
        const char *root = *vec_at(&plan->git_roots, char *, i - 1);

        if (path_is_within(path, root)) {
            path += strlen(root);
            return *path == '/' ? path + 1 : path;
        }
    }
    return NULL;
}

/* Whether the test holds for the path as seen from a git directory that it is in. */
static bool
git_says(const struct plan *plan, const char *path, bool (*test)(const char *inside))
{
    const char *inside = inside_git(plan, path);

    if (inside != NULL && test(inside)) {
        return true;
    }
    for (size_t i = 0; i < plan->git_trees.count; i++) {
        const char *tree = *vec_at(&plan->git_trees, char *, i);
        const char *name = path + (tree[1] == '\0' ? 0 : strlen(tree));

        while (path_is_within(path, tree) && *name == '/') {
            size_t length = strcspn(++name, "/");

            if (git_is_name(name, length) && test(name + length + (name[length] == '/'))) {
                return true;
            }
            name += length;
        }
    }
    return false;
}

static bool
is_guarded_file(const char *inside)
{
    uint32_t depth;

    return git_file_classify(inside, &depth) != GIT_FREE;
}

static bool
is_link(const char *inside)
{
    uint32_t depth;
    enum git_file file = git_file_classify(inside, &depth);

    return file == GIT_DIRECTORY || file == GIT_LINK;
}

bool
plan_guards_git_file(const struct plan *plan, const char *path)
{
    return git_says(plan, path, is_guarded_file);
}

bool
plan_guards_git(const struct plan *plan, const char *directory)
{
    return git_says(plan, directory, git_directory_guards);
}

bool
plan_is_git_link(const struct plan *plan, const char *path)
{
    return !plan_is_private(plan, path) && git_says(plan, path, is_link);
}

bool
plan_guards_names(const struct plan *plan, const char *directory)
{
    size_t length = strcmp(directory, "/") == 0 ? 0 : strlen(directory);
    size_t low = 0;
    size_t high = plan->guards.count;

    if (plan_guards_git(plan, directory)) {
        return true;
    }
    /* The first that is not before "directory/"; only that one can be below. */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *path = *vec_at(&plan->guards, char *, middle);
        int order = strncmp(path, directory, length);

        if (order < 0 || (order == 0 && path[length] < '/')) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < plan->guards.count &&
           path_is_below(*vec_at(&plan->guards, char *, low), directory);
}

bool
plan_allows_link(const struct plan *plan, const char *link, const char *target)
{
    for (size_t i = 0; i < plan->patterns.count; i++) {
        if (!path_match_follows(*vec_at(&plan->patterns, char *, i), link, target)) {
            return false;
        }
    }
    return true;
}

const char *const plan_copy_prefix = GIT_COPY_PREFIX;

const char *const plan_devices[] = { "/dev/full", "/dev/null", "/dev/ptmx", "/dev/random",
    "/dev/tty", "/dev/urandom", "/dev/zero", NULL };

bool
plan_is_device(const char *path)
{
    for (size_t i = 0; plan_devices[i] != NULL; i++) {
        if (strcmp(plan_devices[i], path) == 0) {
            return true;
        }
    }
    return path_is_below(path, "/dev/pts");
}

bool
plan_guards(const struct plan *plan, const char *directory)
{
    return plan->guard_patterns || plan_guards_names(plan, directory);
}

/* The private place that the path lies in, of a box with mounts; or NULL. */
static const struct private_place *
private_of(const struct plan *plan, const char *path)
{
    const struct place *place = plan_place_of(plan, path);

    for (size_t i = plan->privates.count; i > 0; i--) {
        const struct private_place *own = vec_at(&plan->privates, struct private_place, i - 1);

        if (path_is_within(path, own->path)) {
            return place == NULL || !path_is_below(place->path, own->path) ? own : NULL;
        }
    }
    return NULL;
}

bool
plan_is_private(const struct plan *plan, const char *path)
{
    return plan_has_mounts(plan) ? private_of(plan, path) != NULL : plan_is_device(path);
}

bool
plan_lets_write(const struct plan *plan, const char *path)
{
    const struct private_place *own = plan_has_mounts(plan) ? private_of(plan, path) : NULL;

    if (plan->git_trees.count == 0 || plan->capabilities.landlock_abi == 0 ||
            !plan->capabilities.seccomp_notify) {
        return true;
    }
    for (size_t i = 0; own != NULL && i < plan->git_trees.count; i++) {
        if (path_is_within(*vec_at(&plan->git_trees, char *, i), own->path)) {
            return false;
        }
    }
    return own != NULL;
}
