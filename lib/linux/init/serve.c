/* SPDX-License-Identifier: Apache-2.0
 * What init does once the box stands: waits for messages, for children and for the end of the host;
 * makes seats for commands (seat.c), reaps and signals them.  Nothing here waits for a seat: one
 * whose execve is held must not keep the others waiting. */
#include "linux/init/init.h"

#include "linux/init/sys.h"

#include <linux/eventpoll.h>
#include <linux/resource.h>
#include <linux/sched.h>
#include <linux/stat.h>
#include <linux/wait.h>

enum { EVENT_CONTROL, EVENT_HOST, EVENT_CHILDREN };
enum { STATUS_EXITED = 1, STATUS_KILLED = 2, STATUS_DUMPED = 3 }; /* CLD_* */

/* ---- seats ---- */

static struct seat_slot *
find_seat(struct init *init, uint64_t id)
{
    for (uint32_t i = 0; i < init->n_seats; i++) {
        if (init->seats[i].pid != 0 && init->seats[i].id == id) {
            return &init->seats[i];
        }
    }
    return NULL;
}

static struct seat_slot *
find_leader(struct init *init, int pid)
{
    for (uint32_t i = 0; i < init->n_seats; i++) {
        if (init->seats[i].pid == pid) {
            return &init->seats[i];
        }
    }
    return NULL;
}

static struct seat_slot *
find_free(struct init *init)
{
    for (uint32_t i = 0; i < init->n_seats; i++) {
        if (init->seats[i].pid == 0) {
            return &init->seats[i];
        }
    }
    return init->n_seats < INIT_SEATS ? &init->seats[init->n_seats++] : NULL;
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
    if (init_send(init->control, message, &fd, fd >= 0 ? 1 : 0) < 0) {
        end(init, 1);
    }
}

static int
watch(struct init *init, int fd, uint64_t what)
{
    struct epoll_event event = { .events = EPOLLIN, .data = what };

    return (int)SYS(epoll_ctl, init->epoll, EPOLL_CTL_ADD, fd, &event, 0, 0);
}

static void
prepare_seat(struct init *init, const struct wire_message *request)
{
    struct seat_slot *slot = find_free(init);
    int pid = slot == NULL ? -EAGAIN : (int)SYS(clone, SYS_SIGCHLD, 0, 0, 0, 0, 0);

    if (pid == 0) {
        init_seat(init, request);
    }
    if (pid < 0) {
        const struct wire_message message = {
            .kind = WIRE_NO_SEAT, .id = request->id, .step = START_FORK, .value = -pid
        };

        tell(init, &message, -1);
        return;
    }
    *slot = (struct seat_slot){ .id = request->id, .pid = pid };
}

/* ---- children ---- */

static uint64_t
microseconds(const struct rusage *usage)
{
    return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000u +
           (uint64_t)usage->ru_utime.tv_usec + (uint64_t)usage->ru_stime.tv_usec;
}

static void
tell_exited(struct init *init, const struct seat_slot *slot, int status, const struct rusage *usage)
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
        struct seat_slot *slot;

        if (pid <= 0) {
            return;
        }
        slot = find_leader(init, pid);
        if (slot != NULL) {
            tell_exited(init, slot, status, &usage);
            slot->pid = 0;
        }
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
    const struct seat_slot *slot = find_seat(init, request->id);

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
    if (message->wire.kind == WIRE_PREPARE) {
        prepare_seat(init, &message->wire);
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
    } else {
        serve_children(init);
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
