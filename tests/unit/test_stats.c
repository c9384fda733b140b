/* SPDX-License-Identifier: Apache-2.0
 * What a context counts. */
#include "supervise/approvals.h"
#include "supervise/process.h"

#include "base/loop.h"
#include "fake-backend.h"
#include "unit/main.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#define RULES(timeout)                                                                             \
    "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"],\"deny\":[\"/secret\"]},"          \
    "\"write\":{\"ask\":[\"/w\"]}},\"approvals\":{\"timeout_ms\":" timeout "}}"

static const char *const command[] = { "fake", NULL };

static abx_context *context;
static abx_box *box;
static abx_process *process;

static void
open_with(const char *json)
{
    struct fail fail = { 0 };
    abx_policy *policy;

    ck_assert_int_eq(abx_policy_from_json(json, strlen(json), &policy, NULL), ABX_OK);
    ck_assert_int_eq(context_new(&fake_backend, NULL, 100, &context, &fail), ABX_OK);
    ck_assert_msg(
            box_open(context, policy, NULL, &box, &fail) == ABX_OK, "%s %s", fail.step, fail.text);
    ck_assert_int_eq(abx_box_spawn(box, command, NULL, &process, NULL), ABX_OK);
    abx_policy_unref(policy);
}

static void
close_box(void)
{
    abx_process_unref(process);
    abx_box_unref(box);
}

static abx_stats
read_stats(void)
{
    abx_stats stats = { .size = sizeof stats };

    ck_assert_int_eq(abx_context_stats(context, &stats), ABX_OK);
    return stats;
}

static uint64_t
ask(const char *target)
{
    uint64_t ticket = 0;

    ck_assert_uint_eq(fake_try(abx_process_get_id(process), ABX_ACCESS_WRITE, target, &ticket),
            ABX_VERDICT_ASK);
    return ticket;
}

static void
try_to_read(const char *target)
{
    ck_assert_uint_eq(
            fake_try(abx_process_get_id(process), ABX_ACCESS_READ, target, NULL), ABX_VERDICT_DENY);
}

static void
answer(uint64_t ticket, abx_verdict verdict)
{
    const abx_answer given = { .size = sizeof given, .verdict = verdict };

    ck_assert_int_eq(abx_context_answer(context, ticket, &given, NULL), ABX_OK);
}

START_TEST(a_new_context_has_counted_nothing)
{
    static const abx_stats nothing = { .size = sizeof nothing };
    abx_stats stats = { .size = sizeof stats, .boxes = 7, .held_ns = 7 };

    ck_assert_int_eq(abx_context_new(NULL, &context, NULL), ABX_OK);
    ck_assert_int_eq(abx_context_stats(context, &stats), ABX_OK);
    ck_assert_mem_eq(&stats, &nothing, sizeof stats);
    ck_assert_int_eq(abx_context_stats(context, NULL), ABX_ERR_INVALID);
    stats.size = 8;
    ck_assert_int_eq(abx_context_stats(context, &stats), ABX_ERR_ABI);
    abx_context_unref(context);
}
END_TEST

START_TEST(boxes_and_commands_are_counted_once_they_stand)
{
    abx_process *other;
    abx_stats stats;

    open_with(RULES("60000"));
    fake_fail_next(ABX_ERR_EXEC);
    ck_assert_int_eq(abx_box_spawn(box, command, NULL, &other, NULL), ABX_ERR_EXEC);
    ck_assert_int_eq(abx_box_spawn(box, command, NULL, &other, NULL), ABX_OK);
    abx_process_unref(other);
    close_box();
    stats = read_stats(); /* also of boxes that were closed */
    ck_assert_uint_eq(stats.boxes, 1);
    ck_assert_uint_eq(stats.commands, 2);
    ck_assert_uint_eq(stats.denials, 0);
    ck_assert_uint_eq(stats.asked, 0);
    abx_context_unref(context);
}
END_TEST

START_TEST(an_equal_attempt_after_a_denial_is_a_repeat)
{
    abx_stats stats;

    open_with(RULES("60000"));
    try_to_read("/secret/a");
    try_to_read("/secret/b");
    ck_assert_uint_eq(read_stats().repeats, 0);
    try_to_read("/secret/a");
    try_to_read("/secret/a");
    answer(ask("/w/f"), ABX_VERDICT_DENY);
    answer(ask("/w/f"), ABX_VERDICT_DENY);
    stats = read_stats();
    ck_assert_uint_eq(stats.denials, 6);
    ck_assert_uint_eq(stats.repeats, 3);
    close_box();
    abx_context_unref(context);
}
END_TEST

