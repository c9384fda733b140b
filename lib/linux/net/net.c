/* SPDX-License-Identifier: Apache-2.0
 * The notified calls on sockets: reads their arguments, and decides about datagrams, ports and
 * families; connections are connect.c's and net_unix.c's.  Loop thread or worker.
 *
 * connect() never goes on by itself, not even to the box's own loopback: another thread could put a
 * unix socket and its address in place of what was looked at, and paths of the host's sockets are
 * visible in the box.  What sends datagrams may go on where the box has a network of its own: it
 * ends there. */
#include "linux/net/net.h"

#include "base/mem.h"
#include "linux/net/net_private.h"
#include "linux/net/publish.h"

#include <errno.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#ifndef IPPROTO_MPTCP
#    define IPPROTO_MPTCP 262
#endif

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
    return error == -EACCES ? call_unreadable(call, verb) : call_fail(call, -error);
}

/* ---- connect ---- */

static enum call_result
handle_connect(struct call *call)
{
    struct address address = { 0 };
    int r;

    if (call->dialling != NULL) {
        return net_connect_inet(call, &address);
    }
    r = read_address(call, call->args[1], call->args[2], &address);
    if (r < 0) {
        return net_failed(call, r, "connect");
    }
    switch (address.storage.ss_family) {
    case AF_INET:
    case AF_INET6:
        return net_connect_inet(call, &address);
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

static enum call_result
refuse_fastopen(struct call *call, const char *verb)
{
    struct act act = {
        .request = ABX_REQUEST_SYSCALL, .target = verb, .verb = verb, .content = -1
    };

    call_report(call, ABX_EVENT_DENIAL, &act, "boundary:fastopen",
            "a connection is decided about before something is sent", "connect first, then send");
    return call_fail(call, EOPNOTSUPP); /* as a kernel without it says */
}

/* Sending to an address.  In a network of its own what ends there may go on; in the host's nothing
 * may, since the address could be another one by the time the kernel reads it. */
static enum call_result
send_to(struct call *call, struct address *address, uint64_t flags, const char *verb)
{
    const struct plan *plan = call->boundary->plan;
    char name[NET_NAME_ROOM];

    if (plan->network == NETWORK_HOST) {
        return CALL_CONTINUE;
    }
    if (address->storage.ss_family == AF_UNSPEC) {
        address->storage.ss_family = AF_INET; /* as the kernel does */
    }
    if (!address_is_inet(address)) {
        return plan_shares_network(plan) ? call_fail(call, EACCES) : CALL_CONTINUE;
    }
    if (net_is_own(call, address)) {
        return CALL_CONTINUE;
    }
    if ((flags & MSG_FASTOPEN) != 0) {
        return refuse_fastopen(call, verb);
    }
    if (call->boundary->doors != NULL) {
        return net_refuse_datagram(call, address, verb);
    }
    switch (net_decide(call, address, verb, name)) {
    case ABX_VERDICT_ALLOW:
        return net_refuse_datagram(call, address, verb);
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
    return r < 0 ? net_failed(call, r, "sendto") : send_to(call, &address, call->args[3], "sendto");
}

/* sendmmsg: its first message stands for all; they are notified only if they connect, or in the
 * host's network, where none with an address goes. */
static enum call_result
handle_sendmsg(struct call *call, uint64_t flags, const char *verb)
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
    return r < 0 ? net_failed(call, r, verb) : send_to(call, &address, flags, verb);
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

    switch (decide_listen(call, address_port(address), "bind")) {
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
    struct address address;
    int r = read_address(call, call->args[1], call->args[2], &address);

    if (r < 0) {
        return net_failed(call, r, "bind");
    }
    if (address.storage.ss_family == AF_UNIX) {
        return net_bind_unix(call, &address);
    }
    if (!plan_shares_network(call->boundary->plan) || address.storage.ss_family == AF_NETLINK) {
        return CALL_CONTINUE;
    }
    return bind_shared(call, &address);
}

/* Whether the policy lists the port; nothing is asked, and nothing is denied to the program. */
static bool
is_for_host(const struct call *call, uint32_t port)
{
    const struct act act = {
        .request = ABX_REQUEST_LISTEN, .port = port, .target = "", .verb = "listen", .content = -1
    };
    uint64_t unused;

    return call_weigh(call, &act, &unused) == ABX_VERDICT_ALLOW;
}

/* A port that opens is worth knowing; one that the policy lists is the host's too from now on. */
static void
tell_port(struct call *call, struct act *act, const struct address *address)
{
    struct published *published = call->boundary->published;
    const bool is_inside = plan_has_network(call->boundary->plan);
    char reason[128];
    int r;

    if (!is_inside || published == NULL || !is_for_host(call, act->port)) {
        snprintf(reason, sizeof reason, "port %u opened %s", act->port,
                is_inside ? "inside the box" : "on the host");
    } else {
        r = published_add(published, address);
        snprintf(reason, sizeof reason, "port %u opened inside the box, %s", act->port,
                r == 0             ? "and at 127.0.0.1 of the host"
                : r == -EADDRINUSE ? "but not on the host, where it is taken"
                                   : "but not on the host, which does not give it");
    }
    call_report(call, ABX_EVENT_NOTICE, act, "boundary:listen", reason, NULL);
}

static enum call_result
handle_listen(struct call *call)
{
    AUTO(closep) int fd = call_take_fd(call, (int)call->args[0]);
    struct address address = { .length = sizeof address.storage };
    struct act act = {
        .request = ABX_REQUEST_LISTEN, .target = "", .verb = "listen", .content = -1
    };

    if (fd < 0) {
        return net_failed(call, fd, "listen");
    }
    if (getsockname(fd, (struct sockaddr *)&address.storage, &address.length) < 0 ||
            !address_is_inet(&address)) {
        return CALL_CONTINUE;
    }
    act.port = address_port(&address);
    if (act.port == 0 && plan_shares_network(call->boundary->plan)) {
        call_report(call, ABX_EVENT_DENIAL, &act, "boundary:listen",
                "it would be whichever port of the host is free", "bind to a port that is listed");
        return call_fail(call, EACCES);
    }
    if (act.port != 0) {
        tell_port(call, &act, &address);
    }
    return CALL_CONTINUE;
}

/* ---- families ---- */

/* Programs that try it take TCP when it is not there, so nothing is denied to them. */
static enum call_result
refuse_mptcp(struct call *call, const char *name)
{
    struct act act = {
        .request = ABX_REQUEST_SYSCALL, .target = name, .verb = name, .content = -1
    };

    call_report(call, ABX_EVENT_NOTICE, &act, "boundary:mptcp",
            "a box has TCP without further paths (MPTCP)", NULL);
    return call_fail(call, EPROTONOSUPPORT); /* as a kernel without it says */
}

static enum call_result
refuse_socket(struct call *call, const char *name)
{
    int family = (int)call->args[0];
    int type = (int)call->args[1] & ~(SOCK_CLOEXEC | SOCK_NONBLOCK);

    if ((int)call->args[2] == IPPROTO_MPTCP && type == SOCK_STREAM) {
        return refuse_mptcp(call, name);
    }
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
        return handle_sendmsg(call, call->args[2], "sendmsg");
    case SYS_sendmmsg:
        return handle_sendmsg(call, call->args[3], "sendmmsg");
    case SYS_socket:
        return refuse_socket(call, "socket");
    case SYS_socketpair:
        return refuse_socket(call, "socketpair");
    default:
        return call_refuse(call, "network", "a box has no use of this call", NULL);
    }
}
