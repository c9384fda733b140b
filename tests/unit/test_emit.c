/* SPDX-License-Identifier: Apache-2.0
 * A policy written as JSON and read again is the same policy: same digest, same text. */
#include <agentbox/agentbox.h>

#include "policy/http.h"
#include "policy/rules.h"
#include "unit/main.h"

#include <string.h>

static const struct trip_case {
    const char *name, *json;
} trip_cases[] = {
    { "nothing", "{\"version\":1}" },
    { "a name and a source", "{\"version\":1,\"name\":\"n\",\"source\":\"user\"}" },
    { "read-only", "{\"version\":1,\"extends\":\"read-only\"}" },
    { "workspace-write", "{\"version\":1,\"extends\":\"workspace-write\"}" },
    { "task", "{\"version\":1,\"extends\":\"task\"}" },
    { "packages", "{\"version\":1,\"extends\":\"packages\"}" },
    { "every path list",
            "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/a\"],\"ask\":[\"/a/"
            "b\"],\"deny\":["
            "\"**/.env\",{\"path\":\"/a/*/c\",\"id\":\"x\",\"reason\":\"r\",\"instead\":\"i\"}]},"
            "\"write\":{\"allow\":[\"/a\"],\"ask\":[\"/a/[a-z]*\"],\"deny\":[\"/a/?\"]},"
            "\"exec\":{\"allow\":[\"/bin/sh\"],\"ask\":[\"/bin/x\"],\"deny\":[\"/bin/su\"]}}}" },
    { "names with everything in them", "{\"version\":1,\"filesystem\":{\"read\":{\"deny\":[\"/a/"
                                       "\\\\*\\\\?\\\\[\\\\\\\\b\",\"/a/"
                                       "\\\\xff\\\\x41\",\"/a/$\\\\{x\",\"/a/~\",\"/a/ "
                                       "\\u00e9\\u200b\",\"/a/[\\\\]\\\\-x]*\\\\*\","
                                       "{\"path\":\"/l/[x]*\",\"literal\":true}]}}}" },
    { "variables",
            "{\"version\":1,\"variables\":{\"data\":\"/d/[1]\",\"odd\":\"a\\\\xffb\\\\\\\\\"},"
            "\"filesystem\":{\"write\":{\"allow\":[\"${data}/x\"]}}}" },
    { "inputs, decoys, protection", "{\"version\":1,\"filesystem\":{\"inputs\":[{\"from\":\"~/x "
                                    "y\"},{\"from\":\"/q\",\"as\":"
                                    "\"d/q\"}],\"decoys\":[\"~/.aws/"
                                    "credentials\"],\"protect\":{\"defaults\":false,\"add\":["
                                    "\"deploy.yaml\",\"ci/run\"],\"git\":\"frozen\"}}}" },
    { "git off", "{\"version\":1,\"filesystem\":{\"protect\":{\"git\":\"off\"}}}" },
    { "all of the network",
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[\"a.com\",\"*.b.com:"
            "8443\","
            "{\"host\":\"[fd00::1]:443\",\"reason\":\"r\"}],\"ask\":[\"**.c.com:1-9\"],\"deny\":["
            "\"*\"],"
            "\"private\":[\"10.0.0.0/8:443\",\"fd00::/8\"],\"host_loopback\":[5432,\"6000-6010\"],"
            "\"listen\":[3000,\"4000-4999\"],\"sockets\":[\"/run/x.sock\",\"@abs\"],\"upstream\":"
            "\"http://proxy:3128\"}}" },
    { "requests and actions",
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[\"a.com\",{\"host\":"
            "\"hr.com:8443\",\"id\":\"hr\",\"http\":[{\"methods\":[\"GET\",\"HEAD\"],\"path\":"
            "\"/v1/**\",\"action\":\"hr.read\"},{\"methods\":[\"*\"],\"path\":\"/a\\\\*b/[x]/"
            "\"}]}],"
            "\"ask\":[{\"host\":\"hr.com\",\"http\":[{\"methods\":[\"PUT\"],\"path\":\"/\"}]}]},"
            "\"actions\":[{\"name\":\"hr.read\",\"verdict\":\"allow\"},{\"name\":\"pay\","
            "\"verdict\":\"deny\",\"id\":\"p\",\"reason\":\"r\",\"instead\":\"i\"},{\"name\":\"x\","
            "\"verdict\":\"ask\"}]}" },
    { "credentials",
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[\"hr.com\"],\"extra_ca\":"
            "\"/etc/"
            "ca.pem\"},\"credentials\":[{\"name\":\"hr\",\"env\":\"T\",\"hosts\":[\"hr.com\","
            "\"[fd00::1]:8443\",\"*.hr.com:1-9\"],\"as\":[\"bearer\",\"basic\",\"header\","
            "\"query\","
            "\"body\"],\"header\":\"X-Key\",\"query\":\"k\",\"user\":\"u\",\"prefix\":\"ghp_\","
            "\"lease_s\":9,\"clear_text\":true,\"id\":\"i\"},{\"name\":\"s3\",\"hosts\":[\"x.com\"]"
            ","
            "\"as\":\"sigv4\"}]}" },
    { "no credential at all", "{\"version\":1,\"credentials\":[]}" },
    { "no action at all", "{\"version\":1,\"actions\":[]}" },
    { "empty sections are opinions",
            "{\"version\":1,\"filesystem\":{\"read\":{},\"write\":{},\"exec\":{}},\"network\":{"
            "\"listen\":[],\"sockets\":[],\"allow\":[]}}" },
    { "the host's network", "{\"version\":1,\"network\":{\"mode\":\"host\"},\"weaken\":[{\"what\":"
                            "\"host-network\",\"reason\":\"because \\\"x\\\"\"}]}" },
    { "settings",
            "{\"version\":1,\"environment\":{\"pass\":[\"A\",\"B\"],\"set\":{\"C\":\"1\\n\\\\xff\"}"
            "},"
            "\"limits\":{\"wall_ms\":1,\"cpu_ms\":2,\"processes\":3,\"memory\":4,\"output\":5,"
            "\"file_size\":6},\"approvals\":{\"timeout_ms\":7,\"per_minute\":8},\"feedback\":{"
            "\"reads\":\"silent\"},\"run_as\":\"1000:1000\"}" },
    { "layers",
            "{\"version\":1,\"layers\":[{\"source\":\"managed\",\"filesystem\":{\"write\":{"
            "\"deny\":["
            "\"/etc\"],\"allow\":[\"/\"]}}},{\"extends\":\"workspace-write\",\"name\":\"u\"}]}" },
};

static abx_policy *
parse(const char *json, size_t length, const char *name)
{
    abx_policy_builder *builder = NULL;
    abx_policy *policy = NULL;
    abx_error *error = NULL;
    abx_status r;

    ck_assert_int_eq(abx_policy_builder_new(NULL, &builder, NULL), ABX_OK);
    abx_policy_builder_variable(builder, "home", "/home/u");
    abx_policy_builder_variable(builder, "workspace", "/w[1]");
    abx_policy_builder_variable(builder, "output", "/out");
    abx_policy_builder_merge_json(builder, json, length);
    r = abx_policy_builder_build(builder, &policy, &error);
    ck_assert_msg(r == ABX_OK, "%s: %s", name, abx_error_get_message(error));
    abx_policy_builder_unref(builder);
    return policy;
}

static bool
same_requests(const struct rule *a, const struct rule *b)
{
    for (uint32_t i = 0; i < a->n_http && i < b->n_http; i++) {
        const struct http_rule *p = &a->http[i], *q = &b->http[i];

        if (strcmp(p->methods, q->methods) != 0 || strcmp(p->path, q->path) != 0 ||
                strcmp(p->id, q->id) != 0 || p->verdict != q->verdict ||
                strcmp(p->action == NULL ? "" : p->action, q->action == NULL ? "" : q->action) !=
                        0) {
            return false;
        }
    }
    return a->n_http == b->n_http;
}

/* Rules of the first layer but for what finishing adds, as the compiled policies have them. */
static void
expect_equal_rules(abx_policy *a, abx_policy *b, const char *name)
{
    const struct layer *x = *vec_at(&a->layers, struct layer *, 0);
    const struct layer *y = *vec_at(&b->layers, struct layer *, 0);
    size_t found = 0;

    ck_assert_msg(x->rules.count == y->rules.count, "%s: %zu rules, %zu", name, x->rules.count,
            y->rules.count);
    for (size_t i = 0; i < x->rules.count; i++) {
        const struct rule *p = vec_at(&x->rules, struct rule, i);

        for (size_t k = 0; k < y->rules.count; k++) {
            const struct rule *q = vec_at(&y->rules, struct rule, k);

            if (p->kind == q->kind && p->access == q->access && p->verdict == q->verdict &&
                    p->implied == q->implied && p->is_literal == q->is_literal &&
                    p->port_first == q->port_first && p->port_last == q->port_last &&
                    p->opens_private == q->opens_private && strcmp(p->pattern, q->pattern) == 0 &&
                    strcmp(p->id, q->id) == 0 && same_requests(p, q)) {
                found++;
                break;
            }
        }
    }
    ck_assert_msg(found == x->rules.count, "%s: %zu of %zu rules found again", name, found,
            x->rules.count);
    ck_assert_msg(x->has_read == y->has_read && x->has_write == y->has_write &&
                          x->has_exec == y->has_exec && x->has_network == y->has_network &&
                          x->has_listen == y->has_listen && x->has_sockets == y->has_sockets &&
                          x->has_actions == y->has_actions &&
                          x->has_credentials == y->has_credentials,
            "%s: sections", name);
}

START_TEST(a_policy_survives_its_own_text)
{
    const struct trip_case *c = &trip_cases[_i];
    abx_policy *first = parse(c->json, strlen(c->json), c->name), *second = NULL;
    char *text = NULL, *again = NULL;
    size_t length = 0;
    abx_error *error = NULL;
    abx_status r;

    ck_assert_int_eq(abx_policy_to_json(first, &text, &length), ABX_OK);
    ck_assert_uint_eq(strlen(text), length);
    r = abx_policy_from_json(text, length, &second, &error);
    ck_assert_msg(r == ABX_OK, "%s: %s\n%s", c->name, abx_error_get_message(error), text);
    ck_assert_int_eq(abx_policy_to_json(second, &again, NULL), ABX_OK);
    ck_assert_msg(strcmp(text, again) == 0, "%s:\n%s\n%s", c->name, text, again);
    ck_assert_str_eq(abx_policy_get_digest(first), abx_policy_get_digest(second));
    expect_equal_rules(first, second, c->name);
    free(text);
    free(again);
    abx_policy_unref(first);
    abx_policy_unref(second);
}
END_TEST

START_TEST(different_policies_have_different_digests)
{
    abx_policy *first =
            parse(trip_cases[_i].json, strlen(trip_cases[_i].json), trip_cases[_i].name);

    for (size_t k = 0; k < sizeof trip_cases / sizeof trip_cases[0]; k++) {
        abx_policy *other =
                parse(trip_cases[k].json, strlen(trip_cases[k].json), trip_cases[k].name);
        bool equal = strcmp(abx_policy_get_digest(first), abx_policy_get_digest(other)) == 0;

        ck_assert_msg(
                equal == (k == (size_t)_i), "%s, %s", trip_cases[_i].name, trip_cases[k].name);
        abx_policy_unref(other);
    }
    abx_policy_unref(first);
}
END_TEST

START_TEST(an_intersection_is_written_as_layers)
{
    static const char user[] = "{\"version\":1,\"extends\":\"workspace-write\"}";
    static const char ceiling[] =
            "{\"version\":1,\"source\":\"managed\",\"limits\":{\"processes\":5}}";
    abx_policy *a = parse(ceiling, strlen(ceiling), "ceiling"),
               *b = parse(user, strlen(user), "user");
    abx_policy *both = NULL, *again = NULL;
    char *text = NULL;
    size_t length = 0;

    ck_assert_int_eq(abx_policy_intersect(a, b, &both, NULL), ABX_OK);
    ck_assert_int_eq(abx_policy_to_json(both, &text, &length), ABX_OK);
    ck_assert_int_eq(abx_policy_from_json(text, length, &again, NULL), ABX_OK);
    ck_assert_str_eq(abx_policy_get_digest(both), abx_policy_get_digest(again));
    ck_assert_uint_eq(again->layers.count, 2);
    free(text);
    abx_policy_unref(a);
    abx_policy_unref(b);
    abx_policy_unref(both);
    abx_policy_unref(again);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("emit");
    TCase *tcase = tcase_create("emit");

    tcase_add_loop_test(
            tcase, a_policy_survives_its_own_text, 0, sizeof trip_cases / sizeof trip_cases[0]);
    tcase_add_loop_test(tcase, different_policies_have_different_digests, 0,
            sizeof trip_cases / sizeof trip_cases[0]);
    tcase_add_test(tcase, an_intersection_is_written_as_layers);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
