/* SPDX-License-Identifier: Apache-2.0
 * Owns the long answer: the decision as JSON, and every rule that matched with the reason why it
 * lost. Looks at all rules one by one, without the index.  Pure, any thread. */
#include "policy/explain.h"

#include "base/mem.h"
#include "base/path.h"
#include "policy/index.h"

#include <stdlib.h>
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
    struct http_url url;
    bool has_path, has_host, has_url;
    bool misfits; /* its arguments are why it is denied */
    uint32_t port;
};

/* How a rule matched. */
struct hit {
    int matched; /* of the name; -1: it did not */
    uint32_t path_matched; /* of a request's path; 0: the rule is not about it, or leaves it out */
    const struct http_rule *http;
    uint64_t rank;
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
    if (request->kind == ABX_REQUEST_HTTP) {
        return rule->kind == ABX_REQUEST_CONNECT;
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
match_rule(const struct rule *rule, const struct matter *matter, bool is_closed)
{
    if (rule->kind == ABX_REQUEST_CONNECT) {
        return matter->has_host && rule_can_speak(rule, matter->port, is_closed)
                       ? host_pattern_match(rule->matcher, &matter->host)
                       : -1;
    }
    if (rule->kind == ABX_REQUEST_LISTEN) {
        return matter->port >= rule->port_first && matter->port <= rule->port_last ? 0 : -1;
    }
    if (!matter->has_path) {
        return rule->matcher == NULL && strcmp(rule->pattern, matter->request->target) == 0 ? 0
                                                                                            : -1;
    }
    return rule->kind >= RULE_GIT_ROOT ? match_git(rule, &matter->path, matter->request->verb)
                                       : match_path(rule, &matter->path);
}

/* The best of the rule's requests; else what it says of the whole connection, or of the rest. */
static struct hit
hit_request(const struct rule *rule, const struct matter *matter, bool is_closed)
{
    const char *method = matter->request->verb == NULL ? "GET" : matter->request->verb;
    struct hit best = { .matched = -1 };

    if (matter->has_url && rule_can_speak(rule, matter->url.port, is_closed)) {
        best.matched = host_pattern_match(rule->matcher, &matter->url.host);
    }
    if (best.matched < 0) {
        return best;
    }
    best.rank = http_rank(rule, (uint32_t)best.matched, NULL, 0);
    for (uint32_t i = 0; i < rule->n_http && matter->url.bad_path == NULL; i++) {
        int path_matched = http_rule_match(&rule->http[i], method, &matter->url);
        uint64_t rank = path_matched < 0 ? 0
                                         : http_rank(rule, (uint32_t)best.matched, &rule->http[i],
                                                   (uint32_t)path_matched);

        if (rank > best.rank) {
            best.rank = rank;
            best.http = &rule->http[i];
            best.path_matched = (uint32_t)path_matched;
        }
    }
    return best;
}

static struct hit
hit_rule(const struct rule *rule, const struct matter *matter, bool is_closed)
{
    struct hit hit = { .matched = -1 };

    if (!is_asked(rule, matter->request)) {
        return hit;
    }
    if (matter->request->kind == ABX_REQUEST_HTTP) {
        return hit_request(rule, matter, is_closed);
    }
    hit.matched = match_rule(rule, matter, is_closed);
    if (hit.matched >= 0) {
        hit.rank = rule_rank(rule, (uint32_t)hit.matched);
    }
    return hit;
}

static bool
is_rest(const struct rule *rule, const struct hit *hit, const struct matter *matter)
{
    return matter->request->kind == ABX_REQUEST_HTTP && rule->n_http > 0 && hit->http == NULL;
}

/* What a rule that matched lacks against the winner of its layer. */
static const char *
why_lost(const struct rule *rule, const struct hit *hit, const struct rule *winner,
        const struct hit *best, const struct matter *matter)
{
    if (hit->matched < best->matched || hit->path_matched < best->path_matched) {
        return "another rule matched more of the name";
    }
    if (rule->opens_private && !winner->opens_private) {
        return "it only opens the address, and another rule says what goes there";
    }
    if ((rule->implied && !winner->implied) || is_rest(rule, hit, matter)) {
        return "it is implied by another rule, and such a rule loses a tie";
    }
    if (rule->is_literal != winner->is_literal) {
        return "a literal name beats a pattern";
    }
    if (hit->http == NULL && best->http == NULL && rule->n_http != winner->n_http) {
        return "another rule decides requests one by one";
    }
    if (rule->verdict != winner->verdict) {
        return winner->verdict == ABX_VERDICT_DENY ? "deny beats it" : "ask beats allow";
    }
    return "another rule says the same";
}

static void
add_rule(struct str *out, const struct layer *layer, size_t number, uint32_t layer_number,
        const struct hit *hit, const struct matter *matter, const char *lost)
{
    const struct rule *rule = vec_at(&layer->rules, struct rule, number);
    bool implied = rule->implied || is_rest(rule, hit, matter);
    abx_verdict verdict = is_rest(rule, hit, matter) ? ABX_VERDICT_DENY
                          : hit->http != NULL        ? hit->http->verdict
                                                     : rule->verdict;

    str_add(out, out->data != NULL && out->data[out->length - 1] == '[' ? "{" : ",{");
    add_member(out, "id", hit->http != NULL ? hit->http->id : rule->id);
    add_member(out, "source", layer->source);
    add_member(out, "pattern", rule->pattern);
    if (hit->http != NULL) {
        add_member(out, "methods", hit->http->methods);
        add_member(out, "path", hit->http->path);
    }
    add_member(out, "verdict", verdict_words[verdict]);
    str_printf(
            out, "\"rule\":%zu,\"layer\":%u,\"matched\":%d,", number, layer_number, hit->matched);
    str_printf(out, "\"implied\":%s,\"lost\":", implied ? "true" : "false");
    if (lost == NULL) {
        str_add(out, "null}");
    } else {
        str_add_json(out, lost);
        str_add(out, "}");
    }
}

/* Whether the request is about an address that no rule of the layer opens. */
static bool
is_closed_to(const struct layer *layer, const struct matter *matter)
{
    return matter->has_host  ? index_is_closed(layer, &matter->host, matter->port)
           : matter->has_url ? index_is_closed(layer, &matter->url.host, matter->url.port)
                             : false;
}

static void
add_layer_rules(struct str *out, const struct layer *layer, uint32_t layer_number,
        const struct matter *matter, const struct ruling *ruling)
{
    const struct rule *winner = NULL;
    size_t winner_number = 0;
    struct hit best = { .matched = -1 };
    bool is_closed = is_closed_to(layer, matter);

    for (size_t i = 0; i < layer->rules.count; i++) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, i);
        struct hit hit = hit_rule(rule, matter, is_closed);

        if (hit.matched >= 0 && (winner == NULL || hit.rank > best.rank)) {
            winner = rule;
            winner_number = i;
            best = hit;
        }
    }
    for (size_t i = 0; i < layer->rules.count; i++) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, i);
        struct hit hit = hit_rule(rule, matter, is_closed);
        const char *lost = NULL;

        if (hit.matched < 0) {
            continue;
        }
        if (matter->misfits) {
            lost = "the arguments do not fit";
        } else if (i != winner_number) {
            lost = why_lost(rule, &hit, winner, &best, matter);
        } else if (ruling->layer != layer_number || ruling->rule != i) {
            lost = rule->verdict == ruling->verdict ? "another rule or layer says the same"
                                                    : "another rule or layer is stricter";
        }
        add_rule(out, layer, i, layer_number, &hit, matter, lost);
    }
}

