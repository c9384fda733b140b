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
    if (pick.rule != NO_RULE) {
        rule_by_pick(layer, &pick, ruling);
    } else {
        rule_by_default(layer, SLOT_CONNECT,
                layer->settings.network == NETWORK_HOST ? ABX_VERDICT_ALLOW : ABX_VERDICT_DENY,
                ruling);
    }
    return true;
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
        rule_by_pick(layer, &pick, ruling);
    } else if (is_closed) {
        rule_by_nature(
                ABX_VERDICT_DENY, "network:closed", closed_reason, closed_alternative, ruling);
    } else {
        rule_by_default(layer, SLOT_CONNECT, ABX_VERDICT_ALLOW, ruling);
    }
    return true;
}
