/* SPDX-License-Identifier: Apache-2.0
 * The supervisor and the way out of a box: what the backend and commands get of it, words for a
 * program that is refused, and grants of hosts. */
#include "supervise/approvals.h"

#include "backend/gateway.h"
#include "base/mem.h"
#include "fake_box.h"
#include "unit/main.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILTERED                                                                                   \
    "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]}},\"network\":{"                   \
    "\"mode\":\"filtered\",\"allow\":[\"yes.test\"],\"ask\":[\"maybe.test\"],"                     \
    "\"deny\":[{\"host\":\"no.test\",\"reason\":\"it is the test's\",\"instead\":\"use yes\"}]}}"
#define SETTING_ITS_OWN                                                                            \
    "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]}},"                                \
    "\"network\":{\"mode\":\"filtered\"},"                                                         \
    "\"environment\":{\"set\":{\"HTTPS_PROXY\":\"http://own:1\",\"NO_PROXY\":\"\"}}}"
#define REQUESTS                                                                                   \
    "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]}},"                                \
    "\"actions\":[{\"name\":\"change\",\"verdict\":\"ask\"}],"                                     \
    "\"network\":{\"mode\":\"filtered\",\"allow\":[{\"host\":\"api.test\",\"http\":["              \
    "{\"methods\":[\"GET\"],\"path\":\"/v1/**\"},"                                                 \
    "{\"methods\":[\"PUT\",\"DELETE\"],\"path\":\"/v1/**\",\"action\":\"change\"}]}]}}"
#define OFFLINE "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]}}}"

static abx_context *context;
static abx_box *box;
static abx_process *process;

static void
open_with(const char *json)
{
    fake_box_open(fake_policy(json), 100, NULL, &context, &box, &process);
}

static void
tear_down(void)
{
    abx_process_unref(process);
    abx_box_unref(box);
    abx_context_unref(context);
}

static abx_verdict
connect_to(const char *host, uint32_t port, struct refusal *refusal, uint64_t *ret_ticket)
{
    struct act act = {
        .request = ABX_REQUEST_CONNECT,
        .target = host,
        .port = port,
        .verb = "connect",
        .content = -1,
        .refusal = refusal,
    };

    return fake_act(abx_process_get_id(process), &act, ret_ticket);
}

static abx_event *
next_event(uint32_t type)
{
    abx_event *event;

    while (abx_context_next_event(context, &event) == ABX_OK) {
        if (abx_event_get_type(event) == type) {
            return event;
        }
        abx_event_unref(event);
    }
    ck_abort_msg("no event of this type");
}

static void
expect_variable(const char *line, bool is_there)
{
    const char *environment = fake_environment(abx_process_get_id(process));

    ck_assert_msg((strstr(environment, line) != NULL) == is_there, "%s", environment);
}

START_TEST(a_filtered_box_has_a_gateway_and_its_commands_know_the_proxy)
{
    open_with(FILTERED);
    ck_assert_ptr_nonnull(fake_gateway());
    expect_variable("\nHTTP_PROXY=http://proxy.test:3128\n", true);
    expect_variable("\nhttp_proxy=http://proxy.test:3128\n", true);
    expect_variable("\nHTTPS_PROXY=http://proxy.test:3128\n", true);
    expect_variable("\nhttps_proxy=http://proxy.test:3128\n", true);
    expect_variable("\nALL_PROXY=http://proxy.test:3128\n", true);
    expect_variable("\nall_proxy=http://proxy.test:3128\n", true);
    expect_variable("\nNO_PROXY=localhost,127.0.0.1,127.0.0.0/8,::1\n", true);
    expect_variable("\nno_proxy=localhost,127.0.0.1,127.0.0.0/8,::1\n", true);
    tear_down();
}
END_TEST

START_TEST(a_policy_may_set_the_proxy_otherwise)
{
    open_with(SETTING_ITS_OWN);
    expect_variable("\nHTTPS_PROXY=http://own:1\n", true);
    expect_variable("\nNO_PROXY=\n", true);
    expect_variable("\nHTTP_PROXY=http://proxy.test:3128\n", true);
    tear_down();
}
END_TEST

START_TEST(a_box_without_a_network_has_neither)
{
    open_with(OFFLINE);
    ck_assert_ptr_null(fake_gateway());
    expect_variable("PROXY", false);
    tear_down();
}
END_TEST

