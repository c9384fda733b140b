/* SPDX-License-Identifier: Apache-2.0
 * What a policy needs against what the host has: one table.  Nothing is weakened silently; a policy
 * may say "best effort", and then only what stays closed goes on. */
#include "plan/compile.h"

#include "base/mem.h"
#include "base/path.h"

#include <string.h>

/* A need that is there and has no means refuses the box.  `essential`: also with best effort, since
 * without it something denied would work. */
struct need {
    bool is_there, has_means, essential;
    const char *step, *rule; /* step: "plan:..." ; rule: what needs it, or "" */
    const char *text, *remedy;
    bool of_build; /* no host has it */
};

/* The id of the first rule with this verdict on this access at an anchor, or NULL. */
static const char *
find_rule(const struct compiler *compiler, uint32_t access, abx_verdict verdict)
{
    for (size_t i = 0; i < compiler->anchors.count; i++) {
        const char *path = *vec_at(&compiler->anchors, const char *, i);
        struct ruling ruling;

        if (compile_decide(compiler, path, access, &ruling) == verdict && !ruling.from_default) {
            return ruling.id;
        }
    }
    return NULL;
}

static const char *
rule_at(const struct compiler *compiler, const char *path, uint32_t access)
{
    struct ruling ruling;

    if (path == NULL) {
        return "";
    }
    compile_decide(compiler, path, access, &ruling);
    return ruling.id;
}

static const char *
first_masked(const struct plan *plan)
{
    for (size_t i = 0; i < plan->places.count; i++) {
        const struct place *place = vec_at(&plan->places, struct place, i);

        if (place->read != ABX_VERDICT_ALLOW) {
            return place->path;
        }
    }
    return NULL;
}

/* Denied reads are told by the mask; without it every open is decided by the broker. */
static void
choose_mask(struct compiler *compiler, const char *ask_read)
{
    struct plan *plan = compiler->plan;
    bool must_tell = !plan->silent_reads || ask_read != NULL || plan->decoys.count > 0;

    if (first_masked(plan) == NULL || !must_tell) {
        return;
    }
    if (plan_has_mounts(plan) && plan->capabilities.fuse) {
        plan->mask = true;
    } else {
        plan->read_patterns = true;
    }
}

/* Whether the policy names a socket of the host that has no path. */
static abx_status
find_abstract(const struct compiler *compiler, bool *ret_found)
{
    struct vec sockets = VEC(const char *);
    abx_status r = policy_sockets(compiler->policy, &sockets, compiler->fail);

    *ret_found = false;
    for (size_t i = 0; i < sockets.count; i++) {
        *ret_found |= (*vec_at(&sockets, const char *, i))[0] == '@';
    }
    vec_done(&sockets);
    return r;
}

static const char *
text_or_empty(const char *text)
{
    return text == NULL ? "" : text;
}

/* What is missing inside another sandbox is usually there outside: no other remedy helps. */
static abx_status
refuse(struct compiler *compiler, const struct need *need)
{
    const bool is_nested = compiler->plan->capabilities.nested && !need->of_build;

    fail_set(compiler->fail, ABX_ERR_UNSUPPORTED, 0, need->step, "%s%s%s%s", need->rule,
            need->rule[0] == '\0' ? "" : ": ", need->text,
            is_nested ? ": this process is already inside a sandbox" : "");
    fail_remedy(compiler->fail, "%s%s",
            is_nested ? "start it outside of that sandbox, whose rules hold for it anyway; or "
                      : "",
            need->remedy);
    return ABX_ERR_UNSUPPORTED;
}

