/* SPDX-License-Identifier: Apache-2.0
 * Owns a policy while it is being made.  Each function checks one fact, says what is wrong without
 * knowing where it was written, and adds it.  One thread at a time. */
#include "policy/builder.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

abx_policy_builder *
builder_new(struct fail *fail)
{
    abx_policy_builder *builder = calloc(1, sizeof *builder);

    if (builder == NULL) {
        fail_nomem(fail);
        return NULL;
    }
    atomic_init(&builder->references, 1);
    builder->layers = VEC(struct layer *);
    builder->variables = VEC(struct variable);
    builder->env_pass = VEC(char *);
    builder->env_set = VEC(struct variable);
    builder->inputs = VEC(struct policy_input);
    builder->decoys = VEC(char *);
    builder->weakened = VEC(struct weakening);
    builder->credentials = VEC(struct policy_credential);
    builder->layer = layer_new("");
    if (builder->layer == NULL) {
        fail_nomem(fail);
        builder_free(builder);
        return NULL;
    }
    return builder;
}

static void
free_texts(struct vec *texts)
{
    for (size_t i = 0; i < texts->count; i++) {
        free(*vec_at(texts, char *, i));
    }
    vec_done(texts);
}

static void
free_variables(struct vec *variables)
{
    for (size_t i = 0; i < variables->count; i++) {
        free(vec_at(variables, struct variable, i)->name);
        free(vec_at(variables, struct variable, i)->value);
    }
    vec_done(variables);
}

void
builder_free(abx_policy_builder *builder)
{
    layer_free(builder->layer);
    for (size_t i = 0; i < builder->layers.count; i++) {
        layer_free(*vec_at(&builder->layers, struct layer *, i));
    }
    vec_done(&builder->layers);
    free_variables(&builder->variables);
    free_variables(&builder->env_set);
    free_texts(&builder->env_pass);
    free_texts(&builder->decoys);
    for (size_t i = 0; i < builder->inputs.count; i++) {
        free((char *)(uintptr_t)vec_at(&builder->inputs, struct policy_input, i)->from);
        free((char *)(uintptr_t)vec_at(&builder->inputs, struct policy_input, i)->as);
    }
    vec_done(&builder->inputs);
    for (size_t i = 0; i < builder->weakened.count; i++) {
        free(vec_at(&builder->weakened, struct weakening, i)->reason);
    }
    vec_done(&builder->weakened);
    vec_done(&builder->credentials);
    free(builder->source);
    free(builder);
}

static abx_status
add_text(struct vec *texts, const char *text, struct fail *fail)
{
    char *copy = strdup(text);
    char **slot = copy == NULL ? NULL : vec_add(texts);

    if (slot == NULL) {
        free(copy);
        return fail_nomem(fail);
    }
    *slot = copy;
    return ABX_OK;
}

static abx_status
add_variable(struct vec *variables, const char *name, const char *value, struct fail *fail)
{
    struct variable variable = { strdup(name), strdup(value) };
    struct variable *slot =
            variable.name == NULL || variable.value == NULL ? NULL : vec_add(variables);

    if (slot == NULL) {
        free(variable.name);
        free(variable.value);
        return fail_nomem(fail);
    }
    *slot = variable;
    return ABX_OK;
}

abx_status
builder_set_profile(abx_policy_builder *builder, const char *name, struct fail *fail)
{
    const char *nearest;

    if (profile_find(name) == NULL) {
        nearest = profile_nearest(name);
        fail_policy(fail, "there is no profile '%s'%s%s%s", name,
                nearest == NULL ? "" : "; nearest is '", nearest == NULL ? "" : nearest,
                nearest == NULL ? "" : "'");
        fail_remedy(fail, "the profiles are read-only, workspace-write, task and packages");
        return fail->status;
    }
    if (builder->layer->profile != NULL && strcmp(builder->layer->profile, name) != 0) {
        return fail_policy(fail, "it extends profile '%s' already; one profile at most",
                builder->layer->profile);
    }
    free(builder->layer->profile);
    builder->layer->profile = strdup(name);
    return builder->layer->profile == NULL ? fail_nomem(fail) : ABX_OK;
}

static bool
is_word(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    size_t length = strlen(name);

    return length > 0 && length <= 128 && strchr(letters, name[0]) != NULL &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") ==
                   length;
}

