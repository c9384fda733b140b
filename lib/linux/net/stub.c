/* SPDX-License-Identifier: Apache-2.0
 * The name server of a box: sockets in, answers out; what is asked never leaves this file.  Owns
 * its sockets and the table of names, which other threads may read (the lock).  Everything else:
 * loop thread, never blocks: what cannot be sent at once is dropped, as networks do. */
#include "linux/net/stub.h"

#include "base/mem.h"
#include "linux/net/dns.h"
#include "linux/net/names.h"
#include "plan/network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define SOCKETS_MAX 4u
#define CONNECTIONS_MAX 32u
#define DATAGRAMS_AT_ONCE 32

/* A socket of the server, or a connection to it. */
struct stub_socket {
    struct stub *stub;
    int fd;
    struct loop_source *source;
    uint8_t query[2 + DNS_QUERY_MAX]; /* connection: what has come of the next question */
    size_t length;
    uint64_t age; /* connection: the oldest gives way */
};

struct stub {
    struct boundary *boundary;
    bool has_gateway, has_ipv6;
    pthread_mutex_t lock; /* names */
    struct names *names;
    struct stub_socket sockets[SOCKETS_MAX];
    struct stub_socket connections[CONNECTIONS_MAX];
    uint64_t accepted;
};

/* Whether the host has a public IPv6 address and a way out from there; nothing is sent. */
static bool
reaches_ipv6(void)
{
    const struct sockaddr_in6 somewhere = { .sin6_family = AF_INET6,
        .sin6_port = htons(9),
        .sin6_addr.s6_addr = { 0x20, 0x01, 0x48, 0x60, [15] = 1 } };
    AUTO(closep) int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in6 own;
    socklen_t size = sizeof own;

    return fd >= 0 && connect(fd, (const struct sockaddr *)&somewhere, sizeof somewhere) == 0 &&
           getsockname(fd, (struct sockaddr *)&own, &size) == 0 &&
           own.sin6_addr.s6_addr[0] >> 5 == 1;
}

struct stub *
stub_new(struct boundary *boundary, struct fail *fail)
{
    struct stub *stub = calloc(1, sizeof *stub);

    if (stub == NULL) {
        fail_nomem(fail);
        return NULL;
    }
    stub->names = names_new();
    if (stub->names == NULL) {
        free(stub);
        fail_nomem(fail);
        return NULL;
    }
    stub->boundary = boundary;
    stub->has_gateway = plan_has_gateway(boundary->plan);
    stub->has_ipv6 = stub->has_gateway && reaches_ipv6();
    pthread_mutex_init(&stub->lock, NULL);
    for (size_t i = 0; i < SOCKETS_MAX; i++) {
        stub->sockets[i] = (struct stub_socket){ .stub = stub, .fd = -1 };
    }
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        stub->connections[i] = (struct stub_socket){ .stub = stub, .fd = -1 };
    }
    return stub;
}

static void
close_socket(struct stub_socket *socket)
{
    loop_remove(socket->source);
    socket->source = NULL;
    close_fd(steal_fd(&socket->fd));
    socket->length = 0;
}

void
stub_free(struct stub *stub)
{
    if (stub == NULL) {
        return;
    }
    for (size_t i = 0; i < SOCKETS_MAX; i++) {
        close_socket(&stub->sockets[i]);
    }
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        close_socket(&stub->connections[i]);
    }
    names_free(stub->names);
    pthread_mutex_destroy(&stub->lock);
    free(stub);
}

/* ---- what is answered ---- */

static bool
is_below(const char *name, const char *domain)
{
    size_t length = strlen(name), tail = strlen(domain);

    return length >= tail && strcmp(name + length - tail, domain) == 0 &&
           (length == tail || name[length - tail - 1] == '.');
}

/* The IPv4 address whose reverse name this is, host order; 0 if it is none. */
static uint32_t
reverse(const char *name)
{
    unsigned int a = 256, b = 256, c = 256, d = 256;
    int end = 0;

    if (sscanf(name, "%3u.%3u.%3u.%3u.in-addr.arpa%n", &d, &c, &b, &a, &end) != 4 || end == 0 ||
            name[end] != '\0' || a > 255 || b > 255 || c > 255 || d > 255) {
        return 0;
    }
    return a << 24 | b << 16 | c << 8 | d;
}

