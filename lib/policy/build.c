/* SPDX-License-Identifier: Apache-2.0
 * The last step of a builder: the profile's rules join, defaults take the places that were left
 * free, the layer gets its canonical text, the policy is made.  One thread at a time. */
#include "policy/builder.h"
#include "policy/credentials.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Moves the texts of `from` into a sorted, NULL-terminated array of the layer. */
static abx_status
keep_texts(struct layer *layer, struct vec *from, const char *const **ret_array, struct fail *fail)
{
    const char **array = calloc(from->count + 1, sizeof *array);
    size_t n = 0;
    abx_status r = layer_keep(layer, array, fail);

    while (r >= 0 && n < from->count) {
        char **text = vec_at(from, char *, n);

        array[n++] = *text;
        r = layer_keep(layer, steal_ptr(text), fail);
    }
    if (r < 0) {
        return r;
    }
    qsort(array, n, sizeof *array, compare_texts);
    *ret_array = array;
    return ABX_OK;
}

/* Adds unless the name is set or passed by hand: ABX_NONE. */
static abx_status
add_default_env(abx_policy_builder *builder, const char *name, const char *value, struct fail *fail)
{
    struct fail taken;
    abx_status r = builder_add_env(builder, name, value, &taken);

    return r == ABX_ERR_NOMEM ? fail_nomem(fail) : r < 0 ? ABX_NONE : ABX_OK;
}

/* "NAME=value" for all that is set. */
static abx_status
keep_pairs(abx_policy_builder *builder, struct fail *fail)
{
    struct layer *layer = builder->layer;
    size_t n = builder->env_set.count;
    const char **pairs = calloc(n + 1, sizeof *pairs);
    abx_status r = layer_keep(layer, pairs, fail);

    for (size_t i = 0; r >= 0 && i < n; i++) {
        const struct variable *set = vec_at(&builder->env_set, struct variable, i);
        struct str pair = { 0 };
        char *text;

        str_printf(&pair, "%s=%s", set->name, set->value);
        text = str_steal(&pair, NULL);
        r = layer_keep(layer, text, fail);
        pairs[i] = text;
    }
    if (r < 0) {
        return r;
    }
    qsort(pairs, n, sizeof *pairs, compare_texts);
    layer->settings.env_set = pairs;
    return ABX_OK;
}

static abx_status
add_default_environment(abx_policy_builder *builder, struct fail *fail)
{
    const char *name_of_profile = builder->layer->profile;
    const struct profile *profile = name_of_profile == NULL ? NULL : profile_find(name_of_profile);
    const bool is_chosen = profile != NULL && profile->home != NULL;
    const char *home = is_chosen ? profile->home : variable_get(&builder->variables, "home");
    abx_status r = ABX_OK;

    if (builder->env_pass.count > 0 && !(builder->given & GIVEN_PASS)) {
        for (const char *const *name = passed_names(); r >= 0 && *name != NULL; name++) {
            r = add_default_env(builder, *name, NULL, fail);
        }
    }
    if (r >= 0 && home != NULL) {
        r = add_default_env(builder, "HOME", home, fail);
        builder->layer->settings.has_default_home = r == ABX_OK && !is_chosen;
    }
    return r;
}

/* A layer that says nothing about what is passed leaves that to the others. */
static abx_status
keep_environment(abx_policy_builder *builder, struct fail *fail)
{
    bool passes = builder->given & GIVEN_PASS || builder->env_pass.count > 0;
    abx_status r = keep_pairs(builder, fail);

    return r >= 0 && passes ? keep_texts(builder->layer, &builder->env_pass,
                                      &builder->layer->settings.env_pass, fail)
                            : r;
}

static abx_status
keep_copy(struct layer *layer, const char *text, const char **ret_copy, struct fail *fail)
{
    char *copy;

    if (text == NULL) {
        return ABX_OK;
    }
    copy = strdup(text);
    if (layer_keep(layer, copy, fail) < 0) {
        return fail->status;
    }
    *ret_copy = copy;
    return ABX_OK;
}

