/* SPDX-License-Identifier: Apache-2.0
 * What every rung guarantees, through the public API, with capabilities lowered one by one; and
 * that a policy which needs more than a rung has is refused. */
#include "abxtest.h"
#include "unit/main.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define N_ELEMENTS(array) (sizeof(array) / sizeof(array)[0])
#define WAIT_MS 10000

static const char policy[] =
        "{\"version\":1,\"filesystem\":{\"protect\":{\"defaults\":false,\"git\":\"off\"},"
        "\"read\":{\"allow\":[\"/\",\"${workspace}\"],\"deny\":[\"${workspace}/secret\"]},"
        "\"write\":{\"allow\":[\"${workspace}/w\"]}},"
        "\"environment\":{\"set\":{\"PATH\":\"/usr/bin:/bin\"}}}";

static const struct rung_case {
    const char *lowered, *rung;
    bool has_broker;
} rungs[] = {
    { "cgroup=0", "A", true },
    { "fuse=0", "A", true },
    { "landlock=0", "A-", true },
    { "landlock=1", "A", true },
    { "notify=0", "A--", false },
    { "proc=0", "B", true },
    { "proc=0,fuse=0", "B", true },
    { "netns=0", "B'", true },
    { "netns=0,fuse=0", "B'", true },
    { "userns=0", "C", true },
};

static struct abxtest test;
static struct abxtest_result result;

/* What the policy names must be there when the box opens. */
static void
open_lowered(const struct rung_case *c)
{
    abx_error *error = NULL;

    ck_assert_int_eq(setenv("AGENTBOX_TEST_CAPS", c->lowered, 1), 0);
    abxtest_start(&test, policy);
    abxtest_write(&test, "secret", "hidden\n");
    abxtest_write(&test, "open", "shown\n");
    ck_assert_int_eq(mkdir(abxtest_path(&test, "w"), 0755), 0);
    ck_assert_msg(abx_box_open(test.context, test.policy, NULL, &test.box, &error) == ABX_OK,
            "%s: %s", c->lowered, error == NULL ? "" : abx_error_get_message(error));
}

static void
close_lowered(void)
{
    abxtest_result_done(&result);
    result = (struct abxtest_result){ .output = NULL };
    abxtest_close(&test);
    unsetenv("AGENTBOX_TEST_CAPS");
}

static const struct script_case {
    const char *script, *output;
    const char *denial; /* where there is a broker; %s is the workspace */
} scripts[] = {
    { "cat ../open; echo more > made && cat made && rm made", "shown\nmore\n", NULL },
    { "echo no > /etc/agentbox-test; echo $?", "2\n", "/etc/agentbox-test" },
    { "echo no > /var/tmp/agentbox-test; echo $?", "2\n", "/var/tmp/agentbox-test" },
    { "mkdir /var/tmp/agentbox-test; echo $?", "1\n", "/var/tmp/agentbox-test" },
    { "ln -s / root; echo no > root/etc/agentbox-test; echo $?; rm root", "2\n",
            "/etc/agentbox-test" },
    { "cat ../secret; echo $?", "1\n", "%s/secret" },
    { "ln -s ../secret link; cat link; echo $?; rm link", "1\n", "%s/secret" },
    { "ln ../secret hard && cat hard; rm -f hard; echo end", "end\n", NULL },
    { "bash -c 'echo > /dev/tcp/192.0.2.1/80' || echo off", "off\n", "192.0.2.1" },
    { "bash -c 'echo > /dev/udp/192.0.2.1/53' || echo off", "off\n", "192.0.2.1" },
    { "echo x > /dev/null && head -c 1 /dev/zero | wc -c", "1\n", NULL },
    { "exec 3< /proc/self/status && head -n 1 <&3", "Name:\tsh\n", NULL },
    { "sleep 100 & kill $! && wait $!; echo $?", "143\n", NULL },
    { "kill -9 $PPID; echo $?", NULL, NULL },
};

static void
check_script(const struct rung_case *c, const struct script_case *s)
{
    char denial[128], script[256];

    snprintf(script, sizeof script, "cd %s/w; %s", test.workspace, s->script);
    abxtest_run(&test, script, &result);
    ck_assert_msg(s->output == NULL || strcmp(result.output, s->output) == 0,
            "%s: %s: got %d\n%s%s", c->lowered, s->script, result.exit.code, result.output,
            result.errors);
    if (c->has_broker && s->denial != NULL) {
        snprintf(denial, sizeof denial, s->denial[0] == '%' ? "%s/secret" : "%s",
                s->denial[0] == '%' ? test.workspace : s->denial);
        abxtest_expect_denial(&test, denial);
    }
    abxtest_result_done(&result);
    result = (struct abxtest_result){ .output = NULL };
}

