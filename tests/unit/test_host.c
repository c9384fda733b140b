/* SPDX-License-Identifier: Apache-2.0
 * A host has one spelling, whatever way it is written; patterns match names and addresses apart. */
#include "base/mem.h"
#include "policy/hostname.h"
#include "policy/rules.h"

#include "policy/match_text.h"
#include "unit/main.h"

#include <string.h>

static const struct spelling_case {
    const char *name, *host, *canonical; /* NULL: refused */
} spelling_cases[] = {
    { "case", "Docs.Example.COM", "docs.example.com" },
    { "a dot at the end", "example.com.", "example.com" },
    { "subdomains", "*.Example.com", "*.example.com" },
    { "both", "**.example.com.", "**.example.com" },
    { "every public name", "*", "*" },
    { "an underscore", "_dmarc.example.com", "_dmarc.example.com" },
    { "a U-label",
            "b\xc3\xbc"
            "cher.de",
            "xn--bcher-kva.de" },
    { "an upper case U-label",
            "B\xc3\x9c"
            "CHER.de",
            "xn--bcher-kva.de" },
    { "Cyrillic, upper case first",
            "\xd0\x9f\xd1\x80\xd0\xb8\xd0\xbc\xd0\xb5\xd1\x80.\xd1\x80\xd1\x84",
            "xn--e1afmkfd.xn--p1ai" },
    { "Japanese with an ideographic dot", "\xe4\xbe\x8b\xe3\x81\x88\xe3\x80\x82jp",
            "xn--r8jz45g.jp" },
    { "an A-label stays", "xn--bcher-kva.de", "xn--bcher-kva.de" },
    { "a decomposed letter is refused",
            "bu\xcc\x88"
            "cher.de",
            NULL },
    { "a wide letter is refused", "\xef\xbd\x81.com", NULL },
    { "bytes that are no UTF-8", "a\xff.com", NULL },
    { "an empty label", "a..b", NULL },
    { "a dot first", ".a", NULL },
    { "nothing", "", NULL },
    { "a space", "a b.com", NULL },
    { "a newline", "a.com\n", NULL },
    { "a hyphen first", "-a.com", NULL },
    { "a star inside", "a.*.com", NULL },
    { "a star in a label", "a*.com", NULL },
    { "a label too long", "a23456789012345678901234567890123456789012345678901234567890abcd.com",
            NULL },
    { "dotted", "93.184.216.34", "93.184.216.34" },
    { "octal", "0177.0.0.1", "127.0.0.1" },
    { "hexadecimal", "0x7f.1", "127.0.0.1" },
    { "one number", "2130706433", "127.0.0.1" },
    { "two numbers", "127.1", "127.0.0.1" },
    { "a dot behind", "127.0.0.1.", "127.0.0.1" },
    { "too large", "256.1.1.1", NULL },
    { "too many", "1.2.3.4.5", NULL },
    { "a name that ends in a number", "a.1", NULL },
    { "a name that ends like hexadecimal", "a.0x1f", NULL },
    { "IPv6", "FD00:0:0::1", "fd00::1" },
    { "brackets", "[fd00::1]", "fd00::1" },
    { "a block in brackets", "[fd00::1/8]", "fd00::/8" },
    { "mapped", "::ffff:10.0.0.1", "10.0.0.1" },
    { "mapped in hexadecimal", "::ffff:a00:1", "10.0.0.1" },
    { "a mapped block", "::ffff:10.0.0.0/104", "10.0.0.0/8" },
    { "NAT64", "64:ff9b::a00:1", "10.0.0.1" },
    { "a block loses the rest", "10.20.30.40/16", "10.20.0.0/16" },
    { "a block of one", "10.0.0.1/32", "10.0.0.1" },
    { "a block of all", "0.0.0.0/0", "0.0.0.0/0" },
    { "a zone", "fe80::1%eth0", NULL },
    { "a length too large", "10.0.0.0/33", NULL },
    { "no length", "10.0.0.0/", NULL },
    { "a signed length", "10.0.0.0/+8", NULL },
    { "a name with a length", "a.com/8", NULL },
    { "a star before an address", "*.10.0.0.1", NULL },
    { "brackets that do not close", "[fd00::1", NULL },
};

START_TEST(a_host_has_one_spelling)
{
    const struct spelling_case *c = &spelling_cases[_i];
    struct fail fail = { 0 };
    AUTO(freep) char *canonical = host_canonical(c->host, &fail);

    if (c->canonical == NULL) {
        ck_assert_msg(canonical == NULL, "%s: %s", c->name, canonical);
        ck_assert_int_eq(fail.status, ABX_ERR_POLICY);
        return;
    }
    ck_assert_msg(canonical != NULL, "%s: %s", c->name, fail.text);
    ck_assert_msg(strcmp(canonical, c->canonical) == 0, "%s: %s", c->name, canonical);
    free(canonical);
    canonical = host_canonical(c->canonical, &fail);
    ck_assert_str_eq(canonical, c->canonical);
}
END_TEST

