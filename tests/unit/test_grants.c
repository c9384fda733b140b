/* SPDX-License-Identifier: Apache-2.0
 * What a grant adds is what its event says, and nothing else: held against everything near it, and
 * against the comparison of the policy with one that has it as a rule.  And that one use is one,
 * however many threads want it. */
#include "supervise/approvals.h"

#include "base/json.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/names.h"
#include "fake_box.h"
#include "unit/main.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The rule that a grant would be stands where a '#' is; of an action, its verdict. */
static const char policy_json[] =
        "{\"version\":1,\"filesystem\":{\"protect\":{\"defaults\":false,\"git\":\"off\"},"
        "\"read\":{\"allow\":[\"/\"],\"ask\":[\"/r\"]},"
        "\"write\":{\"allow\":[\"/w\"#w],\"ask\":[\"/w/rel\",\"/w/**/*.key\"],"
        "\"deny\":[\"/w/rel/never\"]},"
        "\"exec\":{\"allow\":[\"/usr/bin\"#x],\"ask\":[\"/opt\"]}},"
        "\"network\":{\"mode\":\"filtered\",\"allow\":[\"yes.test\"#c,{\"host\":\"api.test:443\","
        "\"http\":[{\"methods\":[\"GET\"],\"path\":\"/v1/**\"},{\"methods\":[\"PUT\",\"POST\"],"
        "\"path\":\"/v1/**\",\"action\":\"change\"}#h]}],"
        "\"ask\":[\"**.maybe.test:443\",\"**.maybe.test:8443\"]},"
        "\"actions\":[{\"name\":\"change\",\"verdict\":\"ask\"},{\"name\":\"update\",\"verdict\":"
        "\"#a\",\"arguments\":{\"id\":{\"type\":\"string\"}}},{\"name\":\"other\",\"verdict\":"
        "\"ask\",\"arguments\":{\"id\":{\"type\":\"string\"}}}],"
        "\"approvals\":{\"per_minute\":1000}}";

static abx_context *context;
static abx_box *box;
static abx_process *process;

/* The policy, with `rule` in the place of `mark`; NULL: in none. */
static abx_policy *
make_policy(const char *mark, const char *rule)
{
    abx_policy *policy;
    struct str json = { 0 };

    for (const char *at = policy_json; *at != '\0'; at++) {
        if (*at != '#') {
            str_add_bytes(&json, at, 1);
            continue;
        }
        at++;
        if (mark != NULL && *at == *mark) {
            str_add(&json, rule);
        } else if (*at == 'a') {
            str_add(&json, "ask");
        }
    }
    policy = fake_policy(json.data);
    str_done(&json);
    return policy;
}

static void
set_up(void)
{
    fake_box_open(make_policy(NULL, NULL), 500, NULL, &context, &box, &process);
}

static void
tear_down(void)
{
    abx_process_unref(process);
    abx_box_unref(box);
    abx_context_unref(context);
}

static abx_verdict
decide(const struct act *act, uint64_t *ret_ticket)
{
    struct subject subject = { .command = abx_process_get_id(process), .program = "/bin/fake" };

    return box->broker.decide(box->broker.data, &subject, act, ret_ticket);
}

static char *
take_adds(uint32_t type)
{
    abx_event *event = NULL;
    char *adds = NULL;

    while (adds == NULL && abx_context_next_event(context, &event) == ABX_OK) {
        const char *text = abx_event_get_string(event, ABX_FIELD_ADDS);

        adds = abx_event_get_type(event) == type && text != NULL ? strdup(text) : NULL;
        abx_event_unref(event);
    }
    ck_assert_ptr_nonnull(adds);
    return adds;
}

/* ---- what is near ---- */
#define NEAR_MAX 256u
#define TARGET_ROOM 128u

struct near {
    struct act act;
    char target[TARGET_ROOM];
    abx_verdict before;
};
static struct near nears[NEAR_MAX];
static size_t n_nears;

static void
add_near(uint32_t request, uint32_t access, const char *target, uint32_t port, const char *verb)
{
    struct near *one = &nears[n_nears++];

    ck_assert_uint_le(n_nears, NEAR_MAX);
    snprintf(one->target, sizeof one->target, "%s", target);
    one->act = (struct act){ .request = request,
        .access = access,
        .target = one->target,
        .port = port,
        .verb = verb,
        .content = -1,
        .quiet = true };
}

