/* SPDX-License-Identifier: Apache-2.0
 * A library instance: the event queue, the supervisor thread and the open boxes. */
#ifndef ABX_SUPERVISE_CONTEXT_H
#define ABX_SUPERVISE_CONTEXT_H

#include "audit/log.h"
#include "backend/backend.h"
#include "base/mem.h"
#include "event/queue.h"
#include "supervise/stats.h"

#include <pthread.h>
#include <stdatomic.h>

/* Lock order: context, box, process, outlet, audit log, queue; below a box's `observed` none.  No
 * lock is held across a call of the backend or anything else that can block; but for `starting`,
 * and for the write of an audit record, for which everything waits that is told of the box. */
struct abx_context {
    atomic_uint references;
    const struct backend *backend;
    char *init_path; /* or NULL */
    struct audit_log *audit; /* NULL: none is kept */
    char *audit_path; /* of the real file */
    char audit_name[17]; /* of this context in the log; random */
    bool observes; /* its boxes allow what no rule speaks of; set before the first */
    struct event_queue queue;
    pthread_mutex_t telling; /* after box's and process's locks, before the queue's; guards the next
                                and each box's outlet, and is held while a record is written */
    uint64_t sequence; /* of the last event */
    atomic_uint_fast64_t last_box, last_command, last_ticket;
    struct stats stats;
    atomic_flag dispatching;
    pthread_mutex_t starting; /* held while the first box makes these, which then stay */
    bool probed;
    struct capabilities capabilities;
    struct loop *loop; /* NULL before the first box */
    struct egress *egress; /* NULL before the first box with a way out */
    pthread_t thread;
    struct loop *mask_loop; /* NULL before the first box with a mask: see box_setup */
    pthread_t mask_thread;
    pthread_mutex_t lock; /* guards all below */
    struct vec boxes; /* abx_box *, borrowed: a box that closes removes itself */
    struct vec canaries; /* struct known_canary: canary.c's */
};

abx_status context_new(const struct backend *backend, const char *init_path, size_t events,
        abx_context **ret_context, struct fail *fail);
abx_context *context_ref(abx_context *context);
/* Before the first box: everything is recorded from now on. */
abx_status context_keep_audit(abx_context *context, const char *path,
        const struct audit_options *options, struct fail *fail);
/* Not on the supervisor thread when it is the last one. */
void context_unref(abx_context *context);
DEFINE_CLEANUP(context_unref, abx_context)
/* Starts the supervisor thread if it does not run, and looks at the host if nobody did. */
abx_status context_start(abx_context *context, struct fail *fail);
/* The same for the thread that serves masks. */
abx_status context_start_mask(abx_context *context, struct fail *fail);
abx_status context_dispatch(abx_context *context, abx_event_fn fn, void *user_data);

#endif
