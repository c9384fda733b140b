/* SPDX-License-Identifier: Apache-2.0
 * Decides calls on internet sockets, and refuses the other families.  Knows addresses and the names
 * behind them; unix sockets are net_unix.c's.  Loop thread or worker.
 *
 * connect() never goes on by itself, not even to the box's own loopback: another thread could put a
 * unix socket and its address in place of what was looked at, and paths of the host's sockets are
 * visible in the box.  It is done on the caller's own socket, with the copy of the address that was
 * decided about. What sends datagrams may go on where the box has a network of its own: it ends
 * there. */
#include "linux/net/net.h"

#include "base/mem.h"
#include "linux/net/net_private.h"
#include "linux/net/stub.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>

#define CONNECT_PATIENCE_US 200000 /* how long a worker waits before the call is set aside */

/* ---- arguments ---- */

static int
read_address(const struct call *call, uint64_t at, uint64_t length, struct address *ret_address)
{
    int r;

    *ret_address = (struct address){ .length = (socklen_t)length };
    if (ret_address->length < sizeof(sa_family_t) ||
            ret_address->length > sizeof ret_address->storage) {
        return -EINVAL;
    }
    r = call_read(call, at, &ret_address->storage, ret_address->length);
    if (r < 0) {
        return r;
    }
    return call_is_valid(call) ? 0 : -ESRCH;
}

enum call_result
net_failed(struct call *call, int error, const char *verb)
{
    switch (error) {
    case -ESRCH:
        return CALL_SENT;
    case -EACCES:
        return call_unreadable(call, verb);
    default:
        return call_fail(call, -error);
    }
}

static bool
is_inet(const struct address *address)
{
    return address->storage.ss_family == AF_INET || address->storage.ss_family == AF_INET6;
}

/* The IPv4 address in host order, also one written as IPv6. */
static bool
ipv4_of(const struct address *address, uint32_t *ret_host)
{
    uint32_t network;

    if (address->storage.ss_family == AF_INET) {
        network = ((const struct sockaddr_in *)&address->storage)->sin_addr.s_addr;
    } else {
        const struct in6_addr *in6 = &((const struct sockaddr_in6 *)&address->storage)->sin6_addr;

        if (!IN6_IS_ADDR_V4MAPPED(in6)) {
            return false;
        }
        memcpy(&network, in6->s6_addr + 12, sizeof network);
    }
    *ret_host = ntohl(network);
    return true;
}

/* The kernel takes the unspecified address for loopback. */
static bool
is_loopback(const struct address *address)
{
    uint32_t host;

    if (ipv4_of(address, &host)) {
        return host == INADDR_ANY || host >> 24 == 127;
    }
    const struct in6_addr *in6 = &((const struct sockaddr_in6 *)&address->storage)->sin6_addr;

    return IN6_IS_ADDR_LOOPBACK(in6) || IN6_IS_ADDR_UNSPECIFIED(in6);
}

static uint32_t
port_of(const struct address *address)
{
    /* At the same place in both. */
    return ntohs(((const struct sockaddr_in *)&address->storage)->sin_port);
}

/* ---- deciding ---- */

/* The box's own network ends at its loopback; without one, loopback is the host's. */
static bool
is_own(const struct call *call, const struct address *address)
{
    return call->boundary->plan->capabilities.net_namespace && is_loopback(address);
}

static abx_verdict
decide(struct call *call, const struct address *address, const char *verb)
{
    struct stub *stub = call->boundary->stub;
    char name[256], text[INET6_ADDRSTRLEN] = "";
    const char *known = NULL;
    uint32_t host;
    struct act act = {
        .request = ABX_REQUEST_CONNECT, .port = port_of(address), .verb = verb, .content = -1
    };

    if (ipv4_of(address, &host)) {
        host = htonl(host);
        inet_ntop(AF_INET, &host, text, sizeof text);
    } else {
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)&address->storage)->sin6_addr, text,
                sizeof text);
    }
    if (stub != NULL) {
        known = stub_name_of(stub, (const struct sockaddr *)&address->storage, name, sizeof name);
    }
    act.target = known != NULL ? known : text;
    act.asked = known != NULL ? text : NULL;
    return call_decide(call, &act, -1, -1);
}

/* ---- connect ---- */

/* A connect that waits for a full backlog would hold a worker: it is given up for now, and asked
 * again later, when it finds its own attempt going on or done. */
