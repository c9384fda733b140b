/* SPDX-License-Identifier: Apache-2.0
 * The loopback device, and sockets that stand in the box's network or in the gateway (link.c) but
 * are served by the host. */
#include "linux/init/init.h"

#include "linux/init/sys.h"

#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/in.h>
#include <linux/in6.h>

#include <asm/sockios.h>
#include <linux/sockios.h>

#define BACKLOG 4096 /* the kernel takes less where its limit is lower */
#define FLAG_UP 1 /* IFF_UP */

/* struct ifreq; the exported header needs a libc. */
struct interface_request {
    char name[16];
    short flags;
    char other[22];
};

static int
close_and(int fd, int r)
{
    sys_close(fd);
    return r;
}

int
op_loopback_up(struct init *init, const struct wire_op *op)
{
    struct interface_request request = { .name = "lo" };
    int fd = (int)SYS(socket, SYS_AF_INET, SYS_SOCK_DGRAM | SYS_SOCK_CLOEXEC, 0, 0, 0, 0);
    int r;

    if (fd < 0) {
        return fd;
    }
    r = sys_ioctl(fd, SIOCGIFFLAGS, &request);
    if (r == 0) {
        request.flags |= FLAG_UP;
        r = sys_ioctl(fd, SIOCSIFFLAGS, &request);
    }
    return close_and(fd, r);
}

/* ---- addresses ---- */

/* A number at *text, which is moved behind it; -1 if there is none or it is above max. */
static long
read_number(const char **text, unsigned base, long max)
{
    long value = 0;
    const char *t = *text;

    for (;; t++) {
        unsigned digit = (unsigned char)*t - '0';

        if (digit > 9) {
            digit = ((unsigned char)*t | 0x20u) - 'a' + 10;
            digit = digit < 10 ? base : digit;
        }
        if (digit >= base) {
            break;
        }
        value = value * (long)base + (long)digit;
        if (value > max) {
            return -1;
        }
    }
    if (t == *text) {
        return -1;
    }
    *text = t;
    return value;
}

/* The address at *text, which is moved behind it. */
static bool
read_ipv4(const char **text, unsigned char *address)
{
    for (int i = 0; i < 4; i++) {
        long byte = read_number(text, 10, 255);

        if (byte < 0 || (i < 3 && **text != '.')) {
            return false;
        }
        address[i] = (unsigned char)byte;
        *text += i < 3;
    }
    return true;
}

bool
init_read_endpoint(const char *text, struct sockaddr_in *ret_address)
{
    long port;

    *ret_address = (struct sockaddr_in){ .sin_family = SYS_AF_INET };
    if (!read_ipv4(&text, (unsigned char *)&ret_address->sin_addr) || *text++ != ':') {
        return false;
    }
    port = read_number(&text, 10, 0xffff);
    ret_address->sin_port = __builtin_bswap16((uint16_t)port);
    return port >= 0 && *text == '\0';
}

/* Groups with at most one "::"; the form with a dotted tail is not needed here. */
static bool
read_ipv6(const char *text, unsigned char *address)
{
    unsigned char groups[16];
    int n = 0;
    int gap = -1;

    if (text[0] == ':') {
        if (text[1] != ':') {
            return false;
        }
        gap = 0;
        text += 2;
    }
    while (*text != '\0') {
        long group = n < 16 ? read_number(&text, 16, 0xffff) : -1;

        if (group < 0) {
            return false;
        }
        groups[n++] = (unsigned char)(group >> 8);
        groups[n++] = (unsigned char)group;
        if (text[0] == ':' && text[1] == ':') {
            if (gap >= 0) {
                return false;
            }
            gap = n;
            text += 2;
        } else if (text[0] == ':' && text[1] != '\0') {
            text++;
        } else if (*text != '\0') {
            return false;
        }
    }
    if (gap < 0 ? n != 16 : n > 14) {
        return false;
    }
    memset(address, 0, 16);
    for (int i = 0; i < n; i++) {
        address[gap < 0 || i < gap ? i : 16 - n + i] = groups[i];
    }
    return true;
}

