/* SPDX-License-Identifier: Apache-2.0
 * Grants and questions in real boxes: a grant serves as often as it says, and what was taken back
 * is over; nobody waits for an answer who was interrupted, and no command gets at who answers. */
#include "abxtest.h"
#include "unit/main.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static struct abxtest test;
static struct abxtest_result result;

/* ---- a network outside: every name of it is a server that says back what it is told
 * (fake_outside.c) ---- */

static uint16_t port;

static void *
echo(void *data)
{
    int fd = *(int *)data;
    char buffer[64];
    ssize_t n;

    while ((n = recv(fd, buffer, sizeof buffer, 0)) > 0 && send(fd, buffer, (size_t)n, 0) == n) {
        /* until it is over */
    }
    close(fd);
    return NULL;
}

struct server {
    int listener;
    pthread_t accepts, echoes[2];
    int fds[2];
};

static void *
accept_two(void *data)
{
    struct server *server = data;

    for (int i = 0; i < 2; i++) {
        server->fds[i] = accept(server->listener, NULL, NULL);
        pthread_create(&server->echoes[i], NULL, echo, &server->fds[i]);
    }
    return NULL;
}

static void
server_start(struct server *server)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t length = sizeof address;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(server->listener, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(server->listener, 4), 0);
    ck_assert_int_eq(getsockname(server->listener, (struct sockaddr *)&address, &length), 0);
    port = ntohs(address.sin_port);
    pthread_create(&server->accepts, NULL, accept_two, server);
}

static void
server_end(struct server *server)
{
    pthread_join(server->accepts, NULL);
    for (int i = 0; i < 2; i++) {
        pthread_join(server->echoes[i], NULL);
    }
    close(server->listener);
}

/* ---- grants ---- */

static uint64_t
give(uint32_t kind, uint32_t access, const char *target, uint32_t host_port, uint32_t uses)
{
    const abx_request request = {
        .size = sizeof request, .kind = kind, .access = access, .port = host_port, .target = target
    };
    abx_error *error = NULL;
    uint64_t grant = 0;

    ck_assert_msg(abx_box_grant(test.box, &request, 0, uses, "test", &grant, &error) == ABX_OK,
            "%s", abx_error_get_message(error));
    return grant;
}

static const char plain[] = "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]},"
                            "\"write\":{\"allow\":[\"${workspace}\"]}}}";

/* A file that no rule lets the box write. */
static char outside[64];

static void
outside_make(void)
{
    int fd;

    strcpy(outside, "/var/tmp/abxtest-XXXXXX");
    fd = mkstemp(outside);
    ck_assert_int_ge(fd, 0);
    close(fd);
}

START_TEST(one_grant_serves_one_of_sixty_four_racing_threads)
{
    static const char script[] = "exec python3 -c '\n"
                                 "import os, sys, threading\n"
                                 "gate, lock, done = threading.Barrier(64), threading.Lock(), []\n"
                                 "def attempt():\n"
                                 "    gate.wait()\n"
                                 "    try:\n"
                                 "        os.close(os.open(sys.argv[1], os.O_WRONLY))\n"
                                 "    except PermissionError:\n"
                                 "        return\n"
                                 "    with lock: done.append(1)\n"
                                 "threads = [threading.Thread(target=attempt) for _ in range(64)]\n"
                                 "[t.start() for t in threads], [t.join() for t in threads]\n"
                                 "print(len(done))\n"
                                 "' %s";
    char command[1024];

    outside_make();
    abxtest_open(&test, plain);
    give(ABX_REQUEST_PATH, ABX_ACCESS_WRITE, outside, 0, 1);
    snprintf(command, sizeof command, script, outside);
    abxtest_run(&test, command, &result);
    ck_assert_msg(strcmp(result.output, "1\n") == 0, "%s%s", result.output, result.errors);
    ck_assert_uint_eq(result.exit.denials, 63);
    abxtest_result_done(&result);
    abxtest_close(&test);
    unlink(outside);
}
END_TEST

static const char two_hosts[] = "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]},"
                                "\"write\":{\"allow\":[\"${workspace}\"]}},"
                                "\"network\":{\"mode\":\"filtered\",\"allow\":[]}}";

/* Says that it is ready by a denial, then reports how it went on. */
static const char two_connections[] =
        "exec python3 -c '\n"
        "import socket, sys\n"
        "port = int(sys.argv[1])\n"
        "def told(s):\n"
        "    s.sendall(b\"x\")\n"
        "    return s.recv(1) == b\"x\"\n"
        "a, b = [socket.create_connection((h, port)) for h in (\"a.test\", \"b.test\")]\n"
        "print(told(a), told(b))\n"
        "try: open(\"/ready\", \"w\")\n"
        "except OSError: pass\n"
        "try: print(a.recv(1))\n"
        "except ConnectionResetError: print(\"reset\")\n"
        "try: socket.create_connection((\"a.test\", port))\n"
        "except PermissionError: print(\"denied\")\n"
        "print(told(b))\n"
        "' %u";

