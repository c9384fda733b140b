/* SPDX-License-Identifier: Apache-2.0
 * Owns the step from a policy as written to a policy as it stands on a host: rules get a twin where
 * links lead elsewhere, and a grant that could not work is refused.  Sees the host only through a
 * view; changes nothing, neither there nor in the policy it was given. */
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "policy/gitlink.h"
#include "policy/index.h"
#include "policy/layer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

DEFINE_CLEANUP(abx_policy_unref, abx_policy)
DEFINE_CLEANUP(path_pattern_free, struct path_pattern)

/* The literal components that a pattern begins with, as a path; *ret_used: how many. */
static char *
literal_head(const struct path_pattern *pattern, uint32_t *ret_used)
{
    struct path_pattern head = *pattern;

    head.n = 0;
    while (head.n < pattern->n && pattern->parts[head.n].kind == PART_LITERAL) {
        head.n++;
    }
    *ret_used = head.n;
    return path_pattern_literal(&head);
}

/* What follows the first n components in a pattern as it is written. */
static const char *
skip_components(const char *pattern, uint32_t n)
{
    for (; n > 0; n--) {
        pattern += strspn(pattern, "/");
        pattern = strchrnul(pattern, '/');
    }
    return pattern;
}

/* Where a rule's path leads to: NULL in *ret_pattern if to itself. */
static abx_status
real_pattern(const struct rule *rule, const struct host_view *host, char **ret_pattern,
        struct fail *fail)
{
    AUTO(path_pattern_freep) struct path_pattern *pattern = NULL;
    AUTO(str_done) struct str twin = { 0 };
    AUTO(freep) char *head = NULL;
    AUTO(freep) char *real = NULL;
    AUTO(freep) char *quoted = NULL;
    uint32_t used = 0;

    *ret_pattern = NULL;
    if (rule->is_literal) {
        head = strdup(rule->pattern);
    } else {
        pattern = path_pattern_new(rule->pattern, fail);
        if (pattern == NULL) {
            return fail->status;
        }
        head = literal_head(pattern, &used);
    }
    if (head == NULL) {
        return fail_nomem(fail);
    }
    real = host->real_path(host->data, head);
    if (real == NULL && errno == ENOMEM) {
        return fail_nomem(fail);
    }
    if (real == NULL) {
        fail_set(fail, ABX_ERR_POLICY, 0, rule->id, "'%s' cannot be followed to its end", head);
        fail_remedy(fail, "remove the loop of links there, or name the place that is meant");
        return fail->status;
    }
    if (strcmp(real, head) == 0) {
        return ABX_OK;
    }
    if (rule->is_literal) {
        *ret_pattern = steal_ptr(&real);
        return ABX_OK;
    }
    quoted = path_pattern_quote(strcmp(real, "/") == 0 ? "" : real);
    if (quoted == NULL) {
        return fail_nomem(fail);
    }
    str_add(&twin, quoted);
    str_add(&twin, skip_components(rule->pattern, used));
    *ret_pattern = str_steal(&twin, NULL);
    return *ret_pattern == NULL ? fail_nomem(fail) : ABX_OK;
}

abx_status
layer_add_twin(struct layer *layer, const struct rule *rule, const struct host_view *host,
        struct fail *fail)
{
    AUTO(freep) char *real = NULL;
    struct rule twin = *rule;

    if (real_pattern(rule, host, &real, fail) < 0) {
        return fail->status;
    }
    if (real == NULL) {
        return ABX_OK;
    }
    twin.pattern = real;
    twin.origin = rule->origin == ORIGIN_PROTECT ? ORIGIN_PROTECT : ORIGIN_TWIN;
    return layer_add_rule(layer, &twin, fail);
}

static abx_status
add_twins(struct layer *layer, const struct host_view *host, struct fail *fail)
{
    size_t n = layer->rules.count;

    for (size_t i = 0; i < n; i++) {
        struct rule rule =
                *vec_at(&layer->rules, struct rule, i); /* rules move when one is added */

        if ((rule.kind == ABX_REQUEST_PATH ||
                    (rule.kind == ABX_REQUEST_SOCKET && rule.pattern[0] != '@')) &&
                layer_add_twin(layer, &rule, host, fail) < 0) {
            return fail->status;
        }
    }
    return ABX_OK;
}

