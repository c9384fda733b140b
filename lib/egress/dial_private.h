/* SPDX-License-Identifier: Apache-2.0
 * Inside the dial only: its state; where it leads (dial.c), and the connections that it tries
 * (dial_connect.c). */
#ifndef ABX_EGRESS_DIAL_PRIVATE_H
#define ABX_EGRESS_DIAL_PRIVATE_H

#include "egress/box.h"
#include "egress/dial.h"

#define ADDRESSES_MAX 16u

struct attempt {
    struct dial *dial;
    struct event *event;
    int fd; /* -1: none, or over */
    struct address address;
};

struct dial {
    struct egress_box *box;
    struct errand *errand;
    dial_fn fn;
    void *data;
    const struct upstream_proxy *proxy; /* what is dialled instead; NULL: the destination */
    enum dial_use use;
    struct through *through;
    int fd; /* the proxy's, while it is asked; else -1 */
    struct lookup *lookup;
    struct named_search *search; /* for a name of the address */
    struct decision *decision; /* about an address */
    struct event *next_timer, *patience;
    struct attempt attempts[ADDRESSES_MAX]; /* in the order in which they are dialled */
    size_t n, begun, failed;
    int error; /* of the attempts until now, 0: none */
    bool *ended; /* dial_start wants to know; or NULL */
};

/* Frees it, then tells. */
void dial_finish(struct dial *dial, int fd, int error, const struct refusal *refusal);

/* dial_connect.c: of a proxy outside the program sees an errno, and the event says what it was. */
void dial_tell_proxy(struct dial *dial, const char *what);
/* Dials the next address; the dial may be over after it. */
void dial_next(struct dial *dial);
void dial_next_is_due(evutil_socket_t fd, short events, void *data); /* of next_timer */
void dial_patience_is_over(evutil_socket_t fd, short events, void *data);

#endif
