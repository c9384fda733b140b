/* SPDX-License-Identifier: Apache-2.0
 * A bounded pool of threads that ask the host's resolver, which may block for as long as it likes.
 * They start when there is work and end when there is none.  A box has only some of them, so its
 * slow resolver does not hold up the others.
 *
 * Nobody can interrupt getaddrinfo, so the pool may outlive its owner: whoever is last frees it.
 * (The library is linked so that it is never unloaded.) */
#include "egress/lookup.h"

#include "base/mem.h"
#include "base/thread.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STACK_SIZE (256u << 10)
#define IDLE_SECONDS 2

enum state { WAITING, READY, RUNNING, DONE };

struct line {
    struct lookup *first, **last;
    unsigned int length;
};

struct lookup {
    struct post post;
    struct lookups *lookups;
    struct lookup *next; /* in a line */
    const void *owner;
    enum state state;
    bool cancelled;
    lookup_fn fn;
    void *data;
    int error;
    struct addrinfo *addresses;
    char port[8];
    char name[];
};

struct lookups {
    struct egress *egress; /* NULL: it is gone */
    pthread_mutex_t lock; /* guards all, and the states of lookups */
    pthread_cond_t changed;
    struct line waiting; /* their boxes use all the threads that they may */
    struct line ready; /* the next thread takes the first */
    struct line running;
    unsigned int n_threads, n_idle;
    bool ending;
};

static void
lookup_free(struct lookup *lookup)
{
    if (lookup->addresses != NULL) {
        freeaddrinfo(lookup->addresses);
    }
    free(lookup);
}

static void
pool_free(struct lookups *lookups)
{
    pthread_mutex_destroy(&lookups->lock);
    pthread_cond_destroy(&lookups->changed);
    free(lookups);
}

/* ---- lines; the lock is held ---- */
static void
append(struct line *line, struct lookup *lookup)
{
    lookup->next = NULL;
    *line->last = lookup;
    line->last = &lookup->next;
    line->length++;
}

static void
take_out(struct line *line, struct lookup *lookup)
{
    struct lookup **place = &line->first;

    while (*place != lookup) {
        place = &(*place)->next;
    }
    *place = lookup->next;
    if (lookup->next == NULL) {
        line->last = place;
    }
    line->length--;
}

static unsigned int
count_of(const struct line *line, const void *owner)
{
    unsigned int n = 0;

    for (const struct lookup *lookup = line->first; lookup != NULL; lookup = lookup->next) {
        n += lookup->owner == owner ? 1 : 0;
    }
    return n;
}

static bool
may_run(const struct lookups *lookups, const struct lookup *lookup)
{
    return count_of(&lookups->ready, lookup->owner) + count_of(&lookups->running, lookup->owner) <
           LOOKUP_THREADS_OF_A_BOX;
}

static void
make_ready(struct lookups *lookups, struct lookup *lookup)
{
    lookup->state = READY;
    append(&lookups->ready, lookup);
    pthread_cond_signal(&lookups->changed);
}

/* A box has a thread again. */
static void
make_next_ready(struct lookups *lookups)
{
    for (struct lookup *lookup = lookups->waiting.first; lookup != NULL; lookup = lookup->next) {
        if (may_run(lookups, lookup)) {
            take_out(&lookups->waiting, lookup);
            make_ready(lookups, lookup);
            return;
        }
    }
}

/* ---- the threads; the lock is held unless it says otherwise ---- */
static struct lookup *
wait_for_work(struct lookups *lookups)
{
    struct lookup *lookup;
    struct timespec until;
    int error = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += IDLE_SECONDS;
    lookups->n_idle++;
    while (!lookups->ending && error == 0 && lookups->ready.first == NULL) {
        error = pthread_cond_timedwait(&lookups->changed, &lookups->lock, &until);
    }
    lookups->n_idle--;
    lookup = lookups->ending ? NULL : lookups->ready.first;
    if (lookup != NULL) {
        take_out(&lookups->ready, lookup);
        lookup->state = RUNNING;
        append(&lookups->running, lookup);
    }
    return lookup;
}

static void
hand_back(struct post *post)
{
    struct lookup *lookup = (struct lookup *)post;

    if (!lookup->cancelled) {
        lookup->fn(lookup->data, lookup->error, lookup->addresses);
    }
    lookup_free(lookup);
}

