/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: TLS over a connected socket, on either side; the authority that makes
 * certificates for what is terminated; who is believed outside.  The files tls*.c are the only
 * users of GnuTLS; a build without it has tls_none.c, with which nothing can be made.  Egress
 * thread, unless it says otherwise. */
#ifndef ABX_EGRESS_TLS_H
#define ABX_EGRESS_TLS_H

#include "backend/backend.h"
#include "base/fail.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* ---- the authority: one per context; its keys are in memory only -------------------------- */
struct authority;

/* Any thread.  ABX_ERR_UNSUPPORTED: built without TLS. */
abx_status authority_new(struct authority **ret_authority, struct fail *fail);
void authority_free(struct authority *authority); /* after the last connection */
/* The certificate, PEM; any thread. */
const char *authority_pem(const struct authority *authority);

/* ---- who is believed: the host's trust store, read once per context by a thread of its own --- */
struct store;

abx_status store_new(struct store **ret_store, struct fail *fail); /* any thread */
void store_free(struct store *store); /* after the last `struct trust` */

/* A box's: the store, and what the policy adds. */
struct trust;

/* `extra_pem`: certificates of more authorities; NULL: none.  Any thread. */
abx_status trust_new(
        struct store *store, const char *extra_pem, struct trust **ret_trust, struct fail *fail);
void trust_free(struct trust *trust); /* after the last connection */

/* ---- what programs of a box are shown ----------------------------------------------------- */

/* The authority, with those of the host and of the policy (PEM; NULL: none).  The caller frees both
 * texts.  Any thread. */
abx_status bundle_make(const struct authority *authority, const char *host_pem,
        const char *extra_pem, struct trust_files *ret_files, struct fail *fail);

/* ---- a connection ------------------------------------------------------------------------- */
struct tls;

/* Over a connected, non-blocking socket, which stays the caller's and must live as long.  TLS 1.2
 * or 1.3, ALPN http/1.1, no renegotiation.  NULL: no memory.
 * The box's side: believed by who believes the authority. */
struct tls *tls_server(int fd, struct authority *authority, const char *name);
/* The origin's side: `name`, or an address, is verified. */
struct tls *tls_client(int fd, struct trust *trust, const char *name);
void tls_free(struct tls *tls);

enum tls_result {
    TLS_ENDED = 0, /* the peer said that it sends no more */
    TLS_AGAIN = -1, /* call again when the socket is readable, or writable (tls_wants_write) */
    TLS_FAILED = -2 /* tls_why; a connection that closes without saying so, too */
};
/* 1: done. */
int tls_handshake(struct tls *tls);
/* Bytes, or an enum tls_result. */
ssize_t tls_read(struct tls *tls, void *bytes, size_t room);
/* Bytes, or TLS_AGAIN (call again with the same bytes) or TLS_FAILED. */
ssize_t tls_write(struct tls *tls, const void *bytes, size_t length);
/* Says that no more comes.  1: done. */
int tls_shut(struct tls *tls);
bool tls_wants_write(const struct tls *tls); /* after TLS_AGAIN */
const char *tls_why(const struct tls *tls); /* for people; after TLS_FAILED */

#endif
