/* SPDX-License-Identifier: Apache-2.0
 * Owns policies: layers put together, what is not a verdict combined, references.  A combination is
 * never wider than any of its layers: limits take the least, protections add up, weakening needs
 * all. Policies are immutable once made, any thread. */
#include "base/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/credentials.h"
#include "policy/layer.h"

#include <stdlib.h>
#include <string.h>

static void
policy_free(abx_policy *policy)
{
    if (policy == NULL) {
        return;
    }
    for (size_t i = 0; i < policy->layers.count; i++) {
        layer_free(*vec_at(&policy->layers, struct layer *, i));
    }
    for (size_t i = 0; i < policy->texts.count; i++) {
        free(*vec_at(&policy->texts, void *, i));
    }
    vec_done(&policy->layers);
    vec_done(&policy->texts);
    free(policy);
}

DEFINE_CLEANUP(policy_free, abx_policy)

/* ---- lists, kept in `texts`; their elements are borrowed from the layers ---- */

static size_t
count_texts(const char *const *texts)
{
    size_t n = 0;

    while (texts != NULL && texts[n] != NULL) {
        n++;
    }
    return n;
}

/* Room for n elements of `size` and a zero one behind; NULL if memory ran out. */
static void *
make_list(abx_policy *policy, size_t n, size_t size)
{
    void **slot = vec_add(&policy->texts);

    if (slot != NULL) {
        *slot = calloc(n + 1, size);
    }
    return slot == NULL ? NULL : *slot;
}

static bool
has_text(const char *const *texts, const char *text)
{
    for (size_t i = 0; texts != NULL && texts[i] != NULL; i++) {
        if (strcmp(texts[i], text) == 0) {
            return true;
        }
    }
    return false;
}

static bool
same_name(const char *a, const char *b)
{
    size_t length = (size_t)(strchrnul(a, '=') - a);

    return strncmp(a, b, length) == 0 && b[length] == '=';
}

static bool
has_variable(const char *const *set, const char *assignment)
{
    for (size_t i = 0; set != NULL && set[i] != NULL; i++) {
        if (same_name(set[i], assignment)) {
            return true;
        }
    }
    return false;
}

/* Names that every layer passes which says anything about it. */
static bool
combine_passed(abx_policy *policy, const struct policy_settings *outer, struct policy_settings *all)
{
    const char **list;
    size_t n = 0;

    if (outer->env_pass == NULL || all->env_pass == NULL) {
        all->env_pass = all->env_pass == NULL ? outer->env_pass : all->env_pass;
        return true;
    }
    list = make_list(policy, count_texts(all->env_pass), sizeof *list);
    for (size_t i = 0; list != NULL && all->env_pass[i] != NULL; i++) {
        if (has_text(outer->env_pass, all->env_pass[i])) {
            list[n++] = all->env_pass[i];
        }
    }
    all->env_pass = list;
    return list != NULL;
}

/* Whether what is within chose a HOME, and `outer` did not. */
static bool
keeps_home(const struct policy_settings *outer, const struct policy_settings *all)
{
    return outer->has_default_home &&
           ((has_variable(all->env_set, "HOME=") && !all->has_default_home) ||
                   (all->env_pass != NULL && has_text(all->env_pass, "HOME")));
}

/* All of both; where both set one name the outer one counts, unless it is a default. */
static bool
combine_set(abx_policy *policy, const struct policy_settings *outer, struct policy_settings *all)
{
    const size_t n_outer = count_texts(outer->env_set);
    const bool keeps = keeps_home(outer, all);
    const char **list;
    size_t n = 0;

    if (n_outer == 0) {
        return true;
    }
    list = make_list(policy, n_outer + count_texts(all->env_set), sizeof *list);
    if (list == NULL) {
        return false;
    }
    for (size_t i = 0; i < n_outer; i++) {
        if (!keeps || !same_name(outer->env_set[i], "HOME=")) {
            list[n++] = outer->env_set[i];
        }
    }
    for (size_t i = 0; all->env_set != NULL && all->env_set[i] != NULL; i++) {
        if (!has_variable((const char *const *)list, all->env_set[i])) {
            list[n++] = all->env_set[i];
        }
    }
    all->env_set = list;
    all->has_default_home = !keeps && (outer->has_default_home || all->has_default_home);
    return true;
}

static bool
combine_decoys(abx_policy *policy, const struct policy_settings *outer, struct policy_settings *all)
{
    size_t n = count_texts(outer->decoys);
    const char **list;

    if (n == 0) {
        return true;
    }
    list = make_list(policy, n + count_texts(all->decoys), sizeof *list);
    if (list == NULL) {
        return false;
    }
    memcpy(list, outer->decoys, n * sizeof *list);
    for (size_t i = 0; all->decoys != NULL && all->decoys[i] != NULL; i++) {
        list[n++] = all->decoys[i];
    }
    all->decoys = list;
    return true;
}