static void
add_all_accesses(const char *path)
{
    add_near(ABX_REQUEST_PATH, ABX_ACCESS_READ, path, 0, "open");
    add_near(ABX_REQUEST_PATH, ABX_ACCESS_WRITE, path, 0, "open");
    add_near(ABX_REQUEST_EXEC, ABX_ACCESS_EXEC, path, 0, "exec");
}

static void
add_all_ports(const char *host)
{
    static const uint32_t ports[] = { 80, 443, 8443, 444 };

    for (size_t i = 0; i < N_ELEMENTS(ports); i++) {
        add_near(ABX_REQUEST_CONNECT, 0, host, ports[i], "connect");
    }
}

static void
add_all_methods(const char *url)
{
    add_near(ABX_REQUEST_HTTP, 0, url, 443, "GET");
    add_near(ABX_REQUEST_HTTP, 0, url, 443, "PUT");
    add_near(ABX_REQUEST_HTTP, 0, url, 443, "POST");
}

static void
add_targets(void (*add)(const char *target), const char *const *more, const char *target)
{
    char other[TARGET_ROOM];
    size_t length = strlen(target);

    add(target);
    for (size_t i = 0; more[i] != NULL; i++) {
        if (more[i][0] == '+') {
            snprintf(other, sizeof other, "%s%s", target, more[i] + 1);
            add(other);
        } else {
            add(more[i]);
        }
    }
    for (size_t cut = 1; cut <= 2 && length > cut + 1; cut++) {
        snprintf(other, sizeof other, "%.*s", (int)(length - cut), target);
        add(other);
    }
    snprintf(other, sizeof other, "%s", target);
    other[length - 1]++;
    add(other);
}

/* Everything, whatever is asked: so what is of another kind stays as it is, too. */
static void
collect_nears(const char *target)
{
    static const char *const paths[] = { "+/x", "+/x/y", "+x", "/", "/w", "/w/rel", "/w/rel/a",
        "/w/rel/never", "/w/a.key", "/w/b.key", "/opt", "/opt/tool", "/r", "/r/a", "/usr/bin/env",
        NULL };
    static const char *const hosts[] = { "maybe.test", "a.maybe.test", "b.maybe.test", "yes.test",
        "x.a.maybe.test", "10.0.0.1", NULL };
    static const char *const urls[] = { "+/x", "+x", "+?a=b", "+/", "https://api.test/v1/users",
        "https://api.test/v1", "https://api.test/v1/a/b", "https://api.test/v1/USERS",
        "https://api.test/v2/users", "http://api.test/v1/users", NULL };
    static const char *const arguments[] = { "{\"id\":\"7\"}", "{\"id\":\"8\"}", "{\"id\":\"\"}" };

    n_nears = 0;
    add_targets(add_all_accesses, paths, target[0] == '/' ? target : "/w/z");
    add_targets(add_all_ports, hosts, strchr(target, '/') == NULL ? target : "no.test");
    add_targets(
            add_all_methods, urls, strchr(target, ':') != NULL ? target : "https://api.test/v1/a");
    for (size_t i = 0; i < N_ELEMENTS(arguments); i++) {
        add_near(ABX_REQUEST_ACTION, 0, "update", 0, arguments[i]);
        add_near(ABX_REQUEST_ACTION, 0, "other", 0, arguments[i]);
        add_near(ABX_REQUEST_ACTION, 0, "unknown", 0, arguments[i]);
    }
    for (size_t i = 0; i < n_nears; i++) {
        nears[i].before = decide(&nears[i].act, NULL);
    }
}

/* ---- what is said ---- */
static const char *
text_of(const struct json *adds, const char *key)
{
    const struct json *member = json_member(adds, key);

    return member == NULL ? "" : json_text(member);
}

static bool
is_same_target(const struct json *adds, const struct act *act)
{
    const char *target = text_of(adds, "target");
    const struct json *below = json_member(adds, "below");
    size_t length = strlen(target);

    if (below == NULL) {
        return strcmp(act->target, target) == 0;
    }
    return json_truth(below) && strncmp(act->target, target, length) == 0 &&
           act->target[length] == '/' && act->target[length + 1] != '\0';
}

