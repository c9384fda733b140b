/* SPDX-License-Identifier: Apache-2.0
 * Patterns of arguments: what they match, what is none, and that no text takes long. */
#include "policy/expression.h"

#include "failing_malloc.h"
#include "unit/main.h"

#include <stdlib.h>
#include <string.h>

#define TEN(c) c "0|" c "1|" c "2|" c "3|" c "4|" c "5|" c "6|" c "7|" c "8|" c "9"
#define ALTERNATIVES TEN("a") "|" TEN("b") "|" TEN("c")

static bool
matches(const struct expression *expression, const char *text)
{
    struct fail fail = { 0 };
    bool is_match = false;

    ck_assert_int_eq(expression_match(expression, text, &is_match, &fail), ABX_OK);
    return is_match;
}

static const struct match_case {
    const char *pattern, *text;
    bool matches;
} match_cases[] = {
    { "^[0-9]{1,9}$", "123", true },
    { "^[0-9]{1,9}$", "", false },
    { "^[0-9]{1,9}$", "1234567890", false },
    { "abc", "abc", true },
    { "abc", "xabc", false },
    { "abc", "abcx", false },
    { "a|bc|", "bc", true },
    { "a|bc|", "", true },
    { "a|bc|", "abc", false },
    { "(ab|c)*d", "ababcd", true },
    { "(ab|c)*d", "abad", false },
    { "(a*)*", "aaaa", true },
    { "(a*)+b", "b", true },
    { "a?b+", "bbb", true },
    { "a?b+", "aab", false },
    { "x{0}y", "y", true },
    { "x{2,}", "x", false },
    { "x{2,}", "xxxxx", true },
    { "(a|b){2}", "ba", true },
    { "(a|b){2}", "b", false },
    { "[^a-c]", "d", true },
    { "[^a-c]", "b", false },
    { "[]a]", "]", true },
    { "[a-]", "-", true },
    { "\\d+\\.\\d{2}", "10.25", true },
    { "\\d+\\.\\d{2}", "10x25", false },
    { "\\w+@\\w+", "kim_1@x", true },
    { "J.rg", "J\xc3\xbcrg", true },
    { "[\xc3\xa4-\xc3\xbc]", "\xc3\xbc", true },
    { "a.", "a\xff", true },
    { "[^a]", "\xff", true },
    { "\xc3\xbf", "\xff", false },
    { "", "", true },
    { "", "a", false },
    { "((a|b)(c|d)){2}", "acbd", true },
    { "((a|b|c|d){2}|e+|f?)g", "adg", true },
    { "((a|b|c|d){2}|e+|f?)g", "eeg", true },
    { "((a|b|c|d){2}|e+|f?)g", "g", true },
    { "((a|b|c|d){2}|e+|f?)g", "aefg", false },
    { ALTERNATIVES, "a9", true },
    { ALTERNATIVES, "c0", true },
    { ALTERNATIVES, "a10", false },
    { "(" ALTERNATIVES ")+x", "a0b7c9x", true },
};

START_TEST(a_pattern_matches_whole_texts)
{
    const struct match_case *c = &match_cases[_i];
    struct fail fail = { 0 };
    struct expression *expression = expression_new(c->pattern, &fail);

    ck_assert_msg(expression != NULL, "%s: %s", c->pattern, fail.text);
    ck_assert_msg(matches(expression, c->text) == c->matches, "%s: %s", c->pattern, c->text);
    free(expression);
}
END_TEST

static const char *const bad[] = { "(", ")", "a)", "[a", "*a", "a**", "a{", "a{1", "a{2,1}",
    "a{1001}", "a{x}", "\\", "\\1", "\\q", "[z-a]", "[[:alpha:]]", "(?i)a", "a^b", "a$b",
    "(((((((((((((((((((((((((a)))))))))))))))))))))))))", "(a{100}){100}", "((a{99}){99}){99}" };

START_TEST(what_is_no_pattern_is_refused)
{
    struct fail fail = { 0 };

    ck_assert_msg(expression_new(bad[_i], &fail) == NULL, "%s", bad[_i]);
    ck_assert_int_eq(fail.status, ABX_ERR_POLICY);
}
END_TEST

START_TEST(no_text_takes_long)
{
    struct fail fail = { 0 };
    struct expression *expression = expression_new("(a|a|a?)*(a*a*)*b", &fail);
    char text[4097];

    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    ck_assert_ptr_nonnull(expression);
    ck_assert(!matches(expression, text));
    text[sizeof text - 2] = 'b';
    ck_assert(matches(expression, text));
    free(expression);
}
END_TEST

START_TEST(without_memory_nothing_is_said_of_a_text)
{
    struct fail fail = { 0 };
    struct expression *expression = expression_new("a", &fail);
    bool is_match;
    abx_status r;

    malloc_fail_at(1);
    r = expression_match(expression, "a", &is_match, &fail);
    malloc_fail_at(0);
    ck_assert_int_eq(r, ABX_ERR_NOMEM);
    free(expression);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("expression");
    TCase *tc = tcase_create("expression");

    tcase_add_loop_test(
            tc, a_pattern_matches_whole_texts, 0, sizeof match_cases / sizeof *match_cases);
    tcase_add_loop_test(tc, what_is_no_pattern_is_refused, 0, sizeof bad / sizeof *bad);
    tcase_add_test(tc, no_text_takes_long);
    tcase_add_test(tc, without_memory_nothing_is_said_of_a_text);
    suite_add_tcase(suite, tc);
    return suite;
}

UNIT_MAIN(make_suite)