static abx_status
finish_inputs(abx_policy_builder *builder, struct fail *fail)
{
    struct layer *layer = builder->layer;
    size_t n = builder->inputs.count;
    struct policy_input *inputs = calloc(n + 1, sizeof *inputs);
    abx_status r = layer_keep(layer, inputs, fail);

    for (size_t i = 0; r >= 0 && i < n; i++) {
        const struct policy_input *input = vec_at(&builder->inputs, struct policy_input, i);

        r = keep_copy(layer, input->from, &inputs[i].from, fail);
        if (r >= 0) {
            r = keep_copy(layer, input->as, &inputs[i].as, fail);
        }
    }
    if (r >= 0) {
        layer->settings.inputs = inputs;
        layer->settings.n_inputs = n;
    }
    return r;
}

/* What was put in is there to be read. */
static abx_status
allow_inputs(abx_policy_builder *builder, struct fail *fail)
{
    static const struct entry_texts texts = { .id = "inputs", .origin = ORIGIN_PROFILE };

    return builder->inputs.count == 0 ? ABX_OK
                                      : builder_add_path(builder, "${inputs}", ABX_ACCESS_READ,
                                                ABX_VERDICT_ALLOW, &texts, fail);
}

static abx_status
finish_protection(abx_policy_builder *builder, struct fail *fail)
{
    struct layer *layer = builder->layer;
    abx_status r = ABX_OK;

    if (!(builder->given & GIVEN_GIT)) {
        layer->git = GIT_MEANING;
    }
    if (!(builder->given & GIVEN_NO_DEFAULT_NAMES)) {
        for (const char *const *name = protected_names(); r >= 0 && *name != NULL; name++) {
            r = builder_add_protected(builder, *name, fail);
        }
    }
    if (r >= 0 && layer->protect.count > 0) {
        qsort(layer->protect.data, layer->protect.count, sizeof(char *), compare_texts);
    }
    return r;
}

static abx_status
finish_settings(abx_policy_builder *builder, struct fail *fail)
{
    struct layer *layer = builder->layer;
    struct policy_settings *settings = &layer->settings;
    abx_status r = add_default_environment(builder, fail);

    if (r >= 0) {
        r = builder_finish_credentials(builder, fail);
    }
    if (r >= 0) {
        r = keep_environment(builder, fail);
    }
    if (r >= 0) {
        r = finish_inputs(builder, fail);
    }
    if (r >= 0) {
        r = finish_protection(builder, fail);
    }
    if (r >= 0) {
        r = keep_texts(layer, &builder->decoys, &settings->decoys, fail);
    }
    if (r >= 0) {
        r = keep_copy(
                layer, variable_get(&builder->variables, "workspace"), &settings->workspace, fail);
    }
    if (r >= 0) {
        r = keep_copy(layer, variable_get(&builder->variables, "home"), &settings->home, fail);
    }
    settings->tmp = variable_get(&builder->variables, "tmp");
    return r;
}

static int
compare_subjects(const void *a, const void *b)
{
    const struct rule *x = *(const struct rule *const *)a, *y = *(const struct rule *const *)b;

    if (x->kind != y->kind) {
        return x->kind < y->kind ? -1 : 1;
    }
    if (x->access != y->access) {
        return x->access < y->access ? -1 : 1;
    }
    if (x->port_first != y->port_first) {
        return x->port_first < y->port_first ? -1 : 1;
    }
    if (x->port_last != y->port_last) {
        return x->port_last < y->port_last ? -1 : 1;
    }
    if (x->opens_private != y->opens_private) {
        return x->opens_private ? 1 : -1;
    }
    if (x->n_http > 0 || y->n_http > 0) { /* each decides requests of its own */
        return x < y ? -1 : x > y;
    }
    return strcmp(x->pattern == NULL ? "" : x->pattern, y->pattern == NULL ? "" : y->pattern);
}

/* Two rules for the same thing: one of them never decides. */
static abx_status
check_strict(const struct layer *layer, struct fail *fail)
{
    size_t n = layer->rules.count;
    AUTO(freep) const struct rule **sorted = calloc(n + 1, sizeof *sorted);

    if (sorted == NULL) {
        return fail_nomem(fail);
    }
    for (size_t i = 0; i < n; i++) {
        sorted[i] = vec_at(&layer->rules, struct rule, i);
    }
    qsort(sorted, n, sizeof *sorted, compare_subjects);
    for (size_t i = 1; i < n; i++) {
        if (compare_subjects(&sorted[i - 1], &sorted[i]) == 0) {
            return fail_set(fail, ABX_ERR_POLICY, 0, "policy:strict",
                    "strict: '%s' and '%s' are rules for the same '%s'; one of them can never "
                    "match",
                    sorted[i - 1]->id, sorted[i]->id,
                    sorted[i]->pattern == NULL ? "" : sorted[i]->pattern);
        }
    }
    return ABX_OK;
}

