/* SPDX-License-Identifier: Apache-2.0
 * A bounded pool of threads that start when there is work and end when there is none.  Knows
 * nothing of the work.  Any thread may hand work in; workers_free is called once, by the owner. */
#include "linux/listen/workers.h"

#include "base/mem.h"
#include "base/thread.h"

#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define IDLE_SECONDS 2
#define LEAVE_NS 300000000 /* more than a patient job takes */
#define STACK_SIZE (256u << 10)

struct work {
    work_fn fn;
    void *data;
};

/* Invariants, under lock: n_idle <= n_threads <= WORKERS_MAX; work waits in queue[first..first+n).
 */
struct workers {
    pthread_mutex_t lock;
    pthread_cond_t work_came, thread_ended;
    struct work queue[WORKERS_QUEUE_MAX];
    unsigned int first, n_queued;
    unsigned int n_threads, n_idle;
    bool ending;
    bool is_left; /* by its owner: the last thread frees it */
};

void
workers_drop_capabilities(void)
{
    static const unsigned int kept = 1u << CAP_KILL | 1u << CAP_SYS_PTRACE;
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2] = { 0 };

    if (syscall(SYS_capget, &header, data) != 0) {
        return;
    }
    data[0].effective &= kept;
    data[1].effective = 0;
    syscall(SYS_capset, &header, data);
}

bool
workers_be_apart(void)
{
    static _Thread_local bool is_apart;

    is_apart = is_apart || unshare(CLONE_FS) == 0;
    return is_apart;
}

static void
destroy(struct workers *workers)
{
    pthread_mutex_destroy(&workers->lock);
    pthread_cond_destroy(&workers->work_came);
    pthread_cond_destroy(&workers->thread_ended);
    free(workers);
}

/* Waits for work; false: none came, or the pool ends. */
static bool
wait_for_work(struct workers *workers)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += IDLE_SECONDS;
    workers->n_idle++;
    while (workers->n_queued == 0 && !workers->ending) {
        if (pthread_cond_timedwait(&workers->work_came, &workers->lock, &until) != 0) {
            break;
        }
    }
    workers->n_idle--;
    return workers->n_queued > 0;
}

static void *
work(void *data)
{
    struct workers *workers = data;
    bool is_last;

    prctl(PR_SET_NAME, "abx-worker");
    workers_drop_capabilities();
    pthread_mutex_lock(&workers->lock);
    while (wait_for_work(workers)) {
        struct work next = workers->queue[workers->first];

        workers->first = (workers->first + 1) % WORKERS_QUEUE_MAX;
        workers->n_queued--;
        pthread_mutex_unlock(&workers->lock);
        next.fn(next.data);
        pthread_mutex_lock(&workers->lock);
    }
    workers->n_threads--;
    is_last = workers->is_left && workers->n_threads == 0;
    pthread_cond_broadcast(&workers->thread_ended);
    pthread_mutex_unlock(&workers->lock);
    if (is_last) {
        destroy(workers);
    }
    return NULL;
}

/* Under lock. */
static void
start_thread(struct workers *workers)
{
    if (thread_start(NULL, STACK_SIZE, work, workers) == 0) {
        workers->n_threads++;
    }
}

struct workers *
workers_new(void)
{
    struct workers *workers = calloc(1, sizeof *workers);

    if (workers == NULL) {
        return NULL;
    }
    pthread_mutex_init(&workers->lock, NULL);
    condition_init(&workers->work_came);
    pthread_cond_init(&workers->thread_ended, NULL);
    return workers;
}

int
workers_do(struct workers *workers, work_fn fn, void *data)
{
    int error = EAGAIN;

    pthread_mutex_lock(&workers->lock);
    if (!workers->ending && workers->n_queued < WORKERS_QUEUE_MAX) {
        if (workers->n_idle <= workers->n_queued && workers->n_threads < WORKERS_MAX) {
            start_thread(workers);
        }
        error = workers->n_threads > 0 ? 0 : ENOMEM;
    }
    if (error == 0) {
        unsigned int last = (workers->first + workers->n_queued) % WORKERS_QUEUE_MAX;

        workers->queue[last] = (struct work){ .fn = fn, .data = data };
        workers->n_queued++;
        pthread_cond_signal(&workers->work_came);
    }
    pthread_mutex_unlock(&workers->lock);
    return error;
}

void
workers_free(struct workers *workers)
{
    if (workers == NULL) {
        return;
    }
    pthread_mutex_lock(&workers->lock);
    workers->ending = true;
    pthread_cond_broadcast(&workers->work_came);
    while (workers->n_threads > 0) {
        pthread_cond_wait(&workers->thread_ended, &workers->lock);
    }
    pthread_mutex_unlock(&workers->lock);
    destroy(workers);
}

void
workers_leave(struct workers *workers)
{
    struct timespec until;
    bool is_last;
    int r = 0;

    if (workers == NULL) {
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LEAVE_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&workers->lock);
    workers->ending = true;
    pthread_cond_broadcast(&workers->work_came);
    while (workers->n_threads > 0 && r == 0) {
        r = pthread_cond_timedwait(&workers->thread_ended, &workers->lock, &until);
    }
    is_last = workers->n_threads == 0;
    workers->is_left = true;
    pthread_mutex_unlock(&workers->lock);
    if (is_last) {
        destroy(workers);
    }
}
