/* SPDX-License-Identifier: Apache-2.0
 * Owns the listener of each command: receives notifications on the loop's thread, runs their
 * handlers there or on a worker, and sends the answers.  Knows no system call.  A call belongs to
 * one thread at a time; a kept one (on the heap) is with a worker or in the list of held.c, never
 * in both. */
#include "linux/listen/listeners.h"

#include "base/mem.h"
#include "linux/net/connecting.h"
#include "linux/net/dialling.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS /* Linux 6.6 */
#    define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#    define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

#define LONG_NS 10000000u /* more than a slice of another thread */
#define WARY_NS 100000000u

void
notify_unref(struct notify *notify)
{
    if (atomic_fetch_sub(&notify->references, 1) == 1) {
        close_fd(notify->listener);
        free(notify);
    }
}

/* ---- one call ---- */

static void
send_answer(const struct call *call, bool is_continue)
{
    struct seccomp_notif_resp answer = { .id = call->id };

    if (is_continue) {
        answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    } else if (call->error != 0) {
        answer.error = -call->error;
    } else {
        answer.val = call->value;
    }
    /* ENOENT: the caller was killed meanwhile, which needs no answer. */
    call_tell_kernel(call, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

static void
free_kept(struct call *call)
{
    struct notify *notify = call->notify;

    call_done(call);
    if (call->is_kept) {
        free(call);
        notify_unref(notify);
    }
}

void
call_finish(struct call *call, enum call_result result)
{
    if (result == CALL_CONTINUE || result == CALL_REPLY) {
        send_answer(call, result == CALL_CONTINUE);
    }
    free_kept(call);
}

/* The call on the heap, so that it can wait; NULL: refused for lack of memory. */
static struct call *
keep(struct call *call)
{
    struct call *kept = call->is_kept ? call : malloc(sizeof *kept);

    if (kept == NULL) {
        call_finish(call, call_starved(call, "", 0));
        return NULL;
    }
    if (!call->is_kept) {
        *kept = *call;
        kept->is_kept = true;
        atomic_fetch_add(&kept->notify->references, 1);
    }
    return kept;
}

static void
run_on_worker(void *data)
{
    struct call *call = data;
    struct listeners *listeners = call->boundary->listeners;
    uint64_t one = 1;

    call->on_worker = true;
    call_run(call);
    if (atomic_load(&listeners->n_paused) > 0) {
        (void)!write(listeners->wake, &one, sizeof one);
    }
}

bool
call_to_worker(struct call *call)
{
    int error = workers_do(call->boundary->listeners->workers, run_on_worker, call);

    if (error == ENOMEM) {
        call_finish(call, call_starved(call, "", 0));
    }
    return error != EAGAIN;
}

/* To a worker.  None is free: the call waits, and its listener is not read until one is. */
static void
hand_over(struct call *call)
{
    struct notify *notify = call->notify;

    if (call_to_worker(call)) {
        return;
    }
    if (!call->on_worker && !notify->is_paused && notify->source != NULL) {
        notify->is_paused = true;
        atomic_fetch_add(&notify->listeners->n_paused, 1);
        loop_modify(notify->source, 0);
    }
    call->wait = WAIT_WHILE;
    held_add(call);
}

/* The call is kept first: the gateway may answer at once. */
static void
dial(struct call *call)
{
    struct dialling *shared = dialling_share(call);

    call->wait = WAIT_DIAL;
    held_add(call);
    dialling_start(shared);
}

void
call_run(struct call *call)
{
    enum call_result result = calls_find(call)(call);
    struct call *kept;

    switch (result) {
    case CALL_CONTINUE:
    case CALL_REPLY:
    case CALL_SENT:
        call_finish(call, result);
        return;
    case CALL_HOLD:
    case CALL_LATER:
        kept = keep(call);
        if (kept != NULL) {
            kept->wait = result == CALL_LATER ? WAIT_WHILE : WAIT_ANSWER;
            held_add(kept);
        }
        return;
    case CALL_DIAL:
        kept = keep(call);
        if (kept != NULL) {
            dial(kept);
        }
        return;
    case CALL_CONNECT:
        kept = keep(call);
        if (kept != NULL) {
            connecting_start(kept);
        }
        return;
    case CALL_WORKER:
        kept = keep(call);
        if (kept != NULL) {
            hand_over(kept);
        }
        return;
    }
}

/* ---- the listener ---- */

bool
listeners_are_quick(const struct listeners *listeners)
{
    return clock_now_ns() >= listeners->wary_until_ns;
}

/* On the loop's thread. */
static void
run_here(struct listeners *listeners, struct call *call)
{
    uint64_t start = clock_now_ns(), end;

    call_run(call);
    end = clock_now_ns();
    if (end - start > LONG_NS) {
        listeners->wary_until_ns = end + WARY_NS;
    }
}

/* What was on a worker before may not block here. */
static void
run_dialled(struct listeners *listeners)
{
    struct call *next;

    for (struct call *call = held_take_turns(listeners); call != NULL; call = next) {
        next = call->next;
        call->on_worker = false;
        run_here(listeners, call);
    }
}

static void
resume(struct notify *notify)
{
    if (!notify->is_paused) {
        return;
    }
    notify->is_paused = false;
    atomic_fetch_sub(&notify->listeners->n_paused, 1);
    if (notify->source != NULL) {
        loop_modify(notify->source, EPOLLIN);
    }
}

static void
end_listener(struct notify *notify)
{
    loop_remove(notify->source);
    notify->source = NULL;
    resume(notify);
}

static void
on_notification(void *data, uint32_t events)
{
    struct notify *notify = data;
    struct seccomp_notif notification = { 0 };
    struct boundary *boundary = notify->listeners->boundary;
    struct call call;

    if ((events & EPOLLIN) == 0) {
        end_listener(notify);
        notify->owner->ended(notify->owner);
        return;
    }
    /* Does not wait: what the counter promised may be gone (ENOENT), but it is counted. */
    if (ioctl(notify->listener, SECCOMP_IOCTL_NOTIF_RECV, &notification) != 0) {
        return;
    }
    loop_prefer(notify->source);
    call = (struct call){
        .boundary = boundary,
        .notify = notify,
        .command = atomic_load(&notify->owner->command),
        .listener = notify->listener,
        .id = notification.id,
        .pid = (int32_t)notification.pid,
        .nr = notification.data.nr,
        .waiting_fd = -1,
    };
    for (size_t i = 0; i < N_ELEMENTS(call.args); i++) {
        call.args[i] = notification.data.args[i];
    }
    if (call.pid != notify->last_pid) {
        notify->last_pid = call.pid;
        boundary_saw(boundary, call.pid, call.command);
    }
    if (call.pid == notify->umask.changing) {
        notify->umask.changing = 0;
    }
    run_here(notify->listeners, &call);
}

static void
on_wake(void *data, uint32_t events)
{
    struct listeners *listeners = data;
    uint64_t count;

    (void)!read(listeners->wake, &count, sizeof count);
    run_dialled(listeners);
    for (struct notify *notify = listeners->first; notify != NULL; notify = notify->next) {
        resume(notify);
    }
    held_watch(listeners);
}

/* What it holds; false: errno says why. */
static bool
listeners_fill(struct listeners *listeners, struct loop *loop)
{
    listeners->workers = workers_new();
    if (listeners->workers == NULL) {
        return false;
    }
    listeners->connectors = connectors_new(listeners);
    if (listeners->connectors == NULL) {
        return false;
    }
    listeners->own_fds = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (listeners->own_fds < 0) {
        return false;
    }
    listeners->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (listeners->wake < 0) {
        return false;
    }
    listeners->source = loop_add(loop, listeners->wake, EPOLLIN, on_wake, listeners);
    return listeners->source != NULL;
}

static struct listeners *
listeners_new(struct boundary *boundary)
{
    struct listeners *listeners = calloc(1, sizeof *listeners);

    if (listeners == NULL) {
        return NULL;
    }
    *listeners = (struct listeners){
        .boundary = boundary, .made_git = VEC(struct made_git), .own_fds = -1, .wake = -1
    };
    for (size_t i = 0; i < OWN_LINKS; i++) {
        listeners->own_links[i] = -1;
    }
    for (size_t i = 0; i < CALLER_LINKS; i++) {
        listeners->caller_links[i].link = -1;
    }
    pthread_mutex_init(&listeners->lock, NULL);
    pthread_rwlock_init(&listeners->order, NULL);
    if (!listeners_fill(listeners, boundary->loop)) {
        int error = errno;

        close_fd(listeners->wake);
        close_fd(listeners->own_fds);
        connectors_leave(listeners->connectors);
        workers_free(listeners->workers);
        pthread_mutex_destroy(&listeners->lock);
        pthread_rwlock_destroy(&listeners->order);
        free(listeners);
        errno = error;
        return NULL;
    }
    slow_devices_read(&listeners->slow, boundary->plan, boundary->init_pid);
    /* What handlers do inline is done with no more rights than the box has. */
    workers_drop_capabilities();
    return listeners;
}

struct notify *
notify_new(struct boundary *boundary, struct notify_owner *owner, int listener)
{
    struct notify *notify;

    if (boundary->listeners == NULL) {
        boundary->listeners = listeners_new(boundary);
    }
    notify = boundary->listeners == NULL ? NULL : calloc(1, sizeof *notify);
    if (notify == NULL) {
        close_fd(listener);
        return NULL;
    }
    atomic_init(&notify->references, 1);
    notify->listeners = boundary->listeners;
    notify->owner = owner;
    notify->listener = listener;
    /* 4 us instead of 25: the waiting thread runs on this processor. Older kernels do without. */
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
    notify->source = loop_add(boundary->loop, listener, EPOLLIN, on_notification, notify);
    if (notify->source == NULL) {
        notify_unref(notify);
        return NULL;
    }
    notify->next = boundary->listeners->first;
    boundary->listeners->first = notify;
    return notify;
}

void
notify_free(struct notify *notify)
{
    struct notify **link;

    if (notify == NULL) {
        return;
    }
    end_listener(notify);
    link = &notify->listeners->first;
    while (*link != notify) {
        link = &(*link)->next;
    }
    *link = notify->next;
    held_drop(notify->listeners, notify);
    notify_unref(notify);
}

void
notify_answer(struct boundary *boundary, uint64_t ticket, abx_verdict verdict)
{
    if (boundary->listeners != NULL) {
        held_answer(boundary->listeners, ticket, verdict);
    }
}

void
notify_close(struct boundary *boundary)
{
    struct listeners *listeners = boundary->listeners;

    if (listeners == NULL) {
        return;
    }
    loop_remove(listeners->source);
    loop_timer_clear(boundary->loop, &listeners->timer);
    workers_free(listeners->workers);
    connectors_leave(listeners->connectors);
    held_drop(listeners, NULL);
    close_fd(listeners->wake);
    close_fd(listeners->own_fds);
    for (size_t i = 0; i < OWN_LINKS; i++) {
        close_fd(listeners->own_links[i]);
    }
    for (size_t i = 0; i < CALLER_LINKS; i++) {
        close_fd(listeners->caller_links[i].link);
    }
    slow_devices_done(&listeners->slow);
    git_forget(listeners);
    pthread_mutex_destroy(&listeners->lock);
    pthread_rwlock_destroy(&listeners->order);
    free(listeners);
    boundary->listeners = NULL;
}
