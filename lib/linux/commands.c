/* SPDX-License-Identifier: Apache-2.0
 * Owns the commands of a box: starts them, waits for init's word, keeps their listeners for as long
 * as a process of theirs lives.  Knows init's messages, not how a box is made.  Any thread asks;
 * init's messages arrive on the loop's thread, which wakes who asked. */
#include "linux/own.h"

#include "base/mem.h"
#include "linux/listen/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static abx_status
spawn_failed(const struct command *command, uint32_t step, int error, struct fail *fail)
{
    static const char *const names[] = {
        [0] = "spawn:send",
        [START_FORK] = "spawn:fork",
        [START_SESSION] = "spawn:session",
        [START_TERMINAL] = "spawn:terminal",
        [START_STDIO] = "spawn:stdio",
        [START_CWD] = "spawn:cwd",
        [START_LIMITS] = "spawn:limits",
        [START_CAPABILITIES] = "spawn:capabilities",
        [START_LANDLOCK] = "spawn:landlock",
        [START_SECCOMP] = "spawn:seccomp",
        [START_LISTENER] = "spawn:listener",
        [START_BLOCK] = "spawn:block",
    };
    char name[sizeof fail->step];

    switch (step) {
    case START_EXEC:
        snprintf(name, sizeof name, "exec:%s", command->argv[0]);
        return fail_set(
                fail, ABX_ERR_EXEC, error, name, "'%s' cannot be executed", command->argv[0]);
    case START_CWD:
        return fail_set(fail, ABX_ERR_EXEC, error, names[step],
                "the working directory '%s' cannot be entered",
                command->cwd == NULL ? "/" : command->cwd);
    default:
        if (error == ESRCH && step == 0) {
            return fail_set(fail, ABX_ERR_STATE, 0, "spawn:box", "the box has ended");
        }
        return fail_set(fail, error == ENOMEM ? ABX_ERR_NOMEM : ABX_ERR_EXEC, error,
                step < N_ELEMENTS(names) && names[step] != NULL ? names[step] : "spawn:unknown",
                "the command cannot be started");
    }
}

abx_status
boundary_spawn(
        struct boundary *boundary, const struct command *command, int *ret_pty, struct fail *fail)
{
    const struct wire_message message = { .kind = WIRE_SPAWN, .id = command->id };
    AUTO(closep) int block = -1;
    AUTO(freep) void *bytes = NULL;
    struct waiter waiter;
    size_t size = 0;
    int fds[4];
    int error;

    bytes = control_command(command, &size);
    if (bytes == NULL) {
        return errno == ENOMEM ? fail_nomem(fail)
                               : fail_set(fail, errno == EINVAL ? ABX_ERR_INVALID : ABX_ERR_EXEC,
                                         errno, "spawn:block", "arguments and environment");
    }
    block = control_seal("agentbox-command", bytes, size);
    if (block < 0) {
        return fail_set(fail, ABX_ERR_EXEC, -block, "spawn:block", "no memory file");
    }
    fds[0] = block;
    memcpy(fds + 1, command->stdio, sizeof command->stdio);
    waiter_init(&waiter, WIRE_SPAWN, command->id);
    error = waiter_ask(boundary, &waiter, &message, fds, command->pty ? 1 : 4);
    if (error != 0) {
        close_fd(waiter.fd);
        return spawn_failed(command, waiter.step, error, fail);
    }
    if (ret_pty != NULL) {
        *ret_pty = waiter.fd;
    }
    return ABX_OK;
}

static int
send_kill(struct boundary *boundary, uint64_t command, int32_t signal)
{
    const struct wire_message message = { .kind = WIRE_KILL, .id = command, .value = signal };

    return control_send(boundary->own->control, &message, NULL, 0);
}

abx_status
boundary_signal(struct boundary *boundary, uint64_t command, int32_t signal)
{
    return send_kill(boundary, command, signal) < 0 ? ABX_ERR_STATE : ABX_OK;
}

/* ---- the commands that run ---- */
static struct running *
find_running(struct boundary *boundary, uint64_t id)
{
    struct running *running = boundary->own->commands;

    while (running != NULL && running->id != id) {
        running = running->next;
    }
    return running;
}

static struct running *
add_running(struct boundary *boundary, uint64_t id)
{
    struct running *running = find_running(boundary, id);

    if (running == NULL) {
        running = calloc(1, sizeof *running);
        if (running != NULL) {
            running->boundary = boundary;
            running->id = id;
            running->hangup = -1;
            running->next = boundary->own->commands;
            boundary->own->commands = running;
        }
    }
    return running;
}

static void
drop_listener(struct running *running)
{
    loop_remove(running->source);
    running->source = NULL;
    close_fd(running->hangup);
    running->hangup = -1;
    notify_free(running->notify);
    running->notify = NULL;
}

static void
forget_if_over(struct running *running)
{
    struct running **place = &running->boundary->own->commands;

    if (!running->exited || running->notify != NULL) {
        return;
    }
    while (*place != running) {
        place = &(*place)->next;
    }
    *place = running->next;
    free(running);
}