START_TEST(a_denial_has_words_for_the_program_that_is_refused)
{
    struct refusal refusal = { .ticket = 99 };
    abx_event *event;

    open_with(FILTERED);
    ck_assert_uint_eq(connect_to("no.test", 443, &refusal, NULL), ABX_VERDICT_DENY);
    ck_assert_str_eq(refusal.rule, "/network/deny/0");
    ck_assert_str_eq(refusal.reason, "it is the test's");
    ck_assert_str_eq(refusal.alternative, "use yes");
    ck_assert_uint_eq(refusal.ticket, 0);
    event = next_event(ABX_EVENT_DENIAL);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_TARGET), "no.test");
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_PORT), 443);
    abx_event_unref(event);
    tear_down();
}
END_TEST

START_TEST(who_only_wants_to_know_has_the_words_of_a_denial_too)
{
    struct refusal refusal = { 0 };
    const struct act act = { .request = ABX_REQUEST_CONNECT,
        .target = "no.test",
        .port = 443,
        .verb = "connect",
        .content = -1,
        .quiet = true,
        .refusal = &refusal };
    abx_event *event;

    open_with(FILTERED);
    ck_assert_uint_eq(fake_act(abx_process_get_id(process), &act, NULL), ABX_VERDICT_DENY);
    ck_assert_str_eq(refusal.rule, "/network/deny/0");
    while (abx_context_next_event(context, &event) == ABX_OK) {
        ck_assert_uint_ne(abx_event_get_type(event), ABX_EVENT_DENIAL);
        abx_event_unref(event);
    }
    tear_down();
}
END_TEST

START_TEST(a_question_has_the_words_of_a_refusal_too)
{
    struct refusal refusal = { 0 };
    uint64_t ticket = 0;

    open_with(FILTERED);
    ck_assert_uint_eq(connect_to("maybe.test", 443, &refusal, &ticket), ABX_VERDICT_ASK);
    ck_assert_str_eq(refusal.rule, "/network/ask/0");
    ck_assert(refusal.reason[0] != '\0');
    tear_down();
}
END_TEST

static abx_status
grant(const char *host, uint32_t port, uint64_t *ret_grant)
{
    abx_request pattern = {
        .size = sizeof pattern, .kind = ABX_REQUEST_CONNECT, .target = host, .port = port
    };

    return abx_box_grant(box, &pattern, 0, 0, "pat", ret_grant, NULL);
}

