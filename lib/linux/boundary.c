/* SPDX-License-Identifier: Apache-2.0
 * Owns one open box: makes it, serves the control socket on the loop's thread, ends it.  A failure
 * at any point of opening kills and reaps what there is and gives every descriptor back.  Knows
 * neither what the program does nor what a command is (commands.c). */
#include "linux/seats.h"

#include "base/mem.h"
#include "base/thread.h"
#include "linux/host.h"
#include "linux/lower/lower.h"
#include "linux/mask/mask.h"
#include "linux/listen/notify.h"
#include "linux/net/doors.h"
#include "linux/net/network.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define OPEN_SECONDS 10
#define END_MILLISECONDS 5000

/* ---- opening: what init says ---- */

/* The first word counts; afterwards the opener takes everything down. */
static void
open_failed(struct boundary *boundary, const struct fail *fail)
{
    struct boundary_private *own = boundary->own;

    pthread_mutex_lock(&own->lock);
    if (own->state == BOX_OPENING) {
        own->fail = *fail;
        own->state = BOX_ENDED;
        pthread_cond_broadcast(&own->changed);
    }
    pthread_mutex_unlock(&own->lock);
}

static const char *
step_name(const struct boundary_private *own, uint32_t step)
{
    struct wire_program header;
    const char *strings;

    memcpy(&header, own->program, sizeof header);
    strings = (const char *)own->program + header.strings;
    if (step >= header.strings_size ||
            memchr(strings + step, '\0', header.strings_size - step) == NULL) {
        return "init:unknown";
    }
    return strings + step;
}

/* What to change, for the steps that a host's configuration is known to refuse. */
static const struct remedy {
    const char *step; /* how it starts; "": any */
    int error; /* 0: any */
    const char *text;
} remedies[] = {
    { "write:maps", EPERM,
            "user namespaces are restricted: sysctl "
            "kernel.apparmor_restrict_unprivileged_userns=0, "
            "or an AppArmor profile for this program" },
    { "mount:mask", 0,
            "load the fuse module and make /dev/fuse readable and writable for this user, or set "
            "\"feedback\": {\"reads\": \"silent\"}" },
    { "network:gateway", EOPNOTSUPP, "load the veth module" },
    { "mount:/proc", EPERM,
            "/proc is masked here (in another container): give this one a whole /proc" },
    { "mount", EPERM,
            "mounting is restricted: allow it in this program's user namespace (AppArmor, "
            "SELinux)" },
    { "", ELOOP,
            "a part of the path became a symbolic link after the policy was read: open the box "
            "again" },
    { "", ENOENT, "the path disappeared after the policy was read: open the box again" },
};

static void
set_remedy(struct fail *fail)
{
    for (size_t i = 0; i < N_ELEMENTS(remedies); i++) {
        const struct remedy *remedy = &remedies[i];

        if (strncmp(fail->step, remedy->step, strlen(remedy->step)) == 0 &&
                (remedy->error == 0 || remedy->error == fail->os_code)) {
            fail_remedy(fail, "%s", remedy->text);
            return;
        }
    }
}

static void
init_failed(struct boundary *boundary, const struct wire_message *wire)
{
    struct fail fail = { 0 };
    const char *step = step_name(boundary->own, wire->step);

    fail_set(&fail, ABX_ERR_SETUP, wire->value, step, "the box cannot be set up at '%s'", step);
    set_remedy(&fail);
    open_failed(boundary, &fail);
}

static void
ready(struct boundary *boundary, struct control_message *message)
{
    struct boundary_private *own = boundary->own;

    pthread_mutex_lock(&own->lock);
    if (own->state == BOX_OPENING) {
        boundary->root = steal_fd(&message->fds[0]);
        own->optional_failed = message->wire.mask;
        own->state = BOX_OPEN;
        pthread_cond_broadcast(&own->changed);
    }
    pthread_mutex_unlock(&own->lock);
}

static void
take_fuse(struct boundary *boundary, struct control_message *message)
{
    struct fail fail = { 0 };
    int fd = steal_fd(&message->fds[0]);

    if (boundary->mask == NULL) {
        close_fd(fd);
    } else if (mask_attach(boundary->mask, fd, &fail) < 0) {
        open_failed(boundary, &fail);
    }
}

static void
take_socket(struct boundary *boundary, struct control_message *message)
{
    struct fail fail = { 0 };

    if (network_take_socket(boundary, steal_fd(&message->fds[0]), &fail) < 0) {
        open_failed(boundary, &fail);
    }
}

