/* SPDX-License-Identifier: Apache-2.0
 * Inside tls*.c only: what origins gave to come back without a whole handshake.  It is of one box,
 * whose trust verified the origin by that name when it was given, and is used once. */
#ifndef ABX_EGRESS_TLS_TICKETS_H
#define ABX_EGRESS_TLS_TICKETS_H

#include <gnutls/gnutls.h>
#include <stddef.h>

#define TICKETS_MAX 32u

struct ticket {
    char *name; /* NULL: none */
    gnutls_datum_t data;
};

struct tickets {
    struct ticket tickets[TICKETS_MAX];
    size_t oldest;
};

/* Of a session whose handshake is done: keeps what its origin gave, if it gave something. */
void tickets_keep(struct tickets *tickets, const char *name, gnutls_session_t session);
/* Before its handshake: lets it come back to that name, if it can. */
void tickets_use(struct tickets *tickets, const char *name, gnutls_session_t session);
void tickets_done(struct tickets *tickets);

#endif
