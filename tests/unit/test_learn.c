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
open_with_policy(void)
{
    abx_identity *identity = NULL;
    abx_error *error = NULL;

    ck_assert_int_eq(abx_identity_new("kim", "s", NULL, 0, &identity, NULL), ABX_OK);
    ck_assert_msg(abx_box_open(test.context, test.policy, identity, &test.box, &error) == ABX_OK,
            "%s", abx_error_get_message(error));
    abx_identity_unref(identity);
}

static void
open_box(const char *json, uint32_t flags)
{
    abx_context_options options = {
        .size = sizeof options, .backend = ABX_BACKEND_SIMULATED, .flags = flags
    };

    abxtest_start(&test, json);
    abx_context_unref(test.context);
    ck_assert_int_eq(abx_context_new(&options, &test.context, NULL), ABX_OK);
    open_with_policy();
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
    ck_assert_msg(strstr(json, "\"host\":") == NULL, "%s", json);
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
    ck_assert_ptr_null(strstr(json, "\"needed by"));
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

/* ---- the given policy stays ---- */
static abx_policy *
build(const char *json)
{
    abx_policy_builder *builder = NULL;
    abx_policy *policy = NULL;
    abx_error *error = NULL;

    ck_assert_int_eq(abx_policy_builder_new(NULL, &builder, NULL), ABX_OK);
    abx_policy_builder_variable(builder, "workspace", test.workspace);
    abx_policy_builder_variable(builder, "home", "/nonexistent-home");
    abx_policy_builder_merge_json(builder, json, strlen(json));
    ck_assert_msg(abx_policy_builder_build(builder, &policy, &error) == ABX_OK, "%s: %s",
            abx_error_get_message(error), json);
    abx_policy_builder_unref(builder);
    return policy;
}

static bool
ends_with(const char *text, const char *end)
{
    return text != NULL && strlen(text) >= strlen(end) &&
           strcmp(text + strlen(text) - strlen(end), end) == 0;
}

/* Wider only where the given policy has no rule. */
static void
expect_no_rule_is_lost(abx_policy *given, const char *json)
{
    abx_policy *learned = build(json);
    abx_report *report = NULL;
    abx_error *error = NULL;

    ck_assert_msg(abx_policy_compare(given, learned, &report, &error) >= 0, "%s",
            abx_error_get_message(error));
    for (size_t i = 0; i < abx_report_get_count(report); i++) {
        const char *rule = abx_report_get_string(report, i, "rule_before");

        ck_assert_msg(strcmp(abx_report_get_string(report, i, "change"), "wider") != 0 ||
                              rule == NULL || ends_with(rule, "#default") ||
                              ends_with(rule, "#network:mode"),
                "%s %s: %s -> %s, %s", abx_report_get_string(report, i, "request"),
                abx_report_get_string(report, i, "example"),
                abx_report_get_string(report, i, "before"),
                abx_report_get_string(report, i, "after"), rule);
    }
    abx_report_unref(report);
    abx_policy_unref(learned);
}

#define GIVEN(filesystem, rest) "{\"version\":1,\"filesystem\":{" filesystem "}" rest "}"
#define EXTENDS ",\"extends\":\"workspace-write\""

static const struct {
    const char *json, *script;
} given[] = {
    { GIVEN("\"read\":{\"deny\":[\"${workspace}/a\"]}", EXTENDS), "read b/x; write b/y" },
    { GIVEN("\"read\":{\"ask\":[\"${workspace}/a\"]},\"write\":{\"deny\":[\"${workspace}/b\"]}",
              EXTENDS),
            "read b/x; write x; write c/x" },
    /* an exception of what is denied is needed by name */
    { GIVEN("\"read\":{\"deny\":[\"${workspace}/a\"],\"allow\":[\"${workspace}/a/in\"]}", EXTENDS),
            "read a/in/x; read a/in/y" },
    { GIVEN("\"read\":{\"deny\":[\"${workspace}/a/*\"],\"allow\":[\"${workspace}/a/in\"]}",
              EXTENDS),
            "read a/in/x" },
    /* two below what is denied are not joined to it */
    { GIVEN("\"write\":{\"allow\":[\"${workspace}/a/in\",\"${workspace}/a/out\"],"
            "\"deny\":[\"${workspace}/a\",\"**/in/no*\"]}",
              EXTENDS),
            "write a/in/x; write a/out/x" },
    { GIVEN("\"read\":{\"allow\":[\"/usr\",\"${workspace}/a/in/x\",\"${workspace}/a/in/y\"],"
            "\"deny\":[\"/\",\"/usr/share\"]}",
              ""),
            "read a/in/x; read a/in/y" },
    /* what may be written and not be read */
    { GIVEN("\"read\":{\"deny\":[\"${workspace}/a\"]},\"write\":{\"allow\":[\"${workspace}/a\"]}",
              EXTENDS),
            "write a/in/z" },
    { GIVEN("\"write\":{\"deny\":[\"/tmp\"]}", EXTENDS), "write b/x" },
    { GIVEN("\"exec\":{\"allow\":[\"/usr/bin\"],\"deny\":[\"/usr/bin/env\"]}", EXTENDS),
            "exec /usr/bin/true" },
    { GIVEN("\"protect\":{\"add\":[\"plan.txt\"],\"git\":\"frozen\"},"
            "\"decoys\":[\"${workspace}/wallet\"]",
              EXTENDS),
            "write x; write b/x" },
    { GIVEN("\"protect\":{\"git\":\"off\"}", EXTENDS), "write b/x" },
    { GIVEN("\"read\":{\"deny\":[\"**/a*\"]}", EXTENDS), "read b/x; write b/x" },
    { GIVEN("",
              EXTENDS ",\"network\":{\"mode\":\"filtered\",\"allow\":[{\"host\":\"api.test\","
                      "\"http\":[{\"methods\":[\"GET\"],\"path\":\"/a\"}]},\"*.left.test\"],"
                      "\"ask\":[\"asked.test\"],\"deny\":[\"*.evil.test\"],"
                      "\"host_loopback\":[8080],\"private\":[\"10.0.0.0/8\"]},"
                      "\"actions\":[{\"name\":\"pay\",\"verdict\":\"ask\"}],"
                      "\"credentials\":[{\"name\":\"key\",\"env\":\"KEY\",\"hosts\":[\"api.test\"],"
                      "\"as\":[\"bearer\"]}],"
                      "\"identity\":{\"header\":\"X-Who\",\"hosts\":[\"api.test\"]},"
                      "\"environment\":{\"pass\":[\"PATH\"],\"set\":{\"MODE\":\"test\"}},"
                      "\"limits\":{\"processes\":40,\"memory\":100000000},"
                      "\"approvals\":{\"timeout_ms\":5000},"
                      "\"feedback\":{\"reads\":\"silent\"}"),
            "connect api.test:443; connect new.test:8443" },
};

/* What it allows again, it allows as the given policy does. */
START_TEST(no_rule_of_the_given_policy_is_lost)
{
    static const char *const places[] = { "a", "b", "c", "a/in", "a/out" };
    static const char *const names[] = { "a/in/x", "a/in/y", "b/x" };
    char *json;

    abxtest_close(&test);
    open_box(given[_i].json, ABX_CONTEXT_OBSERVE);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        ck_assert_int_eq(mkdir(abxtest_path(&test, places[i]), 0755), 0);
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        abxtest_write(&test, names[i], "");
    }
    ck_assert_int_eq(run(given[_i].script), 0);
    abxtest_expect_no_denial(&test);
    json = suggest();
    expect_no_rule_is_lost(test.policy, json);
    abx_box_unref(test.box);
    abx_policy_unref(test.policy);
    test.policy = build(json);
    open_with_policy();
    ck_assert_msg(run(given[_i].script) == 0, "%.2000s", json);
    abx_free(json);
}
END_TEST