/* What the box is served by, or its root, did not arrive. */
static void
cut(struct boundary *boundary)
{
    struct fail fail = { 0 };

    fail_set(&fail, ABX_ERR_SETUP, EMFILE, "receive:box", "no descriptor is left for the box");
    open_failed(boundary, &fail);
}

static void
take_message(struct boundary *boundary, struct control_message *message)
{
    const uint32_t kind = message->wire.kind;

    if (message->is_cut && (kind == WIRE_FUSE || kind == WIRE_SOCKET || kind == WIRE_READY)) {
        cut(boundary);
        return;
    }
    switch (kind) {
    case WIRE_FUSE:
        take_fuse(boundary, message);
        break;
    case WIRE_SOCKET:
        take_socket(boundary, message);
        break;
    case WIRE_READY:
        ready(boundary, message);
        break;
    case WIRE_FAILED:
        init_failed(boundary, &message->wire);
        break;
    case WIRE_BOUND:
    case WIRE_MADE:
        asking_message(boundary, message);
        break;
    default:
        seats_message(boundary, message);
        break;
    }
    control_done(message);
}

/* ---- the control socket and the end of init: loop thread ---- */
static void
box_ended(struct boundary *boundary)
{
    struct boundary_private *own = boundary->own;
    struct fail fail = { 0 };
    bool was_open;

    loop_remove(own->control_source);
    own->control_source = NULL;
    loop_remove(own->init_source);
    own->init_source = NULL;
    fail_set(&fail, ABX_ERR_SETUP, 0, "init:ended", "the box's first process ended during set-up");
    pthread_mutex_lock(&own->lock);
    was_open = own->state == BOX_OPEN;
    pthread_mutex_unlock(&own->lock);
    open_failed(boundary, &fail);
    pthread_mutex_lock(&own->lock);
    own->state = BOX_ENDED;
    pthread_mutex_unlock(&own->lock);
    asking_end(boundary);
    seats_wake(boundary);
    if (was_open) {
        boundary->broker->ended(boundary->broker->data);
    }
}

/* Takes every message that is there; false when there will be no more. */
static bool
drain(struct boundary *boundary)
{
    struct control_message message;
    int r;

    for (;;) {
        r = control_receive(boundary->own->control, &message);
        if (r <= 0) {
            return r == -EAGAIN;
        }
        take_message(boundary, &message);
    }
}

static void
on_control(void *data, uint32_t events)
{
    struct boundary *boundary = data;

    if (!drain(boundary)) {
        /* Init closed its end or talks nonsense: either way it is over. */
        boundary_kill(boundary);
        box_ended(boundary);
    }
}

static void
on_init_ended(void *data, uint32_t events)
{
    drain(data);
    box_ended(data);
}

static void
attach(void *data)
{
    struct boundary *boundary = data;
    struct boundary_private *own = boundary->own;
    struct fail fail = { 0 };

    own->control_source = loop_add(boundary->loop, own->control, EPOLLIN, on_control, boundary);
    own->init_source = loop_add(boundary->loop, own->init.pidfd, EPOLLIN, on_init_ended, boundary);
    if (own->control_source == NULL || own->init_source == NULL) {
        fail_set(&fail, ABX_ERR_SETUP, errno, "loop:add", "the box cannot be watched");
        open_failed(boundary, &fail);
    } else if (network_watch(boundary, &fail) < 0) {
        open_failed(boundary, &fail);
    }
}

static void
detach(void *data)
{
    struct boundary *boundary = data;
    struct boundary_private *own = boundary->own;

    loop_remove(own->control_source);
    loop_remove(own->init_source);
    asking_end(boundary); /* workers may wait for init */
    seats_free(boundary);
    mask_free(boundary->mask); /* and workers for an answer of the mask */
    notify_close(boundary);
    own->slow_fd = network_free(boundary);
}

/* ---- making and unmaking ---- */
static struct boundary *
boundary_new(const struct box_setup *setup)
{
    struct boundary *boundary = calloc(1, sizeof *boundary);
    struct boundary_private *own = calloc(1, sizeof *own);

    if (boundary == NULL || own == NULL) {
        free(boundary);
        free(own);
        return NULL;
    }
    *boundary = (struct boundary){
        .plan = setup->plan,
        .loop = setup->loop,
        .mask_loop = setup->mask_loop,
        .broker = setup->broker,
        .gateway = setup->gateway,
        .decoy_seed = setup->decoy_seed,
        .root = -1,
        .host_root = -1,
        .own = own,
    };
    own->init.pidfd = -1;
    own->control = -1;
    own->slow_fd = -1;
    pthread_mutex_init(&own->lock, NULL);
    condition_init(&own->changed);
    return boundary;
}

