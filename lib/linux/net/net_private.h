/* SPDX-License-Identifier: Apache-2.0
 * Inside the network part only (net.c, connect.c, net_unix.c). */
#ifndef ABX_LINUX_NET_PRIVATE_H
#define ABX_LINUX_NET_PRIVATE_H

#include "linux/listen/call.h"
#include "linux/net/address.h"

/* connect.c */
/* connect() of an internet socket; `address` is not looked at while the call is being dialled for.
 */
enum call_result net_connect_inet(struct call *call, const struct address *address);
/* Connects the caller's own socket, on a thread of its own and a little at a time.  To a socket in
 * a file system by O_PATH. */
enum call_result net_connect(struct call *call, const struct address *address);
enum call_result net_connect_object(struct call *call, int object);
/* The broker's verdict; also what the address is called. */
#define NET_NAME_ROOM 256
abx_verdict net_decide(struct call *call, const struct address *address, const char *verb,
        char name[NET_NAME_ROOM]);
/* EACCES and an event: datagrams do not leave a box. */
enum call_result net_refuse_datagram(
        struct call *call, const struct address *address, const char *verb);
/* Whether it ends inside the box. */
bool net_is_own(const struct call *call, const struct address *address);
/* The event for a program that found nobody at this port of the box's own loopback, where the
 * policy lists the port and opens none of the host's. */
void net_tell_refused(struct call *call, const struct address *address);

/* net.c */
/* What a handler returns for an error (negative) in getting at the call's arguments. */
enum call_result net_failed(struct call *call, int error, const char *verb);

/* net_unix.c */
enum call_result net_connect_unix(struct call *call, const struct address *address);
enum call_result net_bind_unix(struct call *call, const struct address *address);

#endif