static bool
is_same_verb(const struct json *adds, const struct act *act)
{
    const struct json *arguments = json_member(adds, "arguments");
    char form[64];

    if (act->request == ABX_REQUEST_HTTP) {
        return strcmp(act->verb, text_of(adds, "method")) == 0;
    }
    if (act->request != ABX_REQUEST_ACTION) {
        return true;
    }
    snprintf(form, sizeof form, "{\"id\":\"%s\"}", text_of(arguments, "id"));
    return strcmp(act->verb, form) == 0;
}

static bool
is_said(const struct json *adds, const struct act *act)
{
    const struct json *port = json_member(adds, "port");
    const char *access = name_of_access(act->access);

    return strcmp(text_of(adds, "request"), name_of_request(act->request)) == 0 &&
           strcmp(text_of(adds, "access"), access == NULL ? "" : access) == 0 &&
           act->port == (port == NULL ? 0 : json_number(port)) && is_same_verb(adds, act) &&
           is_same_target(adds, act);
}

/* The same as a rule, as near as there is one: the place where it stands, and its text. */
static char
rule_of(const struct json *adds, char *rule, size_t room)
{
    const char *request = text_of(adds, "request"), *target = text_of(adds, "target");
    const char *rest = json_member(adds, "below") == NULL ? "" : "/**";

    if (strcmp(request, "connect") == 0) {
        snprintf(rule, room, ",\"%s:%d\"", target, (int)json_number(json_member(adds, "port")));
        return 'c';
    }
    if (strcmp(request, "http") == 0) {
        snprintf(rule, room, ",{\"methods\":[\"%s\"],\"path\":\"%s%s\"}", text_of(adds, "method"),
                target + strlen("https://api.test"), rest);
        return 'h';
    }
    if (strcmp(request, "action") == 0) {
        snprintf(rule, room, "allow");
        return 'a';
    }
    snprintf(rule, room, ",\"%s\"", target);
    return strcmp(request, "exec") == 0 ? 'x' : 'w';
}

/* ---- the proof ---- */

/* The rule differs from the policy in one place: that which is said. */
static void
expect_one_difference(abx_policy *before, abx_policy *after, const struct json *adds)
{
    abx_report *report = NULL;
    const char *target = text_of(adds, "target"), *method = text_of(adds, "method");
    bool is_http = method[0] != '\0';
    size_t n = 0;

    ck_assert_int_eq(abx_policy_compare(before, after, &report, NULL), ABX_RELATION_WIDER);
    for (size_t i = 0; i < abx_report_get_count(report); i++) {
        const char *change = abx_report_get_string(report, i, "change");
        const char *request = abx_report_get_string(report, i, "request");
        const char *example = abx_report_get_string(report, i, "example");
        const char *expected = is_http                      ? method
                               : text_of(adds, "access")[0] ? text_of(adds, "access")
                                                            : text_of(adds, "request");

        if (strcmp(change, "idle") == 0) {
            continue;
        }
        n++;
        ck_assert_str_eq(change, "wider");
        ck_assert_str_eq(request, expected);
        ck_assert_msg(strncmp(example, target, strlen(target)) == 0, "%s %s", example, target);
        ck_assert_str_eq(abx_report_get_string(report, i, "before"), "ask");
        ck_assert_str_eq(abx_report_get_string(report, i, "after"), "allow");
    }
    ck_assert_uint_eq(n, 1);
    abx_report_unref(report);
}

/* What changed is all that is said, and the rule allows it, too. */
static void
expect_changed(abx_policy *after, const struct json *adds)
{
    size_t n = 0;

    for (size_t i = 0; i < n_nears; i++) {
        const struct act *act = &nears[i].act;
        const abx_request request = act_request(act);
        abx_verdict verdict = decide(act, NULL);
        bool is_added = verdict != nears[i].before;
        struct ruling ruling;

        ck_assert_msg(is_added == (is_said(adds, act) && nears[i].before == ABX_VERDICT_ASK),
                "%s %s %s:%u was %u and is %u", name_of_request(act->request), act->verb,
                act->target, act->port, nears[i].before, verdict);
        if (is_added) {
            ck_assert_uint_eq(verdict, ABX_VERDICT_ALLOW);
            ck_assert_uint_eq(
                    act->request == ABX_REQUEST_HTTP
                            ? policy_decide_connected(after, act->target, act->verb, &ruling)
                            : policy_decide(after, &request, &ruling),
                    ABX_VERDICT_ALLOW);
            n++;
        }
    }
    ck_assert_uint_ge(n, 1);
}