union address {
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* The size of the address, or -EINVAL. */
static int
read_address(const char *text, uint64_t port, union address *ret_address)
{
    const uint16_t net_port = __builtin_bswap16((uint16_t)port);
    const char *end = text;

    *ret_address = (union address){ 0 };
    if (port > 0xffff) {
        return -EINVAL;
    }
    if (read_ipv4(&end, (unsigned char *)&ret_address->v4.sin_addr) && *end == '\0') {
        ret_address->v4.sin_family = SYS_AF_INET;
        ret_address->v4.sin_port = net_port;
        return sizeof ret_address->v4;
    }
    if (read_ipv6(text, (unsigned char *)&ret_address->v6.sin6_addr)) {
        ret_address->v6.sin6_family = SYS_AF_INET6;
        ret_address->v6.sin6_port = net_port;
        return sizeof ret_address->v6;
    }
    return -EINVAL;
}

static int
set_up(int fd, const struct wire_op *op, const union address *address, int size)
{
    const int one = 1;
    int r = (int)SYS(setsockopt, fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one, 0);

    if (r == 0 && address->v4.sin_family == SYS_AF_INET6) {
        r = (int)SYS(setsockopt, fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one, 0);
    }
    if (r == 0) {
        r = (int)SYS(bind, fd, address, size, 0, 0, 0);
    }
    if (r == 0 && op->a == SYS_SOCK_STREAM) {
        r = (int)SYS(listen, fd, BACKLOG, 0, 0, 0, 0);
    }
    return r;
}

/* Sends it, as the next of its kind, and closes it. */
static int
hand_out(struct init *init, int fd)
{
    const struct wire_message message = { .kind = WIRE_SOCKET, .value = (int32_t)init->n_sockets };

    init->n_sockets++;
    return close_and(fd, init_send(init->control, &message, &fd, 1));
}

int
op_socket(struct init *init, const struct wire_op *op)
{
    union address address;
    int size = read_address(init_text(init, op->b), op->x, &address);
    int fd;
    int r;

    if (size < 0) {
        return size;
    }
    fd = (int)SYS(socket, address.v4.sin_family, op->a | SYS_SOCK_CLOEXEC | SYS_SOCK_NONBLOCK, 0, 0,
            0, 0);
    r = fd < 0 ? fd : set_up(fd, op, &address, size);
    if (r == 0) {
        return hand_out(init, fd);
    }
    if (fd >= 0) {
        sys_close(fd);
    }
    /* A host without IPv6 has a box without it. */
    return address.v4.sin_family == SYS_AF_INET6 && (r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL) ? 0
                                                                                                : r;
}

/* ---- in the gateway ---- */

/* At this port of every address, IPv4 too.  A kernel without IPv6 has IPv4 only. */
static int
listen_everywhere(uint16_t port)
{
    union address address = { .v6 = { .sin6_family = SYS_AF_INET6,
                                      .sin6_port = __builtin_bswap16(port) } };
    const int zero = 0;
    const int one = 1;
    int fd = (int)SYS(socket, SYS_AF_INET6, SYS_SOCK_STREAM | SYS_SOCK_CLOEXEC | SYS_SOCK_NONBLOCK,
            0, 0, 0, 0);
    int size = sizeof address.v6;
    int r = 0;

    if (fd == -EAFNOSUPPORT) {
        fd = (int)SYS(socket, SYS_AF_INET, SYS_SOCK_STREAM | SYS_SOCK_CLOEXEC | SYS_SOCK_NONBLOCK,
                0, 0, 0, 0);
        address.v4.sin_family = SYS_AF_INET;
        size = sizeof address.v4;
    } else if (fd >= 0) {
        r = (int)SYS(setsockopt, fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero, 0);
    }
    if (fd < 0) {
        return fd;
    }
    if (r == 0) {
        r = (int)SYS(setsockopt, fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one, 0);
    }
    if (r == 0) {
        r = (int)SYS(bind, fd, &address, size, 0, 0, 0);
    }
    if (r == 0) {
        r = (int)SYS(listen, fd, BACKLOG, 0, 0, 0, 0);
    }
    return r == 0 ? fd : close_and(fd, r);
}

bool
init_make_socket(struct init *init, const struct wire_message *request, int *ret_fd)
{
    int r;

    if ((request->mask & WIRE_SOCKET_GATEWAY) == 0) {
        *ret_fd = (int)SYS(socket, request->value,
                SYS_SOCK_STREAM | SYS_SOCK_CLOEXEC | SYS_SOCK_NONBLOCK, 0, 0, 0, 0);
        return true;
    }
    r = init_enter_network(init->gateway);
    if (r < 0) {
        *ret_fd = r;
        return true;
    }
    *ret_fd = listen_everywhere((uint16_t)request->value);
    return init_enter_network(init->network) == 0;
}

/* What comes from the box and is neither TCP, nor what the kernel says by itself to find its
 * neighbours and groups (ICMPv6, hop-by-hop options, IGMP).  Length: the headers. */
static const struct sock_filter shown[] = {
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 10, 0),
    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_PROTOCOL)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IPV6, 4, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IP, 0, 7),
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 9), /* protocol */
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 5, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_IGMP, 4, 5),
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 6), /* next header */
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 2, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_ICMPV6, 1, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_HOPOPTS, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, 0),
    BPF_STMT(BPF_RET | BPF_K, 64),
};

/* `protocol` 0 until it is bound, so that nothing comes before the filter. */
static int
open_watch(void)
{
    const struct {
        uint16_t count;
        const struct sock_filter *filter;
    } program = { sizeof shown / sizeof shown[0], shown };
    const struct sockaddr_ll all = { .sll_family = SYS_AF_PACKET,
        .sll_protocol = __builtin_bswap16(ETH_P_ALL) };
    int fd = (int)SYS(socket, SYS_AF_PACKET, SYS_SOCK_DGRAM | SYS_SOCK_CLOEXEC | SYS_SOCK_NONBLOCK,
            0, 0, 0, 0);
    int r;

    if (fd < 0) {
        return fd;
    }
    r = (int)SYS(setsockopt, fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program, 0);
    if (r == 0) {
        r = (int)SYS(bind, fd, &all, sizeof all, 0, 0, 0);
    }
    return r == 0 ? fd : close_and(fd, r);
}

int
op_watch(struct init *init, const struct wire_op *op)
{
    int r = init_enter_network(init->gateway);
    int fd;

    if (r < 0) {
        return r;
    }
    fd = open_watch();
    r = init_enter_network(init->network);
    if (fd >= 0 && r == 0) {
        return hand_out(init, fd);
    }
    return fd < 0 ? fd : close_and(fd, r);
}
