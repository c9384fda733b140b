/* SPDX-License-Identifier: Apache-2.0
 * Rules on their way into a policy: paths, hosts, addresses, ports and sockets, each checked and
 * put into its one spelling.  One thread at a time. */
#include "policy/builder.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static bool
same_subject(const struct rule *a, const struct rule *b)
{
    return a->kind == b->kind && a->access == b->access &&
           (a->kind == ABX_REQUEST_CONNECT || a->is_literal == b->is_literal) &&
           a->opens_private == b->opens_private && a->port_first == b->port_first &&
           a->port_last == b->port_last &&
           strcmp(a->pattern == NULL ? "" : a->pattern, b->pattern == NULL ? "" : b->pattern) == 0;
}

static bool
is_replaced(const struct layer *layer, const struct rule *rule)
{
    for (size_t i = 0; rule->origin != ORIGIN_OWN && i < layer->rules.count; i++) {
        const struct rule *own = vec_at(&layer->rules, struct rule, i);

        if (same_subject(own, rule)) {
            return true;
        }
    }
    return false;
}

static abx_status
add_rule(abx_policy_builder *builder, struct rule *rule, const struct entry_texts *texts,
        struct fail *fail)
{
    struct layer *layer = builder->layer;

    rule->id = (char *)(uintptr_t)texts->id;
    rule->reason = (char *)(uintptr_t)texts->reason;
    rule->alternative = (char *)(uintptr_t)texts->instead;
    rule->origin = texts->origin;
    rule->http = texts->http;
    rule->n_http = texts->n_http;
    rule->consent = texts->consent;
    rule->action = texts->action;
    if (is_replaced(layer, rule)) {
        return ABX_OK;
    }
    builder->n_http += texts->n_http;
    if (layer->rules.count + builder->n_http >= RULES_MAX) {
        return fail_policy(fail, "more than %u rules", RULES_MAX);
    }
    return layer_add_rule(layer, rule, fail);
}

/* A pattern in an allow would open what nobody has looked at; exec patterns no backend enforces. */
static abx_status
check_pattern(
        const char *text, const char *path, uint32_t access, abx_verdict verdict, struct fail *fail)
{
    size_t length = strlen(path);

    if (access == ABX_ACCESS_EXEC) {
        return fail_policy(fail, "'%s' is a pattern; exec rules take literal paths only", text);
    }
    if (verdict != ABX_VERDICT_ALLOW) {
        return ABX_OK;
    }
    fail_policy(
            fail, "'%s' is a pattern; patterns may stand in deny and ask, and in no allow", text);
    if (length > 3 && strcspn(path, "*?[\\") == length - 2 &&
            strcmp(path + length - 3, "/**") == 0) {
        fail_remedy(fail, "write '%.*s': what lies below is included", (int)length - 3, path);
    } else {
        fail_remedy(
                fail, "name the directory, or put a backslash before * ? [ if they are literal");
    }
    return fail->status;
}

abx_status
builder_add_path(abx_policy_builder *builder, const char *path, uint32_t access,
        abx_verdict verdict, const struct entry_texts *texts, struct fail *fail)
{
    AUTO(freep) char *pattern = NULL;
    struct rule rule = { .kind = ABX_REQUEST_PATH, .access = access, .verdict = verdict };
    abx_status r = variable_path(
            &builder->variables, path, texts->literal, &pattern, &rule.is_literal, fail);

    if (r >= 0 && !rule.is_literal) {
        r = check_pattern(path, pattern, access, verdict, fail);
    }
    if (r < 0) {
        return r;
    }
    builder->layer->has_read |= access == ABX_ACCESS_READ;
    builder->layer->has_write |= access == ABX_ACCESS_WRITE;
    builder->layer->has_exec |= access == ABX_ACCESS_EXEC;
    if (access == ABX_ACCESS_EXEC) {
        builder->layer->settings.exec_rules = true;
        builder->layer->settings.restricts_exec |= verdict == ABX_VERDICT_ALLOW;
    }
    rule.pattern = pattern;
    return add_rule(builder, &rule, texts, fail);
}

static abx_status
check_ports(uint32_t first, uint32_t last, struct fail *fail)
{
    if (last > 65535) {
        return fail_policy(fail, "%u is no port; ports go from 1 to 65535", last);
    }
    if (first > last || (first == 0 && last != 0)) {
        return fail_policy(fail, "%u-%u is no range of ports", first, last);
    }
    return ABX_OK;
}

abx_status
builder_add_host(abx_policy_builder *builder, const char *host, uint32_t port_first,
        uint32_t port_last, abx_verdict verdict, const struct entry_texts *texts, struct fail *fail)
{
    AUTO(freep) char *pattern = NULL;
    struct rule rule = { .kind = ABX_REQUEST_CONNECT,
        .verdict = verdict,
        .port_first = port_first,
        .port_last = port_last };

    if (check_ports(port_first, port_last, fail) < 0) {
        return fail->status;
    }
    pattern = host_canonical(host, fail);
    if (pattern == NULL) {
        return fail->status;
    }
    rule.pattern = pattern;
    builder->layer->has_network = true;
    if (verdict != ABX_VERDICT_DENY && texts->origin == ORIGIN_OWN) {
        builder->given |= GIVEN_NEEDS_NETWORK;
    }
    return add_rule(builder, &rule, texts, fail);
}

