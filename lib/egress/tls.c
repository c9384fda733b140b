/* SPDX-License-Identifier: Apache-2.0
 * TLS sessions over non-blocking sockets.  Nothing here waits, and no signal is raised by a peer
 * that is gone. */
#include "egress/tls_private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define MESSAGES_MAX 64u /* that hold no data, at a time; more is a flood */
#define VERSIONS "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

struct tls {
    gnutls_session_t session;
    int fd;
    bool is_open; /* its handshake is done */
    bool is_dry; /* the socket had no more to read */
    struct leaf *leaf; /* of a server */
    struct trust *trust; /* of a client */
    char *name; /* of a client: whom it wants */
    const char *why;
    size_t unsent; /* bytes that the last tls_write took and could not send */
};

static ssize_t
pull(gnutls_transport_ptr_t data, void *bytes, size_t room)
{
    struct tls *tls = data;
    ssize_t n = recv(tls->fd, bytes, room, 0);

    if (n < 0 && errno == EAGAIN) {
        tls->is_dry = true;
    }
    if (n < 0) {
        gnutls_transport_set_errno(tls->session, errno);
    }
    return n;
}

/* Whether to call again at once: GnuTLS says AGAIN also after a message of its own, with more to
 * read behind it, of which no event will tell. */
static bool
goes_on(const struct tls *tls, ssize_t result)
{
    return result == GNUTLS_E_WARNING_ALERT_RECEIVED ||
           ((result == GNUTLS_E_AGAIN || result == GNUTLS_E_INTERRUPTED) && !tls->is_dry &&
                   !tls_wants_write(tls));
}

static int
verify(gnutls_session_t session)
{
    struct tls *tls = gnutls_session_get_ptr(session);

    return trust_verify(tls->trust, session, tls->name, &tls->why);
}

/* What both sides have. */
static int
set_up(struct tls *tls, int fd, unsigned side, gnutls_certificate_credentials_t credentials)
{
    static const gnutls_datum_t http = { (unsigned char *)(uintptr_t) "http/1.1", 8 };
    int r = gnutls_init(&tls->session, side | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);

    if (r < 0) {
        tls->session = NULL;
        return r;
    }
    gnutls_session_set_ptr(tls->session, tls);
    tls->fd = fd;
    gnutls_transport_set_ptr2(tls->session, tls, (gnutls_transport_ptr_t)(intptr_t)fd);
    gnutls_transport_set_pull_function(tls->session, pull);
    gnutls_handshake_set_timeout(tls->session, GNUTLS_INDEFINITE_TIMEOUT); /* the caller's */
    r = gnutls_priority_set_direct(tls->session, VERSIONS, NULL);
    r = r < 0 ? r : gnutls_credentials_set(tls->session, GNUTLS_CRD_CERTIFICATE, credentials);
    return r < 0 ? r
                 : gnutls_alpn_set_protocols(tls->session, &http, 1,
                           (side & GNUTLS_SERVER) != 0 ? GNUTLS_ALPN_MANDATORY : 0);
}

struct tls *
tls_server(int fd, struct authority *authority, const char *name)
{
    struct tls *tls = calloc(1, sizeof *tls);
    int r;

    if (tls == NULL) {
        return NULL;
    }
    tls->leaf = authority_leaf(authority, name);
    if (tls->leaf == NULL) {
        tls_free(tls);
        return NULL;
    }
    r = set_up(tls, fd, GNUTLS_SERVER, leaf_credentials(tls->leaf));
    r = r < 0 ? r
              : gnutls_session_ticket_enable_server(tls->session, authority_ticket_key(authority));
    if (r < 0) {
        tls_free(tls);
        return NULL;
    }
    return tls;
}

static bool
is_address(const char *name)
{
    uint8_t address[16];

    return inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1;
}

