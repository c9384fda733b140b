/* SPDX-License-Identifier: Apache-2.0
 * The rules of a box without mounts.  A Landlock rule gives rights to everything below a directory,
 * and nothing takes them away again: where something below may do less, the rights go to its
 * siblings on the whole way down instead.  So a directory above a denied place cannot be listed,
 * and names that come later in it are reached only through the broker.  Any thread. */
#include "linux/lower/landlock_rules.h"

#include "base/mem.h"
#include "base/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Devices other than those that every box has lead around every file: a disk is all files on it.
 * Without mounts they are there, so what is in /dev gets these rights only where a rule names it.
 */
#define DEVICES "/dev"
#define DEVICE_RIGHTS (FS_READ_FILE | FS_CHANGE)

/* What a place may do by itself; a guarded one gives no right to make or remove, its children do.
 */
static uint64_t
rights_of(const struct plan *plan, const struct place *place)
{
    uint64_t rights = 0;

    if (place->read != ABX_VERDICT_ALLOW) {
        return 0;
    }
    rights = FS_READ | (plan->restrict_exec || place->no_exec ? 0 : FS_EXECUTE);
    if (place->write == ABX_VERDICT_ALLOW && !place->guarded) {
        rights |= landlock_change(plan, place->path);
    }
    return rights;
}

/* What someone below a path lacks of these rights. */
static uint64_t
lost_below(const struct plan *plan, const char *path, uint64_t rights)
{
    uint64_t lost = path_is_below(DEVICES, path) ? rights & DEVICE_RIGHTS : 0;

    for (size_t i = 0; i < plan->places.count; i++) {
        const struct place *place = vec_at(&plan->places, struct place, i);

        if (path_is_below(place->path, path)) {
            lost |= rights & ~rights_of(plan, place);
        }
    }
    return lost;
}

static bool
is_place(const struct plan *plan, const char *path)
{
    const struct place *place = plan_place_of(plan, path);

    return place != NULL && strcmp(place->path, path) == 0;
}

static void allow_tree(struct lowering *lowering, const char *path, uint64_t rights);

static void
allow_child(struct lowering *lowering, const char *path, uint64_t rights)
{
    enum host_kind kind = lowering->host->look(lowering->host->data, path);

    if (kind == HOST_DIRECTORY) {
        allow_tree(lowering, path, rights);
    } else if (kind == HOST_FILE || kind == HOST_OTHER) {
        landlock_allow_found(lowering, path, false, rights);
    }
}

/* Children that are places get their rights in their own turn. */
static void
allow_children(struct lowering *lowering, const char *directory, uint64_t rights)
{
    struct vec names = VEC(char *);

    if (lowering->host->list(lowering->host->data, directory, &names) == -ENOMEM) {
        lowering->program.failed = true;
    }
    for (size_t i = 0; i < names.count; i++) {
        char *name = *vec_at(&names, char *, i);
        AUTO(freep) char *path = path_join(directory, name);

        free(name);
        if (path == NULL) {
            lowering->program.failed = true;
        } else if (!is_place(lowering->plan, path)) {
            allow_child(lowering, path, rights);
        }
    }
    vec_done(&names);
}

static void
allow_tree(struct lowering *lowering, const char *path, uint64_t rights)
{
    uint64_t lost;

    if (strcmp(path, DEVICES) == 0) {
        rights &= ~(uint64_t)DEVICE_RIGHTS;
    }
    lost = lost_below(lowering->plan, path, rights);

    if ((rights & ~lost) != 0) {
        landlock_allow_found(lowering, path, true, rights & ~lost);
    }
    if (lost != 0) {
        allow_children(lowering, path, lost);
    }
}

static void
allow_devices(struct lowering *lowering)
{
    for (size_t i = 0; plan_devices[i] != NULL; i++) {
        const enum host_kind kind = lowering->host->look(lowering->host->data, plan_devices[i]);

        if (kind == HOST_OTHER) {
            landlock_allow_found(
                    lowering, plan_devices[i], false, FS_READ | FS_WRITE | FS_IOCTL_DEV);
        }
    }
    if (lowering->host->look(lowering->host->data, "/dev/pts") == HOST_DIRECTORY) {
        landlock_allow_found(lowering, "/dev/pts", true, FS_READ_FILE | FS_WRITE | FS_IOCTL_DEV);
    }
}

void
landlock_allow_without_mounts(struct lowering *lowering)
{
    const struct plan *plan = lowering->plan;

    for (size_t i = 0; i < plan->places.count; i++) {
        const struct place *place = vec_at(&plan->places, struct place, i);
        uint64_t rights = rights_of(plan, place);

        if (rights != 0 && place->is_directory) {
            allow_tree(lowering, place->path, rights);
        } else if (rights != 0) {
            landlock_allow_found(lowering, place->path, false, rights);
        }
    }
    allow_devices(lowering);
}
