/* SPDX-License-Identifier: Apache-2.0
 * Inside the comparison of connections: its state, and the host that is looked at
 * (compare_hosts.c); addresses (compare_addresses.c). */
#ifndef ABX_POLICY_COMPARE_HOSTS_H
#define ABX_POLICY_COMPARE_HOSTS_H

#include "policy/compare_private.h"

struct host_rule {
    unsigned side;
    uint32_t layer, number;
    const struct rule *rule;
    uint32_t next; /* of the same name, NO_RULE: the end */
};

/* A name that some rule has, without its stars. */
struct base {
    uint32_t first; /* struct host_rule, NO_RULE: none */
    bool has_below; /* what is below it may be decided otherwise than elsewhere */
};

struct host_pass {
    struct comparison *comparison;
    struct vec rules; /* struct host_rule */
    struct intern names; /* numbers are indices of `bases` */
    struct vec bases;
    uint32_t any_public; /* the first rule for all public names */
    struct vec blocks; /* uint32_t: rules for addresses, outer and lower ones first */
    struct vec open; /* uint32_t: those that the address is in */
    struct vec speakers, edges; /* of the host that is looked at */
    struct intern resolved; /* what addresses came to; numbers are indices of `witnesses` */
    struct vec witnesses;
    unsigned fresh; /* a label "x%u" that no rule has */
};

static inline const uint8_t *
block_bytes(const struct host_rule *rule)
{
    return ((const struct host_pattern *)rule->rule->matcher)->bytes;
}

/* Another host: nothing speaks of it yet. */
void host_pass_next(struct host_pass *pass);
/* A rule speaks of the host if it matches; false: no memory.  Likewise all that a name has. */
bool host_pass_speaks(struct host_pass *pass, uint32_t number, const struct host_pattern *host);
bool host_pass_name(struct host_pass *pass, const struct host_pattern *host);
/* The ports between which nothing changes for those that speak; false: no memory. */
bool host_pass_edges(struct host_pass *pass);
/* `by_name`: the host is an address that an allowed name has, see decide_address. */
abx_verdict host_pass_connect(const struct host_pass *pass, unsigned side,
        const struct host_pattern *host, uint32_t port, bool by_name);
abx_status host_pass_ports(struct host_pass *pass, const char *target,
        const struct host_pattern *host, struct fail *fail);
/* The i-th name to look at; false: it is none.  *ret_end: there are no more. */
bool host_pass_example(
        const struct host_pass *pass, size_t i, struct host_pattern *ret_host, bool *ret_end);

abx_status compare_addressed(struct host_pass *pass, struct fail *fail);

#endif
