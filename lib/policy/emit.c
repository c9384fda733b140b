/* SPDX-License-Identifier: Apache-2.0
 * The canonical text of a layer: everything spelled out (profile, secrets, protected names), so
 * that reading it again gives the same layer whatever this build's lists are.  It is what digest
 * and abx_policy_to_json are made of.  Pure. */
#include "policy/emit.h"

#include "base/json.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void
emit_next(struct str *out)
{
    if (out->length > 0 && out->data[out->length - 1] != '{' && out->data[out->length - 1] != '[') {
        str_add(out, ",");
    }
}

void
emit_key(struct str *out, const char *name)
{
    emit_next(out);
    str_add_json(out, name);
    str_add(out, ":");
}

void
emit_text(struct str *out, const char *name, const char *text)
{
    if (text != NULL) {
        emit_key(out, name);
        str_add_json(out, text);
    }
}

void
emit_made(struct str *out, char *text)
{
    if (text == NULL) {
        out->failed = true;
        return;
    }
    str_add_json(out, text);
    free(text);
}

void
emit_bytes(struct str *out, const char *bytes)
{
    str_add_json_bytes(out, bytes, true);
}

void
emit_path(struct str *out, const char *path, bool is_literal)
{
    emit_made(out, variable_spell(path, is_literal));
}

static void
emit_access(struct str *out, const struct layer *layer, const char *name, const char *pointer,
        uint32_t access)
{
    const struct rule_list lists[] = {
        { "allow", pointer, ABX_REQUEST_PATH, access, ABX_VERDICT_ALLOW, false, false },
        { "ask", pointer, ABX_REQUEST_PATH, access, ABX_VERDICT_ASK, false, false },
        { "deny", pointer, ABX_REQUEST_PATH, access, ABX_VERDICT_DENY, false, false },
    };

    emit_key(out, name);
    str_add(out, "{");
    for (size_t i = 0; i < N_ELEMENTS(lists); i++) {
        emit_list(out, layer, &lists[i], false);
    }
    str_add(out, "}");
}

static void
emit_inputs(struct str *out, const struct policy_settings *settings)
{
    if (settings->n_inputs == 0) {
        return;
    }
    emit_key(out, "inputs");
    str_add(out, "[");
    for (size_t i = 0; i < settings->n_inputs; i++) {
        emit_next(out);
        str_add(out, "{\"from\":");
        emit_path(out, settings->inputs[i].from, true);
        str_add(out, ",\"as\":");
        emit_bytes(out, settings->inputs[i].as);
        str_add(out, "}");
    }
    str_add(out, "]");
}

static void
emit_protect(struct str *out, const struct layer *layer)
{
    emit_key(out, "protect");
    str_add(out, "{\"defaults\":false,\"add\":[");
    for (size_t i = 0; i < layer->protect.count; i++) {
        emit_next(out);
        emit_bytes(out, *vec_at(&layer->protect, char *, i));
    }
    str_printf(out, "],\"git\":\"%s\"}", git_words[layer->git]);
}

static void
emit_filesystem(struct str *out, const struct layer *layer)
{
    const char *const *decoy = layer->settings.decoys;

    emit_key(out, "filesystem");
    str_add(out, "{");
    if (layer->has_read) {
        emit_access(out, layer, "read", "/filesystem/read", ABX_ACCESS_READ);
    }
    if (layer->has_write) {
        emit_access(out, layer, "write", "/filesystem/write", ABX_ACCESS_WRITE);
    }
    if (layer->has_exec) {
        emit_access(out, layer, "exec", "/filesystem/exec", ABX_ACCESS_EXEC);
    }
    emit_inputs(out, &layer->settings);
    emit_protect(out, layer);
    if (decoy != NULL && *decoy != NULL) {
        emit_key(out, "decoys");
        str_add(out, "[");
        for (; *decoy != NULL; decoy++) {
            emit_next(out);
            emit_path(out, *decoy, true);
        }
        str_add(out, "]");
    }
    str_add(out, "}");
}

static void
emit_network(struct str *out, const struct layer *layer)
{
    static const struct rule_list lists[] = {
        { "allow", "/network", ABX_REQUEST_CONNECT, 0, ABX_VERDICT_ALLOW, false, false },
        { "ask", "/network", ABX_REQUEST_CONNECT, 0, ABX_VERDICT_ASK, false, false },
        { "deny", "/network", ABX_REQUEST_CONNECT, 0, ABX_VERDICT_DENY, false, false },
        { "private", "/network", ABX_REQUEST_CONNECT, 0, ABX_VERDICT_ALLOW, true, false },
        { "host_loopback", "/network", ABX_REQUEST_CONNECT, 0, ABX_VERDICT_ALLOW, true, true },
    };
    static const struct rule_list listen = { "listen", "/network", ABX_REQUEST_LISTEN, 0,
        ABX_VERDICT_ALLOW, false, false };
    static const struct rule_list sockets = { "sockets", "/network", ABX_REQUEST_SOCKET, 0,
        ABX_VERDICT_ALLOW, false, false };

    emit_key(out, "network");
    str_add(out, "{");
    if (layer->has_network) {
        emit_text(out, "mode", network_words[layer->settings.network]);
    }
    for (size_t i = 0; i < N_ELEMENTS(lists); i++) {
        emit_list(out, layer, &lists[i], false);
    }
    emit_list(out, layer, &listen, layer->has_listen);
    emit_list(out, layer, &sockets, layer->has_sockets);
    emit_text(out, "upstream", layer->settings.upstream);
    if (layer->settings.extra_ca != NULL) {
        emit_key(out, "extra_ca");
        emit_path(out, layer->settings.extra_ca, true);
    }
    str_add(out, "}");
}

