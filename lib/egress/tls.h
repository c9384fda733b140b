/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: TLS over a bufferevent, on either side, and the authority that makes
 * certificates for what is terminated.  The only user of GnuTLS. */
#ifndef ABX_EGRESS_TLS_H
#define ABX_EGRESS_TLS_H

#include "base/fail.h"

#include <event2/bufferevent.h>

struct authority; /* one per context; in memory only */

abx_status authority_new(struct authority **ret_authority, struct fail *fail);
void authority_free(struct authority *authority);
const char *authority_pem(const struct authority *authority);

/* The peers that are believed outside: the host's trust store and `extra_pem` (NULL: none). */
struct trust;
abx_status trust_new(const char *extra_pem, struct trust **ret_trust, struct fail *fail);
void trust_free(struct trust *trust);

/* Wrap an open bufferevent, which is theirs from then on; NULL: no memory, and it still is the
 * caller's.  BEV_EVENT_CONNECTED tells that the handshake is over, BEV_EVENT_ERROR that it failed
 * (tls_error).  A shutdown without close_notify is BEV_EVENT_ERROR, never an end of file. */
struct bufferevent *tls_accept(
        struct bufferevent *below, struct authority *authority, const char *name);
/* `name` is verified against the certificate; ALPN http/1.1. */
struct bufferevent *tls_connect(struct bufferevent *below, struct trust *trust, const char *name);
/* Sends close_notify when what was written is out. */
void tls_finish(struct bufferevent *tls);
const char *tls_error(struct bufferevent *tls); /* for people; a literal */

#endif