START_TEST(a_question_is_asked_once_and_ends_in_one_way)
{
    abx_stats stats;
    uint64_t ticket;

    open_with(RULES("60000"));
    ticket = ask("/w/granted");
    ck_assert_uint_eq(ask("/w/granted"), ticket);
    answer(ticket, ABX_VERDICT_ALLOW);
    answer(ask("/w/refused"), ABX_VERDICT_DENY);
    fake_withdraw(ask("/w/abandoned"));
    stats = read_stats();
    ck_assert_uint_eq(stats.abandoned, 0); /* it may come back */
    fake_exit(abx_process_get_id(process), ABX_EXIT_SIGNAL, 2, false);
    stats = read_stats();
    ck_assert_uint_eq(stats.asked, 3);
    ck_assert_uint_eq(stats.granted, 1);
    ck_assert_uint_eq(stats.refused, 1);
    ck_assert_uint_eq(stats.abandoned, 1);
    ck_assert_uint_eq(stats.timed_out, 0);
    close_box();
    abx_context_unref(context);
}
END_TEST

START_TEST(what_is_open_when_the_box_closes_is_abandoned)
{
    abx_stats stats;

    open_with(RULES("60000"));
    ask("/w/f");
    ck_assert_uint_eq(read_stats().abandoned, 0);
    close_box();
    stats = read_stats();
    ck_assert_uint_eq(stats.asked, 1);
    ck_assert_uint_eq(stats.abandoned, 1);
    abx_context_unref(context);
}
END_TEST

START_TEST(a_deadline_that_passes_is_no_refusal)
{
    struct pollfd wait = { .events = POLLIN };
    abx_event *event = NULL;
    uint32_t type = 0;
    abx_stats stats;

    open_with(RULES("20"));
    wait.fd = (int)abx_context_take_wait_handle(context);
    ask("/w/f");
    while (type != ABX_EVENT_DENIAL) {
        ck_assert_int_eq(poll(&wait, 1, 10000), 1);
        if (abx_context_next_event(context, &event) == ABX_OK) {
            type = abx_event_get_type(event);
            abx_event_unref(event);
        }
    }
    stats = read_stats();
    ck_assert_uint_eq(stats.timed_out, 1);
    ck_assert_uint_eq(stats.refused, 0);
    ck_assert_uint_eq(stats.denials, 1);
    ck_assert_uint_ge(stats.held_ns, 20000000);
    close(wait.fd);
    close_box();
    abx_context_unref(context);
}
END_TEST

START_TEST(each_call_that_waits_is_held_for_itself_and_as_long_as_it_waits)
{
    uint64_t begin, both, gone, end, held, ticket;

    open_with(RULES("60000"));
    begin = clock_now_ns();
    ticket = ask("/w/f");
    ask("/w/f");
    both = clock_now_ns();
    ck_assert_uint_ge(read_stats().held_ns, 1); /* until the second one came */
    gone = clock_now_ns();
    fake_withdraw(ticket);
    fake_withdraw(ticket);
    end = clock_now_ns();
    held = read_stats().held_ns;
    ck_assert_uint_ge(held, 2 * (gone - both));
    ck_assert_uint_le(held, 2 * (end - begin));
    answer(ticket, ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(read_stats().held_ns, held); /* nobody waited for it any more */
    close_box();
    abx_context_unref(context);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("stats");
    TCase *tcase = tcase_create("stats");

    tcase_add_test(tcase, a_new_context_has_counted_nothing);
    tcase_add_test(tcase, boxes_and_commands_are_counted_once_they_stand);
    tcase_add_test(tcase, an_equal_attempt_after_a_denial_is_a_repeat);
    tcase_add_test(tcase, a_question_is_asked_once_and_ends_in_one_way);
    tcase_add_test(tcase, what_is_open_when_the_box_closes_is_abandoned);
    tcase_add_test(tcase, a_deadline_that_passes_is_no_refusal);
    tcase_add_test(tcase, each_call_that_waits_is_held_for_itself_and_as_long_as_it_waits);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