static void
emit_environment(struct str *out, const struct policy_settings *settings)
{
    emit_key(out, "environment");
    str_add(out, "{");
    if (settings->env_pass != NULL) {
        str_add(out, "\"pass\":[");
        for (const char *const *name = settings->env_pass; *name != NULL; name++) {
            emit_next(out);
            str_add_json(out, *name);
        }
        str_add(out, "]");
    }
    emit_key(out, "set");
    str_add(out, "{");
    for (const char *const *pair = settings->env_set; *pair != NULL; pair++) {
        const char *value = strchr(*pair, '=');
        char *name;

        if (settings->has_default_home && strncmp(*pair, "HOME=", 5) == 0) {
            continue; /* written out it would be a choice */
        }
        name = strndup(*pair, (size_t)(value - *pair));
        if (name == NULL) {
            out->failed = true;
            return;
        }
        emit_key(out, name);
        emit_bytes(out, value + 1);
        free(name);
    }
    str_add(out, "}}");
}

static void
emit_variables(struct str *out, const struct vec *variables)
{
    emit_key(out, "variables");
    str_add(out, "{");
    for (size_t i = 0; i < variables->count; i++) {
        const struct variable *variable = vec_at(variables, struct variable, i);

        emit_key(out, variable->name);
        emit_bytes(out, variable->value);
    }
    str_add(out, "}");
}

static void
emit_limits(struct str *out, const struct policy_settings *settings)
{
    static const struct {
        const char *name;
        uint32_t limit;
    } limits[] = {
        { "wall_ms", ABX_LIMIT_WALL_MS },
        { "cpu_ms", ABX_LIMIT_CPU_MS },
        { "processes", ABX_LIMIT_PROCESSES },
        { "memory", ABX_LIMIT_MEMORY },
        { "output", ABX_LIMIT_OUTPUT },
        { "file_size", ABX_LIMIT_FILE_SIZE },
    };

    emit_key(out, "limits");
    str_add(out, "{");
    for (size_t i = 0; i < N_ELEMENTS(limits); i++) {
        if (settings->limits[limits[i].limit] != 0) {
            emit_key(out, limits[i].name);
            str_printf(out, "%llu", (unsigned long long)settings->limits[limits[i].limit]);
        }
    }
    str_add(out, "}");
}

void
emit_consent(struct str *out, struct consent consent)
{
    if (consent.approvers > 1) {
        emit_key(out, "approvers");
        str_printf(out, "%u", consent.approvers);
    }
    if (consent.step_up) {
        emit_key(out, "step_up");
        str_add(out, "true");
    }
}

static void
emit_approvals(struct str *out, const struct policy_settings *settings)
{
    emit_key(out, "approvals");
    str_add(out, "{");
    if (settings->approval_timeout_ms != 0) {
        emit_key(out, "timeout_ms");
        str_printf(out, "%llu", (unsigned long long)settings->approval_timeout_ms);
    }
    if (settings->approvals_per_minute != 0) {
        emit_key(out, "per_minute");
        str_printf(out, "%llu", (unsigned long long)settings->approvals_per_minute);
    }
    emit_consent(out, settings->consent);
    str_add(out, "}");
}

static void
emit_weaken(struct str *out, const struct vec *weakened)
{
    if (weakened->count == 0) {
        return;
    }
    emit_key(out, "weaken");
    str_add(out, "[");
    for (size_t i = 0; i < weakened->count; i++) {
        const struct weakening *weakening = vec_at(weakened, struct weakening, i);

        emit_next(out);
        str_add(out, "{");
        emit_text(out, "what", weaken_words[weakening->what - 1]);
        emit_text(out, "reason", weakening->reason);
        str_add(out, "}");
    }
    str_add(out, "]");
}

char *
emit_layer(const abx_policy_builder *builder)
{
    const struct layer *layer = builder->layer;
    struct str out = { 0 };

    str_add(&out, "{\"version\":1");
    emit_text(&out, "name", layer->name);
    emit_text(&out, "source", layer->source);
    emit_variables(&out, &builder->variables);
    emit_filesystem(&out, layer);
    emit_network(&out, layer);
    emit_credentials(&out, layer);
    emit_identity(&out, layer->settings.identity);
    emit_actions(&out, layer);
    emit_environment(&out, &layer->settings);
    emit_limits(&out, &layer->settings);
    emit_approvals(&out, &layer->settings);
    if (layer->settings.silent_reads) {
        str_add(&out, ",\"feedback\":{\"reads\":\"silent\"}");
    }
    emit_weaken(&out, &builder->weakened);
    emit_text(&out, "run_as", layer->settings.run_as);
    str_add(&out, "}");
    return str_steal(&out, NULL);
}

char *
emit_policy(abx_policy *policy, size_t *ret_length)
{
    bool is_single = policy->layers.count == 1;
    struct str out = { 0 };
    AUTO(freep) char *flat = NULL;
    size_t length;

    str_add(&out, is_single ? "" : "{\"version\":1,\"layers\":[");
    for (size_t i = 0; i < policy->layers.count; i++) {
        str_add(&out, i == 0 ? "" : ",");
        str_add(&out, (*vec_at(&policy->layers, struct layer *, i))->document);
    }
    str_add(&out, is_single ? "" : "]}");
    flat = str_steal(&out, &length);
    return flat == NULL ? NULL : json_indent(flat, length, ret_length);
}
