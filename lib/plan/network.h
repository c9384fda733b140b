/* SPDX-License-Identifier: Apache-2.0
 * What the network of a box looks like from inside: a link to the gateway, and the names and
 * addresses that are nobody's outside.  Included by the program in the box, so numbers and texts
 * only. */
#ifndef ABX_PLAN_NETWORK_H
#define ABX_PLAN_NETWORK_H

/* 198.18.0.0/15 (RFC 2544) is for the box: the first 256 addresses are its own network's, the
 * others stand for names.  In IPv6 the same numbers are the last 32 bits below a prefix of
 * fd00::/8. */
#define NETWORK_IPV4 0xc6120000u
#define NETWORK_IPV4_OWN 256u
#define NETWORK_IPV6_PREFIX 0xfd, 0x61, 0x67, 0x62, 0x6f, 0x78, 0, 0, 0, 0, 0, 0

#define NETWORK_GATEWAY (NETWORK_IPV4 + 1)
#define NETWORK_BOX (NETWORK_IPV4 + 2)
#define NETWORK_LINK_BITS 30 /* of the IPv4 address; 126 of the IPv6 one */

#define NETWORK_NAME_SERVER "127.0.0.53"
#define NETWORK_NAME_SERVER_PORT 53

/* The explicit proxy stands at the gateway's address. */
#define NETWORK_PROXY_NAME "proxy.agentbox.internal"
#define NETWORK_PROXY_ADDRESS "198.18.0.1"
#define NETWORK_PROXY_PORT 3128
#define NETWORK_PROXY_URL "http://" NETWORK_PROXY_NAME ":3128" /* the same port */

#endif