/* Unlocks while the resolver works. */
static void
run_lookup(struct lookups *lookups, struct lookup *lookup)
{
    static const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
        .ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV };

    pthread_mutex_unlock(&lookups->lock);
    lookup->error = getaddrinfo(lookup->name, lookup->port, &hints, &lookup->addresses);
    if (lookup->error != 0) {
        lookup->addresses = NULL;
    }
    pthread_mutex_lock(&lookups->lock);
    take_out(&lookups->running, lookup);
    lookup->state = DONE;
    if (lookup->cancelled) {
        lookup_free(lookup);
    } else {
        egress_post(lookups->egress, &lookup->post);
    }
    make_next_ready(lookups);
}

static void *
work(void *data)
{
    struct lookups *lookups = data;
    struct lookup *lookup;
    bool last;

    pthread_setname_np(pthread_self(), "abx-lookup");
    pthread_mutex_lock(&lookups->lock);
    while ((lookup = wait_for_work(lookups)) != NULL) {
        run_lookup(lookups, lookup);
    }
    lookups->n_threads--;
    last = lookups->egress == NULL && lookups->n_threads == 0;
    pthread_cond_broadcast(&lookups->changed);
    pthread_mutex_unlock(&lookups->lock);
    if (last) {
        pool_free(lookups);
    }
    return NULL;
}

static void
start_thread(struct lookups *lookups)
{
    if (thread_start(NULL, STACK_SIZE, work, lookups) == 0) {
        lookups->n_threads++;
    }
}

/* ---- the egress thread ---- */
struct lookups *
lookups_new(struct egress *egress)
{
    struct lookups *lookups = calloc(1, sizeof *lookups);

    if (lookups == NULL) {
        return NULL;
    }
    lookups->egress = egress;
    lookups->waiting.last = &lookups->waiting.first;
    lookups->ready.last = &lookups->ready.first;
    lookups->running.last = &lookups->running.first;
    pthread_mutex_init(&lookups->lock, NULL);
    condition_init(&lookups->changed);
    return lookups;
}

void
lookups_free(struct lookups *lookups)
{
    bool last;

    if (lookups == NULL) {
        return;
    }
    pthread_mutex_lock(&lookups->lock);
    lookups->ending = true;
    pthread_cond_broadcast(&lookups->changed);
    while (lookups->n_threads > lookups->running.length) { /* those may be stuck for long */
        pthread_cond_wait(&lookups->changed, &lookups->lock);
    }
    lookups->egress = NULL;
    last = lookups->n_threads == 0;
    pthread_mutex_unlock(&lookups->lock);
    if (last) {
        pool_free(lookups);
    }
}

/* False: it cannot be done; the lock is held. */
static bool
enter(struct lookups *lookups, struct lookup *lookup)
{
    if (!may_run(lookups, lookup)) {
        if (lookups->waiting.length >= LOOKUPS_WAITING) {
            return false;
        }
        append(&lookups->waiting, lookup);
        return true;
    }
    if (lookups->n_idle <= lookups->ready.length && lookups->n_threads < LOOKUP_THREADS) {
        start_thread(lookups);
    }
    if (lookups->n_threads == 0) {
        return false;
    }
    make_ready(lookups, lookup);
    return true;
}

struct lookup *
lookup_start(struct lookups *lookups, const void *owner, const char *name, uint16_t port,
        lookup_fn fn, void *data)
{
    size_t size = strlen(name) + 1;
    struct lookup *lookup = calloc(1, sizeof *lookup + size);
    bool taken;

    if (lookup == NULL) {
        return NULL;
    }
    lookup->post.run = hand_back;
    lookup->lookups = lookups;
    lookup->owner = owner;
    lookup->fn = fn;
    lookup->data = data;
    memcpy(lookup->name, name, size);
    snprintf(lookup->port, sizeof lookup->port, "%u", port);
    pthread_mutex_lock(&lookups->lock);
    taken = enter(lookups, lookup);
    pthread_mutex_unlock(&lookups->lock);
    if (!taken) {
        free(lookup);
        return NULL;
    }
    return lookup;
}

void
lookup_cancel(struct lookup *lookup)
{
    struct lookups *lookups = lookup->lookups;
    enum state state;

    pthread_mutex_lock(&lookups->lock);
    state = lookup->state;
    lookup->cancelled = true;
    if (state <= READY) {
        take_out(state == READY ? &lookups->ready : &lookups->waiting, lookup);
    }
    if (state == READY) {
        make_next_ready(lookups);
    }
    pthread_mutex_unlock(&lookups->lock);
    if (state <= READY) {
        free(lookup);
    }
}
