/* SPDX-License-Identifier: Apache-2.0
 * Lowers a plan to init's program: the order of stages, and all stages but mounts and Landlock,
 * which have files of their own.  Looks at the host only through the view; any thread. */
#include "linux/lower/lower.h"

#include "base/mem.h"
#include "base/path.h"
#include "linux/filter/filter.h"
#include "linux/lower/lower_view.h"
#include "plan/network.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* init binds directories made later, and enters the gateway to make listeners. */
#define CAPABILITY_SYS_ADMIN (1ull << 21)
#define CAPABILITY_NET_BIND_SERVICE (1ull << 10)

void
lower_op(struct lowering *lowering, uint16_t code, const char *step, const char *a, const char *b,
        uint64_t x, uint64_t y, uint16_t flags)
{
    struct wire_op *op = program_op(&lowering->program, code, step, a, b);

    if (op != NULL) {
        op->x = x;
        op->y = y;
        op->flags = flags;
    }
}

void
lower_content(struct lowering *lowering, const char *step, const void *content, size_t length,
        const char *path, uint32_t mode)
{
    program_op_bytes(&lowering->program, OP_FILE, step, content, length, path)->x = mode;
}

static const char *
verb_of(uint16_t code)
{
    static const char *const verbs[] = {
        [OP_BIND] = "bind",
        [OP_TMPFS] = "mount",
        [OP_PROC] = "mount",
        [OP_DEVPTS] = "mount",
        [OP_MKDIR] = "make",
        [OP_SYMLINK] = "make",
        [OP_STAND_IN] = "make",
        [OP_DEVICE] = "device",
        [OP_REMOUNT] = "remount",
        [OP_WRITE] = "write",
    };

    return code < N_ELEMENTS(verbs) && verbs[code] != NULL ? verbs[code] : "do";
}

void
lower_at(struct lowering *lowering, uint16_t code, const char *a, const char *path, uint64_t x,
        uint64_t y, uint16_t flags)
{
    struct str step = { 0 };
    struct str box = { 0 };

    str_printf(&step, "%s:%s", verb_of(code), path);
    str_printf(&box, "%s%s", STAGE_ROOT, strcmp(path, "/") == 0 ? "" : path);
    if (step.failed || box.failed) {
        lowering->program.failed = true;
    } else {
        lower_op(lowering, code, step.data, a, box.data, x, y, flags);
    }
    str_done(&step);
    str_done(&box);
}

void
lower_text_at(struct lowering *lowering, const char *text, const char *path, uint32_t mode)
{
    struct str step = { 0 };
    struct str box = { 0 };

    str_printf(&step, "make:%s", path);
    str_printf(&box, "%s%s", STAGE_ROOT, path);
    if (step.failed || box.failed) {
        lowering->program.failed = true;
    } else {
        lower_content(lowering, step.data, text, strlen(text), box.data, mode);
    }
    str_done(&step);
    str_done(&box);
}

void
lower_mounted(struct lowering *lowering, const char *path, bool own)
{
    struct mounted *mounted = vec_add(&lowering->mounted);

    if (mounted == NULL) {
        lowering->program.failed = true;
        return;
    }
    mounted->path = path;
    mounted->own = own;
}

/* Host writes the maps of a root host; another one has its own id only, mapped onto itself. */
static void
lower_maps(struct lowering *lowering)
{
    const struct capabilities *found = &lowering->plan->capabilities;
    char uid_map[40];
    char gid_map[40];

    snprintf(uid_map, sizeof uid_map, "%" PRIu32 " %" PRIu32 " 1\n", found->uid, found->uid);
    snprintf(gid_map, sizeof gid_map, "%" PRIu32 " %" PRIu32 " 1\n", found->gid, found->gid);
    lower_op(lowering, OP_WRITE_MAPS, "write:maps", uid_map, gid_map, 0, 0, OPF_DENY_SETGROUPS);
}

static void
lower_rlimit(struct lowering *lowering, uint32_t resource, const char *step, uint64_t value)
{
    struct wire_op *op = program_op(&lowering->program, OP_RLIMIT, step, NULL, NULL);

    if (op != NULL) {
        op->a = resource;
        op->x = value;
        op->y = value;
    }
}

/* Memory is counted for the whole box only by a cgroup; without one, RLIMIT_DATA bounds each
 * process (RLIMIT_AS would stop what only reserves addresses).  RLIMIT_NPROC counts in the box's
 * user namespace and is not looked at for kernel uid 0, which kernel.pid_max bounds; one more may
 * wait for the next command. */
