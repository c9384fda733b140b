/* SPDX-License-Identifier: Apache-2.0
 * URLs are taken apart in one way, or not at all; what could be understood differently is not
 * plain. */
#include "base/mem.h"
#include "policy/http.h"
#include "policy/policy.h"

#include "unit/main.h"

#include <stdlib.h>
#include <string.h>

static const struct url_case {
    const char *url, *host, *path; /* host NULL: no URL, "": an address; path NULL: not plain */
    uint32_t port;
    bool ends_in_slash;
} url_cases[] = {
    { "https://a.com/", "a.com", "/", 443, false },
    { "https://a.com", "a.com", "/", 443, false },
    { "http://a.com", "a.com", "/", 80, false },
    { "https://A.com.:8443/x", "a.com", "/x", 8443, false },
    { "https://a.com?q=/../x", "a.com", "/", 443, false },
    { "https://a.com/x/y?q#", NULL, NULL, 0, false },
    { "https://a.com/x/", "a.com", "/x", 443, true },
    { "https://a.com/%41%7e", "a.com", "/A~", 443, false },
    { "https://a.com/a%20b", "a.com", "/a b", 443, false },
    { "https://a.com/%C3%A9", "a.com", "/\xc3\xa9", 443, false },
    { "https://a.com/...", "a.com", "/...", 443, false },
    { "https://a.com/a;x=1/b", "a.com", "/a;x=1/b", 443, false },
    { "http://[fd00::1]:8080/x", "", "/x", 8080, false },
    { "http://127.1/x", "", "/x", 80, false },
    { "https://a.com/.", "a.com", NULL, 443, false },
    { "https://a.com/x/..", "a.com", NULL, 443, false },
    { "https://a.com/%2E%2e/x", "a.com", NULL, 443, false },
    { "https://a.com/.%2e/x", "a.com", NULL, 443, false },
    { "https://a.com/..;/x", "a.com", NULL, 443, false },
    { "https://a.com/.;a=b/x", "a.com", NULL, 443, false },
    { "https://a.com/a%2Fb", "a.com", NULL, 443, false },
    { "https://a.com/a%5cb", "a.com", NULL, 443, false },
    { "https://a.com/%252e%252e/x", "a.com", NULL, 443, false },
    { "https://a.com/%00", "a.com", NULL, 443, false },
    { "https://a.com/%0d%0a", "a.com", NULL, 443, false },
    { "https://a.com/%7F", "a.com", NULL, 443, false },
    { "https://a.com/%", "a.com", NULL, 443, false },
    { "https://a.com/%4", "a.com", NULL, 443, false },
    { "https://a.com/%4?x", "a.com", NULL, 443, false },
    { "https://a.com/%zz", "a.com", NULL, 443, false },
    { "https://a.com//x", "a.com", NULL, 443, false },
    { "https://a.com/x//", "a.com", NULL, 443, false },
    { "https://a.com//", "a.com", NULL, 443, false },
    { "https://a.com/x\\y", NULL, NULL, 0, false },
    { "https://a.com/x y", NULL, NULL, 0, false },
    { "https://a.com/x\t", NULL, NULL, 0, false },
    { "https://a.com/\xc3\xa9", NULL, NULL, 0, false },
    { "https://u@a.com/", NULL, NULL, 0, false },
    { "https://u:p@a.com/", NULL, NULL, 0, false },
    { "https://a.com:/", NULL, NULL, 0, false },
    { "https://a.com:0/", NULL, NULL, 0, false },
    { "https://a.com:65536/", NULL, NULL, 0, false },
    { "https://a.com:+80/", NULL, NULL, 0, false },
    { "https://a.com:80:80/", NULL, NULL, 0, false },
    { "https://fd00::1/", NULL, NULL, 0, false },
    { "https://[fd00::1]x/", NULL, NULL, 0, false },
    { "https://*.a.com/", NULL, NULL, 0, false },
    { "https://10.0.0.0/8", "", "/8", 443, false },
    { "https:///x", NULL, NULL, 0, false },
    { "https://a..com/", NULL, NULL, 0, false },
    { "HTTPS://a.com/", NULL, NULL, 0, false },
    { "https:/a.com/", NULL, NULL, 0, false },
    { "ftp://a.com/", NULL, NULL, 0, false },
    { "/x", NULL, NULL, 0, false },
    { "", NULL, NULL, 0, false },
};

