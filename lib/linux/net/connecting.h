/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: connects of the box's own sockets, on threads that nothing else needs.
 *
 * Who shares a socket can make its connect wait for ever, at any moment: by taking O_NONBLOCK or
 * SO_SNDTIMEO away, where the other end's backlog is full.  So none is made on the loop's thread,
 * nor on the workers, but by a call that cannot wait (connecting_try); and a box closes without
 * waiting for one. */
#ifndef ABX_LINUX_CONNECTING_H
#define ABX_LINUX_CONNECTING_H

#include "linux/net/address.h"
#include "linux/net/passage.h"

struct connectors; /* of a box */
struct connecting; /* one connect */

/* Connects a TCP socket to a listener of ours, which takes no data with the first packet: 0; 1: it
 * is not over at once, and may go on; or the -errno of connect(). */
int connecting_try(int fd, const struct address *to);

struct connectors *connectors_new(struct listeners *listeners); /* NULL: no memory */
/* No call is answered any more.  What still waits is woken where it can be, and left to itself.
 * For a box whose processes have ended.  NULL is nothing. */
void connectors_leave(struct connectors *connectors);

/* The call's, until it is started.  `object`: what an empty address stands for, or -1; `passage`:
 * what leaves the box by it, or NULL; taken on success.  The descriptors are lent.  NULL: no memory
 * or descriptors. */
struct connecting *connecting_new(
        int fd, const struct address *address, int object, struct passage **passage);
void connecting_free(struct connecting *connecting); /* NULL is nothing */
/* If nobody listens there, that is told as a denial (net_tell_refused). */
void connecting_tell_refused(struct connecting *connecting);
/* Takes the connecting of a kept call, which waits for it from then on (held_add) or is refused. */
void connecting_start(struct call *call);

#endif
