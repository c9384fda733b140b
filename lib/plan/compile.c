/* SPDX-License-Identifier: Apache-2.0
 * Compiles a resolved policy to a plan: settings, inputs, decoys, exec rules and the root here, the
 * rest in the files that compile.h names.  Pure but for the host view. */
#include "plan/compile.h"

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Names looked at in each writable root for git directories; a walk of all would cost more than the
 * box. */
#define FIND_MAX 8192u

static abx_status
add_text(const struct compiler *compiler, struct vec *texts, const char *text)
{
    char **copy = vec_add(texts);

    if (copy == NULL) {
        return fail_nomem(compiler->fail);
    }
    *copy = strdup(text);
    return *copy == NULL ? fail_nomem(compiler->fail) : ABX_OK;
}

static void
init_plan(struct plan *plan, const struct capabilities *capabilities)
{
    *plan = (struct plan){
        .places = VEC(struct place),
        .privates = VEC(struct private_place),
        .links = VEC(struct plan_link),
        .guards = VEC(char *),
        .git_roots = VEC(char *),
        .git_trees = VEC(char *),
        .git_inside = VEC(char *),
        .patterns = VEC(char *),
        .exec_allowed = VEC(char *),
        .inputs = VEC(struct plan_input),
        .decoys = VEC(char *),
        .host_ports = VEC(uint16_t),
        .capabilities = *capabilities,
    };
}

static int
compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static abx_status
add_anchors(struct compiler *compiler, const struct vec *texts)
{
    for (size_t i = 0; i < texts->count; i++) {
        const char **anchor = vec_add(&compiler->anchors);

        if (anchor == NULL) {
            return fail_nomem(compiler->fail);
        }
        *anchor = *vec_at(texts, char *, i);
    }
    return ABX_OK;
}

/* Directories below which git directories may come, and those that are there. */
static abx_status
find_git(struct compiler *compiler)
{
    struct vec trees = VEC(const char *);
    const struct host_view *host = compiler->host;
    abx_status r = policy_git_trees(compiler->policy, &trees, compiler->fail);

    for (size_t i = 0; i < trees.count && r >= 0; i++) {
        const char *tree = *vec_at(&trees, const char *, i);

        r = add_text(compiler, &compiler->plan->git_trees, tree);
        if (r >= 0 && host->find_git != NULL &&
                host->find_git(host->data, tree, FIND_MAX, &compiler->plan->git_inside) ==
                        -ENOMEM) {
            r = fail_nomem(compiler->fail);
        }
    }
    vec_done(&trees);
    return r;
}

static void
drop_equal(struct vec *sorted)
{
    size_t kept = 0;

    for (size_t i = 0; i < sorted->count; i++) {
        const char *text = *vec_at(sorted, const char *, i);

        if (kept == 0 || strcmp(*vec_at(sorted, const char *, kept - 1), text) != 0) {
            *vec_at(sorted, const char *, kept++) = text;
        }
    }
    sorted->count = kept;
}

/* The policy's anchors, the decoys and what find_git found, in our order. */
static abx_status
collect_anchors(struct compiler *compiler)
{
    abx_status r = policy_anchors(compiler->policy, &compiler->anchors, compiler->fail);

    r = r < 0 ? r : find_git(compiler);
    r = r < 0 ? r : add_anchors(compiler, &compiler->plan->decoys);
    r = r < 0 ? r : add_anchors(compiler, &compiler->plan->git_inside);
    if (compiler->anchors.count > 0) {
        qsort(compiler->anchors.data, compiler->anchors.count, sizeof(char *), compare_texts);
    }
    drop_equal(&compiler->anchors);
    return r;
}

static abx_status
copy_patterns(struct compiler *compiler)
{
    struct plan *plan = compiler->plan;
    struct vec writes = VEC(const char *), reads = VEC(const char *);
    abx_status r = policy_patterns(compiler->policy, ABX_ACCESS_WRITE, &writes, compiler->fail);

    for (size_t i = 0; i < writes.count && r >= 0; i++) {
        r = add_text(compiler, &plan->patterns, *vec_at(&writes, const char *, i));
    }
    if (r >= 0) {
        r = policy_patterns(compiler->policy, ABX_ACCESS_READ, &reads, compiler->fail);
    }
    plan->guard_patterns = writes.count > 0;
    plan->read_patterns = reads.count > 0;
    vec_done(&writes);
    vec_done(&reads);
    return r;
}