/* A credential for a host that nothing reaches. */
static abx_status
check_idle(const struct layer *layer, struct fail *fail)
{
    const char *host = credentials_idle_host(layer);

    if (host == NULL) {
        return ABX_OK;
    }
    fail_set(fail, ABX_ERR_POLICY, 0, "policy:strict",
            "strict: a credential goes to '%s', and no rule lets connections there through", host);
    fail_remedy(fail, "list the host in network.allow, or take it out of the credential");
    return fail->status;
}

/* What only the whole can tell. */
static abx_status
check_whole(const abx_policy_builder *builder, struct fail *fail)
{
    const struct layer *layer = builder->layer;

    if (layer->settings.network == NETWORK_HOST &&
            !builder_is_weakened(builder, ABX_WEAKEN_HOST_NETWORK)) {
        fail_set(fail, ABX_ERR_POLICY, 0, "policy:/network/mode",
                "the network mode 'host' is no boundary, and nothing weakens the policy");
        fail_remedy(fail, "add { \"what\": \"host-network\", \"reason\": ... } to weaken");
        return fail->status;
    }
    if (layer->settings.network == NETWORK_HOST &&
            (builder->n_http > 0 || builder->credentials.count > 0 ||
                    layer->settings.identity != NULL)) {
        fail_set(fail, ABX_ERR_POLICY, 0, "policy:/network/mode",
                "in the network mode 'host' nothing reads requests, and there are %s",
                builder->n_http > 0              ? "rules for them"
                : builder->credentials.count > 0 ? "credentials for them"
                                                 : "hosts that want an identity in them");
        fail_remedy(fail, "use the mode 'filtered', or remove the %s",
                builder->n_http > 0              ? "rules"
                : builder->credentials.count > 0 ? "credentials"
                                                 : "identity");
        return fail->status;
    }
    return builder->given & GIVEN_STRICT ? check_strict(layer, fail) : ABX_OK;
}

abx_status
builder_finish_layer(abx_policy_builder *builder, struct layer **ret_layer, struct fail *fail)
{
    struct layer *layer = builder->layer;
    abx_status r = ABX_OK;

    if (layer->profile != NULL) {
        r = profile_apply(builder, fail);
    }
    if (r >= 0) {
        r = check_whole(builder, fail);
    }
    if (r >= 0) {
        r = allow_inputs(builder, fail);
    }
    if (r >= 0) {
        r = finish_settings(builder, fail);
    }
    if (r < 0) {
        return r;
    }
    if (layer->source == NULL || layer->source[0] == '\0') {
        free(layer->source);
        layer->source = strdup(layer->profile != NULL ? layer->profile : "task");
    }
    free(layer->document);
    layer->document = layer->source == NULL ? NULL : emit_layer(builder);
    if (layer->document == NULL) {
        return fail_nomem(fail);
    }
    r = layer_finish(layer, fail);
    if (r >= 0 && builder->given & GIVEN_STRICT) {
        r = check_idle(layer, fail);
    }
    if (r < 0) {
        return r;
    }
    builder->layer = NULL;
    *ret_layer = layer;
    return ABX_OK;
}

abx_status
builder_build(abx_policy_builder *builder, abx_policy **ret_policy, struct fail *fail)
{
    struct layer *single = NULL;
    abx_status r;

    if (builder->layer == NULL) {
        return fail_set(fail, ABX_ERR_STATE, 0, "policy:build", "the builder was built already");
    }
    if (builder->layers.count > 0) {
        r = policy_new(builder->layers.data, builder->layers.count, ret_policy, fail);
        if (r >= 0) {
            builder->layers.count = 0;
            layer_free(builder->layer);
            builder->layer = NULL;
        }
        return r;
    }
    r = builder_finish_layer(builder, &single, fail);
    if (r < 0) {
        return r;
    }
    r = policy_new(&single, 1, ret_policy, fail);
    if (r < 0) {
        layer_free(single);
    }
    return r;
}