START_TEST(a_grant_taken_back_ends_its_connections_and_no_other)
{
    struct server server;
    abx_process *process;
    abx_exit ended = { .size = sizeof ended };
    char command[1024];
    uint64_t a;

    server_start(&server);
    abxtest_open(&test, two_hosts);
    a = give(ABX_REQUEST_CONNECT, 0, "a.test", port, 0);
    give(ABX_REQUEST_CONNECT, 0, "b.test", port, 0);
    snprintf(command, sizeof command, two_connections, port);
    process = abxtest_spawn(&test, command, NULL);
    abxtest_wait_event(&test, ABX_EVENT_DENIAL);
    abxtest_expect_denial(&test, "/ready");
    ck_assert_int_eq(abx_box_revoke(test.box, a), ABX_OK);
    ck_assert_int_eq(abx_box_revoke(test.box, a), ABX_ERR_STATE);
    ck_assert_int_eq(abx_process_wait(process, 10000, &ended), ABX_OK);
    ck_assert_msg(strcmp(abx_process_get_output(process, 1, NULL),
                          "True True\nreset\ndenied\nTrue\n") == 0,
            "%s%s", abx_process_get_output(process, 1, NULL),
            abx_process_get_output(process, 2, NULL));
    abxtest_take_events(&test);
    ck_assert_str_eq(abx_event_get_string(abxtest_expect_denial(&test, "a.test"), ABX_FIELD_RULE),
            "grant:revoked");
    ck_assert_ptr_null(abxtest_find(&test, ABX_EVENT_DENIAL, "b.test"));
    abx_process_unref(process);
    abxtest_close(&test);
    server_end(&server);
}
END_TEST

START_TEST(a_write_grant_taken_back_lets_nothing_new_through)
{
    char command[256];
    uint64_t grant;

    outside_make();
    abxtest_open(&test, plain);
    grant = give(ABX_REQUEST_PATH, ABX_ACCESS_WRITE, outside, 0, 0);
    snprintf(command, sizeof command, "echo 1 >>%s", outside);
    abxtest_run(&test, command, &result);
    ck_assert_int_eq(result.exit.code, 0);
    abxtest_result_done(&result);
    ck_assert_int_eq(abx_box_revoke(test.box, grant), ABX_OK);
    abxtest_run(&test, command, &result);
    ck_assert_int_ne(result.exit.code, 0);
    abxtest_result_done(&result);
    abxtest_expect_denial(&test, outside);
    abxtest_close(&test);
    unlink(outside);
}
END_TEST

/* ---- questions ---- */

static const char asks[] = "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]},"
                           "\"write\":{\"ask\":[\"${workspace}\"]}}}";

static const struct {
    const char *script;
    uint32_t reason;
    int32_t code;
} interrupted[] = {
    { "exec dd if=/dev/null of=asked", ABX_EXIT_SIGNAL, 2 },
    { "exec python3 -c '\n"
      "import sys\n"
      "try: open(\"asked\", \"w\")\n"
      "except KeyboardInterrupt: sys.exit(7)'",
            ABX_EXIT_CODE, 7 },
};

START_TEST(ctrl_c_works_while_a_question_is_open)
{
    const abx_spawn_options options = { .size = sizeof options,
        .stdio = { ABX_STDIO_PTY, ABX_STDIO_PTY, ABX_STDIO_PTY },
        .rows = 24,
        .columns = 80,
        .cwd = test.workspace };
    abx_exit ended = { .size = sizeof ended };
    abx_process *process;
    int terminal;

    abxtest_open(&test, asks);
    process = abxtest_spawn(&test, interrupted[_i].script, &options);
    terminal = (int)abx_process_take_stdio(process, 1);
    abxtest_wait_event(&test, ABX_EVENT_APPROVAL);
    ck_assert_int_eq(write(terminal, "\003", 1), 1);
    ck_assert_int_eq(abx_process_wait(process, 10000, &ended), ABX_OK);
    ck_assert_uint_eq(ended.reason, interrupted[_i].reason);
    ck_assert_int_eq(ended.code, interrupted[_i].code);
    close(terminal);
    abx_process_unref(process);
    abxtest_close(&test);
}
END_TEST

/* ---- a yes is for what was shown ---- */

static void
say_yes(abx_event *event, uint32_t scope)
{
    const abx_answer answer = {
        .size = sizeof answer, .verdict = ABX_VERDICT_ALLOW, .scope = scope, .approver = "test"
    };

    ck_assert_int_eq(abx_context_answer(test.context,
                             (uint64_t)abx_event_get_int(event, ABX_FIELD_TICKET), &answer, NULL),
            ABX_OK);
}

