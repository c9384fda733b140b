/* SPDX-License-Identifier: Apache-2.0
 * Owns abx_box: opens the boundary, keeps the commands in it, and takes everything down with the
 * last reference.  The supervisor thread never holds a reference, so closing runs on a thread of
 * the host. */
#include "supervise/box.h"

#include "egress/egress.h"
#include "supervise/actions.h"
#include "supervise/approvals.h"
#include "supervise/canary.h"
#include "supervise/capture.h"
#include "supervise/observe.h"
#include "supervise/recording.h"
#include "supervise/telling.h"
#include "supervise/trust.h"
#include "supervise/way_out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define LABELS_MAX 256u

abx_box *
box_ref(abx_box *box)
{
    atomic_fetch_add_explicit(&box->references, 1, memory_order_relaxed);
    return box;
}

bool
box_try_ref(abx_box *box)
{
    unsigned count = atomic_load_explicit(&box->references, memory_order_relaxed);

    while (count != 0) {
        if (atomic_compare_exchange_weak_explicit(&box->references, &count, count + 1,
                    memory_order_acquire, memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

/* ---- opening ---- */
static abx_box *
box_new(abx_context *context, abx_policy *policy, abx_identity *identity)
{
    abx_box *box = calloc(1, sizeof *box);

    if (box == NULL) {
        return NULL;
    }
    atomic_init(&box->references, 1);
    box->context = context_ref(context);
    box->id = atomic_fetch_add(&context->last_box, 1) + 1;
    box->policy = abx_policy_ref(policy);
    box->identity = identity_ref(identity);
    box->captures = VEC(struct capture *);
    box->processes = VEC(abx_process *);
    box->labels = VEC(struct box_label);
    box->action_counts = VEC(struct action_count);
    box->grants = VEC(struct grant);
    box->revoked.ids = VEC(uint64_t);
    box->approvals = VEC(struct approval *);
    denials_init(&box->denials);
    pthread_mutex_init(&box->lock, NULL);
    outlet_init(&box->outlet, box);
    broker_init(&box->broker, box);
    return box;
}

/* The context's list lets answers find the box. */
static bool
enlist(abx_box *box)
{
    abx_box **place;

    pthread_mutex_lock(&box->context->lock);
    place = vec_add(&box->context->boxes);
    if (place != NULL) {
        *place = box;
    }
    pthread_mutex_unlock(&box->context->lock);
    return place != NULL;
}

static void
delist(abx_box *box)
{
    struct vec *boxes = &box->context->boxes;

    pthread_mutex_lock(&box->context->lock);
    for (size_t i = 0; i < boxes->count; i++) {
        if (*vec_at(boxes, abx_box *, i) == box) {
            vec_remove(boxes, i);
            break;
        }
    }
    pthread_mutex_unlock(&box->context->lock);
}

static abx_status
build(abx_box *box, struct fail *fail)
{
    const struct backend *backend = box->context->backend;
    int error = host_trouble(backend->host); /* an older one is nothing to this box */
    struct trust_files trust = { 0 };
    struct box_setup setup = {
        .plan = &box->plan,
        .loop = box->context->loop,
        .broker = &box->broker,
        .trust = &trust,
        .init_path = box->context->init_path,
    };
    abx_status r;

    if (getrandom(&box->decoy_seed, sizeof box->decoy_seed, 0) != sizeof box->decoy_seed) {
        return fail_set(fail, ABX_ERR_SETUP, errno, "random:decoys", "no random numbers");
    }
    setup.decoy_seed = box->decoy_seed;
    r = box->context->observes ? observe_open(box, fail)
                               : policy_resolve(box->policy, backend->host, &box->resolved, fail);
    if (r == ABX_OK) {
        r = recording_is_safe(box, fail);
    }
    if (r == ABX_OK) {
        r = plan_compile(
                box->resolved, backend->host, &box->context->capabilities, &box->plan, fail);
    }
    if (r == ABX_OK && box->plan.mask) {
        r = context_start_mask(box->context, fail);
        setup.mask_loop = box->context->mask_loop;
    }
    if (r == ABX_OK) {
        r = way_out_open(box, fail);
    }
    if (r == ABX_OK) {
        setup.gateway = box->egress == NULL ? NULL : egress_gateway(box->egress);
        r = trust_make(box, &trust, fail);
    }
    if (r == ABX_OK) {
        r = backend->open(&setup, &box->boundary, fail);
    }
    trust_done(&trust);
    error = host_trouble(backend->host);
    if (error != 0) { /* what else failed came of it */
        r = fail_set(fail, ABX_ERR_SETUP, error, "look:host",
                "a part of the host's file system could not be looked at");
    }
    return r;
}

abx_status
box_open(abx_context *context, abx_policy *policy, abx_identity *identity, abx_box **ret_box,
        struct fail *fail)
{
    AUTO(box_unrefp) abx_box *box = NULL;
    abx_status r;

    r = context_start(context, fail);
    if (r < 0) {
        return r;
    }
    box = box_new(context, policy, identity);
    if (box == NULL || !enlist(box)) {
        return fail_nomem(fail);
    }
    if (identity_check(identity, fail) < 0) {
        record_refused(box);
        return fail->status;
    }
    r = build(box, fail);
    if (r == ABX_OK) {
        r = canary_run(box, fail);
    }
    if (r == ABX_OK) {
        r = record_opened(box, fail);
    }
    if (r == ABX_OK) {
        stats_add(&context->stats, STAT_BOXES, 1);
        *ret_box = steal_ptr(&box);
    }
    return r;
}

/* ---- closing ---- */

/* Every command that is left is over, killed; the box is unlocked. */
static void
finish_all(abx_box *box, bool also_starting)
{
    for (size_t i = 0;;) {
        AUTO(process_unrefp) abx_process *process = NULL;
        bool is_starting;

        pthread_mutex_lock(&box->lock);
        if (i < box->processes.count) {
            process = process_ref(*vec_at(&box->processes, abx_process *, i));
        }
        pthread_mutex_unlock(&box->lock);
        if (process == NULL) {
            return;
        }
        pthread_mutex_lock(&process->lock);
        is_starting = !process->started;
        pthread_mutex_unlock(&process->lock);
        if (is_starting && !also_starting) {
            i++;
            continue;
        }
        process_finish(process, NULL);
        box_forget(box, process);
    }
}

void
box_ended(abx_box *box)
{
    pthread_mutex_lock(&box->lock);
    box->ended = true;
    pthread_mutex_unlock(&box->lock);
    approvals_done(box);
    finish_all(box, false);
}

/* No question ends any more, so the backend is told nothing about one while it closes. */
static void
stop_asking(void *data)
{
    approvals_done(data);
}

static void
take_down(void *data)
{
    abx_box *box = data;

    finish_all(box, true);
    for (size_t i = 0; i < box->captures.count; i++) {
        capture_free(*vec_at(&box->captures, struct capture *, i));
    }
    vec_done(&box->captures);
    pthread_mutex_lock(&box->lock);
    denials_flush(&box->denials, &box->outlet);
    pthread_mutex_unlock(&box->lock);
}

static void
box_free(abx_box *box)
{
    for (size_t i = 0; i < box->labels.count; i++) {
        free(vec_at(&box->labels, struct box_label, i)->label);
    }
    vec_done(&box->labels);
    vec_done(&box->processes);
    action_counts_done(&box->action_counts);
    grants_done(&box->grants);
    vec_done(&box->revoked.ids);
    denials_done(&box->denials);
    observed_free(box->observed);
    plan_done(&box->plan);
    abx_policy_unref(box->resolved);
    abx_policy_unref(box->policy);
    identity_unref(box->identity);
    pthread_mutex_destroy(&box->lock);
    free(box->canary);
    context_unref(box->context);
    free(box);
}

void
box_unref(abx_box *box)
{
    if (box == NULL || atomic_fetch_sub_explicit(&box->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    delist(box);
    pthread_mutex_lock(&box->lock);
    box->killed = true;
    pthread_mutex_unlock(&box->lock);
    loop_call(box->context->loop, stop_asking, box);
    if (box->boundary != NULL) {
        box->context->backend->close(box->boundary);
    }
    loop_call(box->context->loop, take_down, box);
    record_closed(box);
    egress_close(box->egress);
    box_free(box);
}

abx_status
box_kill(abx_box *box)
{
    pthread_mutex_lock(&box->lock);
    box->killed = true;
    pthread_mutex_unlock(&box->lock);
    box->context->backend->kill(box->boundary);
    return ABX_OK;
}

bool
box_is_killed(abx_box *box)
{
    bool killed;

    pthread_mutex_lock(&box->lock);
    killed = box->killed;
    pthread_mutex_unlock(&box->lock);
    return killed;
}

bool
box_has_ended(abx_box *box)
{
    bool ended;

    pthread_mutex_lock(&box->lock);
    ended = box->ended;
    pthread_mutex_unlock(&box->lock);
    return ended;
}

/* ---- commands ---- */
abx_status
box_add(abx_box *box, abx_process *process, struct fail *fail)
{
    abx_process **place = NULL;
    bool closed;

    pthread_mutex_lock(&box->lock);
    closed = box->killed || box->ended;
    if (!closed) {
        place = vec_add(&box->processes);
    }
    if (place != NULL) {
        *place = process_ref(process);
    }
    pthread_mutex_unlock(&box->lock);
    if (closed) {
        return fail_set(fail, ABX_ERR_STATE, 0, "spawn:box", "the box was killed or has ended");
    }
    return place == NULL ? fail_nomem(fail) : ABX_OK;
}

abx_process *
box_find(abx_box *box, uint64_t command)
{
    abx_process *found = NULL;

    pthread_mutex_lock(&box->lock);
    for (size_t i = 0; i < box->processes.count && found == NULL; i++) {
        abx_process *process = *vec_at(&box->processes, abx_process *, i);

        found = process->id == command ? process_ref(process) : NULL;
    }
    pthread_mutex_unlock(&box->lock);
    return found;
}

/* Keeps the label of a command whose background processes may still be told about; the box is
 * locked.  Without memory there is no label. */
static void
keep_label(abx_box *box, const abx_process *process)
{
    struct box_label *place;

    if (process->label == NULL) {
        return;
    }
    if (box->labels.count == LABELS_MAX) {
        free(vec_at(&box->labels, struct box_label, 0)->label);
        vec_remove(&box->labels, 0);
    }
    place = vec_add(&box->labels);
    if (place != NULL) {
        *place = (struct box_label){ process->id, strdup(process->label) };
    }
}

void
box_forget(abx_box *box, abx_process *process)
{
    bool found = false;

    pthread_mutex_lock(&box->lock);
    for (size_t i = 0; i < box->processes.count && !found; i++) {
        if (*vec_at(&box->processes, abx_process *, i) == process) {
            vec_remove(&box->processes, i);
            keep_label(box, process);
            found = true;
        }
    }
    pthread_mutex_unlock(&box->lock);
    if (found) {
        process_unref(process);
    }
}

char *
box_label_of(abx_box *box, uint64_t command)
{
    char *label = NULL;

    pthread_mutex_lock(&box->lock);
    for (size_t i = 0; i < box->labels.count && label == NULL; i++) {
        const struct box_label *entry = vec_at(&box->labels, struct box_label, i);

        if (entry->command == command && entry->label != NULL) {
            label = strdup(entry->label);
        }
    }
    pthread_mutex_unlock(&box->lock);
    return label;
}

void
box_keep_capture(abx_box *box, struct capture *capture)
{
    struct capture **place;

    for (size_t i = box->captures.count; i-- > 0;) {
        struct capture *old = *vec_at(&box->captures, struct capture *, i);

        if (capture_is_over(old)) {
            capture_free(old);
            vec_remove(&box->captures, i);
        }
    }
    place = capture_is_over(capture) ? NULL : vec_add(&box->captures);
    if (place == NULL) {
        capture_free(capture);
        return;
    }
    *place = capture;
}
