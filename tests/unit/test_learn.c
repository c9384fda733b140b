/* SPDX-License-Identifier: Apache-2.0
 * Observe mode and what is learned in it, on the simulated backend: what is allowed and told, what
 * stays denied, and that the suggestion is small, careful, and allows the same again. */
#include "abxtest.h"
#include "supervise/observe.h"
#include "unit/main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Nothing is allowed by it, one thing is denied, one is asked about. */
static const char strict[] = "{\"version\":1,\"name\":\"strict\",\"filesystem\":{"
                             "\"read\":{\"allow\":[\"/usr\"],\"deny\":[\"${workspace}/"
                             "closed\"],\"ask\":[\"${workspace}/asked\"]}},"
                             "\"network\":{\"mode\":\"filtered\",\"deny\":[\"evil.test\"]}}";

static struct abxtest test;
static char outside[] = "/var/tmp/abxlearn-XXXXXX";
static const char *const files[] = { "one/a", "one/b", "two/deep/c" };

static void
open_box(const char *json, uint32_t flags)
{
    abx_context_options options = {
        .size = sizeof options, .backend = ABX_BACKEND_SIMULATED, .flags = flags
    };
    abx_error *error = NULL;

    abxtest_start(&test, json);
    abx_context_unref(test.context);
    ck_assert_int_eq(abx_context_new(&options, &test.context, &error), ABX_OK);
    ck_assert_msg(abx_box_open(test.context, test.policy, NULL, &test.box, &error) == ABX_OK, "%s",
            abx_error_get_message(error));
}

static void
make(const char *name, bool is_directory)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", outside, name);
    if (is_directory) {
        ck_assert_int_eq(mkdir(path, 0755), 0);
    } else {
        fclose(fopen(path, "we"));
    }
}

static void
set_up(void)
{
    strcpy(outside, "/var/tmp/abxlearn-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(outside));
    make("one", true);
    make("two", true);
    make("two/deep", true);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        make(files[i], false);
    }
    open_box(strict, ABX_CONTEXT_OBSERVE);
}

static void
tear_down(void)
{
    char command[64];

    snprintf(command, sizeof command, "rm -r %s", outside);
    ck_assert_int_eq(system(command), 0);
    abxtest_close(&test);
}

/* Exit code of a script in which '@' is the directory outside. */
static int
run(const char *script)
{
    struct abxtest_result result;
    char text[512] = "";
    int code;

    for (size_t n = 0; *script != '\0'; script++) {
        const char one[] = { *script, '\0' };

        n += (size_t)snprintf(text + n, sizeof text - n, "%s", *script == '@' ? outside : one);
    }
    abxtest_run(&test, text, &result);
    code = result.exit.code;
    abxtest_result_done(&result);
    return code;
}

static char *
suggest(void)
{
    abx_error *error = NULL;
    char *json = NULL;

    ck_assert_msg(abx_box_suggest(test.box, &json, NULL, &error) == ABX_OK, "%s",
            abx_error_get_message(error));
    return json;
}

static bool
suggests(const char *json, const char *name)
{
    char text[160];

    snprintf(text, sizeof text, "\"%s%s\"", name[0] == '@' ? outside : "", name + (name[0] == '@'));
    return strstr(json, text) != NULL;
}

START_TEST(what_no_rule_speaks_of_is_allowed_and_told)
{
    char path[128];
    abx_event *event;

    ck_assert_int_eq(run("read @/one/a"), 0);
    snprintf(path, sizeof path, "%s/one/a", outside);
    event = abxtest_find(&test, ABX_EVENT_NOTICE, path);
    ck_assert_ptr_nonnull(event);
    ck_assert_ptr_nonnull(
            strstr(abx_event_get_string(event, ABX_FIELD_REASON), "would be denied: "));
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_RULE), "default");
    ck_assert_int_eq(run("write made; connect docs.test:8443"), 0);
    ck_assert_ptr_nonnull(abxtest_find(&test, ABX_EVENT_NOTICE, "docs.test"));
    ck_assert_int_eq(run("read /usr/bin/env"), 0);
    ck_assert_ptr_null(abxtest_find(&test, ABX_EVENT_NOTICE, "/usr/bin/env"));
}
END_TEST

