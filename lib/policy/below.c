/* SPDX-License-Identifier: Apache-2.0
 * Owns what rules ask about below a place: whether a grant for all of it could lift anything there.
 * Says yes where it is not sure.  Pure, any thread. */
#include "policy/http.h"
#include "policy/index.h"
#include "policy/layer.h"

#include "base/path.h"

static bool
reaches(const struct path_pattern *pattern, const struct path_split *place)
{
    return path_pattern_reaches(pattern, place) || path_pattern_match(pattern, place) >= 0;
}

static bool
path_rule_asks(const struct rule *rule, const abx_request *request, const struct path_split *place)
{
    /* What may be read may be run, where no rule is about running. */
    const bool is_about = rule->access == request->access ||
                          (request->kind == ABX_REQUEST_EXEC && rule->access == ABX_ACCESS_READ);

    if (rule->kind != ABX_REQUEST_PATH || rule->verdict != ABX_VERDICT_ASK || !is_about) {
        return false;
    }
    return rule->is_literal ? path_is_within(rule->pattern, request->target) ||
                                      path_is_within(request->target, rule->pattern)
                            : reaches(rule->matcher, place);
}

/* An action with arguments is granted as that only. */
static bool
http_rule_asks(abx_policy *policy, const struct http_rule *http, const char *method,
        const struct path_split *place)
{
    const abx_request action = {
        .size = sizeof action, .kind = ABX_REQUEST_ACTION, .target = http->action
    };
    struct ruling ruling;

    if (!http_rule_has_method(http, method) || !reaches(http->pattern, place) ||
            (http->action != NULL && policy_action_has_arguments(policy, http->action))) {
        return false;
    }
    return http->verdict == ABX_VERDICT_ASK ||
           (http->action != NULL && policy_decide(policy, &action, &ruling) == ABX_VERDICT_ASK);
}

static bool
host_rule_asks(abx_policy *policy, const struct rule *rule, const abx_request *request,
        const struct http_url *url)
{
    if (rule->kind != ABX_REQUEST_CONNECT || host_pattern_match(rule->matcher, &url->host) < 0) {
        return false;
    }
    for (uint32_t i = 0; i < rule->n_http; i++) {
        if (http_rule_asks(policy, &rule->http[i], request->verb, &url->split)) {
            return true;
        }
    }
    return false;
}

bool
policy_asks_below(abx_policy *policy, const abx_request *request)
{
    const bool is_url = request->kind == ABX_REQUEST_HTTP;
    struct path_split place;
    struct http_url url;

    if (is_url ? !http_url_parse(request->target, &url) || url.bad_path != NULL
               : !path_split(request->target, &place)) {
        return true;
    }
    for (size_t i = 0; i < policy->layers.count; i++) {
        const struct layer *layer = *vec_at(&policy->layers, struct layer *, i);

        for (size_t k = 0; k < layer->rules.count; k++) {
            const struct rule *rule = vec_at(&layer->rules, struct rule, k);

            if (is_url ? host_rule_asks(policy, rule, request, &url)
                       : path_rule_asks(rule, request, &place)) {
                return true;
            }
        }
    }
    return false;
}
