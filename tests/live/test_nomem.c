/* SPDX-License-Identifier: Apache-2.0
 * Memory runs out at every point of opening a real box, running a command in it and closing it: the
 * right status comes back, no command runs twice or unobserved, and nothing is left. */
#include "abxtest.h"

#include "failing_malloc.h"
#include "unit/main.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Reads are denied, so that the mask is there too. */
static const char policy[] =
        "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"],\"deny\":[\"/etc/shadow\"]},"
        "\"write\":{\"allow\":[\"${workspace}\"],\"deny\":[\"${workspace}/lock\"]}}}";

static char what_failed[256]; /* the last error of a spawn or open */

/* Check's own macros allocate, which would count. */
#define EXPECT(condition, status)                                                                  \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            malloc_fail_at(0);                                                                     \
            ck_abort_msg("%s: %s %s", #condition, abx_status_name(status), what_failed);           \
        }                                                                                          \
    } while (0)

/* Success, or a failure that says why, which is the canary's where its own calls were refused for
 * want of memory; takes the error. */
static bool
is_expected(abx_status status, abx_error *error)
{
    bool is_memory = status == ABX_ERR_NOMEM || abx_error_get_os_code(error) == ENOMEM ||
                     strncmp(abx_error_get_step(error), "canary:", 7) == 0;

    snprintf(what_failed, sizeof what_failed, "%s [%s]", abx_error_get_message(error),
            abx_error_get_step(error));
    abx_error_unref(error);
    return status == ABX_OK || is_memory;
}

/* True if the command ran. */
static bool
run_command(abx_box *box)
{
    static const char *const argv[] = { "sh", "-c", "echo x > file; echo x > lock", NULL };
    abx_spawn_options options = {
        .size = sizeof options,
        .stdio = { ABX_STDIO_NULL, ABX_STDIO_CAPTURE, ABX_STDIO_PIPE },
        .timeout_ms = 20000,
    };
    abx_exit exit = { .size = sizeof exit };
    abx_process *process = NULL;
    abx_error *error = NULL;
    abx_status r = abx_box_spawn(box, argv, &options, &process, &error);

    EXPECT(is_expected(r, error), r);
    if (r != ABX_OK) {
        return false;
    }
    r = abx_process_wait(process, 20000, &exit);
    EXPECT(r == ABX_OK, r);
    abx_process_unref(process);
    return true;
}

static void
live(struct abxtest *test)
{
    abx_context *context = NULL;
    abx_box *box = NULL;
    abx_error *error = NULL;
    abx_status r = abx_context_new(NULL, &context, &error);
    bool ran;

    EXPECT(is_expected(r, error), r);
    if (r != ABX_OK) {
        return;
    }
    error = NULL;
    r = abx_box_open(context, test->policy, NULL, &box, &error);
    EXPECT(is_expected(r, error), r);
    if (r == ABX_OK) {
        ran = run_command(box);
        EXPECT(ran || access(abxtest_path(test, "file"), F_OK) != 0, ABX_OK);
        EXPECT(access(abxtest_path(test, "lock"), F_OK) != 0, ABX_OK);
        unlink(abxtest_path(test, "file"));
    }
    abx_box_unref(box);
    abx_context_unref(context);
}

START_TEST(memory_may_run_out_anywhere)
{
    struct abxtest test;
    bool failed = true;

    abxtest_start(&test, policy);
    live(&test); /* what libraries keep is there now */
    for (size_t n = 1; failed; n++) {
        malloc_fail_at(n);
        live(&test);
        failed = malloc_has_failed();
        malloc_fail_at(0);
    }
    abxtest_close(&test);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("nomem");
    TCase *tcase = tcase_create("nomem");

    tcase_set_timeout(tcase, 110);
    tcase_add_test(tcase, memory_may_run_out_anywhere);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