START_TEST(a_url_is_taken_apart_in_one_way_or_not_at_all)
{
    const struct url_case *c = &url_cases[_i];
    struct http_url url;

    ck_assert_msg(http_url_parse(c->url, &url) == (c->host != NULL), "%s", c->url);
    if (c->host == NULL) {
        return;
    }
    ck_assert_msg((url.host.form == HOST_ADDRESS) == (c->host[0] == '\0'), "%s", c->url);
    ck_assert_msg(c->host[0] == '\0' || strcmp(url.host.name, c->host) == 0, "%s: %s", c->url,
            url.host.name);
    ck_assert_msg(url.port == c->port, "%s: %u", c->url, url.port);
    ck_assert_msg((url.bad_path == NULL) == (c->path != NULL), "%s: %s", c->url,
            url.bad_path == NULL ? "plain" : url.bad_path);
    if (c->path != NULL) {
        ck_assert_msg(strcmp(url.path, c->path) == 0, "%s: %s", c->url, url.path);
        ck_assert_msg(url.ends_in_slash == c->ends_in_slash, "%s", c->url);
    }
}
END_TEST

static const struct match_case {
    const char *methods, *path, *method, *url;
    int matched;
} match_cases[] = {
    { "GET", "/a/b", "GET", "https://x.com/a/b", 3 },
    { "GET", "/a/b", "GET", "https://x.com/a", -1 },
    { "GET", "/a/b", "GET", "https://x.com/a/b/c", -1 },
    { "GET", "/a/b", "GET", "https://x.com/a/b/", -1 },
    { "GET", "/a/b/", "GET", "https://x.com/a/b/", 3 },
    { "GET", "/a/b/", "GET", "https://x.com/a/b", -1 },
    { "GET", "/", "GET", "https://x.com", 1 },
    { "GET", "/", "GET", "https://x.com/a", -1 },
    { "GET", "/**", "GET", "https://x.com", 1 },
    { "GET", "/**", "GET", "https://x.com/a/b/", 1 },
    { "GET", "/a/**", "GET", "https://x.com/a/", 2 },
    { "GET", "/a/**/", "GET", "https://x.com/a/", 2 },
    { "GET", "/a/**/", "GET", "https://x.com/a/b/c/", 2 },
    { "GET", "/a/**/", "GET", "https://x.com/a/b/c", -1 },
    { "GET", "/a/**/", "GET", "https://x.com/b/", -1 },
    { "GET", "/**/", "GET", "https://x.com/a/b/", 1 },
    { "GET", "/**/", "GET", "https://x.com/", -1 },
    { "GET", "/a/**", "GET", "https://x.com/ab", -1 },
    { "GET", "/a/*/c", "GET", "https://x.com/a/b/c", 4 },
    { "GET", "/a/*/c", "GET", "https://x.com/a/c", -1 },
    { "GET", "/**/c", "GET", "https://x.com/c/a/c", 4 },
    { "GET", "/**/c/**", "GET", "https://x.com/c/a/c/d", 4 },
    { "GET", "/*.json", "GET", "https://x.com/x.json", 2 },
    { "GET", "/a\\*", "GET", "https://x.com/a*", 2 },
    { "GET", "/a b", "GET", "https://x.com/a%20b", 2 },
    { "GET HEAD", "/a", "HEAD", "https://x.com/a", 2 },
    { "GET HEAD", "/a", "HEA", "https://x.com/a", -1 },
    { "GET HEAD", "/a", "GET HEAD", "https://x.com/a", -1 },
    { "GET", "/a", "get", "https://x.com/a", -1 },
    { "GET", "/a", "", "https://x.com/a", -1 },
    { "*", "/a", "PROPFIND", "https://x.com/a", 2 },
    { "GET", "/A", "GET", "https://x.com/a", -1 },
};

