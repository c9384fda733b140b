/* SPDX-License-Identifier: Apache-2.0
 * Many threads use one context at once: they open boxes, spawn, wait, signal, answer, kill and
 * release in every order, while two others take events.  Made for ThreadSanitizer; Check's
 * assertions are not for threads, so each says what failed. */
#include "abxtest.h"
#include "unit/main.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define OPENERS 64
#define BOXES_EACH 2
#define COMMANDS_EACH 2
#define MIXERS 8
#define ROUNDS 12
#define PATIENCE_MS 50000

static const char policy[] =
        "{\"version\":1,\"name\":\"threads\",\"filesystem\":{"
        "\"read\":{\"allow\":[\"/\"],\"deny\":[\"${workspace}/secret\"]},"
        "\"write\":{\"allow\":[\"${workspace}\"],\"deny\":[\"${workspace}/lock\"],"
        "\"ask\":[\"${workspace}/ask\"]}},"
        "\"environment\":{\"set\":{\"PATH\":\"/usr/bin:/bin\"}},"
        "\"approvals\":{\"timeout_ms\":2000}}";

static struct abxtest test;
static atomic_bool is_over; /* for those who dispatch */

struct tally {
    _Atomic(const char *) failed; /* the first that did */
    atomic_uint denials, exits;
} tally;

static void
fails(const char *what)
{
    const char *none = NULL;

    atomic_compare_exchange_strong(&tally.failed, &none, what);
}

static abx_process *
spawn(abx_box *box, const char *script)
{
    const char *const argv[] = { "sh", "-c", script, NULL };
    const abx_spawn_options options = {
        .size = sizeof options,
        .stdio = { ABX_STDIO_NULL, ABX_STDIO_CAPTURE, ABX_STDIO_CAPTURE },
        .timeout_ms = PATIENCE_MS,
        .label = "threads",
    };
    abx_process *process = NULL;

    return abx_box_spawn(box, argv, &options, &process, NULL) == ABX_OK ? process : NULL;
}

/* ---- sixty-four who open ---- */
static void
run_one(abx_box *box)
{
    abx_process *process = spawn(box, "cat secret; exit 5");
    abx_exit exit = { .size = sizeof exit };
    size_t length = 1;

    if (process == NULL) {
        fails("spawn");
        return;
    }
    if (abx_process_wait(process, PATIENCE_MS, &exit) != ABX_OK) {
        fails("wait");
    } else if (exit.reason != ABX_EXIT_CODE || exit.code != 5 || exit.denials == 0) {
        fails("exit");
    }
    if (abx_process_get_output(process, 1, &length) == NULL || length != 0) {
        fails("output");
    }
    abx_process_unref(process);
}

static void *
open_boxes(void *data)
{
    for (int i = 0; i < BOXES_EACH; i++) {
        abx_box *box = NULL;

        if (abx_box_open(test.context, test.policy, NULL, &box, NULL) != ABX_OK) {
            fails("open");
            return NULL;
        }
        for (int j = 0; j < COMMANDS_EACH; j++) {
            run_one(box);
        }
        abx_box_unref(box);
    }
    return NULL;
}

/* ---- those who take events, and answer ---- */
static void
on_event(void *data, abx_event *event)
{
    abx_answer answer = {
        .size = sizeof answer,
        .verdict = ABX_VERDICT_ALLOW,
        .scope = ABX_SCOPE_ONCE,
    };
    const uint64_t ticket = (uint64_t)abx_event_get_int(event, ABX_FIELD_TICKET);
    char *json = NULL;
    abx_status r;

    switch (abx_event_get_type(event)) {
    case ABX_EVENT_APPROVAL:
        r = abx_context_answer(test.context, ticket, &answer, NULL);
        if (r != ABX_OK && r != ABX_ERR_STATE) { /* its box may be gone */
            fails("answer");
        }
        break;
    case ABX_EVENT_DENIAL:
        atomic_fetch_add(&tally.denials, 1);
        break;
    case ABX_EVENT_EXITED:
        atomic_fetch_add(&tally.exits, 1);
        break;
    default:
        break;
    }
    if (abx_event_to_json(event, &json, NULL) != ABX_OK) {
        fails("json");
    }
    abx_free(json);
}