static void
expect_proof(const char *text)
{
    struct json_problem problem;
    struct json *adds = json_read(text, strlen(text), 8, &problem);
    char mark[2] = "", rule[256];
    abx_policy *before = make_policy(NULL, NULL), *after;

    ck_assert_ptr_nonnull(adds);
    mark[0] = rule_of(adds, rule, sizeof rule);
    after = make_policy(mark, rule);
    expect_one_difference(before, after, adds);
    expect_changed(after, adds);
    json_free(adds);
    abx_policy_unref(before);
    abx_policy_unref(after);
}

static const struct question {
    uint32_t request, access;
    const char *target;
    uint32_t port;
    const char *verb;
} questions[] = {
    { ABX_REQUEST_PATH, ABX_ACCESS_WRITE, "/w/rel/a", 0, "open" },
    { ABX_REQUEST_PATH, ABX_ACCESS_WRITE, "/w/rel/a/b", 0, "unlink" },
    { ABX_REQUEST_PATH, ABX_ACCESS_WRITE, "/w/a.key", 0, "open" },
    { ABX_REQUEST_EXEC, ABX_ACCESS_EXEC, "/opt/tool", 0, "exec" },
    { ABX_REQUEST_CONNECT, 0, "maybe.test", 443, "connect" },
    { ABX_REQUEST_CONNECT, 0, "a.maybe.test", 8443, "connect" },
    { ABX_REQUEST_HTTP, 0, "https://api.test/v1/users", 443, "PUT" },
    { ABX_REQUEST_HTTP, 0, "https://api.test/v1/a/b", 443, "POST" },
    { ABX_REQUEST_ACTION, 0, "update", 0, "{\"id\":\"7\"}" },
};

START_TEST(a_yes_for_the_box_adds_what_the_question_says_and_nothing_else)
{
    const struct question *q = &questions[_i];
    struct act act = { .request = q->request,
        .access = q->access,
        .target = q->target,
        .port = q->port,
        .verb = q->verb,
        .content = -1 };
    abx_answer yes = { .size = sizeof yes, .verdict = ABX_VERDICT_ALLOW, .scope = ABX_SCOPE_BOX };
    uint64_t ticket = 0;
    char *adds;

    collect_nears(q->target);
    ck_assert_uint_eq(decide(&act, &ticket), ABX_VERDICT_ASK);
    adds = take_adds(ABX_EVENT_APPROVAL);
    ck_assert_int_eq(abx_context_answer(context, ticket, &yes, NULL), ABX_OK);
    expect_proof(adds);
    free(adds);
}
END_TEST

static const struct question grants[] = {
    { ABX_REQUEST_PATH, ABX_ACCESS_WRITE, "/w/rel/a", 0, NULL },
    { ABX_REQUEST_PATH, ABX_ACCESS_WRITE, "/w/rel/a/**", 0, NULL },
    { ABX_REQUEST_EXEC, 0, "/opt/tool", 0, NULL },
    { ABX_REQUEST_CONNECT, 0, "MAYBE.test.", 443, NULL },
    { ABX_REQUEST_HTTP, 0, "https://API.test/v1/users", 0, "PUT" },
    { ABX_REQUEST_HTTP, 0, "https://api.test/v1/a/**", 0, "POST" },
    { ABX_REQUEST_ACTION, 0, "update", 0, " { \"id\" : \"7\" }" },
};

