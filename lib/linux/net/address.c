/* SPDX-License-Identifier: Apache-2.0
 * Knows how addresses are spelled.  No state. */
#include "linux/net/address.h"

#include "plan/network.h"

#include <netinet/in.h>
#include <string.h>

static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

bool
address_is_inet(const struct address *address)
{
    return address->storage.ss_family == AF_INET || address->storage.ss_family == AF_INET6;
}

struct endpoint
address_endpoint(const struct address *address)
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)&address->storage;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&address->storage;
    struct endpoint endpoint = { .port = ntohs(in->sin_port) }; /* at the same place in both */

    if (address->storage.ss_family == AF_INET) {
        memcpy(endpoint.bytes, mapped, sizeof mapped);
        memcpy(endpoint.bytes + sizeof mapped, &in->sin_addr, sizeof in->sin_addr);
    } else {
        memcpy(endpoint.bytes, &in6->sin6_addr, sizeof endpoint.bytes);
    }
    return endpoint;
}

bool
endpoint_equal(const struct endpoint *a, const struct endpoint *b)
{
    return a->port == b->port && memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

static uint32_t
last_number(const struct endpoint *endpoint)
{
    uint32_t number;

    memcpy(&number, endpoint->bytes + 12, sizeof number);
    return ntohl(number);
}

bool
address_ipv4(const struct address *address, uint32_t *ret_host)
{
    const struct endpoint endpoint = address_endpoint(address);

    *ret_host = last_number(&endpoint);
    return memcmp(endpoint.bytes, mapped, sizeof mapped) == 0;
}

bool
address_is_loopback(const struct address *address)
{
    const struct endpoint endpoint = address_endpoint(address);
    uint32_t host;

    if (address_ipv4(address, &host)) {
        return host == INADDR_ANY || host >> 24 == 127;
    }
    return memcmp(endpoint.bytes, &in6addr_loopback, sizeof endpoint.bytes) == 0 ||
           memcmp(endpoint.bytes, &in6addr_any, sizeof endpoint.bytes) == 0;
}

bool
address_is_localhost(const struct address *address)
{
    uint32_t host;

    return address_is_loopback(address) &&
           (!address_ipv4(address, &host) || host == INADDR_LOOPBACK);
}

bool
address_is_own(const struct address *address, uint32_t number)
{
    static const uint8_t prefix[12] = { NETWORK_IPV6_PREFIX };
    const struct endpoint endpoint = address_endpoint(address);

    return last_number(&endpoint) == number &&
           (memcmp(endpoint.bytes, mapped, sizeof mapped) == 0 ||
                   memcmp(endpoint.bytes, prefix, sizeof prefix) == 0);
}

uint16_t
address_port(const struct address *address)
{
    return address_endpoint(address).port;
}

void
address_text(const struct address *address, char text[INET6_ADDRSTRLEN])
{
    const struct endpoint endpoint = address_endpoint(address);
    uint32_t host;

    if (address_ipv4(address, &host)) {
        inet_ntop(AF_INET, endpoint.bytes + 12, text, INET6_ADDRSTRLEN);
    } else {
        inet_ntop(AF_INET6, endpoint.bytes, text, INET6_ADDRSTRLEN);
    }
}

struct address
address_of_ipv4(uint32_t host, uint16_t port)
{
    const struct sockaddr_in in = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(host)
    };
    struct address address = { .length = sizeof in };

    memcpy(&address.storage, &in, sizeof in);
    return address;
}

void
address_point_to(struct address *address, uint32_t host, uint16_t port)
{
    const struct address ipv4 = address_of_ipv4(host, port);
    const struct endpoint endpoint = address_endpoint(&ipv4);
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

    if (address->storage.ss_family == AF_INET) {
        *address = ipv4;
        return;
    }
    memcpy(&in6.sin6_addr, endpoint.bytes, sizeof endpoint.bytes);
    *address = (struct address){ .length = sizeof in6 };
    memcpy(&address->storage, &in6, sizeof in6);
}

void
address_specify(struct address *address)
{
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&address->storage;
    uint32_t host;

    if (address_ipv4(address, &host)) {
        if (host == INADDR_ANY) {
            address_point_to(address, INADDR_LOOPBACK, address_port(address));
        }
    } else if (IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr)) {
        in6->sin6_addr = in6addr_loopback;
    }
}
