/* SPDX-License-Identifier: Apache-2.0
 * The egress is made while the process has few descriptors, or while another thread takes the last
 * ones: it works, or says why not, and never ends the process, as libevent would. */
#include "egress/base.h"
#include "egress/egress.h"
#include "egress/thread.h"
#include "unit/main.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#define LIMIT 96

struct event_base *__real_event_base_new_with_config(const struct event_config *config);
struct event_base *__wrap_event_base_new_with_config(const struct event_config *config);

/* A thread of the host, which takes what is free once somebody is about to make a base. */
static struct thief {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum { IDLE, WANTED, DONE } state;
    int fds[LIMIT];
    int n, n_left;
} thief = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
static bool is_robbed;

static void *
steal(void *data)
{
    pthread_mutex_lock(&thief.lock);
    while (thief.state != WANTED) {
        pthread_cond_wait(&thief.changed, &thief.lock);
    }
    while (thief.n < LIMIT && (thief.fds[thief.n] = eventfd(0, EFD_CLOEXEC)) >= 0) {
        thief.n++;
    }
    for (int i = 0; i < thief.n_left; i++) {
        close(thief.fds[--thief.n]);
    }
    thief.state = DONE;
    pthread_cond_broadcast(&thief.changed);
    pthread_mutex_unlock(&thief.lock);
    return NULL;
}

struct event_base *
__wrap_event_base_new_with_config(const struct event_config *config)
{
    if (is_robbed) {
        pthread_mutex_lock(&thief.lock);
        thief.state = WANTED;
        pthread_cond_broadcast(&thief.changed);
        while (thief.state != DONE) {
            pthread_cond_wait(&thief.changed, &thief.lock);
        }
        pthread_mutex_unlock(&thief.lock);
    }
    return __real_event_base_new_with_config(config);
}

static int
count_descriptors(void)
{
    int n = 0;

    for (int fd = 0; fd < LIMIT; fd++) {
        n += fcntl(fd, F_GETFD) >= 0;
    }
    return n;
}

/* Numbers from `lowest`, which is free, on. */
static void
leave_free(int lowest, int n)
{
    struct rlimit limit;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = (rlim_t)(lowest + n);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static int
find_lowest(void)
{
    int fd = fcntl(0, F_DUPFD_CLOEXEC, 0);

    ck_assert_int_ge(fd, 0);
    close(fd);
    return fd;
}

static void
count(void *data)
{
    (*(int *)data)++;
}

/* All but 0, 1, 2. */
START_TEST(whoever_takes_the_last_descriptors_meanwhile_does_not_end_the_process)
{
    struct egress *egress = NULL;
    struct fail fail = { 0 };
    const int before = count_descriptors();
    int n_calls = 0;

    leave_free(find_lowest(), 40);
    ck_assert_int_eq(pthread_create(&thief.thread, NULL, steal, NULL), 0);
    thief.n_left = _i;
    is_robbed = true;
    ck_assert_msg(egress_new(&egress, &fail) == ABX_OK, "%s", fail.text);
    pthread_join(thief.thread, NULL);
    ck_assert_int_ge(thief.n, 30);
    egress_call(egress, count, &n_calls);
    egress_call(egress, count, &n_calls);
    ck_assert_int_eq(n_calls, 2);
    egress_free(egress);
    ck_assert_int_eq(count_descriptors(), before + thief.n);
}
END_TEST

START_TEST(with_few_descriptors_it_works_or_says_so_and_leaves_none)
{
    const int before = count_descriptors(), lowest = find_lowest();
    bool works = false;

    for (int n = 0; n < 8; n++) {
        struct egress *egress = NULL;
        struct fail fail = { 0 };

        leave_free(lowest, n);
        if (egress_new(&egress, &fail) == ABX_OK) {
            works = true;
            egress_free(egress);
        } else {
            ck_assert(!works);
            ck_assert_int_eq(fail.status, ABX_ERR_SETUP);
            ck_assert_int_eq(fail.os_code, EMFILE);
            ck_assert_str_eq(fail.step, "start:egress");
        }
        ck_assert_int_eq(count_descriptors(), before);
    }
    ck_assert(works);
}
END_TEST

/* The numbers that are free need not be the next ones. */
START_TEST(the_descriptors_may_be_free_anywhere)
{
    const int before = count_descriptors();
    int fds[20];
    bool works = false;

    for (int i = 0; i < 20; i++) {
        fds[i] = eventfd(0, EFD_CLOEXEC);
        ck_assert_int_ge(fds[i], 0);
    }
    leave_free(fds[19] + 1, 0);
    for (int i = 1; i < 20; i += 2) {
        struct egress *egress = NULL;
        struct fail fail = { 0 };

        close(fds[i]);
        if (egress_new(&egress, &fail) == ABX_OK) {
            works = true;
            egress_free(egress);
        } else {
            ck_assert(!works);
            ck_assert_int_eq(fail.os_code, EMFILE);
        }
    }
    ck_assert(works);
    ck_assert_int_eq(count_descriptors(), before + 10);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("egress_base");
    TCase *tcase = tcase_create("base");

    tcase_add_loop_test(
            tcase, whoever_takes_the_last_descriptors_meanwhile_does_not_end_the_process, 0, 3);
    tcase_add_test(tcase, with_few_descriptors_it_works_or_says_so_and_leaves_none);
    tcase_add_test(tcase, the_descriptors_may_be_free_anywhere);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
