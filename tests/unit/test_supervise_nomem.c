/* SPDX-License-Identifier: Apache-2.0
 * Memory runs out at every point of a box's life: the right status comes back, nothing is allowed
 * by it, and nothing is left. */
#include "supervise/approvals.h"

#include "failing_malloc.h"
#include "fake-backend.h"
#include "unit/main.h"

#include <string.h>

static const char policy_json[] =
        "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"],\"deny\":[\"/secret\"]},"
        "\"write\":{\"allow\":[\"/w\"],\"ask\":[\"/w/ask\"]},\"protect\":{\"defaults\":false}}}";

static abx_policy *policy;

/* Check's own macros allocate, which would count. */
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            malloc_fail_at(0);                                                                     \
            ck_abort_msg("%s", #condition);                                                        \
        }                                                                                          \
    } while (0)

static void
expect_nomem(abx_status r, const char *what)
{
    if (r != ABX_ERR_NOMEM) {
        malloc_fail_at(0);
        ck_abort_msg("%s: %s", what, abx_status_name(r));
    }
}

static void
ask_and_answer(abx_context *context, uint64_t command)
{
    abx_answer answer = {
        .size = sizeof answer,
        .verdict = ABX_VERDICT_ALLOW,
        .scope = ABX_SCOPE_BOX,
        .approver = "pat",
    };
    uint64_t ticket = 0;
    abx_verdict verdict = fake_try(command, ABX_ACCESS_WRITE, "/w/ask/f", &ticket);
    abx_error *error = NULL;
    abx_status r;

    EXPECT(verdict != ABX_VERDICT_ALLOW);
    if (verdict == ABX_VERDICT_ASK) {
        r = abx_context_answer(context, ticket, &answer, &error);
        if (r < 0 && r != ABX_ERR_STATE) { /* no deadline could be kept: it is denied already */
            expect_nomem(r, "answer");
        }
    }
    abx_error_unref(error);
}

static void
use_command(abx_context *context, abx_box *box)
{
    static const char *const argv[] = { "fake", NULL };
    abx_spawn_options options = {
        .size = sizeof options,
        .stdio = { ABX_STDIO_NULL, ABX_STDIO_CAPTURE, ABX_STDIO_PIPE },
        .timeout_ms = 60000,
        .label = "call",
    };
    abx_exit exit = { .size = sizeof exit };
    abx_process *process = NULL;
    char *text = NULL;
    abx_status r = abx_box_spawn(box, argv, &options, &process, NULL);

    if (r < 0) {
        expect_nomem(r, "spawn");
        EXPECT(box->processes.count == 0);
        return;
    }
    EXPECT(fake_try(abx_process_get_id(process), ABX_ACCESS_READ, "/secret", NULL) ==
            ABX_VERDICT_DENY);
    ask_and_answer(context, abx_process_get_id(process));
    fake_write(abx_process_get_id(process), 1, "hello", 5);
    fake_exit(abx_process_get_id(process), ABX_EXIT_CODE, 0, true);
    EXPECT(abx_process_wait(process, -1, &exit) == ABX_OK);
    EXPECT(exit.denials >= 1);
    r = abx_process_explain(process, "json", &text, NULL);
    if (r < 0) {
        expect_nomem(r, "explain");
    }
    abx_free(text);
    abx_process_unref(process);
}

static void
use_box(abx_context *context)
{
    struct fail fail = { 0 };
    abx_box *box = NULL;
    abx_event *event;
    char *json = NULL;
    abx_status r = box_open(context, policy, NULL, &box, &fail);

    if (r < 0) {
        expect_nomem(r, fail.text);
        EXPECT(box == NULL);
        return;
    }
    use_command(context, box);
    r = abx_box_receipt(box, &json, NULL);
    if (r < 0) {
        expect_nomem(r, "receipt");
    }
    abx_free(json);
    abx_box_unref(box);
    while ((r = abx_context_next_event(context, &event)) != ABX_NONE) {
        if (r == ABX_OK) {
            abx_event_unref(event);
        }
    }
}

static void
live(void)
{
    struct fail fail = { 0 };
    abx_context *context = NULL;
    abx_status r = context_new(&fake_backend, NULL, 100, &context, &fail);

    if (r < 0) {
        expect_nomem(r, "context");
        return;
    }
    use_box(context);
    abx_context_unref(context);
}

START_TEST(memory_may_run_out_anywhere)
{
    size_t n = 0;
    bool failed = true;

    ck_assert_int_eq(abx_policy_from_json(policy_json, strlen(policy_json), &policy, NULL), ABX_OK);
    live(); /* what libraries keep is there now */
    while (failed) {
        long before = malloc_alive(), left;

        malloc_fail_at(++n);
        live();
        failed = malloc_has_failed();
        malloc_fail_at(0);
        left = malloc_alive() - before;
        ck_assert_msg(left == 0, "%ld left after failure %zu", left, n);
        ck_assert_uint_eq(fake_open_boundaries(), 0);
    }
    ck_assert_uint_gt(n, 50);
    abx_policy_unref(policy);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("supervise_nomem");
    TCase *tcase = tcase_create("nomem");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, memory_may_run_out_anywhere);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
