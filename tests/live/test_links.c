/* SPDX-License-Identifier: Apache-2.0
 * Where patterns protect names, neither a symbolic link nor a rename brings other content under
 * such a name, or what has one under another. */
#include "abxtest.h"
#include "unit/main.h"

#include <stdbool.h>
#include <string.h>

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

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("links");
    TCase *tcase = tcase_create("links");

    tcase_set_timeout(tcase, 30);
    tcase_add_loop_test(
            tcase, no_link_and_no_rename_gets_around_a_pattern, 0, sizeof cases / sizeof cases[0]);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