static abx_status
copy_settings(struct compiler *compiler)
{
    const struct policy_settings *settings = compiler->settings;
    struct plan *plan = compiler->plan;
    abx_status r = ABX_OK;

    plan->network = settings->network;
    if (plan->network == NETWORK_FILTERED &&
            plan_has_network(plan)) { /* else they are where they are */
        r = policy_loopback_ports(
                compiler->policy, HOST_PORTS_MAX, &plan->host_ports, compiler->fail);
    }
    plan->silent_reads = settings->silent_reads;
    plan->decide_exec = settings->exec_rules;
    plan->restrict_exec = settings->restricts_exec;
    memcpy(plan->limits, settings->limits, sizeof plan->limits);
    plan->hostname = strdup("box");
    if (plan->hostname == NULL) {
        return fail_nomem(compiler->fail);
    }
    for (const char *const *decoy = settings->decoys; decoy != NULL && *decoy != NULL && r >= 0;
            decoy++) {
        r = add_text(compiler, &plan->decoys, *decoy);
    }
    return r;
}

/* What is inside an input is seen under another name, where no rule covers it: so nothing that may
 * not be read can be inside. */
static abx_status
check_input(const struct compiler *compiler, const struct policy_input *input, const char *from)
{
    const struct plan *plan = compiler->plan;
    char quoted[2 * QUOTED_SIZE];
    struct ruling ruling;

    if (compiler->host->look(compiler->host->data, from) == HOST_MISSING) {
        fail_set(compiler->fail, ABX_ERR_SETUP, 0, "input", "the input '%s' does not exist",
                input->from);
        fail_remedy(compiler->fail, "create it, or remove it from /filesystem/inputs");
        return ABX_ERR_SETUP;
    }
    if (compile_decide(compiler, from, ABX_ACCESS_READ, &ruling) != ABX_VERDICT_ALLOW &&
            !ruling.from_default) {
        fail_set(compiler->fail, ABX_ERR_POLICY, 0, "input",
                "the input '%s' may not be read: rule '%s' denies it or asks about it", input->from,
                ruling.id);
        fail_remedy(compiler->fail, "name the very file in /filesystem/read/allow, too");
        return ABX_ERR_POLICY;
    }
    for (size_t i = 0; i < plan->places.count; i++) {
        const struct place *place = vec_at(&plan->places, struct place, i);

        if (path_is_below(place->path, from) && place->read != ABX_VERDICT_ALLOW) {
            fail_set(compiler->fail, ABX_ERR_POLICY, 0, "input",
                    "the input '%s' holds %s, which may not be read", input->from,
                    text_quote(place->path, quoted, sizeof quoted));
            fail_remedy(compiler->fail, "give the files in it that are needed as inputs");
            return ABX_ERR_POLICY;
        }
    }
    return ABX_OK;
}

static abx_status
copy_inputs(struct compiler *compiler)
{
    for (size_t i = 0; i < compiler->settings->n_inputs; i++) {
        const struct policy_input *input = &compiler->settings->inputs[i];
        AUTO(freep) char *from = compiler->host->real_path(compiler->host->data, input->from);
        struct plan_input *copy;
        abx_status r;

        if (from == NULL) {
            return fail_nomem(compiler->fail);
        }
        r = check_input(compiler, input, from);
        if (r < 0) {
            return r;
        }
        copy = vec_add(&compiler->plan->inputs);
        if (copy == NULL) {
            return fail_nomem(compiler->fail);
        }
        copy->from = steal_ptr(&from);
        copy->as = path_join(INPUTS_DIRECTORY, input->as);
        if (copy->as == NULL) {
            return fail_nomem(compiler->fail);
        }
    }
    return ABX_OK;
}

/* In a git directory names are judged by meaning; its configuration is always one that is guarded,
 * so that what lies above it is guarded too. */
static abx_status
compile_git(struct compiler *compiler)
{
    struct vec roots = VEC(const char *);
    abx_status r = policy_git_roots(compiler->policy, &roots, compiler->fail);

    for (size_t i = 0; i < roots.count && r >= 0; i++) {
        const char *root = *vec_at(&roots, const char *, i);
        AUTO(freep) char *config = path_join(root, "config");

        r = config == NULL ? fail_nomem(compiler->fail)
                           : add_text(compiler, &compiler->plan->git_roots, root);
        if (r >= 0) {
            r = add_text(compiler, &compiler->plan->guards, config);
        }
    }
    vec_done(&roots);
    return r;
}

static void
sort_guards(struct vec *guards)
{
    if (guards->count > 1) {
        qsort(guards->data, guards->count, sizeof(char *), compare_texts);
    }
}

/* Names inside writable places that may not be written, whether they exist or not. */
abx_status
compile_guards(struct compiler *compiler)
{
    abx_status r = ABX_OK;

    for (size_t i = 0; i < compiler->anchors.count && r >= 0; i++) {
        const char *path = *vec_at(&compiler->anchors, const char *, i);
        AUTO(freep) char *parent = path_parent(path);
        struct ruling ruling;

        if (parent == NULL) {
            return fail_nomem(compiler->fail);
        }
        if (compile_decide(compiler, path, ABX_ACCESS_WRITE, &ruling) != ABX_VERDICT_ALLOW &&
                compile_decide(compiler, parent, ABX_ACCESS_WRITE, &ruling) == ABX_VERDICT_ALLOW) {
            r = add_text(compiler, &compiler->plan->guards, path);
        }
    }
    r = r < 0 ? r : compile_git(compiler);
    if (r >= 0) {
        sort_guards(&compiler->plan->guards);
    }
    return r;
}

