/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: the unix sockets that processes of a box made, by what they are on disk.
 * So a socket of the host is known from one of the box without connecting to it.  Any thread. */
#ifndef ABX_LINUX_SOCKETS_H
#define ABX_LINUX_SOCKETS_H

#include <stdbool.h>

#define SOCKETS_KNOWN 4096u /* more than that, and the oldest is forgotten */

struct sockets;

struct sockets *sockets_new(void); /* NULL: no memory */
void sockets_free(struct sockets *sockets);
/* The socket was just bound to a path for the box.  The kernel is asked what it was bound to: at
 * the path another one may stand by now. */
void sockets_add(struct sockets *sockets, int socket);
/* Whether the box made what the O_PATH descriptor is of. */
bool sockets_have(struct sockets *sockets, int object);

#endif
