/* SPDX-License-Identifier: Apache-2.0
 * Where credentials of a policy go, of one layer and of several. */
#include <agentbox/agentbox.h>

#include "base/mem.h"
#include "policy/policy.h"
#include "unit/main.h"

#include <stdio.h>
#include <string.h>

DEFINE_CLEANUP(abx_policy_unref, abx_policy)

#define CREDENTIAL(more) "{\"name\":\"hr\",\"env\":\"HR_TOKEN\"," more "}"
#define LAYER(network, credentials)                                                                \
    "{\"network\":{\"mode\":\"filtered\"" network "},\"credentials\":[" credentials "]}"
#define POLICY(layers) "{\"version\":1,\"layers\":[" layers "]}"
#define HOSTS ",\"allow\":[\"hr.com\",\"*.hr.com\"]"

static abx_status
parse(const char *json, abx_policy **ret_policy, abx_error **reterr)
{
    return abx_policy_from_json(json, strlen(json), ret_policy, reterr);
}

static abx_policy *
policy_of(const char *json)
{
    abx_policy *policy = NULL;
    abx_error *error = NULL;

    ck_assert_msg(
            parse(json, &policy, &error) == ABX_OK, "%s: %s", json, abx_error_get_message(error));
    return policy;
}

static const struct way_case {
    const char *name, *json, *host;
    uint32_t port;
    bool goes;
} way_cases[] = {
    { "a host", POLICY(LAYER(HOSTS, CREDENTIAL("\"hosts\":[\"hr.com\"]"))), "hr.com", 443, true },
    { "in other letters", POLICY(LAYER(HOSTS, CREDENTIAL("\"hosts\":[\"hr.com\"]"))), "HR.com.",
            443, true },
    { "another host", POLICY(LAYER(HOSTS, CREDENTIAL("\"hosts\":[\"hr.com\"]"))), "a.hr.com", 443,
            false },
    { "a name that begins like it", POLICY(LAYER(HOSTS, CREDENTIAL("\"hosts\":[\"hr.com\"]"))),
            "hr.com.evil.com", 443, false },
    { "another port", POLICY(LAYER(HOSTS, CREDENTIAL("\"hosts\":[\"hr.com\"]"))), "hr.com", 8443,
            false },
    { "its port", POLICY(LAYER(HOSTS, CREDENTIAL("\"hosts\":[\"hr.com:8443\"]"))), "hr.com", 8443,
            true },
    { "the default one beside it", POLICY(LAYER(HOSTS, CREDENTIAL("\"hosts\":[\"hr.com:8443\"]"))),
            "hr.com", 443, false },
    { "subdomains", POLICY(LAYER(HOSTS, CREDENTIAL("\"hosts\":[\"*.hr.com\"]"))), "a.hr.com", 443,
            true },
    { "no host", POLICY(LAYER(HOSTS, CREDENTIAL("\"hosts\":[\"hr.com\"]"))), "hr..com", 443,
            false },
    { "a ceiling without credentials is no opinion",
            POLICY("{\"limits\":{\"processes\":9}}," LAYER(
                    HOSTS, CREDENTIAL("\"hosts\":[\"hr.com\"]"))),
            "hr.com", 443, true },
    { "hosts intersect",
            POLICY(LAYER(HOSTS, CREDENTIAL("\"hosts\":[\"*.hr.com\"]")) "," LAYER(
                    HOSTS, CREDENTIAL("\"hosts\":[\"hr.com\",\"a.hr.com\"]"))),
            "a.hr.com", 443, true },
    { "to what both have",
            POLICY(LAYER(HOSTS, CREDENTIAL("\"hosts\":[\"*.hr.com\"]")) "," LAYER(
                    HOSTS, CREDENTIAL("\"hosts\":[\"hr.com\",\"a.hr.com\"]"))),
            "hr.com", 443, false },
};

START_TEST(a_credential_goes_to_its_hosts_of_all_layers)
{
    const struct way_case *c = &way_cases[_i];
    AUTO(abx_policy_unrefp) abx_policy *policy = policy_of(c->json);
    abx_request request = { sizeof request, ABX_REQUEST_CREDENTIAL, 0, c->port, "hr", c->host };
    abx_decision decision = { .size = sizeof decision };

    ck_assert_uint_eq(policy_get_settings(policy)->n_credentials, 1);
    ck_assert_msg(policy_credential_goes_to(policy, 0, c->host, c->port) == c->goes, "%s", c->name);
    ck_assert_msg(policy_reads_http(policy, c->host, c->port) == c->goes, "%s", c->name);
    ck_assert_int_eq(abx_policy_evaluate(policy, &request, &decision), ABX_OK);
    ck_assert_msg((decision.verdict == ABX_VERDICT_ALLOW) == c->goes, "%s", c->name);
}
END_TEST

