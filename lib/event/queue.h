/* SPDX-License-Identifier: Apache-2.0
 * The bounded queue between the supervisor and the host, and the pipe end that tells the host's
 * event loop.  Any thread; its lock is a leaf, and under it are only calls that do not block. */
#ifndef ABX_EVENT_QUEUE_H
#define ABX_EVENT_QUEUE_H

#include "event/event.h"

#include <pthread.h>

#define QUEUE_EVENTS_DEFAULT 4096u

struct event_queue {
    pthread_mutex_t lock;
    abx_event *first, *last;
    size_t count, limit;
    uint64_t dropped; /* not yet told by a DROPPED event */
    int pipe[2]; /* readable while something is to be taken */
};

int queue_init(struct event_queue *queue, size_t limit); /* 0 or an errno */
void queue_done(struct event_queue *queue);

/* Takes the reference (NULL, an event for which there was no memory, counts as dropped).  When the
 * queue is full the oldest denial or notice goes. */
void queue_push(struct event_queue *queue, abx_event *event);
/* Counts more attempts into an event that was not taken yet; false if it was. */
bool queue_repeat(struct event_queue *queue, abx_event *event, uint64_t times);
/* ABX_OK and an event, ABX_NONE, or ABX_ERR_NOMEM (nothing is lost). */
abx_status queue_take(struct event_queue *queue, abx_event **ret_event);
size_t queue_count(struct event_queue *queue);
int queue_handle(struct event_queue *queue); /* a duplicate of the pipe's read end, or -1 */

#endif
