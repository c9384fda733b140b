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
    const char *name; /* as the box's name server was asked, canonical; or an address as text; ""
                         for the proxy */
    uint16_t port; /* 0 for the proxy */
};

typedef void (*dialled_fn)(void *data, int error, uint64_t dialled);

/* Any thread, none blocks.  The backend's close comes first; no function of these is called after
 * it. */
struct gateway {
    void *data;
    /* Connects outside for a call that waits; not for the proxy.  `fn` is called once, on any
     * thread and maybe before this returns, maybe after the box closed: error 0 and a number for
     * `connected`, or an errno for the caller (EACCES: the denial has its event).  Copies what it
     * is given. */
    void (*dial)(void *data, const struct subject *subject, const struct destination *destination,
            dialled_fn fn, void *fn_data);
    /* Nobody will use it: the caller is gone. */
    void (*hang_up)(void *data, uint64_t dialled);
    /* Takes the descriptor (non-blocking): the box's end of a connection that was accepted.
     * `dialled` is 0 where nothing has been dialled yet.  Copies the rest. */
    void (*connected)(void *data, int fd, const struct subject *subject,
            const struct destination *destination, uint64_t dialled);
    /* Takes two descriptors (non-blocking) and passes on what comes, both ways, until both ends are
     * over: somebody on the host reached a published port of the box (`server` may still be
     * connecting).  Nothing is decided. */
    void (*relay)(void *data, int client, int server);
};

#endif