START_TEST(a_rule_matches_the_whole_path_and_the_method)
{
    const struct match_case *c = &match_cases[_i];
    static char id[] = "";
    struct http_rule written = {
        .methods = (char *)(uintptr_t)c->methods, .path = (char *)(uintptr_t)c->path, .id = id
    };
    struct http_rule rule;
    struct http_url url;
    struct fail fail = { 0 };

    ck_assert(http_url_parse(c->url, &url) && url.bad_path == NULL);
    ck_assert_msg(http_rule_copy(&written, &rule, &fail) == ABX_OK, "%s", fail.text);
    ck_assert_msg(http_rule_match(&rule, c->method, &url) == c->matched, "%s %s: %d", c->path,
            c->url, http_rule_match(&rule, c->method, &url));
    http_rule_done(&rule);
}
END_TEST

static const struct spelling_case {
    const char *url, *text; /* NULL: it is none, or not plain */
} spelling_cases[] = {
    { "https://A.com.", "https://a.com/" },
    { "https://a.com:443/x?Y=/../z", "https://a.com/x?Y=/../z" },
    { "http://a.com:443?q", "http://a.com:443/?q" },
    { "http://[FD00:0::1]:80/x", "http://[fd00::1]/x" },
    { "https://[fd00::1]:8443/%41", "https://[fd00::1]:8443/%41" },
    { "https://b\xc3\xbc.test/", NULL },
    { "https://a.com/a%2fb", NULL },
    { "https://a.com/a/../b", NULL },
    { "https://a.com/x#y", NULL },
    { "https://u@a.com/", NULL },
    { "https://*.a.com/", NULL },
    { "HTTPS://a.com/", NULL },
    { "https://", NULL },
    { "//a.com/", NULL },
    { "", NULL },
};

START_TEST(a_url_has_one_spelling_as_requests_do)
{
    const struct spelling_case *c = &spelling_cases[_i];
    struct policy_url url = { .port = 0 };
    struct fail fail = { 0 };

    if (c->text == NULL) {
        ck_assert_int_eq(policy_url_spelling(c->url, &url, &fail), ABX_ERR_INVALID);
        return;
    }
    ck_assert_int_eq(policy_url_spelling(c->url, &url, &fail), ABX_OK);
    ck_assert_str_eq(url.text, c->text);
    free(url.text);
}
END_TEST

static const struct url_below_case {
    const char *url, *base;
    bool is_below;
} url_below_cases[] = {
    { "https://a.com/v/x", "https://a.com/v", true },
    { "https://a.com/v/x/?y#", "https://a.com/v", false }, /* no request */
    { "https://a.com/v/x/?y", "https://a.com/v", true },
    { "https://a.com/%76/x", "https://a.com/v", true },
    { "https://a.com/x", "https://a.com/", true },
    { "https://a.com/", "https://a.com/", false },
    { "https://a.com/v", "https://a.com/v", false },
    { "https://a.com/vx", "https://a.com/v", false },
    { "https://a.com/v?/x", "https://a.com/v", false },
    { "https://a.com/v/../x", "https://a.com/v", false },
    { "https://a.com/v/x%2f..%2f..%2fy", "https://a.com/v", false },
    { "https://a.com:8443/v/x", "https://a.com/v", false },
    { "https://a.com.evil/v/x", "https://a.com/v", false },
    { "http://a.com/v/x", "https://a.com/v", false },
    { "https://[fd00::1]/v/x", "https://[fd00::1]/v", true },
};

START_TEST(below_a_url_is_what_nobody_takes_for_something_else)
{
    const struct url_below_case *c = &url_below_cases[_i];

    ck_assert_msg(policy_url_is_below(c->url, c->base) == c->is_below, "%s %s", c->url, c->base);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("http_rules");
    TCase *tcase = tcase_create("http_rules");

    tcase_add_loop_test(
            tcase, a_url_is_taken_apart_in_one_way_or_not_at_all, 0, N_ELEMENTS(url_cases));
    tcase_add_loop_test(
            tcase, a_rule_matches_the_whole_path_and_the_method, 0, N_ELEMENTS(match_cases));
    tcase_add_loop_test(
            tcase, a_url_has_one_spelling_as_requests_do, 0, N_ELEMENTS(spelling_cases));
    tcase_add_loop_test(tcase, below_a_url_is_what_nobody_takes_for_something_else, 0,
            N_ELEMENTS(url_below_cases));
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