abx_status
builder_set_variable(
        abx_policy_builder *builder, const char *name, const char *value, struct fail *fail)
{
    const char *present = variable_get(&builder->variables, name);
    bool is_directory = strcmp(name, "home") == 0 || strcmp(name, "workspace") == 0 ||
                        strcmp(name, "output") == 0;
    AUTO(freep) char *path = NULL;

    if (!is_word(name)) {
        return fail_policy(
                fail, "'%s' cannot name a variable: letters, digits and underscores", name);
    }
    if (strcmp(name, "tmp") == 0 || strcmp(name, "inputs") == 0) {
        return fail_policy(fail, "the variable '%s' is fixed: it is a place of the box", name);
    }
    if (strlen(value) > PATTERN_MAX) {
        return fail_policy(fail, "the value of '%s' is longer than %u bytes", name, PATTERN_MAX);
    }
    if (is_directory) {
        if (value[0] != '/') {
            return fail_policy(
                    fail, "the variable '%s' wants an absolute path, not '%s'", name, value);
        }
        path = path_normalise(value, fail);
        if (path == NULL) {
            return fail->status;
        }
        value = path;
    }
    if (present != NULL) {
        return strcmp(present, value) == 0
                       ? ABX_OK
                       : fail_policy(fail, "the variable '%s' is '%s' already", name, present);
    }
    return add_variable(&builder->variables, name, value, fail);
}

static bool
is_passed(const abx_policy_builder *builder, const char *name)
{
    for (size_t i = 0; i < builder->env_pass.count; i++) {
        if (strcmp(*vec_at(&builder->env_pass, char *, i), name) == 0) {
            return true;
        }
    }
    return false;
}

abx_status
builder_add_env(abx_policy_builder *builder, const char *name, const char *value, struct fail *fail)
{
    const char *present = NULL;

    if (!is_word(name)) {
        return fail_policy(fail, "'%s' cannot name an environment variable", name);
    }
    for (size_t i = 0; i < builder->env_set.count; i++) {
        const struct variable *set = vec_at(&builder->env_set, struct variable, i);

        present = strcmp(set->name, name) == 0 ? set->value : present;
    }
    if (value == NULL) {
        if (present != NULL) {
            return fail_policy(fail, "'%s' is set; it cannot be passed too", name);
        }
        return is_passed(builder, name) ? ABX_OK : add_text(&builder->env_pass, name, fail);
    }
    if (is_passed(builder, name)) {
        return fail_policy(fail, "'%s' is passed; it cannot be set too", name);
    }
    if (present != NULL) {
        return strcmp(present, value) == 0
                       ? ABX_OK
                       : fail_policy(fail, "'%s' is set to '%s' already", name, present);
    }
    return add_variable(&builder->env_set, name, value, fail);
}

/* Below something: no start at the root, no way up, no pattern. */
static bool
is_relative_name(const char *name)
{
    const char *p = name;
    size_t length;

    if (name[0] == '\0' || strlen(name) > PATTERN_MAX) {
        return false;
    }
    for (;;) {
        length = strcspn(p, "/");
        if (length == 0 || (length == 1 && p[0] == '.') ||
                (length == 2 && strncmp(p, "..", 2) == 0)) {
            return false;
        }
        if (p[length] == '\0') {
            return true;
        }
        p += length + 1;
    }
}

abx_status
builder_add_input(abx_policy_builder *builder, const char *from, const char *as, struct fail *fail)
{
    AUTO(freep) char *path = NULL;
    AUTO(freep) char *name = NULL;
    bool is_literal;
    struct policy_input *input;

    if (variable_path(&builder->variables, from, false, &path, &is_literal, fail) < 0) {
        return fail->status;
    }
    if (!is_literal) {
        return fail_policy(fail, "'%s' is a pattern; inputs are named one by one", from);
    }
    if (as == NULL) {
        as = strrchr(path, '/') + 1;
    }
    if (!is_relative_name(as)) {
        return fail_policy(fail, "'%s' cannot be a name below the inputs directory", as);
    }
    for (size_t i = 0; i < builder->inputs.count; i++) {
        if (strcmp(vec_at(&builder->inputs, struct policy_input, i)->as, as) == 0) {
            return fail_policy(fail, "another input appears as '%s' already", as);
        }
    }
    name = strdup(as);
    input = name == NULL ? NULL : vec_add(&builder->inputs);
    if (input == NULL) {
        return fail_nomem(fail);
    }
    *input = (struct policy_input){ steal_ptr(&path), steal_ptr(&name) };
    return ABX_OK;
}

