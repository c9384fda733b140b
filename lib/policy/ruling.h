/* SPDX-License-Identifier: Apache-2.0
 * Inside the deciding part of lib/policy: what one layer says about a request.  The decide_*
 * functions return whether it says anything; then *ruling has all but layer and source. */
#ifndef ABX_POLICY_RULING_H
#define ABX_POLICY_RULING_H

#include "policy/index.h"

void rule_by_pick(const struct layer *layer, const struct pick *pick, struct ruling *ruling);
void rule_by_default(
        const struct layer *layer, enum slot slot, abx_verdict verdict, struct ruling *ruling);
/* A fixed answer that no rule gives. */
void rule_by_nature(abx_verdict verdict, const char *id, const char *reason,
        const char *alternative, struct ruling *ruling);
/* Whether a layer has something to say where no rule of its own matches: the innermost always has.
 */
bool layer_has_opinion(const struct layer *layer, bool is_innermost, enum slot slot);

/* evaluate_network.c */
bool decide_connect(const struct layer *layer, bool is_innermost, const abx_request *request,
        struct ruling *ruling);
/* A request; `url` NULL: it is none that one could have.  `is_connected`: the connection was
 * decided before, so what was asked about it is not asked again.  *ret_action: what the request
 * counts as, or NULL. */
bool decide_http(const struct layer *layer, bool is_innermost, const struct http_url *url,
        const char *method, bool is_connected, struct ruling *ruling, const char **ret_action);
/* Whether requests to that host are decided one by one. */
bool layer_reads_http(const struct layer *layer, const struct host_pattern *host, uint32_t port);
/* Whether a rule lets through what goes to the address, and does not only open it; `by_itself`: a
 * rule for exactly that one. */
bool layer_lists_address(const struct layer *layer, const struct host_pattern *address,
        uint32_t port, bool by_itself);
/* An address that an allowed name turned out to be: what is public needs no rule of its own. */
bool decide_address(const struct layer *layer, bool is_innermost,
        const struct host_pattern *address, uint32_t port, struct ruling *ruling);

#endif
