/* SPDX-License-Identifier: Apache-2.0
 * The way out of a box: what a backend hands connections to.  The egress proxy implements it; the
 * supervisor puts it into the box's setup.  A backend knows which command connects and what it
 * asked for, and neither rules nor protocols. */
#ifndef ABX_BACKEND_GATEWAY_H
#define ABX_BACKEND_GATEWAY_H

#include "backend/backend.h"

enum way {
    WAY_TRANSPARENT, /* the program believes that it speaks with the destination */
    WAY_PROXY, /* it asked for the proxy: HTTP or SOCKS says where to */
    WAY_HOST_LOOPBACK /* a service of the host's loopback, listed in the policy; only port counts */
};

struct destination {
    enum way way;
    const char *name; /* as the box's name server was asked, canonical; or an address as text */
    uint16_t port;
};

typedef void (*dialled_fn)(void *data, int error, uint64_t dialled);

struct gateway {
    void *data;
    /* Connects outside for a call that waits.  `fn` is called once, on any thread and maybe before
     * this returns: error 0 and a number for `connected`, or an errno for the caller (EACCES: the
     * denial has its event).  Copies what it is given. */
    void (*dial)(void *data, const struct subject *subject, const struct destination *destination,
            dialled_fn fn, void *fn_data);
    /* Nobody will use it: the caller is gone. */
    void (*hang_up)(void *data, uint64_t dialled);
    /* Takes the descriptor: the box's end of a connection that was accepted.  `dialled` is 0 where
     * nothing has been dialled yet. */
    void (*connected)(void *data, int fd, const struct subject *subject,
            const struct destination *destination, uint64_t dialled);
};

#endif
