/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: addresses of sockets, and what they mean.  Pure. */
#ifndef ABX_LINUX_ADDRESS_H
#define ABX_LINUX_ADDRESS_H

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* Our own copy of an address: what was decided about is what is used. */
struct address {
    struct sockaddr_storage storage; /* zeroes behind `length` */
    socklen_t length;
};

/* An internet address and port; IPv4 as IPv6 has it (::ffff:0:0/96), so that there is one spelling.
 */
struct endpoint {
    uint8_t bytes[16];
    uint16_t port;
};

bool address_is_inet(const struct address *address);
/* The IPv4 address in host order, also one written as IPv6. */
bool address_ipv4(const struct address *address, uint32_t *ret_host);
/* The kernel takes the unspecified address for loopback. */
bool address_is_loopback(const struct address *address);
/* 127.0.0.1 or ::1, the one of its network that listeners of ours stand at. */
bool address_is_localhost(const struct address *address);
/* Whether it has this number in the box's own range (plan/network.h), in either family. */
bool address_is_own(const struct address *address, uint32_t number);
uint16_t address_port(const struct address *address);
void address_text(const struct address *address, char text[INET6_ADDRSTRLEN]);
struct endpoint address_endpoint(const struct address *address);
bool endpoint_equal(const struct endpoint *a, const struct endpoint *b);
/* Makes it this IPv4 address and port, of the family that it has. */
void address_point_to(struct address *address, uint32_t host, uint16_t port);
/* The unspecified address becomes loopback, as the kernel has it. */
void address_specify(struct address *address);
/* IPv4, both in host order. */
struct address address_of_ipv4(uint32_t host, uint16_t port);

#endif