/* The action that a request is, and its arguments as they would be read before it is done.  What
 * its URL does not say may be in the body of a request that has one. */
static abx_status
read_action(abx_policy *policy, const abx_request *request, const char **ret_name,
        struct action_form *ret_form, struct fail *fail)
{
    const char *method = request->verb == NULL ? "GET" : request->verb;
    struct action_input input = { .is_part = http_method_has_body(method) };
    struct http_action http;
    abx_status r = ABX_OK;

    if (request->kind == ABX_REQUEST_ACTION) {
        *ret_name = request->target;
        input.json = request->verb == NULL || request->verb[0] == '\0' ? "{}" : request->verb;
        input.json_length = strlen(input.json);
        input.is_part = false;
        return policy_action_read(policy, request->target, &input, ret_form, fail);
    }
    if (request->kind != ABX_REQUEST_HTTP) {
        return ABX_OK;
    }
    *ret_name = policy_http_action_name(policy, request->target, method);
    if (policy_http_action(policy, request->target, method, &http, fail) < 0) {
        return fail->status;
    }
    if (http.name != NULL && policy_action_has_arguments(policy, http.name)) {
        input.texts = http.texts.data;
        input.n_texts = http.texts.count;
        r = policy_action_read(policy, http.name, &input, ret_form, fail);
    }
    http_action_done(&http);
    return r;
}

