/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: the addresses of a name, as the host finds them (getaddrinfo: nsswitch,
 * VPN and split DNS keep working).  On threads of their own, few of them for one box. */
#ifndef ABX_EGRESS_LOOKUP_H
#define ABX_EGRESS_LOOKUP_H

#include "egress/thread.h"

#include <netdb.h>

#define LOOKUP_THREADS 16u
#define LOOKUP_THREADS_OF_A_BOX 4u
#define LOOKUPS_WAITING 1024u

struct lookups;
struct lookup;

struct lookups *lookups_new(struct egress *egress); /* NULL: no memory */
/* Does not wait for a resolver that does not answer: what it says later is thrown away. */
void lookups_free(struct lookups *lookups);

/* Called once, on the egress thread: an EAI_ code, and the addresses with 0; borrowed. */
typedef void (*lookup_fn)(void *data, int error, const struct addrinfo *addresses);
/* Egress thread.  `owner` tells boxes apart.  NULL: too many wait, or no memory. */
struct lookup *lookup_start(struct lookups *lookups, const void *owner, const char *name,
        uint16_t port, lookup_fn fn, void *data);
void lookup_cancel(struct lookup *lookup);

#endif
