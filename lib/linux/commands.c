/* SPDX-License-Identifier: Apache-2.0
 * Starts commands: claims a seat, sends it the command, waits for its word.  Knows what a command
 * is, not how a seat is made (seats.c).  Any thread. */
#include "linux/seats.h"

#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* A seat that waited may have been killed or changed by a command; so may be the next. */
#define SEATS_TRIED 3
#define SEAT_LOST 1 /* instead of 0 or -errno */

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
    char name[sizeof fail->step], quoted[sizeof fail->text];

    switch (step) {
    case START_EXEC:
        snprintf(name, sizeof name, "exec:%s", command->argv[0]);
        fail_set(fail, ABX_ERR_EXEC, error, name, "%s cannot be executed",
                text_quote(command->argv[0], quoted, sizeof quoted / 2));
        fail_remedy(fail, "%s",
                error == ENOENT ? "name a program that PATH of the box has, or give its path"
                : error == ENOEXEC
                        ? "run it by its interpreter, or begin it with #!"
                        : "it must be an executable file in the box, and so must its interpreter");
        return fail->status;
    case START_CWD:
        return fail_set(fail, ABX_ERR_EXEC, error, names[step],
                "the working directory %s cannot be entered",
                text_quote(command->cwd == NULL ? "/" : command->cwd, quoted, sizeof quoted / 2));
    default:
        if (error == ESRCH && step == 0) {
            return fail_set(fail, ABX_ERR_STATE, 0, "spawn:box", "the box has ended");
        }
        return fail_set(fail, ABX_ERR_EXEC, error,
                step < N_ELEMENTS(names) && names[step] != NULL ? names[step] : "spawn:unknown",
                "the command cannot be started");
    }
}

/* The descriptors go with the first byte.  0 or -errno. */
static int
send_block(int socket, const void *block, size_t size, const int *fds, size_t n_fds)
{
    char room[CMSG_SPACE(3 * sizeof(int))] __attribute__((aligned(8))) = { 0 };
    struct iovec part = { .iov_base = (void *)(uintptr_t)block, .iov_len = size };
    struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

    control_put_fds(&header, room, fds, n_fds);
    while (part.iov_len > 0) {
        ssize_t n = sendmsg(socket, &header, MSG_NOSIGNAL);

        if (n < 0 && errno != EINTR) {
            return -errno;
        }
        if (n > 0) {
            header.msg_control = NULL;
            header.msg_controllen = 0;
            part.iov_base = (char *)part.iov_base + n;
            part.iov_len -= (size_t)n;
        }
    }
    return 0;
}

/* 0: it executes its program, or was killed on the way; SEAT_LOST: it never read its command, or is
 * not what it was; else -errno and *ret_step.  A command that ran before may have stopped it. */
static int
await_start(struct boundary *boundary, const struct seat *seat, uint32_t *ret_step)
{
    int32_t report[2];
    ssize_t n;

    while ((n = recv(seat->socket, report, sizeof report, MSG_WAITALL)) < 0 &&
            (errno == EINTR || errno == EAGAIN)) {
        if (errno == EAGAIN) {
            seats_send_kill(boundary, atomic_load(&seat->owner.command), SIGCONT);
        }
    }
    if (n != sizeof report) {
        return n < 0 && errno == ECONNRESET ? SEAT_LOST : 0;
    }
    *ret_step = (uint32_t)report[0];
    return *ret_step == START_STALE ? SEAT_LOST : report[1] == 0 ? -EIO : -report[1];
}

static int
start(struct boundary *boundary, struct seat *seat, const struct command *command,
        const void *block, size_t size, uint32_t *ret_step)
{
    int r = send_block(seat->socket, block, size, command->stdio, command->pty ? 0 : 3);

    *ret_step = START_BLOCK;
    if (r < 0) {
        return r == -EPIPE || r == -ECONNRESET ? SEAT_LOST : r == -EAGAIN ? -ETIMEDOUT : r;
    }
    return await_start(boundary, seat, ret_step);
}

static int
take_seat(struct boundary *boundary, const struct command *command, const void *block, size_t size,
        int *ret_pty, uint32_t *ret_step)
{
    int r = SEAT_LOST;

    for (int i = 0; r == SEAT_LOST && i < SEATS_TRIED; i++) {
        struct seat *seat;

        r = seats_claim(boundary, command->id, command->pty, &seat, ret_step);
        if (r < 0) {
            return r;
        }
        r = start(boundary, seat, command, block, size, ret_step);
        if (r == 0) {
            *ret_pty = steal_fd(&seat->pty);
        }
        seats_release(seat, r == 0);
    }
    return r == SEAT_LOST ? -EIO : r;
}

/* A command follows a canary, and who starts a second one will start more. */
static void
prepare_next(struct boundary *boundary, const struct command *command)
{
    struct boundary_private *own = boundary->own;
    bool is_second = false;

    if (!command->canary) {
        pthread_mutex_lock(&own->lock);
        is_second = own->n_commands++ > 0;
        pthread_mutex_unlock(&own->lock);
    }
    if (command->canary || is_second) {
        seats_prepare(boundary);
    }
}

abx_status
boundary_spawn(
        struct boundary *boundary, const struct command *command, int *ret_pty, struct fail *fail)
{
    AUTO(freep) void *block = NULL;
    uint32_t step = 0;
    size_t size = 0;
    int pty = -1;
    int r;

    block = control_command(command, &size);
    if (block == NULL) {
        return fail_set(fail, errno == EINVAL ? ABX_ERR_INVALID : ABX_ERR_EXEC, errno,
                "spawn:block", "arguments and environment");
    }
    r = take_seat(boundary, command, block, size, &pty, &step);
    if (r < 0) {
        return spawn_failed(command, step, -r, fail);
    }
    prepare_next(boundary, command);
    if (ret_pty != NULL) {
        *ret_pty = pty;
    } else {
        close_fd(pty);
    }
    return ABX_OK;
}

abx_status
boundary_signal(struct boundary *boundary, uint64_t command, int32_t signal)
{
    return seats_send_kill(boundary, command, signal) < 0 ? ABX_ERR_STATE : ABX_OK;
}
