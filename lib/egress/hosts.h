/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: the addresses of the names that a box's connections led to a moment ago,
 * so that many connections to one name ask the host once.  They are where a dial begins, never a
 * verdict: each dial decides about each of them.  A name that the host did not know is not here. */
#ifndef ABX_EGRESS_HOSTS_H
#define ABX_EGRESS_HOSTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define HOSTS_MAX 32u
#define HOSTS_NS 1000000000u /* from when the host said it, however often it is used */

struct address {
    struct sockaddr_storage storage;
    socklen_t length;
};

struct host {
    uint64_t until_ns;
    uint16_t port;
    size_t n;
    struct address *addresses; /* in the order in which the host gave them */
    char name[];
};

struct hosts {
    struct host *hosts[HOSTS_MAX]; /* or NULL */
    size_t oldest;
};

/* Until the next hosts_keep; NULL: the host is to be asked. */
const struct host *hosts_find(
        const struct hosts *hosts, uint64_t now_ns, const char *name, uint16_t port);
/* Takes the place of the oldest.  Without memory nothing is kept. */
void hosts_keep(struct hosts *hosts, uint64_t now_ns, const char *name, uint16_t port,
        const struct address *addresses, size_t n);
void hosts_done(struct hosts *hosts);

#endif
