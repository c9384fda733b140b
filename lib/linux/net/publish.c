/* SPDX-License-Identifier: Apache-2.0
 * Owns the listeners on the host's loopback.  A connection there gets a partner: a socket that init
 * makes in the box, connected to the port; the gateway passes on what comes. */
#include "linux/net/publish.h"

#include "base/mem.h"
#include "linux/listen/listeners.h"
#include "linux/net/listening.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BACKLOG 128
#define ACCEPT_AT_ONCE 16

struct published {
    struct boundary *boundary;
    struct listening *listening;
    pthread_mutex_t lock; /* of what follows */
    struct address ports[PUBLISHED_MAX]; /* where a program in the box listens, or did */
    uint32_t n_ports;
};

/* A connection on its way into the box. */
struct visit {
    struct published *published;
    int client;
    struct address address;
};

/* ---- into the box ---- */

static int
reach(struct boundary *boundary, const struct address *address)
{
    AUTO(closep) int fd = boundary_make_socket(boundary, 0, address->storage.ss_family);

    if (fd < 0) {
        return steal_fd(&fd);
    }
    if (connect(fd, (const struct sockaddr *)&address->storage, address->length) < 0 &&
            errno != EINPROGRESS) {
        return -errno;
    }
    return steal_fd(&fd);
}

/* On a worker. */
static void
visit_box(void *data)
{
    struct visit *visit = data;
    const struct gateway *gateway = visit->published->boundary->gateway;
    int server = reach(visit->published->boundary, &visit->address);

    if (server < 0) {
        close_fd(visit->client);
    } else {
        gateway->relay(gateway->data, visit->client, server);
    }
    free(visit);
}

/* Under lock: the port's place, or NULL. */
static struct address *
find(struct published *published, uint16_t port)
{
    for (uint32_t i = 0; i < published->n_ports; i++) {
        if (address_port(&published->ports[i]) == port) {
            return &published->ports[i];
        }
    }
    return NULL;
}

/* Whoever comes while all workers are busy comes again. */
static void
let_in(void *data, uint32_t port, int client)
{
    struct published *published = data;
    struct listeners *listeners = published->boundary->listeners;
    struct visit *visit = listeners == NULL ? NULL : malloc(sizeof *visit);

    if (visit != NULL) {
        *visit = (struct visit){ .published = published, .client = client };
        pthread_mutex_lock(&published->lock);
        visit->address = *find(published, (uint16_t)port);
        pthread_mutex_unlock(&published->lock);
        if (workers_do(listeners->workers, visit_box, visit) == 0) {
            return;
        }
        free(visit);
    }
    close_fd(client);
}

/* ---- ports ---- */

static int
listen_on_host(uint16_t port)
{
    const struct address address = address_of_ipv4(INADDR_LOOPBACK, port);
    AUTO(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int on = 1;

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
            bind(fd, (const struct sockaddr *)&address.storage, address.length) < 0 ||
            listen(fd, BACKLOG) < 0) {
        return -errno;
    }
    return steal_fd(&fd);
}

/* Under lock. */
static int
add(struct published *published, const struct address *address)
{
    struct address *known = find(published, address_port(address));
    int fd;

    if (known != NULL) {
        *known = *address;
        return 0;
    }
    fd = published->n_ports < PUBLISHED_MAX ? listen_on_host(address_port(address)) : -EMFILE;
    if (fd < 0) {
        return fd;
    }
    published->ports[published->n_ports++] = *address;
    if (!listening_add(published->listening, fd, address_port(address))) {
        published->n_ports--;
        return -ENOMEM;
    }
    return 0;
}

int
published_add(struct published *published, const struct address *address)
{
    struct address box = *address;
    int r;

    address_specify(&box);
    pthread_mutex_lock(&published->lock);
    r = add(published, &box);
    pthread_mutex_unlock(&published->lock);
    return r;
}

/* ---- the whole ---- */

struct published *
published_new(struct boundary *boundary, struct fail *fail)
{
    struct published *published = calloc(1, sizeof *published);

    if (published == NULL) {
        fail_nomem(fail);
        return NULL;
    }
    published->boundary = boundary;
    pthread_mutex_init(&published->lock, NULL);
    published->listening = listening_new(boundary->loop, let_in, published);
    if (published->listening == NULL) {
        fail_set(fail, ABX_ERR_SETUP, errno, "network:listen", "ports cannot be published");
        published_free(published);
        return NULL;
    }
    return published;
}

abx_status
published_watch(struct published *published, struct fail *fail)
{
    return listening_watch(published->listening)
                   ? ABX_OK
                   : fail_set(fail, ABX_ERR_SETUP, errno, "network:listen",
                             "published ports cannot be watched");
}

void
published_free(struct published *published)
{
    if (published == NULL) {
        return;
    }
    listening_free(published->listening);
    pthread_mutex_destroy(&published->lock);
    free(published);
}
