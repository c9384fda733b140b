/* SPDX-License-Identifier: Apache-2.0
 * Lowers what is the box's own: devices, processes, scratch and the files about names; and covers
 * what the kernel shows of the whole machine. Knows nothing of policy; any thread. */
#include "linux/lower/lower_view.h"

#include "base/mem.h"
#include "base/path.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#define OWN_ATTRS (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define FILE_ATTRS (OWN_ATTRS | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY)
#define RESERVED_PIDS 300u /* the kernel's */

static enum host_kind
look(const struct lowering *lowering, const char *path)
{
    return lowering->host->look(lowering->host->data, path);
}

/* ---- /dev ---- */

static void
lower_dev(struct lowering *lowering)
{
    static const struct {
        const char *path, *target;
    } links[] = {
        { "/dev/fd", "/proc/self/fd" },
        { "/dev/ptmx", "pts/ptmx" },
        { "/dev/stderr", "/proc/self/fd/2" },
        { "/dev/stdin", "/proc/self/fd/0" },
        { "/dev/stdout", "/proc/self/fd/1" },
    };

    lower_at(lowering, OP_TMPFS, NULL, "/dev", 0755, 0, 0);
    for (size_t i = 0; plan_devices[i] != NULL; i++) {
        if (strcmp(plan_devices[i], "/dev/ptmx") != 0 &&
                look(lowering, plan_devices[i]) == HOST_OTHER) {
            lower_at(lowering, OP_DEVICE, plan_devices[i], plan_devices[i], 0, 0, 0);
        }
    }
    for (size_t i = 0; i < N_ELEMENTS(links); i++) {
        lower_at(lowering, OP_SYMLINK, links[i].target, links[i].path, 0, 0, 0);
    }
    lower_at(lowering, OP_MKDIR, NULL, "/dev/pts", 0755, 0, 0);
    lower_at(lowering, OP_DEVPTS, NULL, "/dev/pts", 0, 0, 0);
}

/* ---- /proc and /sys ---- */

/* kernel.pid_max belongs to the pid namespace since Linux 6.14; before, it is the whole machine's,
 * and a root host could change that.  Numbers below the reserved ones are given once and never
 * again, so those come on top; and are passed over at once, so that there are as many processes as
 * the limit says.  One more may wait for the next command. */
static void
lower_pid_max(struct lowering *lowering)
{
    uint64_t processes = lowering->plan->limits[ABX_LIMIT_PROCESSES];
    char text[24];

    if (!lowering->plan->capabilities.own_pid_max || processes == 0 ||
            processes >= (1u << 22) - RESERVED_PIDS) {
        return;
    }
    snprintf(text, sizeof text, "%" PRIu64 "\n", processes + 1 + RESERVED_PIDS);
    lower_at(lowering, OP_WRITE, text, "/proc/sys/kernel/pid_max", 0, 0, OPF_OPTIONAL);
    snprintf(text, sizeof text, "%u\n", RESERVED_PIDS);
    lower_at(lowering, OP_WRITE, text, "/proc/sys/kernel/ns_last_pid", 0, 0, OPF_OPTIONAL);
}

static void
lower_proc(struct lowering *lowering)
{
    /* Process 1 is init: kernel uid 0 owns what /proc shows of it. */
    static const char *const read_only[] = { "/proc/1", "/proc/bus", "/proc/fs", "/proc/irq",
        "/proc/sys" };
    static const char *const covered[] = { "/proc/acpi", "/proc/asound", "/proc/kcore",
        "/proc/key-users", "/proc/keys", "/proc/kmsg", "/proc/kpagecgroup", "/proc/kpagecount",
        "/proc/kpageflags", "/proc/latency_stats", "/proc/sched_debug", "/proc/scsi",
        "/proc/sysrq-trigger", "/proc/timer_list" };

    if (!lowering->plan->capabilities.fresh_proc) {
        lower_at(lowering, OP_BIND, "/proc", "/proc", OWN_ATTRS | MOUNT_ATTR_RDONLY, 0,
                OPF_RECURSIVE);
        return;
    }
    lower_at(lowering, OP_PROC, NULL, "/proc", 0, 0, 0);
    lower_pid_max(lowering);
    for (size_t i = 0; i < N_ELEMENTS(read_only); i++) {
        if (look(lowering, read_only[i]) == HOST_DIRECTORY) {
            struct str from = { 0 };

            str_printf(&from, "%s%s", STAGE_ROOT, read_only[i]);
            if (from.failed) {
                lowering->program.failed = true;
            } else {
                lower_at(lowering, OP_BIND, from.data, read_only[i], OWN_ATTRS | MOUNT_ATTR_RDONLY,
                        0, OPF_FROM_BOX | OPF_RECURSIVE);
            }
            str_done(&from);
        }
    }
    for (size_t i = 0; i < N_ELEMENTS(covered); i++) {
        enum host_kind kind = look(lowering, covered[i]);

        if (kind == HOST_FILE || kind == HOST_DIRECTORY) {
            lower_cover(lowering, covered[i], kind == HOST_DIRECTORY);
        }
    }
}