static void
lower_limits(struct lowering *lowering)
{
    const struct plan *plan = lowering->plan;
    const uint64_t *limits = plan->limits;

    lower_rlimit(lowering, RLIMIT_CORE, "limit:core", 0);
    if (limits[ABX_LIMIT_FILE_SIZE] != 0) {
        lower_rlimit(lowering, RLIMIT_FSIZE, "limit:file-size", limits[ABX_LIMIT_FILE_SIZE]);
    }
    if (limits[ABX_LIMIT_MEMORY] != 0) {
        lower_rlimit(lowering, RLIMIT_DATA, "limit:memory", limits[ABX_LIMIT_MEMORY]);
    }
    if (limits[ABX_LIMIT_PROCESSES] != 0 && plan->capabilities.uid != 0) {
        lower_rlimit(lowering, RLIMIT_NPROC, "limit:processes", limits[ABX_LIMIT_PROCESSES] + 1);
    }
}

static void
lower_socket(struct lowering *lowering, uint32_t type, const char *step, const char *address,
        uint16_t port)
{
    struct wire_op *op = program_op(&lowering->program, OP_SOCKET, step, NULL, address);

    if (op != NULL) {
        op->a = type;
        op->x = port;
    }
}

/* The name server's sockets, listeners at the ports of the host's loopback, and the way out. */
static void
lower_network(struct lowering *lowering)
{
    const struct plan *plan = lowering->plan;

    lower_op(lowering, OP_LOOPBACK_UP, "network:lo", NULL, NULL, 0, 0, 0);
    lower_socket(
            lowering, SOCK_DGRAM, "socket:dns-udp", NETWORK_NAME_SERVER, NETWORK_NAME_SERVER_PORT);
    lower_socket(
            lowering, SOCK_STREAM, "socket:dns-tcp", NETWORK_NAME_SERVER, NETWORK_NAME_SERVER_PORT);
    for (size_t i = 0; i < plan->host_ports.count; i++) {
        const uint16_t port = *vec_at(&plan->host_ports, uint16_t, i);

        lower_socket(lowering, SOCK_STREAM, "socket:host-loopback", "127.0.0.1", port);
        lower_socket(lowering, SOCK_STREAM, "socket:host-loopback", "::1", port);
    }
    if (plan_has_gateway(plan)) {
        lower_op(lowering, OP_GATEWAY, "network:gateway", NULL, NULL, 0, 0, 0);
        lower_op(lowering, OP_WATCH, "network:watch", NULL, NULL, 0, 0, 0);
    }
}

static abx_status
lower_filter(struct lowering *lowering, struct fail *fail)
{
    const struct capabilities *found = &lowering->plan->capabilities;

    if (found->seccomp_notify) {
        lowering->program.filter_flags =
                WIRE_FILTER_NOTIFY | (found->seccomp_killable ? WIRE_FILTER_KILLABLE : 0) |
                (plan_shares_network(lowering->plan) ? WIRE_FILTER_SENDMSG : 0);
    }
    vec_done(&lowering->program.filter);
    return filter_build(lowering->plan, &lowering->program.filter, fail);
}

static void
lower_stages(struct lowering *lowering, bool host_writes_maps)
{
    const struct plan *plan = lowering->plan;
    bool has_mounts = plan_has_mounts(plan);

    if (has_mounts) {
        if (!host_writes_maps) {
            lower_maps(lowering);
        }
        lower_view(lowering);
        lower_op(lowering, OP_PIVOT, "pivot:/", NULL, STAGE_ROOT, 0, 0, 0);
        lower_op(lowering, OP_HOSTNAME, "hostname:box", plan->hostname, NULL, 0, 0, 0);
    }
    lower_op(lowering, OP_SESSION, "session:new", NULL, NULL, 0, 0, 0);
    lower_limits(lowering);
    if (plan_has_network(plan)) {
        lower_network(lowering);
    }
    lower_op(lowering, OP_DROP_CAPABILITIES, "capabilities:drop", NULL, NULL,
            (has_mounts ? CAPABILITY_SYS_ADMIN : 0) |
                    (plan_has_gateway(plan) ? CAPABILITY_NET_BIND_SERVICE : 0),
            0, 0);
    lower_landlock(lowering);
    lower_op(lowering, OP_READY, "ready:box", NULL, NULL, 0, 0, 0);
}

abx_status
lower(const struct plan *plan, const struct host_view *host, const struct trust_files *trust,
        bool host_writes_maps, void **ret_bytes, size_t *ret_size, struct fail *fail)
{
    struct lowering lowering = { .plan = plan,
        .host = host,
        .trust = trust,
        .mounted = VEC(struct mounted),
        .made = VEC(char *) };
    abx_status r;

    if (plan_adds_trust(plan) && trust == NULL) {
        return fail_set(fail, ABX_ERR_INTERNAL, 0, "lower:trust", "nobody to believe was given");
    }
    program_init(&lowering.program);
    lower_stages(&lowering, host_writes_maps);
    r = lower_filter(&lowering, fail);
    if (r >= 0) {
        r = program_finish(&lowering.program, ret_bytes, ret_size, fail);
    }
    for (size_t i = 0; i < lowering.made.count; i++) {
        free(*vec_at(&lowering.made, char *, i));
    }
    vec_done(&lowering.made);
    vec_done(&lowering.mounted);
    program_done(&lowering.program);
    return r;
}
