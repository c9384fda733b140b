/* SPDX-License-Identifier: Apache-2.0
 * Rules in the canonical text: each in the list that it was read from.  Pure. */
#include "policy/action.h"
#include "policy/identity.h"
#include "policy/emit.h"
#include "policy/http.h"
#include "policy/index.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "example.com:443", "[fd00::/8]:443", "10.0.0.0/8". */
static void
host_text(struct str *out, const char *host, uint32_t port_first, uint32_t port_last)
{
    bool is_ipv6 = strchr(host, ':') != NULL;
    struct str text = { 0 };

    str_printf(&text, "%s%s%s", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "");
    if (port_last != 0) {
        str_printf(&text, ":%u", port_first);
        if (port_first != port_last) {
            str_printf(&text, "-%u", port_last);
        }
    }
    emit_made(out, str_steal(&text, NULL));
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

static bool
belongs(const struct rule *rule, const struct rule_list *list)
{
    return !rule->implied && rule->origin != ORIGIN_PROTECT && rule->kind == list->kind &&
           rule->access == list->access && rule->verdict == list->verdict &&
           rule->opens_private == list->opens_private &&
           (!rule->opens_private || rule_opens_loopback(rule) == list->is_loopback);
}

static void
name_text(struct str *out, const struct rule *rule)
{
    if (rule->kind == ABX_REQUEST_CONNECT) {
        host_text(out, rule->pattern, rule->port_first, rule->port_last);
    } else if (rule->kind == ABX_REQUEST_ACTION ||
               (rule->kind == ABX_REQUEST_SOCKET && rule->pattern[0] == '@')) {
        str_add_json(out, rule->pattern);
    } else {
        emit_path(out, rule->pattern, rule->is_literal);
    }
}

static void
emit_methods(struct str *out, const char *methods)
{
    for (const char *at = methods; *at != '\0'; at += *at == ' ') {
        size_t length = strcspn(at, " ");

        str_printf(out, "%s\"%.*s\"", at == methods ? "" : ",", (int)length, at);
        at += length;
    }
}

static void
emit_http(struct str *out, const struct rule *rule)
{
    emit_key(out, "http");
    str_add(out, "[");
    for (uint32_t i = 0; i < rule->n_http; i++) {
        emit_next(out);
        str_add(out, "{\"methods\":[");
        emit_methods(out, rule->http[i].methods);
        str_add(out, "]");
        emit_text(out, "path", rule->http[i].path);
        emit_text(out, "action", rule->http[i].action);
        str_add(out, "}");
    }
    str_add(out, "]");
}

/* A string where the rule has nothing but its name, and its id is its place. */
static void
emit_entry(struct str *out, const struct rule *rule, const struct rule_list *list, size_t i)
{
    struct str place = { 0 };
    bool has_id;

    emit_next(out);
    if (list->is_loopback || list->kind == ABX_REQUEST_LISTEN) {
        port_text(out, rule);
        return;
    }
    str_printf(&place, "%s/%s/%zu", list->pointer, list->name, i);
    has_id = place.data == NULL || strcmp(place.data, rule->id) != 0;
    out->failed |= place.failed;
    str_done(&place);
    if (!has_id && rule->reason == NULL && rule->alternative == NULL && rule->n_http == 0 &&
            rule->kind != ABX_REQUEST_ACTION) {
        name_text(out, rule);
        return;
    }
    str_add(out, "{");
    emit_key(out, rule->kind == ABX_REQUEST_CONNECT  ? "host"
                  : rule->kind == ABX_REQUEST_ACTION ? "name"
                                                     : "path");
    name_text(out, rule);
    emit_text(
            out, "verdict", rule->kind == ABX_REQUEST_ACTION ? verdict_words[rule->verdict] : NULL);
    emit_text(out, "id", has_id ? rule->id : NULL);
    emit_text(out, "reason", rule->reason);
    emit_text(out, "instead", rule->alternative);
    emit_consent(out, rule->consent);
    action_emit(out, rule->action);
    if (rule->n_http > 0) {
        emit_http(out, rule);
    }
    str_add(out, "}");
}

void
emit_list(struct str *out, const struct layer *layer, const struct rule_list *list, bool present)
{
    size_t n = 0;

    if (present) {
        emit_key(out, list->name);
        str_add(out, "[");
    }
    for (size_t i = 0; i < layer->rules.count; i++) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, i);

        if (!belongs(rule, list)) {
            continue;
        }
        if (!present) {
            emit_key(out, list->name);
            str_add(out, "[");
            present = true;
        }
        emit_entry(out, rule, list, n++);
    }
    if (present) {
        str_add(out, "]");
    }
}

void
emit_actions(struct str *out, const struct layer *layer)
{
    struct rule_list list = { "actions", "", ABX_REQUEST_ACTION, 0, ABX_VERDICT_DENY, false,
        false };
    size_t n = 0;

    if (!layer->has_actions) {
        return;
    }
    emit_key(out, "actions");
    str_add(out, "[");
    for (size_t i = 0; i < layer->rules.count; i++) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, i);

        list.verdict = rule->verdict;
        if (belongs(rule, &list)) {
            emit_entry(out, rule, &list, n++);
        }
    }
    str_add(out, "]");
}

static void
emit_hosts(struct str *out, const struct credential_host *hosts, size_t n)
{
    emit_key(out, "hosts");
    str_add(out, "[");
    for (size_t i = 0; i < n; i++) {
        emit_next(out);
        host_text(out, hosts[i].text, hosts[i].port_first, hosts[i].port_last);
    }
    str_add(out, "]");
}

void
emit_identity(struct str *out, const struct policy_identity *identity)
{
    if (identity != NULL) {
        emit_key(out, "identity");
        str_add(out, "{");
        emit_text(out, "header", identity->header);
        emit_hosts(out, identity->hosts, identity->n_hosts);
        str_add(out, "}");
    }
}

static void
emit_credential(struct str *out, const struct policy_credential *credential, size_t number)
{
    char place[48];

    snprintf(place, sizeof place, "/credentials/%zu", number);
    str_add(out, "{");
    emit_text(out, "name", credential->name);
    emit_text(out, "id", strcmp(place, credential->id) == 0 ? NULL : credential->id);
    emit_text(out, "env", credential->env);
    emit_text(out, "key_env", credential->key_env);
    emit_hosts(out, credential->hosts, credential->n_hosts);
    emit_key(out, "as");
    str_add(out, "[");
    for (size_t i = 0; i < CREDENTIAL_WORDS; i++) {
        if ((credential->places >> i & 1) != 0) {
            emit_next(out);
            str_add_json(out, credential_words[i]);
        }
    }
    str_add(out, "]");
    emit_text(out, "header", credential->header);
    emit_text(out, "query", credential->query);
    emit_text(out, "user", credential->user);
    emit_text(out, "prefix", credential->prefix);
    if (credential->lease_s != 0) {
        emit_key(out, "lease_s");
        str_printf(out, "%llu", (unsigned long long)credential->lease_s);
    }
    if (credential->clear_text) {
        str_add(out, ",\"clear_text\":true");
    }
    str_add(out, "}");
}

void
emit_credentials(struct str *out, const struct layer *layer)
{
    if (!layer->has_credentials) {
        return;
    }
    emit_key(out, "credentials");
    str_add(out, "[");
    for (size_t i = 0; i < layer->settings.n_credentials; i++) {
        emit_next(out);
        emit_credential(out, &layer->settings.credentials[i], i);
    }
    str_add(out, "]");
}
