/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: addresses that names of one box lead to, of those names to which requests
 * are read.  Who spells such an address instead of the name would go past what is read.  Egress
 * thread. */
#ifndef ABX_EGRESS_NAMED_H
#define ABX_EGRESS_NAMED_H

#include "egress/lookup.h"

#include "policy/policy.h"

struct named; /* of a box */
struct named_search;

struct named *named_new(abx_policy *policy); /* NULL: no memory */
void named_free(struct named *named); /* NULL is nothing */
/* Keeps what a name turned out to be, if requests to it at that port are read. */
void named_note(
        struct named *named, const char *name, uint16_t port, const struct addrinfo *addresses);

/* A name to which requests are read and which leads to the address, or NULL; borrowed.  An error
 * (an errno) where that cannot be told. */
typedef void (*named_fn)(void *data, int error, const char *name);
/* Looks up again what was not looked up lately.  Calls `fn` once: before it returns, and then
 * returns NULL, or later. */
struct named_search *named_search_start(
        struct egress_box *box, const char *address, uint16_t port, named_fn fn, void *data);
void named_search_cancel(struct named_search *search); /* NULL is nothing */

#endif
