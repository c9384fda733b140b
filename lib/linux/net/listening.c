/* SPDX-License-Identifier: Apache-2.0
 * Owns listeners in an epoll set of their own, which the loop waits for as one.  The lock guards
 * the list, and with it what a descriptor's number means. */
#include "linux/net/listening.h"

#include "base/mem.h"
#include "base/vec.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define REST_NS 100000000u
#define READY_AT_ONCE 16
#define ACCEPT_AT_ONCE 64

struct listener {
    int fd;
    uint32_t key;
};

struct listening {
    struct loop *loop;
    listening_fn fn;
    void *data;
    int epoll;
    struct loop_source *source;
    struct loop_timer rest;
    pthread_mutex_t lock;
    struct vec listeners; /* struct listener */
};

struct listening *
listening_new(struct loop *loop, listening_fn fn, void *data)
{
    struct listening *listening = calloc(1, sizeof *listening);

    if (listening == NULL) {
        return NULL;
    }
    *listening = (struct listening){
        .loop = loop, .fn = fn, .data = data, .listeners = VEC(struct listener)
    };
    pthread_mutex_init(&listening->lock, NULL);
    listening->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (listening->epoll < 0) {
        listening_free(listening);
        return NULL;
    }
    return listening;
}

void
listening_free(struct listening *listening)
{
    if (listening == NULL) {
        return;
    }
    loop_timer_clear(listening->loop, &listening->rest);
    loop_remove(listening->source);
    for (size_t i = 0; i < listening->listeners.count; i++) {
        close_fd(vec_at(&listening->listeners, struct listener, i)->fd);
    }
    vec_done(&listening->listeners);
    close_fd(listening->epoll);
    pthread_mutex_destroy(&listening->lock);
    free(listening);
}

/* ---- the list ---- */

bool
listening_add(struct listening *listening, int fd, uint32_t key)
{
    struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };
    struct listener *place;

    pthread_mutex_lock(&listening->lock);
    place = vec_add(&listening->listeners);
    if (place != NULL) {
        *place = (struct listener){ fd, key };
        if (epoll_ctl(listening->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
            listening->listeners.count--;
            place = NULL;
        }
    }
    pthread_mutex_unlock(&listening->lock);
    if (place == NULL) {
        close_fd(fd); /* keeps errno */
    }
    return place != NULL;
}

/* Under lock: its index, or the count. */
static size_t
find(const struct listening *listening, int fd)
{
    size_t i = 0;

    while (i < listening->listeners.count &&
            vec_at(&listening->listeners, struct listener, i)->fd != fd) {
        i++;
    }
    return i;
}

void
listening_remove(struct listening *listening, int fd)
{
    uint32_t key = 0;
    size_t i;
    bool was_there;

    pthread_mutex_lock(&listening->lock);
    i = find(listening, fd);
    was_there = i < listening->listeners.count;
    if (was_there) {
        key = vec_at(&listening->listeners, struct listener, i)->key;
        vec_remove(&listening->listeners, i);
        epoll_ctl(listening->epoll, EPOLL_CTL_DEL, fd, NULL);
    }
    pthread_mutex_unlock(&listening->lock);
    for (int client = 0; was_there && client >= 0;) {
        client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (client >= 0) {
            listening->fn(listening->data, key, client);
        }
    }
    if (was_there) {
        close_fd(fd);
    }
}

/* ---- arrivals: loop thread, but for what is asked for ---- */

static void
go_on(void *data)
{
    struct listening *listening = data;

    loop_modify(listening->source, EPOLLIN);
}

/* Without descriptors nothing can be accepted, and epoll would tell of it for ever. */
static void
take_rest(struct listening *listening)
{
    loop_modify(listening->source, 0);
    loop_timer_set(listening->loop, &listening->rest, clock_now_ns() + REST_NS, go_on, listening);
}

/* The number may be another file's by now. */
static int
accept_at(struct listening *listening, int fd, uint32_t *ret_key)
{
    int client = -EAGAIN;
    size_t i;

    pthread_mutex_lock(&listening->lock);
    i = find(listening, fd);
    if (i < listening->listeners.count) {
        *ret_key = vec_at(&listening->listeners, struct listener, i)->key;
        client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        client = client < 0 ? -errno : client;
    }
    pthread_mutex_unlock(&listening->lock);
    return client;
}

void
listening_accept(struct listening *listening, int fd)
{
    uint32_t key = 0;
    int client = accept_at(listening, fd, &key);

    if (client >= 0) {
        listening->fn(listening->data, key, client);
    }
}

static void
on_ready(void *data, uint32_t events)
{
    struct listening *listening = data;
    struct epoll_event ready[READY_AT_ONCE];
    int n = epoll_wait(listening->epoll, ready, READY_AT_ONCE, 0);

    for (int i = 0; i < n; i++) {
        int client = 0;
        uint32_t key = 0;

        for (int k = 0; k < ACCEPT_AT_ONCE && client >= 0; k++) {
            client = accept_at(listening, ready[i].data.fd, &key);
            if (client >= 0) {
                listening->fn(listening->data, key, client);
            }
        }
        if (client == -EMFILE || client == -ENFILE || client == -ENOMEM || client == -ENOBUFS) {
            take_rest(listening);
        }
    }
}

bool
listening_watch(struct listening *listening)
{
    listening->source = loop_add(listening->loop, listening->epoll, EPOLLIN, on_ready, listening);
    return listening->source != NULL;
}
