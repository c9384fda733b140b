/* SPDX-License-Identifier: Apache-2.0
 * Owns linked worktrees and submodules: where a `.git` file leads, and whether to believe it.  A
 * command of an earlier box may have written that file, so a git directory outside the writable
 * roots is opened only if it points back to the root: what a box could not have written proves what
 * it could.  Reads through the host view only. */
#include "policy/gitlink.h"

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "policy/layer.h"
#include "policy/match.h"

#include <stdlib.h>
#include <string.h>

#define MODULE_DEPTH_MAX 8u /* of names with slashes, and of submodules in submodules */
#define LISTED_MAX 10000u /* names in one git directory's worktrees and modules */

static char *
read_file(const struct host_view *host, const char *directory, const char *name)
{
    AUTO(freep) char *path = path_join(directory, name);
    char *text;

    if (path == NULL || host->read_text == NULL || host->look(host->data, path) != HOST_FILE) {
        return NULL;
    }
    text = host->read_text(host->data, path);
    if (text != NULL) {
        text[strcspn(text, "\r\n")] = '\0';
    }
    return text;
}

/* `path`, relative to `directory` if it is relative, to the end of all links; NULL if it leads
 * nowhere. */
static char *
follow(const struct host_view *host, const char *directory, const char *path)
{
    AUTO(freep) char *joined = path[0] == '/' ? strdup(path) : path_join(directory, path);

    return joined == NULL || path[0] == '\0' ? NULL : host->real_path(host->data, joined);
}

/* The line `key = value` of a section of git's configuration, without quotes; enough for what git
 * writes. */
static char *
config_value(const struct host_view *host, const char *git_directory, const char *key)
{
    AUTO(freep) char *path = path_join(git_directory, "config");
    AUTO(freep) char *text = NULL;
    char *rest;

    if (path == NULL || host->read_text == NULL || host->look(host->data, path) != HOST_FILE ||
            (text = host->read_text(host->data, path)) == NULL) {
        return NULL;
    }
    rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        size_t length = strlen(key);

        line += strspn(line, " \t");
        if (strncmp(line, key, length) != 0) {
            continue;
        }
        line += length;
        line += strspn(line, " \t");
        if (*line == '=') {
            line++;
            return strdup(line + strspn(line, " \t"));
        }
    }
    return NULL;
}

static bool
leads_to(const struct host_view *host, const char *directory, const char *path, const char *goal)
{
    AUTO(freep) char *real = path == NULL ? NULL : follow(host, directory, path);

    return real != NULL && strcmp(real, goal) == 0;
}

/* The git directory with objects and refs, if `admin` (where the `.git` file of `root` leads)
 * belongs to `root` by its own account; NULL if it does not. */
static char *
common_directory(const struct host_view *host, const char *root, const char *admin)
{
    AUTO(freep) char *dot_git = path_join(root, ".git");
    AUTO(freep) char *back = read_file(host, admin, "gitdir");
    AUTO(freep) char *common = read_file(host, admin, "commondir");
    AUTO(freep) char *worktree = NULL;
    AUTO(freep) char *real = NULL;
    AUTO(freep) char *worktrees = NULL;

    if (dot_git == NULL) {
        return NULL;
    }
    if (common != NULL) { /* git-worktree(1), DETAILS */
        real = follow(host, admin, common);
        worktrees = real == NULL ? NULL : path_join(real, "worktrees");
        return worktrees != NULL && leads_to(host, admin, back, dot_git) &&
                               strncmp(admin, worktrees, strlen(worktrees)) == 0 &&
                               admin[strlen(worktrees)] == '/' &&
                               strchr(admin + strlen(worktrees) + 1, '/') == NULL
                       ? steal_ptr(&real)
                       : NULL;
    }
    if (strstr(admin, "/.git/modules/") == NULL) {
        return NULL;
    }
    worktree = config_value(host, admin, "worktree"); /* a submodule: core.worktree */
    return leads_to(host, admin, worktree, root) ? strdup(admin) : NULL;
}

