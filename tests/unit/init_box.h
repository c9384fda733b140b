/* SPDX-License-Identifier: Apache-2.0
 * For tests that really start the program in the box: namespaces by a small launcher as the
 * library's, a minimal program, messages both ways.  Works for root and for an ordinary user. */
#ifndef ABX_TESTS_UNIT_INIT_BOX_H
#define ABX_TESTS_UNIT_INIT_BOX_H

#include "linux/init/blob.h"
#include "plan/program.h"

#include "unit/main.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <unistd.h>

#define NAMESPACES                                                                                 \
    (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET)
#define WAIT_MS 10000

#define SEATS 16

struct seat_fds {
    int socket, master, listener; /* -1: none */
};

struct box {
    struct seat_fds seats[SEATS]; /* by number */
    int control, pidfd;
    void *program;
    size_t program_size;
    struct wire_message message; /* the last one */
    int fds[4]; /* its descriptors */
    int n_fds;
};

static inline int
sealed(const void *bytes, size_t size, unsigned flags)
{
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
    ck_assert_int_eq(
            fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL), 0);
    return fd;
}

static inline void
send_bytes(int socket, const void *bytes, size_t size, const int *fds, int n_fds)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(4 * sizeof(int))];
    } control = { 0 };
    struct iovec iov = { (void *)(uintptr_t)bytes, size };
    struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1 };

    if (n_fds > 0) {
        header.msg_control = &control;
        header.msg_controllen = CMSG_SPACE((size_t)n_fds * sizeof(int));
        control.header.cmsg_len = CMSG_LEN((size_t)n_fds * sizeof(int));
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        memcpy(CMSG_DATA(&control.header), fds, (size_t)n_fds * sizeof(int));
    }
    ck_assert_int_gt(sendmsg(socket, &header, MSG_NOSIGNAL), 0);
}

static inline void
send_message(const struct box *box, const struct wire_message *message, const int *fds, int n_fds)
{
    send_bytes(box->control, message, WIRE_MESSAGE_BASE + strlen(message->path) + 1, fds, n_fds);
}

static inline void
close_received(struct box *box)
{
    for (int i = 0; i < box->n_fds; i++) {
        close(box->fds[i]);
    }
    box->n_fds = 0;
}

/* The next message of this kind; others are passed over. */
static inline void
expect(struct box *box, uint32_t kind)
{
    for (;;) {
        union {
            struct cmsghdr header;
            char bytes[CMSG_SPACE(4 * sizeof(int))];
        } control = { 0 };
        struct iovec iov = { &box->message, sizeof box->message };
        struct msghdr header = { .msg_iov = &iov,
            .msg_iovlen = 1,
            .msg_control = &control,
            .msg_controllen = sizeof control };
        struct pollfd poll_fd = { .fd = box->control, .events = POLLIN };
        struct cmsghdr *cmsg;

        close_received(box);
        ck_assert_msg(poll(&poll_fd, 1, WAIT_MS) == 1, "nothing came, expected kind %u", kind);
        ck_assert_msg(recvmsg(box->control, &header, MSG_CMSG_CLOEXEC) > 0,
                "the box ended, expected kind %u", kind);
        cmsg = CMSG_FIRSTHDR(&header);
        if (cmsg != NULL) {
            box->n_fds = (int)((cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int));
            memcpy(box->fds, CMSG_DATA(cmsg), cmsg->cmsg_len - CMSG_LEN(0));
        }
        if (box->message.kind == kind) {
            return;
        }
        if (box->message.kind == WIRE_FAILED) {
            const struct wire_program *program = box->program;

            ck_abort_msg("set-up failed: %s: %s",
                    (char *)box->program + program->strings + box->message.step,
                    strerror(box->message.value));
        }
        if (box->message.kind == WIRE_NO_SEAT) {
            ck_abort_msg("no seat: step %u: %s", box->message.step, strerror(box->message.value));
        }
    }
}

/* As the library's child: nothing but system calls, since memory is not to be touched much. */
static inline void
become_init(int control, int blob)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2];
    const char *const none[] = { NULL };

    /* execve would take the capabilities away from who is not uid 0 of the new namespace. */
    syscall(SYS_capget, &header, data);
    data[0].inheritable = data[0].permitted;
    data[1].inheritable = data[1].permitted;
    syscall(SYS_capset, &header, data);
    for (int i = 0; i < 64; i++) {
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0);
    }
    dup3(control, WIRE_CONTROL_FD, 0);
    syscall(SYS_execveat, blob, "", none, none, AT_EMPTY_PATH);
    _exit(127);
}

