/* SPDX-License-Identifier: Apache-2.0
 * Fields of requests that are the library's to say, whatever a program says. */
#include "egress_box.h"
#include "session_box.h"
#include "unit/main.h"

#define IDENTITY(host) ",\"identity\":{\"header\":\"X-Agent\",\"hosts\":[\"" host ":1-65535\"]}"

static void
open_with(const char *sections)
{
    egress_box_identity = "principal=\"kim\", agent-session=\"s-1\"";
    session_box_open_with("", sections);
}

static void
tear_down(void)
{
    session_box_close();
    egress_box_identity = NULL;
}

START_TEST(a_listed_host_is_told_on_whose_behalf_and_nothing_else_of_that_name)
{
    open_with(IDENTITY("localhost"));
    say("GET / HTTP/1.1\r\nHost: @\r\nx-agent: root\r\nA: b\r\nX_AGENT: root\r\n"
        "X-Agents: c\r\nConnection: x-agent\r\n\r\n");
    expect_request("GET / HTTP/1.1\r\nHost: @\r\nA: b\r\nX-Agents: c\r\n"
                   "X-Agent: principal=\"kim\", agent-session=\"s-1\"\r\n\r\n");
    tear_down();
}
END_TEST

START_TEST(the_proxy_of_the_box_tells_it_too)
{
    open_with(IDENTITY("localhost"));
    close_and_start("");
    say("GET http://@/ HTTP/1.1\r\nHost: @\r\nX-Agent: root\r\n\r\n");
    expect_request("GET / HTTP/1.1\r\nHost: @\r\n"
                   "X-Agent: principal=\"kim\", agent-session=\"s-1\"\r\n\r\n");
    tear_down();
}
END_TEST

START_TEST(another_host_is_told_nothing)
{
    open_with(IDENTITY("other.test"));
    say("GET / HTTP/1.1\r\nHost: @\r\nX-Agent: mine\r\n\r\n");
    expect_request("GET / HTTP/1.1\r\nHost: @\r\nX-Agent: mine\r\n\r\n");
    tear_down();
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("session_own");
    TCase *tcase = tcase_create("own");

    tcase_add_test(tcase, a_listed_host_is_told_on_whose_behalf_and_nothing_else_of_that_name);
    tcase_add_test(tcase, the_proxy_of_the_box_tells_it_too);
    tcase_add_test(tcase, another_host_is_told_nothing);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