abx_status
builder_add_decoy(abx_policy_builder *builder, const char *path, struct fail *fail)
{
    AUTO(freep) char *literal = NULL;
    bool is_literal;

    if (variable_path(&builder->variables, path, false, &literal, &is_literal, fail) < 0) {
        return fail->status;
    }
    return is_literal ? add_text(&builder->decoys, literal, fail)
                      : fail_policy(fail, "'%s' is a pattern; decoys are named one by one", path);
}

abx_status
builder_add_protected(abx_policy_builder *builder, const char *name, struct fail *fail)
{
    struct vec *protect = &builder->layer->protect;

    if (strcspn(name, "*?[") != strlen(name)) {
        fail_policy(fail, "'%s' is a pattern; protected names are literal", name);
        fail_remedy(fail, "put the pattern in filesystem.write.deny");
        return fail->status;
    }
    if (!is_relative_name(name)) {
        fail_policy(fail, "'%s' is no name inside a writable root", name);
        fail_remedy(fail, "put an absolute path in filesystem.write.deny");
        return fail->status;
    }
    for (size_t i = 0; i < protect->count; i++) {
        if (strcmp(*vec_at(protect, char *, i), name) == 0) {
            return ABX_OK;
        }
    }
    return add_text(protect, name, fail);
}

abx_status
builder_set_limit(abx_policy_builder *builder, uint32_t limit, uint64_t value, struct fail *fail)
{
    if (limit < ABX_LIMIT_MEMORY || limit > ABX_LIMIT_OUTPUT) {
        return fail_set(fail, ABX_ERR_INVALID, 0, "", "there is no limit %u", limit);
    }
    if (value == 0 || value > INT64_MAX) {
        return fail_policy(
                fail, "a limit goes from 1 to %lld; leave it out for none", (long long)INT64_MAX);
    }
    builder->layer->settings.limits[limit] = value;
    return ABX_OK;
}

abx_status
builder_weaken(abx_policy_builder *builder, uint32_t what, const char *reason, struct fail *fail)
{
    struct policy_settings *settings = &builder->layer->settings;
    struct weakening *weakening;

    if (what < ABX_WEAKEN_HOST_NETWORK || what > ABX_WEAKEN_BEST_EFFORT) {
        return fail_set(fail, ABX_ERR_INVALID, 0, "", "there is no weakening %u", what);
    }
    if (reason == NULL || strspn(reason, " \t") == strlen(reason)) {
        fail_policy(fail, "weaken wants a reason that is not empty");
        fail_remedy(fail, "say why this box may have a weaker boundary; it is audited");
        return fail->status;
    }
    weakening = vec_add(&builder->weakened);
    if (weakening == NULL) {
        return fail_nomem(fail);
    }
    weakening->what = what;
    weakening->reason = text_escape(reason, strlen(reason), false);
    if (weakening->reason == NULL) {
        builder->weakened.count--;
        return fail_nomem(fail);
    }
    settings->weaken_host_network |= what == ABX_WEAKEN_HOST_NETWORK;
    settings->weaken_nested_namespaces |= what == ABX_WEAKEN_NESTED_NAMESPACES;
    settings->weaken_best_effort |= what == ABX_WEAKEN_BEST_EFFORT;
    return ABX_OK;
}

bool
builder_is_weakened(const abx_policy_builder *builder, uint32_t what)
{
    for (size_t i = 0; i < builder->weakened.count; i++) {
        if (vec_at(&builder->weakened, struct weakening, i)->what == what) {
            return true;
        }
    }
    return false;
}

abx_status
builder_explain(
        abx_policy_builder *builder, const char *reason, const char *instead, struct fail *fail)
{
    struct vec *rules = &builder->layer->rules;
    AUTO(freep)
    char *reason_copy = reason == NULL ? NULL : text_escape(reason, strlen(reason), false);
    AUTO(freep)
    char *instead_copy = instead == NULL ? NULL : text_escape(instead, strlen(instead), false);
    struct rule *rule;

    if (rules->count == 0) {
        return fail_set(fail, ABX_ERR_STATE, 0, "", "there is no rule to explain");
    }
    if ((reason != NULL && reason_copy == NULL) || (instead != NULL && instead_copy == NULL)) {
        return fail_nomem(fail);
    }
    rule = vec_at(rules, struct rule, rules->count - 1);
    free(rule->reason);
    free(rule->alternative);
    rule->reason = steal_ptr(&reason_copy);
    rule->alternative = steal_ptr(&instead_copy);
    return ABX_OK;
}
