/* SPDX-License-Identifier: Apache-2.0
 * Owns the egress thread of a context and its libevent base, which only that thread uses.  Other
 * threads post calls.  Knows nothing of what it runs.
 *
 * libevent is a guest's guest here: nothing global of it is set (log and memory functions, locks,
 * signals), since the host may use it too.  So nothing may happen that it would report or exit for
 * (base.c).
 */
#include "egress/lookup.h"
#include "egress/reading.h"
#include "egress/thread.h"

#include "base/mem.h"
#include "base/thread.h"
#include "egress/base.h"
#include "egress/box.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define STACK_SIZE (512u << 10)

/* ---- calls from other threads ---- */
static void
wake(struct egress *egress)
{
    uint64_t one = 1;

    while (write(egress->wake, &one, sizeof one) < 0 && errno == EINTR) {
    }
}

void
egress_post(struct egress *egress, struct post *post)
{
    bool was_empty;

    post->next = NULL;
    pthread_mutex_lock(&egress->lock);
    was_empty = egress->first == NULL;
    *egress->last = post;
    egress->last = &post->next;
    pthread_mutex_unlock(&egress->lock);
    if (was_empty) {
        wake(egress);
    }
}

/* Runs what was posted until now; what comes meanwhile waits for its turn behind descriptors. */
static void
run_posted(evutil_socket_t fd, short events, void *data)
{
    struct egress *egress = data;
    struct post *post;
    uint64_t count;

    while (read(egress->wake, &count, sizeof count) < 0 && errno == EINTR) {
    }
    pthread_mutex_lock(&egress->lock);
    post = egress->first;
    egress->first = NULL;
    egress->last = &egress->first;
    pthread_mutex_unlock(&egress->lock);
    while (post != NULL) {
        struct post *next = post->next;

        post->run(post);
        post = next;
    }
}

struct call {
    struct post post;
    void (*fn)(void *data);
    void *data;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done;
};

static void
run_call(struct post *post)
{
    struct call *call = (struct call *)post;

    call->fn(call->data);
    pthread_mutex_lock(&call->lock);
    call->done = true;
    pthread_cond_signal(&call->changed);
    pthread_mutex_unlock(&call->lock);
}

void
egress_call(struct egress *egress, void (*fn)(void *data), void *data)
{
    struct call call = { .post.run = run_call, .fn = fn, .data = data };

    pthread_mutex_init(&call.lock, NULL);
    pthread_cond_init(&call.changed, NULL);
    egress_post(egress, &call.post);
    pthread_mutex_lock(&call.lock);
    while (!call.done) {
        pthread_cond_wait(&call.changed, &call.lock);
    }
    pthread_mutex_unlock(&call.lock);
    pthread_cond_destroy(&call.changed);
    pthread_mutex_destroy(&call.lock);
}

/* ---- the thread ---- */
static void *
run(void *data)
{
    struct egress *egress = data;

    pthread_setname_np(pthread_self(), "abx-egress");
    event_base_loop(egress->base, 0);
    return NULL;
}

/* All that is not the thread. */
static void
discard(struct egress *egress)
{
    if (egress->wakened != NULL) {
        event_free(egress->wakened);
    }
    if (egress->base != NULL) {
        event_base_free(egress->base);
    }
    lookups_free(egress->lookups);
    reading_free(egress->reading);
    close_fd(egress->wake);
    close_fd(egress->pipe[0]);
    close_fd(egress->pipe[1]);
    pthread_mutex_destroy(&egress->lock);
    free(egress->scratch);
    free(egress);
}

abx_status
egress_new(struct egress **ret_egress, struct fail *fail)
{
    struct egress *egress = calloc(1, sizeof *egress);
    int error = 0;

    if (egress == NULL) {
        return fail_nomem(fail);
    }
    pthread_mutex_init(&egress->lock, NULL);
    egress->last = &egress->first;
    egress->pipe[0] = egress->pipe[1] = -1;
    egress->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    error = egress->wake < 0 ? errno : 0;
    if (error == 0 && pipe2(egress->pipe, O_CLOEXEC | O_NONBLOCK) < 0) {
        error = errno;
    }
    egress->scratch = malloc(SCRATCH_SIZE);
    egress->lookups = lookups_new(egress);
    egress->reading = reading_new();
    egress->base = error == 0 ? base_new(&error) : NULL;
    if (egress->base != NULL) {
        egress->wakened =
                event_new(egress->base, egress->wake, EV_READ | EV_PERSIST, run_posted, egress);
    }
    if (error == 0 &&
            (egress->scratch == NULL || egress->lookups == NULL || egress->reading == NULL ||
                    egress->wakened == NULL || event_add(egress->wakened, NULL) != 0)) {
        error = ENOMEM;
    }
    error = error == 0 ? thread_start(&egress->thread, STACK_SIZE, run, egress) : error;
    if (error != 0) {
        discard(egress);
        return error == ENOMEM ? fail_nomem(fail)
                               : fail_set(fail, ABX_ERR_SETUP, error, "start:egress",
                                         "the thread of the way out did not start");
    }
    *ret_egress = egress;
    return ABX_OK;
}

static void
stop(void *data)
{
    struct egress *egress = data;

    event_base_loopbreak(egress->base);
}

void
egress_free(struct egress *egress)
{
    if (egress == NULL) {
        return;
    }
    egress_call(egress, stop, egress);
    pthread_join(egress->thread, NULL);
    discard(egress);
}
