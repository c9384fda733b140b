/* SPDX-License-Identifier: Apache-2.0
 * Owns the seats of a box: children of init that are prepared for a command and wait for it, or
 * have become it.  Keeps their listeners for as long as a process of theirs lives.  Any thread asks
 * and claims; init's messages and the listeners are the loop thread's.  A seat is freed when nobody
 * uses it, its leader has exited and no process has its filter any more. */
#include "linux/seats.h"

#include "base/mem.h"
#include "linux/listen/notify.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define SEND_SECONDS 10
#define WORD_MILLISECONDS 200

/* ---- the list: the lock is held ---- */
static struct seat *
find(struct boundary_private *own, uint64_t number)
{
    struct seat *seat = own->seats;

    while (seat != NULL && seat->number != number) {
        seat = seat->next;
    }
    return seat;
}

/* Takes it off the list and returns it if nobody needs it any more: for seat_free, without the
 * lock. */
static struct seat *
unlink_if_over(struct seat *seat)
{
    struct seat **place = &seat->boundary->own->seats;

    if (seat->is_claimed || seat->is_served || !seat->exited) {
        return NULL;
    }
    while (*place != seat) {
        place = &(*place)->next;
    }
    *place = seat->next;
    return seat;
}

static void
seat_free(struct seat *seat)
{
    if (seat != NULL) {
        close_fd(seat->socket);
        close_fd(seat->pty);
        pthread_cond_destroy(&seat->cond);
        free(seat);
    }
}

/* It will never wait for a command. */
static struct seat *
fail(struct seat *seat, int error, uint32_t step)
{
    seat->state = SEAT_FAILED;
    seat->exited = true;
    seat->error = error;
    seat->step = step;
    pthread_cond_signal(&seat->cond);
    return unlink_if_over(seat);
}

static struct seat *
add(struct boundary *boundary, bool has_terminal)
{
    struct boundary_private *own = boundary->own;
    struct seat *seat = calloc(1, sizeof *seat);

    if (seat != NULL) {
        seat->boundary = boundary;
        seat->number = ++own->last_seat;
        seat->has_terminal = has_terminal;
        seat->socket = seat->pty = -1;
        pthread_cond_init(&seat->cond, NULL);
        seat->next = own->seats;
        own->seats = seat;
    }
    return seat;
}

/* One that waits for a command, or will. */
static struct seat *
find_free(struct boundary_private *own)
{
    struct seat *seat = own->seats;

    while (seat != NULL && (seat->is_claimed || seat->has_terminal || seat->exited ||
                                   (seat->state != SEAT_COMING && seat->state != SEAT_READY))) {
        seat = seat->next;
    }
    return seat;
}

/* ---- asking init; any thread ---- */
static int
ask(struct boundary *boundary, uint64_t number, bool has_terminal)
{
    const struct wire_message message = {
        .kind = WIRE_PREPARE, .id = number, .mask = has_terminal ? WIRE_SEAT_PTY : 0
    };
    int r = control_send(boundary->own->control, &message, NULL, 0);

    return r == -EPIPE || r == -ECONNRESET ? -ESRCH : r;
}

/* Has init make it; a failure is the seat's. */
static void
request(struct boundary *boundary, uint64_t number, bool has_terminal)
{
    struct boundary_private *own = boundary->own;
    const int r = ask(boundary, number, has_terminal);
    struct seat *seat, *over = NULL;

    if (r == 0) {
        return;
    }
    pthread_mutex_lock(&own->lock);
    seat = find(own, number);
    if (seat != NULL && seat->state == SEAT_COMING) {
        over = fail(seat, -r, 0);
    }
    pthread_mutex_unlock(&own->lock);
    seat_free(over);
}

void
seats_prepare(struct boundary *boundary)
{
    struct boundary_private *own = boundary->own;
    struct seat *seat = NULL;
    uint64_t number;

    pthread_mutex_lock(&own->lock);
    if (own->state != BOX_ENDED && find_free(own) == NULL) {
        seat = add(boundary, false);
    }
    number = seat == NULL ? 0 : seat->number;
    pthread_mutex_unlock(&own->lock);
    if (number != 0) {
        request(boundary, number, false);
    }
}

/* A claimed seat that waits or will; *ret_is_new: init must be asked for it. */
static int
find_or_add(struct boundary *boundary, bool has_terminal, struct seat **ret_seat, bool *ret_is_new)
{
    struct boundary_private *own = boundary->own;
    struct seat *seat = NULL;
    bool is_open;

    pthread_mutex_lock(&own->lock);
    is_open = own->state == BOX_OPEN;
    if (is_open && !has_terminal) {
        seat = find_free(own);
    }
    *ret_is_new = seat == NULL;
    if (is_open && seat == NULL) {
        seat = add(boundary, has_terminal);
    }
    if (seat != NULL) {
        seat->is_claimed = true;
    }
    pthread_mutex_unlock(&own->lock);
    *ret_seat = seat;
    return seat != NULL ? 0 : is_open ? -ENOMEM : -ESRCH;
}