START_TEST(a_credential_that_a_ceiling_does_not_have_is_none)
{
    AUTO(abx_policy_unrefp)
    abx_policy *policy = policy_of(
            POLICY(LAYER(HOSTS, "") "," LAYER(HOSTS, CREDENTIAL("\"hosts\":[\"hr.com\"]"))));
    abx_request request = { sizeof request, ABX_REQUEST_CREDENTIAL, 0, 0, "hr", "hr.com" };
    struct ruling ruling;

    ck_assert_uint_eq(policy_get_settings(policy)->n_credentials, 0);
    ck_assert(!policy_reads_http(policy, "hr.com", 443));
    ck_assert_uint_eq(policy_decide(policy, &request, &ruling), ABX_VERDICT_DENY);
}
END_TEST

START_TEST(layers_agree_on_the_narrowest_credential)
{
    AUTO(abx_policy_unrefp)
    abx_policy *policy = policy_of(
            POLICY(LAYER(HOSTS, CREDENTIAL("\"hosts\":[\"hr.com\"],\"as\":[\"bearer\",\"query\"],"
                                           "\"query\":\"k\",\"lease_s\":60")) "," LAYER(HOSTS,
                    CREDENTIAL("\"hosts\":[\"hr.com\"],\"as\":[\"bearer\",\"basic\"],"
                               "\"clear_text\":true,\"lease_s\":300"))));
    const struct policy_credential *credential = policy_get_settings(policy)->credentials;

    ck_assert_uint_eq(policy_get_settings(policy)->n_credentials, 1);
    ck_assert_uint_eq(credential->places, CREDENTIAL_BEARER);
    ck_assert(!credential->clear_text);
    ck_assert_uint_eq(credential->lease_s, 60);
    ck_assert_uint_eq(credential->layer, 1);
    ck_assert_str_eq(credential->env, "HR_TOKEN");
}
END_TEST

START_TEST(layers_that_agree_on_no_place_have_no_credential)
{
    AUTO(abx_policy_unrefp)
    abx_policy *policy = policy_of(
            POLICY(LAYER(HOSTS, CREDENTIAL("\"hosts\":[\"hr.com\"],\"as\":\"basic\"")) "," LAYER(
                    HOSTS, CREDENTIAL("\"hosts\":[\"hr.com\"],\"as\":\"bearer\""))));

    ck_assert_uint_eq(policy_get_settings(policy)->n_credentials, 0);
}
END_TEST

START_TEST(a_credential_used_elsewhere_is_told_where_it_works)
{
    AUTO(abx_policy_unrefp)
    abx_policy *policy =
            policy_of(POLICY(LAYER(HOSTS, CREDENTIAL("\"hosts\":[\"hr.com\",\"*.hr.com:8443\"]"))));
    abx_request request = { sizeof request, ABX_REQUEST_CREDENTIAL, 0, 0, "hr", "evil.com" };
    struct ruling ruling;

    policy_decide(policy, &request, &ruling);
    ck_assert_str_eq(ruling.id, "/layers/0/credentials/0");
    ck_assert_str_eq(ruling.reason, "this credential does not go to that host");
    ck_assert_str_eq(ruling.alternative, "use it with 'hr.com' or '*.hr.com'");
    request.target = "other";
    policy_decide(policy, &request, &ruling);
    ck_assert_str_eq(ruling.id, "default");
}
END_TEST

START_TEST(a_credential_for_a_host_that_nothing_reaches_is_a_warning)
{
    AUTO(abx_policy_unrefp)
    abx_policy *policy =
            policy_of(POLICY(LAYER(HOSTS, CREDENTIAL("\"hosts\":[\"hr.com\",\"idle.com\"]"))));
    abx_request request = { sizeof request, ABX_REQUEST_CREDENTIAL, 0, 0, "hr", "idle.com" };
    AUTO(freep) char *json = NULL;
    AUTO(freep) char *other = NULL;
    size_t length;

    ck_assert_int_eq(abx_policy_explain(policy, &request, &json, &length), ABX_OK);
    ck_assert_ptr_nonnull(strstr(json, "\"warning\":\"no rule lets connections"));
    request.verb = "hr.com";
    ck_assert_int_eq(abx_policy_explain(policy, &request, &other, &length), ABX_OK);
    ck_assert_ptr_null(strstr(other, "warning"));
}
END_TEST

