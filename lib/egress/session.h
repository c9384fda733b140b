/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: HTTP/1.1 between a program in the box and an origin outside, request by
 * request: each is read strictly, decided, and gets its credentials; the answer loses them again.
 * Over terminated TLS, over plain connections to port 80 and the like, and for absolute-form
 * requests to the proxy. */
#ifndef ABX_EGRESS_SESSION_H
#define ABX_EGRESS_SESSION_H

#include "egress/box.h"

struct authority;
struct trust;

struct session_setup {
    struct egress_box *box;
    /* Copied.  A destination whose name is "" is the proxy: each request says where to, and is
     * decided as a connection first. */
    const struct errand *errand;
    bool is_tls; /* the client speaks TLS, which ends here; so the origin is spoken to by TLS */
    struct authority *authority; /* with is_tls, else NULL; both outlive the box's connections */
    struct trust *trust;
};

/* Egress thread.  Takes the descriptors, non-blocking, from which nothing has been read yet (it was
 * peeked at); `outside` is connected, or -1: dialled when the first request is allowed.  A part of
 * the box: ends with its peers, or when the box closes. */
void session_start(const struct session_setup *setup, int inside, int outside);

#endif
