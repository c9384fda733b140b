/* SPDX-License-Identifier: Apache-2.0
 * Text that came from outside is escaped so that it cannot break or forge a record. */
#include "base/str.h"

#include "unit/main.h"

#include <stdlib.h>
#include <string.h>

static const struct escape_case {
    const char *name, *bytes, *escaped;
} escape_cases[] = {
    { "plain text stays", "a b", "a b" },
    { "valid UTF-8 stays", "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
    { "a newline is escaped", "a\nb", "a\\x0Ab" },
    { "a lone continuation byte is escaped", "a\x80", "a\\x80" },
    { "an overlong form is escaped", "\xc0\xaf", "\\xC0\\xAF" },
    { "a surrogate is escaped", "\xed\xa0\x80", "\\xED\\xA0\\x80" },
    { "a cut sequence is escaped", "\xe2\x82", "\\xE2\\x82" },
    { "a mark that turns the writing direction is escaped",
            "a\xe2\x80\xae"
            "b",
            "a\\xE2\\x80\\xAE"
            "b" },
    { "a C1 control is escaped", "\xc2\x9b", "\\xC2\\x9B" },
    { "a line separator is escaped", "\xe2\x80\xa8", "\\xE2\\x80\\xA8" },
    { "a dash near them stays", "\xe2\x80\x94", "\xe2\x80\x94" },
    { "a backslash is doubled on request", "a\\b", "a\\\\b" },
};

START_TEST(bytes_that_are_not_text_are_escaped)
{
    const struct escape_case *c = &escape_cases[_i];
    char *escaped = text_escape(c->bytes, strlen(c->bytes), true);

    ck_assert_msg(strcmp(escaped, c->escaped) == 0, "%s: %s", c->name, escaped);
    free(escaped);
}
END_TEST

static const struct quote_case {
    const char *bytes, *quoted, *short_one; /* the last in a buffer of 16 bytes */
} quote_cases[] = {
    { "", "''", "''" },
    { "a b", "'a b'", "'a b'" },
    { "a'b", "'a\\'b'", "'a\\'b'" },
    { "a\\", "'a\\\\'", "'a\\\\'" },
    { "a\\'", "'a\\\\\\''", "'a\\\\\\''" },
    { "\xe2\x80\x99", "'\\\xe2\x80\x99'", "'\\\xe2\x80\x99'" },
    { "\xef\xbc\x87", "'\\\xef\xbc\x87'", "'\\\xef\xbc\x87'" },
    { "a\nb", "'a\\x0Ab'", "'a\\x0Ab'" },
    { "\x80", "'\\x80'", "'\\x80'" },
    { "0123456789", "'0123456789'", "'0123456789'" },
    { "0123456789a", "'0123456789'...", "'0123456789'..." },
    { "012345678'a", "'012345678\\''...", "'012345678'..." },
};

START_TEST(a_quotation_ends_where_its_value_ends)
{
    const struct quote_case *c = &quote_cases[_i];
    struct str out = { 0 };
    char buffer[16];

    str_add_quoted(&out, c->bytes, strlen(c->bytes), 10);
    ck_assert_str_eq(out.data, c->quoted);
    ck_assert_str_eq(text_quote(c->bytes, buffer, sizeof buffer), c->short_one);
    str_done(&out);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("str");
    TCase *tcase = tcase_create("str");

    tcase_add_loop_test(tcase, bytes_that_are_not_text_are_escaped, 0,
            sizeof escape_cases / sizeof escape_cases[0]);
    tcase_add_loop_test(tcase, a_quotation_ends_where_its_value_ends, 0,
            sizeof quote_cases / sizeof quote_cases[0]);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
