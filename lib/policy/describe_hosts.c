/* SPDX-License-Identifier: Apache-2.0
 * Which hosts a list really is about: where another rule decides what goes to one host and port,
 * the list does not name it.  Ranges and patterns stand as they were written.  Pure. */
#include "policy/describe.h"

#include "policy/index.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

/* A rule for one host, and the ports of it for which the list holds. */
struct holding {
    const struct layer *layer;
    const struct rule *rule;
    struct host_pattern host;
    struct vec *names; /* char * */
    bool ok;
};

static bool
holds_at(const struct holding *holding, uint32_t port)
{
    const struct rule *winner;
    struct pick pick;

    index_pick_host(holding->layer, &holding->host, port, &pick);
    if (pick.rule == NO_RULE) {
        return false;
    }
    winner = vec_at(&holding->layer->rules, struct rule, pick.rule);
    return winner->verdict == holding->rule->verdict && winner->n_http == 0;
}

/* Takes the name. */
static bool
add_name(struct vec *names, char *name)
{
    char **slot;

    for (size_t i = 0; name != NULL && i < names->count; i++) {
        if (strcmp(*vec_at(names, char *, i), name) == 0) {
            free(name);
            return true;
        }
    }
    slot = name == NULL ? NULL : vec_add(names);
    if (slot == NULL) {
        free(name);
        return false;
    }
    *slot = name;
    return true;
}

static void
add_ports(struct holding *holding, uint32_t first, uint32_t last)
{
    struct rule part = *holding->rule;

    part.port_first = first;
    part.port_last = last;
    holding->ok = add_name(holding->names, describe_name(&part)) && holding->ok;
}

static void
add_runs(struct holding *holding)
{
    uint32_t first = 0;

    for (uint32_t port = holding->rule->port_first; port <= holding->rule->port_last; port++) {
        bool holds = holds_at(holding, port);

        first = holds && first == 0 ? port : first;
        if (first != 0 && (!holds || port == holding->rule->port_last)) {
            add_ports(holding, first, holds ? port : port - 1);
            first = 0;
        }
    }
}

/* No ports were given: the usual two. */
static void
add_usual(struct holding *holding)
{
    bool plain = holds_at(holding, 80), tls = holds_at(holding, 443);

    if (plain && tls) {
        add_ports(holding, 0, 0);
    } else if (plain || tls) {
        add_ports(holding, plain ? 80 : 443, plain ? 80 : 443);
    }
}

/* False: it is about more hosts than one, or about all ports. */
static bool
take_host(struct holding *holding)
{
    const struct rule *rule = holding->rule;
    struct fail fail;

    if (rule->verdict == ABX_VERDICT_DENY) {
        return false;
    }
    if (rule_opens_loopback(rule)) {
        return host_parse("localhost", &holding->host, &fail) == ABX_OK;
    }
    holding->host = *(const struct host_pattern *)rule->matcher;
    return host_is_single(&holding->host);
}

bool
describe_hosts(const struct layer *layer, abx_verdict verdict, struct vec *ret_names)
{
    struct holding holding = { .layer = layer, .names = ret_names, .ok = true };

    for (size_t i = 0; holding.ok && i < layer->rules.count; i++) {
        holding.rule = vec_at(&layer->rules, struct rule, i);
        if (!describe_tells(holding.rule, ABX_REQUEST_CONNECT, 0, verdict) ||
                holding.rule->n_http > 0) {
            continue;
        }
        if (!take_host(&holding)) {
            holding.ok = add_name(ret_names, describe_name(holding.rule));
        } else if (holding.rule->port_last == 0) {
            add_usual(&holding);
        } else {
            add_runs(&holding);
        }
    }
    return holding.ok;
}