abx_status
compile_needs(struct compiler *compiler)
{
    struct plan *plan = compiler->plan;
    const struct capabilities *found = &plan->capabilities;
    const struct policy_settings *settings = compiler->settings;
    const char *ask_read = find_rule(compiler, ABX_ACCESS_READ, ABX_VERDICT_ASK);
    const char *ask_write = find_rule(compiler, ABX_ACCESS_WRITE, ABX_VERDICT_ASK);
    const char *guard = plan->guards.count > 0 ? *vec_at(&plan->guards, char *, 0) : NULL;
    bool has_mounts = plan_has_mounts(plan);
    bool is_root_masked = vec_at(&plan->places, struct place, 0)->read != ABX_VERDICT_ALLOW;
    const char *restricted = policy_host_restriction(compiler->policy);
    const char *believed = policy_adds_trust(compiler->policy);
    bool has_abstract;

    if (find_abstract(compiler, &has_abstract) < 0) {
        return compiler->fail->status;
    }
    choose_mask(compiler, ask_read);
    const struct need needs[] = {
        /* What this build does not do, whatever the host has. */
        { settings->weaken_nested_namespaces, false, true, "plan:weaken", "/weaken",
                "nested namespaces are not enforced by this build", "leave this weakening out",
                true },
        { settings->run_as != NULL, false, true, "plan:run-as", "/run_as",
                "not enforced by this build", "start the host as that user", true },
        /* What depends on the host. */
        { true, found->rung != RUNG_NONE, true, "plan:rung", "",
                "the host has neither user namespaces nor Landlock and seccomp notification",
                "allow unprivileged user namespaces, or use a kernel with Landlock" },
        { !has_mounts, found->landlock_abi >= LANDLOCK_SCOPES && found->seccomp_notify, true,
                "plan:rung", "",
                "without user namespaces seccomp notification is needed, and Landlock that keeps "
                "signals in the box",
                "allow unprivileged user namespaces, or use Linux 6.12 or later" },
        { plan->inputs.count > 0, has_mounts, true, "plan:inputs", "/filesystem/inputs",
                "inputs need user namespaces", "allow unprivileged user namespaces" },
        { plan->decoys.count > 0, plan->mask || first_masked(plan) == NULL, true, "plan:decoys",
                "/filesystem/decoys", "decoys need user namespaces and /dev/fuse",
                "make /dev/fuse accessible (mode 0666, as udev does)" },
        { guard != NULL || plan->guard_patterns, found->seccomp_notify, false, "plan:guards",
                rule_at(compiler, guard, ABX_ACCESS_WRITE),
                "names that do not exist yet are protected by seccomp notification only",
                "use a kernel and a container that allow seccomp notification" },
        { ask_read != NULL || ask_write != NULL, found->seccomp_notify, false, "plan:ask",
                text_or_empty(ask_read != NULL ? ask_read : ask_write),
                "a call can be held only with seccomp notification",
                "turn the rule into allow or deny" },
        { plan->read_patterns, found->seccomp_notify, true, "plan:reads",
                rule_at(compiler, first_masked(plan), ABX_ACCESS_READ),
                "denied reads are reported by /dev/fuse or seccomp notification, and there is "
                "neither",
                "make /dev/fuse accessible, or say \"feedback\": {\"reads\": \"silent\"}" },
        { plan->decide_exec, found->seccomp_notify, false, "plan:exec", "/filesystem/exec",
                "exec rules need seccomp notification", "leave the exec rules out" },
        { plan->restrict_exec, found->landlock_abi > 0, true, "plan:exec", "/filesystem/exec/allow",
                "running listed programs only needs Landlock", "use a kernel with Landlock" },
        { !found->net_namespace, found->seccomp_notify, true, "plan:network", "/network/mode",
                "the host has neither network namespaces nor seccomp notification",
                "allow unprivileged user namespaces" },
        { plan->network != NETWORK_NONE, found->seccomp_notify, true, "plan:network",
                "/network/mode", "connections are decided by seccomp notification only",
                "use a kernel and a container that allow it, or the network mode \"none\"" },
        { plan->network == NETWORK_HOST && restricted != NULL, false, true, "plan:network",
                text_or_empty(restricted), "no rule about hosts holds in the network of the host",
                "leave the rule out, or use the network mode \"filtered\"", true },
        { plan->network == NETWORK_FILTERED && believed != NULL, plan_adds_trust(plan), false,
                "plan:trust", text_or_empty(believed),
                "programs would not believe the box's authority: it is shown to them in files "
                "below /run, which need user namespaces and that directory",
                "allow unprivileged user namespaces, or leave rules about requests, credentials "
                "and extra_ca out" },
        { plan->host_ports.count > HOST_PORTS_MAX, false, true, "plan:network",
                "/network/host_loopback", "that many ports of the host cannot be in a box",
                "list the ports that are needed", true },
        { plan_has_network(plan) && has_abstract, false, true, "plan:sockets", "/network/sockets",
                "sockets without a path are not reached from a network of its own",
                "name the socket's path, or leave it out", true },
        { has_mounts && !found->fresh_proc, found->landlock_abi > 0, true, "plan:proc", "",
                "without a /proc of its own a box needs Landlock", "run outside of a container" },
        { settings->limits[ABX_LIMIT_PROCESSES] != 0,
                found->uid != 0 || found->cgroup || found->own_pid_max, false, "plan:limits",
                "/limits/processes", "this kernel does not limit the processes of root in a box",
                "start the host as an ordinary user, delegate a cgroup v2 directory to it, or use "
                "Linux 6.14 or later" },
        { is_root_masked, has_mounts || found->landlock_abi > 0, true, "plan:reads",
                rule_at(compiler, "/", ABX_ACCESS_READ), "reads cannot be restricted",
                "use a kernel with Landlock" },
    };

    for (size_t i = 0; i < N_ELEMENTS(needs); i++) {
        if (needs[i].is_there && !needs[i].has_means &&
                (needs[i].essential || !settings->weaken_best_effort)) {
            return refuse(compiler, &needs[i]);
        }
    }
    return ABX_OK;
}
