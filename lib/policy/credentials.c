/* SPDX-License-Identifier: Apache-2.0
 * Owns where credentials go.  Of several layers a credential needs each that has the section, and
 * goes where all of them let it go.  Pure, any thread. */
#include "policy/identity.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

const struct policy_credential *
credential_find(const struct layer *layer, const char *name)
{
    for (size_t i = 0; i < layer->settings.n_credentials; i++) {
        if (strcmp(layer->settings.credentials[i].name, name) == 0) {
            return &layer->settings.credentials[i];
        }
    }
    return NULL;
}

bool
credential_covers(
        const struct policy_credential *credential, const struct host_pattern *host, uint32_t port)
{
    return hosts_cover(credential->hosts, credential->n_hosts, host, port);
}

bool
decide_credential(const struct layer *layer, bool is_innermost, const abx_request *request,
        struct ruling *ruling)
{
    const struct policy_credential *credential = credential_find(layer, request->target);
    uint32_t port = request->port == 0 ? 443 : request->port;
    struct host_pattern host;
    struct fail fail;

    if (!is_innermost && !layer->has_credentials) {
        return false;
    }
    if (credential == NULL) {
        rule_by_nature(ABX_VERDICT_DENY, "default", "the policy has no credential of this name",
                "use one that the policy has", ruling);
    } else if (request->verb == NULL || host_parse(request->verb, &host, &fail) < 0 ||
               !host_is_single(&host) || !credential_covers(credential, &host, port)) {
        rule_by_nature(ABX_VERDICT_DENY, credential->id, "this credential does not go to that host",
                credential->alternative, ruling);
        ruling->from_default = false;
    } else {
        rule_by_nature(ABX_VERDICT_ALLOW, credential->id, "the policy sends this credential there",
                "", ruling);
        ruling->from_default = false;
    }
    return true;
}

/* ---- all layers ---- */

/* What an outer layer takes away from a credential. */
static bool
narrow(struct policy_credential *credential, const struct layer *outer)
{
    const struct policy_credential *other = credential_find(outer, credential->name);

    if (!outer->has_credentials) {
        return true;
    }
    if (other == NULL) {
        return false;
    }
    credential->places &= other->places;
    credential->clear_text &= other->clear_text;
    if (other->lease_s != 0 && (credential->lease_s == 0 || other->lease_s < credential->lease_s)) {
        credential->lease_s = other->lease_s;
    }
    return credential->places != 0;
}

static const struct layer *
innermost_with_credentials(const abx_policy *policy, size_t *ret_number)
{
    for (size_t i = policy->layers.count; i-- > 0;) {
        const struct layer *layer = *vec_at(&policy->layers, struct layer *, i);

        if (layer->has_credentials) {
            *ret_number = i;
            return layer;
        }
    }
    return NULL;
}

size_t
credentials_combine(const abx_policy *policy, struct policy_credential *list)
{
    size_t number = 0, n = 0;
    const struct layer *inner = innermost_with_credentials(policy, &number);

    for (size_t i = 0; inner != NULL && i < inner->settings.n_credentials; i++) {
        bool stays = true;

        list[n] = inner->settings.credentials[i];
        list[n].layer = (uint32_t)number;
        for (size_t k = 0; k < number && stays; k++) {
            stays = narrow(&list[n], *vec_at(&policy->layers, struct layer *, k));
        }
        n += stays;
    }
    return n;
}

bool
policy_credential_goes_to(abx_policy *policy, size_t credential, const char *host, uint32_t port)
{
    const char *name = policy->settings.credentials[credential].name;
    struct host_pattern parsed;
    struct fail fail;

    if (host_parse(host, &parsed, &fail) < 0 || !host_is_single(&parsed)) {
        return false;
    }
    for (size_t i = 0; i < policy->layers.count; i++) {
        const struct layer *layer = *vec_at(&policy->layers, struct layer *, i);
        const struct policy_credential *own = credential_find(layer, name);

        if (layer->has_credentials && (own == NULL || !credential_covers(own, &parsed, port))) {
            return false;
        }
    }
    return true;
}

/* ---- hosts that no rule lets through ---- */

/* Some host that the pattern stands for. */
static bool
example_host(const struct credential_host *host, struct host_pattern *ret_example)
{
    char name[HOST_NAME_MAX_BYTES + 8];
    struct fail fail;

    if (host_is_single(&host->pattern)) {
        *ret_example = host->pattern;
        return true;
    }
    snprintf(name, sizeof name, "x.%s", host->pattern.name);
    return host_parse(name, ret_example, &fail) == ABX_OK;
}

static bool
is_reachable(const struct layer *layer, const struct credential_host *host)
{
    uint32_t port = host->port_last == 0 ? 443 : host->port_first;
    struct host_pattern example;
    struct pick pick;

    if (layer->settings.network != NETWORK_FILTERED || !example_host(host, &example)) {
        return false;
    }
    index_pick_host(layer, &example, port, &pick);
    if (pick.rule == NO_RULE && host->port_last == 0) {
        index_pick_host(layer, &example, 80, &pick);
    }
    return pick.rule != NO_RULE &&
           (vec_at(&layer->rules, struct rule, pick.rule)->verdict != ABX_VERDICT_DENY ||
                   vec_at(&layer->rules, struct rule, pick.rule)->n_http > 0);
}

const char *
credentials_idle_host(const struct layer *layer)
{
    for (size_t i = 0; i < layer->settings.n_credentials; i++) {
        const struct policy_credential *credential = &layer->settings.credentials[i];

        for (size_t k = 0; k < credential->n_hosts; k++) {
            if (!is_reachable(layer, &credential->hosts[k])) {
                return credential->hosts[k].text;
            }
        }
    }
    return NULL;
}