START_TEST(what_is_no_list_of_allowed_things_is_taken_over)
{
    static const char *const kept[] = { "\"api.test\"", "\"/a\"", "\"asked.test\"", "8080",
        "\"10.0.0.0/8\"", "\"pay\"", "\"KEY\"", "\"X-Who\"", "\"MODE\": \"test\"", "100000000",
        "5000", "\"silent\"", "\"new.test:8443\"" };
    const size_t last = sizeof given / sizeof *given - 1;
    char *json;

    abxtest_close(&test);
    open_box(given[last].json, ABX_CONTEXT_OBSERVE);
    ck_assert_int_eq(run(given[last].script), 0);
    json = suggest();
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        ck_assert_msg(strstr(json, kept[i]) != NULL, "%s: %s", kept[i], json);
    }
    ck_assert_msg(strstr(json, "left.test") == NULL, "%s", json);
    ck_assert_msg(strstr(json, test.workspace) == NULL, "%s", json);
    ck_assert_msg(strstr(json, "nonexistent-home") == NULL, "%s", json);
    abx_free(json);
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
    tcase_add_loop_test(
            tests, no_rule_of_the_given_policy_is_lost, 0, (int)(sizeof given / sizeof *given));
    tcase_add_test(tests, what_is_no_list_of_allowed_things_is_taken_over);
    tcase_add_test(tests, a_place_to_write_to_is_one_that_is_there);
    tcase_add_test(tests, a_directory_of_results_is_not_taken_for_one_that_stays);
    tcase_add_test(tests, nothing_is_learned_without_the_option);
    suite_add_tcase(suite, tests);
    return suite;
}

UNIT_MAIN(make_suite)