START_TEST(each_rung_keeps_what_the_policy_says)
{
    const struct rung_case *c = &rungs[_i];

    open_lowered(c);
    for (size_t i = 0; i < N_ELEMENTS(scripts); i++) {
        check_script(c, &scripts[i]);
    }
    ck_assert_int_ne(access("/etc/agentbox-test", F_OK), 0);
    ck_assert_int_ne(access("/var/tmp/agentbox-test", F_OK), 0);
    close_lowered();
}
END_TEST

START_TEST(each_rung_brings_back_how_a_command_ended)
{
    const struct rung_case *c = &rungs[_i];

    open_lowered(c);
    abxtest_run(&test, "exit 7", &result);
    ck_assert(result.exit.reason == ABX_EXIT_CODE && result.exit.code == 7);
    abxtest_result_done(&result);
    abxtest_run(&test, "kill -KILL $$", &result);
    ck_assert(result.exit.reason == ABX_EXIT_SIGNAL && result.exit.code == SIGKILL);
    close_lowered();
}
END_TEST

START_TEST(no_rung_lets_a_process_of_the_host_be_reached)
{
    const struct rung_case *c = &rungs[_i];
    char script[256];

    open_lowered(c);
    snprintf(script, sizeof script,
            "kill -0 %d; echo $?; cat /proc/%d/environ; cat /proc/%d/root/etc/hostname; cat "
            "/proc/%d/fd/0; prlimit --pid %d --core=0; kill -0 -1",
            (int)getpid(), (int)getpid(), (int)getpid(), (int)getpid(), (int)getpid());
    abxtest_run(&test, script, &result);
    ck_assert_msg(strcmp(result.output, "1\n") == 0, "%s: %s%s", c->lowered, result.output,
            result.errors);
    close_lowered();
}
END_TEST

/* Whoever lives on would keep the pipe open. */
START_TEST(on_each_rung_nothing_outlives_the_box)
{
    const struct rung_case *c = &rungs[_i];
    const abx_spawn_options options = {
        .size = sizeof options,
        .stdio = { ABX_STDIO_NULL, ABX_STDIO_PIPE, ABX_STDIO_NULL },
    };
    struct pollfd end;
    abx_process *process;
    char text[8] = "";

    open_lowered(c);
    process = abxtest_spawn(&test,
            "(setsid sh -c 'trap \"\" TERM HUP; sleep 1000 & sleep 1000' &); sleep 1000 & "
            "kill -9 $PPID; echo ready",
            &options);
    end = (struct pollfd){ .fd = (int)abx_process_take_stdio(process, 1), .events = POLLIN };
    ck_assert_int_eq(poll(&end, 1, WAIT_MS), 1);
    ck_assert_int_eq(read(end.fd, text, sizeof text), 6);
    abx_box_unref(test.box);
    test.box = NULL;
    ck_assert_int_eq(poll(&end, 1, WAIT_MS), 1);
    ck_assert_msg(read(end.fd, text, sizeof text) == 0, "%s", c->lowered);
    close(end.fd);
    abx_process_unref(process);
    close_lowered();
}
END_TEST

START_TEST(the_receipt_and_preflight_tell_the_rung)
{
    const struct rung_case *c = &rungs[_i];
    abx_report *report = NULL;
    char *json = NULL;
    char expected[32];
    bool found = false;

    open_lowered(c);
    snprintf(expected, sizeof expected, "\"rung\":\"%s\"", c->rung);
    ck_assert_int_eq(abx_box_receipt(test.box, &json, NULL), ABX_OK);
    ck_assert_msg(strstr(json, expected) != NULL, "%s: %s", c->lowered, json);
    ck_assert_msg(strcmp(c->rung, "A") == 0 || strstr(json, "\"weaker\":[]") == NULL, "%s: %s",
            c->lowered, json);
    abx_free(json);
    ck_assert_int_eq(abx_preflight(test.policy, &report, NULL), ABX_OK);
    for (size_t i = 0; i < abx_report_get_count(report); i++) {
        found = found || (strcmp(abx_report_get_string(report, i, "feature"), "rung") == 0 &&
                                 strcmp(abx_report_get_string(report, i, "state"), c->rung) == 0);
    }
    ck_assert_msg(found, "%s", c->lowered);
    abx_report_unref(report);
    close_lowered();
}
END_TEST