static void
add_action(struct str *out, const char *name, const char *arguments)
{
    if (name != NULL) {
        add_member(out, "action", name);
    }
    if (arguments != NULL) {
        str_printf(out, "\"arguments\":%s,", arguments);
    }
}

/* A credential for a host that nothing reaches. */
static void
add_warning(abx_policy *policy, const abx_request *request, const struct ruling *ruling,
        struct str *out)
{
    abx_request connect = {
        .size = sizeof connect, .kind = ABX_REQUEST_CONNECT, .target = request->verb
    };
    struct ruling of_host;

    connect.port = request->port;
    if (request->kind == ABX_REQUEST_CREDENTIAL && ruling->verdict == ABX_VERDICT_ALLOW &&
            policy_decide(policy, &connect, &of_host) == ABX_VERDICT_DENY) {
        add_member(out, "warning", "no rule lets connections to this host through");
    }
}

void
policy_explain(abx_policy *policy, const abx_request *request, struct str *out)
{
    struct matter matter = { .request = request,
        .port = request->port == 0 && request->kind == ABX_REQUEST_CONNECT ? 443 : request->port };
    struct action_form form = { NULL };
    const char *action = NULL;
    struct ruling ruling;
    struct fail fail;
    abx_status r;

    policy_decide(policy, request, &ruling);
    r = read_action(policy, request, &action, &form, &fail);
    if (r < 0) {
        out->failed = out->failed || r == ABX_ERR_NOMEM;
        matter.misfits = ruling.verdict != ABX_VERDICT_DENY;
        policy_action_unread(policy, action != NULL ? action : request->target, &fail, &ruling);
    }
    matter.has_url =
            request->kind == ABX_REQUEST_HTTP && http_url_parse(request->target, &matter.url);
    matter.has_path = request->target != NULL && path_split(request->target, &matter.path);
    matter.has_host = request->kind == ABX_REQUEST_CONNECT &&
                      host_parse(request->target, &matter.host, &fail) == ABX_OK;
    str_add(out, "{");
    add_member(out, "verdict", verdict_words[ruling.verdict]);
    add_member(out, "rule", ruling.id);
    add_member(out, "source", ruling.source);
    add_member(out, "reason", ruling.reason);
    add_member(out, "alternative", ruling.alternative);
    add_action(out, action, form.arguments);
    free(form.arguments);
    if (ruling.verdict == ABX_VERDICT_ASK) {
        const struct consent needed = consent_join(ruling.consent, policy->settings.consent);

        str_printf(out, "\"approvers\":%u,\"step_up\":%s,",
                needed.approvers > 1 ? needed.approvers : 1, needed.step_up ? "true" : "false");
    }
    add_warning(policy, request, &ruling, out);
    str_printf(out, "\"index\":%lld,\"layer\":%u,\"by_content\":%s,\"matched\":[",
            ruling.rule == NO_RULE ? -1LL : (long long)ruling.rule, ruling.layer,
            ruling.by_content ? "true" : "false");
    for (size_t i = 0; i < policy->layers.count; i++) {
        add_layer_rules(
                out, *vec_at(&policy->layers, struct layer *, i), (uint32_t)i, &matter, &ruling);
    }
    str_add(out, "]}");
}
