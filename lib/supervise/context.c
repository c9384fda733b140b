/* SPDX-License-Identifier: Apache-2.0
 * Owns abx_context and its threads, the supervisor's and the mask's, which start with the first box
 * that needs them and end with the last reference.  Every box holds a reference, so neither drops
 * the last one itself. */
#include "supervise/context.h"

#include "base/thread.h"
#include "egress/egress.h"
#include "supervise/canary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

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
    pthread_mutex_init(&context->telling, NULL);
    pthread_mutex_init(&context->lock, NULL);
    *ret_context = context;
    return ABX_OK;
}

abx_status
context_keep_audit(abx_context *context, const char *path, const struct audit_options *options,
        struct fail *fail)
{
    uint64_t random;
    abx_status r;

    if (getrandom(&random, sizeof random, 0) != sizeof random) {
        return fail_set(fail, ABX_ERR_IO, errno, "random:audit", "no random numbers");
    }
    snprintf(context->audit_name, sizeof context->audit_name, "%016" PRIx64, random);
    r = audit_open(path, options, &context->audit, fail);
    if (r < 0) {
        return r;
    }
    context->audit_path = realpath(path, NULL);
    return context->audit_path == NULL
                   ? fail_set(fail, ABX_ERR_IO, errno, "audit:open", "'%.200s'", path)
                   : ABX_OK;
}

abx_context *
context_ref(abx_context *context)
{
    atomic_fetch_add_explicit(&context->references, 1, memory_order_relaxed);
    return context;
}

static void
end_thread(struct loop *loop, pthread_t thread)
{
    if (loop != NULL) {
        loop_stop(loop);
        pthread_join(thread, NULL);
        loop_free(loop);
    }
}

void
context_unref(abx_context *context)
{
    if (context == NULL ||
            atomic_fetch_sub_explicit(&context->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    egress_free(context->egress);
    end_thread(context->loop, context->thread);
    end_thread(context->mask_loop, context->mask_thread);
    canary_done(context);
    vec_done(&context->boxes);
    queue_done(&context->queue);
    audit_close(context->audit);
    free(context->audit_path);
    pthread_mutex_destroy(&context->lock);
    pthread_mutex_destroy(&context->telling);
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

static void *
serve_masks(void *data)
{
    pthread_setname_np(pthread_self(), "abx-mask");
    loop_run(data);
    return NULL;
}

/* A loop that runs in a thread of its own. */
static abx_status
start_loop(struct loop **ret_loop, pthread_t *ret_thread, void *(*run)(void *), struct fail *fail)
{
    struct loop *loop = loop_new();
    int error;

    if (loop == NULL) {
        return fail_set(
                fail, ABX_ERR_SETUP, errno, "start:loop", "the supervisor has no event loop");
    }
    error = thread_start(ret_thread, SUPERVISOR_STACK, run, loop);
    if (error != 0) {
        loop_free(loop);
        return fail_set(fail, ABX_ERR_SETUP, error, "start:supervisor",
                "the supervisor thread did not start");
    }
    *ret_loop = loop;
    return ABX_OK;
}

static abx_status
start_locked(abx_context *context, struct fail *fail)
{
    abx_status r = ABX_OK;

    if (!context->probed) {
        int error = -context->backend->probe(&context->capabilities);
        if (error != 0) {
            return fail_set(fail, ABX_ERR_SETUP, error, "start:probe",
                    "what the host can do cannot be found out now");
        }
        context->probed = true;
    }
    if (context->loop == NULL) {
        r = start_loop(&context->loop, &context->thread, supervise, fail);
    }
    return r;
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
context_start_mask(abx_context *context, struct fail *fail)
{
    abx_status r = ABX_OK;

    pthread_mutex_lock(&context->starting);
    if (context->mask_loop == NULL) {
        r = start_loop(&context->mask_loop, &context->mask_thread, serve_masks, fail);
    }
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
