/* SPDX-License-Identifier: Apache-2.0
 * What init does once the box stands: waits for messages, for children and for the end of the host;
 * starts, reaps and signals commands.  Nothing here may block on a command: one whose execve is
 * held must not keep the others waiting, so its start is told by a pipe. */
#include "linux/init/init.h"

#include "linux/init/sys.h"

#include <linux/eventpoll.h>
#include <linux/resource.h>
#include <linux/sched.h>
#include <linux/stat.h>
#include <linux/wait.h>

enum { EVENT_CONTROL, EVENT_HOST, EVENT_CHILDREN, EVENT_COMMANDS };
enum { STATUS_EXITED = 1, STATUS_KILLED = 2, STATUS_DUMPED = 3 }; /* CLD_* */

/* ---- commands ---- */

static struct command_slot *
find_command(struct init *init, uint64_t id)
{
    for (uint32_t i = 0; i < init->n_commands; i++) {
        if (init->commands[i].state != COMMAND_FREE && init->commands[i].id == id) {
            return &init->commands[i];
        }
    }
    return NULL;
}

static struct command_slot *
find_leader(struct init *init, int pid)
{
    for (uint32_t i = 0; i < init->n_commands; i++) {
        if (init->commands[i].state != COMMAND_FREE && init->commands[i].pid == pid) {
            return &init->commands[i];
        }
    }
    return NULL;
}

static struct command_slot *
find_free(struct init *init)
{
    for (uint32_t i = 0; i < init->n_commands; i++) {
        if (init->commands[i].state == COMMAND_FREE) {
            return &init->commands[i];
        }
    }
    return init->n_commands < INIT_COMMANDS ? &init->commands[init->n_commands++] : NULL;
}

/* Ends the box: the kernel kills what is in a pid namespace with its first process. */
static _Noreturn void
end(struct init *init, int status)
{
    if (init->pid != 1) {
        init_kill_all(init);
    }
    init_exit(status);
}

static void
tell(struct init *init, const struct wire_message *message, int fd)
{
    if (init_send(init->control, message, fd) < 0) {
        end(init, 1);
    }
}

static void
tell_not_started(struct init *init, uint64_t id, uint32_t step, int error)
{
    const struct wire_message message = {
        .kind = WIRE_NOT_STARTED, .id = id, .step = step, .value = error
    };

    tell(init, &message, -1);
}

static int
watch(struct init *init, int fd, uint64_t what)
{
    struct epoll_event event = { .events = EPOLLIN, .data = what };

    return (int)SYS(epoll_ctl, init->epoll, EPOLL_CTL_ADD, fd, &event, 0, 0);
}

/* The pipe of a starting command has something: a failure, or its end, since it is closed by execve
 * (or because the command was killed before; then WIRE_EXITED follows and says so). */
static void
finish_start(struct init *init, struct command_slot *slot)
{
    int32_t failure[2] = { 0 };
    long n = sys_read(slot->pipe, failure, sizeof failure);

    if (n == -EAGAIN || n == -EINTR) {
        return;
    }
    if (n == sizeof failure) {
        slot->state = COMMAND_FAILED;
        tell_not_started(init, slot->id, (uint32_t)failure[0], failure[1]);
    } else {
        const struct wire_message message = {
            .kind = WIRE_STARTED, .id = slot->id, .value = slot->pid
        };

        slot->state = COMMAND_RUNNING;
        tell(init, &message, slot->pidfd);
    }
    /* A child that is being held still has the pipe open, and epoll would tell of it for ever. */
    SYS(epoll_ctl, init->epoll, EPOLL_CTL_DEL, slot->pipe, 0, 0, 0);
    sys_close(slot->pipe);
    sys_close(slot->pidfd);
}

struct start {
    int pipe[2];
    int pidfd;
};