#define FILES(more)                                                                                \
    "{\"version\":1,\"filesystem\":{\"protect\":{\"defaults\":false,\"git\":\"off\"},\"read\":{"   \
    "\"allow\":[\"/\"]},\"write\":{\"allow\":[\"${workspace}\"]}" more "}}"

static const struct refused_case {
    const char *lowered, *policy, *step, *rule;
} refused[] = {
    { "userns=0,landlock=0", FILES(""), "plan:rung", "" },
    { "userns=0,landlock=5", FILES(""), "plan:rung", "" },
    { "userns=0,notify=0", FILES(""), "plan:rung", "" },
    { "netns=0,notify=0", FILES(""), "plan:network", "/network/mode" },
    { "proc=0,landlock=0", FILES(""), "plan:proc", "" },
    { "userns=0", FILES(",\"inputs\":[{\"from\":\"/etc/hostname\",\"as\":\"h\"}]"), "plan:inputs",
            "/filesystem/inputs" },
    { "landlock=0", FILES(",\"exec\":{\"allow\":[\"/bin/sh\"]}"), "plan:exec",
            "/filesystem/exec/allow" },
    { "notify=0", FILES(",\"exec\":{\"deny\":[\"/usr/bin/env\"]}"), "plan:exec",
            "/filesystem/exec" },
    { "notify=0",
            "{\"version\":1,\"filesystem\":{\"protect\":{\"defaults\":false,\"git\":\"off\"},"
            "\"read\":{\"allow\":[\"/\"]},\"write\":{\"allow\":[\"${workspace}\"],\"ask\":["
            "\"${workspace}/a\"]}}}",
            "plan:", "/filesystem/write/ask" },
    { "notify=0",
            "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]},\"write\":{\"allow\":["
            "\"${workspace}\"]}}}",
            "plan:guards", "protect:" },
    { "notify=0,fuse=0",
            "{\"version\":1,\"filesystem\":{\"protect\":{\"defaults\":false,\"git\":\"off\"},"
            "\"read\":{\"allow\":[\"/\"],\"deny\":[\"/etc/shadow\"]},\"write\":{\"allow\":["
            "\"${workspace}\"]}}}",
            "plan:reads", "/filesystem/read/deny" },
    { "fuse=0",
            "{\"version\":1,\"filesystem\":{\"protect\":{\"defaults\":false,\"git\":\"off\"},"
            "\"read\":{\"allow\":[\"/\"],\"deny\":[\"/etc/shadow\"]},\"write\":{\"allow\":["
            "\"${workspace}\"]},\"decoys\":[\"/etc/shadow\"]}}",
            "plan:decoys", "/filesystem/decoys" },
};

START_TEST(what_a_rung_lacks_refuses_the_box_with_the_rule_and_a_remedy)
{
    const struct refused_case *c = &refused[_i];
    abx_error *error = NULL;

    ck_assert_int_eq(setenv("AGENTBOX_TEST_CAPS", c->lowered, 1), 0);
    abxtest_start(&test, c->policy);
    ck_assert_msg(
            abx_box_open(test.context, test.policy, NULL, &test.box, &error) == ABX_ERR_UNSUPPORTED,
            "%s: %s", c->lowered, error == NULL ? "opened" : abx_error_get_message(error));
    ck_assert_ptr_null(test.box);
    ck_assert_msg(strncmp(abx_error_get_step(error), c->step, strlen(c->step)) == 0, "%s: %s",
            c->lowered, abx_error_get_step(error));
    ck_assert_msg(strstr(abx_error_get_message(error), c->rule) != NULL, "%s: %s", c->lowered,
            abx_error_get_message(error));
    ck_assert_str_ne(abx_error_get_remedy(error), "");
    abx_error_unref(error);
    close_lowered();
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("lowered");
    TCase *tcase = tcase_create("lowered");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, each_rung_keeps_what_the_policy_says, 0, N_ELEMENTS(rungs));
    tcase_add_loop_test(tcase, each_rung_brings_back_how_a_command_ended, 0, N_ELEMENTS(rungs));
    tcase_add_loop_test(tcase, no_rung_lets_a_process_of_the_host_be_reached, 0, N_ELEMENTS(rungs));
    tcase_add_loop_test(tcase, on_each_rung_nothing_outlives_the_box, 0, N_ELEMENTS(rungs));
    tcase_add_loop_test(tcase, the_receipt_and_preflight_tell_the_rung, 0, N_ELEMENTS(rungs));
    tcase_add_loop_test(tcase, what_a_rung_lacks_refuses_the_box_with_the_rule_and_a_remedy, 0,
            N_ELEMENTS(refused));
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
