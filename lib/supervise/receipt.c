/* SPDX-License-Identifier: Apache-2.0
 * The receipt of a box: what enforces its policy, in which spelling, and what is weaker than it
 * could be.  Read from the plan and the backend; changes nothing. */
#include "supervise/box.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void
add_bytes(struct str *out, const char *name, const char *bytes)
{
    str_printf(out, "\"%s\":", name);
    str_add_json_bytes(out, bytes, true);
}

/* Rules on symbolic links, as written and as they stand. */
static void
add_links(struct str *out, abx_box *box)
{
    const struct host_view *host = box->context->backend->host;
    struct vec paths = VEC(const char *);
    struct fail fail = { 0 };
    const char *comma = "";

    host_trouble(host); /* an older one is nothing to the receipt */
    out->failed = out->failed || policy_anchors(box->policy, &paths, &fail) < 0;
    for (size_t i = 0; i < paths.count; i++) {
        const char *path = *vec_at(&paths, const char *, i);
        AUTO(freep) char *real = host->real_path(host->data, path);

        if (real != NULL && strcmp(real, path) != 0) {
            str_printf(out, "%s{", comma);
            add_bytes(out, "written", path);
            str_add(out, ",");
            add_bytes(out, "real", real);
            str_add(out, "}");
            comma = ",";
        }
    }
    vec_done(&paths);
    out->failed = out->failed || host_trouble(host) != 0;
}

/* What this host or this policy makes weaker than the strongest boundary, and what follows. */
static void
add_weaker(struct str *out, const abx_box *box)
{
    const struct capabilities *can = &box->plan.capabilities;
    const struct policy_settings *settings = policy_get_settings(box->resolved);
    const struct {
        bool applies;
        const char *what, *why;
    } weaker[] = {
        { box->context->backend->attempt != NULL, "simulated",
                "nothing is enforced, and no program runs: for tests of a harness" },
        { box->observed != NULL, "observe mode",
                "what no rule of the policy speaks of is allowed, and told" },
        { can->landlock_abi == 0, "no Landlock",
                "there is no second wall behind the mounts, and names of git can be raced" },
        { !can->seccomp_notify, "no system call notification",
                "denials have no reasons, and nothing can be held for approval" },
        { !can->user_namespace, "no user namespace", "no private /tmp and no hidden processes" },
        { can->user_namespace && !can->net_namespace, "no network namespace",
                "connections are refused by the broker, not by the kernel's routing" },
        { can->user_namespace && !can->fresh_proc, "no fresh /proc",
                "the host's list of processes is hidden, not absent" },
        { !can->fuse && !settings->silent_reads, "no FUSE",
                "each open is decided by the broker, which is slower" },
        { settings->silent_reads, "silent reads",
                "denied reads make no events: the policy says so" },
        { !can->cgroup, "no delegated cgroup",
                "the memory limit holds for what each process has of its own, not for the whole "
                "box" },
        { settings->network == NETWORK_HOST, "host network", "the policy weakens it" },
        { settings->weaken_nested_namespaces, "nested namespaces", "the policy weakens it" },
        { settings->weaken_best_effort, "best effort", "the policy weakens it" },
    };
    const char *comma = "";

    for (size_t i = 0; i < N_ELEMENTS(weaker); i++) {
        if (weaker[i].applies) {
            str_printf(out, "%s{\"what\":\"%s\",\"why\":\"%s\"}", comma, weaker[i].what,
                    weaker[i].why);
            comma = ",";
        }
    }
}

char *
box_receipt(abx_box *box, size_t *ret_length)
{
    const struct backend *backend = box->context->backend;
    AUTO(freep) char *mechanisms = backend->receipt(box->boundary);
    struct str out = { .failed = mechanisms == NULL };

    str_printf(&out, "{\"box\":%" PRIu64 ",\"backend\":\"%s\",\"rung\":\"%s\",\"policy\":\"%s\"",
            box->id, backend->name, rung_name(box->plan.capabilities.rung),
            abx_policy_get_digest(box->policy));
    str_add(&out, ",\"identity\":");
    identity_json(box->identity, &out);
    str_printf(&out, ",\"mechanisms\":%s,\"links\":[", mechanisms == NULL ? "[]" : mechanisms);
    add_links(&out, box);
    str_add(&out, "],\"weaker\":[");
    add_weaker(&out, box);
    str_printf(&out, "],\"canary\":%s}", box->canary == NULL ? "[]" : box->canary);
    return str_steal(&out, ret_length);
}
