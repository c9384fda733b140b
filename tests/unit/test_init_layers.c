/* SPDX-License-Identifier: Apache-2.0
 * The program in the box, really started, puts the layers on: Landlock, the filter with its
 * listener, the served file system; what is held never holds the others. */
#include "unit/init_box.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>

#define READ_ALL                                                                                   \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITE_SOME (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG)

static void
add_landlock(struct program *program)
{
    program_op(program, OP_LANDLOCK, "landlock:create", NULL, NULL)->x = READ_ALL | WRITE_SOME;
    program_op(program, OP_LANDLOCK_PATH, "landlock:/", NULL, "/")->x = READ_ALL;
    program_op(program, OP_LANDLOCK_PATH, "landlock:/dev/null", NULL, "/dev/null")->x =
            READ_ALL | WRITE_SOME;
}

START_TEST(landlock_confines_commands)
{
    struct program program;
    struct box box;
    int status = -1;

    minimal(&program);
    finish_with(&program, &box, add_landlock);
    expect(&box, WIRE_READY);
    ck_assert_str_eq(
            run(&box, "cat file; echo x >/dev/null && echo x 2>/dev/null >/tmp/new || echo no",
                    &status),
            "content\nno\n");
    end(&box);
}
END_TEST

static void
add_vanished(struct program *program)
{
    struct wire_op *op;

    add_landlock(program);
    op = program_op(program, OP_LANDLOCK_PATH, "landlock:/vanished", NULL, "/vanished");
    op->x = READ_ALL | WRITE_SOME;
    op->flags = OPF_MAY_VANISH;
}

START_TEST(a_place_that_vanished_gets_no_rule_and_the_box_stands)
{
    struct program program;
    struct box box;

    minimal(&program);
    finish_with(&program, &box, add_vanished);
    expect(&box, WIRE_READY);
    end(&box);
}
END_TEST

/* Notifies one system call, allows the others. */
static void
add_filter(struct program *program, unsigned number)
{
    const struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };

    for (size_t i = 0; i < sizeof filter / sizeof filter[0]; i++) {
        memcpy(vec_add(&program->filter), &filter[i], sizeof filter[i]);
    }
    program->filter_flags = WIRE_FILTER_NOTIFY | WIRE_FILTER_KILLABLE;
}

static void
open_filtered(struct box *box, unsigned number)
{
    struct program program;

    minimal(&program);
    add_filter(&program, number);
    finish(&program, box);
    expect(box, WIRE_READY);
}

/* Answers the next notification: with an errno, or so that it goes on. */
static void
answer(int listener, int error)
{
    struct seccomp_notif notification = { 0 };
    struct seccomp_notif_resp response = { 0 };

    ck_assert_int_eq(ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &notification), 0);
    response.id = notification.id;
    response.error = error;
    response.flags = error == 0 ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
    ck_assert_int_eq(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response), 0);
}

START_TEST(a_command_whose_execve_is_held_holds_nobody_else)
{
    struct wire_message bind = { .kind = WIRE_BIND, .id = 5, .path = "/nowhere" };
    struct box box;
    int out = open("/dev/null", O_WRONLY | O_CLOEXEC);

    open_filtered(&box, SYS_execve);
    spawn(&box, 1, (const char *[]){ "/bin/true", NULL }, "/", out);
    spawn(&box, 2, (const char *[]){ "/bin/true", NULL }, "/", out);
    send_message(&box, &bind, NULL, 0);
    expect(&box, WIRE_BOUND);
    ck_assert_int_eq(box.message.value, ENOENT);
    answer(box.seats[2].listener, 0);
    expect_started(&box, 2);
    expect(&box, WIRE_EXITED);
    ck_assert_uint_eq(box.message.id, 2);
    answer(box.seats[1].listener, -EACCES);
    expect_not_started(&box, 1, START_EXEC, EACCES);
    close(out);
    end(&box);
}
END_TEST

START_TEST(a_refused_execve_is_an_exec_failure)
{
    struct box box;
    int out = open("/dev/null", O_WRONLY | O_CLOEXEC);

    open_filtered(&box, SYS_execve);
    spawn(&box, 1, (const char *[]){ "/bin/true", NULL }, "/", out);
    answer(box.seats[1].listener, -EPERM);
    expect_not_started(&box, 1, START_EXEC, EPERM);
    close(out);
    end(&box);
}
END_TEST

START_TEST(the_served_file_system_is_announced_before_anything_looks_at_it)
{
    struct program program;
    struct box box;
    unsigned char request[1 << 17];
    int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    bool has_fuse = fuse >= 0;

    minimal(&program);
    program_op(&program, OP_MKDIR, "make:/tmp/mask", NULL, ROOT "/tmp/mask")->x = 0755;
    program_op(&program, OP_FUSE, "mount:/tmp/mask", NULL, ROOT "/tmp/mask")->flags = OPF_OPTIONAL;
    finish(&program, &box);
    if (has_fuse) {
        close(fuse);
        expect(&box, WIRE_FUSE);
        ck_assert_int_eq(box.n_fds, 1);
        /* FUSE_INIT: opcode 26 in the second word. */
        ck_assert_int_gt(read(box.fds[0], request, sizeof request), 40);
        ck_assert_uint_eq(((uint32_t *)(void *)request)[1], 26);
    }
    expect(&box, WIRE_READY);
    ck_assert_uint_eq(box.message.mask, has_fuse ? 0 : 1);
    end(&box);
}
END_TEST

