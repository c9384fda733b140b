/* SPDX-License-Identifier: Apache-2.0
 * What requests over TLS cost who makes them, in us: https HOST PORT PATH TRUST
 *
 *   FIRST  a connection, its handshake, a request and the whole answer
 *   NEXT   one more request on it, the median of many
 *   AGAIN  another connection, which may resume, the median of some
 *
 * TRUST is a file of authorities; to read it is no part of the figures. */
#include "client.h"

#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NEXT_TIMES 201
#define AGAIN_TIMES 21

static gnutls_certificate_credentials_t credentials;
static gnutls_datum_t resumption;
static const char *name, *request;

static gnutls_session_t
open_session(void)
{
    int fd = open_connection(), on = 1, r;
    gnutls_session_t session;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    gnutls_init(&session, GNUTLS_CLIENT);
    gnutls_set_default_priority(session);
    gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials);
    gnutls_server_name_set(session, GNUTLS_NAME_DNS, name, strlen(name));
    gnutls_session_set_verify_cert(session, name, 0);
    gnutls_transport_set_int(session, fd);
    if (resumption.data != NULL) {
        gnutls_session_set_data(session, resumption.data, resumption.size);
    }
    do {
        r = gnutls_handshake(session);
    } while (r == GNUTLS_E_AGAIN || r == GNUTLS_E_INTERRUPTED);
    if (r < 0) {
        die("handshake", gnutls_strerror(r));
    }
    return session;
}

static void
close_session(gnutls_session_t session)
{
    close(gnutls_transport_get_int(session));
    gnutls_deinit(session);
}

/* A small answer, of which the length is told. */
static void
ask(gnutls_session_t session)
{
    char bytes[4096];
    size_t have = 0, wanted = sizeof bytes;
    ssize_t n = gnutls_record_send(session, request, strlen(request));

    while (n >= 0 && have < wanted) {
        const char *end, *field;

        n = gnutls_record_recv(session, bytes + have, sizeof bytes - have);
        if (n == GNUTLS_E_AGAIN || n == GNUTLS_E_INTERRUPTED) {
            n = 0; /* a ticket came */
            continue;
        }
        have += n > 0 ? (size_t)n : 0;
        end = memmem(bytes, have, "\r\n\r\n", 4);
        field = memmem(bytes, have, "Content-Length: ", 16);
        if (end != NULL && field != NULL) {
            wanted = (size_t)(end + 4 - bytes) + strtoull(field + 16, NULL, 10);
        }
        if (n == 0) {
            break;
        }
    }
    if (n < 0) {
        die("request", gnutls_strerror((int)n));
    }
    if (have != wanted || strncmp(bytes, "HTTP/1.1 200", 12) != 0) {
        fprintf(stderr, "%.*s\n", (int)have, bytes);
        exit(1);
    }
}

static double
time_next(gnutls_session_t session)
{
    double times[NEXT_TIMES];

    for (int i = 0; i < NEXT_TIMES; i++) {
        double start = now_us();

        ask(session);
        times[i] = now_us() - start;
    }
    return median(times, NEXT_TIMES);
}

static double
time_again(void)
{
    double times[AGAIN_TIMES];

    for (int i = 0; i < AGAIN_TIMES; i++) {
        double start = now_us();
        gnutls_session_t session = open_session();

        ask(session);
        times[i] = now_us() - start;
        close_session(session);
    }
    return median(times, AGAIN_TIMES);
}

int
main(int argc, char *argv[])
{
    double start, first, next;
    gnutls_session_t session;
    int r;

    if (argc != 5) {
        fprintf(stderr, "https: HOST PORT PATH TRUST\n");
        return 2;
    }
    name = argv[1];
    set_place(name, argv[2]);
    request = request_for(argv[3]);
    gnutls_certificate_allocate_credentials(&credentials);
    r = gnutls_certificate_set_x509_trust_file(credentials, argv[4], GNUTLS_X509_FMT_PEM);
    if (r < 0) {
        die(argv[4], gnutls_strerror(r));
    }
    start = now_us();
    session = open_session();
    ask(session);
    first = now_us() - start;
    next = time_next(session);
    gnutls_session_get_data2(session, &resumption);
    close_session(session);
    printf("%.1f %.1f %.1f\n", first, next, time_again());
    gnutls_free(resumption.data);
    gnutls_certificate_free_credentials(credentials);
    return 0;
}
