/* SPDX-License-Identifier: Apache-2.0
 * Owns the event loop: an epoll set, a sorted list of timers and a queue of calls posted by other
 * threads.  Knows nothing of what it serves.  The queue has the only lock, never held during a
 * call; everything else belongs to the loop's thread. */
#include "base/loop.h"

#include "base/mem.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define BATCH 64

struct loop_source {
    struct loop *loop;
    struct loop_source *previous, *next; /* in the loop's list of live sources, or of dead ones */
    int fd;
    uint32_t events;
    bool dead; /* removed; freed when no batch of events can name it any more */
    loop_ready_fn fn;
    void *data;
};

struct posted {
    struct posted *next;
    loop_call_fn fn;
    void *data;
    bool waited_for; /* lives on the stack of loop_call, which waits for `done` */
    bool done;
};

struct loop {
    int epoll;
    int wake; /* eventfd: something was posted, or stop */
    struct loop_source *sources;
    struct loop_source *dead;
    struct loop_source *preferred; /* polled itself, with no events in the epoll set; or NULL */
    const struct loop_source *likely; /* the last that asked to be preferred; may be gone */
    struct loop_timer *timers; /* soonest first */
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t called;
    struct posted *first, **last;
    bool stop; /* loop_stop was called */
    bool over; /* loop_run has returned: nothing posted would run */
    bool running;
    pthread_t thread;
};

uint64_t
clock_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct loop *
loop_new(void)
{
    struct loop *loop = calloc(1, sizeof *loop);
    struct epoll_event event = { .events = EPOLLIN };

    if (loop == NULL) {
        return NULL;
    }
    pthread_mutex_init(&loop->lock, NULL);
    pthread_cond_init(&loop->called, NULL);
    loop->last = &loop->first;
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop->epoll < 0 || loop->wake < 0 ||
            epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->wake, &event) < 0) {
        int saved = errno;

        loop_free(loop);
        errno = saved;
        return NULL;
    }
    return loop;
}

static void
free_sources(struct loop_source **list)
{
    while (*list != NULL) {
        struct loop_source *source = *list;

        *list = source->next;
        free(source);
    }
}

void
loop_free(struct loop *loop)
{
    if (loop == NULL) {
        return;
    }
    free_sources(&loop->sources);
    free_sources(&loop->dead);
    while (loop->first != NULL) { /* the loop never ran */
        struct posted *posted = loop->first;

        loop->first = posted->next;
        free(posted);
    }
    close_fd(loop->epoll);
    close_fd(loop->wake);
    pthread_cond_destroy(&loop->called);
    pthread_mutex_destroy(&loop->lock);
    free(loop);
}

static void
wake(struct loop *loop)
{
    uint64_t one = 1;

    /* EAGAIN: the counter is full, so the loop wakes up anyway. */
    while (write(loop->wake, &one, sizeof one) < 0 && errno == EINTR) {
    }
}

bool
loop_is_own_thread(struct loop *loop)
{
    bool own;

    pthread_mutex_lock(&loop->lock);
    own = loop->running && pthread_equal(loop->thread, pthread_self());
    pthread_mutex_unlock(&loop->lock);
    return own;
}

/* ---- sources ---- */
struct loop_source *
loop_add(struct loop *loop, int fd, uint32_t epoll_events, loop_ready_fn fn, void *data)
{
    struct loop_source *source = calloc(1, sizeof *source);
    struct epoll_event event = { .events = epoll_events, .data.ptr = source };

    if (source == NULL) {
        return NULL;
    }
    *source = (struct loop_source){
        .loop = loop, .fd = fd, .events = epoll_events, .fn = fn, .data = data
    };
    if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
        int saved = errno;

        free(source);
        errno = saved;
        return NULL;
    }
    source->next = loop->sources;
    if (source->next != NULL) {
        source->next->previous = source;
    }
    loop->sources = source;
    return source;
}

static void
set_events(struct loop_source *source, uint32_t epoll_events)
{
    struct epoll_event event = { .events = epoll_events, .data.ptr = source };

    epoll_ctl(source->loop->epoll, EPOLL_CTL_MOD, source->fd, &event);
}

void
loop_modify(struct loop_source *source, uint32_t epoll_events)
{
    struct loop *loop = source->loop;

    loop->preferred = loop->preferred == source ? NULL : loop->preferred;
    source->events = epoll_events;
    set_events(source, epoll_events);
}

void
loop_prefer(struct loop_source *source)
{
    struct loop *loop = source->loop;

    bool again = loop->likely == source;

    loop->likely = source;
    if (!again || loop->preferred == source || source->dead) {
        return;
    }
    if (loop->preferred != NULL) {
        set_events(loop->preferred, loop->preferred->events);
    }
    loop->preferred = source;
    set_events(source, 0);
}

void
loop_remove(struct loop_source *source)
{
    struct loop *loop;

    if (source == NULL || source->dead) {
        return;
    }
    loop = source->loop;
    loop->preferred = loop->preferred == source ? NULL : loop->preferred;
    epoll_ctl(loop->epoll, EPOLL_CTL_DEL, source->fd, NULL);
    if (source->previous != NULL) {
        source->previous->next = source->next;
    } else {
        loop->sources = source->next;
    }
    if (source->next != NULL) {
        source->next->previous = source->previous;
    }
    source->dead = true;
    source->next = loop->dead;
    loop->dead = source;
}

/* ---- timers ---- */
void
loop_timer_set(
        struct loop *loop, struct loop_timer *timer, uint64_t when_ns, loop_call_fn fn, void *data)
{
    struct loop_timer **place = &loop->timers;