/* Without a pid namespace the kernel does not end the rest with init: init does it itself. */
void
boundary_kill(struct boundary *boundary)
{
    const struct wire_message end = { .kind = WIRE_END };

    cgroup_kill(boundary->own->cgroup);
    if (boundary->plan->capabilities.pid_namespace || boundary->own->control < 0 ||
            control_send(boundary->own->control, &end, NULL, 0) < 0) {
        launch_kill(&boundary->own->init);
    }
}

/* Also for a box that was made in part.  The order matters: killed and seen dead while everything
 * is served as before, since a process that the kill has not reached yet would see its calls fail.
 * Then nobody serves or waits any more: what is not dead by now waits for the mask or a worker, and
 * is let go.  Then init can be reaped. */
void
boundary_close(struct boundary *boundary)
{
    struct boundary_private *own;

    if (boundary == NULL) {
        return;
    }
    own = boundary->own;
    boundary_kill(boundary);
    launch_wait(&own->init, END_MILLISECONDS);
    pthread_mutex_lock(&own->lock);
    own->state = BOX_ENDED;
    pthread_mutex_unlock(&own->lock);
    if (!loop_call(boundary->loop, detach, boundary)) {
        detach(boundary); /* the loop has stopped: its owner's thread may do this */
    }
    launch_end(&own->init);
    cgroup_free(own->cgroup);
    close_fd(own->control);
    close_fd(own->slow_fd);
    close_fd(boundary->root);
    close_fd(boundary->host_root);
    pthread_cond_destroy(&own->changed);
    pthread_mutex_destroy(&own->lock);
    free(own->program);
    free(own);
    free(boundary);
}
DEFINE_CLEANUP(boundary_close, struct boundary)

static abx_status
prepare(struct boundary *boundary, const struct trust_files *trust, struct fail *fail)
{
    struct boundary_private *own = boundary->own;
    const struct plan *plan = boundary->plan;
    const bool is_root = plan->capabilities.uid == 0 && plan->capabilities.user_namespace;
    abx_status r;

    boundary->host_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (boundary->host_root < 0) {
        return fail_set(fail, ABX_ERR_SETUP, errno, "open:/", "the host's root directory");
    }
    r = lower(plan, &host_real, trust, is_root, &own->program, &own->program_size, fail);
    if (r < 0) {
        return r;
    }
    if (mask_needed(plan)) {
        boundary->mask = mask_new(boundary, fail);
        if (boundary->mask == NULL) {
            return fail->status;
        }
    }
    return network_new(boundary, fail);
}

/* Limits of the whole box, where a cgroup can be had; else the program's rlimits stand alone. */
static abx_status
confine(struct boundary *boundary, struct fail *fail)
{
    struct boundary_private *own = boundary->own;
    const uint64_t memory = boundary->plan->limits[ABX_LIMIT_MEMORY];
    const uint64_t processes = boundary->plan->limits[ABX_LIMIT_PROCESSES];
    int r = 0;

    if (!boundary->plan->capabilities.cgroup || (memory == 0 && processes == 0)) {
        return ABX_OK;
    }
    /* Two more processes: init, and a seat that waits. */
    own->cgroup = cgroup_new(CGROUP_ROOT, memory, processes == 0 ? 0 : processes + 2, &r);
    if (own->cgroup != NULL) {
        r = cgroup_add(own->cgroup, own->init.pid);
    }
    if (r < 0) {
        return fail_set(fail, ABX_ERR_SETUP, -r, "cgroup:limits", "the box's limits cannot be set");
    }
    return ABX_OK;
}

static abx_status
start(struct boundary *boundary, const char *init_path, int *ret_other, struct fail *fail)
{
    struct boundary_private *own = boundary->own;
    AUTO(closep) int image = -1;
    AUTO(closep) int other = -1;
    int pair[2];
    abx_status r = launch_image(init_path, &image, fail);

    if (r < 0) {
        return r;
    }
    r = control_pair(pair);
    if (r < 0) {
        return fail_set(fail, ABX_ERR_SETUP, -r, "socket:control", "no control socket");
    }
    own->control = pair[0];
    other = pair[1];
    r = launch_init(image, other, boundary->plan, &own->init, fail);
    if (r < 0) {
        return r;
    }
    boundary->init_pid = own->init.pid;
    *ret_other = steal_fd(&other);
    return ABX_OK;
}