/* `host`: the process whose end is the end of the box. */
static inline void
start_as(struct box *box, void *program, size_t size, unsigned long namespaces, pid_t host)
{
    int sockets[2];
    int blob = sealed(init_blob, init_blob_size, 0);
    int memfd = sealed(program, size, 0);
    int self = (int)syscall(SYS_pidfd_open, host, 0);
    long pid;

    *box = (struct box){ .program = program, .program_size = size };
    for (int i = 0; i < SEATS; i++) {
        box->seats[i] = (struct seat_fds){ -1, -1, -1 };
    }
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
    pid = syscall(SYS_clone, namespaces | CLONE_PIDFD, NULL, &box->pidfd, NULL, 0);
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        become_init(fcntl(sockets[1], F_DUPFD, 100), fcntl(blob, F_DUPFD_CLOEXEC, 100));
    }
    close(sockets[1]);
    box->control = sockets[0];
    send_message(box, &(struct wire_message){ .kind = WIRE_PROGRAM }, (int[]){ memfd, self }, 2);
    close(blob);
    close(memfd);
    close(self);
}

static inline void
start(struct box *box, void *program, size_t size)
{
    start_as(box, program, size, NAMESPACES, getpid());
}

#define ROOT "/root" /* where the root of the box is built */

static inline void
minimal(struct program *program)
{
    struct wire_op *op;
    char uid[64];
    char gid[64];

    snprintf(uid, sizeof uid, "%u %u 1\n", getuid(), getuid());
    snprintf(gid, sizeof gid, "%u %u 1\n", getgid(), getgid());
    program_init(program);
    program_op(program, OP_WRITE_MAPS, "write:maps", uid, gid)->flags = OPF_DENY_SETGROUPS;
    program_op(program, OP_ROOT_TMPFS, "mount:stage", NULL, NULL)->x = 0755;
    program_op(program, OP_MKDIR, "make:root", NULL, ROOT)->x = 0755;
    op = program_op(program, OP_BIND, "bind:/", "/", ROOT);
    op->x = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    op->flags = OPF_RECURSIVE;
    program_op(program, OP_TMPFS, "mount:/tmp", NULL, ROOT "/tmp")->x = 01777;
    program_op(program, OP_PROC, "mount:/proc", NULL, ROOT "/proc");
    program_op(program, OP_TMPFS, "mount:/dev", NULL, ROOT "/dev")->x = 0755;
    program_op(program, OP_MKDIR, "make:/dev/pts", NULL, ROOT "/dev/pts")->x = 0755;
    program_op(program, OP_DEVPTS, "mount:/dev/pts", NULL, ROOT "/dev/pts");
    program_op(program, OP_SYMLINK, "link:/dev/ptmx", "pts/ptmx", ROOT "/dev/ptmx");
    program_op(program, OP_DEVICE, "bind:/dev/null", "/dev/null", ROOT "/dev/null");
    program_op(program, OP_DEVICE, "bind:/dev/tty", "/dev/tty", ROOT "/dev/tty");
    program_op_bytes(program, OP_FILE, "make:/tmp/file", "content\n", 8, ROOT "/tmp/file")->x =
            0644;
}

/* Says ready and starts it. */
static inline void
finish_raw(struct program *program, struct box *box)
{
    struct fail fail = { 0 };
    void *bytes;
    size_t size;

    program_op(program, OP_READY, "ready:box", NULL, NULL);
    ck_assert_msg(program_finish(program, &bytes, &size, &fail) == ABX_OK, "%s", fail.text);
    program_done(program);
    start(box, bytes, size);
}

/* `layers` adds operations before ready; NULL: none. */
static inline void
finish_with(struct program *program, struct box *box, void (*layers)(struct program *program))
{
    program_op(program, OP_PIVOT, "pivot:/", NULL, ROOT);
    program_op(program, OP_HOSTNAME, "set:hostname", "box", NULL);
    program_op(program, OP_SESSION, "start:session", NULL, NULL);
    program_op(program, OP_LOOPBACK_UP, "up:lo", NULL, NULL);
    program_op(program, OP_DROP_CAPABILITIES, "drop:capabilities", NULL, NULL)->x =
            1u << CAP_SYS_ADMIN;
    if (layers != NULL) {
        layers(program);
    }
    finish_raw(program, box);
}

static inline void
finish(struct program *program, struct box *box)
{
    finish_with(program, box, NULL);
}

static inline void
open_minimal(struct box *box)
{
    struct program program;

    minimal(&program);
    finish(&program, box);
    expect(box, WIRE_READY);
    ck_assert_int_eq(box->n_fds, 1);
}

static inline void
close_seat(struct seat_fds *seat)
{
    close(seat->socket);
    close(seat->master);
    close(seat->listener);
    *seat = (struct seat_fds){ -1, -1, -1 };
}

