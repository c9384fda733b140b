/* SPDX-License-Identifier: Apache-2.0
 * The supervisor's event loop: descriptors, timers and calls posted from other threads, on one
 * thread. Everything but loop_post and loop_call belongs to the loop's thread (or to its owner
 * before loop_run and after it returned). */
#ifndef ABX_BASE_LOOP_H
#define ABX_BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct loop_source;

typedef void (*loop_ready_fn)(void *data, uint32_t epoll_events);
typedef void (*loop_call_fn)(void *data);

struct loop *loop_new(void); /* NULL: errno says why */
void loop_free(struct loop *loop);
/* Runs until loop_stop. */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop); /* any thread */
bool loop_is_own_thread(struct loop *loop);

/* Borrows fd.  Removal inside any callback is safe: a removed source is not called again. */
struct loop_source *loop_add(
        struct loop *loop, int fd, uint32_t epoll_events, loop_ready_fn fn, void *data);
void loop_modify(struct loop_source *source, uint32_t epoll_events);
void loop_remove(struct loop_source *source); /* NULL is nothing */
/* This one is likely to be the next, and its waker says that it is about to sleep: the kernel then
 * moves the loop's thread to that processor, which it does not through an epoll set.  Counts when
 * it is said twice in a row, and until it is of another one, or the events are modified. */
void loop_prefer(struct loop_source *source);

/* A part of its owner, zero at first, so that setting it can't fail. */
struct loop_timer {
    struct loop_timer *next;
    uint64_t when_ns;
    loop_call_fn fn;
    void *data;
    bool is_set; /* not any more when fn is called */
};

/* Calls once at a monotonic time in ns.  A timer that is set moves; its owner clears it before it
 * goes. */
void loop_timer_set(
        struct loop *loop, struct loop_timer *timer, uint64_t when_ns, loop_call_fn fn, void *data);
void loop_timer_clear(struct loop *loop, struct loop_timer *timer);
uint64_t clock_now_ns(void); /* CLOCK_MONOTONIC */

/* Any thread: runs fn on the loop's thread later; false if memory ran out or the loop stopped. */
bool loop_post(struct loop *loop, loop_call_fn fn, void *data);
/* Any other thread: the same, and waits until it has run.  On the loop's own thread calls at once.
 */
bool loop_call(struct loop *loop, loop_call_fn fn, void *data);

#endif
