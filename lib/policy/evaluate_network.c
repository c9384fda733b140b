/* SPDX-License-Identifier: Apache-2.0
 * Owns what a layer says about connections: to a name, and to the addresses that it has.  Pure, any
 * thread. */
#include "policy/ruling.h"

#include <string.h>

static const char network_reason[] = "the policy allows no network";
static const char network_alternative[] = "work with what is in the box; a policy with network "
                                          "mode 'filtered' and this host could allow it";
static const char closed_reason[] = "the name leads to an address that is not public (loopback, "
                                    "private, link-local, metadata or the like)";
static const char closed_alternative[] =
        "use a host of the public network; 'private' or 'host_loopback' of the policy's network "
        "section could open this address";

bool
layer_lists_address(const struct layer *layer, const struct host_pattern *address, uint32_t port,
        bool by_itself)
{
    for (size_t i = 0; i < layer->rules.count; i++) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, i);

        if (rule->verdict != ABX_VERDICT_DENY && !rule->opens_private &&
                rule_can_speak(rule, port, false) &&
                host_pattern_match(rule->matcher, address) >= 0 &&
                (!by_itself || host_is_single(rule->matcher))) {
            return true;
        }
    }
    return false;
}

/* A closed address, for which no rule speaks.  False: there is nothing to say about it. */
static bool
rule_by_closure(const struct layer *layer, const struct host_pattern *host, uint32_t port,
        struct ruling *ruling)
{
    if (layer->settings.network != NETWORK_FILTERED || host->form != HOST_ADDRESS ||
            !host_is_closed(host)) {
        return false;
    }
    if (host_is_localhost(host)) {
        if (!layer_lists_address(layer, host, port, true)) {
            return false;
        }
        rule_by_nature(ABX_VERDICT_DENY, "network:loopback",
                "localhost is the box's own, and the policy lists it without opening this port of "
                "the host's",
                "list the port in 'host_loopback' of the policy's network section", ruling);
        ruling->from_default = false; /* no grant leads there */
        return true;
    }
    if (!layer_lists_address(layer, host, port, false)) {
        return false;
    }
    rule_by_nature(ABX_VERDICT_DENY, "network:closed",
            "the policy lists this address without opening it, and it is not public (private, "
            "link-local, metadata or the like)",
            "list the address in 'private' of the policy's network section", ruling);
    return true;
}

/* A rule for hosts, or none.  A connection of which requests are decided one by one is open. */
static void
rule_by_host(const struct layer *layer, const struct pick *pick, const struct host_pattern *host,
        uint32_t port, struct ruling *ruling)
{
    if (pick->rule == NO_RULE && rule_by_closure(layer, host, port, ruling)) {
        return;
    }
    if (pick->rule == NO_RULE) {
        rule_by_default(layer, SLOT_CONNECT,
                layer->settings.network == NETWORK_HOST ? ABX_VERDICT_ALLOW : ABX_VERDICT_DENY,
                ruling);
        return;
    }
    rule_by_pick(layer, pick, ruling);
    if (vec_at(&layer->rules, struct rule, pick->rule)->n_http > 0) {
        ruling->verdict = ABX_VERDICT_ALLOW;
    }
}

bool
decide_connect(const struct layer *layer, bool is_innermost, const abx_request *request,
        struct ruling *ruling)
{
    uint32_t port = request->port == 0 ? 443 : request->port;
    struct host_pattern host;
    struct pick pick;
    struct fail fail;

    if (!layer_has_opinion(layer, is_innermost, SLOT_CONNECT)) {
        return false;
    }
    if (layer->settings.network == NETWORK_NONE) {
        rule_by_nature(
                ABX_VERDICT_DENY, "network:mode", network_reason, network_alternative, ruling);
        return true;
    }
    if (host_parse(request->target, &host, &fail) < 0 || !host_is_single(&host)) {
        rule_by_nature(ABX_VERDICT_DENY, "network:name", "this is no valid host name",
                "use the host's name in its usual form", ruling);
        return true;
    }
    index_pick_host(layer, &host, port, &pick);
    rule_by_host(layer, &pick, &host, port, ruling);
    return true;
}

