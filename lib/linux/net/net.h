/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: decides the notified calls on sockets. */
#ifndef ABX_LINUX_NET_H
#define ABX_LINUX_NET_H

#include "linux/listen/call.h"

/* socket, socketpair, connect, bind, listen, sendto, sendmsg, sendmmsg: whichever the filter
 * notifies.  Loop thread or worker. */
enum call_result net_handle(struct call *call);

#endif
