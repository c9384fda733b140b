/* SPDX-License-Identifier: Apache-2.0
 * What stands between the commands of a box and the host, layer by layer, as found: for people who
 * ask and for the record.  States: "on", "off" (the host has it not), "unused" (nothing needs it).
 */
#include "linux/own.h"

#include "base/mem.h"
#include "base/str.h"
#include "linux/mask/mask.h"

#include <inttypes.h>

/* All texts are plain ASCII without quotes. */
static void
layer(struct str *out, const char *mechanism, const char *state, const char *detail)
{
    str_printf(out, "%s{\"mechanism\":\"%s\",\"state\":\"%s\",\"detail\":\"%s\"}",
            out->length == 1 ? "" : ",", mechanism, state, detail);
}

static const char *
on(bool is_on)
{
    return is_on ? "on" : "off";
}

static void
namespaces(struct str *out, const struct capabilities *has)
{
    layer(out, "user namespace", on(has->user_namespace),
            !has->user_namespace ? "no new privileges, no capabilities"
            : has->uid == 0      ? "ids of the host mapped onto themselves, no capabilities"
                                 : "one id mapped, setgroups denied");
    layer(out, "mounts", on(has->mount_namespace),
            has->mount_namespace
                    ? "the host read-only, writable places bound, private tmp, dev, run"
                    : "the host as it is, confined by Landlock and the broker");
    layer(out, "pid namespace", on(has->pid_namespace),
            has->pid_namespace ? "processes of the host do not exist"
                               : "processes of the host are listed, Landlock and the broker keep "
                                 "from reaching them");
    layer(out, "proc", on(has->fresh_proc),
            has->fresh_proc ? "of the box" : "the host\'s: others are listed, not reached");
    layer(out, "ipc and uts namespaces", on(has->user_namespace),
            has->user_namespace ? "no shared memory with the host"
                                : "System V IPC and message queues are refused");
}

static void
network(struct str *out, const struct plan *plan)
{
    if (plan->network == NETWORK_HOST) {
        layer(out, "net namespace", "unused", "the network of the host, as the policy says");
    } else if (plan_has_gateway(plan)) {
        layer(out, "net namespace", "on",
                "loopback of the box, and a gateway behind it at which every other address ends");
    } else if (plan_has_network(plan)) {
        layer(out, "net namespace", "on", "loopback of the box only");
    } else if (plan->network == NETWORK_FILTERED) {
        layer(out, "net namespace", "off",
                "connections are decided by the broker alone, by address; names are for the proxy");
    } else {
        layer(out, "net namespace", "off", "connections are decided by the broker alone");
    }
}

static void
broker(struct str *out, const struct boundary *boundary)
{
    const struct plan *plan = boundary->plan;
    const struct capabilities *has = &plan->capabilities;
    const char *guards = "nothing is guarded";

    if (plan->guard_patterns) {
        guards = "every writable directory is guarded";
    } else if (plan->guards.count > 0) {
        guards = "directories that could get a protected name are guarded";
    }
    layer(out, "broker", on(has->seccomp_notify),
            has->seccomp_notify ? guards : "denials have no reasons");
    layer(out, "denied reads", has->fuse && boundary->mask != NULL ? "on" : "unused",
            plan->read_patterns      ? "every open is decided by name"
            : boundary->mask != NULL ? "masked by a served file system"
            : plan->silent_reads     ? "covered by something empty, without events"
                                     : "nothing is masked");
}

static void
limits(struct str *out, const struct boundary *boundary)
{
    const bool cgroup = boundary->own->cgroup != NULL;
    const uint64_t *limit = boundary->plan->limits;
    /* The kernel's limit for root is pid_max, which a pid namespace has of its own since 6.14. */
    const bool unlimited = boundary->plan->capabilities.uid == 0 && !cgroup &&
                           limit[ABX_LIMIT_PROCESSES] != 0 && boundary->own->optional_failed != 0;
    struct str detail = { 0 };

    str_printf(&detail, "memory %" PRIu64 ", processes %" PRIu64 " (0 is none), by %s",
            limit[ABX_LIMIT_MEMORY], limit[ABX_LIMIT_PROCESSES],
            cgroup ? "cgroup" : "resource limits of each process");
    if (unlimited) {
        str_add(&detail, "; the number of processes is not limited on this kernel");
    }
    layer(out, "limits", unlimited ? "partly" : "on", detail.failed ? "" : detail.data);
    out->failed = out->failed || detail.failed;
    str_done(&detail);
}

char *
boundary_receipt(struct boundary *boundary)
{
    const struct capabilities *has = &boundary->plan->capabilities;
    struct str out = { 0 };
    struct str detail = { 0 };

    str_add(&out, "[");
    namespaces(&out, has);
    network(&out, boundary->plan);
    str_printf(&detail, "ABI %" PRIu32, has->landlock_abi);
    layer(&out, "landlock", on(has->landlock_abi > 0), detail.failed ? "" : detail.data);
    out.failed = out.failed || detail.failed;
    str_done(&detail);
    layer(&out, "seccomp", "on", "foreign ABIs are killed; refused calls are in the documentation");
    broker(&out, boundary);
    limits(&out, boundary);
    str_add(&out, "]");
    return str_steal(&out, NULL);
}
