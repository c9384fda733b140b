/* SPDX-License-Identifier: Apache-2.0
 * Where patterns protect names, neither a symbolic link nor a rename brings other content under
 * such a name, or what has one under another.  Where a name protects (git's), no spelling of the
 * way to it hides it. */
#include "abxtest.h"
#include "unit/main.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

static const char policy[] = "{\"version\":1,\"filesystem\":{"
                             "\"read\":{\"allow\":[\"/\"],\"deny\":[\"**/secrets/*.pem\"]},"
                             "\"write\":{\"allow\":[\"${workspace}\",\"${workspace}/keep/secrets/"
                             "w.pem\"],\"deny\":[\"${workspace}/src/deep/*.key\"]},"
                             "\"protect\":{\"defaults\":false,\"git\":\"off\"}},"
                             "\"environment\":{\"set\":{\"PATH\":\"/usr/bin:/bin\"}}}";

static const struct link_case {
    const char *name, *script;
    bool works;
} cases[] = {
    { "a link on the way to a pattern", "ln -s other src", false },
    { "a link at its directory", "mkdir src && ln -s ../other src/deep", false },
    { "a link that is renamed there", "ln -s other way && mv -T way src", false },
    { "a link that is linked there", "ln -s other way && ln way src", false },
    { "a link in a directory that is renamed there",
            "mkdir tree && ln -s ../other tree/deep && mv -T tree src", false },
    { "a link that takes the name of any directory of a pattern", "ln -s other secrets", false },
    { "a directory with what would match", "mkdir -p o/deep && touch o/deep/a.key && mv -T o src",
            false },
    { "a directory with what matches", "mv keep/secrets keep/other && cat keep/other/k.pem",
            false },
    { "what matches", "mv keep/secrets/k.pem k && cat k", false },
    { "what may be written but not read", "mv other/secrets/w.pem k && cat k", false },
    { "a hard link to it", "ln keep/secrets/k.pem k && cat k", false },
    { "a link to it", "ln -s keep/secrets/k.pem k && cat k", false },
    { "a link to its directory", "ln -s keep/secrets k && cat k/k.pem", false },
    { "the directory above", "mv keep kept && cat kept/secrets/k.pem", false },
    { "the directory above moves and keeps it", "mv keep kept && ls kept/secrets", true },
    { "links elsewhere", "ln -s other way && ln -s /usr/bin/env env && echo x > way/x", true },
    { "directories without any", "mkdir -p a/b && touch a/b/c && mv a d && cat d/b/c", true },
    { "a link to an installed program", "mkdir src && ln -s /usr/bin/env src/env && src/env",
            true },
    { "a link that keeps what it protects", "mkdir -p v/secrets && ln -s v/secrets secrets", true },
};

static struct abxtest test;
static struct abxtest_result result;

START_TEST(no_link_and_no_rename_gets_around_a_pattern)
{
    static const char before[] = "mkdir other keep keep/secrets other/secrets";
    const struct link_case *c = &cases[_i];

    abxtest_open(&test, policy);
    abxtest_run(&test, before, &result);
    ck_assert_int_eq(result.exit.code, 0);
    abxtest_result_done(&result);
    abxtest_write(&test, "keep/secrets/k.pem", "hidden");
    abxtest_write(&test, "other/secrets/w.pem", "hidden");
    abxtest_run(&test, c->script, &result);
    ck_assert_msg((result.exit.code == 0) == c->works, "%s: %s", c->name, result.errors);
    ck_assert_msg(strstr(result.output, "hidden") == NULL, "%s", c->name);
    if (c->works) {
        abxtest_expect_no_denial(&test);
    } else {
        ck_assert_msg(result.exit.denials > 0, "%s: no event", c->name);
    }
    abxtest_result_done(&result);
    abxtest_close(&test);
}
END_TEST

static const char below[] =
        "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]},"
        "\"write\":{\"allow\":[\"${workspace}\"]},\"protect\":{\"add\":[\"ci/run\"]}},"
        "\"environment\":{\"set\":{\"PATH\":\"/usr/bin:/bin\"}}}";

START_TEST(a_file_may_take_a_name_below_which_something_is_protected)
{
    abxtest_open(&test, below);
    abxtest_run(&test,
            "mkdir m && echo a > m/x && mv m/x ci && echo b > y && mv y ci && ln ci m/z && "
            "python3 -c 'import os; os.rename(\"m/z\", \"ci\")'; echo c > x; mv -n x ci; ls -A . "
            "m; "
            "cat ci",
            &result);
    ck_assert_str_eq(result.output, ".:\nci\nm\nx\n\nm:\nz\nb\n");
    ck_assert_int_eq(result.exit.code, 0);
    abxtest_expect_no_denial(&test);
    abxtest_result_done(&result);
    abxtest_run(&test,
            "python3 -c 'import ctypes; exit(0 == ctypes.CDLL(None).renameat2(-100, b\"x\", -100, "
            "b\"ci\", 2))' && cat ci",
            &result);
    ck_assert_str_eq(result.output, "b\n");
    ck_assert_int_eq(result.exit.code, 0);
    ck_assert_int_eq(result.exit.denials, 1);
    abxtest_result_done(&result);
    abxtest_close(&test);
}
END_TEST