/* The programs that may run, where only those may; a rule on a directory brings what is in it. */
static abx_status
copy_exec(struct compiler *compiler)
{
    abx_status r = ABX_OK;

    for (size_t i = 0; i < compiler->anchors.count && compiler->plan->restrict_exec && r >= 0;
            i++) {
        const char *path = *vec_at(&compiler->anchors, const char *, i);
        enum host_kind kind = compiler->host->look(compiler->host->data, path);
        AUTO(freep) char *parent = path_parent(path);
        struct ruling ruling;

        if (parent == NULL) {
            return fail_nomem(compiler->fail);
        }
        if (kind != HOST_MISSING && kind != HOST_SYMLINK &&
                compile_decide(compiler, path, ABX_ACCESS_EXEC, &ruling) == ABX_VERDICT_ALLOW &&
                (strcmp(path, "/") == 0 || compile_decide(compiler, parent, ABX_ACCESS_EXEC,
                                                   &ruling) != ABX_VERDICT_ALLOW)) {
            r = add_text(compiler, &compiler->plan->exec_allowed, path);
        }
    }
    return r;
}

static abx_status
add_link(struct compiler *compiler, const char *path)
{
    struct plan_link *link;
    struct ruling ruling;

    if (compiler->host->look(compiler->host->data, path) != HOST_SYMLINK ||
            compile_decide(compiler, path, ABX_ACCESS_READ, &ruling) != ABX_VERDICT_ALLOW) {
        return ABX_OK;
    }
    link = vec_add(&compiler->plan->links);
    if (link == NULL) {
        return fail_nomem(compiler->fail);
    }
    link->path = strdup(path);
    link->target = compiler->host->real_path(compiler->host->data, path);
    return link->path == NULL || link->target == NULL ? fail_nomem(compiler->fail) : ABX_OK;
}

static int
compare_links(const void *a, const void *b)
{
    return strcmp(((const struct plan_link *)a)->path, ((const struct plan_link *)b)->path);
}

abx_status
compile_root(struct compiler *compiler)
{
    struct plan *plan = compiler->plan;
    const struct host_view *host = compiler->host;
    struct vec names = VEC(char *);
    abx_status r = ABX_OK;

    if (vec_at(&plan->places, struct place, 0)->read != ABX_VERDICT_ALLOW) {
        plan->root = plan->mask ? ROOT_MASK : ROOT_PIECES;
    } else if (plan->inputs.count > 0 && host->look(host->data, INPUTS_ROOT) != HOST_DIRECTORY) {
        plan->root = ROOT_PIECES;
    }
    if (plan->root == ROOT_HOST || !plan_has_mounts(plan)) {
        plan->root = ROOT_HOST;
        return ABX_OK;
    }
    if (host->list(host->data, "/", &names) == -ENOMEM) {
        r = fail_nomem(compiler->fail);
    }
    for (size_t i = 0; i < names.count; i++) {
        char *name = *vec_at(&names, char *, i);
        AUTO(freep) char *path = path_join("/", name);

        free(name);
        if (r >= 0) {
            r = path == NULL ? fail_nomem(compiler->fail) : add_link(compiler, path);
        }
    }
    vec_done(&names);
    if (r >= 0 && plan->links.count > 0) {
        qsort(plan->links.data, plan->links.count, sizeof(struct plan_link), compare_links);
    }
    return r;
}

abx_status
plan_compile(abx_policy *resolved, const struct host_view *host,
        const struct capabilities *capabilities, struct plan *ret_plan, struct fail *fail)
{
    static abx_status (*const steps[])(struct compiler *) = { copy_settings, copy_patterns,
        collect_anchors, compile_privates, compile_places, compile_guards, copy_inputs, copy_exec,
        compile_needs, compile_root };
    struct plan plan;
    struct compiler compiler = { .policy = resolved,
        .settings = policy_get_settings(resolved),
        .host = host,
        .plan = &plan,
        .anchors = VEC(const char *),
        .fail = fail };
    abx_status r = ABX_OK;

    init_plan(&plan, capabilities);
    for (size_t i = 0; i < N_ELEMENTS(steps) && r >= 0; i++) {
        r = steps[i](&compiler);
    }
    vec_done(&compiler.anchors);
    if (r < 0) {
        plan_done(&plan);
        return r;
    }
    *ret_plan = plan;
    return ABX_OK;
}