/* What decided a request when the winner has rules about requests. */
static void
rule_by_request(const struct layer *layer, const struct pick *pick, struct ruling *ruling)
{
    const struct rule *rule = vec_at(&layer->rules, struct rule, pick->rule);
    const struct rule *action;
    struct pick named;

    ruling->from_default = false;
    if (pick->http == NULL) {
        ruling->verdict = ABX_VERDICT_DENY;
        ruling->reason = rule->rest_because;
        ruling->alternative =
                rule->alternative != NULL ? rule->alternative : rule->rest_alternative;
        return;
    }
    ruling->verdict = pick->http->verdict;
    ruling->id = pick->http->id;
    if (pick->http->action == NULL || pick->http->verdict == rule->verdict) {
        return;
    }
    index_pick_name(layer, ABX_REQUEST_ACTION, pick->http->action, &named);
    action = vec_at(&layer->rules, struct rule, named.rule);
    ruling->id = action->id;
    ruling->reason = action->because;
    ruling->alternative = action->alternative != NULL ? action->alternative : ruling->alternative;
}

/* Whether some requests of a connection are decided one by one. */
static bool
reads_requests(const struct layer *layer, const struct host_pattern *host, uint32_t port)
{
    struct pick pick;

    index_pick_host(layer, host, port, &pick);
    return pick.rule != NO_RULE && vec_at(&layer->rules, struct rule, pick.rule)->n_http > 0;
}

bool
decide_http(const struct layer *layer, bool is_innermost, const struct http_url *url,
        const char *method, bool is_connected, struct ruling *ruling, const char **ret_action)
{
    struct pick pick;

    *ret_action = NULL;
    if (!layer_has_opinion(layer, is_innermost, SLOT_CONNECT)) {
        return false;
    }
    if (layer->settings.network == NETWORK_NONE) {
        rule_by_nature(
                ABX_VERDICT_DENY, "network:mode", network_reason, network_alternative, ruling);
        return true;
    }
    if (url == NULL) {
        rule_by_nature(ABX_VERDICT_DENY, "network:url",
                "this is no URL that a request could have, in its usual form",
                "write https or http, the host, and the path with its special characters encoded",
                ruling);
        return true;
    }
    index_pick_http(layer, url, method == NULL ? "GET" : method, &pick);
    if (pick.reads && url->bad_path != NULL) {
        rule_by_nature(ABX_VERDICT_DENY, "network:path", url->bad_path,
                "write the path in its shortest form, with no character encoded that need not be",
                ruling);
        return true;
    }
    rule_by_host(layer, &pick, &url->host, url->port, ruling);
    if (pick.rule != NO_RULE && vec_at(&layer->rules, struct rule, pick.rule)->n_http > 0) {
        rule_by_request(layer, &pick, ruling);
        *ret_action = pick.http != NULL ? pick.http->action : NULL;
    } else if (is_connected && !pick.reads && ruling->verdict == ABX_VERDICT_ASK) {
        ruling->verdict = ABX_VERDICT_ALLOW;
    }
    return true;
}

bool
layer_reads_http(const struct layer *layer, const struct host_pattern *host, uint32_t port)
{
    return layer->settings.network == NETWORK_FILTERED && reads_requests(layer, host, port);
}

bool
decide_address(const struct layer *layer, bool is_innermost, const struct host_pattern *address,
        uint32_t port, struct ruling *ruling)
{
    bool is_closed = host_is_closed(address) && layer->settings.network != NETWORK_HOST;
    struct pick pick;

    if (!layer_has_opinion(layer, is_innermost, SLOT_CONNECT)) {
        return false;
    }
    if (layer->settings.network == NETWORK_NONE) {
        rule_by_nature(
                ABX_VERDICT_DENY, "network:mode", network_reason, network_alternative, ruling);
        return true;
    }
    index_pick_host(layer, address, port, &pick);
    if (pick.rule != NO_RULE) {
        rule_by_host(layer, &pick, address, port, ruling);
    } else if (is_closed) {
        rule_by_nature(
                ABX_VERDICT_DENY, "network:closed", closed_reason, closed_alternative, ruling);
    } else {
        rule_by_default(layer, SLOT_CONNECT, ABX_VERDICT_ALLOW, ruling);
    }
    return true;
}
