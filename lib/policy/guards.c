/* SPDX-License-Identifier: Apache-2.0
 * Owns the questions that a plan asks about whole subtrees: where verdicts can change, and which
 * directories hold names that must not simply appear.  When in doubt the answer is "guarded": that
 * costs time, never safety.  Pure, any thread. */
#include "base/mem.h"
#include "base/path.h"
#include "policy/index.h"

#include <stdlib.h>
#include <string.h>

static int
compare_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Adds the literal paths of path rules, or of one kind of git rules only; sorted, unique. */
static abx_status
add_literals(
        const struct abx_policy *policy, uint32_t git_kind, struct vec *paths, struct fail *fail)
{
    size_t n = 0;
    const char **texts;

    for (size_t i = 0; i < policy->layers.count; i++) {
        const struct layer *layer = *vec_at(&policy->layers, struct layer *, i);

        for (size_t k = 0; k < layer->rules.count; k++) {
            const struct rule *rule = vec_at(&layer->rules, struct rule, k);
            bool wanted = git_kind != 0
                                  ? rule->kind == git_kind
                                  : rule->kind == ABX_REQUEST_PATH || rule->kind == RULE_GIT_ROOT ||
                                            rule->kind == RULE_GIT_LINK;

            if (wanted && rule->matcher == NULL) {
                const char **slot = vec_add(paths);

                if (slot == NULL) {
                    return fail_nomem(fail);
                }
                *slot = rule->pattern;
            }
        }
    }
    if (paths->count > 1) {
        qsort(paths->data, paths->count, sizeof(const char *), compare_text);
    }
    texts = paths->data;
    for (size_t i = 0; i < paths->count; i++) {
        if (n == 0 || strcmp(texts[n - 1], texts[i]) != 0) {
            texts[n++] = texts[i];
        }
    }
    paths->count = n;
    return ABX_OK;
}

abx_status
policy_anchors(abx_policy *policy, struct vec *ret_paths, struct fail *fail)
{
    return add_literals(policy, 0, ret_paths, fail);
}

abx_status
policy_git_roots(abx_policy *policy, struct vec *ret_paths, struct fail *fail)
{
    return add_literals(policy, RULE_GIT_ROOT, ret_paths, fail);
}

abx_status
policy_git_trees(abx_policy *policy, struct vec *ret_paths, struct fail *fail)
{
    return add_literals(policy, RULE_GIT_TREE, ret_paths, fail);
}

abx_status
policy_patterns(abx_policy *policy, uint32_t access, struct vec *ret_patterns, struct fail *fail)
{
    for (size_t i = 0; i < policy->layers.count; i++) {
        const struct layer *layer = *vec_at(&policy->layers, struct layer *, i);

        for (size_t k = 0; k < layer->rules.count; k++) {
            const struct rule *rule = vec_at(&layer->rules, struct rule, k);

            if (rule->kind == ABX_REQUEST_PATH && rule->access == access && rule->matcher != NULL &&
                    rule->verdict != ABX_VERDICT_ALLOW) {
                const char **slot = vec_add(ret_patterns);

                if (slot == NULL) {
                    return fail_nomem(fail);
                }
                *slot = rule->pattern;
            }
        }
    }
    return ABX_OK;
}

/* Whether a sorted list has a path strictly below `directory`. */
static bool
has_below(const struct vec *sorted, const char *directory)
{
    size_t length = directory[1] == '\0' ? 0 : strlen(directory);
    size_t low = 0, high = sorted->count;

    /* The first path that is not before "directory/": '/' may sort after other bytes, so compare so
     * far. */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *path = *vec_at(sorted, const char *, middle);
        int order = strncmp(path, directory, length);

        if (order < 0 || (order == 0 && (unsigned char)path[length] < '/')) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == sorted->count) {
        return false;
    }
    return strncmp(*vec_at(sorted, const char *, low), directory, length) == 0 &&
           (*vec_at(sorted, const char *, low))[length] == '/' &&
           (*vec_at(sorted, const char *, low))[length + 1] != '\0';
}

static bool
is_in_guarded_git(const struct index *index, const char *directory)
{
    const char *deepest = NULL;

    for (size_t i = 0; i < index->git_roots.count; i++) {
        const char *root = *vec_at(&index->git_roots, const char *, i);

        if (path_is_within(directory, root)) {
            deepest = root; /* sorted: a longer one comes later */
        }
    }
    if (deepest == NULL) {
        return false;
    }
    directory += strlen(deepest);
    return git_directory_guards(*directory == '/' ? directory + 1 : directory);
}

/* Whether a directory that may come below a writable root is, or lies in, a git directory. */
static bool
is_in_later_git(const struct index *index, const struct path_split *directory)
{
    const char *text = directory->text;

    for (size_t k = 0; k < index->git_trees.count; k++) {
        const char *tree = *vec_at(&index->git_trees, const char *, k);

        for (uint32_t i = 0; path_is_within(text, tree) && i < directory->n; i++) {
            if ((size_t)directory->start[i] > strlen(tree) - (tree[1] == '\0') &&
                    path_has_git_name(directory, i) &&
                    git_directory_guards(
                            i + 1 == directory->n ? "" : text + directory->start[i + 1])) {
                return true;
            }
        }
    }
    return false;
}

static bool
has_pattern_below(const struct layer *layer, const struct path_split *directory)
{
    for (size_t k = 0; k < layer->rules.count; k++) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, k);

        if (rule->kind == ABX_REQUEST_PATH && rule->access == ABX_ACCESS_WRITE &&
                rule->matcher != NULL && rule->verdict != ABX_VERDICT_ALLOW &&
                path_pattern_reaches(rule->matcher, directory)) {
            return true;
        }
    }
    return false;
}

bool
policy_guards(abx_policy *policy, const char *directory)
{
    struct path_split split;

    if (!path_split(directory, &split)) {
        return true;
    }
    for (size_t i = 0; i < policy->layers.count; i++) {
        const struct layer *layer = *vec_at(&policy->layers, struct layer *, i);
        const struct index *index = layer->index;

        if (has_below(&index->restricted, directory) || has_below(&index->git_roots, directory) ||
                is_in_guarded_git(index, directory) || is_in_later_git(index, &split) ||
                has_pattern_below(layer, &split)) {
            return true;
        }
    }
    return false;
}