static enum call_result
connect_patiently(struct call *call, int fd, const struct address *address)
{
    static const struct timeval patience = { .tv_usec = CONNECT_PATIENCE_US };
    struct timeval before = { 0 };
    socklen_t size = sizeof before;
    bool limited;
    int error = 0;

    getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &before, &size);
    limited = before.tv_sec == 0 && before.tv_usec > 0 && before.tv_usec <= CONNECT_PATIENCE_US;
    if (!limited) {
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    }
    if (connect(fd, (const struct sockaddr *)&address->storage, address->length) < 0) {
        error = errno;
    }
    if (!limited) {
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &before, sizeof before);
    }
    if (!limited && (error == EINPROGRESS || error == EALREADY || error == EAGAIN)) {
        return CALL_LATER;
    }
    return error == 0 ? call_return(call, 0) : call_fail(call, error);
}

enum call_result
net_connect(struct call *call, const struct address *address)
{
    AUTO(closep) int fd = call_take_fd(call, (int)call->args[0]);
    int flags = fd < 0 ? 0 : fcntl(fd, F_GETFL);

    if (fd < 0) {
        return net_failed(call, fd, "connect");
    }
    if ((flags & O_NONBLOCK) == 0) {
        return call->on_worker ? connect_patiently(call, fd, address) : CALL_WORKER;
    }
    if (connect(fd, (const struct sockaddr *)&address->storage, address->length) < 0) {
        return call_fail(call, errno);
    }
    return call_return(call, 0);
}

static enum call_result
connect_inet(struct call *call, const struct address *address)
{
    if (is_own(call, address)) {
        return net_connect(call, address);
    }
    switch (decide(call, address, "connect")) {
    case ABX_VERDICT_ALLOW:
        return net_connect(call, address);
    case ABX_VERDICT_ASK:
        return CALL_HOLD;
    default:
        return call_fail(call, EACCES);
    }
}

static enum call_result
handle_connect(struct call *call)
{
    struct address address;
    int r = read_address(call, call->args[1], call->args[2], &address);

    if (r < 0) {
        return net_failed(call, r, "connect");
    }
    switch (address.storage.ss_family) {
    case AF_INET:
    case AF_INET6:
        return connect_inet(call, &address);
    case AF_UNIX:
        return net_connect_unix(call, &address);
    case AF_UNSPEC: /* disconnects */
        return net_connect(call, &address);
    case AF_NETLINK:
        /* To the kernel; another process there could only be reached with our rights. */
        if (((const struct sockaddr_nl *)&address.storage)->nl_pid == 0 &&
                ((const struct sockaddr_nl *)&address.storage)->nl_groups == 0) {
            return net_connect(call, &address);
        }
        return call_fail(call, EPERM);
    default:
        return call_fail(call, EAFNOSUPPORT);
    }
}

/* ---- datagrams ---- */

/* Sending to an address.  In a network of its own it may go on; in the host's it may not, since the
 * address could be another one by the time the kernel reads it. */
static enum call_result
send_to(struct call *call, struct address *address, const char *verb)
{
    bool shared = !call->boundary->plan->capabilities.net_namespace;

    if (address->storage.ss_family == AF_UNSPEC) {
        address->storage.ss_family = AF_INET; /* as the kernel does */
    }
    if (!is_inet(address)) {
        return shared ? call_fail(call, EACCES) : CALL_CONTINUE;
    }
    if (is_own(call, address)) {
        return CALL_CONTINUE;
    }
    switch (decide(call, address, verb)) {
    case ABX_VERDICT_ALLOW:
        return shared ? call_fail(call, EACCES) : CALL_CONTINUE;
    case ABX_VERDICT_ASK:
        return CALL_HOLD;
    default:
        return call_fail(call, EACCES);
    }
}

static enum call_result
handle_sendto(struct call *call)
{
    struct address address;
    int r;

    if (call->args[4] == 0) {
        return CALL_CONTINUE;
    }
    r = read_address(call, call->args[4], call->args[5], &address);
    return r < 0 ? net_failed(call, r, "sendto") : send_to(call, &address, "sendto");
}

/* sendmmsg: its first message stands for all; they are notified only if they connect, or in the
 * host's network, where none with an address goes. */
static enum call_result
handle_sendmsg(struct call *call, const char *verb)
{
    struct msghdr message = { 0 };
    struct address address;
    int r = call_read(call, call->args[1], &message, sizeof message);

    if (r < 0) {
        return net_failed(call, r, verb);
    }
    if (message.msg_name == NULL || message.msg_namelen == 0) {
        return call_is_valid(call) ? CALL_CONTINUE : CALL_SENT;
    }
    r = read_address(call, (uint64_t)(uintptr_t)message.msg_name, message.msg_namelen, &address);
    return r < 0 ? net_failed(call, r, verb) : send_to(call, &address, verb);
}

