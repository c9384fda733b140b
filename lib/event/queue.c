/* SPDX-License-Identifier: Apache-2.0
 * Owns queued events and the wait pipe.  One byte is in the pipe while something can be taken; a
 * host that reads it itself gets another one with the next event it takes or that comes. */
#include "event/queue.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <unistd.h>

int
queue_init(struct event_queue *queue, size_t limit)
{
    *queue = (struct event_queue){ .limit = limit, .pipe = { -1, -1 } };
    if (pipe2(queue->pipe, O_CLOEXEC | O_NONBLOCK) < 0) {
        return errno;
    }
    pthread_mutex_init(&queue->lock, NULL);
    return 0;
}

void
queue_done(struct event_queue *queue)
{
    while (queue->first != NULL) {
        abx_event *event = queue->first;

        queue->first = event->next;
        event_unref(event);
    }
    close_fd(queue->pipe[0]);
    close_fd(queue->pipe[1]);
    pthread_mutex_destroy(&queue->lock);
}

/* Makes the pipe agree with the queue. */
static void
update_pipe(struct event_queue *queue)
{
    bool wanted = queue->count > 0 || queue->dropped > 0;
    int waiting = 0;
    char bytes[16];

    if (ioctl(queue->pipe[0], FIONREAD, &waiting) < 0) {
        return;
    }
    if (wanted && waiting == 0) {
        while (write(queue->pipe[1], "", 1) < 0 && errno == EINTR) {
        }
    }
    while (!wanted && (read(queue->pipe[0], bytes, sizeof bytes) > 0 || errno == EINTR)) {
    }
}

static void
unlink_event(struct event_queue *queue, abx_event *event)
{
    *(event->previous == NULL ? &queue->first : &event->previous->next) = event->next;
    *(event->next == NULL ? &queue->last : &event->next->previous) = event->previous;
    event->previous = NULL;
    event->next = NULL;
    event->queued = false;
    queue->count--;
}

static bool
can_be_dropped(const abx_event *event)
{
    return event->type == ABX_EVENT_DENIAL || event->type == ABX_EVENT_NOTICE ||
           event->type == ABX_EVENT_LOG;
}

/* Drops the oldest event that may go, if there is one. */
static bool
make_room(struct event_queue *queue)
{
    abx_event *event = queue->first;

    while (event != NULL && !can_be_dropped(event)) {
        event = event->next;
    }
    if (event == NULL) {
        return false;
    }
    queue->dropped++;
    unlink_event(queue, event);
    event_unref(event);
    return true;
}

static void
append(struct event_queue *queue, abx_event *event)
{
    event->previous = queue->last;
    *(queue->last == NULL ? &queue->first : &queue->last->next) = event;
    queue->last = event;
    event->queued = true;
    queue->count++;
}

void
queue_push(struct event_queue *queue, abx_event *event)
{
    pthread_mutex_lock(&queue->lock);
    if (event == NULL ||
            (queue->count >= queue->limit && !make_room(queue) && can_be_dropped(event))) {
        queue->dropped++;
        event_unref(event);
    } else {
        append(queue, event);
    }
    update_pipe(queue);
    pthread_mutex_unlock(&queue->lock);
}

bool
queue_repeat(struct event_queue *queue, abx_event *event, uint64_t times)
{
    bool queued;

    pthread_mutex_lock(&queue->lock);
    queued = event->queued;
    if (queued) {
        event_find(event, ABX_FIELD_REPEATS)->number += (int64_t)times;
    }
    pthread_mutex_unlock(&queue->lock);
    return queued;
}

static abx_event *
make_dropped(uint64_t dropped)
{
    struct event_draft draft = { .type = ABX_EVENT_DROPPED };

    draft_number(&draft, ABX_FIELD_TIME_NS, event_time_now());
    draft_number(&draft, ABX_FIELD_DROPPED, (int64_t)dropped);
    return event_make(&draft);
}

abx_status
queue_take(struct event_queue *queue, abx_event **ret_event)
{
    abx_event *event = NULL;
    abx_status r = ABX_OK;

    pthread_mutex_lock(&queue->lock);
    if (queue->dropped > 0) { /* the oldest went, so it comes first */
        event = make_dropped(queue->dropped);
        r = event == NULL ? ABX_ERR_NOMEM : ABX_OK;
        queue->dropped = event == NULL ? queue->dropped : 0;
    } else if (queue->first != NULL) {
        event = queue->first;
        unlink_event(queue, event);
    } else {
        r = ABX_NONE;
    }
    update_pipe(queue);
    pthread_mutex_unlock(&queue->lock);
    if (r == ABX_OK) {
        *ret_event = event;
    }
    return r;
}

size_t
queue_count(struct event_queue *queue)
{
    size_t count;

    pthread_mutex_lock(&queue->lock);
    count = queue->count + (queue->dropped > 0);
    pthread_mutex_unlock(&queue->lock);
    return count;
}

int
queue_handle(struct event_queue *queue)
{
    return fcntl(queue->pipe[0], F_DUPFD_CLOEXEC, 3);
}
