/* SPDX-License-Identifier: Apache-2.0
 * The canonical text of a layer: everything spelled out (profile, secrets, protected names), so
 * that reading it again gives the same layer whatever this build's lists are.  It is what digest
 * and abx_policy_to_json are made of.  Pure. */
#include "policy/builder.h"

#include "base/json.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* The comma before all but the first member or element. */
static void
next(struct str *out)
{
    if (out->length > 0 && out->data[out->length - 1] != '{' && out->data[out->length - 1] != '[') {
        str_add(out, ",");
    }
}

static void
key(struct str *out, const char *name)
{
    next(out);
    str_add_json(out, name);
    str_add(out, ":");
}

static void
text_member(struct str *out, const char *name, const char *text)
{
    if (text != NULL) {
        key(out, name);
        str_add_json(out, text);
    }
}

/* A text that was made for this, and is freed; NULL: there was no memory for it. */
static void
made_text(struct str *out, char *text)
{
    if (text == NULL) {
        out->failed = true;
        return;
    }
    str_add_json(out, text);
    free(text);
}

/* Bytes that are not UTF-8 as `\xHH`. */
static void
escaped(struct str *out, const char *bytes)
{
    str_add_json_bytes(out, bytes, true);
}

static void
path_text(struct str *out, const char *path, bool is_literal)
{
    made_text(out, variable_spell(path, is_literal));
}

/* "example.com:443", "[fd00::/8]:443", "10.0.0.0/8". */
static void
host_text(struct str *out, const struct rule *rule)
{
    bool is_ipv6 = strchr(rule->pattern, ':') != NULL;
    struct str text = { 0 };

    str_printf(&text, "%s%s%s", is_ipv6 ? "[" : "", rule->pattern, is_ipv6 ? "]" : "");
    if (rule->port_last != 0) {
        str_printf(&text, ":%u", rule->port_first);
        if (rule->port_first != rule->port_last) {
            str_printf(&text, "-%u", rule->port_last);
        }
    }
    made_text(out, str_steal(&text, NULL));
}

static void
port_text(struct str *out, const struct rule *rule)
{
    if (rule->port_first == rule->port_last) {
        str_printf(out, "%u", rule->port_first);
    } else {
        str_printf(out, "\"%u-%u\"", rule->port_first, rule->port_last);
    }
}

/* Which rules stand in a list of the document, and where that list is. */
struct list {
    const char *name, *pointer;
    uint32_t kind, access;
    abx_verdict verdict;
    bool opens_private, is_loopback;
};

static bool
is_ipv4_loopback(const struct rule *rule)
{
    return rule->opens_private && strcmp(rule->pattern, "127.0.0.0/8") == 0;
}

/* host_loopback makes two rules; the IPv6 one is not written. */
static bool
belongs(const struct rule *rule, const struct list *list)
{
    bool is_twin = rule->opens_private && strcmp(rule->pattern, "::1") == 0;

    return !rule->implied && rule->origin != ORIGIN_PROTECT && rule->kind == list->kind &&
           rule->access == list->access && rule->verdict == list->verdict &&
           rule->opens_private == list->opens_private && !is_twin &&
           (!rule->opens_private || is_ipv4_loopback(rule) == list->is_loopback);
}

static void
name_text(struct str *out, const struct rule *rule)
{
    if (rule->kind == ABX_REQUEST_CONNECT) {
        host_text(out, rule);
    } else if (rule->kind == ABX_REQUEST_SOCKET && rule->pattern[0] == '@') {
        str_add_json(out, rule->pattern);
    } else {
        path_text(out, rule->pattern, rule->is_literal);
    }
}

/* A string where the rule has nothing but its name, and its id is its place. */
static void
emit_entry(struct str *out, const struct rule *rule, const struct list *list, size_t i)
{
    struct str place = { 0 };
    bool has_id;

    next(out);
    if (list->is_loopback || list->kind == ABX_REQUEST_LISTEN) {
        port_text(out, rule);
        return;
    }
    str_printf(&place, "%s/%s/%zu", list->pointer, list->name, i);
    has_id = place.data == NULL || strcmp(place.data, rule->id) != 0;
    out->failed |= place.failed;
    str_done(&place);
    if (!has_id && rule->reason == NULL && rule->alternative == NULL) {
        name_text(out, rule);
        return;
    }
    str_add(out, "{");
    key(out, rule->kind == ABX_REQUEST_CONNECT ? "host" : "path");
    name_text(out, rule);
    text_member(out, "id", has_id ? rule->id : NULL);
    text_member(out, "reason", rule->reason);
    text_member(out, "instead", rule->alternative);
    str_add(out, "}");
}

/* `present`: also if it is empty, since an empty section is an opinion. */
static void
emit_list(struct str *out, const struct layer *layer, const struct list *list, bool present)
{
    size_t n = 0;

    if (present) {
        key(out, list->name);
        str_add(out, "[");
    }
    for (size_t i = 0; i < layer->rules.count; i++) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, i);

        if (!belongs(rule, list)) {
            continue;
        }
        if (!present) {
            key(out, list->name);
            str_add(out, "[");
            present = true;
        }
        emit_entry(out, rule, list, n++);
    }
    if (present) {
        str_add(out, "]");
    }
}

static void
emit_access(struct str *out, const struct layer *layer, const char *name, const char *pointer,
        uint32_t access)
{
    const struct list lists[] = {
        { "allow", pointer, ABX_REQUEST_PATH, access, ABX_VERDICT_ALLOW, false, false },
        { "ask", pointer, ABX_REQUEST_PATH, access, ABX_VERDICT_ASK, false, false },
        { "deny", pointer, ABX_REQUEST_PATH, access, ABX_VERDICT_DENY, false, false },
    };

    key(out, name);
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
    key(out, "inputs");
    str_add(out, "[");
    for (size_t i = 0; i < settings->n_inputs; i++) {
        next(out);
        str_add(out, "{\"from\":");
        path_text(out, settings->inputs[i].from, true);
        str_add(out, ",\"as\":");
        escaped(out, settings->inputs[i].as);
        str_add(out, "}");
    }
    str_add(out, "]");
}