static const char *const denied[] = {
    "read closed", /* a rule says so */
    "connect evil.test:443",
    "read /nonexistent-home/.ssh/id_rsa", /* a secret */
    "write /etc/motd", /* not safe */
    "write @/one/a",
    "write .bashrc", /* protected */
    "connect 169.254.169.254:80", /* closed ranges */
    "connect 10.0.0.1:443",
};

START_TEST(what_is_not_safe_or_denied_by_a_rule_stays_denied)
{
    bool is_told = false;

    ck_assert_int_eq(run(denied[_i]), 1);
    for (size_t i = 0; i < test.n_events; i++) {
        is_told |= abx_event_get_type(test.events[i]) == ABX_EVENT_DENIAL;
    }
    ck_assert(is_told);
}
END_TEST

START_TEST(what_is_asked_about_is_asked)
{
    abx_process *process = abxtest_spawn(&test, "read asked", NULL);

    ck_assert_ptr_nonnull(abxtest_wait_event(&test, ABX_EVENT_APPROVAL));
    abx_process_unref(process);
}
END_TEST

START_TEST(the_suggestion_is_directories_and_names)
{
    char *json;

    ck_assert_int_eq(run("read @/one/a; read @/one/b; write made; connect docs.test:443"), 0);
    ck_assert_int_eq(run("connect docs.test:8443; connect 8.8.8.8:443; read @/missing"), 0);
    json = suggest();
    ck_assert(suggests(json, "@/one"));
    ck_assert(!suggests(json, "@/one/a"));
    ck_assert(!suggests(json, "@"));
    ck_assert(suggests(json, "${workspace}"));
    ck_assert(suggests(json, "docs.test:443"));
    ck_assert(suggests(json, "docs.test:8443"));
    ck_assert_ptr_null(strstr(json, "8.8.8.8"));
    ck_assert_ptr_null(strstr(json, "missing"));
    ck_assert(!suggests(json, "/"));
    abx_free(json);
}
END_TEST

static const struct host_view *host;
static unsigned int n_looks, n_locked;

static enum host_kind
look_and_see(void *data, const char *path)
{
    n_looks++;
    if (pthread_mutex_trylock(&test.box->observed->lock) != 0) {
        n_locked++;
    } else {
        pthread_mutex_unlock(&test.box->observed->lock);
    }
    return host->look(data, path);
}

START_TEST(no_open_waits_for_the_suggestion)
{
    const struct backend *backend = test.box->context->backend;
    struct backend seen = *backend;
    struct host_view seen_host = *backend->host;

    ck_assert_int_eq(run("read @/one/a"), 0);
    host = backend->host;
    seen_host.look = look_and_see;
    seen.host = &seen_host;
    test.box->context->backend = &seen;
    abx_free(suggest());
    test.box->context->backend = backend;
    ck_assert_uint_gt(n_looks, 0);
    ck_assert_uint_eq(n_locked, 0);
}
END_TEST

START_TEST(one_file_stays_one_file)
{
    char *json;

    ck_assert_int_eq(run("read @/two/deep/c"), 0);
    json = suggest();
    ck_assert(suggests(json, "@/two/deep/c"));
    ck_assert_ptr_nonnull(strstr(json, "\"mode\": \"none\""));
    abx_free(json);
}
END_TEST

START_TEST(what_was_denied_is_not_suggested)
{
    char *json;

    for (size_t i = 0; i < sizeof denied / sizeof *denied; i++) {
        run(denied[i]);
    }
    json = suggest();
    ck_assert_ptr_null(strstr(json, "id_rsa"));
    ck_assert_ptr_null(strstr(json, "evil.test"));
    ck_assert_ptr_null(strstr(json, "closed"));
    ck_assert_ptr_null(strstr(json, outside));
    abx_free(json);
}
END_TEST