abx_status
builder_add_private(abx_policy_builder *builder, const char *range, uint32_t port_first,
        uint32_t port_last, const struct entry_texts *texts, struct fail *fail)
{
    AUTO(freep) char *pattern = NULL;
    struct rule rule = { .kind = ABX_REQUEST_CONNECT,
        .verdict = ABX_VERDICT_ALLOW,
        .port_first = port_first,
        .port_last = port_last,
        .opens_private = true };

    if (check_ports(port_first, port_last, fail) < 0) {
        return fail->status;
    }
    pattern = host_canonical(range, fail);
    if (pattern == NULL) {
        return fail->status;
    }
    if (strspn(pattern, "0123456789./") != strlen(pattern) && strchr(pattern, ':') == NULL) {
        fail_policy(fail, "'%s' is a name; private takes addresses and ranges", range);
        fail_remedy(fail, "list the name in allow, and the address it has in private");
        return fail->status;
    }
    if (strncmp(pattern, "127.", 4) == 0 || strcmp(pattern, "::1") == 0 ||
            strcmp(pattern, "::1/128") == 0) {
        fail_policy(fail, "'%s' is the loopback of the host", range);
        fail_remedy(fail, "list the port in host_loopback");
        return fail->status;
    }
    rule.pattern = pattern;
    builder->layer->has_network = true;
    builder->given |= texts->origin == ORIGIN_OWN ? GIVEN_NEEDS_NETWORK : 0;
    return add_rule(builder, &rule, texts, fail);
}

abx_status
builder_add_loopback(abx_policy_builder *builder, uint32_t port_first, uint32_t port_last,
        const struct entry_texts *texts, struct fail *fail)
{
    static char loopback[] = "127.0.0.0/8"; /* ::1 is 127.0.0.1, see host_parse */
    struct rule rule = { .kind = ABX_REQUEST_CONNECT,
        .verdict = ABX_VERDICT_ALLOW,
        .port_first = port_first,
        .port_last = port_last,
        .opens_private = true };
    abx_status r = check_ports(port_first, port_last, fail);

    if (r < 0) {
        return r;
    }
    builder->layer->has_network = true;
    builder->given |= texts->origin == ORIGIN_OWN ? GIVEN_NEEDS_NETWORK : 0;
    rule.pattern = loopback;
    return add_rule(builder, &rule, texts, fail);
}

abx_status
builder_add_listen(abx_policy_builder *builder, uint32_t port_first, uint32_t port_last,
        const struct entry_texts *texts, struct fail *fail)
{
    struct rule rule = { .kind = ABX_REQUEST_LISTEN,
        .verdict = ABX_VERDICT_ALLOW,
        .port_first = port_first,
        .port_last = port_last };

    if (check_ports(port_first, port_last, fail) < 0) {
        return fail->status;
    }
    builder->layer->has_listen = true;
    return add_rule(builder, &rule, texts, fail);
}

abx_status
builder_add_socket(abx_policy_builder *builder, const char *path, const struct entry_texts *texts,
        struct fail *fail)
{
    AUTO(freep) char *pattern = NULL;
    struct rule rule = {
        .kind = ABX_REQUEST_SOCKET, .verdict = ABX_VERDICT_ALLOW, .is_literal = true
    };
    abx_status r = ABX_OK;

    if (path[0] == '@' && path[1] != '\0') {
        pattern = strdup(path);
        r = pattern == NULL ? fail_nomem(fail) : ABX_OK;
    } else {
        r = variable_path(
                &builder->variables, path, texts->literal, &pattern, &rule.is_literal, fail);
        if (r >= 0 && !rule.is_literal) {
            r = fail_policy(fail, "'%s' is a pattern; sockets are named one by one", path);
        }
    }
    if (r < 0) {
        return r;
    }
    builder->layer->has_sockets = true;
    rule.pattern = pattern;
    return add_rule(builder, &rule, texts, fail);
}

abx_status
builder_add_action(abx_policy_builder *builder, const char *name, abx_verdict verdict,
        const struct entry_texts *texts, struct fail *fail)
{
    AUTO(freep) char *pattern = strdup(name);
    struct rule rule = {
        .kind = ABX_REQUEST_ACTION, .verdict = verdict, .is_literal = true, .pattern = pattern
    };

    if (pattern == NULL) {
        return fail_nomem(fail);
    }
    for (size_t i = 0; i < builder->layer->rules.count; i++) {
        const struct rule *other = vec_at(&builder->layer->rules, struct rule, i);

        if (other->kind == ABX_REQUEST_ACTION && strcmp(other->pattern, name) == 0) {
            return fail_policy(fail, "the action '%s' is there already", name);
        }
    }
    builder->layer->has_actions = true;
    return add_rule(builder, &rule, texts, fail);
}
