/* SPDX-License-Identifier: Apache-2.0
 * Events are immutable facts with stable names; their queue is bounded and tells a descriptor. */
#include "event/queue.h"

#include "unit/main.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

static abx_event *
make(uint32_t type, const char *target)
{
    struct event_draft draft = { .type = type };

    draft_number(&draft, ABX_FIELD_SEQUENCE, 0);
    draft_number(&draft, ABX_FIELD_REPEATS, 1);
    draft_text(&draft, ABX_FIELD_TARGET, target);
    return event_make(&draft);
}

static bool
is_readable(int fd)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

    return poll(&poll_fd, 1, 0) == 1;
}

START_TEST(a_getter_lends_escaped_text_and_says_what_is_missing)
{
    abx_event *event = make(ABX_EVENT_DENIAL, "/a\n\x1b\\b\xff");

    ck_assert_str_eq(event_text(event, ABX_FIELD_TARGET), "/a\\x0A\\x1B\\\\b\\xFF");
    ck_assert_ptr_null(event_text(event, ABX_FIELD_REASON));
    ck_assert_int_eq(event_number(event, ABX_FIELD_PID), 0);
    ck_assert_int_eq(event_number(event, ABX_FIELD_TARGET), 0);
    event_unref(event);
}
END_TEST

START_TEST(json_is_one_line_with_stable_names)
{
    struct event_draft draft = { .type = ABX_EVENT_APPROVAL };
    struct str out = { 0 };
    abx_event *event;

    draft_text(&draft, ABX_FIELD_TARGET, "/w/\"x\"\n");
    draft_number(&draft, ABX_FIELD_TIME_NS, 1000000001);
    draft_number(&draft, ABX_FIELD_REQUEST, ABX_REQUEST_PATH);
    draft_number(&draft, ABX_FIELD_ACCESS, ABX_ACCESS_WRITE);
    draft_number(&draft, ABX_FIELD_PROCESS, 7);
    draft_number(&draft, ABX_FIELD_LAYER, ABX_LAYER_FILESYSTEM);
    draft_number(&draft, ABX_FIELD_RETRY, ABX_RETRY_HELD);
    draft_number(&draft, ABX_FIELD_REPEATS, 3);
    draft_text(&draft, ABX_FIELD_ADDS, "{\"request\":\"path\"}");
    event = event_make(&draft);
    event_json(&out, event, 0);
    ck_assert_str_eq(out.data,
            "{\"type\":\"approval\",\"time\":\"1970-01-01T00:00:01.000000001Z\",\"command\":7,"
            "\"layer\":\"filesystem\",\"request\":\"path\",\"access\":\"write\","
            "\"target\":\"/w/\\\"x\\\"\\\\x0A\",\"retry\":\"held\",\"repeats\":3,"
            "\"adds\":{\"request\":\"path\"}}");
    str_done(&out);
    event_unref(event);
}
END_TEST

START_TEST(the_handle_is_readable_while_events_are_queued)
{
    struct event_queue queue;
    abx_event *event;
    char byte;
    int fd;

    ck_assert_int_eq(queue_init(&queue, 10), 0);
    fd = queue_handle(&queue);
    ck_assert(!is_readable(fd));
    queue_push(&queue, make(ABX_EVENT_STARTED, "a"));
    queue_push(&queue, make(ABX_EVENT_STARTED, "b"));
    ck_assert(is_readable(fd));
    ck_assert_int_eq(read(fd, &byte, 1), 1); /* as Node does */
    ck_assert_int_eq(queue_take(&queue, &event), ABX_OK);
    event_unref(event);
    ck_assert(is_readable(fd));
    ck_assert_int_eq(queue_take(&queue, &event), ABX_OK);
    event_unref(event);
    ck_assert(!is_readable(fd));
    ck_assert_int_eq(queue_take(&queue, &event), ABX_NONE);
    close(fd);
    queue_done(&queue);
}
END_TEST

START_TEST(a_full_queue_drops_the_oldest_denial_and_says_how_many)
{
    struct event_queue queue;
    abx_event *event;

    ck_assert_int_eq(queue_init(&queue, 3), 0);
    queue_push(&queue, make(ABX_EVENT_STARTED, "started"));
    queue_push(&queue, make(ABX_EVENT_DENIAL, "first"));
    queue_push(&queue, make(ABX_EVENT_DENIAL, "second"));
    queue_push(&queue, make(ABX_EVENT_DENIAL, "third"));
    queue_push(&queue, make(ABX_EVENT_EXITED, "exited"));
    ck_assert_int_eq(queue_take(&queue, &event), ABX_OK);
    ck_assert_int_eq(event->type, ABX_EVENT_DROPPED);
    ck_assert_int_eq(event_number(event, ABX_FIELD_DROPPED), 2);
    event_unref(event);
    for (int i = 0; i < 3; i++) {
        static const char *const left[] = { "started", "third", "exited" };

        ck_assert_int_eq(queue_take(&queue, &event), ABX_OK);
        ck_assert_str_eq(event_text(event, ABX_FIELD_TARGET), left[i]);
        event_unref(event);
    }
    queue_done(&queue);
}
END_TEST

START_TEST(approvals_exits_and_starts_are_never_dropped)
{
    static const uint32_t types[] = { ABX_EVENT_APPROVAL, ABX_EVENT_EXITED, ABX_EVENT_STARTED };
    struct event_queue queue;
    abx_event *event;

    ck_assert_int_eq(queue_init(&queue, 2), 0);
    for (int i = 0; i < 3; i++) {
        queue_push(&queue, make(types[i], "kept"));
    }
    queue_push(&queue, make(ABX_EVENT_DENIAL, "new"));
    ck_assert_int_eq(queue_take(&queue, &event), ABX_OK);
    ck_assert_int_eq(event_number(event, ABX_FIELD_DROPPED), 1);
    event_unref(event);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(queue_take(&queue, &event), ABX_OK);
        ck_assert_int_eq(event->type, types[i]);
        event_unref(event);
    }
    ck_assert_int_eq(queue_take(&queue, &event), ABX_NONE);
    queue_done(&queue);
}
END_TEST

START_TEST(a_repeat_counts_into_a_queued_event_only)
{
    struct event_queue queue;
    abx_event *kept = make(ABX_EVENT_DENIAL, "again"), *event;

    ck_assert_int_eq(queue_init(&queue, 2), 0);
    queue_push(&queue, event_ref(kept));
    ck_assert(queue_repeat(&queue, kept, 1));
    ck_assert_int_eq(queue_take(&queue, &event), ABX_OK);
    ck_assert_int_eq(event_number(event, ABX_FIELD_REPEATS), 2);
    ck_assert(!queue_repeat(&queue, kept, 1));
    ck_assert_int_eq(event_number(event, ABX_FIELD_REPEATS), 2);
    event_unref(event);
    event_unref(kept);
    queue_done(&queue);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("event");
    TCase *tcase = tcase_create("event");

    tcase_add_test(tcase, a_getter_lends_escaped_text_and_says_what_is_missing);
    tcase_add_test(tcase, json_is_one_line_with_stable_names);
    tcase_add_test(tcase, the_handle_is_readable_while_events_are_queued);
    tcase_add_test(tcase, a_full_queue_drops_the_oldest_denial_and_says_how_many);
    tcase_add_test(tcase, approvals_exits_and_starts_are_never_dropped);
    tcase_add_test(tcase, a_repeat_counts_into_a_queued_event_only);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
