/* SPDX-License-Identifier: Apache-2.0
 * The event loop: one thread runs everything, removal is safe, other threads can wait. */
#include "base/loop.h"

#include "unit/main.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static struct loop *loop;
static pthread_t thread;

static void *
run(void *data)
{
    loop_run(data);
    return NULL;
}

static void
start(void)
{
    loop = loop_new();
    ck_assert_ptr_nonnull(loop);
    ck_assert_int_eq(pthread_create(&thread, NULL, run, loop), 0);
}

static void
end(void)
{
    loop_stop(loop);
    pthread_join(thread, NULL);
    loop_free(loop);
}

static void
note_thread(void *data)
{
    *(bool *)data = loop_is_own_thread(loop);
}

START_TEST(a_call_runs_on_the_loops_thread_and_is_waited_for)
{
    bool own = false;

    ck_assert(!loop_is_own_thread(loop));
    ck_assert(loop_call(loop, note_thread, &own));
    ck_assert(own);
}
END_TEST

static void
call_from_inside(void *data)
{
    bool own = false;

    *(bool *)data = loop_call(loop, note_thread, &own) && own;
}

START_TEST(a_call_on_the_loops_own_thread_runs_at_once)
{
    bool done = false;

    ck_assert(loop_call(loop, call_from_inside, &done));
    ck_assert(done);
}
END_TEST

static int order[4], n_order;

static void
note_order(void *data)
{
    order[n_order++] = *(int *)data;
}

START_TEST(posted_calls_run_in_order)
{
    static int numbers[] = { 1, 2, 3, 4 };

    n_order = 0;
    for (int i = 0; i < 3; i++) {
        ck_assert(loop_post(loop, note_order, &numbers[i]));
    }
    ck_assert(loop_call(loop, note_order, &numbers[3]));
    ck_assert_int_eq(n_order, 4);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(order[i], i + 1);
    }
}
END_TEST

/* Two readable descriptors; the callback of the first removes both. */
static struct pair {
    int fds[2][2];
    struct loop_source *sources[2];
    int calls;
    int done;
} pair;

static void
remove_both(void *data, uint32_t events)
{
    pair.calls++;
    for (int i = 0; i < 2; i++) {
        loop_remove(pair.sources[i]);
    }
    ck_assert_int_eq(write(pair.done, "x", 1), 1);
}

static void
add_both(void *data)
{
    for (int i = 0; i < 2; i++) {
        pair.sources[i] = loop_add(loop, pair.fds[i][0], EPOLLIN, remove_both, NULL);
        ck_assert_ptr_nonnull(pair.sources[i]);
    }
}

static void
nothing(void *data)
{
}

START_TEST(a_removed_source_is_not_called_again)
{
    int done[2];
    char byte;

    pair.calls = 0;
    ck_assert_int_eq(pipe(done), 0);
    pair.done = done[1];
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(pipe(pair.fds[i]), 0);
        ck_assert_int_eq(write(pair.fds[i][1], "x", 1), 1);
    }
    ck_assert(loop_call(loop, add_both, NULL));
    ck_assert_int_eq(read(done[0], &byte, 1), 1);
    ck_assert(loop_call(loop, nothing, NULL));
    ck_assert_int_eq(pair.calls, 1);
}
END_TEST

/* Two pipes that are preferred in turn, each of its own opinion. */
static struct taste {
    int fds[2][2];
    struct loop_source *sources[2];
    int calls[2];
    int done;
} taste;

static void
read_and_prefer(void *data, uint32_t events)
{
    int i = *(int *)data;
    char byte;

    ck_assert_int_eq(read(taste.fds[i][0], &byte, 1), 1);
    taste.calls[i]++;
    loop_prefer(taste.sources[i]);
    ck_assert_int_eq(write(taste.done, "x", 1), 1);
}

static void
add_tastes(void *data)
{
    static int numbers[2] = { 0, 1 };

    for (int i = 0; i < 2; i++) {
        taste.sources[i] = loop_add(loop, taste.fds[i][0], EPOLLIN, read_and_prefer, &numbers[i]);
    }
}

static void
close_ears(void *data)
{
    loop_modify(taste.sources[1], 0);
}

static void
open_ears(void *data)
{
    loop_modify(taste.sources[1], EPOLLIN);
}

static void
remove_tastes(void *data)
{
    loop_remove(taste.sources[0]);
    loop_remove(taste.sources[1]);
}