static void *
dispatch(void *data)
{
    const struct timespec moment = { .tv_nsec = 2000000 };

    while (!atomic_load(&is_over)) {
        if (abx_context_dispatch(test.context, on_event, NULL) == ABX_NONE) {
            nanosleep(&moment, NULL);
        }
    }
    return NULL;
}

/* ---- eight who do everything to one box each, and to one that all share ---- */
static void
mix_once(abx_box *box, int round)
{
    static const char *const scripts[] = { "exit 3", "echo x > ask; cat secret", "sleep 1000",
        "sleep 1000 & echo $! ; echo y > lock" };
    abx_process *process = spawn(box, scripts[round % 4]);
    abx_process *again = abx_process_ref(process);
    abx_exit exit = { .size = sizeof exit };
    char *text = NULL;

    if (process == NULL) {
        return; /* somebody killed the box */
    }
    abx_process_unref(process);
    abx_process_wait(again, 1, &exit);
    abx_process_signal(again, round % 3 == 0 ? SIGTERM : SIGKILL);
    if (abx_process_explain(again, "json", &text, NULL) != ABX_OK) {
        fails("explain");
    }
    abx_free(text);
    if (round % 5 != 4 && abx_process_wait(again, PATIENCE_MS, &exit) != ABX_OK) {
        fails("wait in the mix");
    }
    abx_process_unref(again);
}

static void *
mix(void *data)
{
    abx_box *box = NULL;
    char *json = NULL;

    for (int round = 0; round < ROUNDS; round++) {
        if (box == NULL && abx_box_open(test.context, test.policy, NULL, &box, NULL) != ABX_OK) {
            fails("open in the mix");
            return NULL;
        }
        mix_once(box, round);
        mix_once(test.box, round + 1);
        if (abx_box_receipt(box, &json, NULL) == ABX_OK) {
            abx_free(json);
        }
        if (round % 4 == 3) {
            abx_box_kill(box);
        }
        if (round % 4 >= 2) {
            abx_box_unref(box);
            box = NULL;
        }
    }
    abx_box_unref(box);
    return NULL;
}

/* ---- the tests ---- */
static void
run_threads(void *(*fn)(void *), size_t count)
{
    pthread_t threads[OPENERS];
    pthread_t takers[2];

    atomic_store(&is_over, false);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(pthread_create(&takers[i], NULL, dispatch, NULL), 0);
    }
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, fn, NULL), 0);
    }
    for (size_t i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
    atomic_store(&is_over, true);
    for (size_t i = 0; i < 2; i++) {
        pthread_join(takers[i], NULL);
    }
    while (abx_context_dispatch(test.context, on_event, NULL) == ABX_OK) {
    }
    ck_assert_msg(atomic_load(&tally.failed) == NULL, "%s", atomic_load(&tally.failed));
}

START_TEST(sixty_four_threads_open_boxes_and_spawn_at_once)
{
    run_threads(open_boxes, OPENERS);
    ck_assert_uint_eq(atomic_load(&tally.exits), OPENERS * BOXES_EACH * COMMANDS_EACH);
    ck_assert_uint_ge(atomic_load(&tally.denials), OPENERS * BOXES_EACH * COMMANDS_EACH);
}
END_TEST

START_TEST(threads_spawn_signal_answer_kill_and_release_in_any_order)
{
    run_threads(mix, MIXERS);
}
END_TEST

static void
set_up(void)
{
    abxtest_start(&test, policy);
    abxtest_write(&test, "secret", "s3cret\n");
    ck_assert_int_eq(abx_box_open(test.context, test.policy, NULL, &test.box, NULL), ABX_OK);
    tally = (struct tally){ .failed = NULL };
}

static void
tear_down(void)
{
    abxtest_close(&test);
}

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("threads");
    TCase *tcase = tcase_create("threads");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, sixty_four_threads_open_boxes_and_spawn_at_once);
    tcase_add_test(tcase, threads_spawn_signal_answer_kill_and_release_in_any_order);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
