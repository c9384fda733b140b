/* SPDX-License-Identifier: Apache-2.0
 * Owns layers: making them, adding rules, copies that share texts, and the count of references.
 * What a finished layer adds of itself is in seal.c.  A layer under construction belongs to one
 * thread; a finished one is immutable. */
#include "base/mem.h"
#include "policy/http.h"
#include "policy/index.h"
#include "policy/layer.h"

#include <stdlib.h>
#include <string.h>

struct layer *
layer_new(const char *source)
{
    AUTO(layer_freep) struct layer *layer = calloc(1, sizeof *layer);

    if (layer == NULL) {
        return NULL;
    }
    atomic_init(&layer->references, 1);
    layer->rules = VEC(struct rule);
    layer->texts = VEC(char *);
    layer->protect = VEC(char *);
    layer->source = strdup(source);
    return layer->source == NULL ? NULL : steal_ptr(&layer);
}

struct layer *
layer_ref(struct layer *layer)
{
    atomic_fetch_add_explicit(&layer->references, 1, memory_order_relaxed);
    return layer;
}

static void
rule_done(struct rule *rule)
{
    free(rule->pattern);
    free(rule->id);
    free(rule->reason);
    free(rule->alternative);
    free(rule->because);
    for (uint32_t i = 0; i < rule->n_http; i++) {
        http_rule_done(&rule->http[i]);
    }
    free(rule->http);
    free(rule->rest_because);
    free(rule->rest_alternative);
    if (rule->kind == ABX_REQUEST_CONNECT) {
        free(rule->matcher);
    } else {
        path_pattern_free(rule->matcher);
    }
}

static void
texts_done(struct vec *texts)
{
    for (size_t i = 0; i < texts->count; i++) {
        free(*vec_at(texts, char *, i));
    }
    vec_done(texts);
}

void
layer_drop_rules(struct layer *layer, size_t n_kept)
{
    while (layer->rules.count > n_kept) {
        rule_done(vec_at(&layer->rules, struct rule, --layer->rules.count));
    }
}

