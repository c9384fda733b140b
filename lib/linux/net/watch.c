/* SPDX-License-Identifier: Apache-2.0
 * Owns the packet socket and a ring of the latest connected sockets, which tells whose a datagram
 * is.  Packets may be hostile: each byte read is checked against what came. */
#include "linux/net/watch.h"

#include "base/mem.h"
#include "linux/net/stub.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define PACKETS_AT_ONCE 32
#define PACKET_ROOM 64
#define SEEN 256u
#define IPV4_HEADER 20u
#define IPV6_HEADER 40u
#define FRAGMENT_OFFSET 0x1fffu

const char watch_rule[] = "boundary:udp";
const char watch_reason[] = "datagrams do not leave a box, only TCP connections do";
const char watch_alternative[] =
        "use TCP: HTTP/2 in place of HTTP/3; names are looked up at the box's own name server";

/* A connected socket. */
struct seen {
    struct endpoint from;
    uint64_t command;
    int32_t pid;
};

struct watch {
    struct boundary *boundary;
    int fd;
    struct loop_source *source;
    pthread_mutex_t lock; /* of what follows */
    struct seen seen[SEEN];
    uint32_t next;
};

/* Where a packet came from and was going; the port is 0 where there is none. */
struct packet {
    struct endpoint from;
    struct address to;
};

static uint16_t
get16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static bool
parse_ipv4(const uint8_t *bytes, size_t length, struct packet *ret_packet)
{
    const size_t header = (bytes[0] & 15u) * 4u;
    struct address from;
    uint32_t source, target;
    uint16_t ports[2] = { 0, 0 };

    if (length < IPV4_HEADER || header < IPV4_HEADER || (get16(bytes + 6) & FRAGMENT_OFFSET) != 0) {
        return false; /* the first fragment has been told */
    }
    memcpy(&source, bytes + 12, sizeof source);
    memcpy(&target, bytes + 16, sizeof target);
    if (bytes[9] == IPPROTO_UDP && length >= header + 4) {
        ports[0] = get16(bytes + header);
        ports[1] = get16(bytes + header + 2);
    }
    from = address_of_ipv4(ntohl(source), ports[0]);
    ret_packet->from = address_endpoint(&from);
    ret_packet->to = address_of_ipv4(ntohl(target), ports[1]);
    return true;
}

static bool
parse_ipv6(const uint8_t *bytes, size_t length, struct packet *ret_packet)
{
    struct sockaddr_in6 to = { .sin6_family = AF_INET6 };

    if (length < IPV6_HEADER) {
        return false;
    }
    *ret_packet = (struct packet){ .to.length = sizeof to };
    memcpy(ret_packet->from.bytes, bytes + 8, sizeof ret_packet->from.bytes);
    memcpy(&to.sin6_addr, bytes + 24, sizeof to.sin6_addr);
    if (bytes[6] == IPPROTO_UDP && length >= IPV6_HEADER + 4) {
        ret_packet->from.port = get16(bytes + IPV6_HEADER);
        to.sin6_port = htons(get16(bytes + IPV6_HEADER + 2));
    }
    memcpy(&ret_packet->to.storage, &to, sizeof to);
    return true;
}

static bool
parse(const uint8_t *bytes, size_t length, struct packet *ret_packet)
{
    if (length == 0) {
        return false;
    }
    return bytes[0] >> 4 == 4 ? parse_ipv4(bytes, length, ret_packet)
                              : parse_ipv6(bytes, length, ret_packet);
}

/* A datagram of the only command there is, is its; else that of the socket, if it is known. */
static struct subject
subject_of(struct watch *watch, const struct endpoint *from)
{
    struct subject subject = { .command = boundary_only_command(watch->boundary), .program = "" };

    pthread_mutex_lock(&watch->lock);
    for (uint32_t i = 0; i < SEEN; i++) {
        const struct seen *seen = &watch->seen[(watch->next + SEEN - 1 - i) % SEEN];

        if (seen->command != 0 && endpoint_equal(&seen->from, from)) {
            subject.command = seen->command;
            subject.pid = seen->pid;
            break;
        }
    }
    pthread_mutex_unlock(&watch->lock);
    return subject;
}

static void
tell(struct watch *watch, const struct packet *packet)
{
    const struct broker *broker = watch->boundary->broker;
    const struct subject subject = subject_of(watch, &packet->from);
    char name[256], text[INET6_ADDRSTRLEN] = "";
    const char *known = stub_name_of(
            watch->boundary->stub, (const struct sockaddr *)&packet->to.storage, name, sizeof name);
    struct act act = {
        .request = ABX_REQUEST_CONNECT,
        .port = address_port(&packet->to),
        .verb = "send",
        .content = -1,
    };

    address_text(&packet->to, text);
    act.target = known != NULL ? known : text;
    broker->report(broker->data, ABX_EVENT_DENIAL, &subject, &act, watch_rule, watch_reason,
            watch_alternative);
}

static void
on_packets(void *data, uint32_t events)
{
    struct watch *watch = data;

    for (int i = 0; i < PACKETS_AT_ONCE; i++) {
        uint8_t bytes[PACKET_ROOM];
        ssize_t got = recv(watch->fd, bytes, sizeof bytes, MSG_DONTWAIT);
        struct packet packet;

        if (got < 0) {
            return;
        }
        if (parse(bytes, (size_t)got, &packet)) {
            tell(watch, &packet);
        }
    }
}

struct watch *
watch_new(struct boundary *boundary, int fd, struct fail *fail)
{
    struct watch *watch = calloc(1, sizeof *watch);

    if (watch == NULL) {
        close_fd(fd);
        fail_nomem(fail);
        return NULL;
    }
    watch->boundary = boundary;
    watch->fd = fd;
    pthread_mutex_init(&watch->lock, NULL);
    watch->source = loop_add(boundary->loop, fd, EPOLLIN, on_packets, watch);
    if (watch->source == NULL) {
        fail_set(fail, ABX_ERR_SETUP, errno, "network:watch", "the gateway cannot be watched");
        close_fd(watch_free(watch));
        return NULL;
    }
    return watch;
}

int
watch_free(struct watch *watch)
{
    int fd;

    if (watch == NULL) {
        return -1;
    }
    fd = watch->fd;
    loop_remove(watch->source);
    pthread_mutex_destroy(&watch->lock);
    free(watch);
    return fd;
}

void
watch_saw(struct watch *watch, int socket, uint64_t command, int32_t pid)
{
    struct address address = { .length = sizeof address.storage };
    struct seen *seen;

    if (getsockname(socket, (struct sockaddr *)&address.storage, &address.length) < 0) {
        return;
    }
    pthread_mutex_lock(&watch->lock);
    seen = &watch->seen[watch->next];
    watch->next = (watch->next + 1) % SEEN;
    *seen = (struct seen){ address_endpoint(&address), command, pid };
    pthread_mutex_unlock(&watch->lock);
}
