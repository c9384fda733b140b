/* SPDX-License-Identifier: Apache-2.0
 * Makes a command's environment: from the policy only, with what the caller adds for this command.
 * Nothing else of the host's environment is read.  Pure but for the named variables of the host. */
#include "supervise/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_DEFAULT "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

/* Length of NAME in "NAME=value"; 0 if it is no such text. */
static size_t
name_length(const char *variable)
{
    const char *equals = strchr(variable, '=');

    return equals == NULL ? 0 : (size_t)(equals - variable);
}

static char **
find(struct vec *list, const char *name, size_t length)
{
    for (size_t i = 0; i < list->count; i++) {
        char **entry = vec_at(list, char *, i);

        if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') {
            return entry;
        }
    }
    return NULL;
}

/* Takes `variable`; false without memory (also if `variable` is NULL). */
static bool
put(struct vec *list, char *variable)
{
    char **entry;

    if (variable == NULL) {
        return false;
    }
    entry = find(list, variable, name_length(variable));
    if (entry == NULL) {
        entry = vec_add(list);
        if (entry == NULL) {
            free(variable);
            return false;
        }
    }
    free(*entry);
    *entry = variable;
    return true;
}

static char *
join(const char *name, const char *value)
{
    char *variable;

    return asprintf(&variable, "%s=%s", name, value) < 0 ? NULL : variable;
}

static bool
put_policy(struct vec *list, const struct policy_settings *settings, const char *const *defaults)
{
    bool ok = put(list, join("PATH", PATH_DEFAULT));

    for (; ok && *defaults != NULL; defaults++) {
        ok = put(list, strdup(*defaults));
    }
    if (settings->home != NULL) {
        ok = ok && put(list, join("HOME", settings->home));
    }
    for (size_t i = 0; ok && settings->env_pass != NULL && settings->env_pass[i] != NULL; i++) {
        const char *value = secure_getenv(settings->env_pass[i]);

        ok = value == NULL || put(list, join(settings->env_pass[i], value));
    }
    for (size_t i = 0; ok && settings->env_set != NULL && settings->env_set[i] != NULL; i++) {
        ok = put(list, strdup(settings->env_set[i]));
    }
    return ok;
}

static bool
has_name(const char *variable, const char *name, size_t length)
{
    return variable != NULL && strlen(variable) == length && memcmp(variable, name, length) == 0;
}

/* Its own values, and what stands for secrets. */
static bool
policy_sets(const struct policy_settings *settings, const char *name, size_t length)
{
    for (size_t i = 0; settings->env_set != NULL && settings->env_set[i] != NULL; i++) {
        if (strncmp(settings->env_set[i], name, length) == 0 &&
                settings->env_set[i][length] == '=') {
            return true;
        }
    }
    for (size_t i = 0; i < settings->n_credentials; i++) {
        if (has_name(settings->credentials[i].env, name, length) ||
                has_name(settings->credentials[i].key_env, name, length)) {
            return true;
        }
    }
    return false;
}

static abx_status
put_extra(struct vec *list, const struct policy_settings *settings, const char *const *extra,
        struct fail *fail)
{
    for (size_t i = 0; extra != NULL && extra[i] != NULL; i++) {
        size_t length = name_length(extra[i]);

        if (length == 0) {
            return fail_set(fail, ABX_ERR_INVALID, 0, "environment:caller",
                    "entry %zu of env is not 'NAME=value'", i);
        }
        if (policy_sets(settings, extra[i], length)) {
            return fail_set(fail, ABX_ERR_DENIED, 0, "environment:caller",
                    "the policy sets '%.*s' itself", length > 100 ? 100 : (int)length, extra[i]);
        }
        if (!put(list, strdup(extra[i]))) {
            return fail_nomem(fail);
        }
    }
    return ABX_OK;
}

void
environment_free(char **environment)
{
    for (size_t i = 0; environment != NULL && environment[i] != NULL; i++) {
        free(environment[i]);
    }
    free(environment);
}

abx_status
environment_make(const struct policy_settings *settings, const char *const *defaults,
        const char *const *extra, char ***ret_environment, struct fail *fail)
{
    struct vec list = VEC(char *);
    abx_status r = put_policy(&list, settings, defaults) ? ABX_OK : fail_nomem(fail);

    if (r == ABX_OK) {
        r = put_extra(&list, settings, extra, fail);
    }
    if (r == ABX_OK && vec_add(&list) == NULL) { /* the NULL at the end */
        r = fail_nomem(fail);
    }
    if (r < 0) {
        for (size_t i = 0; i < list.count; i++) {
            free(*vec_at(&list, char *, i));
        }
        vec_done(&list);
        return r;
    }
    *ret_environment = list.data;
    return ABX_OK;
}
