/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: what a box sent to nowhere.  Datagrams do not leave a box; those that a
 * filter cannot see are seen in the gateway, and told. */
#ifndef ABX_LINUX_WATCH_H
#define ABX_LINUX_WATCH_H

#include "linux/net/address.h"
#include "linux/boundary.h"

struct watch;

/* Takes the packet socket (OP_WATCH).  Loop thread. */
struct watch *watch_new(struct boundary *boundary, int fd, struct fail *fail);
/* Loop thread.  The packet socket, which the caller closes on a thread that may wait: the kernel
 * makes sure that nobody is looking at it. */
int watch_free(struct watch *watch);
/* This socket, now connected, is of that command's process.  Any thread. */
void watch_saw(struct watch *watch, int socket, uint64_t command, int32_t pid);

/* What is told of every datagram that is refused: the rule, the reason, what to do instead. */
extern const char watch_rule[], watch_reason[], watch_alternative[];

#endif
