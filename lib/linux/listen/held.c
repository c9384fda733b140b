/* SPDX-License-Identifier: Apache-2.0
 * Owns the calls that wait: for the answer to a question, for the gateway, for their connect, or
 * for a while.  They cost no thread; a timer looks every 100 ms whether a caller is gone or has a
 * signal to handle.  Knows no system call.  Calls may be added by any thread; the rest is the
 * loop's. */
#include "linux/listen/listeners.h"

#include "linux/process.h"

#include <errno.h>
#include <unistd.h>

#define TICK_NS 100000000u

static uint64_t
ticket_of(const struct call *call)
{
    return call->wait != WAIT_ANSWER || call->n_grants == 0 ||
                           call->grants[call->n_grants - 1].granted
                   ? 0
                   : call->grants[call->n_grants - 1].ticket;
}

/* One waiter less for the broker. */
static void
withdraw(const struct call *call)
{
    const struct broker *broker = call->boundary->broker;

    if (ticket_of(call) != 0) {
        broker->withdraw(broker->data, ticket_of(call));
    }
}

static void
refuse(struct call *call, int error)
{
    call_finish(call, call_fail(call, error));
}

/* ---- answers ---- */

static void
run_again(struct call *call)
{
    if (!call_to_worker(call)) {
        call->wait = WAIT_WHILE;
        held_add(call);
    }
}

static void
apply(struct call *call, abx_verdict verdict)
{
    if (verdict != ABX_VERDICT_ALLOW) {
        refuse(call, EACCES);
        return;
    }
    call->grants[call->n_grants - 1].granted = true;
    run_again(call);
}

/* Under lock: an answer that came while its question was on the way here. */
static bool
is_answered(const struct listeners *listeners, uint64_t ticket, abx_verdict *ret_verdict)
{
    for (size_t i = 0; i < ANSWERS_KEPT; i++) {
        if (ticket != 0 && listeners->answers[i].ticket == ticket) {
            *ret_verdict = listeners->answers[i].verdict;
            return true;
        }
    }
    return false;
}

static void
wake_loop(const struct listeners *listeners)
{
    uint64_t one = 1;

    (void)!write(listeners->wake, &one, sizeof one);
}

void
held_add(struct call *call)
{
    struct listeners *listeners = call->boundary->listeners;
    abx_verdict verdict = ABX_VERDICT_DENY;
    bool is_over, has_answer;

    pthread_mutex_lock(&listeners->lock);
    is_over = call->notify->is_over;
    has_answer = !is_over && is_answered(listeners, ticket_of(call), &verdict);
    if (!is_over && !has_answer) {
        call->next = listeners->held;
        listeners->held = call;
    }
    pthread_mutex_unlock(&listeners->lock);

    if (is_over) {
        withdraw(call);
        refuse(call, EACCES);
    } else if (has_answer) {
        apply(call, verdict);
    } else if (loop_is_own_thread(listeners->boundary->loop)) {
        held_watch(listeners);
    } else {
        wake_loop(listeners);
    }
}

/* Takes out of the list what `wanted` says, as a list. */
static struct call *
take(struct listeners *listeners, bool (*wanted)(const struct call *call, const void *data),
        const void *data)
{
    struct call *taken = NULL;

    for (struct call **link = &listeners->held; *link != NULL;) {
        struct call *call = *link;

        if (wanted(call, data)) {
            *link = call->next;
            call->next = taken;
            taken = call;
        } else {
            link = &call->next;
        }
    }
    return taken;
}

static bool
has_ticket(const struct call *call, const void *data)
{
    const uint64_t *ticket = data;

    return ticket_of(call) == *ticket;
}

void
held_answer(struct listeners *listeners, uint64_t ticket, abx_verdict verdict)
{
    struct call *next, *taken;
    abx_verdict before;

    if (ticket == 0) {
        return;
    }
    pthread_mutex_lock(&listeners->lock);
    taken = take(listeners, has_ticket, &ticket);
    if (!is_answered(listeners, ticket, &before)) {
        listeners->answers[listeners->next_answer].ticket = ticket;
        listeners->answers[listeners->next_answer].verdict = verdict;
        listeners->next_answer = (listeners->next_answer + 1) % ANSWERS_KEPT;
    }
    pthread_mutex_unlock(&listeners->lock);

    for (struct call *call = taken; call != NULL; call = next) {
        next = call->next;
        apply(call, verdict);
    }
}

