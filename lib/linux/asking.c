/* SPDX-License-Identifier: Apache-2.0
 * Asks init to bind or to make something in the box and waits for its word.  Any thread but the
 * loop's asks; init's messages arrive on that, which wakes who asked. */
#include "linux/own.h"

#include "base/mem.h"

#include <errno.h>
#include <string.h>

/* A thread that waits; on its stack.  The lock guards it. */
struct waiter {
    struct waiter *next;
    uint64_t cookie;
    bool done;
    int error; /* errno, 0: it worked */
    int fd; /* what init gave */
    pthread_cond_t cond;
};

/* Sends and waits for the answer: 0 or -errno, which is -ESRCH when the box ended.  *ret_fd: what
 * came with it, or -1. */
static int
ask(struct boundary *boundary, struct wire_message *message, const int *fds, size_t n_fds,
        int *ret_fd)
{
    struct boundary_private *own = boundary->own;
    struct waiter waiter = { .error = ESRCH, .fd = -1 };
    bool is_open;
    int r;

    pthread_cond_init(&waiter.cond, NULL);
    pthread_mutex_lock(&own->lock);
    is_open = own->state == BOX_OPEN;
    waiter.done = !is_open;
    waiter.cookie = message->id = ++own->cookie;
    waiter.next = own->waiters;
    own->waiters = &waiter;
    pthread_mutex_unlock(&own->lock);
    r = is_open ? control_send(own->control, message, fds, n_fds) : 0;
    pthread_mutex_lock(&own->lock);
    if (r < 0) {
        waiter.done = true;
        waiter.error = r == -EPIPE || r == -ECONNRESET ? ESRCH : -r;
    }
    while (!waiter.done) {
        pthread_cond_wait(&waiter.cond, &own->lock);
    }
    for (struct waiter **place = &own->waiters; *place != NULL; place = &(*place)->next) {
        if (*place == &waiter) {
            *place = waiter.next;
            break;
        }
    }
    pthread_mutex_unlock(&own->lock);
    pthread_cond_destroy(&waiter.cond);
    *ret_fd = waiter.fd;
    return -waiter.error;
}

static void
wake(struct waiter *waiter, int error)
{
    waiter->done = true;
    waiter->error = error;
    pthread_cond_signal(&waiter->cond);
}

void
asking_message(struct boundary *boundary, struct control_message *message)
{
    struct boundary_private *own = boundary->own;
    struct waiter *waiter;

    pthread_mutex_lock(&own->lock);
    waiter = own->waiters;
    while (waiter != NULL && (waiter->done || waiter->cookie != message->wire.id)) {
        waiter = waiter->next;
    }
    if (waiter != NULL) {
        waiter->fd = steal_fd(&message->fds[0]);
        wake(waiter, message->is_cut ? EMFILE : message->wire.value);
    }
    pthread_mutex_unlock(&own->lock);
}

void
asking_end(struct boundary *boundary)
{
    struct boundary_private *own = boundary->own;

    pthread_mutex_lock(&own->lock);
    for (struct waiter *waiter = own->waiters; waiter != NULL; waiter = waiter->next) {
        if (!waiter->done) {
            wake(waiter, ESRCH);
        }
    }
    pthread_mutex_unlock(&own->lock);
}

/* ---- what is asked ---- */
static int
ask_bind(struct boundary *boundary, struct wire_message *message, const int *fds, size_t n_fds)
{
    int fd;
    int r = ask(boundary, message, fds, n_fds, &fd);

    close_fd(fd);
    return r;
}

int
boundary_bind(struct boundary *boundary, const char *path)
{
    struct wire_message message = { .kind = WIRE_BIND };
    const size_t length = strlen(path);

    if (length >= sizeof message.path) {
        return -ENAMETOOLONG;
    }
    memcpy(message.path, path, length + 1);
    return ask_bind(boundary, &message, NULL, 0);
}

int
boundary_guard(struct boundary *boundary, int object)
{
    struct wire_message message = { .kind = WIRE_BIND, .mask = WIRE_BIND_READ_ONLY };

    return ask_bind(boundary, &message, &object, 1);
}

int
boundary_detach(struct boundary *boundary, int object)
{
    struct wire_message message = { .kind = WIRE_BIND, .mask = WIRE_BIND_DETACH };

    return ask_bind(boundary, &message, &object, 1);
}

int
boundary_make_socket(struct boundary *boundary, uint32_t how, int32_t value)
{
    struct wire_message message = { .kind = WIRE_MAKE_SOCKET, .mask = how, .value = value };
    int fd;
    int r = ask(boundary, &message, NULL, 0, &fd);

    if (r < 0) {
        close_fd(fd);
        return r;
    }
    return fd;
}