START_TEST(what_the_host_grants_is_what_its_event_says_and_nothing_else)
{
    const struct question *q = &grants[_i];
    const abx_request pattern = { .size = sizeof pattern,
        .kind = q->request,
        .access = q->access,
        .port = q->port,
        .target = q->target,
        .verb = q->verb };
    uint64_t given;
    char target[TARGET_ROOM], *stars, *adds;

    snprintf(target, sizeof target, "%s", q->target);
    stars = strstr(target, "/**");
    if (stars != NULL) {
        *stars = '\0';
    }
    collect_nears(target);
    ck_assert_int_eq(abx_box_grant(box, &pattern, 0, 0, NULL, &given, NULL), ABX_OK);
    adds = take_adds(ABX_EVENT_NOTICE);
    expect_proof(adds);
    free(adds);
    ck_assert_int_eq(abx_box_revoke(box, given), ABX_OK);
    for (size_t i = 0; i < n_nears; i++) {
        ck_assert_uint_eq(decide(&nears[i].act, NULL), nears[i].before);
    }
}
END_TEST

/* ---- how long ---- */
static uint64_t
give(const struct question *q, int64_t expires_ms, uint32_t uses)
{
    const abx_request pattern = { .size = sizeof pattern,
        .kind = q->request,
        .access = q->access,
        .port = q->request == ABX_REQUEST_HTTP ? 0 : q->port,
        .target = q->target,
        .verb = q->verb };
    uint64_t given = 0;

    ck_assert_int_eq(abx_box_grant(box, &pattern, expires_ms, uses, "pat", &given, NULL), ABX_OK);
    return given;
}

static struct act
act_of(const struct question *q)
{
    return (struct act){ .request = q->request,
        .access = q->access,
        .target = q->target,
        .port = q->port,
        .verb = q->verb,
        .bound = "{}",
        .content = -1 };
}

static void
answer_yes(const struct act *act, uint32_t scope, int64_t expires_ms)
{
    const abx_answer yes = { .size = sizeof yes,
        .verdict = ABX_VERDICT_ALLOW,
        .scope = scope,
        .expires_ms = expires_ms,
        .approver = "pat" };
    uint64_t ticket = 0;

    ck_assert_uint_eq(decide(act, &ticket), ABX_VERDICT_ASK);
    ck_assert_int_eq(abx_context_answer(context, ticket, &yes, NULL), ABX_OK);
}

static void
expect_listing(const char *expected)
{
    char *listing;

    ck_assert_int_eq(abx_box_grants(box, &listing, NULL), ABX_OK);
    ck_assert_str_eq(listing, expected);
    abx_free(listing);
}

START_TEST(a_grant_for_a_command_ends_with_it)
{
    const struct act act = act_of(&questions[_i]);

    answer_yes(&act, ABX_SCOPE_COMMAND, 0);
    ck_assert_uint_eq(decide(&act, &(uint64_t){ 0 }), ABX_VERDICT_ALLOW);
    fake_exit(abx_process_get_id(process), ABX_EXIT_CODE, 0, false);
    expect_listing("[]");
    ck_assert_uint_eq(decide(&act, &(uint64_t){ 0 }), ABX_VERDICT_ASK);
}
END_TEST

START_TEST(a_grant_until_a_time_ends_then)
{
    const struct act act = act_of(&questions[_i]);
    int64_t now_ms = event_time_now() / 1000000;

    answer_yes(&act, ABX_SCOPE_UNTIL, now_ms + 100);
    while (decide(&act, &(uint64_t){ 0 }) == ABX_VERDICT_ALLOW) {
        ck_assert_int_lt(event_time_now() / 1000000, now_ms + 10000);
    }
    ck_assert_int_ge(event_time_now() / 1000000, now_ms + 99);
    expect_listing("[]");
}
END_TEST