static int
answer_reverse(struct stub *stub, const char *name, struct dns_record *record)
{
    uint32_t address = reverse(name);
    const char *found;
    int code = DNS_NO_NAME;

    if (address >> 24 == 127) {
        return dns_record_name(record, "localhost") ? DNS_OK : DNS_NO_NAME;
    }
    pthread_mutex_lock(&stub->lock);
    found = names_name(stub->names, address);
    if (found != NULL && dns_record_name(record, found)) {
        code = DNS_OK;
    }
    pthread_mutex_unlock(&stub->lock);
    return code;
}

/* The address of a name, host order; 0: no memory. */
static uint32_t
address_of(struct stub *stub, const char *name)
{
    uint32_t address;

    if (is_below(name, "localhost")) {
        return INADDR_LOOPBACK;
    }
    if (stub->has_gateway && strcmp(name, NETWORK_PROXY_NAME) == 0) {
        return NETWORK_GATEWAY;
    }
    pthread_mutex_lock(&stub->lock);
    address = names_address(stub->names, name);
    pthread_mutex_unlock(&stub->lock);
    return address;
}

/* The same number below the box's own prefix; loopback is loopback. */
static void
put_ipv6(struct dns_record *record, uint32_t address)
{
    static const uint8_t prefix[12] = { NETWORK_IPV6_PREFIX };
    const uint32_t network = htonl(address);

    record->type = DNS_AAAA;
    record->length = sizeof in6addr_loopback;
    if (address == INADDR_LOOPBACK) {
        memcpy(record->data, &in6addr_loopback, sizeof in6addr_loopback);
        return;
    }
    memcpy(record->data, prefix, sizeof prefix);
    memcpy(record->data + sizeof prefix, &network, sizeof network);
}

static void
put_ipv4(struct dns_record *record, uint32_t address)
{
    const uint32_t network = htonl(address);

    record->type = DNS_A;
    record->length = sizeof network;
    memcpy(record->data, &network, sizeof network);
}

/* Every name has an IPv4 address, and an IPv6 one where the host could reach such; nothing else: no
 * service binding, no mail. */
static int
answer_name(struct stub *stub, const struct dns_question *question, struct dns_record *record)
{
    bool local = is_below(question->name, "localhost");
    bool wants_ipv4 = question->type == DNS_A || question->type == DNS_ANY;
    bool wants_ipv6 = question->type == DNS_AAAA && (local || stub->has_ipv6);
    uint32_t address;

    if (is_below(question->name, "arpa")) {
        return question->type == DNS_PTR ? answer_reverse(stub, question->name, record)
                                         : DNS_NO_NAME;
    }
    if (question->name[0] == '\0') {
        return DNS_OK;
    }
    if (!wants_ipv4 && !wants_ipv6) {
        return DNS_OK;
    }
    address = address_of(stub, question->name);
    if (address == 0) {
        return DNS_REFUSED;
    }
    (wants_ipv4 ? put_ipv4 : put_ipv6)(record, address);
    return DNS_OK;
}

/* The answer to a packet, 0 if there is none. */
static size_t
answer(struct stub *stub, const uint8_t *query, size_t length, uint8_t *out)
{
    struct dns_question question;
    struct dns_record record = { 0 };
    int code = dns_parse(query, length, &question);

    if (code < 0) {
        return 0;
    }
    if (code == DNS_OK) {
        code = answer_name(stub, &question, &record);
    }
    return dns_answer(query, &question, code, &record, out);
}

/* ---- datagrams ---- */

static void
on_datagram(void *data, uint32_t events)
{
    struct stub_socket *socket = data;
    uint8_t query[DNS_QUERY_MAX + 1], out[DNS_ANSWER_MAX];

    for (int i = 0; i < DATAGRAMS_AT_ONCE; i++) {
        struct sockaddr_storage from;
        socklen_t size = sizeof from;
        ssize_t got = recvfrom(
                socket->fd, query, sizeof query, MSG_DONTWAIT, (struct sockaddr *)&from, &size);
        size_t length;

        if (got < 0) {
            return;
        }
        length = answer(socket->stub, query, (size_t)got, out);
        if (length > 0) {
            (void)!sendto(socket->fd, out, length, MSG_DONTWAIT | MSG_NOSIGNAL,
                    (struct sockaddr *)&from, size);
        }
    }
}

/* ---- connections ---- */