START_TEST(the_suggestion_allows_the_same_again)
{
    static const char script[] = "read @/one/a; read @/two/deep/c; write sub/made; write /tmp/x; "
                                 "connect docs.test:443; exec /usr/bin/env; exit 0";
    char *json;

    ck_assert_int_eq(mkdir(abxtest_path(&test, "sub"), 0755), 0);
    ck_assert_int_eq(run(script), 0);
    json = suggest();
    abxtest_close(&test);
    open_box(json, 0);
    ck_assert_int_eq(mkdir(abxtest_path(&test, "sub"), 0755), 0);
    abx_free(json);
    ck_assert_int_eq(run(script), 0);
    abxtest_expect_no_denial(&test);
    ck_assert_int_eq(run("read @/one/b"), 1);
    ck_assert_int_eq(run("connect docs.test:8443"), 1);
}
END_TEST

/* A policy that lets the directory outside be written to. */
static void
open_wide_box(void)
{
    char json[400];

    snprintf(json, sizeof json,
            "{\"version\":1,\"name\":\"wide\",\"filesystem\":{\"read\":{\"allow\":[\"/usr\"]},"
            "\"write\":{\"allow\":[\"%s\",\"${workspace}\"]}}}",
            outside);
    abxtest_close(&test);
    open_box(json, ABX_CONTEXT_OBSERVE);
}

START_TEST(a_place_to_write_to_is_one_that_is_there)
{
    char *json;

    open_wide_box();
    ck_assert_int_eq(run("write @/gone/job/x; write @/two/deep/x"), 0);
    json = suggest();
    ck_assert_msg(suggests(json, "@") && !suggests(json, "@/gone"), "%s", json);
    ck_assert_msg(!suggests(json, "@/gone/job"), "%s", json);
    abx_free(json);
}
END_TEST

START_TEST(a_directory_of_results_is_not_taken_for_one_that_stays)
{
    char *json;

    ck_assert_int_eq(mkdir(abxtest_path(&test, "out"), 0755), 0);
    fclose(fopen(abxtest_path(&test, "out/prog"), "we"));
    ck_assert_int_eq(run("write out/prog; read out/prog"), 0);
    json = suggest();
    ck_assert_msg(strstr(json, "${workspace}/out") == NULL, "%s", json);
    abx_free(json);
    fclose(fopen(abxtest_path(&test, "out/input"), "we"));
    ck_assert_int_eq(run("read out/input"), 0);
    json = suggest();
    ck_assert_msg(suggests(json, "${workspace}/out"), "%s", json);
    abx_free(json);
}
END_TEST

START_TEST(nothing_is_learned_without_the_option)
{
    char *json, *receipt;

    ck_assert_int_eq(abx_box_receipt(test.box, &receipt, NULL), ABX_OK);
    ck_assert_ptr_nonnull(strstr(receipt, "observe mode"));
    abx_free(receipt);
    abxtest_close(&test);
    open_box(strict, 0);
    ck_assert_int_eq(abx_box_suggest(test.box, &json, NULL, NULL), ABX_ERR_STATE);
    ck_assert_int_eq(run("read @/one/a"), 1);
    ck_assert_int_eq(abx_box_receipt(test.box, &receipt, NULL), ABX_OK);
    ck_assert_ptr_null(strstr(receipt, "observe mode"));
    abx_free(receipt);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("learn");
    TCase *tests = tcase_create("observe");

    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, what_no_rule_speaks_of_is_allowed_and_told);
    tcase_add_loop_test(tests, what_is_not_safe_or_denied_by_a_rule_stays_denied, 0,
            (int)(sizeof denied / sizeof *denied));
    tcase_add_test(tests, what_is_asked_about_is_asked);
    tcase_add_test(tests, the_suggestion_is_directories_and_names);
    tcase_add_test(tests, no_open_waits_for_the_suggestion);
    tcase_add_test(tests, one_file_stays_one_file);
    tcase_add_test(tests, what_was_denied_is_not_suggested);
    tcase_add_test(tests, the_suggestion_allows_the_same_again);
    tcase_add_test(tests, a_place_to_write_to_is_one_that_is_there);
    tcase_add_test(tests, a_directory_of_results_is_not_taken_for_one_that_stays);
    tcase_add_test(tests, nothing_is_learned_without_the_option);
    suite_add_tcase(suite, tests);
    return suite;
}

UNIT_MAIN(make_suite)