static abx_status
add_rule(struct layer *layer, uint32_t kind, abx_verdict verdict, const char *path,
        struct fail *fail)
{
    static char id[] = "protect:.git",
                because[] = "the workspace is a linked worktree of this git directory";
    AUTO(freep) char *pattern = strdup(path);
    struct rule rule = { .kind = kind,
        .access = kind == ABX_REQUEST_PATH ? ABX_ACCESS_WRITE : 0,
        .verdict = verdict,
        .origin = ORIGIN_PROTECT,
        .implied = kind == ABX_REQUEST_PATH && verdict == ABX_VERDICT_ALLOW,
        .is_literal = true,
        .pattern = pattern,
        .id = id,
        .because = because };

    return pattern == NULL ? fail_nomem(fail) : layer_add_rule(layer, &rule, fail);
}

/* ---- links that exist: git writes each once, in place, so they are guarded by name ---- */

/* A walk through what a git directory holds. */
struct guarding {
    struct layer *layer;
    const struct host_view *host;
    struct fail *fail;
    uint32_t n_left; /* names that may still be looked at */
};

static abx_status
guard_link(struct guarding *guarding, const char *path)
{
    return guarding->host->look(guarding->host->data, path) != HOST_FILE
                   ? ABX_OK
                   : add_rule(guarding->layer, RULE_GIT_LINK, ABX_VERDICT_DENY, path,
                             guarding->fail);
}

/* The `.git` file at `path`, which may be relative to `directory`; NULL: there is none known. */
static abx_status
guard_back_link(struct guarding *guarding, const char *directory, const char *path)
{
    AUTO(freep) char *real = path == NULL ? NULL : follow(guarding->host, directory, path);

    return real == NULL ? ABX_OK : guard_link(guarding, real);
}

typedef abx_status (*guard_fn)(struct guarding *guarding, const char *path, unsigned int depth);

static abx_status
guard_each(struct guarding *guarding, const char *directory, guard_fn fn, unsigned int depth)
{
    const struct host_view *host = guarding->host;
    struct vec names = VEC(char *);
    char quoted[2 * QUOTED_SIZE];
    abx_status r = ABX_OK;
    int listed = 0;

    if (host->look(host->data, directory) == HOST_DIRECTORY) {
        listed = host->list(host->data, directory, &names);
    }
    if (listed < 0 || names.count > guarding->n_left) {
        r = fail_set(guarding->fail, ABX_ERR_SETUP, -listed, "list:git",
                "%s cannot be listed, or holds too much",
                text_quote(directory, quoted, sizeof quoted));
    } else {
        guarding->n_left -= (uint32_t)names.count;
    }
    for (size_t i = 0; i < names.count; i++) {
        AUTO(freep) char *name = *vec_at(&names, char *, i);
        AUTO(freep) char *path = path_join(directory, name);

        if (r == ABX_OK) {
            r = path == NULL ? fail_nomem(guarding->fail) : fn(guarding, path, depth);
        }
    }
    vec_done(&names);
    return r;
}

static abx_status
guard_worktree(struct guarding *guarding, const char *admin, unsigned int depth)
{
    AUTO(freep) char *link = path_join(admin, "commondir");
    AUTO(freep) char *back = read_file(guarding->host, admin, "gitdir");

    if (link == NULL) {
        return fail_nomem(guarding->fail);
    }
    if (guard_link(guarding, link) < 0) {
        return guarding->fail->status;
    }
    return guard_back_link(guarding, admin, back);
}

static abx_status guard_git_directory(
        struct guarding *guarding, const char *git_directory, unsigned int depth);