START_TEST(sockets_of_the_box_are_handed_out)
{
    struct program program;
    struct box box;
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    struct wire_op *op;
    int status = -1;
    int six;

    minimal(&program);
    program_op(&program, OP_PIVOT, "pivot:/", NULL, ROOT);
    program_op(&program, OP_LOOPBACK_UP, "up:lo", NULL, NULL);
    op = program_op(&program, OP_SOCKET, "socket:dns", NULL, "127.0.0.53");
    op->a = SOCK_DGRAM;
    op->x = 53;
    op = program_op(&program, OP_SOCKET, "socket:six", NULL, "::1");
    op->a = SOCK_STREAM;
    op->x = 80;
    program_op(&program, OP_DROP_CAPABILITIES, "drop:capabilities", NULL, NULL);
    finish_raw(&program, &box);
    expect(&box, WIRE_SOCKET);
    ck_assert_int_eq(box.message.value, 0);
    ck_assert_int_eq(getsockname(box.fds[0], (struct sockaddr *)&address, &size), 0);
    ck_assert_int_eq(address.ss_family, AF_INET);
    expect(&box, WIRE_SOCKET);
    ck_assert_int_eq(box.message.value, 1);
    six = fcntl(box.fds[0], F_DUPFD_CLOEXEC, 3);
    size = sizeof address;
    ck_assert_int_eq(getsockname(box.fds[0], (struct sockaddr *)&address, &size), 0);
    ck_assert_int_eq(address.ss_family, AF_INET6);
    expect(&box, WIRE_READY);
    ck_assert_str_eq(run(&box, "grep -c 0050 /proc/net/tcp6", &status), "1\n");
    close(six);
    end(&box);
}
END_TEST

static void
build(struct program *program, void **ret_bytes, size_t *ret_size)
{
    struct fail fail = { 0 };

    program_op(program, OP_DROP_CAPABILITIES, "drop:capabilities", NULL, NULL);
    program_op(program, OP_READY, "ready:box", NULL, NULL);
    ck_assert_msg(program_finish(program, ret_bytes, ret_size, &fail) == ABX_OK, "%s", fail.text);
    program_done(program);
}

static void
expect_closed(int fd)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

    ck_assert_int_eq(poll(&poll_fd, 1, WAIT_MS), 1);
    ck_assert_int_eq(poll_fd.revents & POLLIN, 0);
}

START_TEST(without_a_pid_namespace_the_end_of_init_ends_all_that_it_started)
{
    static const char script[] = "(setsid sh -c 'sleep 1000 & sleep 1000' &) & sleep 1000";
    struct program program;
    struct box box;
    void *bytes;
    size_t size;
    int pipes[2];

    program_init(&program);
    build(&program, &bytes, &size);
    start_as(&box, bytes, size, 0, getpid());
    expect(&box, WIRE_READY);
    ck_assert_int_eq(pipe2(pipes, O_CLOEXEC), 0);
    spawn(&box, 1, (const char *[]){ "sh", "-c", script, NULL }, "/", pipes[1]);
    close(pipes[1]);
    expect_started(&box, 1);
    end(&box);
    expect_closed(pipes[0]);
    close(pipes[0]);
}
END_TEST

START_TEST(the_box_ends_with_its_host_though_somebody_keeps_the_socket_open)
{
    struct program program;
    struct box box;
    void *bytes;
    size_t size;
    pid_t host = fork();

    ck_assert_int_ge(host, 0);
    if (host == 0) {
        for (;;) {
            pause();
        }
    }
    minimal(&program);
    program_op(&program, OP_PIVOT, "pivot:/", NULL, ROOT);
    build(&program, &bytes, &size);
    start_as(&box, bytes, size, NAMESPACES, host);
    expect(&box, WIRE_READY);
    ck_assert_int_eq(kill(host, SIGKILL), 0);
    ck_assert_int_eq(recv(box.control, &box.message, sizeof box.message, 0), 0);
    ck_assert_int_eq(waitpid(host, NULL, 0), host);
    end(&box);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("init_layers");
    TCase *tcase = tcase_create("init_layers");

    tcase_set_timeout(tcase, 30);
    tcase_add_test(tcase, landlock_confines_commands);
    tcase_add_test(tcase, a_place_that_vanished_gets_no_rule_and_the_box_stands);
    tcase_add_test(tcase, a_command_whose_execve_is_held_holds_nobody_else);
    tcase_add_test(tcase, a_refused_execve_is_an_exec_failure);
    tcase_add_test(tcase, the_served_file_system_is_announced_before_anything_looks_at_it);
    tcase_add_test(tcase, without_a_pid_namespace_the_end_of_init_ends_all_that_it_started);
    tcase_add_test(tcase, the_box_ends_with_its_host_though_somebody_keeps_the_socket_open);
    tcase_add_test(tcase, sockets_of_the_box_are_handed_out);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
