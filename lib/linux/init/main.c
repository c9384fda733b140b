/* SPDX-License-Identifier: Apache-2.0
 * Pid 1 of a box: receives the program, runs it in order, and serves.  Arguments and environment
 * are not looked at.  Whatever fails before WIRE_READY is reported with step and errno, and is the
 * end: when this process is gone the kernel takes the box with it. */
#include "linux/init/init.h"

#include "linux/init/sys.h"

#define PROGRAM_WAIT_MS 60000
#define N_SIGNALS 64

_Noreturn void init_main(void);

_Noreturn void
init_exit(int status)
{
    for (;;) {
        SYS(exit_group, status, 0, 0, 0, 0, 0);
    }
}

/* Descriptors 0 to 2 are held by something harmless, so that what is opened later never stands
 * where a command's standard streams go. */
static int
occupy_stdio(void)
{
    const int fd = (int)SYS(eventfd2, 0, SYS_PIPE_CLOEXEC, 0, 0, 0, 0);
    int r = fd < 0 ? fd : 0;

    for (int i = 0; r >= 0 && i < 3; i++) {
        if (i != fd) {
            r = (int)SYS(dup3, fd, i, SYS_PIPE_CLOEXEC, 0, 0, 0);
        }
    }
    if (fd > WIRE_CONTROL_FD) {
        sys_close(fd);
    }
    return r;
}

/* Nothing of the host is inherited: descriptors, ignored signals, umask. */
static int
prepare(struct init *init)
{
    const uint64_t all_signals = UINT64_MAX;
    const unsigned char default_action[64] = { 0 };
    int r;

    init->control = WIRE_CONTROL_FD;
    init->host = init->old_root = init->root = init->whole = init->proc = init->landlock = -1;
    init->network = init->gateway = -1;
    SYS(rt_sigprocmask, 0 /* SIG_BLOCK */, &all_signals, 0, sizeof all_signals, 0, 0);
    for (int i = 1; i <= N_SIGNALS; i++) {
        SYS(rt_sigaction, i, default_action, 0, sizeof all_signals, 0, 0);
    }
    SYS(umask, 0, 0, 0, 0, 0, 0);
    init->pid = (int32_t)SYS(getpid, 0, 0, 0, 0, 0, 0);
    r = (int)SYS(close_range, WIRE_CONTROL_FD + 1, ~0u, 0, 0, 0, 0);
    if (r >= 0) {
        r = sys_fcntl(WIRE_CONTROL_FD, F_SETFD, FD_CLOEXEC);
    }
    if (r >= 0) {
        r = occupy_stdio();
    }
    if (r >= 0) {
        r = init->root = sys_openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    }
    return r < 0 ? r : 0;
}

/* If the host dies before it sends, a forked child of it may keep the socket open; hence a limit.
 */
static int
receive_program(struct init *init)
{
    struct message *message = &init->message;
    struct sys_pollfd poll = { .fd = init->control, .events = SYS_POLLIN };
    struct {
        int64_t seconds, nanoseconds;
    } wait = { PROGRAM_WAIT_MS / 1000, 0 };
    const unsigned char *bytes;
    size_t size;
    int r;

    if (SYS(ppoll, &poll, 1, &wait, 0, 0, 0) <= 0) {
        init_exit(1);
    }
    r = init_receive(init->control, message);
    if (r == 0) {
        init_exit(1);
    }
    if (r < 0) {
        return r;
    }
    if (message->wire.kind != WIRE_PROGRAM || message->n_fds < 1 || message->n_fds > 2) {
        init_drop(message);
        return -EBADMSG;
    }
    if (message->n_fds == 2) {
        init->host = message->fds[1];
        message->n_fds = 1;
    }
    r = init_map_block(message->fds[0], WIRE_PROGRAM_MAX, &bytes, &size);
    init_drop(message);
    return r < 0 ? r : init_check_program(init, bytes, size);
}

static int
run_program(struct init *init)
{
    const struct wire_op *ops =
            (const struct wire_op *)(const void *)(init->program + init->header.ops);
    bool is_hidden = false;
    int r = 0;

    for (uint32_t i = 0; r >= 0 && i < init->header.n_ops; i++) {
        init->step = ops[i].step;
        /* The maps must be written before: /proc/self of a hidden process belongs to root. */
        if (!is_hidden && ops[i].code > OP_WRITE_MAPS) {
            r = sys_prctl(PR_SET_DUMPABLE, 0, 0);
            is_hidden = true;
        }
        if (r >= 0) {
            r = op_run(init, &ops[i]);
        }
    }
    return r;
}

/* Orphans are reaped by init also where it is not the first of a pid namespace. */
static int
become_parent_of_orphans(const struct init *init)
{
    return init->pid == 1 ? 0 : sys_prctl(PR_SET_CHILD_SUBREAPER, 1, 0);
}

int
init_run(struct init *init)
{
    struct wire_message failed = { .kind = WIRE_FAILED };
    int r = prepare(init);

    if (r >= 0) {
        r = receive_program(init);
    }

    if (r >= 0) {
        r = become_parent_of_orphans(init);
    }
    if (r >= 0) {
        r = run_program(init);
    }
    if (r < 0) {
        failed.step = init->step;
        failed.value = -r;
        init_send(init->control, &failed, NULL, 0);
        return -r;
    }
    return 0;
}

static struct init the_init;

_Noreturn void
init_main(void)
{
    if (init_run(&the_init) != 0) {
        init_exit(1);
    }
    init_serve(&the_init);
}
