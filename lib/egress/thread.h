/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: the thread that serves every box of a context, and the ways to it. */
#ifndef ABX_EGRESS_THREAD_H
#define ABX_EGRESS_THREAD_H

#include "egress/egress.h"

#include <event2/event.h>
#include <pthread.h>
#include <stddef.h>

/* A call for the egress thread; embedded in what it is about, which nobody touches until it ran. */
struct post {
    struct post *next;
    void (*run)(struct post *post);
};

struct egress {
    struct event_base *base;
    struct event *wakened;
    uint8_t *scratch;
    int pipe[2];
    struct lookups *lookups;
    struct reading *reading; /* any thread */
    size_t n_parts; /* of all boxes */
    int wake; /* becomes readable when something was posted */
    pthread_t thread;
    pthread_mutex_t lock; /* guards all below */
    struct post *first, **last;
};

/* Any thread; runs in the order in which it was posted. */
void egress_post(struct egress *egress, struct post *post);
/* Any other thread: calls and waits until it has run, and everything that was posted before. */
void egress_call(struct egress *egress, void (*fn)(void *data), void *data);

#endif