START_TEST(a_grant_of_a_host_is_for_exactly_one_host_and_port)
{
    uint64_t given;

    open_with(FILTERED);
    ck_assert_int_eq(grant("Other.TEST.", 8443, &given), ABX_OK);
    ck_assert_uint_eq(connect_to("other.test", 8443, NULL, NULL), ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(connect_to("other.test", 443, NULL, NULL), ABX_VERDICT_DENY);
    ck_assert_uint_eq(connect_to("a.other.test", 8443, NULL, NULL), ABX_VERDICT_DENY);
    ck_assert_int_eq(abx_box_revoke(box, given), ABX_OK);
    ck_assert_uint_eq(connect_to("other.test", 8443, NULL, NULL), ABX_VERDICT_DENY);
    tear_down();
}
END_TEST

START_TEST(what_no_grant_of_a_host_can_be)
{
    uint64_t given;

    open_with(FILTERED);
    ck_assert_int_eq(grant("no.test", 443, &given), ABX_ERR_DENIED);
    ck_assert_int_eq(grant("other.test", 0, &given), ABX_ERR_INVALID);
    ck_assert_int_eq(grant("other.test", 65536, &given), ABX_ERR_INVALID);
    ck_assert_int_eq(grant("*.test", 443, &given), ABX_ERR_INVALID);
    ck_assert_int_eq(grant("a b", 443, &given), ABX_ERR_INVALID);
    ck_assert_int_eq(grant(NULL, 443, &given), ABX_ERR_INVALID);
    tear_down();
    open_with(OFFLINE);
    ck_assert_int_eq(grant("other.test", 443, &given), ABX_ERR_DENIED);
    tear_down();
}
END_TEST

static abx_status
answer(uint64_t ticket, uint32_t scope)
{
    abx_answer yes = { .size = sizeof yes, .verdict = ABX_VERDICT_ALLOW, .scope = scope };

    return abx_context_answer(context, ticket, &yes, NULL);
}

START_TEST(an_answer_about_a_host_has_its_scope)
{
    uint64_t ticket = 0;
    abx_event *event;

    open_with(FILTERED);
    ck_assert_uint_eq(connect_to("maybe.test", 443, NULL, &ticket), ABX_VERDICT_ASK);
    event = next_event(ABX_EVENT_APPROVAL);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_ADDS),
            "{\"request\":\"connect\",\"target\":\"maybe.test\",\"port\":443}");
    abx_event_unref(event);
    ck_assert_int_eq(answer(ticket, ABX_SCOPE_ONCE), ABX_OK);
    ck_assert_int_eq(fake_answer_to(ticket), ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(connect_to("maybe.test", 443, NULL, &ticket), ABX_VERDICT_ASK);
    ck_assert_int_eq(answer(ticket, ABX_SCOPE_COMMAND), ABX_OK);
    ck_assert_uint_eq(connect_to("maybe.test", 443, NULL, NULL), ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(connect_to("maybe.test", 80, NULL, &ticket), ABX_VERDICT_ASK);
    tear_down();
}
END_TEST

static abx_verdict
request(const char *method, uint64_t *ret_ticket)
{
    struct act act = {
        .request = ABX_REQUEST_HTTP,
        .target = "https://api.test/v1/users",
        .verb = method,
        .port = 443,
        .content = -1,
    };

    return fake_act(abx_process_get_id(process), &act, ret_ticket);
}

START_TEST(a_request_with_another_method_is_another_one)
{
    uint64_t put = 0, delete = 0;
    abx_event *event;
    abx_exit result = { .size = sizeof result };
    char *text = NULL;

    open_with(REQUESTS);
    ck_assert_uint_eq(request("GET", NULL), ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(request("PUT", &put), ABX_VERDICT_ASK);
    ck_assert_uint_eq(request("DELETE", &delete), ABX_VERDICT_ASK);
    ck_assert_uint_ne(put, delete);
    event = next_event(ABX_EVENT_APPROVAL);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_ADDS),
            "{\"request\":\"http\",\"method\":\"PUT\",\"target\":"
            "\"https://api.test/v1/users\",\"port\":443}");
    abx_event_unref(event);
    ck_assert_int_eq(answer(put, ABX_SCOPE_BOX), ABX_OK);
    ck_assert_int_eq(fake_answer_to(delete), -1);
    ck_assert_uint_eq(request("PUT", NULL), ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(request("DELETE", &delete), ABX_VERDICT_ASK);
    ck_assert_uint_eq(request("POST", NULL), ABX_VERDICT_DENY);
    ck_assert_uint_eq(request("PATCH", NULL), ABX_VERDICT_DENY);
    fake_exit(abx_process_get_id(process), ABX_EXIT_CODE, 1, false);
    ck_assert_int_eq(abx_process_wait(process, -1, &result), ABX_OK);
    ck_assert_int_eq(abx_process_explain(process, NULL, &text, NULL), ABX_OK);
    ck_assert_msg(strstr(text, "POST 'https://api.test/v1/users' by") != NULL, "%s", text);
    ck_assert_msg(strstr(text, "PATCH 'https://api.test/v1/users' by") != NULL, "%s", text);
    abx_free(text);
    tear_down();
}
END_TEST

static abx_status
grant_request(const char *method, const char *url, uint32_t uses, uint64_t *ret_grant)
{
    abx_request pattern = {
        .size = sizeof pattern, .kind = ABX_REQUEST_HTTP, .target = url, .verb = method
    };

    return abx_box_grant(box, &pattern, 0, uses, "pat", ret_grant, NULL);
}

static abx_verdict
request_with(const char *method, const char *url, const char *bound, uint64_t *ret_ticket)
{
    struct act act = { .request = ABX_REQUEST_HTTP,
        .target = url,
        .verb = method,
        .bound = bound,
        .port = 443,
        .content = -1 };

    return fake_act(abx_process_get_id(process), &act, ret_ticket);
}

START_TEST(a_grant_of_a_request_is_for_one_method_and_url)
{
    static const char url[] = "https://api.test/v1/users?a=b";
    uint64_t given;
    abx_event *event;

    open_with(REQUESTS);
    ck_assert_int_eq(grant_request("PUT", "https://API.test.:443/v1/users?a=b", 0, &given), ABX_OK);
    event = next_event(ABX_EVENT_NOTICE);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_ADDS),
            "{\"request\":\"http\",\"method\":\"PUT\",\"target\":"
            "\"https://api.test/v1/users?a=b\",\"port\":443}");
    abx_event_unref(event);
    ck_assert_uint_eq(request_with("PUT", url, "{\"a\":1}", NULL), ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(request_with("PUT", url, NULL, NULL), ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(request_with("DELETE", url, NULL, NULL), ABX_VERDICT_ASK);
    ck_assert_uint_eq(
            request_with("PUT", "https://api.test/v1/users", NULL, NULL), ABX_VERDICT_ASK);
    ck_assert_uint_eq(
            request_with("PUT", "https://api.test/v1/users?a=b&c", NULL, NULL), ABX_VERDICT_ASK);
    ck_assert_int_eq(abx_box_revoke(box, given), ABX_OK);
    ck_assert_uint_eq(request_with("PUT", url, NULL, NULL), ABX_VERDICT_ASK);
    tear_down();
}
END_TEST

/* Of a grant for PUT and all below "https://api.test/v1/a". */
static const struct below_case {
    const char *url;
    abx_verdict verdict;
} below_cases[] = {
    { "https://api.test/v1/a/b", ABX_VERDICT_ALLOW },
    { "https://api.test/v1/a/b/c/?d=/../e", ABX_VERDICT_ALLOW },
    { "https://api.test/v1/%61/b", ABX_VERDICT_ALLOW },
    { "https://api.test/v1/a", ABX_VERDICT_ASK },
    { "https://api.test/v1/a?/b", ABX_VERDICT_ASK },
    { "https://api.test/v1/ab", ABX_VERDICT_ASK },
    { "https://api.test/v1/a%2fb", ABX_VERDICT_DENY }, /* not plain, so a rule denies them */
    { "https://api.test/v1/a/../b", ABX_VERDICT_DENY },
    { "https://api.test/v1/a/..;/b", ABX_VERDICT_DENY },
    { "https://api.test/v1/a//b", ABX_VERDICT_DENY },
    { "https://api.test.evil.test/v1/a/b", ABX_VERDICT_DENY },
};

START_TEST(a_grant_of_all_below_a_url_is_for_plain_paths_below)
{
    const struct below_case *c = &below_cases[_i];
    uint64_t given;

    open_with(REQUESTS);
    ck_assert_int_eq(grant_request("PUT", "https://api.test/v1/a/**", 0, &given), ABX_OK);
    ck_assert_uint_eq(request_with("PUT", c->url, NULL, NULL), c->verdict);
    ck_assert_uint_eq(
            request_with("DELETE", "https://api.test/v1/a/b", NULL, NULL), ABX_VERDICT_ASK);
    tear_down();
}
END_TEST

static const struct no_grant_case {
    const char *method, *url;
    abx_status status;
} no_grant_cases[] = {
    { "POST", "https://api.test/v1/users", ABX_ERR_DENIED }, /* a rule leaves it out */
    { "POST", "https://api.test/v1/**", ABX_ERR_DENIED }, /* and all below */
    { "PUT", "https://api.test/v2/**", ABX_ERR_DENIED },
    { "PUT", "https://api.test/v1/a/b/**", ABX_OK },
    { "PUT", "https://api.test/**", ABX_OK },
    { "DELETE", "https://api.test/**", ABX_OK },
    { "GET", "https://other.test/v1", ABX_ERR_DENIED }, /* nobody reads them */
    { "PUT", "https://api.test:8443/v1/users", ABX_ERR_DENIED },
    { "put it", "https://api.test/v1/users", ABX_ERR_INVALID },
    { "PUT", "api.test/v1", ABX_ERR_INVALID },
    { "PUT", "https://*.test/v1", ABX_ERR_INVALID },
    { "PUT", "https://pat@api.test/v1", ABX_ERR_INVALID },
    { "PUT", "https://api.test/v1/users#a", ABX_ERR_INVALID },
    { "PUT", "https://api.test/v1/a/../b", ABX_ERR_INVALID },
    { "PUT", "https://api.test/v1?a=b/**", ABX_ERR_INVALID },
    { "PUT", NULL, ABX_ERR_INVALID },
};

START_TEST(what_no_grant_of_a_request_can_be)
{
    const struct no_grant_case *c = &no_grant_cases[_i];
    uint64_t given;

    open_with(REQUESTS);
    ck_assert_int_eq(grant_request(c->method, c->url, 0, &given), c->status);
    tear_down();
}
END_TEST

START_TEST(requests_with_other_bodies_are_other_questions)
{
    static const char url[] = "https://api.test/v1/users";
    uint64_t one = 0, other = 0, same = 0;

    open_with(REQUESTS);
    ck_assert_uint_eq(request_with("PUT", url, "{\"body\":1}", &one), ABX_VERDICT_ASK);
    ck_assert_uint_eq(request_with("PUT", url, "{\"body\":2}", &other), ABX_VERDICT_ASK);
    ck_assert_uint_eq(request_with("PUT", url, "{\"body\":1}", &same), ABX_VERDICT_ASK);
    ck_assert_uint_ne(one, other);
    ck_assert_uint_eq(one, same);
    tear_down();
}
END_TEST

START_TEST(a_yes_for_once_lets_no_other_body_go)
{
    static const char url[] = "https://api.test/v1/users";
    uint64_t ticket = 0;

    open_with(REQUESTS);
    ck_assert_uint_eq(request_with("PUT", url, "{\"body\":1}", &ticket), ABX_VERDICT_ASK);
    fake_withdraw(ticket); /* and comes back */
    ck_assert_int_eq(answer(ticket, ABX_SCOPE_ONCE), ABX_OK);
    ck_assert_uint_eq(request_with("PUT", url, "{\"body\":2}", NULL), ABX_VERDICT_ASK);
    ck_assert_uint_eq(request_with("PUT", url, NULL, NULL), ABX_VERDICT_ASK);
    ck_assert_uint_eq(request_with("PUT", url, "{\"body\":1}", NULL), ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(request_with("PUT", url, "{\"body\":1}", NULL), ABX_VERDICT_ASK);
    tear_down();
}
END_TEST

#define UPGRADE "{\"body\":\"none\",\"upgrade\":\"websocket\"}"
#define NO_BODY "{\"body\":\"none\"}"

START_TEST(no_grant_of_a_request_is_for_what_it_becomes)
{
    static const char url[] = "https://api.test/v1/users";
    uint64_t given = 0, plain = 0, upgrade = 0;

    open_with(REQUESTS);
    ck_assert_uint_eq(request_with("PUT", url, NO_BODY, &plain), ABX_VERDICT_ASK);
    ck_assert_uint_eq(request_with("PUT", url, UPGRADE, &upgrade), ABX_VERDICT_ASK);
    ck_assert_uint_ne(plain, upgrade);
    ck_assert_int_eq(grant_request("PUT", url, 0, &given), ABX_OK);
    ck_assert_int_eq(grant_request("PUT", "https://api.test/v1/**", 0, &given), ABX_OK);
    ck_assert_uint_eq(request_with("PUT", url, NO_BODY, NULL), ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(request_with("PUT", url, UPGRADE, NULL), ABX_VERDICT_ASK);
    tear_down();
}
END_TEST

/* Whatever the scope. */
START_TEST(a_yes_is_for_what_the_request_becomes)
{
    static const char url[] = "https://api.test/v1/users";
    static const uint32_t scopes[] = { ABX_SCOPE_COMMAND, ABX_SCOPE_BOX };
    uint64_t ticket = 0;

    open_with(REQUESTS);
    ck_assert_uint_eq(request_with("PUT", url, NO_BODY, &ticket), ABX_VERDICT_ASK);
    ck_assert_int_eq(answer(ticket, scopes[_i]), ABX_OK);
    ck_assert_uint_eq(request_with("PUT", url, UPGRADE, &ticket), ABX_VERDICT_ASK);
    ck_assert_int_eq(answer(ticket, scopes[_i]), ABX_OK);
    ck_assert_uint_eq(request_with("PUT", url, UPGRADE, NULL), ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(request_with("PUT", url, NO_BODY, NULL), ABX_VERDICT_ALLOW);
    tear_down();
}
END_TEST

START_TEST(who_is_let_through_by_a_grant_knows_by_which)
{
    uint64_t given = 0, counted = 0, by = 0;
    struct act act = { .request = ABX_REQUEST_HTTP,
        .target = "https://api.test/v1/users",
        .verb = "PUT",
        .port = 443,
        .content = -1,
        .by = &by };

    open_with(REQUESTS);
    ck_assert_int_eq(grant_request("PUT", act.target, 1, &counted), ABX_OK);
    ck_assert_uint_eq(fake_act(abx_process_get_id(process), &act, NULL), ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(by, counted);
    ck_assert_uint_eq(fake_act(abx_process_get_id(process), &act, NULL), ABX_VERDICT_ASK);
    ck_assert_int_eq(grant_request("PUT", act.target, 0, &given), ABX_OK);
    ck_assert_uint_eq(fake_act(abx_process_get_id(process), &act, NULL), ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(by, given);
    tear_down();
}
END_TEST

static abx_status
open_status(const char *upstream)
{
    char json[256];
    abx_policy *policy = NULL;
    struct fail fail = { 0 };
    abx_status r;

    snprintf(json, sizeof json,
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"upstream\":\"%s\"}}", upstream);
    ck_assert_int_eq(abx_policy_from_json(json, strlen(json), &policy, NULL), ABX_OK);
    ck_assert_int_eq(context_new(&fake_backend, NULL, 100, &context, &fail), ABX_OK);
    r = box_open(context, policy, NULL, &box, &fail);
    if (r == ABX_OK) {
        abx_box_unref(box);
    }
    abx_context_unref(context);
    abx_policy_unref(policy);
    return r;
}

START_TEST(a_proxy_outside_that_is_not_spoken_to_refuses_the_box)
{
    static const char *const names[] = { "HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy",
        "ALL_PROXY", "all_proxy" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        unsetenv(names[i]);
    }
    ck_assert_int_eq(open_status("http://proxy.test:3128"), ABX_OK);
    ck_assert_int_eq(open_status("socks5://proxy.test:1080"), ABX_ERR_UNSUPPORTED);
    ck_assert_int_eq(open_status("http://proxy.test:port"), ABX_ERR_POLICY);
    ck_assert_int_eq(open_status("none"), ABX_OK);
    ck_assert_int_eq(open_status("environment"), ABX_OK);
    setenv("https_proxy", "http://proxy.test:3128", 1);
    ck_assert_int_eq(open_status("environment"), ABX_OK);
    setenv("ALL_PROXY", "socks5://proxy.test:1080", 1); /* for plain requests */
    ck_assert_int_eq(open_status("environment"), ABX_ERR_UNSUPPORTED);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("supervise_network");
    TCase *tcase = tcase_create("network");

    tcase_add_test(tcase, a_filtered_box_has_a_gateway_and_its_commands_know_the_proxy);
    tcase_add_test(tcase, a_policy_may_set_the_proxy_otherwise);
    tcase_add_test(tcase, a_box_without_a_network_has_neither);
    tcase_add_test(tcase, a_denial_has_words_for_the_program_that_is_refused);
    tcase_add_test(tcase, who_only_wants_to_know_has_the_words_of_a_denial_too);
    tcase_add_test(tcase, a_question_has_the_words_of_a_refusal_too);
    tcase_add_test(tcase, a_grant_of_a_host_is_for_exactly_one_host_and_port);
    tcase_add_test(tcase, what_no_grant_of_a_host_can_be);
    tcase_add_test(tcase, an_answer_about_a_host_has_its_scope);
    tcase_add_test(tcase, a_proxy_outside_that_is_not_spoken_to_refuses_the_box);
    tcase_add_test(tcase, a_request_with_another_method_is_another_one);
    tcase_add_test(tcase, a_grant_of_a_request_is_for_one_method_and_url);
    tcase_add_loop_test(tcase, a_grant_of_all_below_a_url_is_for_plain_paths_below, 0,
            (int)N_ELEMENTS(below_cases));
    tcase_add_loop_test(
            tcase, what_no_grant_of_a_request_can_be, 0, (int)N_ELEMENTS(no_grant_cases));
    tcase_add_test(tcase, requests_with_other_bodies_are_other_questions);
    tcase_add_test(tcase, a_yes_for_once_lets_no_other_body_go);
    tcase_add_test(tcase, no_grant_of_a_request_is_for_what_it_becomes);
    tcase_add_loop_test(tcase, a_yes_is_for_what_the_request_becomes, 0, 2);
    tcase_add_test(tcase, who_is_let_through_by_a_grant_knows_by_which);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