void
layer_free(struct layer *layer)
{
    if (layer == NULL ||
            atomic_fetch_sub_explicit(&layer->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    layer_drop_rules(layer, 0);
    vec_done(&layer->rules);
    texts_done(&layer->texts);
    texts_done(&layer->protect);
    index_free(layer->index);
    free(layer->source);
    free(layer->name);
    free(layer->profile);
    free(layer->document);
    layer_free(layer->base);
    free(layer);
}

abx_status
layer_keep(struct layer *layer, void *owned, struct fail *fail)
{
    char **slot = owned == NULL ? NULL : vec_add(&layer->texts);

    if (slot == NULL) {
        free(owned);
        return fail_nomem(fail);
    }
    *slot = owned;
    return ABX_OK;
}

static bool
copy_text(const char *text, char **ret_copy)
{
    *ret_copy = text == NULL ? NULL : strdup(text);
    return text == NULL || *ret_copy != NULL;
}

/* Compiles a path pattern, or unescapes one without wildcards. */
static abx_status
compile_path(struct rule *rule, struct fail *fail)
{
    struct path_pattern *pattern;
    char *path;

    if (rule->is_literal) {
        bool is_abstract = rule->kind == ABX_REQUEST_SOCKET && rule->pattern[0] == '@';

        path = is_abstract ? strdup(rule->pattern) : path_normalise(rule->pattern, fail);
        if (path == NULL) {
            return is_abstract ? fail_nomem(fail) : fail->status;
        }
        free(rule->pattern);
        rule->pattern = path;
        return ABX_OK;
    }
    pattern = path_pattern_new(rule->pattern, fail);
    if (pattern == NULL) {
        return fail->status;
    }
    if (path_pattern_has_wildcard(pattern)) {
        rule->matcher = pattern;
        return ABX_OK;
    }
    path = path_pattern_literal(pattern);
    path_pattern_free(pattern);
    if (path == NULL) {
        return fail_nomem(fail);
    }
    free(rule->pattern);
    rule->pattern = path;
    rule->is_literal = true;
    return ABX_OK;
}

static abx_status
compile_host(struct rule *rule, struct fail *fail)
{
    struct host_pattern host;
    char *canonical = host_canonical(rule->pattern, fail);

    if (canonical == NULL || host_parse(canonical, &host, fail) < 0) {
        free(canonical);
        return fail->status;
    }
    free(rule->pattern);
    rule->pattern = canonical;
    rule->is_literal = host.form == HOST_NAME;
    rule->matcher = malloc(sizeof host);
    if (rule->matcher == NULL) {
        return fail_nomem(fail);
    }
    memcpy(rule->matcher, &host, sizeof host);
    return ABX_OK;
}

static abx_status
copy_http(const struct rule *rule, struct rule *copy, struct fail *fail)
{
    if (rule->n_http == 0) {
        return ABX_OK;
    }
    copy->http = calloc(rule->n_http, sizeof *copy->http);
    if (copy->http == NULL) {
        return fail_nomem(fail);
    }
    for (; copy->n_http < rule->n_http; copy->n_http++) {
        if (http_rule_copy(&rule->http[copy->n_http], &copy->http[copy->n_http], fail) < 0) {
            return fail->status;
        }
    }
    return ABX_OK;
}

static abx_status
check_rule(const struct rule *rule, struct fail *fail)
{
    bool is_path = rule->kind == ABX_REQUEST_PATH;
    bool one_bit = rule->access == ABX_ACCESS_READ || rule->access == ABX_ACCESS_WRITE ||
                   rule->access == ABX_ACCESS_EXEC;

    if (rule->verdict > ABX_VERDICT_ASK || (is_path && !one_bit)) {
        return fail_set(fail, ABX_ERR_POLICY, 0, "", "rule has an unknown verdict or access");
    }
    if (!is_path && rule->kind != ABX_REQUEST_CONNECT && rule->kind != ABX_REQUEST_LISTEN &&
            rule->kind != ABX_REQUEST_SOCKET && rule->kind != ABX_REQUEST_ACTION &&
            rule->kind != RULE_GIT_ROOT && rule->kind != RULE_GIT_LINK &&
            rule->kind != RULE_GIT_TREE) {
        return fail_set(fail, ABX_ERR_POLICY, 0, "", "rule is of an unknown kind");
    }
    if (rule->port_first > rule->port_last || rule->port_last > 65535) {
        return fail_set(fail, ABX_ERR_POLICY, 0, "", "'%u-%u' is no range of ports",
                rule->port_first, rule->port_last);
    }
    return ABX_OK;
}

static void
note_section(struct layer *layer, const struct rule *rule)
{
    if (rule->implied || rule->origin == ORIGIN_PROTECT) {
        return;
    }
    switch (rule_slot(rule)) {
    case SLOT_READ:
        layer->has_read = true;
        break;
    case SLOT_WRITE:
        layer->has_write = true;
        break;
    case SLOT_EXEC:
        layer->has_exec = true;
        layer->settings.exec_rules = true;
        layer->settings.restricts_exec |= rule->verdict == ABX_VERDICT_ALLOW;
        break;
    case SLOT_SOCKET:
        layer->has_sockets = true;
        break;
    case SLOT_CONNECT:
        layer->has_network = true;
        break;
    case SLOT_LISTEN:
        layer->has_listen = true;
        break;
    case SLOT_ACTION:
        layer->has_actions = true;
        break;
    }
}

static abx_status
add_rule(struct layer *layer, const struct rule *rule, struct fail *fail)
{
    struct rule copy = *rule;
    struct rule *slot;
    abx_status r;

    copy.pattern = copy.id = copy.reason = copy.alternative = copy.because = NULL;
    copy.rest_because = copy.rest_alternative = NULL;
    copy.matcher = NULL;
    copy.http = NULL;
    copy.n_http = 0;
    if (!copy_text(rule->pattern == NULL ? "" : rule->pattern, &copy.pattern) ||
            !copy_text(rule->id == NULL ? "" : rule->id, &copy.id) ||
            !copy_text(rule->reason, &copy.reason) ||
            !copy_text(rule->alternative, &copy.alternative) ||
            !copy_text(rule->because, &copy.because)) {
        r = fail_nomem(fail);
    } else if (rule->kind == ABX_REQUEST_CONNECT) {
        r = compile_host(&copy, fail);
        r = r == ABX_OK ? copy_http(rule, &copy, fail) : r;
    } else if (rule->kind == ABX_REQUEST_LISTEN || rule->kind == ABX_REQUEST_ACTION) {
        copy.is_literal = true;
        r = ABX_OK;
    } else {
        r = compile_path(&copy, fail);
    }
    slot = r == ABX_OK ? vec_add(&layer->rules) : NULL;
    if (slot == NULL) {
        rule_done(&copy);
        return r < 0 ? r : fail_nomem(fail);
    }
    *slot = copy;
    note_section(layer, &copy);
    return ABX_OK;
}

abx_status
layer_add_rule(struct layer *layer, const struct rule *rule, struct fail *fail)
{
    abx_status r = check_rule(rule, fail);

    return r < 0 ? r : add_rule(layer, rule, fail);
}

abx_status
layer_protect_name(struct layer *layer, const char *name, struct fail *fail)
{
    char **slot;

    for (size_t i = 0; i < layer->protect.count; i++) {
        if (strcmp(*vec_at(&layer->protect, char *, i), name) == 0) {
            return ABX_OK;
        }
    }
    slot = vec_add(&layer->protect);
    if (slot == NULL || (*slot = strdup(name)) == NULL) {
        layer->protect.count -= slot != NULL;
        return fail_nomem(fail);
    }
    return ABX_OK;
}

/* What a document said, without what layer_finish added. */
static abx_status
copy_rules(struct layer *copy, const struct layer *layer, struct fail *fail)
{
    for (size_t i = 0; i < layer->rules.count; i++) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, i);
        struct rule own = *rule;
        abx_status r;

        if (rule->implied || rule->origin == ORIGIN_PROTECT) {
            continue;
        }
        own.because = NULL;
        r = layer_add_rule(copy, &own, fail);
        if (r < 0) {
            return r;
        }
    }
    for (size_t i = 0; i < layer->protect.count; i++) {
        abx_status r = layer_protect_name(copy, *vec_at(&layer->protect, char *, i), fail);

        if (r < 0) {
            return r;
        }
    }
    return ABX_OK;
}

abx_status
layer_copy(struct layer *layer, struct layer **ret_copy, struct fail *fail)
{
    AUTO(layer_freep) struct layer *copy = layer_new(layer->source);

    if (copy == NULL || !copy_text(layer->name, &copy->name) ||
            !copy_text(layer->profile, &copy->profile) ||
            !copy_text(layer->document, &copy->document)) {
        return fail_nomem(fail);
    }
    copy->base = layer_ref(layer);
    copy->settings = layer->settings;
    copy->git = layer->git;
    copy->default_read = layer->default_read;
    copy->default_write = layer->default_write;
    if (copy_rules(copy, layer, fail) < 0) {
        return fail->status;
    }
    copy->has_read = layer->has_read;
    copy->has_write = layer->has_write;
    copy->has_exec = layer->has_exec;
    copy->has_network = layer->has_network;
    copy->has_sockets = layer->has_sockets;
    copy->has_listen = layer->has_listen;
    copy->has_actions = layer->has_actions;
    copy->has_credentials = layer->has_credentials;
    *ret_copy = steal_ptr(&copy);
    return ABX_OK;
}
