/* SPDX-License-Identifier: Apache-2.0
 * connect() of internet sockets: decided by name where the box's name server gave the address out,
 * then done on the caller's own socket, with our copy of the address: another thread could put
 * something else in its place.
 *
 * What leaves the box is a passage: the gateway connects outside first, while the call is kept, so
 * that a dead destination is one for the caller too; then the socket is connected to the very
 * address that was asked for, where a listener of ours stands (doors.h).  A caller that does not
 * wait is connected at once, and sees a dead destination as a reset.  Loop thread or worker. */
#include "linux/net/net_private.h"

#include "linux/net/connecting.h"
#include "linux/net/dialling.h"
#include "linux/net/doors.h"
#include "linux/net/stub.h"
#include "linux/net/watch.h"
#include "plan/network.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

/* ---- deciding ---- */

bool
net_is_own(const struct call *call, const struct address *address)
{
    const struct plan *plan = call->boundary->plan;

    return plan_has_network(plan) &&
           (address_is_loopback(address) ||
                   (plan_has_gateway(plan) && address_is_own(address, NETWORK_BOX)));
}

/* The name the address was given out for, else its text: what stands for a name is of the box only,
 * and would tell nobody anything. */
static void
name_of(const struct call *call, const struct address *address, char name[NET_NAME_ROOM])
{
    struct stub *stub = call->boundary->stub;

    if (stub == NULL || stub_name_of(stub, (const struct sockaddr *)&address->storage, name,
                                NET_NAME_ROOM) == NULL) {
        address_text(address, name);
    }
}

abx_verdict
net_decide(struct call *call, const struct address *address, const char *verb,
        char name[NET_NAME_ROOM])
{
    struct act act = {
        .request = ABX_REQUEST_CONNECT, .port = address_port(address), .verb = verb, .content = -1
    };

    name_of(call, address, name);
    act.target = name;
    return call_decide(call, &act, -1, -1);
}

enum call_result
net_refuse_datagram(struct call *call, const struct address *address, const char *verb)
{
    char name[NET_NAME_ROOM];
    struct act act = {
        .request = ABX_REQUEST_CONNECT, .port = address_port(address), .verb = verb, .content = -1
    };

    name_of(call, address, name);
    act.target = name;
    call_report(call, ABX_EVENT_DENIAL, &act, watch_rule, watch_reason, watch_alternative);
    return call_fail(call, EACCES);
}

/* ---- connecting ---- */

/* The caller's socket is connected elsewhere (connecting.h), and `passage`, if not NULL, is taken
 * along by a connect that is made. */
static enum call_result
connect_own(struct call *call, int fd, const struct address *address, int object,
        struct passage **passage)
{
    call->connecting = connecting_new(fd, address, object, passage);
    return call->connecting == NULL ? call_starved(call, "", 0) : CALL_CONNECT;
}

/* Whether the policy lists this port of localhost and opens none of the host's: then a program that
 * finds nobody there is told (net_tell_refused). */
static bool
means_host(const struct call *call, const struct address *address)
{
    struct refusal refusal = { 0 };
    const struct act act = { .request = ABX_REQUEST_CONNECT,
        .port = address_port(address),
        .target = "localhost",
        .verb = "connect",
        .content = -1,
        .refusal = &refusal };
    uint64_t unused;

    return call_weigh(call, &act, &unused) == ABX_VERDICT_DENY &&
           strcmp(refusal.rule, "network:loopback") == 0;
}

/* To an address of the box's own, in a box with a way out.  Who means localhost tries ::1 first and
 * 127.0.0.1 then, so only that one is told: a server may be at either. */
static enum call_result
connect_inside(struct call *call, int fd, const struct address *asked, const struct address *is)
{
    enum call_result result = connect_own(call, fd, asked, -1, NULL);
    uint32_t ipv4;

    if (result == CALL_CONNECT && address_is_localhost(is) && address_ipv4(is, &ipv4) &&
            means_host(call, is)) {
        connecting_tell_refused(call->connecting);
    }
    return result;
}

void
net_tell_refused(struct call *call, const struct address *address)
{
    const struct broker *broker = call->boundary->broker;
    const struct subject subject = { .command = call->command, .pid = call->pid };
    const struct act act = { .request = ABX_REQUEST_CONNECT,
        .port = address_port(address),
        .target = "localhost",
        .verb = "connect",
        .content = -1 };
    uint64_t ticket = 0;

    if (broker->decide(broker->data, &subject, &act, &ticket) == ABX_VERDICT_ASK) {
        broker->withdraw(broker->data, ticket);
    }
}

enum call_result
net_connect(struct call *call, const struct address *address)
{
    AUTO(closep) int fd = call_take_fd(call, (int)call->args[0]);

    return fd < 0 ? net_failed(call, fd, "connect") : connect_own(call, fd, address, -1, NULL);
}

enum call_result
net_connect_object(struct call *call, int object)
{
    AUTO(closep) int fd = call_take_fd(call, (int)call->args[0]);
    const struct address none = { 0 };

    return fd < 0 ? net_failed(call, fd, "connect") : connect_own(call, fd, &none, object, NULL);
}

/* ---- leaving the box ---- */