/* A path that the kernel cannot tell, and one that looks like what it tells of what is gone. */
static const struct way_case {
    const char *name, *way; /* where a repository is made */
} ways[] = {
    { "plain", "" },
    { "an ending of the kernel's", "mkdir 'x (deleted)'; cd 'x (deleted)'" },
    { "longer than a path can be",
            "name=$(printf %0200d 0); for i in $(seq 22); do mkdir $name; cd -P $name 2>/dev/null; "
            "done" },
};
static const char hook[] = "mkdir .git && mkdir .git/hooks && echo x > .git/hooks/pre-commit && "
                           "echo hooked; mkdir -p a/.git/hooks; echo x > a/.git/hooks/pre-commit "
                           "&& echo hooked; mkdir b; mkdir b/git; mv b/git b/.git && mkdir "
                           "b/.git/hooks && echo x > b/.git/hooks/pre-commit && echo hooked; true";

static const char git[] = "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]},"
                          "\"write\":{\"allow\":[\"${workspace}\"]}},"
                          "\"environment\":{\"set\":{\"PATH\":\"/usr/bin:/bin\"}}}";

START_TEST(no_way_to_a_git_directory_hides_it)
{
    char script[1024];

    snprintf(script, sizeof script, "%s\n%s", ways[_i].way, hook);
    abxtest_open(&test, git);
    abxtest_run(&test, script, &result);
    ck_assert_msg(strcmp(result.output, "") == 0, "%s: %s%s", ways[_i].name, result.output,
            result.errors);
    ck_assert_int_eq(result.exit.code, 0);
    abxtest_result_done(&result);
    abxtest_close(&test);
}
END_TEST

/* The host plays who won a race: it puts a hook there while the command runs. */
START_TEST(a_hook_in_a_new_git_directory_is_told_when_the_command_ends)
{
    static const char script[] =
            "mkdir new new/.git new/.git/hooks && echo > new/.git/hooks/a.sample && "
            "chmod 755 new/.git/hooks/a.sample && echo > ready; "
            "until [ -e new/.git/hooks/post-checkout ]; do sleep 0.01; done";
    abx_exit exit = { .size = sizeof exit };
    abx_process *process;
    abx_event *event;
    char *ready, *hook_path;

    abxtest_open(&test, git);
    process = abxtest_spawn(&test, script, NULL);
    while ((ready = abxtest_read(&test, "ready")) == NULL) {
        usleep(1000);
    }
    free(ready);
    abxtest_write(&test, "hook", "#!/bin/sh\n"); /* executable before it is seen */
    ck_assert_int_eq(chmod(abxtest_path(&test, "hook"), 0755), 0);
    hook_path = strdup(abxtest_path(&test, "hook"));
    ck_assert_int_eq(rename(hook_path, abxtest_path(&test, "new/.git/hooks/post-checkout")), 0);
    free(hook_path);
    ck_assert_int_eq(abx_process_wait(process, -1, &exit), ABX_OK);
    abx_process_unref(process);
    abxtest_take_events(&test);
    event = abxtest_find(
            &test, ABX_EVENT_NOTICE, abxtest_path(&test, "new/.git/hooks/post-checkout"));
    ck_assert_ptr_nonnull(event);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_RULE), "boundary:git-executable");
    ck_assert_ptr_null(
            abxtest_find(&test, ABX_EVENT_NOTICE, abxtest_path(&test, "new/.git/hooks/a.sample")));
    abxtest_expect_no_denial(&test);
    abxtest_close(&test);
}
END_TEST

/* Outside of git's directories a box may change every name beside the one that is taken, so what
 * takes it has no other on its way, at which something else could be put. */
START_TEST(a_file_that_takes_a_name_has_no_other_on_its_way)
{
    static const char nested[] =
            "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]},"
            "\"write\":{\"allow\":[\"${workspace}\"]},\"protect\":{\"add\":[\"ci/run\"]}},"
            "\"environment\":{\"set\":{\"PATH\":\"/usr/bin:/bin\"}}}";
    char bytes[4096] __attribute__((aligned(8)));
    int watch;
    ssize_t n;
    char *content;

    abxtest_open(&test, nested);
    abxtest_write(&test, "ci", "old");
    abxtest_write(&test, "x", "new");
    watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    ck_assert_int_ge(inotify_add_watch(watch, test.workspace, IN_CREATE | IN_MOVED_TO), 0);
    abxtest_run(&test, "mv x ci", &result);
    ck_assert_msg(result.exit.code == 0, "%s", result.errors);
    content = abxtest_read(&test, "ci");
    ck_assert_ptr_nonnull(content);
    ck_assert_str_eq(content, "new");
    free(content);
    n = read(watch, bytes, sizeof bytes);
    for (ssize_t at = 0; at < n;) {
        const struct inotify_event *event = (const struct inotify_event *)(bytes + at);

        ck_assert_str_eq(event->name, "ci");
        at += (ssize_t)sizeof *event + event->len;
    }
    close(watch);
    abxtest_result_done(&result);
    abxtest_close(&test);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("links");
    TCase *tcase = tcase_create("links");

    tcase_set_timeout(tcase, 30);
    tcase_add_loop_test(
            tcase, no_link_and_no_rename_gets_around_a_pattern, 0, sizeof cases / sizeof cases[0]);
    tcase_add_test(tcase, a_file_may_take_a_name_below_which_something_is_protected);
    tcase_add_loop_test(tcase, no_way_to_a_git_directory_hides_it, 0, sizeof ways / sizeof ways[0]);
    tcase_add_test(tcase, a_file_that_takes_a_name_has_no_other_on_its_way);
    tcase_add_test(tcase, a_hook_in_a_new_git_directory_is_told_when_the_command_ends);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
