/* SPDX-License-Identifier: Apache-2.0
 * Owns what a policy says about the identity of a box: to whom it is told.  Pure, any thread. */
#include "policy/identity.h"

bool
hosts_cover(const struct credential_host *hosts, size_t n_hosts, const struct host_pattern *host,
        uint32_t port)
{
    for (size_t i = 0; i < n_hosts; i++) {
        const struct credential_host *own = &hosts[i];
        bool has_port = own->port_last == 0 ? port == 80 || port == 443
                                            : port >= own->port_first && port <= own->port_last;

        if (has_port && host_pattern_match(&own->pattern, host) >= 0) {
            return true;
        }
    }
    return false;
}

void
identity_text(const struct policy_identity *identity, struct str *out)
{
    str_printf(out, "%s:", identity->header);
    for (size_t i = 0; i < identity->n_hosts; i++) {
        const struct credential_host *host = &identity->hosts[i];

        str_printf(out, " %s:%u-%u", host->text, host->port_first, host->port_last);
    }
}

const char *
policy_identity_header(abx_policy *policy, const char *host, uint32_t port)
{
    const struct policy_identity *identity = policy->settings.identity;
    struct host_pattern parsed;
    struct fail fail;

    return identity != NULL && host_parse(host, &parsed, &fail) == ABX_OK &&
                           host_is_single(&parsed) &&
                           hosts_cover(identity->hosts, identity->n_hosts, &parsed, port)
                   ? identity->header
                   : NULL;
}