/* Connects the socket to where it arrives at our listener, which takes the passage. */
static enum call_result
cross(struct call *call, int fd, struct passage **passage)
{
    struct address target;
    int r = doors_open(call->boundary->doors, &(*passage)->to, call->on_worker, &target);

    if (r == -EAGAIN) {
        return CALL_WORKER;
    }
    if (r < 0) {
        return call_is_starved(r) ? call_starved(call, "", 0) : call_fail(call, ENETUNREACH);
    }
    r = doors_are_at(call->boundary->doors, &target) ? connecting_try(fd, &target) : 1;
    if (r > 0) {
        return connect_own(call, fd, &target, -1, call->dialling == NULL ? passage : NULL);
    }
    if (r == 0 || r == -EINPROGRESS) {
        doors_expect(call->boundary->doors, fd, &target, steal_ptr(passage));
        doors_answer(call->boundary->doors, address_port(&target));
    }
    return r == 0 ? call_return(call, 0) : call_fail(call, -r);
}

/* The gateway has connected outside, or has not. */
static enum call_result
cross_dialled(struct call *call)
{
    struct passage **passage;
    int error = dialling_result(call->dialling, &passage);

    if (error != 0) {
        return call_fail(call, error);
    }
    return call_is_valid(call) ? cross(call, dialling_socket(call->dialling), passage) : CALL_SENT;
}

/* Whether the caller waits for as long as it takes. */
static bool
is_patient(int fd)
{
    struct timeval limit = { 0 };
    socklen_t size = sizeof limit;

    getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, &size);
    return (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0 && limit.tv_sec == 0 && limit.tv_usec == 0;
}

/* Takes the descriptor if it has to wait. */
static enum call_result
leave(struct call *call, int *fd, enum way way, const char *name, const struct address *to)
{
    AUTO(passage_freep) struct passage *passage = passage_new(call, way, name, to);

    if (passage == NULL) {
        return call_starved(call, "", 0);
    }
    if (way == WAY_PROXY || !is_patient(*fd)) {
        return cross(call, *fd, &passage);
    }
    call->dialling = dialling_new(passage, *fd);
    if (call->dialling == NULL) {
        return call_starved(call, "", 0);
    }
    steal_ptr(&passage);
    steal_fd(fd);
    return CALL_DIAL;
}

/* ---- which way ---- */

/* Other addresses of the loopback network are the box's own. */
static bool
is_host_port(const struct call *call, const struct address *address)
{
    return address_is_localhost(address) &&
           plan_has_host_port(call->boundary->plan, address_port(address));
}

/* A datagram socket may be connected: resolver libraries do that to choose among addresses, and
 * nothing is sent.  What is sent later is seen by the watch. */
static enum call_result
connect_datagrams(struct call *call, int fd, const struct address *address)
{
    const bool is_own = net_is_own(call, address);
    struct watch *watch = call->boundary->watch;

    if (!is_own && watch == NULL) {
        return net_refuse_datagram(call, address, "connect");
    }
    if (connect(fd, (const struct sockaddr *)&address->storage, address->length) < 0) {
        return call_fail(call, errno);
    }
    if (!is_own) {
        watch_saw(watch, fd, call->command, call->pid);
    }
    return call_return(call, 0);
}

/* Then connect() only tells so. */
static bool
is_connected(int fd)
{
    struct address peer = { .length = sizeof peer.storage };

    return getpeername(fd, (struct sockaddr *)&peer.storage, &peer.length) == 0;
}

static enum call_result
connect_filtered(struct call *call, const struct address *asked)
{
    AUTO(closep) int fd = call_take_fd(call, (int)call->args[0]);
    struct address address = *asked;
    char name[NET_NAME_ROOM] = "";
    int type = 0;
    socklen_t size = sizeof type;
    enum way way;

    if (fd < 0) {
        return net_failed(call, fd, "connect");
    }
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_DGRAM) {
        return connect_datagrams(call, fd, asked);
    }
    address_specify(&address);
    if (is_connected(fd) || (net_is_own(call, &address) && !is_host_port(call, &address))) {
        return connect_inside(call, fd, asked, &address);
    }
    if (doors_is_proxy(call->boundary->doors, &address)) {
        return leave(call, &fd, WAY_PROXY, "", &address);
    }
    way = address_is_loopback(&address) ? WAY_HOST_LOOPBACK : WAY_TRANSPARENT;
    switch (net_decide(call, &address, "connect", name)) {
    case ABX_VERDICT_ALLOW:
        return leave(call, &fd, way, name, &address);
    case ABX_VERDICT_ASK:
        return CALL_HOLD;
    default:
        return call_fail(call, EACCES);
    }
}

enum call_result
net_connect_inet(struct call *call, const struct address *address)
{
    char name[NET_NAME_ROOM];

    if (call->dialling != NULL) {
        return cross_dialled(call);
    }
    if (call->boundary->plan->network == NETWORK_HOST) {
        return net_connect(call, address);
    }
    if (call->boundary->doors != NULL) {
        return connect_filtered(call, address);
    }
    if (net_is_own(call, address)) {
        return net_connect(call, address);
    }
    switch (net_decide(call, address, "connect", name)) {
    case ABX_VERDICT_ALLOW:
        return net_connect(call, address);
    case ABX_VERDICT_ASK:
        return CALL_HOLD;
    default:
        return call_fail(call, EACCES);
    }
}
