/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/policy: which hosts are told on whose behalf a request is made, and in which field.
 * Of several layers the outermost that has the section decides. */
#ifndef ABX_POLICY_IDENTITY_H
#define ABX_POLICY_IDENTITY_H

#include "policy/credentials.h"

#include "base/str.h"

struct policy_identity {
    const char *header;
    const struct credential_host *hosts;
    size_t n_hosts;
};

bool hosts_cover(const struct credential_host *hosts, size_t n_hosts,
        const struct host_pattern *host, uint32_t port);
/* "x-agent: a.test b.test:8080", in the order of the document. */
void identity_text(const struct policy_identity *identity, struct str *out);

#endif