static abx_status
send_program(struct boundary *boundary, struct fail *fail)
{
    struct boundary_private *own = boundary->own;
    const struct wire_message message = { .kind = WIRE_PROGRAM };
    AUTO(closep) int program = control_seal("agentbox-program", own->program, own->program_size);
    AUTO(closep) int host = (int)syscall(SYS_pidfd_open, getpid(), 0);
    const int fds[2] = { program, host };
    int r;

    if (program < 0 || host < 0) {
        return fail_set(fail, ABX_ERR_SETUP, program < 0 ? -program : errno, "send:program",
                "the box's program cannot be stored");
    }
    r = control_send(own->control, &message, fds, 2);
    if (r < 0 && r != -EPIPE) { /* it died: the loop's thread says why */
        return fail_set(
                fail, ABX_ERR_SETUP, -r, "send:program", "the box's program cannot be sent");
    }
    return ABX_OK;
}

static abx_status
wait_until_open(struct boundary *boundary, struct fail *fail)
{
    struct boundary_private *own = boundary->own;
    struct timespec deadline;
    abx_status r = ABX_OK;

    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += OPEN_SECONDS;
    pthread_mutex_lock(&own->lock);
    while (own->state == BOX_OPENING && r == ABX_OK) {
        if (pthread_cond_timedwait(&own->changed, &own->lock, &deadline) == ETIMEDOUT) {
            r = fail_set(fail, ABX_ERR_SETUP, 0, "init:timeout",
                    "the box was not ready after %d seconds", OPEN_SECONDS);
        }
    }
    if (r == ABX_OK && own->state == BOX_ENDED) {
        *fail = own->fail;
        r = fail->status;
    }
    pthread_mutex_unlock(&own->lock);
    return r;
}

abx_status
boundary_open(const struct box_setup *setup, struct boundary **ret_boundary, struct fail *fail)
{
    AUTO(boundary_closep) struct boundary *boundary = boundary_new(setup);
    AUTO(closep) int other = -1;
    abx_status r;

    if (boundary == NULL) {
        return fail_nomem(fail);
    }
    r = prepare(boundary, setup->trust, fail);
    if (r == ABX_OK) {
        r = start(boundary, setup->init_path, &other, fail);
    }
    if (r == ABX_OK) {
        r = confine(boundary, fail);
    }
    if (r == ABX_OK && setup->plan->capabilities.uid == 0 &&
            setup->plan->capabilities.user_namespace) {
        r = launch_write_maps(boundary->init_pid, fail);
    }
    if (r == ABX_OK && !loop_call(boundary->loop, attach, boundary)) {
        r = fail_set(fail, ABX_ERR_STATE, 0, "loop:call", "the supervisor has stopped");
    }
    if (r == ABX_OK) {
        r = send_program(boundary, fail);
    }
    if (r == ABX_OK) {
        seats_prepare(boundary); /* init makes the first while the opener goes on */
        r = wait_until_open(boundary, fail);
    }
    if (r < 0) {
        return r;
    }
    *ret_boundary = steal_ptr(&boundary);
    return ABX_OK;
}

/* ---- answers ---- */
struct answer {
    struct boundary *boundary;
    uint64_t ticket;
    abx_verdict verdict;
};

static void
deliver(void *data)
{
    struct answer *answer = data;

    notify_answer(answer->boundary, answer->ticket, answer->verdict);
    if (answer->boundary->mask != NULL) {
        mask_answer(answer->boundary->mask, answer->ticket, answer->verdict);
    }
}

/* Waits for the loop's thread, so that no answer is lost for want of memory: the question is over
 * for the broker already.  The caller holds no lock. */
void
boundary_answer(struct boundary *boundary, uint64_t ticket, abx_verdict verdict)
{
    struct answer answer = { .boundary = boundary, .ticket = ticket, .verdict = verdict };

    loop_call(boundary->loop, deliver, &answer);
}

const char *
boundary_proxy(struct boundary *boundary)
{
    return boundary->doors == NULL ? NULL : doors_proxy(boundary->doors);
}