/* No process has the filter any more. */
static void
on_hangup(void *data, uint32_t events)
{
    struct running *running = data;

    if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
        drop_listener(running);
        forget_if_over(running);
    }
}

static bool
take_listener(struct boundary *boundary, struct control_message *message)
{
    struct running *running = add_running(boundary, message->wire.id);

    if (running == NULL || running->notify != NULL || message->fds[0] < 0) {
        return false;
    }
    running->hangup = fcntl(message->fds[0], F_DUPFD_CLOEXEC, WIRE_CONTROL_FD + 1);
    if (running->hangup < 0) {
        return false;
    }
    /* It sent this itself, or a task of its session did. */
    boundary_saw(boundary, message->sender, running->id);
    running->notify = notify_new(boundary, running->id, steal_fd(&message->fds[0]));
    if (running->notify == NULL) {
        return false;
    }
    running->source = loop_add(boundary->loop, running->hangup, 0, on_hangup, running);
    return running->source != NULL;
}

/* A command without a served listener must not run: its calls would fail without a word. */
static void
listener_message(struct boundary *boundary, struct control_message *message)
{
    const uint64_t id = message->wire.id;
    struct running *running;

    if (take_listener(boundary, message)) {
        return;
    }
    send_kill(boundary, id, SIGKILL);
    running = find_running(boundary, id);
    if (running != NULL) {
        drop_listener(running);
        running->exited = true;
        forget_if_over(running);
    }
    waiter_wake(boundary, WIRE_SPAWN, id, ENOMEM, START_LISTENER);
}

static void
started(struct boundary *boundary, const struct control_message *message)
{
    struct running *running = add_running(boundary, message->wire.id);

    if (running == NULL) { /* only without a broker: its end could not be told */
        send_kill(boundary, message->wire.id, SIGKILL);
        waiter_wake(boundary, WIRE_SPAWN, message->wire.id, ENOMEM, START_FORK);
        return;
    }
    running->started = true;
    waiter_wake(boundary, WIRE_SPAWN, message->wire.id, 0, 0);
    /* Elsewhere the leader itself has sent its listener. */
    if (running->notify == NULL || plan_shares_network(boundary->plan)) {
        owners_add_leader(boundary, message->fds[0], running->id);
    }
}

static void
not_started(struct boundary *boundary, const struct control_message *message)
{
    struct running *running = find_running(boundary, message->wire.id);

    if (running != NULL) {
        running->exited = true;
        forget_if_over(running);
    }
    waiter_wake(boundary, WIRE_SPAWN, message->wire.id,
            message->wire.value == 0 ? EIO : message->wire.value, message->wire.step);
}

static void
exited(struct boundary *boundary, const struct control_message *message)
{
    const struct wire_message *wire = &message->wire;
    const struct exit_status status = {
        .reason = wire->mask == CLD_EXITED ? ABX_EXIT_CODE : ABX_EXIT_SIGNAL,
        .code = wire->value,
        .cpu_us = wire->cpu_us,
        .peak_memory = wire->peak,
    };
    struct running *running = find_running(boundary, wire->id);

    if (running == NULL || running->exited) {
        return;
    }
    running->exited = true;
    if (running->started) {
        boundary->broker->exited(boundary->broker->data, running->id, &status);
    }
    forget_if_over(running);
}

uint64_t
boundary_only_command(struct boundary *boundary)
{
    const struct running *running = boundary->own->commands;

    return running != NULL && running->next == NULL ? running->id : 0;
}

/* The descriptor of a message to who waits for it. */
static void
give_fd(struct boundary *boundary, uint32_t kind, struct control_message *message)
{
    struct boundary_private *own = boundary->own;
    struct waiter *waiter;

    pthread_mutex_lock(&own->lock);
    waiter = waiter_find(own, kind, message->wire.id);
    if (waiter != NULL && waiter->fd < 0) {
        waiter->fd = steal_fd(&message->fds[0]);
    }
    pthread_mutex_unlock(&own->lock);
}

void
commands_message(struct boundary *boundary, struct control_message *message)
{
    switch (message->wire.kind) {
    case WIRE_LISTENER:
        listener_message(boundary, message);
        break;
    case WIRE_PTY:
        give_fd(boundary, WIRE_SPAWN, message);
        break;
    case WIRE_STARTED:
        started(boundary, message);
        break;
    case WIRE_NOT_STARTED:
        not_started(boundary, message);
        break;
    case WIRE_EXITED:
        exited(boundary, message);
        break;
    case WIRE_BOUND:
        waiter_wake(boundary, WIRE_BIND, message->wire.id, message->wire.value, 0);
        break;
    case WIRE_MADE:
        give_fd(boundary, WIRE_MAKE_SOCKET, message);
        waiter_wake(boundary, WIRE_MAKE_SOCKET, message->wire.id, message->wire.value, 0);
        break;
    default:
        break;
    }
    control_done(message);
}

void
commands_free(struct boundary *boundary)
{
    while (boundary->own->commands != NULL) {
        struct running *running = boundary->own->commands;

        boundary->own->commands = running->next;
        drop_listener(running);
        free(running);
    }
}
