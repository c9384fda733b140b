/* SPDX-License-Identifier: Apache-2.0
 * Of the forty-four calls: those about policies. */
#include "bindings/calls.h"
#include "bindings/calls_common.h"

#include <string.h>

static json_t *
from_json_refused(const char *text)
{
    abx_policy *policy = NULL;
    abx_error *error = NULL;

    return refused(abx_policy_from_json(text, strlen(text), &policy, &error), &error);
}

json_t *
policy_unknown_key(void)
{
    return from_json_refused("{\"version\": 1, \"filesytem\": {}}");
}

json_t *
policy_not_json(void)
{
    return from_json_refused("{");
}

json_t *
policy_other_version(void)
{
    return from_json_refused("{\"version\": 99}");
}

json_t *
builder_unknown_profile(void)
{
    abx_policy_builder *builder = NULL;
    abx_error *error = NULL;

    return refused(abx_policy_builder_new("no-such-profile", &builder, &error), &error);
}

static json_t *
build_refused(abx_policy_builder *builder)
{
    abx_policy *policy = NULL;
    abx_error *error = NULL;
    abx_status r = abx_policy_builder_build(builder, &policy, &error);

    abx_policy_builder_unref(builder);
    return refused(r, &error);
}

json_t *
builder_variable_not_set(void)
{
    return build_refused(new_builder("workspace-write"));
}

json_t *
builder_weaken_without_reason(void)
{
    abx_policy_builder *builder = new_builder(NULL);

    abx_policy_builder_weaken(builder, ABX_WEAKEN_HOST_NETWORK, "");
    return build_refused(builder);
}

json_t *
builder_rules(void)
{
    ABX_AUTO(abx_policy_builder) builder = new_builder(NULL);
    ABX_AUTO(abx_policy) policy = NULL;

    abx_policy_builder_path(builder, "/srv", ABX_ACCESS_READ, ABX_VERDICT_ALLOW);
    abx_policy_builder_host(builder, "example.org", 443, 443, ABX_VERDICT_ALLOW);
    must(abx_policy_builder_build(builder, &policy, NULL));
    return json_pack("[o, o, o]", verdict(policy, path_request("/srv/a", ABX_ACCESS_READ)),
            verdict(policy, connect_request("example.org", 443)),
            verdict(policy, connect_request("example.org", 80)));
}

json_t *
digest_of_the_same(void)
{
    ABX_AUTO(abx_policy) one = new_policy(ASK);
    ABX_AUTO(abx_policy) same = new_policy(ASK);
    ABX_AUTO(abx_policy) other = new_policy(NOTHING);
    const char *digest = abx_policy_get_digest(one);

    return json_pack("[b, b, i]", strcmp(digest, abx_policy_get_digest(same)) == 0,
            strcmp(digest, abx_policy_get_digest(other)) == 0, (int)strlen(digest));
}

json_t *
policy_to_json_and_back(void)
{
    ABX_AUTO(abx_policy) policy = new_policy(ASK);
    ABX_AUTO(abx_policy) again = NULL;
    size_t length;
    char *text;

    must(abx_policy_to_json(policy, &text, &length));
    must(abx_policy_from_json(text, length, &again, NULL));
    abx_free(text);
    return json_boolean(strcmp(abx_policy_get_digest(policy), abx_policy_get_digest(again)) == 0);
}

json_t *
describe(void)
{
    ABX_AUTO(abx_policy) policy = new_policy(NOTHING);
    char *text, *json;
    size_t length;
    json_t *found;

    must(abx_policy_describe(policy, NULL, &text, &length));
    must(abx_policy_describe(policy, "json", &json, &length));
    found = json_loadb(json, length, 0, NULL);
    abx_free(json);
    json = strstr(text, workspace);
    abx_free(text);
    length = found != NULL;
    json_decref(found);
    return json_pack("[b, b]", json != NULL, (int)length);
}

static json_t *
evaluate(const char *document, abx_request request)
{
    ABX_AUTO(abx_policy) policy = new_policy(document);

    return verdict(policy, request);
}

json_t *
evaluate_allowed(void)
{
    return evaluate(NOTHING, path_request(below("a"), ABX_ACCESS_WRITE));
}

json_t *
evaluate_denied(void)
{
    return evaluate(NOTHING, path_request("/etc/motd", ABX_ACCESS_WRITE));
}

json_t *
evaluate_asked(void)
{
    return evaluate(ASK, path_request(below("release/1"), ABX_ACCESS_WRITE));
}

json_t *
evaluate_connect(void)
{
    return evaluate(NOTHING, connect_request("example.org", 443));
}

json_t *
evaluate_unknown_kind(void)
{
    ABX_AUTO(abx_policy) policy = new_policy(NOTHING);
    abx_request request = { .size = sizeof request, .kind = 99, .target = "/" };
    abx_decision decision = { .size = sizeof decision };

    return refused(abx_policy_evaluate(policy, &request, &decision), NULL);
}

json_t *
explain_request(void)
{
    ABX_AUTO(abx_policy) policy = new_policy(ASK);
    abx_request request = path_request(below("release/1"), ABX_ACCESS_WRITE);
    size_t length;
    char *text;

    must(abx_policy_explain(policy, &request, &text, &length));
    return taken_key(text, length, "verdict");
}

json_t *
intersect(void)
{
    ABX_AUTO(abx_policy) ceiling = new_policy(ASK);
    ABX_AUTO(abx_policy) policy = new_policy(NOTHING);
    ABX_AUTO(abx_policy) both = NULL;

    must(abx_policy_intersect(ceiling, policy, &both, NULL));
    return verdict(both, path_request(below("release/1"), ABX_ACCESS_WRITE));
}

json_t *
compare(void)
{
    ABX_AUTO(abx_policy) before = new_policy(ASK);
    ABX_AUTO(abx_policy) after = new_policy(NOTHING);
    ABX_AUTO(abx_report) report = NULL;
    int relation = abx_policy_compare(before, after, &report, NULL);

    must(relation);
    return json_pack("[i, s]", relation, abx_report_get_string(report, 0, "change"));
}

json_t *
replay(void)
{
    ABX_AUTO(abx_policy) policy = new_policy(ASK);
    ABX_AUTO(abx_report) report = NULL;
    const char *const paths[] = { below("log") };
    int outcome = abx_audit_replay(policy, paths, 1, &report, NULL);

    must(outcome);
    return json_pack("[i, s, s, s]", outcome, abx_report_get_string(report, 0, "change"),
            abx_report_get_string(report, 0, "target"), abx_report_get_string(report, 0, "calls"));
}

json_t *
redact(void)
{
    ABX_AUTO(abx_report) report = NULL;

    must(abx_audit_redact(below("log"), "2", &report, NULL));
    return json_pack("[{s: s, s: s}]", "file", abx_report_get_string(report, 0, "file"), "records",
            abx_report_get_string(report, 0, "records"));
}
