/* SPDX-License-Identifier: Apache-2.0
 * A seat: a child of init that takes on all that does not depend on the command, tells the host,
 * and waits for a command, which it becomes (command.c).  It is a fork of init, so it is not
 * dumpable and nobody in the box can touch its memory until execve; what a command could change of
 * it from outside is looked at again.  A step that fails is told, and is its end. */
#include "linux/init/init.h"

#include "linux/init/sys.h"

#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/resource.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/wait.h>

#define SEAT_FDS 3 /* socket, terminal, listener */

/* Until the host knows the seat's own socket, over the box's. */
_Noreturn void
seat_fail(const struct seat *seat, int step, int error)
{
    const int32_t failure[2] = { step, -error };
    const struct wire_message message = {
        .kind = WIRE_NO_SEAT, .id = seat->id, .step = (uint32_t)step, .value = -error
    };

    if (seat->socket >= 0) {
        sys_write(seat->socket, failure, sizeof failure);
    } else {
        init_send(seat->init->control, &message, NULL, 0);
    }
    init_exit(127);
}

int
seat_try(const struct seat *seat, int step, long r)
{
    if (r < 0) {
        seat_fail(seat, step, (int)r);
    }
    return (int)r;
}

/* ---- session and terminal ---- */

void
seat_set_stdio(const struct seat *seat, const int fds[3])
{
    for (int i = 0; i < 3; i++) {
        seat_try(seat, START_STDIO, SYS(dup3, fds[i], i, 0, 0, 0, 0));
    }
}

