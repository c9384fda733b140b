/* SPDX-License-Identifier: Apache-2.0
 * What requests over TLS cost who makes them, in us: https HOST PORT PATH TRUST
 *
 *   FIRST  a connection, its handshake, a request and the whole answer
 *   NEXT   one more request on it, the median of many
 *   AGAIN  another connection, which may resume, the median of some
 *
 * TRUST is a file of authorities; to read it is no part of the figures. */
#include <gnutls/gnutls.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NEXT_TIMES 201
#define AGAIN_TIMES 21

static gnutls_certificate_credentials_t credentials;
static gnutls_datum_t resumption;
static struct addrinfo *place;
static const char *name;
static char request[1024];

static void
die(const char *what, int r)
{
    fprintf(stderr, "https: %s: %s\n", what, gnutls_strerror(r));
    exit(1);
}

static double
now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int
by_size(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

static gnutls_session_t
open_session(void)
{
    int fd = socket(place->ai_family, SOCK_STREAM, 0), on = 1, r;
    gnutls_session_t session;

    if (fd < 0 || connect(fd, place->ai_addr, place->ai_addrlen) < 0) {
        perror("connect");
        exit(1);
    }
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
        die("handshake", r);
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
        die("request", (int)n);
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
    qsort(times, NEXT_TIMES, sizeof times[0], by_size);
    return times[NEXT_TIMES / 2];
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
    qsort(times, AGAIN_TIMES, sizeof times[0], by_size);
    return times[AGAIN_TIMES / 2];
}

int
main(int argc, char *argv[])
{
    struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
    double start, first, next;
    gnutls_session_t session;
    int r;

    if (argc != 5 || getaddrinfo(argv[1], argv[2], &hints, &place) != 0) {
        fprintf(stderr, "https: HOST PORT PATH TRUST\n");
        return 2;
    }
    name = argv[1];
    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: %s:%s\r\n\r\n", argv[3], argv[1],
            argv[2]);
    gnutls_certificate_allocate_credentials(&credentials);
    r = gnutls_certificate_set_x509_trust_file(credentials, argv[4], GNUTLS_X509_FMT_PEM);
    if (r < 0) {
        die(argv[4], r);
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
    freeaddrinfo(place);
    return 0;
}