/* Answers the whole questions that have come; false: end the connection. */
static bool
answer_stream(struct stub_socket *socket)
{
    uint8_t out[2 + DNS_ANSWER_MAX];

    while (socket->length >= 2) {
        size_t size = (size_t)socket->query[0] << 8 | socket->query[1];
        size_t length;

        if (size > DNS_QUERY_MAX) {
            return false;
        }
        if (socket->length < 2 + size) {
            return true;
        }
        length = answer(socket->stub, socket->query + 2, size, out + 2);
        out[0] = (uint8_t)(length >> 8);
        out[1] = (uint8_t)length;
        if (length == 0 || send(socket->fd, out, length + 2, MSG_DONTWAIT | MSG_NOSIGNAL) !=
                                   (ssize_t)length + 2) {
            return false;
        }
        socket->length -= 2 + size;
        memmove(socket->query, socket->query + 2 + size, socket->length);
    }
    return true;
}

static void
on_stream(void *data, uint32_t events)
{
    struct stub_socket *socket = data;
    ssize_t got = recv(socket->fd, socket->query + socket->length,
            sizeof socket->query - socket->length, MSG_DONTWAIT);

    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    socket->length += got < 0 ? 0 : (size_t)got;
    if (got <= 0 || !answer_stream(socket)) {
        close_socket(socket);
    }
}

static void
on_connection(void *data, uint32_t events)
{
    struct stub_socket *listening = data;
    struct stub *stub = listening->stub;
    int fd = accept4(listening->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct stub_socket *socket = &stub->connections[0];

    if (fd < 0) {
        return;
    }
    for (size_t i = 0; i < CONNECTIONS_MAX && socket->fd >= 0; i++) {
        struct stub_socket *other = &stub->connections[i];

        if (other->fd < 0 || other->age < socket->age) {
            socket = other;
        }
    }
    close_socket(socket);
    socket->fd = fd;
    socket->age = ++stub->accepted;
    socket->source = loop_add(stub->boundary->loop, fd, EPOLLIN, on_stream, socket);
    if (socket->source == NULL) {
        close_socket(socket);
    }
}

/* ---- for others ---- */

abx_status
stub_attach(struct stub *stub, int fd, int type, struct fail *fail)
{
    int flags = fcntl(fd, F_GETFL);

    for (size_t i = 0; i < SOCKETS_MAX; i++) {
        struct stub_socket *socket = &stub->sockets[i];

        if (socket->fd >= 0) {
            continue;
        }
        socket->fd = fd;
        if (flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0) {
            socket->source = loop_add(stub->boundary->loop, fd, EPOLLIN,
                    type == SOCK_DGRAM ? on_datagram : on_connection, socket);
        }
        if (socket->source == NULL) {
            return fail_set(fail, ABX_ERR_SETUP, errno, "attach:dns", "no name server for the box");
        }
        return ABX_OK;
    }
    close_fd(fd);
    return fail_set(
            fail, ABX_ERR_INTERNAL, 0, "attach:dns", "too many sockets for the name server");
}

/* The number of an address of the box's own range, in either family, host order; else 0. */
static uint32_t
number_of(const struct sockaddr *address)
{
    static const uint8_t prefix[12] = { NETWORK_IPV6_PREFIX };
    struct sockaddr_in6 in6;
    struct sockaddr_in in;
    uint32_t number;

    if (address->sa_family == AF_INET) {
        memcpy(&in, address, sizeof in);
        return ntohl(in.sin_addr.s_addr);
    }
    memcpy(&in6, address, sizeof in6);
    memcpy(&number, in6.sin6_addr.s6_addr + 12, sizeof number);
    return address->sa_family == AF_INET6 &&
                           (IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr) ||
                                   memcmp(&in6.sin6_addr, prefix, sizeof prefix) == 0)
                   ? ntohl(number)
                   : 0;
}

const char *
stub_name_of(struct stub *stub, const struct sockaddr *address, char *buffer, size_t room)
{
    const uint32_t number = number_of(address);
    const char *name;

    pthread_mutex_lock(&stub->lock);
    name = number == NETWORK_GATEWAY && stub->has_gateway ? NETWORK_PROXY_NAME
                                                          : names_name(stub->names, number);
    if (name != NULL) {
        snprintf(buffer, room, "%s", name);
    }
    pthread_mutex_unlock(&stub->lock);
    return name == NULL ? NULL : buffer;
}
