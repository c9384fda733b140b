/* SPDX-License-Identifier: Apache-2.0
 * Two have a part in a dialling: the call that waits, and the gateway, which may answer on any
 * thread, at once or when call and box are gone.  The last frees it.  The lock guards who waits,
 * and is held while that is told: so the box cannot go meanwhile. */
#include "linux/net/dialling.h"

#include "linux/listen/listeners.h"

#include <stdlib.h>

struct dialling {
    atomic_uint parts;
    struct passage *passage; /* the gateway's until the end, then the call's */
    int socket; /* the call's: what is to be connected then */
    pthread_mutex_t lock; /* of what follows */
    struct listeners *listeners; /* of the call; NULL: nobody waits */
    int error;
};

struct dialling *
dialling_new(struct passage *passage, int socket)
{
    struct dialling *dialling = calloc(1, sizeof *dialling);

    if (dialling == NULL) {
        return NULL;
    }
    atomic_init(&dialling->parts, 1);
    dialling->passage = passage;
    dialling->socket = socket;
    pthread_mutex_init(&dialling->lock, NULL);
    return dialling;
}

struct dialling *
dialling_share(struct call *call)
{
    atomic_fetch_add(&call->dialling->parts, 1);
    call->dialling->listeners = call->boundary->listeners;
    return call->dialling;
}

static void
leave(struct dialling *dialling)
{
    if (atomic_fetch_sub(&dialling->parts, 1) == 1) {
        passage_free(dialling->passage);
        pthread_mutex_destroy(&dialling->lock);
        free(dialling);
    }
}

static void
on_dialled(void *data, int error, uint64_t dialled)
{
    struct dialling *dialling = data;

    pthread_mutex_lock(&dialling->lock);
    dialling->error = error;
    dialling->passage->dialled = error == 0 ? dialled : 0;
    if (dialling->listeners != NULL) {
        held_dialled(dialling->listeners, dialling);
    }
    pthread_mutex_unlock(&dialling->lock);
    leave(dialling);
}

void
dialling_start(struct dialling *shared)
{
    const struct passage *passage = shared->passage;
    const struct gateway *gateway = passage->gateway;

    gateway->dial(gateway->data, &passage->subject, &passage->destination, on_dialled, shared);
}

int
dialling_result(struct dialling *dialling, struct passage ***ret_passage)
{
    *ret_passage = &dialling->passage;
    return dialling->error;
}

int
dialling_socket(const struct dialling *dialling)
{
    return dialling->socket;
}

void
dialling_leave(struct dialling *dialling)
{
    if (dialling == NULL) {
        return;
    }
    close_fd(dialling->socket);
    pthread_mutex_lock(&dialling->lock);
    dialling->listeners = NULL;
    pthread_mutex_unlock(&dialling->lock);
    leave(dialling);
}