/* What kernel uid 0 could read or change by file mode alone, without a capability. */
static void
lower_sys(struct lowering *lowering)
{
    static const char *const covered[] = { "/sys/devices/virtual/powercap", "/sys/firmware",
        "/sys/fs/bpf", "/sys/kernel/debug", "/sys/kernel/security", "/sys/kernel/tracing" };
    const struct place *place = plan_place_of(lowering->plan, "/sys");

    if (place == NULL || place->read != ABX_VERDICT_ALLOW) {
        return;
    }
    for (size_t i = 0; i < N_ELEMENTS(covered); i++) {
        if (look(lowering, covered[i]) == HOST_DIRECTORY) {
            lower_cover(lowering, covered[i], true);
        }
    }
}

/* ---- files and scratch ---- */

static bool
is_readable(const struct lowering *lowering, const char *path)
{
    const struct place *place = plan_place_of(lowering->plan, path);

    return place != NULL && place->read == ABX_VERDICT_ALLOW;
}

/* Over a file of the host goes one that was made in the stage. */
static void
lower_file(struct lowering *lowering, size_t i, const struct private_place *own)
{
    AUTO(freep) char *parent = path_parent(own->path);
    struct str stage = { 0 };

    if (parent == NULL) {
        lowering->program.failed = true;
        return;
    }
    if (plan_is_private(lowering->plan, parent)) {
        lower_target(lowering, parent, true);
        lower_text_at(lowering, own->content, own->path, 0644);
        return;
    }
    if (!is_readable(lowering, own->path)) {
        return;
    }
    str_printf(&stage, "/file%zu", i);
    if (stage.failed) {
        lowering->program.failed = true;
    } else {
        lower_content(lowering, "make:file", own->content, strlen(own->content), stage.data, 0444);
        lower_at(lowering, OP_BIND, stage.data, own->path, FILE_ATTRS, 0, OPF_FROM_BOX);
    }
    str_done(&stage);
}

/* One file of the stage at all its places, so its content is there once. */
static void
lower_trust(struct lowering *lowering, const struct private_place *own)
{
    const char *stage = own->kind == PRIVATE_BUNDLE ? STAGE_BUNDLE : STAGE_TRUSTSTORE;
    AUTO(freep) char *parent = path_parent(own->path);

    if (parent == NULL) {
        lowering->program.failed = true;
    } else if (plan_is_private(lowering->plan, parent) || is_readable(lowering, own->path)) {
        lower_target(lowering, own->path, false);
        lower_at(lowering, OP_BIND, stage, own->path, FILE_ATTRS, 0, OPF_FROM_BOX);
    }
}

/* Something to be found where the host's socket would be. */
static void
lower_socket(struct lowering *lowering, const struct private_place *own)
{
    AUTO(freep) char *parent = path_parent(own->path);

    if (parent == NULL) {
        lowering->program.failed = true;
    } else if (plan_is_private(lowering->plan, parent)) {
        lower_target(lowering, parent, true);
        lower_at(lowering, OP_STAND_IN, NULL, own->path, 0, 0, 0);
    }
}

static void
lower_tmpfs(struct lowering *lowering, const struct private_place *own)
{
    lower_at(lowering, OP_TMPFS, NULL, own->path, own->writable ? 01777 : 0755,
            own->writable ? lowering->plan->limits[ABX_LIMIT_MEMORY] : 0, 0);
}

void
lower_private(struct lowering *lowering, size_t i)
{
    const struct private_place *own = vec_at(&lowering->plan->privates, struct private_place, i);

    if (private_is_directory(own)) {
        lower_target(lowering, own->path, true);
    }
    switch (own->kind) {
    case PRIVATE_DEV:
        lower_dev(lowering);
        break;
    case PRIVATE_PROC:
        lower_proc(lowering);
        break;
    case PRIVATE_TMPFS:
        lower_tmpfs(lowering, own);
        break;
    case PRIVATE_FILE:
        lower_file(lowering, i, own);
        break;
    case PRIVATE_SOCKET:
        lower_socket(lowering, own);
        break;
    case PRIVATE_BUNDLE:
    case PRIVATE_TRUSTSTORE:
        lower_trust(lowering, own);
        break;
    }
    if (private_is_directory(own)) {
        lower_mounted(lowering, own->path, own->kind != PRIVATE_PROC);
    }
}

void
lower_close_privates(struct lowering *lowering)
{
    const struct plan *plan = lowering->plan;

    lower_sys(lowering);
    for (size_t i = 0; i < plan->privates.count; i++) {
        const struct private_place *own = vec_at(&plan->privates, struct private_place, i);

        if (own->kind == PRIVATE_DEV || (own->kind == PRIVATE_TMPFS && !own->writable)) {
            lower_at(lowering, OP_REMOUNT, NULL, own->path, MOUNT_ATTR_RDONLY, 0, 0);
        }
    }
    if (plan->root != ROOT_HOST) {
        lower_at(lowering, OP_REMOUNT, NULL, "/", MOUNT_ATTR_RDONLY, 0, 0);
    }
}