static bool
is_dialled(const struct call *call, const void *data)
{
    return call->wait == WAIT_DIAL && call->dialling == data;
}

void
held_dialled(struct listeners *listeners, const struct dialling *dialling)
{
    pthread_mutex_lock(&listeners->lock);
    for (struct call *call = listeners->held; call != NULL; call = call->next) {
        if (is_dialled(call, dialling)) {
            call->wait = WAIT_LOOP;
        }
    }
    pthread_mutex_unlock(&listeners->lock);
    wake_loop(listeners);
}

static bool
has_turn(const struct call *call, const void *data)
{
    return call->wait == WAIT_LOOP;
}

struct call *
held_take_turns(struct listeners *listeners)
{
    struct call *taken;

    pthread_mutex_lock(&listeners->lock);
    taken = take(listeners, has_turn, NULL);
    pthread_mutex_unlock(&listeners->lock);
    return taken;
}

static bool
is_connecting(const struct call *call, const void *data)
{
    return call->wait == WAIT_CONNECT && call->waits_for == data;
}

struct call *
held_connected(struct listeners *listeners, const struct connecting *connecting)
{
    struct call *taken;

    pthread_mutex_lock(&listeners->lock);
    taken = take(listeners, is_connecting, connecting);
    pthread_mutex_unlock(&listeners->lock);
    return taken;
}

static bool
is_of(const struct call *call, const void *data)
{
    return data == NULL || call->notify == data;
}

void
held_drop(struct listeners *listeners, struct notify *notify)
{
    struct call *next, *taken;

    pthread_mutex_lock(&listeners->lock);
    taken = take(listeners, is_of, notify);
    if (notify != NULL) {
        notify->is_over = true;
    }
    pthread_mutex_unlock(&listeners->lock);

    for (struct call *call = taken; call != NULL; call = next) {
        next = call->next;
        withdraw(call);
        refuse(call, EACCES);
    }
}

/* ---- the timer ---- */

/* Whether the thread has a signal that its handler should see now. */
static bool
has_signal(int32_t pid)
{
    uint64_t pending = 0, shared = 0, blocked = 0;

    return proc_status(pid, "SigPnd", 16, &pending) && proc_status(pid, "ShdPnd", 16, &shared) &&
           proc_status(pid, "SigBlk", 16, &blocked) && ((pending | shared) & ~blocked) != 0;
}

/* A connect that goes on is not interrupted: it would be made, and not told. */
static bool
is_due(const struct call *call, const void *data)
{
    if (call->wait == WAIT_CONNECT) {
        return !call_is_valid(call);
    }
    return call->wait == WAIT_WHILE || !call_is_valid(call) || has_signal(call->pid);
}

static void
look_after(struct call *call)
{
    if (!call_is_valid(call)) {
        withdraw(call);
        call_finish(call, CALL_SENT);
    } else if (has_signal(call->pid)) {
        withdraw(call);
        refuse(call, EINTR);
    } else if (!call_to_worker(call)) {
        held_add(call);
    }
}

static void
tick(void *data)
{
    struct listeners *listeners = data;
    struct call *next, *due;

    pthread_mutex_lock(&listeners->lock);
    due = take(listeners, is_due, NULL);
    pthread_mutex_unlock(&listeners->lock);
    for (struct call *call = due; call != NULL; call = next) {
        next = call->next;
        look_after(call);
    }
    held_watch(listeners);
}

void
held_watch(struct listeners *listeners)
{
    bool has_held;

    pthread_mutex_lock(&listeners->lock);
    has_held = listeners->held != NULL;
    pthread_mutex_unlock(&listeners->lock);
    if (has_held && !listeners->timer.is_set) {
        loop_timer_set(listeners->boundary->loop, &listeners->timer, clock_now_ns() + TICK_NS, tick,
                listeners);
    }
}