START_TEST(the_list_says_all_of_a_grant)
{
    static const struct question path = { ABX_REQUEST_PATH, ABX_ACCESS_WRITE, "/w/rel/a/**", 0,
        NULL };
    static const struct question put = { ABX_REQUEST_HTTP, 0, "https://api.test/v1/a", 443, "PUT" };
    static const struct question pay = { ABX_REQUEST_ACTION, 0, "update", 0, "{\"id\":\"7\"}" };
    const struct act run = act_of(&questions[3]);
    char expected[1024];
    unsigned first, second, third, fourth;

    first = (unsigned)give(&path, 4102444800000, 2);
    second = (unsigned)give(&put, 0, 0);
    third = (unsigned)give(&pay, 0, 1);
    answer_yes(&run, ABX_SCOPE_COMMAND, 0);
    fourth = third + 2; /* after the question */
    snprintf(expected, sizeof expected,
            "[{\"grant\":%u,\"request\":\"path\",\"access\":\"write\",\"target\":\"/w/rel/a\","
            "\"below\":true,\"expires_ms\":4102444800000,\"uses\":2,\"approver\":\"pat\"},"
            "{\"grant\":%u,\"request\":\"http\",\"target\":\"https://api.test/v1/"
            "a\",\"port\":443,\"verb\":\"PUT\",\"below\":false,\"approver\":\"pat\"},"
            "{\"grant\":%u,\"request\":\"action\",\"target\":\"update\",\"verb\":\"{\\\"id\\\":"
            "\\\"7\\\"}\",\"below\":false,\"uses\":1,\"approver\":\"pat\"},"
            "{\"grant\":%u,\"request\":\"exec\",\"access\":\"exec\",\"target\":\"/opt/"
            "tool\",\"bound\":{},\"below\":false,\"command\":%u,\"approver\":\"pat\"}]",
            first, second, third, fourth, (unsigned)abx_process_get_id(process));
    expect_listing(expected);
}
END_TEST

/* ---- taken back ---- */
START_TEST(a_call_goes_on_under_its_grant_however_many_others_are_taken_back)
{
    const struct broker *broker = &box->broker;
    const struct subject subject = { .command = abx_process_get_id(process) };
    const struct act act = act_of(&questions[0]);
    const uint64_t given = give(&questions[0], 0, 2);

    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(abx_box_revoke(box, give(&questions[1], 0, 1)), ABX_OK);
    }
    ck_assert(broker->holds(broker->data, &subject, &act, given));
    ck_assert_int_eq(abx_box_revoke(box, given), ABX_OK);
    ck_assert(!broker->holds(broker->data, &subject, &act, given));
}
END_TEST

/* ---- one use ---- */
#define THREADS 64

static pthread_barrier_t barrier;

static void *
race(void *data)
{
    const struct act *act = data;
    uint64_t ticket;

    pthread_barrier_wait(&barrier);
    return decide(act, &ticket) == ABX_VERDICT_ALLOW ? data : NULL;
}

/* How many of 64 threads are let through at once. */
static size_t
race_for(const struct question *q)
{
    struct act act = act_of(q);
    pthread_t threads[THREADS];
    size_t n = 0;

    pthread_barrier_init(&barrier, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, race, &act), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        void *let_through;

        pthread_join(threads[i], &let_through);
        n += let_through != NULL;
    }
    pthread_barrier_destroy(&barrier);
    return n;
}

START_TEST(one_grant_serves_one_of_sixty_four_racing_threads)
{
    const struct question *q = &questions[_i];
    uint64_t given = give(q, 0, 1);

    ck_assert_uint_eq(race_for(q), 1);
    ck_assert_int_eq(abx_box_revoke(box, given), ABX_ERR_STATE);
    ck_assert_uint_eq(race_for(q), 0);
    give(q, 0, 5);
    ck_assert_uint_eq(race_for(q), 5);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("grants");
    TCase *tcase = tcase_create("grants");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, a_yes_for_the_box_adds_what_the_question_says_and_nothing_else, 0,
            (int)N_ELEMENTS(questions));
    tcase_add_loop_test(tcase, what_the_host_grants_is_what_its_event_says_and_nothing_else, 0,
            (int)N_ELEMENTS(grants));
    tcase_add_loop_test(tcase, a_grant_for_a_command_ends_with_it, 0, (int)N_ELEMENTS(questions));
    tcase_add_loop_test(tcase, a_grant_until_a_time_ends_then, 0, (int)N_ELEMENTS(questions));
    tcase_add_test(tcase, the_list_says_all_of_a_grant);
    tcase_add_test(tcase, a_call_goes_on_under_its_grant_however_many_others_are_taken_back);
    tcase_add_loop_test(tcase, one_grant_serves_one_of_sixty_four_racing_threads, 0,
            (int)N_ELEMENTS(questions));
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