static void
emit_protect(struct str *out, const struct layer *layer)
{
    key(out, "protect");
    str_add(out, "{\"defaults\":false,\"add\":[");
    for (size_t i = 0; i < layer->protect.count; i++) {
        next(out);
        escaped(out, *vec_at(&layer->protect, char *, i));
    }
    str_printf(out, "],\"git\":\"%s\"}", git_words[layer->git]);
}

static void
emit_filesystem(struct str *out, const struct layer *layer)
{
    const char *const *decoy = layer->settings.decoys;

    key(out, "filesystem");
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
        key(out, "decoys");
        str_add(out, "[");
        for (; *decoy != NULL; decoy++) {
            next(out);
            path_text(out, *decoy, true);
        }
        str_add(out, "]");
    }
    str_add(out, "}");
}

static void
emit_network(struct str *out, const struct layer *layer)
{
    static const struct list lists[] = {
        { "allow", "/network", ABX_REQUEST_CONNECT, 0, ABX_VERDICT_ALLOW, false, false },
        { "ask", "/network", ABX_REQUEST_CONNECT, 0, ABX_VERDICT_ASK, false, false },
        { "deny", "/network", ABX_REQUEST_CONNECT, 0, ABX_VERDICT_DENY, false, false },
        { "private", "/network", ABX_REQUEST_CONNECT, 0, ABX_VERDICT_ALLOW, true, false },
        { "host_loopback", "/network", ABX_REQUEST_CONNECT, 0, ABX_VERDICT_ALLOW, true, true },
    };
    static const struct list listen = { "listen", "/network", ABX_REQUEST_LISTEN, 0,
        ABX_VERDICT_ALLOW, false, false };
    static const struct list sockets = { "sockets", "/network", ABX_REQUEST_SOCKET, 0,
        ABX_VERDICT_ALLOW, false, false };

    key(out, "network");
    str_add(out, "{");
    if (layer->has_network) {
        text_member(out, "mode", network_words[layer->settings.network]);
    }
    for (size_t i = 0; i < N_ELEMENTS(lists); i++) {
        emit_list(out, layer, &lists[i], false);
    }
    emit_list(out, layer, &listen, layer->has_listen);
    emit_list(out, layer, &sockets, layer->has_sockets);
    text_member(out, "upstream", layer->settings.upstream);
    str_add(out, "}");
}

static void
emit_environment(struct str *out, const struct policy_settings *settings)
{
    key(out, "environment");
    str_add(out, "{");
    if (settings->env_pass != NULL) {
        str_add(out, "\"pass\":[");
        for (const char *const *name = settings->env_pass; *name != NULL; name++) {
            next(out);
            str_add_json(out, *name);
        }
        str_add(out, "]");
    }
    key(out, "set");
    str_add(out, "{");
    for (const char *const *pair = settings->env_set; *pair != NULL; pair++) {
        const char *value = strchr(*pair, '=');
        char *name = strndup(*pair, (size_t)(value - *pair));

        if (name == NULL) {
            out->failed = true;
            return;
        }
        key(out, name);
        escaped(out, value + 1);
        free(name);
    }
    str_add(out, "}}");
}

static void
emit_variables(struct str *out, const struct vec *variables)
{
    key(out, "variables");
    str_add(out, "{");
    for (size_t i = 0; i < variables->count; i++) {
        const struct variable *variable = vec_at(variables, struct variable, i);

        key(out, variable->name);
        escaped(out, variable->value);
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

    key(out, "limits");
    str_add(out, "{");
    for (size_t i = 0; i < N_ELEMENTS(limits); i++) {
        if (settings->limits[limits[i].limit] != 0) {
            key(out, limits[i].name);
            str_printf(out, "%llu", (unsigned long long)settings->limits[limits[i].limit]);
        }
    }
    str_add(out, "}");
}

static void
emit_approvals(struct str *out, const struct policy_settings *settings)
{
    key(out, "approvals");
    str_add(out, "{");
    if (settings->approval_timeout_ms != 0) {
        key(out, "timeout_ms");
        str_printf(out, "%llu", (unsigned long long)settings->approval_timeout_ms);
    }
    if (settings->approvals_per_minute != 0) {
        key(out, "per_minute");
        str_printf(out, "%llu", (unsigned long long)settings->approvals_per_minute);
    }
    str_add(out, "}");
}

static void
emit_weaken(struct str *out, const struct vec *weakened)
{
    if (weakened->count == 0) {
        return;
    }
    key(out, "weaken");
    str_add(out, "[");
    for (size_t i = 0; i < weakened->count; i++) {
        const struct weakening *weakening = vec_at(weakened, struct weakening, i);

        next(out);
        str_add(out, "{");
        text_member(out, "what", weaken_words[weakening->what - 1]);
        text_member(out, "reason", weakening->reason);
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
    text_member(&out, "name", layer->name);
    text_member(&out, "source", layer->source);
    emit_variables(&out, &builder->variables);
    emit_filesystem(&out, layer);
    emit_network(&out, layer);
    emit_environment(&out, &layer->settings);
    emit_limits(&out, &layer->settings);
    emit_approvals(&out, &layer->settings);
    if (layer->settings.silent_reads) {
        str_add(&out, ",\"feedback\":{\"reads\":\"silent\"}");
    }
    emit_weaken(&out, &builder->weakened);
    text_member(&out, "run_as", layer->settings.run_as);
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
