/* SPDX-License-Identifier: Apache-2.0
 * Prints a plan, one line a fact, in a fixed order.  Pure. */
#include "plan/plan.h"

#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void
add_path(struct str *out, const char *path)
{
    str_add_escaped(out, path, strlen(path), true);
}

static void
add_places(struct str *out, const struct plan *plan)
{
    for (size_t i = 0; i < plan->places.count; i++) {
        const struct place *place = vec_at(&plan->places, struct place, i);

        str_add(out, "place ");
        add_path(out, place->path);
        str_printf(out, "%s read=%s write=%s%s%s%s\n", place->is_directory ? "" : " (file)",
                verdict_words[place->read], verdict_words[place->write],
                place->guarded ? " guarded" : "", place->no_exec ? " noexec" : "",
                place->by_default ? " by-default" : "");
    }
}

static void
add_privates(struct str *out, const struct plan *plan)
{
    static const char *const kinds[] = { "tmpfs", "dev", "proc", "file", "socket", "bundle",
        "truststore" };

    for (size_t i = 0; i < plan->privates.count; i++) {
        const struct private_place *own = vec_at(&plan->privates, struct private_place, i);

        str_printf(out, "private %s ", kinds[own->kind]);
        add_path(out, own->path);
        str_add(out, own->writable ? " writable" : "");
        if (own->content != NULL) {
            str_add(out, " ");
            add_path(out, own->content);
        }
        str_add(out, "\n");
    }
}

static void
add_texts(struct str *out, const char *name, const struct vec *texts)
{
    for (size_t i = 0; i < texts->count; i++) {
        str_printf(out, "%s ", name);
        add_path(out, *vec_at(texts, char *, i));
        str_add(out, "\n");
    }
}

static void
add_pairs(struct str *out, const struct plan *plan)
{
    for (size_t i = 0; i < plan->links.count; i++) {
        const struct plan_link *link = vec_at(&plan->links, struct plan_link, i);

        str_add(out, "link ");
        add_path(out, link->path);
        str_add(out, " -> ");
        add_path(out, link->target);
        str_add(out, "\n");
    }
    for (size_t i = 0; i < plan->inputs.count; i++) {
        const struct plan_input *input = vec_at(&plan->inputs, struct plan_input, i);

        str_add(out, "input ");
        add_path(out, input->from);
        str_add(out, " as ");
        add_path(out, input->as);
        str_add(out, "\n");
    }
}

static void
add_settings(struct str *out, const struct plan *plan)
{
    static const char *const limits[8] = { NULL, "memory", "processes", "cpu-ms", "wall-ms",
        "file-size", "output", NULL };
    const struct {
        bool is_set;
        const char *name;
    } flags[] = {
        { plan->mask, "mask" },
        { plan->guard_patterns, "guard-patterns" },
        { plan->read_patterns, "read-patterns" },
        { plan->silent_reads, "silent-reads" },
        { plan->decide_exec, "decide-exec" },
        { plan->restrict_exec, "restrict-exec" },
    };

    for (size_t i = 0; i < N_ELEMENTS(flags); i++) {
        if (flags[i].is_set) {
            str_printf(out, "flag %s\n", flags[i].name);
        }
    }
    for (size_t i = 0; i < N_ELEMENTS(limits); i++) {
        if (limits[i] != NULL && plan->limits[i] != 0) {
            str_printf(out, "limit %s %" PRIu64 "\n", limits[i], plan->limits[i]);
        }
    }
    str_printf(out, "network %s\n", network_words[plan->network]);
    for (size_t i = 0; i < plan->host_ports.count; i++) {
        str_printf(out, "host-port %u\n", *vec_at(&plan->host_ports, uint16_t, i));
    }
    if (plan->bundle != NULL) {
        str_add(out, "bundle ");
        add_path(out, plan->bundle);
        str_add(out, "\n");
    }
    str_printf(out, "hostname %s\n", plan->hostname);
}

const char *
rung_name(enum rung rung)
{
    static const char *const names[] = { "none", "C", "B'", "B", "A--", "A-", "A", "simulated" };

    return names[rung];
}

const char *
rung_detail(enum rung rung)
{
    static const char *const details[] = {
        "there is nothing here that holds a box",
        "no namespaces: Landlock, seccomp and the broker alone; no private /tmp, no inputs, no "
        "decoys, "
        "processes of the host are listed but not reached",
        "no network namespace: every connection is decided by the broker",
        "no /proc of its own: processes of the host are listed but not reached",
        "no broker: refusals make no events, nothing is held, and protected names must exist",
        "no Landlock: no second wall behind the mounts, git's names can be raced, no exec.allow",
        "all walls stand; limits of the whole box are apart",
        "nothing is enforced, and no program runs",
    };

    return details[rung];
}

static void
add_capabilities(struct str *out, const struct capabilities *found)
{
    str_printf(out, "rung %s landlock=%u notify=%d fuse=%d proc=%d net=%d uid=%u gid=%u\n",
            rung_name(found->rung), found->landlock_abi, found->seccomp_notify, found->fuse,
            found->fresh_proc, found->net_namespace, found->uid, found->gid);
}

char *
plan_dump(const struct plan *plan)
{
    static const char *const roots[] = { "host", "mask", "pieces" };
    struct str out = { 0 };

    add_capabilities(&out, &plan->capabilities);
    str_printf(&out, "root %s\n", roots[plan->root]);
    add_places(&out, plan);
    add_privates(&out, plan);
    add_pairs(&out, plan);
    add_texts(&out, "guard", &plan->guards);
    add_texts(&out, "git", &plan->git_roots);
    add_texts(&out, "git-inside", &plan->git_inside);
    add_texts(&out, "exec", &plan->exec_allowed);
    add_texts(&out, "decoy", &plan->decoys);
    add_settings(&out, plan);
    return str_steal(&out, NULL);
}
