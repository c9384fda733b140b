/* SPDX-License-Identifier: Apache-2.0
 * Inside the network part only (net.c, net_unix.c). */
#ifndef ABX_LINUX_NET_PRIVATE_H
#define ABX_LINUX_NET_PRIVATE_H

#include "linux/listen/call.h"

#include <sys/socket.h>

/* Our own copy of an address the caller gave: what was decided about is what is used. */
struct address {
    struct sockaddr_storage storage; /* zeroes behind `length` */
    socklen_t length;
};

/* Connects the caller's own socket.  Where that might block, on a worker and a little at a time. */
enum call_result net_connect(struct call *call, const struct address *address);
/* What a handler returns for an error (negative) in getting at the call's arguments. */
enum call_result net_failed(struct call *call, int error, const char *verb);

/* net_unix.c */
enum call_result net_connect_unix(struct call *call, const struct address *address);
enum call_result net_bind_unix(struct call *call, const struct address *address);

#endif
