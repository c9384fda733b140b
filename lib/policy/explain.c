/* SPDX-License-Identifier: Apache-2.0
 * Owns the long answer: the decision as JSON, and every rule that matched with the reason why it
 * lost. Looks at all rules one by one, without the index.  Pure, any thread. */
#include "policy/explain.h"

#include "base/mem.h"
#include "base/path.h"
#include "policy/index.h"

#include <string.h>

/* Names of files need not be UTF-8; JSON is. */
static void
add_member(struct str *out, const char *key, const char *value)
{
    str_printf(out, "\"%s\":", key);
    str_add_json_bytes(out, value, false);
    str_add(out, ",");
}

/* What of a request a rule is held against. */
struct matter {
    const abx_request *request;
    struct path_split path;
    struct host_pattern host;
    bool has_path, has_host;
    uint32_t port;
};

static bool
is_asked(const struct rule *rule, const abx_request *request)
{
    if (request->kind == ABX_REQUEST_PATH) {
        return (rule->kind == ABX_REQUEST_PATH && (rule->access & request->access) != 0) ||
               (rule->kind >= RULE_GIT_ROOT && (request->access & ABX_ACCESS_WRITE) != 0);
    }
    if (request->kind == ABX_REQUEST_EXEC) {
        return rule->kind == ABX_REQUEST_PATH && rule->access == ABX_ACCESS_EXEC;
    }
    return rule->kind == request->kind;
}

/* The same for those that come later, one inside another. */
static int
match_git_tree(const struct rule *rule, const struct path_split *path, const char *verb)
{
    int most = -1;

    for (uint32_t i = 0; path_is_within(path->text, rule->pattern) && i < path->n; i++) {
        uint32_t depth = 0;

        if ((size_t)path->start[i] > strlen(rule->pattern) - (rule->pattern[1] == '\0') &&
                path_has_git_name(path, i) &&
                git_file_refuses(
                        git_file_classify(
                                i + 1 == path->n ? "" : path->text + path->start[i + 1], &depth),
                        verb)) {
            most = (int)(i + 1 + depth) > most ? (int)(i + 1 + depth) : most;
        }
    }
    return most;
}

/* A git directory matches as far as the name that is guarded, if one is. */
static int
match_git(const struct rule *rule, const struct path_split *path, const char *verb)
{
    uint32_t depth = 0, own = 0;
    const char *inside;
    enum git_file file = GIT_LINK;

    if (rule->kind == RULE_GIT_TREE) {
        return match_git_tree(rule, path, verb);
    }
    if (!path_is_within(path->text, rule->pattern) ||
            (rule->kind == RULE_GIT_LINK && strcmp(path->text, rule->pattern) != 0)) {
        return -1;
    }
    for (const char *at = rule->pattern; *at != '\0'; at++) {
        own += *at == '/' && at[1] != '\0';
    }
    inside = own == path->n ? "" : path->text + path->start[own];
    if (rule->kind == RULE_GIT_ROOT) {
        file = git_file_classify(inside, &depth);
    }
    return git_file_refuses(file, verb) ? (int)(own + depth) : -1;
}

static int
match_path(const struct rule *rule, const struct path_split *path)
{
    uint32_t depth = 0;

    if (rule->matcher != NULL) {
        return path_pattern_match(rule->matcher, path);
    }
    if (!path_is_within(path->text, rule->pattern)) {
        return -1;
    }
    for (const char *at = rule->pattern; *at != '\0'; at++) {
        depth += *at == '/' && at[1] != '\0';
    }
    return (int)depth;
}

/* How much of the request the rule matched, or -1. */
static int
match_rule(const struct rule *rule, const struct matter *matter)
{
    if (!is_asked(rule, matter->request)) {
        return -1;
    }
    if (rule->kind == ABX_REQUEST_CONNECT) {
        return matter->has_host && rule_can_speak(rule, &matter->host, matter->port)
                       ? host_pattern_match(rule->matcher, &matter->host)
                       : -1;
    }
    if (rule->kind == ABX_REQUEST_LISTEN) {
        return matter->port >= rule->port_first && matter->port <= rule->port_last ? 0 : -1;
    }
    if (!matter->has_path) {
        return rule->kind == ABX_REQUEST_SOCKET &&
                               strcmp(rule->pattern, matter->request->target) == 0
                       ? 0
                       : -1;
    }
    return rule->kind >= RULE_GIT_ROOT ? match_git(rule, &matter->path, matter->request->verb)
                                       : match_path(rule, &matter->path);
}

