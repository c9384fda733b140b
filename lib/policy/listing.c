/* SPDX-License-Identifier: Apache-2.0
 * Owns the questions that a plan asks about the network: which ports and sockets of the host some
 * rule opens, and whether requests are read.  Pure, any thread. */
#include "base/mem.h"
#include "policy/identity.h"

#include <string.h>

#define PORTS 65536u

/* A bit for each port. */
struct port_set {
    uint8_t bits[PORTS / 8];
};

static void
mark(struct port_set *named, uint32_t port)
{
    named->bits[port / 8] |= (uint8_t)(1u << port % 8);
}

/* Ports that a rule on the host's loopback names. */
static void
mark_ports(const struct rule *rule, struct port_set *named)
{
    if (rule->port_last == 0) {
        mark(named, 80);
        mark(named, 443);
    }
    for (uint32_t port = rule->port_first; port != 0 && port <= rule->port_last; port++) {
        mark(named, port);
    }
}

static void
mark_all(const struct abx_policy *policy, struct port_set *named)
{
    for (size_t i = 0; i < policy->layers.count; i++) {
        const struct layer *layer = *vec_at(&policy->layers, struct layer *, i);

        for (size_t k = 0; k < layer->rules.count; k++) {
            const struct rule *rule = vec_at(&layer->rules, struct rule, k);

            if (rule_opens_loopback(rule)) {
                mark_ports(rule, named);
            }
        }
    }
}

abx_status
policy_loopback_ports(abx_policy *policy, size_t most, struct vec *ret_ports, struct fail *fail)
{
    struct port_set named = { { 0 } };

    mark_all(policy, &named);
    for (uint32_t port = 1; port < PORTS && ret_ports->count <= most; port++) {
        uint16_t *place;

        if ((named.bits[port / 8] & 1u << port % 8) == 0) {
            continue;
        }
        place = vec_add(ret_ports);
        if (place == NULL) {
            return fail_nomem(fail);
        }
        *place = (uint16_t)port;
    }
    return ABX_OK;
}

static abx_status
add_name(struct vec *names, const struct host_pattern *pattern, const char *name, struct fail *fail)
{
    const char **place;

    if (pattern->form != HOST_NAME) {
        return ABX_OK;
    }
    place = vec_add(names);
    if (place == NULL) {
        return fail_nomem(fail);
    }
    *place = name;
    return ABX_OK;
}

static abx_status
add_hosts(struct vec *names, const struct credential_host *hosts, size_t n_hosts, struct fail *fail)
{
    abx_status r = ABX_OK;

    for (size_t i = 0; r == ABX_OK && i < n_hosts; i++) {
        r = add_name(names, &hosts[i].pattern, hosts[i].text, fail);
    }
    return r;
}

abx_status
policy_read_names(abx_policy *policy, struct vec *ret_names, struct fail *fail)
{
    const struct policy_identity *identity = policy->settings.identity;
    abx_status r = ABX_OK;

    for (size_t i = 0; i < policy->layers.count; i++) {
        const struct layer *layer = *vec_at(&policy->layers, struct layer *, i);

        for (size_t k = 0; r == ABX_OK && k < layer->rules.count; k++) {
            const struct rule *rule = vec_at(&layer->rules, struct rule, k);

            r = rule->n_http == 0 ? ABX_OK
                                  : add_name(ret_names, rule->matcher, rule->pattern, fail);
        }
    }
    for (size_t i = 0; r == ABX_OK && i < policy->settings.n_credentials; i++) {
        const struct policy_credential *credential = &policy->settings.credentials[i];

        r = add_hosts(ret_names, credential->hosts, credential->n_hosts, fail);
    }
    return r < 0 || identity == NULL
                   ? r
                   : add_hosts(ret_names, identity->hosts, identity->n_hosts, fail);
}

bool
policy_lists_address(abx_policy *policy, const char *address, uint32_t port)
{
    struct host_pattern parsed;
    struct fail fail;

    for (size_t i = 0; host_parse(address, &parsed, &fail) == ABX_OK && i < policy->layers.count;
            i++) {
        if (layer_lists_address(*vec_at(&policy->layers, struct layer *, i), &parsed, port, true)) {
            return true;
        }
    }
    return false;
}

abx_status
policy_sockets(abx_policy *policy, struct vec *ret_paths, struct fail *fail)
{
    for (size_t i = 0; i < policy->layers.count; i++) {
        const struct layer *layer = *vec_at(&policy->layers, struct layer *, i);

        for (size_t k = 0; k < layer->rules.count; k++) {
            const struct rule *rule = vec_at(&layer->rules, struct rule, k);
            const abx_request request = {
                .size = sizeof request, .kind = ABX_REQUEST_SOCKET, .target = rule->pattern
            };
            struct ruling ruling;
            const char **place;

            if (rule->kind != ABX_REQUEST_SOCKET || rule->matcher != NULL ||
                    policy_decide(policy, &request, &ruling) != ABX_VERDICT_ALLOW) {
                continue;
            }
            place = vec_add(ret_paths);
            if (place == NULL) {
                return fail_nomem(fail);
            }
            *place = rule->pattern;
        }
    }
    return ABX_OK;
}

const char *
policy_host_restriction(abx_policy *policy)
{
    for (size_t i = 0; i < policy->layers.count; i++) {
        const struct layer *layer = *vec_at(&policy->layers, struct layer *, i);

        for (size_t k = 0; k < layer->rules.count; k++) {
            const struct rule *rule = vec_at(&layer->rules, struct rule, k);

            if (rule->kind == ABX_REQUEST_CONNECT && rule->verdict != ABX_VERDICT_ALLOW) {
                return rule->id;
            }
        }
    }
    return NULL;
}

/* What first wants requests read, or NULL. */
static const char *
find_reader(abx_policy *policy)
{
    for (size_t i = 0; i < policy->layers.count; i++) {
        const struct layer *layer = *vec_at(&policy->layers, struct layer *, i);

        for (size_t k = 0; k < layer->rules.count; k++) {
            const struct rule *rule = vec_at(&layer->rules, struct rule, k);

            if (rule->n_http > 0) {
                return rule->id;
            }
        }
    }
    if (policy->settings.identity != NULL) {
        return "/identity";
    }
    return policy->settings.n_credentials > 0 ? policy->settings.credentials[0].name : NULL;
}

const char *
policy_adds_trust(abx_policy *policy)
{
    const char *reader = find_reader(policy);

    return reader == NULL && policy->settings.extra_ca != NULL ? "/network/extra_ca" : reader;
}