static const struct strict_case {
    const char *network, *host;
    bool ok;
} strict_cases[] = {
    { "\"allow\":[\"hr.com\"]", "hr.com", true },
    { "\"ask\":[\"hr.com\"]", "hr.com", true },
    { "\"allow\":[\"*\"]", "hr.com", true },
    { "\"allow\":[\"*\"],\"deny\":[\"hr.com\"]", "hr.com", false },
    { "\"allow\":[{\"host\":\"hr.com\",\"http\":[{\"methods\":[\"GET\"],\"path\":\"/\"}]}]",
            "hr.com", true },
    { "\"allow\":[\"hr.com:8443\"]", "hr.com", false },
    { "\"allow\":[\"hr.com:80\"]", "hr.com", true },
    { "\"allow\":[\"**.hr.com\"]", "*.hr.com", true },
    { "\"allow\":[\"a.hr.com\"]", "*.hr.com", false },
    { "\"allow\":[\"10.0.0.1\"]", "10.0.0.1", false },
    { "\"private\":[\"10.0.0.1\"]", "10.0.0.1", true },
};

START_TEST(strictly_a_credential_for_a_host_that_nothing_reaches_is_an_error)
{
    const struct strict_case *c = &strict_cases[_i];
    char json[512];
    abx_policy *policy = NULL;
    abx_error *error = NULL;
    abx_status r;

    snprintf(json, sizeof json,
            "{\"version\":1,\"strict\":true,\"network\":{\"mode\":\"filtered\",%s},\"credentials\":"
            "[{\"name\":\"a\",\"hosts\":[\"%s\"]}]}",
            c->network, c->host);
    r = parse(json, &policy, &error);
    ck_assert_msg(r == (c->ok ? ABX_OK : ABX_ERR_POLICY), "%s: %d", json, r);
    if (!c->ok) {
        ck_assert_ptr_nonnull(strstr(abx_error_get_message(error), c->host));
    }
    abx_error_unref(error);
    abx_policy_unref(policy);
}
END_TEST

static const struct variable_case {
    const char *environment;
    bool ok;
} variable_cases[] = {
    { "\"pass\":[\"PATH\",\"LANG\"]", true },
    { "\"pass\":[\"PATH\"],\"set\":{\"A\":\"b\"}", true },
    { "\"pass\":[]", true },
    { "\"pass\":[\"PATH\",\"HR_TOKEN\"]", false },
    { "\"set\":{\"HR_TOKEN\":\"b\"}", false },
};

START_TEST(a_variable_that_is_set_or_passed_has_no_stand_in)
{
    const struct variable_case *c = &variable_cases[_i];
    char json[512];
    abx_policy *policy = NULL;
    abx_error *error = NULL;
    abx_status r;

    snprintf(json, sizeof json,
            "{\"version\":1,\"environment\":{%s},\"network\":{\"mode\":\"filtered\"},"
            "\"credentials\":[" CREDENTIAL("\"hosts\":[\"hr.com\"]") "]}",
            c->environment);
    r = parse(json, &policy, &error);
    ck_assert_msg(r == (c->ok ? ABX_OK : ABX_ERR_POLICY), "%s: %d", json, r);
    if (!c->ok) {
        ck_assert_ptr_nonnull(strstr(abx_error_get_message(error), "HR_TOKEN"));
    }
    abx_error_unref(error);
    abx_policy_unref(policy);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("credentials");
    TCase *tcase = tcase_create("credentials");

    tcase_add_loop_test(
            tcase, a_credential_goes_to_its_hosts_of_all_layers, 0, N_ELEMENTS(way_cases));
    tcase_add_test(tcase, a_credential_that_a_ceiling_does_not_have_is_none);
    tcase_add_test(tcase, layers_agree_on_the_narrowest_credential);
    tcase_add_test(tcase, layers_that_agree_on_no_place_have_no_credential);
    tcase_add_test(tcase, a_credential_used_elsewhere_is_told_where_it_works);
    tcase_add_test(tcase, a_credential_for_a_host_that_nothing_reaches_is_a_warning);
    tcase_add_loop_test(tcase, strictly_a_credential_for_a_host_that_nothing_reaches_is_an_error, 0,
            N_ELEMENTS(strict_cases));
    tcase_add_loop_test(
            tcase, a_variable_that_is_set_or_passed_has_no_stand_in, 0, N_ELEMENTS(variable_cases));
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