START_TEST(a_file_that_was_swapped_after_the_question_is_not_written)
{
    abx_exit ended = { .size = sizeof ended };
    char path[128], other[128], *content;
    abx_process *process;
    abx_event *event;

    abxtest_open(&test, asks);
    abxtest_write(&test, "shown", "shown");
    abxtest_write(&test, "other", "other");
    snprintf(path, sizeof path, "%s", abxtest_path(&test, "shown"));
    snprintf(other, sizeof other, "%s", abxtest_path(&test, "other"));
    process = abxtest_spawn(&test, "echo evil >shown", NULL);
    event = abxtest_wait_event(&test, ABX_EVENT_APPROVAL);
    ck_assert_ptr_nonnull(strstr(abx_event_get_string(event, ABX_FIELD_BOUND), "\"inode\":"));
    ck_assert_ptr_nonnull(strstr(abx_event_get_string(event, ABX_FIELD_BOUND),
            "\"open\":[\"write\",\"truncate\",\"create\"]"));
    ck_assert_int_eq(rename(other, path), 0);
    say_yes(event, ABX_SCOPE_ONCE);
    ck_assert_int_eq(abx_process_wait(process, 10000, &ended), ABX_OK);
    ck_assert_int_ne(ended.code, 0);
    abxtest_take_events(&test);
    ck_assert_str_eq(abx_event_get_string(abxtest_expect_denial(&test, path), ABX_FIELD_RULE),
            "boundary:changed");
    content = abxtest_read(&test, "shown");
    ck_assert_str_eq(content, "other");
    free(content);
    abx_process_unref(process);
    abxtest_close(&test);
}
END_TEST

static const char asks_to_run[] =
        "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]},"
        "\"write\":{\"allow\":[\"${workspace}\"]},\"exec\":{\"ask\":[\"${workspace}/tool\"]}}}";

static void
write_tool(const char *content)
{
    abxtest_write(&test, "tool", content);
    ck_assert_int_eq(chmod(abxtest_path(&test, "tool"), 0755), 0);
}

START_TEST(a_yes_for_a_program_is_for_its_arguments)
{
    abx_exit ended = { .size = sizeof ended };
    abx_process *process;
    abx_event *event;
    char *grants;

    abxtest_open(&test, asks_to_run);
    write_tool("#!/bin/sh\necho $1\n");
    process = abxtest_spawn(&test, "./tool a; ./tool a; ./tool b", NULL);
    event = abxtest_wait_event(&test, ABX_EVENT_APPROVAL);
    ck_assert_ptr_nonnull(strstr(
            abx_event_get_string(event, ABX_FIELD_BOUND), "\"arguments\":[\"./tool\",\"a\"]"));
    say_yes(event, ABX_SCOPE_BOX);
    event = abxtest_wait_event(&test, ABX_EVENT_APPROVAL);
    ck_assert_ptr_nonnull(strstr(
            abx_event_get_string(event, ABX_FIELD_BOUND), "\"arguments\":[\"./tool\",\"b\"]"));
    ck_assert_int_eq(abx_box_grants(test.box, &grants, NULL), ABX_OK);
    ck_assert_ptr_nonnull(strstr(grants, "\"arguments\":[\"./tool\",\"a\"]"));
    abx_free(grants);
    say_yes(event, ABX_SCOPE_ONCE);
    ck_assert_int_eq(abx_process_wait(process, 10000, &ended), ABX_OK);
    ck_assert_str_eq(abx_process_get_output(process, 1, NULL), "a\na\nb\n");
    abx_process_unref(process);
    abxtest_close(&test);
}
END_TEST

START_TEST(a_program_that_was_changed_after_the_question_is_not_run)
{
    abx_exit ended = { .size = sizeof ended };
    abx_process *process;
    abx_event *event;

    abxtest_open(&test, asks_to_run);
    write_tool("#!/bin/sh\necho shown\n");
    process = abxtest_spawn(&test, "./tool", NULL);
    event = abxtest_wait_event(&test, ABX_EVENT_APPROVAL);
    write_tool("#!/bin/sh\necho evil\n");
    say_yes(event, ABX_SCOPE_ONCE);
    ck_assert_int_eq(abx_process_wait(process, 10000, &ended), ABX_OK);
    ck_assert_int_eq(ended.code, 126);
    ck_assert_str_eq(abx_process_get_output(process, 1, NULL), "");
    abxtest_take_events(&test);
    ck_assert_str_eq(abx_event_get_string(abxtest_expect_denial(&test, abxtest_path(&test, "tool")),
                             ABX_FIELD_RULE),
            "boundary:changed");
    abx_process_unref(process);
    abxtest_close(&test);
}
END_TEST

