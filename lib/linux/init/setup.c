/* SPDX-License-Identifier: Apache-2.0
 * The operations on init itself: ids, names, limits, capabilities, Landlock.  What is meant for
 * commands (limits, the Landlock ruleset) is only kept here, and applied by each command's child.
 */
#include "linux/init/init.h"

#include "linux/init/sys.h"

#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/landlock.h>
#include <linux/resource.h>
#include <linux/stat.h>

struct capability_sets {
    struct __user_cap_header_struct header;
    struct __user_cap_data_struct data[2];
};

static int
capabilities_get(struct capability_sets *sets)
{
    *sets = (struct capability_sets){ .header = { .version = _LINUX_CAPABILITY_VERSION_3 } };
    return (int)SYS(capget, &sets->header, sets->data, 0, 0, 0, 0);
}

/* Effective and permitted become what is both permitted and in `mask`; inheritable, and with it
 * ambient, becomes empty. */
int
init_keep_capabilities(uint64_t mask)
{
    struct capability_sets sets;
    int r = capabilities_get(&sets);

    if (r < 0) {
        return r;
    }
    for (unsigned i = 0; i < 2; i++) {
        sets.data[i].permitted &= (uint32_t)(mask >> (32 * i));
        sets.data[i].effective = sets.data[i].permitted;
        sets.data[i].inheritable = 0;
    }
    return (int)SYS(capset, &sets.header, sets.data, 0, 0, 0, 0);
}

int
op_hostname(struct init *init, const struct wire_op *op)
{
    const char *name = init_text(init, op->a);

    return (int)SYS(sethostname, name, strlen(name), 0, 0, 0, 0);
}

/* Without keyrings in the kernel there is none to leave. */
int
op_session(struct init *init, const struct wire_op *op)
{
    long r = SYS(setsid, 0, 0, 0, 0, 0, 0);

    if (r >= 0) {
        r = SYS(keyctl, KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0, 0);
        r = r == -ENOSYS ? 0 : r;
    }
    return r < 0 ? (int)r : 0;
}

/* A limit of the host that is lower stays: nobody in a user namespace can raise it. */
int
op_rlimit(struct init *init, const struct wire_op *op)
{
    struct rlimit64 host = { 0 };
    int r;

    if (op->a >= INIT_LIMITS) {
        return -EINVAL;
    }
    r = (int)SYS(prlimit64, 0, op->a, 0, &host, 0, 0);
    if (r < 0) {
        return r;
    }
    init->limits[op->a] =
            (struct limit){ .set = true, .hard = op->y < host.rlim_max ? op->y : host.rlim_max };
    init->limits[op->a].soft = op->x < init->limits[op->a].hard ? op->x : init->limits[op->a].hard;
    return 0;
}

/* Who has no capability at all needs no smaller bounding set: no_new_privs sees to it. */
static int
empty_bounding_set(void)
{
    struct capability_sets sets;
    int r = capabilities_get(&sets);

    if (r < 0 || (sets.data[0].permitted | sets.data[1].permitted) == 0) {
        return r;
    }
    for (unsigned long capability = 0; capability < 64; capability++) {
        r = sys_prctl(PR_CAPBSET_DROP, capability, 0);
        if (r == -EINVAL && capability > CAP_CHECKPOINT_RESTORE - 1) {
            return 0; /* beyond the last one this kernel knows */
        }
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

int
op_drop_capabilities(struct init *init, const struct wire_op *op)
{
    int r = empty_bounding_set();

    if (r == 0) {
        r = sys_prctl(PR_SET_NO_NEW_PRIVS, 1, 0);
    }
    return r < 0 ? r : init_keep_capabilities(op->x);
}

/* ---- Landlock ---- */

/* As landlock(7); the exported header may be older. */
struct ruleset {
    uint64_t files, net, scoped;
};
#define FILE_RIGHTS                                                                                \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE |   \
            1ull << 14 /* TRUNCATE */ | 1ull << 15 /* IOCTL_DEV */)

/* An older kernel refuses a longer structure than it knows, so it is as long as what is asked. */
int
op_landlock(struct init *init, const struct wire_op *op)
{
    const struct ruleset ruleset = { op->x, op->y, op->a };
    size_t size = sizeof ruleset.files;
    int fd;

    if (ruleset.scoped != 0) {
        size = sizeof ruleset;
    } else if (ruleset.net != 0) {
        size = offsetof(struct ruleset, scoped);
    }
    fd = (int)SYS(landlock_create_ruleset, &ruleset, size, 0, 0, 0, 0);
    if (fd < 0) {
        return fd;
    }
    init->landlock = fd;
    return 0;
}

static int
add_rule(struct init *init, int fd, uint64_t access)
{
    struct landlock_path_beneath_attr rule = { .allowed_access = access, .parent_fd = fd };
    struct statx status = { 0 };
    int r = (int)SYS(statx, fd, "", AT_EMPTY_PATH, STATX_TYPE, &status, 0);

    if (r < 0) {
        return r;
    }
    if ((status.stx_mode & SYS_TYPE_MASK) != SYS_TYPE_DIRECTORY) {
        rule.allowed_access &= FILE_RIGHTS; /* else EINVAL */
    }
    if (rule.allowed_access == 0) {
        return 0;
    }
    return (int)SYS(landlock_add_rule, init->landlock, LANDLOCK_RULE_PATH_BENEATH, &rule, 0, 0, 0);
}

int
op_landlock_path(struct init *init, const struct wire_op *op)
{
    const char *path = init_text(init, op->b);
    int fd = (op->flags & OPF_MAY_VANISH) != 0 ? init_open_box(init, path, O_PATH)
                                               : init_open_linked(init, path);
    int r;

    if (fd < 0) {
        return fd;
    }
    r = add_rule(init, fd, op->x);
    sys_close(fd);
    return r;
}

int
op_landlock_self(struct init *init, const struct wire_op *op)
{
    int r = (int)SYS(landlock_restrict_self, init->landlock, 0, 0, 0, 0, 0);

    init->landlock_self = r == 0;
    return r;
}
