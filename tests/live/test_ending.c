/* SPDX-License-Identifier: Apache-2.0
 * How boxes end: nothing in one sees that it is taken down. */
#include "live/box.h"

#include "linux/own.h"
#include "unit/main.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef P_PIDFD
#    define P_PIDFD 3
#endif

#define PROCESSES 4

static struct box box;
static char workspace[64], asked[96];

static void
start(void)
{
    char policy[512];
    int fd;

    snprintf(workspace, sizeof workspace, "/var/tmp/agentbox-ending-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(workspace));
    snprintf(asked, sizeof asked, "%s/asked", workspace);
    fd = open(asked, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    close(fd);
    snprintf(policy, sizeof policy,
            "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"],\"ask\":[\"%s\"]},"
            "\"write\":{\"allow\":[\"/tmp\"]}}}",
            asked);
    box_start(&box);
    ck_assert_msg(box_open(&box, policy) == ABX_OK, "%s: %s", box.fail.step, box.fail.text);
}

static void
end(void)
{
    box_close(&box);
    box_stop(&box);
    ck_assert_int_eq(unlink(asked), 0);
    ck_assert_int_eq(rmdir(workspace), 0);
}

/* The shell says what failed: a file that it may write is opened by a call that the listener
 * answers, and the mask shows that what may be asked about is there. */
static const char script[] = "i=0; while [ $i -lt %d ]; do i=$((i + 1)); "
                             "(while :; do : > /tmp/own.$i; done) & "
                             "(while [ -e %s ]; do :; done; echo the mask is gone) & "
                             "done; echo ready; wait";

/* A kill that takes its time, as on a busy machine: for the boundary init is what `event` stands
 * for, and dead when it says so.  Nor does init see the end of its control socket before. */
static int event, pidfd, control;

static void *
kill_late(void *unused)
{
    const struct timespec while_nothing_happens = { .tv_nsec = 100000000 };
    const uint64_t dead = 1;
    siginfo_t info;

    nanosleep(&while_nothing_happens, NULL);
    ck_assert_int_eq(syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0), 0);
    ck_assert_int_eq(waitid((idtype_t)P_PIDFD, (id_t)pidfd, &info, WEXITED | __WALL), 0);
    ck_assert_int_eq(write(event, &dead, sizeof dead), sizeof dead);
    return NULL;
}

static pthread_t
delay_kill(void)
{
    pthread_t thread;

    event = eventfd(0, EFD_CLOEXEC);
    ck_assert_int_ge(event, 0);
    pidfd = box.boundary->own->init.pidfd;
    control = fcntl(box.boundary->own->control, F_DUPFD_CLOEXEC, 3);
    box.boundary->own->init.pidfd = fcntl(event, F_DUPFD_CLOEXEC, 3);
    ck_assert_int_eq(pthread_create(&thread, NULL, kill_late, NULL), 0);
    return thread;
}

START_TEST(nothing_in_a_box_sees_it_closed)
{
    const char *argv[] = { "/bin/sh", "-c", NULL, NULL };
    char line[512], text[256] = "";
    pthread_t killer;
    int output;

    snprintf(line, sizeof line, script, PROCESSES, asked);
    argv[2] = line;
    output = box_spawn(&box, 1, argv);
    ck_assert_int_ge(output, 0);
    ck_assert_int_eq(read(output, text, sizeof text), 6);
    killer = delay_kill();
    box_close(&box);
    pthread_join(killer, NULL);
    close(pidfd);
    close(event);
    close(control);
    text[read(output, text, sizeof text - 1)] = '\0';
    ck_assert_str_eq(text, "");
    close(output);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("live_ending");
    TCase *tcase = tcase_create("live_ending");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, start, end);
    tcase_add_test(tcase, nothing_in_a_box_sees_it_closed);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
