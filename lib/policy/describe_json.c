/* SPDX-License-Identifier: Apache-2.0
 * The boundary for programs: the facts of describe.c as JSON.  Pure. */
#include "policy/action.h"
#include "policy/credentials.h"
#include "policy/describe.h"
#include "policy/emit.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static void
json_text_or_null(struct str *out, const char *text)
{
    if (text == NULL) {
        str_add(out, "null");
    } else {
        str_add_json(out, text);
    }
}

static void
json_http(struct str *out, const struct rule *rule)
{
    str_add(out, ",\"http\":[");
    for (uint32_t i = 0; i < rule->n_http; i++) {
        const struct http_rule *http = &rule->http[i];

        str_add(out, i == 0 ? "{\"methods\":" : ",{\"methods\":");
        str_add_json(out, http->methods);
        str_add(out, ",\"path\":");
        str_add_json(out, http->path);
        str_add(out, ",\"action\":");
        json_text_or_null(out, http->action);
        str_printf(out, ",\"verdict\":\"%s\"}", verdict_words[http->verdict]);
    }
    str_add(out, "]");
}

static void
json_rules(struct str *out, const struct layer *layer, const char *name, uint32_t kind,
        uint32_t access, abx_verdict verdict)
{
    bool first = true;

    str_printf(out, "\"%s\":[", name);
    for (size_t i = 0; i < layer->rules.count; i++) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, i);
        char *text;

        if (!describe_tells(rule, kind, access, verdict)) {
            continue;
        }
        text = describe_name(rule);
        str_add(out, first ? "{\"name\":" : ",{\"name\":");
        json_text_or_null(out, text);
        str_add(out, ",\"rule\":");
        json_text_or_null(out, rule->id);
        str_add(out, ",\"reason\":");
        json_text_or_null(out, rule->reason);
        str_add(out, ",\"alternative\":");
        json_text_or_null(out, rule->alternative);
        if (rule->n_http > 0) {
            json_http(out, rule);
        }
        emit_consent(out, rule->consent);
        action_emit(out, rule->action);
        str_add(out, "}");
        out->failed |= text == NULL;
        free(text);
        first = false;
    }
    str_add(out, "]");
}

static void
json_verdicts(struct str *out, const struct layer *layer, const char *name, uint32_t kind,
        uint32_t access)
{
    str_printf(out, ",\"%s\":{", name);
    json_rules(out, layer, "allow", kind, access, ABX_VERDICT_ALLOW);
    str_add(out, ",");
    json_rules(out, layer, "ask", kind, access, ABX_VERDICT_ASK);
    str_add(out, ",");
    json_rules(out, layer, "deny", kind, access, ABX_VERDICT_DENY);
    str_add(out, "}");
}

static void
json_credentials(struct str *out, const struct layer *layer)
{
    str_add(out, ",\"credentials\":[");
    for (size_t i = 0; i < layer->settings.n_credentials; i++) {
        const struct policy_credential *credential = &layer->settings.credentials[i];

        str_add(out, i == 0 ? "{\"name\":" : ",{\"name\":");
        json_text_or_null(out, credential->name);
        str_add(out, ",\"env\":");
        json_text_or_null(out, credential->env);
        str_add(out, ",\"hosts\":[");
        for (size_t k = 0; k < credential->n_hosts; k++) {
            str_add(out, k == 0 ? "" : ",");
            json_text_or_null(out, credential->hosts[k].text);
        }
        str_add(out, "]}");
    }
    str_add(out, "]");
}

static void
json_layer(struct str *out, const struct layer *layer)
{
    str_add(out, "{\"source\":");
    json_text_or_null(out, layer->source);
    str_add(out, ",\"name\":");
    json_text_or_null(out, layer->name);
    if (layer->has_read) {
        json_verdicts(out, layer, "read", ABX_REQUEST_PATH, ABX_ACCESS_READ);
    }
    if (layer->has_write) {
        json_verdicts(out, layer, "write", ABX_REQUEST_PATH, ABX_ACCESS_WRITE);
    }
    if (layer->has_exec) {
        json_verdicts(out, layer, "exec", ABX_REQUEST_PATH, ABX_ACCESS_EXEC);
    }
    if (layer->has_network) {
        json_verdicts(out, layer, "connect", ABX_REQUEST_CONNECT, 0);
        str_printf(out, ",\"network\":\"%s\"", network_words[layer->settings.network]);
    }
    if (layer->has_credentials) {
        json_credentials(out, layer);
    }
    if (layer->has_actions) {
        json_verdicts(out, layer, "action", ABX_REQUEST_ACTION, 0);
    }
    str_printf(out, ",\"git\":\"%s\",\"protected\":[", git_words[layer->git]);
    for (size_t i = 0; i < layer->protect.count; i++) {
        str_add(out, i == 0 ? "" : ",");
        json_text_or_null(out, *vec_at(&layer->protect, char *, i));
    }
    str_add(out, "]}");
}

char *
describe_json(const abx_policy *policy, size_t *ret_length)
{
    struct str out = { 0 };
    bool first = true;

    str_add(&out, "{\"layers\":[");
    for (size_t i = 0; i < policy->layers.count; i++) {
        str_add(&out, i == 0 ? "" : ",");
        json_layer(&out, *vec_at(&policy->layers, struct layer *, i));
    }
    str_add(&out, "],\"limits\":{");
    for (size_t i = 0; i < LIMIT_TEXTS; i++) {
        uint64_t value = policy->settings.limits[limit_texts[i].limit];

        if (value != 0) {
            str_printf(&out, "%s\"%s\":%llu", first ? "" : ",", limit_texts[i].name,
                    (unsigned long long)value);
            first = false;
        }
    }
    str_printf(&out, "},\"approval_timeout_ms\":%llu,\"digest\":\"%s\"}",
            (unsigned long long)policy->settings.approval_timeout_ms, policy->digest);
    return str_steal(&out, ret_length);
}