START_TEST(a_request_names_a_host_in_its_one_spelling_and_no_pattern)
{
    const struct spelling_case *c = &spelling_cases[_i];
    char spelling[POLICY_HOST_SIZE] = "untouched";
    bool is_single = c->canonical != NULL && strpbrk(c->canonical, "*/") == NULL;

    ck_assert_msg(policy_host_spelling(c->host, spelling) == is_single, "%s", c->name);
    ck_assert_str_eq(spelling, is_single ? c->canonical : "untouched");
}
END_TEST

static const struct order_case {
    const char *host, *more, *less; /* NULL: does not match */
} order_cases[] = {
    { "a.example.com", "a.example.com", "*.example.com" },
    { "a.b.example.com", "*.b.example.com", "*.example.com" },
    { "a.example.com", "**.example.com", "*" },
    { "example.com", "**.example.com", "*" },
    { "example.com", "example.com", "**.example.com" },
    { "example.com", "*", NULL },
    { "10.1.2.3", "10.1.0.0/16", "10.0.0.0/8" },
    { "10.1.2.3", "10.1.2.3", "10.1.2.0/24" },
    { "::ffff:10.1.2.3", "10.1.0.0/16", "0.0.0.0/0" },
    { "fd00::1", "fd00::/8", "::/0" },
};

START_TEST(the_more_particular_host_pattern_matches_more)
{
    const struct order_case *c = &order_cases[_i];

    ck_assert_int_ge(host_match(c->more, c->host), 0);
    if (c->less != NULL) {
        ck_assert_int_ge(host_match(c->less, c->host), 0);
        ck_assert_int_gt(host_match(c->more, c->host), host_match(c->less, c->host));
    }
}
END_TEST

static const struct order_case apart_cases[] = {
    { "example.com", "*.example.com", NULL },
    { "badexample.com", "*.example.com", NULL },
    { "badexample.com", "**.example.com", NULL },
    { "example.com.evil.com", "**.example.com", NULL },
    { "localhost", "*", NULL },
    { "printer", "*", NULL },
    { "db.internal", "*", NULL },
    { "nas.local", "*", NULL },
    { "10.1.2.3", "*", NULL },
    { "10.1.2.3", "10.2.0.0/16", NULL },
    { "a.com", "0.0.0.0/0", NULL },
    { "*.example.com", "*.example.com", NULL },
    { "bad..name", "*", NULL },
};

START_TEST(other_hosts_do_not_match)
{
    ck_assert_int_eq(host_match(apart_cases[_i].more, apart_cases[_i].host), -1);
}
END_TEST

static const struct closed_case {
    const char *address;
    bool is_closed;
} closed_cases[] = {
    { "127.0.0.1", true },
    { "10.255.255.255", true },
    { "11.0.0.0", false },
    { "172.15.255.255", false },
    { "172.16.0.0", true },
    { "172.31.255.255", true },
    { "172.32.0.0", false },
    { "192.168.1.1", true },
    { "169.254.169.254", true },
    { "100.64.0.1", true },
    { "100.128.0.1", false },
    { "0.0.0.0", true },
    { "224.0.0.1", true },
    { "255.255.255.255", true },
    { "198.18.0.1", true },
    { "198.20.0.1", false },
    { "8.8.8.8", false },
    { "::1", true },
    { "::", true },
    { "fe80::1", true },
    { "fd00::1", true },
    { "ff02::1", true },
    { "::ffff:127.0.0.1", true },
    { "::7f00:1", true },
    { "64:ff9b::7f00:1", true },
    { "64:ff9b:1::1", true },
    { "2002:7f00:1::", true },
    { "2001:0:1::", true },
    { "2001:4860:4860::8888", false },
    { "2606:4700::1111", false },
    { "64:ff9b::808:808", false },
};

START_TEST(addresses_that_are_not_public_are_closed_in_every_spelling)
{
    const struct closed_case *c = &closed_cases[_i];
    struct host_pattern host;
    struct fail fail;

    ck_assert_int_eq(host_parse(c->address, &host, &fail), ABX_OK);
    ck_assert_msg(host_is_closed(&host) == c->is_closed, "%s", c->address);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("host");
    TCase *tcase = tcase_create("host");

    tcase_add_loop_test(tcase, a_host_has_one_spelling, 0, N_ELEMENTS(spelling_cases));
    tcase_add_loop_test(tcase, a_request_names_a_host_in_its_one_spelling_and_no_pattern, 0,
            N_ELEMENTS(spelling_cases));
    tcase_add_loop_test(
            tcase, the_more_particular_host_pattern_matches_more, 0, N_ELEMENTS(order_cases));
    tcase_add_loop_test(tcase, other_hosts_do_not_match, 0, N_ELEMENTS(apart_cases));
    tcase_add_loop_test(tcase, addresses_that_are_not_public_are_closed_in_every_spelling, 0,
            N_ELEMENTS(closed_cases));
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