/* In the child, pid is 0. */
static int
start_fork(struct init *init, struct command_slot *slot, struct start *start)
{
    int r = (int)SYS(pipe2, start->pipe, O_CLOEXEC | O_NONBLOCK, 0, 0, 0, 0);
    int pid;

    if (r < 0) {
        return r;
    }
    r = watch(init, start->pipe[0], EVENT_COMMANDS + (uint64_t)(slot - init->commands));
    pid = r < 0 ? r : (int)SYS(clone, CLONE_PIDFD | SYS_SIGCHLD, 0, &start->pidfd, 0, 0, 0);
    if (pid == 0) {
        init_command(init, &init->message, start->pipe[1]);
    }
    sys_close(start->pipe[1]);
    if (pid < 0) {
        sys_close(start->pipe[0]);
    }
    return pid;
}

static void
spawn(struct init *init, struct message *message)
{
    struct command_slot *slot = find_free(init);
    struct start start = { { -1, -1 }, -1 };
    int pid = slot == NULL ? -EAGAIN : start_fork(init, slot, &start);

    init_drop(message);
    if (pid < 0) {
        tell_not_started(init, message->wire.id, START_FORK, -pid);
        return;
    }
    *slot = (struct command_slot){ .id = message->wire.id,
        .pid = pid,
        .pidfd = start.pidfd,
        .pipe = start.pipe[0],
        .state = COMMAND_STARTING };
}

/* ---- children ---- */

static uint64_t
microseconds(const struct rusage *usage)
{
    return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000u +
           (uint64_t)usage->ru_utime.tv_usec + (uint64_t)usage->ru_stime.tv_usec;
}

static void
tell_exited(
        struct init *init, const struct command_slot *slot, int status, const struct rusage *usage)
{
    struct wire_message message = { .kind = WIRE_EXITED,
        .id = slot->id,
        .cpu_us = microseconds(usage),
        .peak = (uint64_t)usage->ru_maxrss * 1024u };
    int signal = status & 0x7f;

    if (signal == 0) {
        message.mask = STATUS_EXITED;
        message.value = status >> 8 & 0xff;
    } else {
        message.mask = (status & 0x80) != 0 ? STATUS_DUMPED : STATUS_KILLED;
        message.value = signal;
    }
    tell(init, &message, -1);
}

/* Orphans are reaped without a word. */
static void
reap(struct init *init)
{
    for (;;) {
        struct rusage usage = { 0 };
        int status = 0;
        int pid = (int)SYS(wait4, -1, &status, WNOHANG | __WALL, &usage, 0, 0);
        struct command_slot *slot;

        if (pid <= 0) {
            return;
        }
        slot = find_leader(init, pid);
        if (slot == NULL) {
            continue;
        }
        if (slot->state == COMMAND_STARTING) {
            finish_start(init, slot);
        }
        if (slot->state == COMMAND_RUNNING) {
            tell_exited(init, slot, status, &usage);
        }
        slot->state = COMMAND_FREE;
    }
}

/* ---- binding ---- */