/* Returns the master. */
static int
open_terminal(const struct seat *seat)
{
    const int unlocked = 0;
    int master = seat_try(seat, START_TERMINAL,
            sys_openat(AT_FDCWD, "/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC, 0));
    int slave;

    seat_try(seat, START_TERMINAL, sys_ioctl(master, TIOCSPTLCK, &unlocked));
    slave = seat_try(seat, START_TERMINAL,
            SYS(ioctl, master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC, 0, 0, 0));
    seat_try(seat, START_TERMINAL, SYS(ioctl, slave, TIOCSCTTY, 0, 0, 0, 0));
    seat_set_stdio(seat, (const int[]){ slave, slave, slave });
    return master;
}

/* ---- what it may ---- */

static void
read_limits(const struct seat *seat, struct limit limits[INIT_LIMITS])
{
    for (int i = 0; i < INIT_LIMITS; i++) {
        struct rlimit64 now = { 0 };

        seat_try(seat, START_LIMITS, SYS(prlimit64, 0, i, 0, &now, 0, 0));
        limits[i] = (struct limit){ .soft = now.rlim_cur, .hard = now.rlim_max };
    }
}

void
seat_set_limit(const struct seat *seat, int resource, uint64_t soft, uint64_t hard)
{
    const struct rlimit64 limit = { soft, hard };

    seat_try(seat, START_LIMITS, SYS(prlimit64, 0, resource, &limit, 0, 0, 0));
}

static void
set_limits(struct seat *seat)
{
    const struct limit *limits = seat->init->limits;

    for (int i = 0; i < INIT_LIMITS; i++) {
        if (limits[i].set) {
            seat_set_limit(seat, i, limits[i].soft, limits[i].hard);
        }
    }
    read_limits(seat, seat->limits);
}

static void
drop_rights(const struct seat *seat)
{
    const struct init *init = seat->init;

    seat_try(seat, START_CAPABILITIES, init_keep_capabilities(0));
    seat_try(seat, START_CAPABILITIES, sys_prctl(PR_SET_NO_NEW_PRIVS, 1, 0));
    if (init->pid != 1) {
        seat_try(seat, START_CAPABILITIES, sys_prctl(PR_SET_PDEATHSIG, SYS_SIGKILL, 0));
    }
    if (init->landlock >= 0 && !init->landlock_self) {
        seat_try(seat, START_LANDLOCK, SYS(landlock_restrict_self, init->landlock, 0, 0, 0, 0, 0));
    }
}

/* ---- the filter, and telling the host ---- */

/* A task that has the descriptors, and not the filter: it sends the message when it is told the
 * listener's number over *ret_pipe. */
static int
start_messenger(const struct seat *seat, const struct wire_message *message, int fds[SEAT_FDS],
        int n_fds, int *ret_pipe)
{
    int pipe[2];
    int pid;

    seat_try(seat, START_LISTENER, SYS(pipe2, pipe, O_CLOEXEC, 0, 0, 0, 0));
    pid = seat_try(seat, START_LISTENER, SYS(clone, CLONE_FILES, 0, 0, 0, 0, 0));
    if (pid == 0) {
        int *listener = &fds[n_fds];

        sys_prctl(PR_SET_PDEATHSIG, SYS_SIGKILL, 0);
        init_exit(sys_read(pipe[0], listener, sizeof *listener) == sizeof *listener &&
                                  *listener >= 0 &&
                                  init_send(seat->init->control, message, fds, n_fds + 1) == 0
                          ? 0
                          : 1);
    }
    *ret_pipe = pipe[1];
    return pid;
}

static int
wait_for_messenger(int pid)
{
    int status = 0;
    long r;

    do {
        r = SYS(wait4, pid, &status, __WALL, 0, 0, 0);
    } while (r == -EINTR);
    return r < 0 ? (int)r : status == 0 ? 0 : -EPIPE;
}

static int
load_filter(const struct init *init)
{
    const struct wire_program *header = &init->header;
    const struct sock_fprog program = { .len = (unsigned short)header->filter_count,
        .filter = (struct sock_filter *)(unsigned long)(init->program + header->filter) };
    unsigned flags = 0;

    if ((header->filter_flags & WIRE_FILTER_NOTIFY) != 0) {
        flags |= SECCOMP_FILTER_FLAG_NEW_LISTENER;
    }
    if ((header->filter_flags & WIRE_FILTER_KILLABLE) != 0) {
        flags |= SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    }
    return (int)SYS(seccomp, SECCOMP_SET_MODE_FILTER, flags, &program, 0, 0, 0);
}

/* The listener must reach who answers before anything is asked, so where the filter asks about
 * sendmsg another task sends it.  What fails after the filter is told by the exit alone. */
static void
announce(const struct seat *seat, int fds[SEAT_FDS], int n_fds)
{
    const struct init *init = seat->init;
    const struct wire_message message = {
        .kind = WIRE_SEAT, .id = seat->id, .value = (int32_t)SYS(getpid, 0, 0, 0, 0, 0, 0)
    };
    const bool needs_messenger = (init->header.filter_flags & WIRE_FILTER_SENDMSG) != 0;
    int messenger = -1;
    int pipe = -1;
    int r = 0;

    if (needs_messenger) {
        messenger = start_messenger(seat, &message, fds, n_fds, &pipe);
    }
    if (init->header.filter_count > 0) {
        r = load_filter(init);
    }
    if (needs_messenger) {
        sys_write(pipe, &r, sizeof r);
    }
    seat_try(seat, START_SECCOMP, r);
    if ((init->header.filter_flags & WIRE_FILTER_NOTIFY) != 0) {
        fds[n_fds++] = r;
    }
    r = needs_messenger ? wait_for_messenger(messenger)
                        : init_send(init->control, &message, fds, n_fds);
    if (r < 0) {
        init_exit(127);
    }
}

/* ---- its life ---- */

static void
prepare(struct seat *seat)
{
    int sockets[2];
    int fds[SEAT_FDS];
    int n_fds = 0;

    seat_try(seat, START_SESSION, SYS(setsid, 0, 0, 0, 0, 0, 0));
    seat_try(seat, START_LISTENER,
            SYS(socketpair, SYS_AF_UNIX, SYS_SOCK_STREAM | SYS_SOCK_CLOEXEC, 0, sockets, 0, 0));
    fds[n_fds++] = sockets[1];
    if (seat->has_terminal) {
        fds[n_fds++] = open_terminal(seat);
    }
    seat_try(seat, START_STDIO, SYS(close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC, 0, 0, 0));
    set_limits(seat);
    drop_rights(seat);
    announce(seat, fds, n_fds);
    seat->socket = WIRE_CONTROL_FD; /* nothing that is init's stays */
    seat_try(seat, START_STDIO, SYS(dup3, sockets[0], seat->socket, O_CLOEXEC, 0, 0, 0));
    seat_try(seat, START_STDIO, SYS(close_range, WIRE_CONTROL_FD + 1, ~0u, 0, 0, 0, 0));
}

/* Whoever has the same uid may set the limits of others, where init's are guarded by the filter,
 * and send them signals, which wait: all are blocked. */
static bool
is_stale(const struct seat *seat)
{
    struct limit limits[INIT_LIMITS];
    uint64_t pending = 0;

    seat_try(seat, START_LIMITS, SYS(rt_sigpending, &pending, sizeof pending, 0, 0, 0, 0));
    if (pending != 0) {
        return true;
    }
    read_limits(seat, limits);
    for (int i = 0; i < INIT_LIMITS; i++) {
        if (limits[i].soft != seat->limits[i].soft || limits[i].hard != seat->limits[i].hard) {
            return true;
        }
    }
    return false;
}

_Noreturn void
init_seat(struct init *init, const struct wire_message *request)
{
    struct seat seat = { .init = init,
        .id = request->id,
        .has_terminal = (request->mask & WIRE_SEAT_PTY) != 0,
        .socket = -1 };
    struct incoming incoming = { 0 };
    int r;

    prepare(&seat);
    r = init_receive_command(seat.socket, &incoming);
    if (r == 0) {
        init_exit(0); /* the host has no use for it */
    }
    seat_try(&seat, START_BLOCK, r);
    if (is_stale(&seat)) {
        seat_fail(&seat, START_STALE, -ESTALE);
    }
    seat_execute(&seat, &incoming);
}
