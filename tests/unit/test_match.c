/* SPDX-License-Identifier: Apache-2.0
 * A path pattern matches as many leading components as it can, in time that no pattern can blow up.
 */
#include "base/mem.h"
#include "policy/rules.h"

#include "policy/match_text.h"
#include "unit/main.h"

#include <string.h>
#include <time.h>

static const struct match_case {
    const char *name, *pattern, *path;
    int matched;
} match_cases[] = {
    { "the root matches everything, with nothing of its name", "/", "/a/b", 0 },
    { "a literal matches itself", "/srv/a", "/srv/a", 2 },
    { "a literal matches what lies below", "/srv/a", "/srv/a/b/c", 2 },
    { "a literal does not match its parent", "/srv/a", "/srv", -1 },
    { "a longer name is another name", "/srv/a", "/srv/ab", -1 },
    { "star does not cross a slash", "/srv/*/c", "/srv/a/b/c", -1 },
    { "star stands for one component", "/srv/*", "/srv/a/b", 2 },
    { "star in a component", "/srv/a*z", "/srv/abcz/x", 2 },
    { "star may be empty inside a component", "/srv/a*", "/srv/a", 2 },
    { "star is no empty component", "/srv/*", "/srv", -1 },
    { "double star crosses slashes", "/**/.env", "/w/a/.env", 3 },
    { "double star may be nothing", "/**/.env", "/.env", 1 },
    { "double star without its slash", "**/.env", "/w/.env", 2 },
    { "the longest way counts", "/**/x", "/x/a/x/b", 3 },
    { "a double star between", "/a/**/b", "/a/1/2/b/c", 4 },
    { "a double star between is nothing", "/a/**/b", "/a/b", 2 },
    { "two double stars", "/**/a/**/b", "/x/a/y/b/b", 5 },
    { "order counts", "/**/a/**/b", "/x/b/a", -1 },
    { "a double star at the end counts as what stands before", "/w/**", "/w/a/b", 1 },
    { "and covers that too", "/w/**", "/w", 1 },
    { "a pattern before a double star at the end", "/**/.git/**", "/w/.git/hooks", 2 },
    { "question mark is one character", "/w/?", "/w/ab", -1 },
    { "question mark takes a whole character", "/w/?x", "/w/\xc3\xbcx", 2 },
    { "question mark takes a byte that is none", "/w/?x", "/w/\xffx", 2 },
    { "a class", "/w/[a-c]1", "/w/b1", 2 },
    { "outside of a class", "/w/[a-c]1", "/w/d1", -1 },
    { "a negated class", "/w/[!a-c]1", "/w/d1", 2 },
    { "a bracket first in a class", "/w/[]a]", "/w/]", 2 },
    { "an escaped star", "/w/\\*", "/w/*", 2 },
    { "an escaped star is no wildcard", "/w/\\*", "/w/a", -1 },
    { "an escaped byte", "/w/\\xff*",
            "/w/\xff"
            "a",
            2 },
    { "a bad class matches nothing", "/w/[a", "/w/[a", -1 },
    { "a double star inside a component is malformed", "/w/a**", "/w/ab", -1 },
    { "a dot component is malformed", "/w/../x", "/x", -1 },
    { "a hidden one too", "/w/\\./x", "/w/x", -1 },
    { "a path that is not normalised matches nothing", "/w", "/w//a", -1 },
    { "slashes too many in a pattern", "//w/", "/w/a", 1 },
    { "suffix", "/**/*.pem", "/w/k.pem/x", 2 },
    { "suffix longer than the name", "/**/*.pem", "/w/pem", -1 },
};

START_TEST(a_pattern_matches_as_many_components_as_it_can)
{
    const struct match_case *c = &match_cases[_i];
    int matched = path_match(c->pattern, c->path);

    ck_assert_msg(matched == c->matched, "%s: %d", c->name, matched);
}
END_TEST

static const struct reach_case {
    const char *pattern, *directory;
    bool reaches;
} reach_cases[] = {
    { "/**/.env", "/w", true },
    { "/w/*/x", "/w", true },
    { "/w/*/x", "/w/a", true },
    { "/w/*/x", "/w/a/b", false },
    { "/w/*/x", "/w/a/x", true },
    { "/w/*/x", "/w/a/x/y", true },
    { "/v/*", "/w", false },
    { "/w/a*", "/", true },
    { "/w/*/y/**/z", "/w/a/y/q", true },
    { "/w/*/y/**/z", "/w/a/b/q", false },
};

START_TEST(a_pattern_reaches_below_where_some_name_could_match)
{
    const struct reach_case *c = &reach_cases[_i];

    ck_assert_msg(path_pattern_reaches_below(c->pattern, c->directory) == c->reaches, "%s in %s",
            c->pattern, c->directory);
}
END_TEST