/* The box is gone when its first process is. */
static inline void
end(struct box *box)
{
    struct pollfd poll_fd = { .fd = box->pidfd, .events = POLLIN };
    siginfo_t info;

    close_received(box);
    close(box->control);
    for (int i = 0; i < SEATS; i++) {
        close_seat(&box->seats[i]);
    }
    ck_assert_int_eq(poll(&poll_fd, 1, WAIT_MS), 1);
    ck_assert_int_eq(waitid((idtype_t)P_PIDFD, (id_t)box->pidfd, &info, WEXITED | __WALL), 0);
    close(box->pidfd);
    free(box->program);
}

static inline uint32_t
put(char *block, uint32_t *used, const char *text)
{
    uint32_t at = *used;

    memcpy(block + at, text, strlen(text) + 1);
    *used += (uint32_t)strlen(text) + 1;
    return at;
}

/* Has a seat made, with a terminal or with a place for a listener where the program has a filter.
 */
static inline struct seat_fds *
prepare(struct box *box, uint64_t id, bool has_terminal)
{
    struct seat_fds *seat = &box->seats[id];
    int taken = 0;

    send_message(box,
            &(struct wire_message){
                    .kind = WIRE_PREPARE, .id = id, .mask = has_terminal ? WIRE_SEAT_PTY : 0 },
            NULL, 0);
    expect(box, WIRE_SEAT);
    ck_assert_uint_eq(box->message.id, id);
    close_seat(seat);
    seat->socket = box->fds[taken++];
    if (has_terminal) {
        seat->master = box->fds[taken++];
    }
    if (taken < box->n_fds) {
        seat->listener = box->fds[taken++];
    }
    ck_assert_int_eq(taken, box->n_fds);
    box->n_fds = 0;
    return seat;
}

/* Sends `argv`, to be run in `cwd`, to a seat; the output goes to `out`, if it has no terminal. */
static inline void
seat_send(struct seat_fds *seat, const char *const *argv, const char *cwd, int out)
{
    char block[4096] __attribute__((aligned(8))) = { 0 };
    struct wire_command command = {
        .magic = WIRE_MAGIC, .version = WIRE_VERSION, .umask = 022, .argv = sizeof command
    };
    uint32_t used = sizeof command + 16 * sizeof(uint32_t);
    uint32_t texts[16] = { 0 };
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    for (; argv[command.argc] != NULL; command.argc++) {
        texts[command.argc] = put(block, &used, argv[command.argc]);
    }
    command.env = command.argv + command.argc * 4;
    texts[command.argc] = put(block, &used, "PATH=/nowhere:/usr/bin:/bin");
    command.envc = 1;
    command.path = texts[0];
    command.cwd = put(block, &used, cwd);
    command.rows = 33;
    command.columns = 77;
    command.size = used;
    memcpy(block, &command, sizeof command);
    memcpy(block + command.argv, texts, sizeof texts);
    send_bytes(seat->socket, block, used, (int[]){ null, out, out }, out < 0 ? 0 : 3);
    close(null);
}

static inline void
spawn(struct box *box, uint64_t id, const char *const *argv, const char *cwd, int out)
{
    seat_send(prepare(box, id, out < 0), argv, cwd, out);
}

/* Its program was executed, or it is gone. */
static inline void
expect_started(struct box *box, uint64_t id)
{
    int32_t report[2];

    ck_assert_int_eq(recv(box->seats[id].socket, report, sizeof report, 0), 0);
}

static inline void
expect_not_started(struct box *box, uint64_t id, int step, int error)
{
    int32_t report[2];

    ck_assert_int_eq(recv(box->seats[id].socket, report, sizeof report, 0), sizeof report);
    ck_assert_int_eq(report[0], step);
    ck_assert_int_eq(report[1], error);
}

static inline const char *
run(struct box *box, const char *script, int *ret_status)
{
    static char output[8192];
    size_t used = 0;
    int pipes[2];

    ck_assert_int_eq(pipe2(pipes, O_CLOEXEC), 0);
    spawn(box, 7, (const char *[]){ "sh", "-c", script, NULL }, "/tmp", pipes[1]);
    close(pipes[1]);
    for (;;) {
        ssize_t n = read(pipes[0], output + used, sizeof output - 1 - used);

        if (n <= 0) {
            break;
        }
        used += (size_t)n;
    }
    output[used] = '\0';
    close(pipes[0]);
    expect_started(box, 7);
    expect(box, WIRE_EXITED);
    ck_assert_uint_eq(box->message.id, 7);
    *ret_status = box->message.mask == CLD_EXITED ? box->message.value : 128 + box->message.value;
    return output;
}

#endif
