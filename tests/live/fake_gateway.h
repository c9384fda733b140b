/* SPDX-License-Identifier: Apache-2.0
 * A way out for tests: names lead to servers on the host's loopback, by a table; connections are
 * passed on by threads.  It remembers what it was told. */
#ifndef ABX_TESTS_LIVE_FAKE_GATEWAY_H
#define ABX_TESTS_LIVE_FAKE_GATEWAY_H

#include "backend/gateway.h"

#include <pthread.h>

#define FAKE_ROUTES 8
#define FAKE_LOG 512
#define FAKE_DIALS 1024

struct fake_route {
    const char *name;
    uint16_t port; /* 0: any */
    uint16_t host_port; /* of the server */
    int error; /* dialling ends with this errno */
};

struct fake_connection {
    enum way way;
    char name[128], program[128];
    uint16_t port;
    uint64_t command;
    bool was_dialled;
};

struct fake_gateway {
    struct gateway gateway;
    struct fake_route routes[FAKE_ROUTES];
    int delay_ms; /* of each dial */
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    unsigned int n_dials, n_hung_up, n_connected, n_relayed, n_threads;
    struct fake_connection log[FAKE_LOG]; /* connected */
    int dialled[FAKE_DIALS]; /* by number - 1; -1: used up */
};

void fake_gateway_init(struct fake_gateway *fake);
void fake_gateway_route(
        struct fake_gateway *fake, const char *name, uint16_t port, uint16_t host_port, int error);
/* Waits for its threads: every peer is gone. */
void fake_gateway_done(struct fake_gateway *fake);
/* Waits until *counter, one of those above, is at least this; false: it is not after a while. */
bool fake_gateway_wait(struct fake_gateway *fake, const unsigned int *counter, unsigned int value);

/* A server on the host's loopback: says hello to each, then sends back what comes. */
struct hello_server {
    int fd;
    uint16_t port;
    pthread_t thread;
};
/* Port 0: one that is free. */
void hello_server_start(struct hello_server *server, uint16_t port);
void hello_server_stop(struct hello_server *server);
/* A unix socket of the host that listens; its descriptor. */
int serve_unix(const char *path);
/* A port that nobody has, and that nobody gets who asks for any. */
uint16_t free_port(void);

#endif
