/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: HTTP/1.1 between a program in the box and an origin outside, request by
 * request: each is read strictly, decided, and gets its credentials; the answer loses them again.
 * Over terminated TLS, over plain connections to port 80 and the like, and for absolute-form
 * requests to the proxy. */
#ifndef ABX_EGRESS_SESSION_H
#define ABX_EGRESS_SESSION_H

#include "egress/dial.h"

#include <event2/bufferevent.h>

struct session_setup {
    struct egress_box *box;
    const struct subject *subject; /* copied */
    const char *name; /* where to; "" for the proxy: each request says it */
    uint16_t port;
    bool tls; /* `client` is terminated TLS, so the origin is spoken to by TLS */
    int origin; /* dialled already, or -1 */
};

/* Egress thread.  Takes `client` (what it holds unread is looked at first) and `origin`.  Ends by
 * itself: with its peers, or when the box closes. */
void session_start(const struct session_setup *setup, struct bufferevent *client);

#endif
