/* SPDX-License-Identifier: Apache-2.0
 * Owns abx_context and the supervisor thread, which starts with the first box and ends with the
 * last reference.  Every box holds a reference, so the thread never drops the last one itself. */
#include "supervise/context.h"

#include "egress/egress.h"
#include "supervise/canary.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define SUPERVISOR_STACK (512u << 10)

abx_status
context_new(const struct backend *backend, const char *init_path, size_t events,
        abx_context **ret_context, struct fail *fail)
{
    abx_context *context = calloc(1, sizeof *context);
    char *path = init_path == NULL ? NULL : strdup(init_path);
    int error;

    if (context == NULL || (init_path != NULL && path == NULL)) {
        free(context);
        free(path);
        return fail_nomem(fail);
    }
    error = queue_init(&context->queue, events);
    if (error != 0) {
        free(context);
        free(path);
        return fail_set(fail, ABX_ERR_IO, error, "pipe:events", "no pipe for the wait handle");
    }
    atomic_init(&context->references, 1);
    context->backend = backend;
    context->init_path = path;
    context->boxes = VEC(struct abx_box *);
    canary_init(context);
    atomic_flag_clear(&context->dispatching);
    pthread_mutex_init(&context->starting, NULL);
    pthread_mutex_init(&context->lock, NULL);
    *ret_context = context;
    return ABX_OK;
}

abx_context *
context_ref(abx_context *context)
{
    atomic_fetch_add_explicit(&context->references, 1, memory_order_relaxed);
    return context;
}

void
context_unref(abx_context *context)
{
    if (context == NULL ||
            atomic_fetch_sub_explicit(&context->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    egress_free(context->egress);
    if (context->loop != NULL) {
        loop_stop(context->loop);
        pthread_join(context->thread, NULL);
        loop_free(context->loop);
    }
    canary_done(context);
    vec_done(&context->boxes);
    queue_done(&context->queue);
    pthread_mutex_destroy(&context->lock);
    pthread_mutex_destroy(&context->starting);
    free(context->init_path);
    free(context);
}

static void *
supervise(void *data)
{
    pthread_setname_np(pthread_self(), "abx-supervise");
    loop_run(data);
    return NULL;
}

/* The thread is born with every signal blocked, so no handler of the host ever runs on it. */
static int
start_thread(pthread_t *ret_thread, struct loop *loop)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int error;

    error = pthread_attr_init(&attributes);
    if (error != 0) {
        return error;
    }
    pthread_attr_setstacksize(&attributes, SUPERVISOR_STACK);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(ret_thread, &attributes, supervise, loop);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

static abx_status
start_locked(abx_context *context, struct fail *fail)
{
    struct loop *loop;
    int error;

    if (!context->probed) {
        error = -context->backend->probe(&context->capabilities);
        if (error != 0) {
            return fail_set(fail, ABX_ERR_SETUP, error, "start:probe",
                    "what the host can do cannot be found out now");
        }
        context->probed = true;
    }
    if (context->loop != NULL) {
        return ABX_OK;
    }
    loop = loop_new();
    if (loop == NULL) {
        return fail_set(
                fail, ABX_ERR_SETUP, errno, "start:loop", "the supervisor has no event loop");
    }
    error = start_thread(&context->thread, loop);
    if (error != 0) {
        loop_free(loop);
        return fail_set(fail, ABX_ERR_SETUP, error, "start:supervisor",
                "the supervisor thread did not start");
    }
    context->loop = loop;
    return ABX_OK;
}

abx_status
context_start(abx_context *context, struct fail *fail)
{
    abx_status r;

    pthread_mutex_lock(&context->starting);
    r = start_locked(context, fail);
    pthread_mutex_unlock(&context->starting);
    return r;
}

abx_status
context_dispatch(abx_context *context, abx_event_fn fn, void *user_data)
{
    AUTO(context_unrefp) abx_context *held = context_ref(context);
    size_t count = queue_count(&context->queue);
    abx_status r = ABX_NONE;
    abx_event *event;

    if (atomic_flag_test_and_set(&context->dispatching)) {
        return ABX_NONE;
    }
    for (size_t i = 0; i < count; i++) {
        abx_status taken = queue_take(&held->queue, &event);

        if (taken != ABX_OK) {
            r = taken < 0 ? taken : r;
            break;
        }
        fn(user_data, event);
        event_unref(event);
        r = ABX_OK;
    }
    atomic_flag_clear(&context->dispatching);
    return r;
}
