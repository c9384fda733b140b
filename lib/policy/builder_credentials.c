/* SPDX-License-Identifier: Apache-2.0
 * Credentials on their way into a policy: each is checked and put into its one spelling.  One
 * thread at a time. */
#include "policy/builder.h"
#include "policy/identity.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#define CREDENTIALS_MAX 64u

/* A copy that the layer keeps; NULL stays NULL. */
static abx_status
keep(abx_policy_builder *builder, const char **text, struct fail *fail)
{
    char *copy = *text == NULL ? NULL : strdup(*text);

    if (*text == NULL) {
        return ABX_OK;
    }
    *text = copy;
    return layer_keep(builder->layer, copy, fail);
}

static abx_status
check_places(const struct policy_credential *credential, struct fail *fail)
{
    const struct {
        const char *key, *text;
        uint32_t places;
        bool required;
    } parts[] = {
        { "header", credential->header, CREDENTIAL_HEADER, true },
        { "query", credential->query, CREDENTIAL_QUERY, true },
        { "user", credential->user, CREDENTIAL_BASIC, false },
        { "key_env", credential->key_env, CREDENTIAL_SIGV4, false },
    };

    if ((credential->places & CREDENTIAL_SIGV4) != 0 && credential->places != CREDENTIAL_SIGV4) {
        return fail_policy(fail, "a key that signs is in no other place: 'sigv4' stands alone");
    }
    for (size_t i = 0; i < N_ELEMENTS(parts); i++) {
        bool has_place = (credential->places & parts[i].places) != 0;

        if (has_place && parts[i].required && parts[i].text == NULL) {
            return fail_policy(fail, "the key '%s' is missing: it says which one", parts[i].key);
        }
        if (!has_place && parts[i].text != NULL) {
            return fail_policy(
                    fail, "the key '%s' says nothing where 'as' does not have it", parts[i].key);
        }
    }
    return ABX_OK;
}

/* Names that are there already, of credentials and of variables. */
static abx_status
check_names(const abx_policy_builder *builder, const struct policy_credential *credential,
        struct fail *fail)
{
    const char *const envs[] = { credential->env, credential->key_env };

    if (builder->credentials.count >= CREDENTIALS_MAX) {
        return fail_policy(fail, "more than %u credentials", CREDENTIALS_MAX);
    }
    for (size_t i = 0; i < builder->credentials.count; i++) {
        const struct policy_credential *other =
                vec_at(&builder->credentials, struct policy_credential, i);

        if (strcmp(other->name, credential->name) == 0) {
            return fail_policy(fail, "the credential '%s' is there already", credential->name);
        }
        for (size_t k = 0; k < N_ELEMENTS(envs); k++) {
            if (envs[k] != NULL &&
                    ((other->env != NULL && strcmp(other->env, envs[k]) == 0) ||
                            (other->key_env != NULL && strcmp(other->key_env, envs[k]) == 0))) {
                return fail_policy(
                        fail, "'%s' has the stand-in of '%s' already", envs[k], other->name);
            }
        }
    }
    if (credential->env != NULL && credential->key_env != NULL &&
            strcmp(credential->env, credential->key_env) == 0) {
        return fail_policy(fail, "'%s' cannot hold both the key and its id", credential->env);
    }
    return ABX_OK;
}

/* Where it may be used instead, for a program that used it elsewhere. */
static char *
make_alternative(const struct credential_host *hosts, size_t n)
{
    struct str out = { 0 };

    for (size_t i = 0; i < n && i < 4; i++) {
        str_printf(&out, "%s '%s'", i == 0 ? "use it with" : " or", hosts[i].text);
    }
    return str_steal(&out, NULL);
}

/* A copy that the layer keeps; NULL: no memory. */
static struct credential_host *
keep_hosts(abx_policy_builder *builder, const struct credential_host *hosts, size_t n,
        struct fail *fail)
{
    struct credential_host *kept = calloc(n + 1, sizeof *kept);

    if (layer_keep(builder->layer, kept, fail) < 0) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        kept[i] = hosts[i];
        if (keep(builder, &kept[i].text, fail) < 0) {
            return NULL;
        }
    }
    return kept;
}

abx_status
builder_set_identity(abx_policy_builder *builder, const char *header,
        const struct credential_host *hosts, size_t n_hosts, struct fail *fail)
{
    struct policy_identity *identity = calloc(1, sizeof *identity);

    if (layer_keep(builder->layer, identity, fail) < 0) {
        return fail->status;
    }
    identity->header = header;
    identity->hosts = keep_hosts(builder, hosts, n_hosts, fail);
    identity->n_hosts = n_hosts;
    if (identity->hosts == NULL || keep(builder, &identity->header, fail) < 0) {
        return fail->status;
    }
    builder->layer->settings.identity = identity;
    return ABX_OK;
}

abx_status
builder_add_credential(abx_policy_builder *builder, const struct policy_credential *credential,
        const struct credential_host *hosts, size_t n_hosts, struct fail *fail)
{
    struct policy_credential copy = *credential;
    const char **const texts[] = { &copy.name, &copy.env, &copy.key_env, &copy.header, &copy.query,
        &copy.user, &copy.prefix, &copy.id };
    struct credential_host *kept;
    struct policy_credential *slot;
    char *alternative;

    if (check_places(credential, fail) < 0 || check_names(builder, credential, fail) < 0) {
        return fail->status;
    }
    for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
        if (keep(builder, texts[i], fail) < 0) {
            return fail->status;
        }
    }
    kept = keep_hosts(builder, hosts, n_hosts, fail);
    if (kept == NULL) {
        return fail->status;
    }
    alternative = make_alternative(kept, n_hosts);
    if (layer_keep(builder->layer, alternative, fail) < 0) {
        return fail->status;
    }
    copy.hosts = kept;
    copy.n_hosts = n_hosts;
    copy.alternative = alternative;
    slot = vec_add(&builder->credentials);
    if (slot == NULL) {
        return fail_nomem(fail);
    }
    *slot = copy;
    return ABX_OK;
}

/* A variable that is set or passed by hand would hide the stand-in, or the stand-in it. */
static abx_status
check_environment(const abx_policy_builder *builder, const char *env, struct fail *fail)
{
    bool taken = false;

    for (size_t i = 0; env != NULL && i < builder->env_set.count; i++) {
        taken |= strcmp(vec_at(&builder->env_set, struct variable, i)->name, env) == 0;
    }
    for (size_t i = 0; env != NULL && i < builder->env_pass.count; i++) {
        taken |= strcmp(*vec_at(&builder->env_pass, char *, i), env) == 0;
    }
    return taken ? fail_set(fail, ABX_ERR_POLICY, 0, "policy:/credentials",
                           "the environment variable '%s' is set or passed, and has a stand-in too",
                           env)
                 : ABX_OK;
}

abx_status
builder_finish_credentials(abx_policy_builder *builder, struct fail *fail)
{
    struct layer *layer = builder->layer;
    size_t n = builder->credentials.count;
    struct policy_credential *list = calloc(n + 1, sizeof *list);

    if (layer_keep(layer, list, fail) < 0) {
        return fail->status;
    }
    for (size_t i = 0; i < n; i++) {
        list[i] = *vec_at(&builder->credentials, struct policy_credential, i);
        if (check_environment(builder, list[i].env, fail) < 0 ||
                check_environment(builder, list[i].key_env, fail) < 0) {
            return fail->status;
        }
    }
    layer->settings.credentials = list;
    layer->settings.n_credentials = n;
    return ABX_OK;
}
