/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: ports of the box that the host reaches at its own loopback. */
#ifndef ABX_LINUX_PUBLISH_H
#define ABX_LINUX_PUBLISH_H

#include "linux/net/address.h"
#include "linux/boundary.h"

#define PUBLISHED_MAX 64u

struct published;

struct published *published_new(struct boundary *boundary, struct fail *fail);
/* Loop thread. */
abx_status published_watch(struct published *published, struct fail *fail);
/* Whoever handles connections has ended. */
void published_free(struct published *published);
/* A program of the box opens this port: from now on the host has it too.  0 (also if it had it
 * already), or -errno: it has not.  Any thread. */
int published_add(struct published *published, const struct address *address);

#endif
