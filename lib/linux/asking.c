/* SPDX-License-Identifier: Apache-2.0
 * Asks init and waits for its word.  Any thread but the loop's asks; init's messages arrive on
 * that, which wakes who asked. */
#include "linux/own.h"

#include "base/mem.h"

#include <errno.h>
#include <string.h>

/* ---- waiting ---- */
void
waiter_init(struct waiter *waiter, uint32_t kind, uint64_t id)
{
    *waiter = (struct waiter){ .kind = kind, .id = id, .fd = -1 };
    pthread_cond_init(&waiter->cond, NULL);
}

int
waiter_ask(struct boundary *boundary, struct waiter *waiter, const struct wire_message *message,
        const int *fds, size_t n_fds)
{
    struct boundary_private *own = boundary->own;
    bool is_open;
    int r;

    pthread_mutex_lock(&own->lock);
    is_open = own->state == BOX_OPEN;
    waiter->done = !is_open;
    waiter->error = ESRCH;
    waiter->next = own->waiters;
    own->waiters = waiter;
    pthread_mutex_unlock(&own->lock);
    r = is_open ? control_send(own->control, message, fds, n_fds) : 0;
    pthread_mutex_lock(&own->lock);
    if (r < 0) {
        waiter->done = true;
        waiter->error = r == -EPIPE || r == -ECONNRESET ? ESRCH : -r;
    }
    while (!waiter->done) {
        pthread_cond_wait(&waiter->cond, &own->lock);
    }
    for (struct waiter **place = &own->waiters; *place != NULL; place = &(*place)->next) {
        if (*place == waiter) {
            *place = waiter->next;
            break;
        }
    }
    pthread_mutex_unlock(&own->lock);
    pthread_cond_destroy(&waiter->cond);
    return waiter->error;
}

struct waiter *
waiter_find(struct boundary_private *own, uint32_t kind, uint64_t id)
{
    struct waiter *waiter = own->waiters;

    while (waiter != NULL && (waiter->done || waiter->kind != kind || waiter->id != id)) {
        waiter = waiter->next;
    }
    return waiter;
}

void
waiter_wake(struct boundary *boundary, uint32_t kind, uint64_t id, int error, uint32_t step)
{
    struct boundary_private *own = boundary->own;
    struct waiter *waiter;

    pthread_mutex_lock(&own->lock);
    waiter = waiter_find(own, kind, id);
    if (waiter != NULL) {
        waiter->done = true;
        waiter->error = error;
        waiter->step = step;
        pthread_cond_signal(&waiter->cond);
    }
    pthread_mutex_unlock(&own->lock);
}

void
waiters_end(struct boundary *boundary)
{
    struct boundary_private *own = boundary->own;

    pthread_mutex_lock(&own->lock);
    for (struct waiter *waiter = own->waiters; waiter != NULL; waiter = waiter->next) {
        if (!waiter->done) {
            waiter->done = true;
            waiter->error = ESRCH;
            pthread_cond_signal(&waiter->cond);
        }
    }
    pthread_mutex_unlock(&own->lock);
}

/* ---- what is asked ---- */
static uint64_t
next_cookie(struct boundary_private *own)
{
    uint64_t cookie;

    pthread_mutex_lock(&own->lock);
    cookie = ++own->cookie;
    pthread_mutex_unlock(&own->lock);
    return cookie;
}

int
boundary_bind(struct boundary *boundary, const char *path)
{
    struct wire_message message = { .kind = WIRE_BIND };
    struct waiter waiter;
    const size_t length = strlen(path);

    if (length >= sizeof message.path) {
        return -ENAMETOOLONG;
    }
    memcpy(message.path, path, length + 1);
    message.id = next_cookie(boundary->own);
    waiter_init(&waiter, WIRE_BIND, message.id);
    return -waiter_ask(boundary, &waiter, &message, NULL, 0);
}

static int
bind_object(struct boundary *boundary, int object, uint32_t how)
{
    const struct wire_message message = {
        .kind = WIRE_BIND, .mask = how, .id = next_cookie(boundary->own)
    };
    struct waiter waiter;

    waiter_init(&waiter, WIRE_BIND, message.id);
    return -waiter_ask(boundary, &waiter, &message, &object, 1);
}

int
boundary_guard(struct boundary *boundary, int object)
{
    return bind_object(boundary, object, WIRE_BIND_READ_ONLY);
}

int
boundary_detach(struct boundary *boundary, int object)
{
    return bind_object(boundary, object, WIRE_BIND_DETACH);
}

int
boundary_make_socket(struct boundary *boundary, uint32_t how, int32_t value)
{
    const struct wire_message message = {
        .kind = WIRE_MAKE_SOCKET, .mask = how, .value = value, .id = next_cookie(boundary->own)
    };
    struct waiter waiter;
    int error;

    waiter_init(&waiter, WIRE_MAKE_SOCKET, message.id);
    error = waiter_ask(boundary, &waiter, &message, NULL, 0);
    if (error != 0) {
        close_fd(waiter.fd);
        return -error;
    }
    return waiter.fd;
}
