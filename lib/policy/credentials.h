/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/policy: where credentials go, in one layer and in all. */
#ifndef ABX_POLICY_CREDENTIALS_H
#define ABX_POLICY_CREDENTIALS_H

#include "policy/hostname.h"
#include "policy/ruling.h"

/* One of a credential's hosts; kept by the layer. */
struct credential_host {
    struct host_pattern pattern;
    uint32_t port_first, port_last; /* 0-0: default ports */
    const char *text; /* canonical, without ports */
};

/* NULL: the layer has none of that name. */
const struct policy_credential *credential_find(const struct layer *layer, const char *name);
bool credential_covers(
        const struct policy_credential *credential, const struct host_pattern *host, uint32_t port);
/* What a layer says about sending a credential (target) to a host (verb). */
bool decide_credential(const struct layer *layer, bool is_innermost, const abx_request *request,
        struct ruling *ruling);
/* Combines credentials of all layers: each that every layer has which has any, with what all agree
 * on.  `list` has room for all of the innermost ones; returns how many there are. */
size_t credentials_combine(const abx_policy *policy, struct policy_credential *list);
/* The first host of a credential that no rule of the layer lets through, or NULL.  The layer is
 * finished. */
const char *credentials_idle_host(const struct layer *layer);

#endif