START_TEST(a_grant_for_a_program_needs_no_question)
{
    abxtest_open(&test, asks_to_run);
    write_tool("#!/bin/sh\necho $1\n");
    give(ABX_REQUEST_EXEC, 0, abxtest_path(&test, "tool"), 0, 1);
    abxtest_run(&test, "./tool a", &result);
    ck_assert_str_eq(result.output, "a\n");
    abxtest_result_done(&result);
    abxtest_close(&test);
}
END_TEST

/* What a command could answer its own question with: its terminal, descriptors, other processes. */
START_TEST(a_command_neither_sees_nor_reaches_who_answers)
{
    static const char script[] =
            "exec python3 -c '\n"
            "import ctypes, fcntl, os, signal, socket, sys, termios, threading\n"
            "libc = ctypes.CDLL(None, use_errno=True)\n"
            "threading.Thread(target=lambda: open(\"asked\", \"w\"), daemon=True).start()\n"
            "os.read(0, 1)\n" /* until the question is there */
            "host = int(sys.argv[1])\n"
            "init = libc.syscall(434, 1, 0)\n"
            "def fails(what, act):\n"
            "    try: value = act()\n"
            "    except OSError: value = -1\n"
            "    if value != -1: print(what, value)\n"
            "fails(\"types\", lambda: fcntl.ioctl(0, termios.TIOCSTI, b\"o\"))\n"
            "fails(\"pastes\", lambda: fcntl.ioctl(0, 0x541c, b\"\\x03\"))\n"
            "fails(\"signals\", lambda: os.kill(host, 0) or 0)\n"
            "fails(\"traces\", lambda: libc.ptrace(16, host, 0, 0))\n"
            "fails(\"reads\", lambda: os.open(f\"/proc/{host}/mem\", os.O_RDWR))\n"
            "fails(\"lists\", lambda: os.listdir(f\"/proc/{host}/fd\"))\n"
            "fails(\"takes\", lambda: libc.syscall(438, libc.syscall(434, host, 0), 0, 0))\n"
            "fails(\"traces init\", lambda: libc.ptrace(16, 1, 0, 0))\n"
            "for n in range(32):\n"
            "    fails(f\"opens {n} of init\", lambda: os.open(f\"/proc/1/fd/{n}\", os.O_RDWR))\n"
            "    fails(f\"takes {n} of init\", lambda: libc.syscall(438, init, n, 0))\n"
            "links = [os.readlink(f\"/proc/self/fd/{n}\") for n in (0, 1, 2)]\n"
            "more = [n for n in os.listdir(\"/proc/self/fd\") if int(n) > 4]\n"
            "print(len(set(links)), more)\n"
            "os._exit(0)\n"
            "' %d";
    const abx_spawn_options options = { .size = sizeof options,
        .stdio = { ABX_STDIO_PTY, ABX_STDIO_PTY, ABX_STDIO_PTY },
        .rows = 24,
        .columns = 80,
        .cwd = test.workspace };
    abx_exit ended = { .size = sizeof ended };
    char command[2048], output[512] = "";
    abx_process *process;
    size_t length = 0;
    ssize_t n;
    int terminal;

    abxtest_open(&test, asks);
    snprintf(command, sizeof command, script, (int)getpid());
    process = abxtest_spawn(&test, command, &options);
    terminal = (int)abx_process_take_stdio(process, 1);
    abxtest_wait_event(&test, ABX_EVENT_APPROVAL);
    ck_assert_int_eq(write(terminal, "\n", 1), 1);
    while ((n = read(terminal, output + length, sizeof output - 1 - length)) > 0) {
        length += (size_t)n;
    }
    ck_assert_int_eq(abx_process_wait(process, 10000, &ended), ABX_OK);
    ck_assert_str_eq(output, "\r\n1 []\r\n");
    ck_assert_int_ne(access(abxtest_path(&test, "asked"), F_OK), 0);
    close(terminal);
    abx_process_unref(process);
    abxtest_close(&test);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("approvals");
    TCase *tcase = tcase_create("approvals");

    tcase_set_timeout(tcase, 30);
    tcase_add_test(tcase, one_grant_serves_one_of_sixty_four_racing_threads);
    tcase_add_test(tcase, a_grant_taken_back_ends_its_connections_and_no_other);
    tcase_add_test(tcase, a_write_grant_taken_back_lets_nothing_new_through);
    tcase_add_loop_test(tcase, ctrl_c_works_while_a_question_is_open, 0,
            (int)(sizeof interrupted / sizeof interrupted[0]));
    tcase_add_test(tcase, a_file_that_was_swapped_after_the_question_is_not_written);
    tcase_add_test(tcase, a_yes_for_a_program_is_for_its_arguments);
    tcase_add_test(tcase, a_program_that_was_changed_after_the_question_is_not_run);
    tcase_add_test(tcase, a_grant_for_a_program_needs_no_question);
    tcase_add_test(tcase, a_command_neither_sees_nor_reaches_who_answers);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