static bool
combine_inputs(abx_policy *policy, const struct policy_settings *outer, struct policy_settings *all)
{
    struct policy_input *list;

    if (outer->n_inputs == 0) {
        return true;
    }
    list = make_list(policy, outer->n_inputs + all->n_inputs, sizeof *list);
    if (list == NULL) {
        return false;
    }
    memcpy(list, outer->inputs, outer->n_inputs * sizeof *list);
    if (all->n_inputs > 0) {
        memcpy(list + outer->n_inputs, all->inputs, all->n_inputs * sizeof *list);
    }
    all->inputs = list;
    all->n_inputs += outer->n_inputs;
    return true;
}

static uint64_t
least_set(uint64_t a, uint64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/* Puts a layer over what the inner ones gave together. */
static bool
combine_layer(abx_policy *policy, const struct layer *layer, struct policy_settings *all)
{
    const struct policy_settings *outer = &layer->settings;

    if (layer->has_network && outer->network < all->network) {
        all->network = outer->network;
    }
    all->workspace = all->workspace == NULL ? outer->workspace : all->workspace;
    all->home = all->home == NULL ? outer->home : all->home;
    all->tmp = all->tmp == NULL ? outer->tmp : all->tmp;
    for (size_t i = 0; i < N_ELEMENTS(all->limits); i++) {
        all->limits[i] = least_set(all->limits[i], outer->limits[i]);
    }
    all->approval_timeout_ms = least_set(all->approval_timeout_ms, outer->approval_timeout_ms);
    all->approvals_per_minute = least_set(all->approvals_per_minute, outer->approvals_per_minute);
    all->consent = consent_join(all->consent, outer->consent);
    all->silent_reads |= outer->silent_reads;
    all->restricts_exec |= outer->restricts_exec;
    all->exec_rules |= outer->exec_rules;
    all->weaken_host_network &= outer->weaken_host_network;
    all->weaken_nested_namespaces &= outer->weaken_nested_namespaces;
    all->weaken_best_effort &= outer->weaken_best_effort;
    all->run_as = outer->run_as != NULL ? outer->run_as : all->run_as;
    all->identity = outer->identity != NULL ? outer->identity : all->identity;
    all->upstream = outer->upstream != NULL ? outer->upstream : all->upstream;
    all->extra_ca = outer->extra_ca != NULL ? outer->extra_ca : all->extra_ca;
    return combine_passed(policy, outer, all) && combine_set(policy, outer, all) &&
           combine_decoys(policy, outer, all) && combine_inputs(policy, outer, all);
}

static bool
combine_credentials(abx_policy *policy)
{
    size_t most = 0;
    struct policy_credential *list;

    for (size_t i = 0; i < policy->layers.count; i++) {
        const struct layer *layer = *vec_at(&policy->layers, struct layer *, i);

        most = layer->settings.n_credentials > most ? layer->settings.n_credentials : most;
    }
    list = make_list(policy, most, sizeof *list);
    if (list == NULL) {
        return false;
    }
    policy->settings.credentials = list;
    policy->settings.n_credentials = credentials_combine(policy, list);
    return true;
}

static bool
combine_settings(abx_policy *policy)
{
    size_t n = policy->layers.count;

    policy->settings = (*vec_at(&policy->layers, struct layer *, n - 1))->settings;
    for (size_t i = n - 1; i-- > 0;) {
        if (!combine_layer(
                    policy, *vec_at(&policy->layers, struct layer *, i), &policy->settings)) {
            return false;
        }
    }
    if (!combine_credentials(policy)) {
        return false;
    }
    /* What no layer says. */
    if (policy->settings.env_pass == NULL) {
        policy->settings.env_pass = passed_names();
    }
    if (policy->settings.approval_timeout_ms == 0) {
        policy->settings.approval_timeout_ms = APPROVAL_TIMEOUT_MS;
    }
    return true;
}

/* ---- protections of all layers, in the roots of all layers ---- */

static bool
lacks_protection(const struct layer *layer, const struct layer *other)
{
    if (other->git > layer->git) {
        return true;
    }
    for (size_t i = 0; i < other->protect.count; i++) {
        const char *name = *vec_at(&other->protect, char *, i);
        bool found = false;

        for (size_t k = 0; k < layer->protect.count && !found; k++) {
            found = strcmp(*vec_at(&layer->protect, char *, k), name) == 0;
        }
        if (!found) {
            return true;
        }
    }
    return false;
}

static abx_status
protect_like(struct layer *layer, const struct layer *other, struct fail *fail)
{
    layer->git = other->git > layer->git ? other->git : layer->git;
    for (size_t i = 0; i < other->protect.count; i++) {
        if (layer_protect_name(layer, *vec_at(&other->protect, char *, i), fail) < 0) {
            return fail->status;
        }
    }
    return ABX_OK;
}

/* The layer itself with one more reference, or a copy that has what the others protect, too. */
static abx_status
with_protections(struct layer *layer, struct layer *const *layers, size_t n,
        struct layer **ret_layer, struct fail *fail)
{
    AUTO(layer_freep) struct layer *copy = NULL;

    for (size_t i = 0; i < n; i++) {
        if (!lacks_protection(layer, layers[i])) {
            continue;
        }
        if (copy == NULL && layer_copy(layer, &copy, fail) < 0) {
            return fail->status;
        }
        if (protect_like(copy, layers[i], fail) < 0) {
            return fail->status;
        }
    }
    if (copy == NULL) {
        *ret_layer = layer_ref(layer);
        return ABX_OK;
    }
    if (layer_finish(copy, fail) < 0) {
        return fail->status;
    }
    *ret_layer = steal_ptr(&copy);
    return ABX_OK;
}

/* ---- the policy ---- */

static bool
make_digest(abx_policy *policy)
{
    AUTO(str_done) struct str all = { 0 };

    for (size_t i = 0; i < policy->layers.count; i++) {
        const struct layer *layer = *vec_at(&policy->layers, struct layer *, i);
        const char *document = layer->document != NULL ? layer->document : "";

        str_add_bytes(&all, layer->source, strlen(layer->source) + 1);
        str_add_bytes(&all, document, strlen(document) + 1);
    }
    if (!all.failed) {
        digest_hex(all.data, all.length, policy->digest);
    }
    return !all.failed;
}

/* A policy of layers that it shares with whoever else has them. */
abx_status
policy_share(
        struct layer *const *layers, size_t n_layers, abx_policy **ret_policy, struct fail *fail)
{
    AUTO(policy_freep) abx_policy *policy = calloc(1, sizeof *policy);

    if (policy == NULL) {
        return fail_nomem(fail);
    }
    if (n_layers == 0) {
        return fail_set(fail, ABX_ERR_INVALID, 0, "", "a policy needs a layer");
    }
    atomic_init(&policy->references, 1);
    policy->layers = VEC(struct layer *);
    policy->texts = VEC(void *);
    for (size_t i = 0; i < n_layers; i++) {
        struct layer **slot = vec_add(&policy->layers);

        if (slot == NULL) {
            return fail_nomem(fail);
        }
        *slot = layer_ref(layers[i]);
    }
    if (!combine_settings(policy) || !make_digest(policy)) {
        return fail_nomem(fail);
    }
    *ret_policy = steal_ptr(&policy);
    return ABX_OK;
}

abx_status
policy_new(struct layer *const *layers, size_t n_layers, abx_policy **ret_policy, struct fail *fail)
{
    struct vec own = VEC(struct layer *);
    abx_status r = ABX_OK;

    for (size_t i = 0; i < n_layers && r == ABX_OK; i++) {
        struct layer **slot = vec_add(&own);

        r = slot == NULL ? fail_nomem(fail)
                         : with_protections(layers[i], layers, n_layers, slot, fail);
    }
    if (r == ABX_OK) {
        r = policy_share(own.data, own.count, ret_policy, fail);
    }
    for (size_t i = 0; i < own.count; i++) {
        layer_free(*vec_at(&own, struct layer *, i));
    }
    vec_done(&own);
    for (size_t i = 0; i < n_layers && r == ABX_OK; i++) {
        layer_free(layers[i]); /* taken */
    }
    return r;
}

abx_status
policy_intersect(
        abx_policy *ceiling, abx_policy *policy, abx_policy **ret_policy, struct fail *fail)
{
    abx_policy *const both[] = { ceiling, policy };
    struct vec layers = VEC(struct layer *);
    abx_status r = ABX_OK;

    for (size_t i = 0; i < N_ELEMENTS(both); i++) {
        for (size_t k = 0; k < both[i]->layers.count && r == ABX_OK; k++) {
            struct layer **slot = vec_add(&layers);

            if (slot == NULL) {
                r = fail_nomem(fail);
            } else {
                *slot = layer_ref(*vec_at(&both[i]->layers, struct layer *, k));
            }
        }
    }
    if (r == ABX_OK) {
        r = policy_new(layers.data, layers.count, ret_policy, fail);
    }
    for (size_t i = 0; i < layers.count && r < 0; i++) {
        layer_free(*vec_at(&layers, struct layer *, i));
    }
    vec_done(&layers);
    return r;
}

const struct policy_settings *
policy_get_settings(abx_policy *policy)
{
    return &policy->settings;
}

size_t
policy_layer_count(abx_policy *policy)
{
    return policy->layers.count;
}

const char *
abx_policy_get_digest(abx_policy *policy)
{
    return policy == NULL ? "" : policy->digest;
}

const char *
policy_source(abx_policy *policy)
{
    return (*vec_at(&policy->layers, struct layer *, policy->layers.count - 1))->source;
}

abx_policy *
abx_policy_ref(abx_policy *policy)
{
    if (policy != NULL) {
        atomic_fetch_add_explicit(&policy->references, 1, memory_order_relaxed);
    }
    return policy;
}

void
abx_policy_unref(abx_policy *policy)
{
    if (policy != NULL &&
            atomic_fetch_sub_explicit(&policy->references, 1, memory_order_acq_rel) == 1) {
        policy_free(policy);
    }
}