struct tls *
tls_client(int fd, struct trust *trust, const char *name)
{
    struct tls *tls = calloc(1, sizeof *tls);
    int r;

    if (tls == NULL) {
        return NULL;
    }
    tls->trust = trust;
    tls->name = strdup(name);
    if (tls->name == NULL) {
        tls_free(tls);
        return NULL;
    }
    /* One key for the first packet: of P-256, which every server must take (RFC 8446, 9.1). */
    r = set_up(tls, fd, GNUTLS_CLIENT | GNUTLS_KEY_SHARE_TOP, trust_credentials(trust));
    if (r >= 0) {
        tickets_use(trust_tickets(trust), name, tls->session);
        gnutls_session_set_verify_function(tls->session, verify);
    }
    if (r >= 0 && !is_address(name)) {
        r = gnutls_server_name_set(tls->session, GNUTLS_NAME_DNS, name, strlen(name));
    }
    if (r < 0) {
        tls_free(tls);
        return NULL;
    }
    return tls;
}

void
tls_free(struct tls *tls)
{
    if (tls == NULL) {
        return;
    }
    if (tls->is_open && tls->trust != NULL) {
        tickets_keep(trust_tickets(tls->trust), tls->name, tls->session);
    }
    if (tls->session != NULL) {
        gnutls_deinit(tls->session);
    }
    leaf_unref(tls->leaf);
    free(tls->name);
    free(tls);
}

/* What an error of GnuTLS means; tls->why may tell more already. */
static int
failed(struct tls *tls, int error)
{
    if ((error == GNUTLS_E_AGAIN || error == GNUTLS_E_INTERRUPTED) && !goes_on(tls, error)) {
        return TLS_AGAIN;
    }
    if (tls->why == NULL) {
        tls->why = error == GNUTLS_E_PREMATURE_TERMINATION
                           ? "the connection was closed in the middle"
                   : error == GNUTLS_E_FATAL_ALERT_RECEIVED
                           ? gnutls_alert_get_name(gnutls_alert_get(tls->session))
                           : gnutls_strerror(error);
    }
    return TLS_FAILED;
}

int
tls_handshake(struct tls *tls)
{
    int r = GNUTLS_E_AGAIN;

    tls->is_dry = false;
    for (size_t times = 0; times < MESSAGES_MAX; times++) {
        r = gnutls_handshake(tls->session);
        if (!goes_on(tls, r)) {
            break;
        }
    }
    if (r == GNUTLS_E_SUCCESS) {
        tls->is_open = true;
        return 1;
    }
    if (failed(tls, r) == TLS_AGAIN) {
        return TLS_AGAIN;
    }
    gnutls_alert_send_appropriate(tls->session, r); /* if it can be said at once */
    return TLS_FAILED;
}

ssize_t
tls_read(struct tls *tls, void *bytes, size_t room)
{
    ssize_t n = GNUTLS_E_AGAIN;

    tls->is_dry = false;
    for (size_t times = 0; times < MESSAGES_MAX; times++) {
        n = gnutls_record_recv(tls->session, bytes, room);
        if (!goes_on(tls, n)) {
            break;
        }
    }
    return n < 0 ? failed(tls, (int)n) : n; /* failed, too, if it wants to begin anew */
}

ssize_t
tls_write(struct tls *tls, const void *bytes, size_t length)
{
    ssize_t n = tls->unsent > 0 ? gnutls_record_send(tls->session, NULL, 0)
                                : gnutls_record_send(tls->session, bytes, length);

    if (n < 0) {
        int r = failed(tls, (int)n);

        tls->unsent = r == TLS_AGAIN ? length : 0;
        return r;
    }
    tls->unsent = 0;
    return n;
}

int
tls_shut(struct tls *tls)
{
    int r = gnutls_bye(tls->session, GNUTLS_SHUT_WR);

    return r == 0 ? 1 : failed(tls, r);
}

bool
tls_wants_write(const struct tls *tls)
{
    return gnutls_record_get_direction(tls->session) == 1;
}

const char *
tls_why(const struct tls *tls)
{
    return tls->why != NULL ? tls->why : "TLS failed";
}