static const struct follow_case {
    const char *name, *pattern, *link, *target;
    bool follows;
} follow_cases[] = {
    { "what counts everywhere", "/**/*.pem", "/w/a", "/x/y", true },
    { "wherever that is", "/**/*.pem", "/w/a", NULL, true },
    { "a directory of the pattern", "/**/secrets/*.pem", "/w/secrets", "/w/other", false },
    { "from one such to another", "/**/secrets/*.pem", "/w/secrets", "/x/secrets", true },
    { "another name for it", "/**/secrets/*.pem", "/w/other", "/w/secrets", true },
    { "the way to a fixed one", "/w/src/deep/*.key", "/w/src", "/w/other", false },
    { "its last directory", "/w/src/deep/*.key", "/w/src/deep", "/w/src", false },
    { "beside it", "/w/src/deep/*.key", "/w/src/a", "/w/src/deep", true },
    { "a file that would match", "/w/src/deep/*.key", "/w/src/deep/x", "/w/y", true },
    { "inside a tree", "/w/**/*.key", "/w/a", "/w/b/c", true },
    { "out of a tree", "/w/**/*.key", "/w/a", "/v", false },
    { "out of a tree to somewhere", "/w/**/*.key", "/w/a", NULL, false },
    { "another tree", "/w/**/*.key", "/v/a", NULL, true },
    { "to what is protected whole", "/w/*/key/x", "/w/a", "/w/b/key/x", true },
    { "two double stars", "/**/a/**/b", "/w/a/c", "/w/d", false },
    { "two double stars, both behind the first", "/**/a/**/b", "/w/a/c", "/v/a", true },
};

START_TEST(what_a_link_leads_to_is_protected_like_the_link)
{
    const struct follow_case *c = &follow_cases[_i];

    ck_assert_msg(path_match_follows(c->pattern, c->link, c->target) == c->follows, "%s", c->name);
}
END_TEST

START_TEST(only_active_wildcards_make_a_pattern)
{
    ck_assert(path_pattern_is_literal("/w/a"));
    ck_assert(path_pattern_is_literal("/w/\\[slug\\]"));
    ck_assert(path_pattern_is_literal("/w/**"));
    ck_assert(!path_pattern_is_literal("/w/[slug]"));
    ck_assert(!path_pattern_is_literal("/w/a*"));
    ck_assert(!path_pattern_is_literal("/w/a?"));
    ck_assert(!path_pattern_is_literal("/w/**/a"));
}
END_TEST

static const struct normal_case {
    const char *path, *normal; /* NULL: refused */
} normal_cases[] = {
    { "/a//b/./c/", "/a/b/c" },
    { "//", "/" },
    { "/.", "/" },
    { "/a/..b", "/a/..b" },
    { "/a/../b", NULL },
    { "a/b", NULL },
    { "", NULL },
};

START_TEST(a_path_has_one_spelling)
{
    const struct normal_case *c = &normal_cases[_i];
    struct fail fail = { 0 };
    AUTO(freep) char *normal = path_normalise(c->path, &fail);

    if (c->normal == NULL) {
        ck_assert_ptr_null(normal);
        ck_assert_int_eq(fail.status, ABX_ERR_POLICY);
        return;
    }
    ck_assert_str_eq(normal, c->normal);
}
END_TEST

static double
seconds_to_match(const char *pattern, const char *path)
{
    struct timespec before, after;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    ck_assert_int_eq(path_match(pattern, path), -1);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    return (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) / 1e9;
}

START_TEST(no_pattern_takes_more_than_its_length_times_the_paths)
{
    char pattern[4096] = "/", path[4096] = "/";

    /* (a*)^2000 against a^4000 b, which backtracking over every star would never finish */
    for (size_t i = 1; i + 4 < sizeof pattern; i += 2) {
        memcpy(pattern + i, "a*", 3);
    }
    strcat(pattern, "c");
    memset(path + 1, 'a', 4000);
    ck_assert(seconds_to_match(pattern, path) < 2);

    /* the same with components */
    memset(pattern, 0, sizeof pattern);
    memset(path, 0, sizeof path);
    for (size_t i = 0; i + 6 < sizeof pattern; i += 5) {
        memcpy(pattern + i, "/**/a", 6);
    }
    strcat(pattern, "/b");
    for (size_t i = 0; i + 4 < sizeof path; i += 2) {
        memcpy(path + i, "/a", 3);
    }
    ck_assert(seconds_to_match(pattern, path) < 2);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("match");
    TCase *tcase = tcase_create("match");

    tcase_add_loop_test(
            tcase, a_pattern_matches_as_many_components_as_it_can, 0, N_ELEMENTS(match_cases));
    tcase_add_loop_test(
            tcase, a_pattern_reaches_below_where_some_name_could_match, 0, N_ELEMENTS(reach_cases));
    tcase_add_loop_test(
            tcase, what_a_link_leads_to_is_protected_like_the_link, 0, N_ELEMENTS(follow_cases));
    tcase_add_test(tcase, only_active_wildcards_make_a_pattern);
    tcase_add_loop_test(tcase, a_path_has_one_spelling, 0, N_ELEMENTS(normal_cases));
    tcase_add_test(tcase, no_pattern_takes_more_than_its_length_times_the_paths);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