int
seats_claim(struct boundary *boundary, uint64_t command, bool has_terminal, struct seat **ret_seat,
        uint32_t *ret_step)
{
    struct boundary_private *own = boundary->own;
    struct seat *seat;
    bool is_new;
    int r = find_or_add(boundary, has_terminal, &seat, &is_new);

    *ret_step = 0;
    if (r < 0) {
        return r;
    }
    if (is_new) {
        request(boundary, seat->number, has_terminal);
    }
    pthread_mutex_lock(&own->lock);
    while (seat->state == SEAT_COMING) {
        pthread_cond_wait(&seat->cond, &own->lock);
    }
    if (seat->state == SEAT_READY) {
        seat->state = SEAT_STARTING;
        atomic_store(&seat->owner.command, command);
    } else {
        r = -seat->error;
        *ret_step = seat->step;
    }
    pthread_mutex_unlock(&own->lock);
    if (r < 0) {
        seats_release(seat, false);
        return r;
    }
    boundary_saw(boundary, seat->pid, command);
    *ret_seat = seat;
    return 0;
}

/* An exit that the broker is told. */
struct end {
    struct boundary *boundary;
    uint64_t command;
    struct exit_status status;
};

static void
tell_end(void *data)
{
    struct end *end = data;
    const struct broker *broker = end->boundary->broker;
    const struct cgroup_counts counts = cgroup_take_counts(end->boundary->own->cgroup);

    end->status.killed_for_memory = counts.killed_for_memory;
    end->status.processes_refused = counts.processes_refused;
    notify_report_git(end->boundary, end->command);
    broker->exited(broker->data, end->command, &end->status);
}

void
seats_release(struct seat *seat, bool started)
{
    struct boundary_private *own = seat->boundary->own;
    struct end end = { .boundary = seat->boundary };
    struct seat *over;

    if (!started && seat->socket >= 0) {
        shutdown(seat->socket, SHUT_RDWR); /* its end, if it has not ended yet */
    }
    pthread_mutex_lock(&own->lock);
    seat->is_claimed = false;
    seat->state = started ? SEAT_RUNNING : SEAT_FAILED;
    if (!started) {
        atomic_store(&seat->owner.command, 0);
    } else if (seat->exited) {
        end.command = atomic_load(&seat->owner.command);
        end.status = seat->status;
    }
    over = unlink_if_over(seat);
    pthread_mutex_unlock(&own->lock);
    seat_free(over);
    if (end.command != 0) {
        loop_call(end.boundary->loop, tell_end, &end);
    }
}

int
seats_send_kill(struct boundary *boundary, uint64_t command, int32_t signal)
{
    struct boundary_private *own = boundary->own;
    struct wire_message message = { .kind = WIRE_KILL, .value = signal };
    struct seat *seat;

    pthread_mutex_lock(&own->lock);
    seat = own->seats;
    while (seat != NULL && atomic_load(&seat->owner.command) != command) {
        seat = seat->next;
    }
    message.id = seat == NULL ? 0 : seat->number;
    pthread_mutex_unlock(&own->lock);
    return message.id == 0 ? 0 : control_send(own->control, &message, NULL, 0);
}

uint64_t
boundary_only_command(struct boundary *boundary)
{
    struct boundary_private *own = boundary->own;
    uint64_t only = 0;
    size_t n = 0;

    pthread_mutex_lock(&own->lock);
    for (struct seat *seat = own->seats; seat != NULL; seat = seat->next) {
        const uint64_t command = atomic_load(&seat->owner.command);

        if (command != 0) {
            only = command;
            n++;
        }
    }
    pthread_mutex_unlock(&own->lock);
    return n == 1 ? only : 0;
}

bool
boundary_is_waiting(struct boundary *boundary, int32_t shown_pid)
{
    struct boundary_private *own = boundary->own;
    const struct seat *seat;

    pthread_mutex_lock(&own->lock);
    seat = own->seats;
    while (seat != NULL && (seat->state != SEAT_READY || seat->shown_pid != shown_pid)) {
        seat = seat->next;
    }
    pthread_mutex_unlock(&own->lock);
    return seat != NULL;
}

/* ---- listeners; loop thread ---- */
static void
drop_listener(struct seat *seat)
{
    struct boundary_private *own = seat->boundary->own;
    struct seat *over;

    notify_free(seat->notify);
    seat->notify = NULL;
    pthread_mutex_lock(&own->lock);
    seat->is_served = false;
    over = unlink_if_over(seat);
    pthread_mutex_unlock(&own->lock);
    seat_free(over);
}

static void
on_listener_ended(struct notify_owner *owner)
{
    drop_listener((struct seat *)(void *)((char *)owner - offsetof(struct seat, owner)));
}

/* ---- what init and the seats say; loop thread ---- */

/* The end that the seat holds was made by it. */
static int32_t
maker_of(int socket)
{
    struct ucred maker = { 0 };
    socklen_t size = sizeof maker;

    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &maker, &size) < 0 ? 0 : maker.pid;
}

