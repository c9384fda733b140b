/* SPDX-License-Identifier: Apache-2.0
 * Inside tls*.c only. */
#ifndef ABX_EGRESS_TLS_PRIVATE_H
#define ABX_EGRESS_TLS_PRIVATE_H

#include "egress/tls.h"
#include "egress/tls_tickets.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

abx_status tls_fail(struct fail *fail, int error, const char *step);

/* The certificate for a name, which is kept for the next connection.  NULL: no memory. */
struct leaf;
struct leaf *authority_leaf(struct authority *authority, const char *name);
gnutls_certificate_credentials_t leaf_credentials(const struct leaf *leaf);
void leaf_unref(struct leaf *leaf);
/* What a client of the box may show to come back without a whole handshake. */
const gnutls_datum_t *authority_ticket_key(const struct authority *authority);

gnutls_certificate_credentials_t trust_credentials(const struct trust *trust);
struct tickets *trust_tickets(struct trust *trust);
/* Whether the peer of the session, whose handshake goes on, is `name`: 0, or an error; *ret_why
 * says why. */
int trust_verify(
        struct trust *trust, gnutls_session_t session, const char *name, const char **ret_why);

#endif
