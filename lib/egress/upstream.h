/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: the proxies of others that lead outside, where the host has no way of its
 * own: which destination goes through which.  Pure; never changes, so any thread may ask. */
#ifndef ABX_EGRESS_UPSTREAM_H
#define ABX_EGRESS_UPSTREAM_H

#include "egress/egress.h"
#include "egress/vault.h"
#include "policy/policy.h"

#include <stdbool.h>

struct upstream_proxy {
    char host[POLICY_HOST_SIZE];
    uint16_t port;
    struct vault *authorization; /* "Proxy-Authorization: ...\r\n", a secret; NULL: none */
};

struct upstream;

/* *ret_upstream NULL: everything is dialled.  ABX_ERR_UNSUPPORTED: a way that is not known;
 * ABX_ERR_POLICY: what is no URL of a proxy.  No error says what the URL is: it may hold a secret.
 */
abx_status upstream_new(
        const struct egress_upstream *given, struct upstream **ret_upstream, struct fail *fail);
void upstream_free(struct upstream *upstream);

/* The proxy that leads to a destination; NULL: it is dialled.  `is_plain`: requests that are not
 * encrypted, of which it gets each by its URL; else it is asked to CONNECT. */
/* Whether what a program sends there itself is requests that are not encrypted. */
bool upstream_is_plain(const struct destination *destination);
const struct upstream_proxy *upstream_of(
        const struct upstream *upstream, const struct destination *destination, bool is_plain);
/* The one that gets the requests of a connection whose program believes that it speaks with the
 * destination: its port says that they will be plain HTTP. */
const struct upstream_proxy *upstream_relay(
        const struct upstream *upstream, const struct destination *destination);

/* What a program is told where the proxy refused with this status. */
void upstream_refusal(const struct upstream_proxy *proxy, int status, struct refusal *ret_refusal);

#endif