/* 0 or an errno. */
static int
take(struct seat *seat, struct control_message *message)
{
    const struct timeval limit = { .tv_sec = SEND_SECONDS };
    const struct timeval patience = { .tv_usec = WORD_MILLISECONDS * 1000 };
    size_t n = 0;

    seat->socket = steal_fd(&message->fds[n++]);
    if (seat->has_terminal) {
        seat->pty = steal_fd(&message->fds[n++]);
    }
    if (seat->socket < 0 || (seat->has_terminal && seat->pty < 0)) {
        return message->is_cut ? EMFILE : EPROTO;
    }
    if (setsockopt(seat->socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) < 0 ||
            setsockopt(seat->socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) < 0) {
        return errno;
    }
    seat->pid = maker_of(seat->socket);
    seat->shown_pid =
            seat->boundary->plan->capabilities.fresh_proc ? message->wire.value : seat->pid;
    if (!seat->boundary->plan->capabilities.seccomp_notify) {
        return 0;
    }
    if (message->fds[n] < 0) {
        return message->is_cut ? EMFILE : EPROTO;
    }
    seat->owner.ended = on_listener_ended;
    seat->notify = notify_new(seat->boundary, &seat->owner, steal_fd(&message->fds[n]));
    return seat->notify == NULL ? errno : 0;
}

/* A seat without a served listener must not run anything: its calls would fail without a word. */
static void
seat_came(struct boundary *boundary, struct control_message *message)
{
    const struct wire_message kill = {
        .kind = WIRE_KILL, .id = message->wire.id, .value = SIGKILL
    };
    struct boundary_private *own = boundary->own;
    struct seat *seat;
    int error;

    pthread_mutex_lock(&own->lock);
    seat = find(own, message->wire.id);
    if (seat != NULL) {
        seat->is_served = true; /* so it stays while it is looked at */
    }
    pthread_mutex_unlock(&own->lock);
    if (seat == NULL) {
        return;
    }
    error = take(seat, message);
    pthread_mutex_lock(&own->lock);
    if (error == 0 && seat->state == SEAT_COMING) {
        seat->state = SEAT_READY;
        pthread_cond_signal(&seat->cond);
    } else {
        fail(seat, error, START_LISTENER); /* freed with its listener */
    }
    pthread_mutex_unlock(&own->lock);
    if (error != 0) {
        control_send(own->control, &kill, NULL, 0);
    }
    if (error != 0 || seat->notify == NULL) {
        drop_listener(seat);
    }
}

/* Where a command is being started, who does that finds out whether this was its end. */
static void
seat_exited(struct boundary *boundary, const struct wire_message *wire)
{
    struct boundary_private *own = boundary->own;
    struct end end = { .boundary = boundary,
        .status = {
                .reason = wire->mask == CLD_EXITED ? ABX_EXIT_CODE : ABX_EXIT_SIGNAL,
                .code = wire->value,
                .cpu_us = wire->cpu_us,
                .peak_memory = wire->peak,
        } };
    struct seat *seat, *over = NULL;

    pthread_mutex_lock(&own->lock);
    seat = find(own, wire->id);
    if (seat != NULL && seat->state == SEAT_COMING) {
        over = fail(seat, EIO, START_LISTENER);
    } else if (seat != NULL && !seat->exited) {
        seat->exited = true;
        seat->status = end.status;
        end.command = seat->state == SEAT_RUNNING ? atomic_load(&seat->owner.command) : 0;
        over = unlink_if_over(seat);
    }
    pthread_mutex_unlock(&own->lock);
    seat_free(over);
    if (end.command != 0) {
        tell_end(&end);
    }
}

static void
seat_refused(struct boundary *boundary, const struct wire_message *wire)
{
    struct boundary_private *own = boundary->own;
    struct seat *seat, *over = NULL;

    pthread_mutex_lock(&own->lock);
    seat = find(own, wire->id);
    if (seat != NULL && seat->state == SEAT_COMING) {
        over = fail(seat, wire->value == 0 ? EIO : wire->value, wire->step);
    }
    pthread_mutex_unlock(&own->lock);
    seat_free(over);
}

void
seats_message(struct boundary *boundary, struct control_message *message)
{
    if (message->wire.kind == WIRE_SEAT) {
        seat_came(boundary, message);
    } else if (message->wire.kind == WIRE_NO_SEAT) {
        seat_refused(boundary, &message->wire);
    } else if (message->wire.kind == WIRE_EXITED) {
        seat_exited(boundary, &message->wire);
    }
}

void
seats_wake(struct boundary *boundary)
{
    struct boundary_private *own = boundary->own;

    pthread_mutex_lock(&own->lock);
    for (struct seat *seat = own->seats; seat != NULL; seat = seat->next) {
        if (seat->state == SEAT_COMING && seat->is_claimed) {
            fail(seat, ESRCH, 0); /* stays, for who claimed it */
        }
    }
    pthread_mutex_unlock(&own->lock);
}

void
seats_free(struct boundary *boundary)
{
    struct boundary_private *own = boundary->own;

    while (own->seats != NULL) {
        struct seat *seat = own->seats;

        own->seats = seat->next;
        notify_free(seat->notify);
        seat_free(seat);
    }
}