/* Only for a directory that is no mount yet. */
static int
check_plain(int fd)
{
    struct statx status = { 0 };
    int r = (int)SYS(statx, fd, "", AT_EMPTY_PATH, STATX_TYPE, &status, 0);

    if (r < 0) {
        return r;
    }
    return (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0 ? -EBUSY : 0;
}

/* With the mounts below it: a directory that was moved here may hold some. */
static int
bind_onto_itself(int target, const struct mount_attr *attributes)
{
    int r = check_plain(target);
    int tree = r < 0 ? r : sys_open_tree(target, AT_RECURSIVE);

    if (tree < 0) {
        return tree;
    }
    r = sys_mount_setattr(tree, 0, attributes);
    if (r == 0) {
        r = sys_move_mount(tree, target);
    }
    sys_close(tree);
    return r;
}

static int
detach(int mount)
{
    int r = (int)SYS(fchdir, mount, 0, 0, 0, 0, 0);

    if (r == 0) {
        r = (int)SYS(umount2, ".", SYS_MNT_DETACH, 0, 0, 0, 0);
        SYS(chdir, "/", 0, 0, 0, 0, 0);
    }
    return r;
}

int
init_bind(struct init *init, const struct message *request)
{
    const struct mount_attr read_only = { .attr_set = MOUNT_ATTR_RDONLY };
    const struct mount_attr writable = { .attr_clr = MOUNT_ATTR_RDONLY };
    const struct mount_attr *attributes =
            (request->wire.mask & WIRE_BIND_READ_ONLY) != 0 ? &read_only : &writable;
    int target;
    int r;

    if (request->n_fds > 0 && (request->wire.mask & WIRE_BIND_DETACH) != 0) {
        return detach(request->fds[0]);
    }
    if (request->n_fds > 0) {
        return bind_onto_itself(request->fds[0], attributes);
    }
    target = init_open_box(init, request->wire.path, O_PATH | O_DIRECTORY);
    if (target < 0) {
        return target;
    }
    r = bind_onto_itself(target, attributes);
    sys_close(target);
    return r;
}

/* ---- the loop ---- */

static void
serve_bind(struct init *init, const struct message *request)
{
    const struct wire_message message = {
        .kind = WIRE_BOUND, .id = request->wire.id, .value = -init_bind(init, request)
    };

    tell(init, &message, -1);
}

static void
serve_make_socket(struct init *init, const struct wire_message *request)
{
    struct wire_message message = { .kind = WIRE_MADE, .id = request->id };
    int fd;

    if (!init_make_socket(init, request, &fd)) {
        end(init, 1);
    }
    message.value = fd < 0 ? -fd : 0;
    tell(init, &message, fd);
    if (fd >= 0) {
        sys_close(fd);
    }
}

static void
serve_kill(struct init *init, const struct wire_message *request)
{
    const struct command_slot *slot = find_command(init, request->id);

    if (slot != NULL) {
        init_kill(init, slot, request->value);
    }
}

static void
serve_control(struct init *init)
{
    struct message *message = &init->message;
    int r = init_receive(init->control, message);

    if (r == -EINTR || r == -EAGAIN) {
        return;
    }
    if (r <= 0) {
        end(init, r == 0 ? 0 : 1);
    }
    if (message->wire.kind == WIRE_SPAWN) {
        spawn(init, message);
    } else if (message->wire.kind == WIRE_BIND) {
        serve_bind(init, message);
    } else if (message->wire.kind == WIRE_MAKE_SOCKET) {
        serve_make_socket(init, &message->wire);
    } else if (message->wire.kind == WIRE_KILL) {
        serve_kill(init, &message->wire);
    } else {
        end(init, message->wire.kind == WIRE_END ? 0 : 1);
    }
    init_drop(message);
}

static void
serve_children(struct init *init)
{
    unsigned char signals[128 * 4]; /* struct signalfd_siginfo */

    sys_read(init->signals, signals, sizeof signals);
    reap(init);
}

static void
serve_event(struct init *init, uint64_t what)
{
    if (what == EVENT_CONTROL) {
        serve_control(init);
    } else if (what == EVENT_HOST) {
        end(init, 1);
    } else if (what == EVENT_CHILDREN) {
        serve_children(init);
    } else {
        struct command_slot *slot = &init->commands[what - EVENT_COMMANDS];

        if (slot->state == COMMAND_STARTING) {
            finish_start(init, slot);
        }
    }
}

static int
prepare_loop(struct init *init)
{
    const uint64_t children = 1ull << (SYS_SIGCHLD - 1);
    int r;

    init->epoll = (int)SYS(epoll_create1, EPOLL_CLOEXEC, 0, 0, 0, 0, 0);
    init->signals =
            (int)SYS(signalfd4, -1, &children, sizeof children, O_CLOEXEC | O_NONBLOCK, 0, 0);
    if (init->epoll < 0 || init->signals < 0) {
        return -1;
    }
    r = watch(init, init->control, EVENT_CONTROL);
    if (r == 0) {
        r = watch(init, init->signals, EVENT_CHILDREN);
    }
    return r == 0 && init->host >= 0 ? watch(init, init->host, EVENT_HOST) : r;
}

_Noreturn void
init_serve(struct init *init)
{
    struct epoll_event events[16];

    if (prepare_loop(init) < 0) {
        end(init, 1);
    }
    for (;;) {
        long n = SYS(epoll_pwait, init->epoll, events, 16, -1, 0, 0);

        if (n < 0 && n != -EINTR) {
            end(init, 1);
        }
        for (long i = 0; i < n; i++) {
            serve_event(init, events[i].data);
        }
    }
}