/* A submodule's git directory, or a part of its name. */
static abx_status
guard_module(struct guarding *guarding, const char *path, unsigned int depth)
{
    AUTO(freep) char *head = path_join(path, "HEAD");
    AUTO(freep) char *worktree = NULL;
    AUTO(freep) char *back = NULL;

    if (head == NULL) {
        return fail_nomem(guarding->fail);
    }
    if (guarding->host->look(guarding->host->data, head) != HOST_FILE) {
        return depth >= MODULE_DEPTH_MAX ? ABX_OK
                                         : guard_each(guarding, path, guard_module, depth + 1);
    }
    worktree = config_value(guarding->host, path, "worktree");
    back = worktree == NULL ? NULL : path_join(worktree, ".git");
    if (guard_back_link(guarding, path, back) < 0) {
        return guarding->fail->status;
    }
    return guard_git_directory(guarding, path, depth + 1);
}

static abx_status
guard_git_directory(struct guarding *guarding, const char *git_directory, unsigned int depth)
{
    AUTO(freep) char *worktrees = path_join(git_directory, "worktrees");
    AUTO(freep) char *modules = path_join(git_directory, "modules");

    if (worktrees == NULL || modules == NULL) {
        return fail_nomem(guarding->fail);
    }
    if (guard_each(guarding, worktrees, guard_worktree, depth) < 0) {
        return guarding->fail->status;
    }
    return depth >= MODULE_DEPTH_MAX ? ABX_OK : guard_each(guarding, modules, guard_module, depth);
}

static abx_status
guard_links(struct layer *layer, const struct host_view *host, const char *git_directory,
        struct fail *fail)
{
    struct guarding guarding = { .layer = layer, .host = host, .fail = fail, .n_left = LISTED_MAX };

    return guard_git_directory(&guarding, git_directory, 0);
}

/* ---- roots ---- */

static abx_status
open_linked(struct layer *layer, const struct host_view *host, const char *root, const char *target,
        struct fail *fail)
{
    AUTO(freep) char *admin = follow(host, root, target);
    AUTO(freep) char *common = NULL;

    if (admin == NULL || host->look(host->data, admin) != HOST_DIRECTORY) {
        return ABX_OK;
    }
    common = common_directory(host, root, admin);
    if (common == NULL || host->look(host->data, common) != HOST_DIRECTORY) {
        return ABX_OK;
    }
    if (add_rule(layer, ABX_REQUEST_PATH, ABX_VERDICT_ALLOW, common, fail) < 0 ||
            add_rule(layer, RULE_GIT_ROOT, ABX_VERDICT_DENY, common, fail) < 0) {
        return fail->status;
    }
    return guard_links(layer, host, common, fail);
}

static abx_status
add_for_root(struct layer *layer, const struct host_view *host, const char *root, struct fail *fail)
{
    AUTO(freep) char *real = host->real_path(host->data, root);
    AUTO(freep) char *dot_git = real == NULL ? NULL : path_join(real, ".git");
    AUTO(freep) char *link = NULL;
    AUTO(freep) char *git_directory = NULL;

    if (dot_git == NULL) {
        return fail_nomem(fail);
    }
    link = read_file(host, real, ".git");
    if (link != NULL) {
        return strncmp(link, "gitdir: ", 8) == 0 ? open_linked(layer, host, real, link + 8, fail)
                                                 : ABX_OK;
    }
    git_directory = host->real_path(host->data, dot_git);
    return git_directory == NULL ? fail_nomem(fail) : guard_links(layer, host, git_directory, fail);
}

abx_status
git_add_linked(struct layer *layer, const struct host_view *host, struct fail *fail)
{
    size_t n = layer->rules.count;
    abx_status r = ABX_OK;

    for (size_t i = 0; i < n && r == ABX_OK && layer->git == GIT_MEANING; i++) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, i);

        if (rule->kind == ABX_REQUEST_PATH && rule->access == ABX_ACCESS_WRITE &&
                rule->is_literal && !rule->implied && rule->origin != ORIGIN_PROTECT &&
                rule->verdict == ABX_VERDICT_ALLOW) {
            AUTO(freep) char *root = strdup(rule->pattern); /* rules move when one is added */

            r = root == NULL ? fail_nomem(fail) : add_for_root(layer, host, root, fail);
        }
    }
    return r;
}