START_TEST(a_preferred_source_and_the_others_are_all_served)
{
    static const char turns[] = "0001011100010111";
    int done[2];
    char byte;

    taste = (struct taste){ 0 };
    ck_assert_int_eq(pipe(done), 0);
    taste.done = done[1];
    ck_assert_int_eq(pipe(taste.fds[0]), 0);
    ck_assert_int_eq(pipe(taste.fds[1]), 0);
    ck_assert(loop_call(loop, add_tastes, NULL));
    for (const char *turn = turns; *turn != '\0'; turn++) {
        ck_assert_int_eq(write(taste.fds[*turn - '0'][1], "x", 1), 1);
        ck_assert_int_eq(read(done[0], &byte, 1), 1);
    }
    ck_assert_int_eq(taste.calls[0], 8);
    ck_assert_int_eq(taste.calls[1], 8);
    ck_assert(loop_call(loop, close_ears, NULL)); /* of the one that is preferred now */
    ck_assert_int_eq(write(taste.fds[1][1], "x", 1), 1);
    ck_assert_int_eq(write(taste.fds[0][1], "x", 1), 1);
    ck_assert_int_eq(read(done[0], &byte, 1), 1);
    ck_assert(loop_call(loop, nothing, NULL));
    ck_assert_int_eq(taste.calls[1], 8);
    ck_assert(loop_call(loop, open_ears, NULL));
    ck_assert_int_eq(read(done[0], &byte, 1), 1);
    ck_assert_int_eq(taste.calls[1], 9);
    ck_assert(loop_call(loop, remove_tastes, NULL));
}
END_TEST

static struct timers {
    struct loop_timer never, soon;
    uint64_t start, fired;
    int calls;
    int done;
} timers;

static void
fire_late(void *data)
{
    timers.calls += 100;
}

static void
fire(void *data)
{
    timers.calls++;
    timers.fired = clock_now_ns();
    ck_assert(!timers.soon.is_set);
    loop_timer_clear(loop, &timers.never);
    loop_timer_clear(loop, &timers.never);
    ck_assert_int_eq(write(timers.done, "x", 1), 1);
}

static void
add_timers(void *data)
{
    timers.start = clock_now_ns();
    loop_timer_set(loop, &timers.never, timers.start + 20000000, fire_late, NULL);
    loop_timer_set(loop, &timers.soon, timers.start + 30000000, fire_late, NULL);
    loop_timer_set(loop, &timers.soon, timers.start + 10000000, fire, NULL);
}

START_TEST(a_timer_fires_once_at_the_time_that_was_set_last_and_can_clear_another)
{
    int done[2];
    char byte;

    ck_assert_int_eq(pipe(done), 0);
    timers.calls = 0;
    timers.done = done[1];
    ck_assert(loop_call(loop, add_timers, NULL));
    ck_assert_int_eq(read(done[0], &byte, 1), 1);
    ck_assert_int_eq(timers.calls, 1);
    ck_assert_uint_ge(timers.fired, timers.start + 10000000);
}
END_TEST

START_TEST(after_the_loop_stopped_nothing_can_be_posted)
{
    bool own = false;

    loop_stop(loop);
    pthread_join(thread, NULL);
    ck_assert(!loop_post(loop, note_thread, &own));
    ck_assert(!loop_call(loop, note_thread, &own));
    loop_free(loop);
    start();
}
END_TEST

static void
count(void *data)
{
    ++*(int *)data;
}

static void *
call_often(void *data)
{
    for (int i = 0; i < 200; i++) {
        ck_assert(loop_call(loop, count, data));
    }
    return NULL;
}

START_TEST(many_threads_call_at_once)
{
    pthread_t threads[8];
    int n = 0;

    for (int i = 0; i < 8; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, call_often, &n), 0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
    }
    ck_assert_int_eq(n, 1600);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("loop");
    TCase *tcase = tcase_create("loop");

    tcase_add_checked_fixture(tcase, start, end);
    tcase_add_test(tcase, a_call_runs_on_the_loops_thread_and_is_waited_for);
    tcase_add_test(tcase, a_call_on_the_loops_own_thread_runs_at_once);
    tcase_add_test(tcase, posted_calls_run_in_order);
    tcase_add_test(tcase, a_removed_source_is_not_called_again);
    tcase_add_test(tcase, a_preferred_source_and_the_others_are_all_served);
    tcase_add_test(tcase, a_timer_fires_once_at_the_time_that_was_set_last_and_can_clear_another);
    tcase_add_test(tcase, after_the_loop_stopped_nothing_can_be_posted);
    tcase_add_test(tcase, many_threads_call_at_once);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
