/* SPDX-License-Identifier: Apache-2.0
 * Owns a ring of hosts.  Knows neither clock nor policy. */
#include "egress/hosts.h"

#include <stdlib.h>
#include <string.h>

const struct host *
hosts_find(const struct hosts *hosts, uint64_t now_ns, const char *name, uint16_t port)
{
    for (size_t i = 0; i < HOSTS_MAX; i++) {
        const struct host *one = hosts->hosts[i];

        if (one != NULL && now_ns < one->until_ns && one->port == port &&
                strcmp(one->name, name) == 0) {
            return one;
        }
    }
    return NULL;
}

static void
host_free(struct host *one)
{
    if (one != NULL) {
        free(one->addresses);
        free(one);
    }
}

void
hosts_keep(struct hosts *hosts, uint64_t now_ns, const char *name, uint16_t port,
        const struct address *addresses, size_t n)
{
    size_t size = strlen(name) + 1;
    struct host *one = NULL;

    if (hosts_find(hosts, now_ns, name, port) == NULL) { /* else two were looked up at once */
        one = malloc(sizeof *one + size);
    }
    if (one == NULL) {
        return;
    }
    *one = (struct host){ .until_ns = now_ns + HOSTS_NS,
        .port = port,
        .n = n,
        .addresses = malloc(n * sizeof *addresses) };
    if (one->addresses == NULL) {
        free(one);
        return;
    }
    memcpy(one->addresses, addresses, n * sizeof *addresses);
    memcpy(one->name, name, size);
    host_free(hosts->hosts[hosts->oldest]);
    hosts->hosts[hosts->oldest] = one;
    hosts->oldest = (hosts->oldest + 1) % HOSTS_MAX;
}

void
hosts_done(struct hosts *hosts)
{
    for (size_t i = 0; i < HOSTS_MAX; i++) {
        host_free(hosts->hosts[i]);
    }
}
