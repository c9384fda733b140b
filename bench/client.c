/* SPDX-License-Identifier: Apache-2.0 */
#include "client.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

static struct addrinfo *place;
static const char *place_host, *place_port;

void
die(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

double
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

double
median(double *times, size_t n)
{
    qsort(times, n, sizeof *times, by_size);
    return times[n / 2];
}

void
set_place(const char *host, const char *port)
{
    const struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
    int r = getaddrinfo(host, port, &hints, &place);

    if (r != 0) {
        die(host, gai_strerror(r));
    }
    place_host = host;
    place_port = port;
}

int
open_connection(void)
{
    int fd = socket(place->ai_family, SOCK_STREAM, 0);

    if (fd < 0 || connect(fd, place->ai_addr, place->ai_addrlen) < 0) {
        die("connect", strerror(errno));
    }
    return fd;
}

const char *
request_for(const char *path)
{
    static char request[1024];

    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: %s:%s\r\n\r\n", path, place_host,
            place_port);
    return request;
}