/* ---- ports ---- */

static abx_verdict
decide_listen(struct call *call, uint32_t port, const char *verb)
{
    struct act act = {
        .request = ABX_REQUEST_LISTEN, .port = port, .target = "", .verb = verb, .content = -1
    };

    return call_decide(call, &act, -1, -1);
}

/* In the host's network a port is taken with our copy of the address, or not at all. */
static enum call_result
bind_shared(struct call *call, const struct address *address)
{
    AUTO(closep) int fd = -1;

    switch (decide_listen(call, port_of(address), "bind")) {
    case ABX_VERDICT_ASK:
        return CALL_HOLD;
    case ABX_VERDICT_DENY:
        return call_fail(call, EACCES);
    default:
        break;
    }
    fd = call_take_fd(call, (int)call->args[0]);
    if (fd < 0) {
        return net_failed(call, fd, "bind");
    }
    if (bind(fd, (const struct sockaddr *)&address->storage, address->length) < 0) {
        return call_fail(call, errno);
    }
    return call_return(call, 0);
}

static enum call_result
handle_bind(struct call *call)
{
    bool shared = !call->boundary->plan->capabilities.net_namespace;
    struct address address;
    int r = read_address(call, call->args[1], call->args[2], &address);

    if (r < 0) {
        return net_failed(call, r, "bind");
    }
    if (address.storage.ss_family == AF_UNIX) {
        return net_bind_unix(call, &address);
    }
    if (!shared || address.storage.ss_family == AF_NETLINK) {
        return CALL_CONTINUE;
    }
    return bind_shared(call, &address);
}

/* A port that opens is worth knowing. */
static enum call_result
handle_listen(struct call *call)
{
    AUTO(closep) int fd = call_take_fd(call, (int)call->args[0]);
    struct address address = { .length = sizeof address.storage };
    struct act act = { .request = ABX_REQUEST_LISTEN, .verb = "listen", .content = -1 };
    char reason[64];

    if (fd < 0) {
        return net_failed(call, fd, "listen");
    }
    if (getsockname(fd, (struct sockaddr *)&address.storage, &address.length) < 0 ||
            !is_inet(&address)) {
        return CALL_CONTINUE;
    }
    act.port = port_of(&address);
    act.target = "";
    if (!call->boundary->plan->capabilities.net_namespace && act.port == 0) {
        return call_fail(call, EACCES); /* a port of the host, whichever is free */
    }
    if (act.port != 0) {
        snprintf(reason, sizeof reason, "port %u opened inside the box", act.port);
        call_report(call, ABX_EVENT_NOTICE, &act, "boundary:listen", reason, NULL);
    }
    return CALL_CONTINUE;
}

/* ---- families ---- */

static enum call_result
refuse_socket(struct call *call, const char *name)
{
    int family = (int)call->args[0];
    int type = (int)call->args[1] & ~(SOCK_CLOEXEC | SOCK_NONBLOCK);

    switch (family) {
    case AF_UNIX:
        return call_refuse(call, name,
                "datagrams between processes could reach services of the host without a connect",
                "use a stream or seqpacket socket");
    case AF_INET:
    case AF_INET6:
        return call_refuse(call, name,
                type == SOCK_RAW ? "raw sockets are not given to a box"
                                 : "only TCP and UDP are given to a box",
                type == SOCK_RAW ? "use TCP or UDP; ping has no way out" : "use TCP or UDP");
    case AF_PACKET:
        return call_refuse(call, name, "packet sockets (AF_PACKET) are not given to a box", NULL);
    case AF_VSOCK:
        return call_refuse(call, name,
                "sockets to the machine's host (AF_VSOCK, vsock) are not given to a box", NULL);
    default:
        /* Programs try what there is: they know this answer. */
        call_refuse(call, name, "this family of sockets is not given to a box", NULL);
        return call_fail(call, EAFNOSUPPORT);
    }
}

enum call_result
net_handle(struct call *call)
{
    switch (call->nr) {
    case SYS_connect:
        return handle_connect(call);
    case SYS_bind:
        return handle_bind(call);
    case SYS_listen:
        return handle_listen(call);
    case SYS_sendto:
        return handle_sendto(call);
    case SYS_sendmsg:
        return handle_sendmsg(call, "sendmsg");
    case SYS_sendmmsg:
        return handle_sendmsg(call, "sendmmsg");
    case SYS_socket:
        return refuse_socket(call, "socket");
    case SYS_socketpair:
        return refuse_socket(call, "socketpair");
    default:
        return call_refuse(call, "network", "a box has no use of this call", NULL);
    }
}