/* What a rule that matched `matched` lacks against the winner of its layer. */
static const char *
why_lost(const struct rule *rule, int matched, const struct rule *winner, int most)
{
    if (matched < most) {
        return "another rule matched more of the name";
    }
    if (rule->implied && !winner->implied) {
        return "it is implied by another rule, and such a rule loses a tie";
    }
    if (rule->is_literal != winner->is_literal) {
        return "a literal name beats a pattern";
    }
    if (rule->verdict != winner->verdict) {
        return winner->verdict == ABX_VERDICT_DENY ? "deny beats it" : "ask beats allow";
    }
    return "another rule says the same";
}

static void
add_rule(struct str *out, const struct layer *layer, size_t number, uint32_t layer_number,
        int matched, const char *lost)
{
    const struct rule *rule = vec_at(&layer->rules, struct rule, number);

    str_add(out, out->data != NULL && out->data[out->length - 1] == '[' ? "{" : ",{");
    add_member(out, "id", rule->id);
    add_member(out, "source", layer->source);
    add_member(out, "pattern", rule->pattern);
    add_member(out, "verdict", verdict_words[rule->verdict]);
    str_printf(out, "\"rule\":%zu,\"layer\":%u,\"matched\":%d,", number, layer_number, matched);
    str_printf(out, "\"implied\":%s,\"lost\":", rule->implied ? "true" : "false");
    if (lost == NULL) {
        str_add(out, "null}");
    } else {
        str_add_json(out, lost);
        str_add(out, "}");
    }
}

static void
add_layer_rules(struct str *out, const struct layer *layer, uint32_t layer_number,
        const struct matter *matter, const struct ruling *ruling)
{
    const struct rule *winner = NULL;
    size_t winner_number = 0;
    int most = -1;

    for (size_t i = 0; i < layer->rules.count; i++) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, i);
        int matched = match_rule(rule, matter);

        if (matched >= 0 && (winner == NULL || rule_rank(rule, (uint32_t)matched) >
                                                       rule_rank(winner, (uint32_t)most))) {
            winner = rule;
            winner_number = i;
            most = matched;
        }
    }
    for (size_t i = 0; i < layer->rules.count; i++) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, i);
        int matched = match_rule(rule, matter);
        const char *lost = NULL;

        if (matched < 0) {
            continue;
        }
        if (i != winner_number) {
            lost = why_lost(rule, matched, winner, most);
        } else if (ruling->layer != layer_number || ruling->rule != i) {
            lost = rule->verdict == ruling->verdict ? "another rule or layer says the same"
                                                    : "another rule or layer is stricter";
        }
        add_rule(out, layer, i, layer_number, matched, lost);
    }
}

void
policy_explain(abx_policy *policy, const abx_request *request, struct str *out)
{
    struct matter matter = { .request = request,
        .port = request->port == 0 && request->kind == ABX_REQUEST_CONNECT ? 443 : request->port };
    struct ruling ruling;
    struct fail fail;

    policy_decide(policy, request, &ruling);
    matter.has_path = request->target != NULL && path_split(request->target, &matter.path);
    matter.has_host = request->kind == ABX_REQUEST_CONNECT &&
                      host_parse(request->target, &matter.host, &fail) == ABX_OK;
    str_add(out, "{");
    add_member(out, "verdict", verdict_words[ruling.verdict]);
    add_member(out, "rule", ruling.id);
    add_member(out, "source", ruling.source);
    add_member(out, "reason", ruling.reason);
    add_member(out, "alternative", ruling.alternative);
    str_printf(out, "\"index\":%lld,\"layer\":%u,\"by_content\":%s,\"matched\":[",
            ruling.rule == NO_RULE ? -1LL : (long long)ruling.rule, ruling.layer,
            ruling.by_content ? "true" : "false");
    for (size_t i = 0; i < policy->layers.count; i++) {
        add_layer_rules(
                out, *vec_at(&policy->layers, struct layer *, i), (uint32_t)i, &matter, &ruling);
    }
    str_add(out, "]}");
}
