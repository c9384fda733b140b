/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: the network of one box as a whole: its name server, the way out, published
 * ports, and what is known of its unix sockets. */
#ifndef ABX_LINUX_NETWORK_H
#define ABX_LINUX_NETWORK_H

#include "linux/boundary.h"

/* Fills the boundary's parts; before the box is made.  Whatever was made is freed by network_free.
 */
abx_status network_new(struct boundary *boundary, struct fail *fail);
/* Loop thread. */
abx_status network_watch(struct boundary *boundary, struct fail *fail);
/* Takes a socket of OP_SOCKET or OP_WATCH.  Loop thread. */
abx_status network_take_socket(struct boundary *boundary, int fd, struct fail *fail);
/* Nobody handles calls any more.  Loop thread.  A descriptor, or -1, that the caller closes on a
 * thread that may wait. */
int network_free(struct boundary *boundary);

#endif