    loop_timer_clear(loop, timer);
    while (*place != NULL && (*place)->when_ns <= when_ns) {
        place = &(*place)->next;
    }
    *timer = (struct loop_timer){
        .next = *place, .when_ns = when_ns, .fn = fn, .data = data, .is_set = true
    };
    *place = timer;
}

void
loop_timer_clear(struct loop *loop, struct loop_timer *timer)
{
    struct loop_timer **place = &loop->timers;

    if (!timer->is_set) {
        return;
    }
    while (*place != timer) {
        place = &(*place)->next;
    }
    *place = timer->next;
    timer->is_set = false;
}

/* Milliseconds until the next timer, rounded up so that it is due then; -1 without one. */
static int
next_timeout(const struct loop *loop)
{
    uint64_t now, ms;

    if (loop->timers == NULL) {
        return -1;
    }
    now = clock_now_ns();
    if (loop->timers->when_ns <= now) {
        return 0;
    }
    ms = (loop->timers->when_ns - now + 999999) / 1000000;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

static void
run_timers(struct loop *loop)
{
    uint64_t now = loop->timers == NULL ? 0 : clock_now_ns();

    while (loop->timers != NULL && loop->timers->when_ns <= now) {
        struct loop_timer *timer = loop->timers;

        loop_timer_clear(loop, timer);
        timer->fn(timer->data);
    }
}

/* ---- calls from other threads ---- */
static bool
enqueue(struct loop *loop, struct posted *posted)
{
    bool taken;

    pthread_mutex_lock(&loop->lock);
    taken = !loop->over;
    if (taken) {
        *loop->last = posted;
        loop->last = &posted->next;
    }
    pthread_mutex_unlock(&loop->lock);
    if (taken) {
        wake(loop);
    }
    return taken;
}

bool
loop_post(struct loop *loop, loop_call_fn fn, void *data)
{
    struct posted *posted = calloc(1, sizeof *posted);

    if (posted == NULL) {
        return false;
    }
    posted->fn = fn;
    posted->data = data;
    if (!enqueue(loop, posted)) {
        free(posted);
        return false;
    }
    return true;
}

bool
loop_call(struct loop *loop, loop_call_fn fn, void *data)
{
    struct posted posted = { .fn = fn, .data = data, .waited_for = true };

    if (loop_is_own_thread(loop)) {
        fn(data);
        return true;
    }
    if (!enqueue(loop, &posted)) {
        return false;
    }
    pthread_mutex_lock(&loop->lock);
    while (!posted.done) {
        pthread_cond_wait(&loop->called, &loop->lock);
    }
    pthread_mutex_unlock(&loop->lock);
    return true;
}

static void
run_one(struct loop *loop, struct posted *posted)
{
    posted->fn(posted->data);
    if (!posted->waited_for) {
        free(posted);
        return;
    }
    pthread_mutex_lock(&loop->lock);
    posted->done = true;
    pthread_cond_broadcast(&loop->called);
    pthread_mutex_unlock(&loop->lock);
}

/* Runs what was posted until now; what these calls post waits for the next round, so that
 * descriptors are served in between.  False when the loop shall end: then nothing can be posted any
 * more. */
static bool
run_posted(struct loop *loop)
{
    struct posted *first;
    bool over;

    pthread_mutex_lock(&loop->lock);
    first = loop->first;
    loop->first = NULL;
    loop->last = &loop->first;
    over = loop->stop && first == NULL;
    loop->over = over;
    pthread_mutex_unlock(&loop->lock);
    while (first != NULL) {
        struct posted *posted = first;

        first = posted->next;
        run_one(loop, posted);
    }
    return !over;
}

static void
run_batch(struct loop *loop, int timeout)
{
    struct epoll_event events[BATCH];
    int n = epoll_wait(loop->epoll, events, BATCH, timeout);

    for (int i = 0; i < n; i++) {
        struct loop_source *source = events[i].data.ptr;
        uint64_t count;

        if (source == NULL) {
            while (read(loop->wake, &count, sizeof count) < 0 && errno == EINTR) {
            }
        } else if (!source->dead) {
            source->fn(source->data, events[i].events);
        }
    }
}

/* Waits for the preferred source itself and for all others by the epoll set. */
static void
run_preferred(struct loop *loop, int timeout)
{
    struct loop_source *source = loop->preferred;
    struct pollfd fds[2] = { { .fd = source->fd, .events = (short)source->events },
        { .fd = loop->epoll, .events = POLLIN } };

    if (poll(fds, N_ELEMENTS(fds), timeout) <= 0) {
        return;
    }
    if (fds[0].revents != 0) {
        source->fn(source->data, (uint32_t)(unsigned short)fds[0].revents);
    }
    if (fds[1].revents != 0) {
        run_batch(loop, 0);
    }
}

static void
run_ready(struct loop *loop)
{
    bool posted;
    int timeout;

    pthread_mutex_lock(&loop->lock);
    posted = loop->first != NULL || loop->stop;
    pthread_mutex_unlock(&loop->lock);
    timeout = posted ? 0 : next_timeout(loop);
    if (loop->preferred != NULL) {
        run_preferred(loop, timeout);
    } else {
        run_batch(loop, timeout);
    }
    free_sources(&loop->dead);
}

void
loop_run(struct loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    loop->thread = pthread_self();
    loop->running = true;
    pthread_mutex_unlock(&loop->lock);
    while (run_posted(loop)) {
        run_ready(loop);
        run_timers(loop);
    }
    pthread_mutex_lock(&loop->lock);
    loop->running = false;
    pthread_mutex_unlock(&loop->lock);
}

void
loop_stop(struct loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    loop->stop = true;
    pthread_mutex_unlock(&loop->lock);
    wake(loop);
}
