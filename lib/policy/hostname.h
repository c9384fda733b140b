/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/policy: host patterns and addresses, compiled. */
#ifndef ABX_POLICY_HOSTNAME_H
#define ABX_POLICY_HOSTNAME_H

#include "base/fail.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOST_NAME_MAX_BYTES 253u

enum host_form {
    HOST_NAME, /* example.com */
    HOST_SUBDOMAINS, /* *.example.com */
    HOST_BOTH, /* **.example.com */
    HOST_ANY_PUBLIC, /* * */
    HOST_ADDRESS /* an address or a block of them */
};

/* `bytes` and `prefix` are IPv6; IPv4 is mapped into it (::ffff:0:0/96), so one comparison does. */
struct host_pattern {
    enum host_form form;
    uint8_t bytes[16];
    uint32_t prefix;
    uint32_t length;
    char name[HOST_NAME_MAX_BYTES + 1]; /* without the stars, lower case, A-labels */
};

/* As rules see it: "localhost" and ::1 are 127.0.0.1. */
abx_status host_parse(const char *host, struct host_pattern *ret_pattern, struct fail *fail);
/* Whether a pattern could be a request's target: a name or one address. */
bool host_is_single(const struct host_pattern *pattern);
/* Whether it is the one address that "localhost" is. */
bool host_is_localhost(const struct host_pattern *host);
/* How much of `host` the pattern matched (longer is more), or -1. */
int host_pattern_match(const struct host_pattern *pattern, const struct host_pattern *host);
bool host_name_is_public(const char *name);
/* An address that no policy opens by accident: loopback, private, link-local, metadata, multicast
 * ... */
bool host_is_closed(const struct host_pattern *address);
/* The blocks at whose edges that changes (and both prefixes of IPv4); and the names below which
 * host_name_is_public says no.  False, NULL: there is no i-th. */
bool host_special_block(size_t i, struct host_pattern *ret_block);
const char *host_reserved_name(size_t i);
/* Caller frees; NULL: no memory. */
char *host_address_text(const uint8_t bytes[16]);

/* idn.c: the A-label of one UTF-8 label, lower case; false if it is none that we can be sure of. */
bool idn_to_ascii(const char *label, size_t length, char ret_label[64]);

#endif
