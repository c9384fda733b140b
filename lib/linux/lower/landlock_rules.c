/* SPDX-License-Identifier: Apache-2.0
 * The allow list again, as Landlock rules: a second wall behind the mounts, and the only one where
 * there are none.  Which rights exist depends on the ABI that the probe found.  Any thread. */
#include "linux/lower/landlock_rules.h"

#include "base/mem.h"
#include "base/path.h"
#include "linux/lower/exec_chain.h"

#include <stdlib.h>

static uint64_t
handled(uint32_t abi)
{
    uint64_t rights = FS_EXECUTE | FS_WRITE_FILE | FS_READ | FS_REMOVE | FS_MAKE;

    return rights | (abi >= 2 ? FS_REFER : 0) | (abi >= 3 ? FS_TRUNCATE : 0) |
           (abi >= 5 ? FS_IOCTL_DEV : 0);
}

uint64_t
landlock_change(const struct plan *plan, const char *path)
{
    return plan_lets_write(plan, path) ? FS_CHANGE : FS_REMOVE;
}

static void
allow(struct lowering *lowering, const char *path, bool is_directory, uint64_t rights,
        uint16_t flags)
{
    uint64_t known = handled(lowering->plan->capabilities.landlock_abi);
    struct str step = { 0 };

    str_printf(&step, "landlock:%s", path);
    if (step.failed) {
        lowering->program.failed = true;
    } else {
        lower_op(lowering, OP_LANDLOCK_PATH, step.data, NULL, path,
                rights & known & (is_directory ? UINT64_MAX : FS_OF_FILE), 0, flags);
    }
    str_done(&step);
}

void
landlock_allow(struct lowering *lowering, const char *path, bool is_directory, uint64_t rights)
{
    allow(lowering, path, is_directory, rights, 0);
}

void
landlock_allow_found(
        struct lowering *lowering, const char *path, bool is_directory, uint64_t rights)
{
    allow(lowering, path, is_directory, rights, OPF_MAY_VANISH);
}

/* A writable place below another one brings nothing new; guarded ones are in it, since what is made
 * in them later is bound writable, and the mounts hold what stays. */
static void
allow_writable(struct lowering *lowering)
{
    const struct plan *plan = lowering->plan;

    for (size_t i = 0; i < plan->places.count; i++) {
        const struct place *place = vec_at(&plan->places, struct place, i);
        AUTO(freep) char *parent = path_parent(place->path);
        const struct place *above = parent == NULL || i == 0 ? NULL : plan_place_of(plan, parent);

        if (place->read == ABX_VERDICT_ALLOW && place->write == ABX_VERDICT_ALLOW &&
                (above == NULL || above->write != ABX_VERDICT_ALLOW ||
                        plan_is_private(plan, parent))) {
            landlock_allow(lowering, place->path, place->is_directory,
                    FS_READ | landlock_change(plan, place->path));
        }
    }
}

static void
allow_private(struct lowering *lowering)
{
    const struct plan *plan = lowering->plan;

    for (size_t i = 0; i < plan->privates.count; i++) {
        const struct private_place *own = vec_at(&plan->privates, struct private_place, i);

        if (own->kind == PRIVATE_DEV) {
            landlock_allow(lowering, own->path, true, FS_WRITE | FS_IOCTL_DEV);
        } else if (own->kind == PRIVATE_PROC) {
            landlock_allow(lowering, own->path, true, FS_WRITE);
        } else if (own->kind == PRIVATE_TMPFS && own->writable) {
            landlock_allow(lowering, own->path, true, FS_READ | landlock_change(plan, own->path));
        }
    }
}

/* Only these, with what runs them, can be executed; what is loaded as a library is no execution. */
static void
allow_exec(struct lowering *lowering)
{
    const struct plan *plan = lowering->plan;
    struct vec chain = VEC(char *);

    for (size_t i = 0; i < plan->exec_allowed.count; i++) {
        const char *path = *vec_at(&plan->exec_allowed, char *, i);
        bool is_directory = lowering->host->look(lowering->host->data, path) == HOST_DIRECTORY;

        landlock_allow(lowering, path, is_directory, FS_EXECUTE);
        if (!is_directory && !exec_chain(path, &chain)) {
            lowering->program.failed = true;
        }
    }
    for (size_t i = 0; i < chain.count; i++) {
        char *path = *vec_at(&chain, char *, i);

        landlock_allow(lowering, path, false, FS_EXECUTE);
        free(path);
    }
    vec_done(&chain);
}

/* Reading needs no list: what a box with mounts can reach may be read, or is the mask, which tells
 * of each attempt, as Landlock would not. */
static void
allow_with_mounts(struct lowering *lowering)
{
    landlock_allow(lowering, "/", true, FS_READ | (lowering->plan->restrict_exec ? 0 : FS_EXECUTE));
    allow_writable(lowering);
    allow_private(lowering);
}

/* Abstract sockets and TCP are the network namespace's where there is one, signals the pid
 * namespace's: a scope would part the commands of one box from each other.  Without namespaces init
 * restricts itself, so that all commands are in its one domain. */
void
lower_landlock(struct lowering *lowering)
{
    const struct plan *plan = lowering->plan;
    uint32_t abi = plan->capabilities.landlock_abi;
    bool has_mounts = plan_has_mounts(plan);
    struct wire_op *op;

    if (abi == 0) {
        return;
    }
    op = program_op(&lowering->program, OP_LANDLOCK, "landlock:rules", NULL, NULL);
    if (op != NULL) {
        op->x = handled(abi);
        op->y = abi >= 4 && plan_shares_network(plan) ? NET_TCP : 0;
        op->a = abi < 6 ? 0
                        : (plan_has_network(plan) ? 0 : SCOPE_ABSTRACT) |
                                  (has_mounts ? 0 : SCOPE_SIGNAL);
    }
    if (has_mounts) {
        allow_with_mounts(lowering);
    } else {
        landlock_allow_without_mounts(lowering);
    }
    if (plan->restrict_exec) {
        allow_exec(lowering);
    }
    if (!has_mounts) {
        lower_op(lowering, OP_LANDLOCK_SELF, "landlock:self", NULL, NULL, 0, 0, 0);
    }
}