/* ---- grants that cannot work ---- */

static bool
is_writable(abx_policy *policy, const char *path)
{
    abx_request request = {
        .size = sizeof request, .kind = ABX_REQUEST_PATH, .access = ABX_ACCESS_WRITE, .target = path
    };
    struct ruling ruling;

    return policy_decide(policy, &request, &ruling) == ABX_VERDICT_ALLOW;
}

/* A place that exists in every box, whatever the host has. */
static bool
is_made_by_the_box(const char *path)
{
    return path_is_within(path, "/tmp") || path_is_within(path, "/dev/shm");
}

static abx_status
check_grant(abx_policy *policy, const struct rule *rule, const struct host_view *host,
        struct fail *fail)
{
    AUTO(freep) char *real = host->real_path(host->data, rule->pattern);
    AUTO(freep) char *parent = NULL;

    if (real == NULL) {
        return fail_nomem(fail);
    }
    if (is_made_by_the_box(real) || host->look(host->data, real) != HOST_MISSING ||
            !is_writable(policy, rule->pattern)) {
        return ABX_OK;
    }
    parent = strdup(real);
    if (parent == NULL) {
        return fail_nomem(fail);
    }
    *strrchr(parent, '/') = '\0';
    if (parent[0] != '\0' && is_writable(policy, parent)) {
        return ABX_OK;
    }
    fail_set(fail, ABX_ERR_POLICY, 0, rule->id, "'%s' may be written, and does not exist",
            rule->pattern);
    fail_remedy(fail, "create it first");
    return fail->status;
}

static abx_status
check_grants(abx_policy *policy, const struct layer *layer, const struct host_view *host,
        struct fail *fail)
{
    for (size_t i = 0; i < layer->rules.count; i++) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, i);

        if (rule->kind == ABX_REQUEST_PATH && rule->access == ABX_ACCESS_WRITE &&
                rule->verdict == ABX_VERDICT_ALLOW && rule->is_literal && !rule->implied &&
                check_grant(policy, rule, host, fail) < 0) {
            return fail->status;
        }
    }
    return ABX_OK;
}

/* ---- all of it ---- */

static abx_status
resolve_layer(struct layer *layer, const struct host_view *host, struct layer **ret_layer,
        struct fail *fail)
{
    AUTO(layer_freep) struct layer *copy = NULL;

    if (layer_copy(layer, &copy, fail) < 0 || add_twins(copy, host, fail) < 0 ||
            git_add_linked(copy, host, fail) < 0 || layer_seal(copy, host, fail) < 0) {
        return fail->status;
    }
    *ret_layer = steal_ptr(&copy);
    return ABX_OK;
}

abx_status
policy_resolve(abx_policy *policy, const struct host_view *host, abx_policy **ret_resolved,
        struct fail *fail)
{
    AUTO(abx_policy_unrefp) abx_policy *resolved = NULL;
    struct vec layers = VEC(struct layer *);
    abx_status r = ABX_OK;

    for (size_t i = 0; i < policy->layers.count && r == ABX_OK; i++) {
        struct layer **slot = vec_add(&layers);

        r = slot == NULL
                    ? fail_nomem(fail)
                    : resolve_layer(*vec_at(&policy->layers, struct layer *, i), host, slot, fail);
    }
    if (r == ABX_OK) {
        r = policy_share(layers.data, layers.count, &resolved, fail);
    }
    for (size_t i = 0; i < layers.count; i++) {
        layer_free(*vec_at(&layers, struct layer *, i));
    }
    for (size_t i = 0; i < policy->layers.count && r == ABX_OK; i++) {
        r = check_grants(resolved, *vec_at(&policy->layers, struct layer *, i), host, fail);
    }
    vec_done(&layers);
    if (r == ABX_OK) {
        *ret_resolved = steal_ptr(&resolved);
    }
    return r;
}
