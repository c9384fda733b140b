/* SPDX-License-Identifier: Apache-2.0
 * A policy made by calls: each setter's mistakes, the poisoned builder, profiles, variables,
 * documents merged one after the other. */
#include <agentbox/agentbox.h>

#include "policy/rules.h"
#include "unit/main.h"

#include <string.h>

static abx_policy_builder *
new_builder(const char *profile)
{
    abx_policy_builder *builder = NULL;

    ck_assert_int_eq(abx_policy_builder_new(profile, &builder, NULL), ABX_OK);
    ck_assert_int_eq(abx_policy_builder_variable(builder, "home", "/home/u"), ABX_OK);
    ck_assert_int_eq(abx_policy_builder_variable(builder, "workspace", "/w"), ABX_OK);
    ck_assert_int_eq(abx_policy_builder_variable(builder, "output", "/out"), ABX_OK);
    return builder;
}

static abx_policy *
build(abx_policy_builder *builder)
{
    abx_policy *policy = NULL;
    abx_error *error = NULL;
    abx_status r = abx_policy_builder_build(builder, &policy, &error);

    ck_assert_msg(r == ABX_OK, "%s: %s", abx_error_get_step(error), abx_error_get_message(error));
    abx_policy_builder_unref(builder);
    return policy;
}

static abx_status
merge(abx_policy_builder *builder, const char *json)
{
    return abx_policy_builder_merge_json(builder, json, strlen(json));
}

static abx_verdict
verdict(abx_policy *policy, uint32_t kind, uint32_t access, const char *target, uint32_t port)
{
    abx_request request = {
        .size = sizeof request, .kind = kind, .access = access, .port = port, .target = target
    };
    abx_decision decision = { .size = sizeof decision };

    ck_assert_int_eq(abx_policy_evaluate(policy, &request, &decision), ABX_OK);
    return decision.verdict;
}

static const struct rule *
rule_of(abx_policy *policy, const char *id)
{
    const struct layer *layer = *vec_at(&policy->layers, struct layer *, 0);

    for (size_t i = 0; i < layer->rules.count; i++) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, i);

        if (strcmp(rule->id, id) == 0 && !rule->implied) {
            return rule;
        }
    }
    return NULL;
}

/* What each profile does: one row a question. */
static const struct profile_case {
    const char *profile;
    uint32_t kind, access;
    const char *target;
    uint32_t port;
    abx_verdict verdict;
} profile_cases[] = {
    { "read-only", ABX_REQUEST_PATH, ABX_ACCESS_READ, "/usr/bin/cc", 0, ABX_VERDICT_ALLOW },
    { "read-only", ABX_REQUEST_PATH, ABX_ACCESS_READ, "/home/u/notes", 0, ABX_VERDICT_ALLOW },
    { "read-only", ABX_REQUEST_PATH, ABX_ACCESS_READ, "/home/u/.ssh/id", 0, ABX_VERDICT_DENY },
    { "read-only", ABX_REQUEST_PATH, ABX_ACCESS_READ, "/home/u/.mozilla/x", 0, ABX_VERDICT_DENY },
    { "read-only", ABX_REQUEST_PATH, ABX_ACCESS_READ, "/etc/shadow", 0, ABX_VERDICT_DENY },
    { "read-only", ABX_REQUEST_PATH, ABX_ACCESS_WRITE, "/w/a", 0, ABX_VERDICT_DENY },
    { "read-only", ABX_REQUEST_PATH, ABX_ACCESS_WRITE, "/tmp/a", 0, ABX_VERDICT_ALLOW },
    { "read-only", ABX_REQUEST_CONNECT, 0, "pypi.org", 443, ABX_VERDICT_DENY },
    { "workspace-write", ABX_REQUEST_PATH, ABX_ACCESS_WRITE, "/w/a", 0, ABX_VERDICT_ALLOW },
    { "workspace-write", ABX_REQUEST_PATH, ABX_ACCESS_WRITE, "/w/.envrc", 0, ABX_VERDICT_DENY },
    { "workspace-write", ABX_REQUEST_PATH, ABX_ACCESS_WRITE, "/home/u/a", 0, ABX_VERDICT_DENY },
    { "workspace-write", ABX_REQUEST_PATH, ABX_ACCESS_READ, "/home/u/.aws/x", 0, ABX_VERDICT_DENY },
    { "workspace-write", ABX_REQUEST_CONNECT, 0, "pypi.org", 443, ABX_VERDICT_DENY },
    { "task", ABX_REQUEST_PATH, ABX_ACCESS_READ, "/usr/bin/cc", 0, ABX_VERDICT_ALLOW },
    { "task", ABX_REQUEST_PATH, ABX_ACCESS_READ, "/task/in/a", 0, ABX_VERDICT_ALLOW },
    { "task", ABX_REQUEST_PATH, ABX_ACCESS_READ, "/home/u/notes", 0, ABX_VERDICT_DENY },
    { "task", ABX_REQUEST_PATH, ABX_ACCESS_READ, "/w/a", 0, ABX_VERDICT_DENY },
    { "task", ABX_REQUEST_PATH, ABX_ACCESS_READ, "/etc/shadow", 0, ABX_VERDICT_DENY },
    { "task", ABX_REQUEST_PATH, ABX_ACCESS_WRITE, "/out/a", 0, ABX_VERDICT_ALLOW },
    { "task", ABX_REQUEST_PATH, ABX_ACCESS_READ, "/out/a", 0, ABX_VERDICT_ALLOW },
    { "task", ABX_REQUEST_PATH, ABX_ACCESS_WRITE, "/task/in/a", 0, ABX_VERDICT_DENY },
    { "task", ABX_REQUEST_CONNECT, 0, "pypi.org", 443, ABX_VERDICT_DENY },
    { "packages", ABX_REQUEST_CONNECT, 0, "pypi.org", 443, ABX_VERDICT_ALLOW },
    { "packages", ABX_REQUEST_CONNECT, 0, "registry.npmjs.org", 443, ABX_VERDICT_ALLOW },
    { "packages", ABX_REQUEST_CONNECT, 0, "pypi.org", 22, ABX_VERDICT_DENY },
    { "packages", ABX_REQUEST_CONNECT, 0, "example.com", 443, ABX_VERDICT_DENY },
    { "packages", ABX_REQUEST_PATH, ABX_ACCESS_WRITE, "/w/a", 0, ABX_VERDICT_ALLOW },
};

START_TEST(a_profile_does_what_it_says)
{
    const struct profile_case *c = &profile_cases[_i];
    abx_policy *policy = build(new_builder(c->profile));
    abx_verdict v = verdict(policy, c->kind, c->access, c->target, c->port);

    ck_assert_msg(v == c->verdict, "%s %s: %u", c->profile, c->target, v);
    abx_policy_unref(policy);
}
END_TEST

START_TEST(without_a_profile_nothing_is_allowed)
{
    abx_policy *policy = build(new_builder(NULL));
    const struct policy_settings *settings = policy_get_settings(policy);

    ck_assert_uint_eq(verdict(policy, ABX_REQUEST_PATH, ABX_ACCESS_READ, "/usr", 0), 0);
    ck_assert_uint_eq(verdict(policy, ABX_REQUEST_PATH, ABX_ACCESS_WRITE, "/tmp/x", 0), 0);
    ck_assert_uint_eq(verdict(policy, ABX_REQUEST_CONNECT, 0, "example.com", 443), 0);
    ck_assert_int_eq(settings->network, NETWORK_NONE);
    ck_assert_uint_eq(settings->approval_timeout_ms, 120000);
    ck_assert_str_eq(settings->env_pass[0], "PATH");
    ck_assert_str_eq(settings->env_set[0], "HOME=/home/u");
    abx_policy_unref(policy);
}
END_TEST

START_TEST(an_unset_home_is_an_error_that_names_the_variable)
{
    abx_policy_builder *builder = NULL;
    abx_policy *policy = NULL;
    abx_error *error = NULL;

    ck_assert_int_eq(abx_policy_builder_new("read-only", &builder, NULL), ABX_OK);
    ck_assert_int_eq(abx_policy_builder_build(builder, &policy, &error), ABX_ERR_POLICY);
    ck_assert(strstr(abx_error_get_message(error), "the variable 'home' is not set") != NULL);
    ck_assert(strstr(abx_error_get_remedy(error), "set 'home'") != NULL);
    abx_error_unref(error);
    abx_policy_builder_unref(builder);
}
END_TEST

START_TEST(an_own_rule_replaces_the_same_one_of_the_profile)
{
    abx_policy_builder *builder = new_builder("workspace-write");
    abx_policy *policy;

    ck_assert_int_eq(
            abx_policy_builder_path(builder, "~/.aws", ABX_ACCESS_READ, ABX_VERDICT_ALLOW), ABX_OK);
    ck_assert_int_eq(
            abx_policy_builder_path(builder, "/w", ABX_ACCESS_WRITE, ABX_VERDICT_ASK), ABX_OK);
    policy = build(builder);
    ck_assert_ptr_null(rule_of(policy, "secret:~/.aws"));
    ck_assert_ptr_nonnull(rule_of(policy, "secret:~/.ssh"));
    ck_assert_uint_eq(verdict(policy, ABX_REQUEST_PATH, ABX_ACCESS_READ, "/home/u/.aws/x", 0),
            ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(
            verdict(policy, ABX_REQUEST_PATH, ABX_ACCESS_WRITE, "/w/x", 0), ABX_VERDICT_ASK);
    abx_policy_unref(policy);
}
END_TEST

START_TEST(one_call_can_give_several_accesses)
{
    abx_policy_builder *builder = new_builder(NULL);
    abx_policy *policy;

    abx_policy_builder_path(builder, "/d", ABX_ACCESS_READ | ABX_ACCESS_WRITE, ABX_VERDICT_ASK);
    abx_policy_builder_explain(builder, "because", "instead");
    policy = build(builder);
    ck_assert_uint_eq(
            verdict(policy, ABX_REQUEST_PATH, ABX_ACCESS_READ, "/d/x", 0), ABX_VERDICT_ASK);
    ck_assert_uint_eq(
            verdict(policy, ABX_REQUEST_PATH, ABX_ACCESS_WRITE, "/d/x", 0), ABX_VERDICT_ASK);
    abx_policy_unref(policy);
}
END_TEST

START_TEST(a_host_of_the_builder_turns_the_filter_on)
{
    abx_policy_builder *builder = new_builder("workspace-write");
    abx_policy *policy;

    ck_assert_int_eq(
            abx_policy_builder_host(builder, "example.com", 443, 443, ABX_VERDICT_ALLOW), ABX_OK);
    policy = build(builder);
    ck_assert_int_eq(policy_get_settings(policy)->network, NETWORK_FILTERED);
    ck_assert_uint_eq(
            verdict(policy, ABX_REQUEST_CONNECT, 0, "example.com", 443), ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(verdict(policy, ABX_REQUEST_CONNECT, 0, "example.com", 80), ABX_VERDICT_DENY);
    abx_policy_unref(policy);
}
END_TEST

START_TEST(the_environment_is_what_was_said)
{
    abx_policy_builder *builder = new_builder(NULL);
    abx_policy *policy;
    const struct policy_settings *settings;
    bool has_path = false, has_more = false;

    ck_assert_int_eq(abx_policy_builder_env(builder, "MORE", NULL), ABX_OK);
    ck_assert_int_eq(abx_policy_builder_env(builder, "HOME", "/elsewhere"), ABX_OK);
    ck_assert_int_eq(abx_policy_builder_env(builder, "TERM", "dumb"), ABX_OK);
    policy = build(builder);
    settings = policy_get_settings(policy);
    for (size_t i = 0; settings->env_pass[i] != NULL; i++) {
        has_path |= strcmp(settings->env_pass[i], "PATH") == 0;
        has_more |= strcmp(settings->env_pass[i], "MORE") == 0;
        ck_assert_str_ne(settings->env_pass[i], "TERM");
    }
    ck_assert(has_path && has_more);
    ck_assert_str_eq(settings->env_set[0], "HOME=/elsewhere");
    ck_assert_str_eq(settings->env_set[1], "TERM=dumb");
    ck_assert_ptr_null(settings->env_set[2]);
    abx_policy_unref(policy);
}
END_TEST

static const char *
home_of(abx_policy *policy)
{
    const char *const *set = policy_get_settings(policy)->env_set;

    for (; *set != NULL; set++) {
        if (strncmp(*set, "HOME=", 5) == 0) {
            return *set + 5;
        }
    }
    return "";
}

START_TEST(a_task_has_a_home_that_it_can_use_unless_another_is_chosen)
{
    abx_policy_builder *builder = new_builder("task");
    abx_policy *task = build(new_builder("task")), *chosen, *outer = build(new_builder(NULL)),
               *both;

    ck_assert_str_eq(home_of(task), "/tmp");
    ck_assert_uint_eq(verdict(task, ABX_REQUEST_PATH, ABX_ACCESS_WRITE, "/tmp/.config", 0),
            ABX_VERDICT_ALLOW);
    ck_assert_int_eq(abx_policy_builder_env(builder, "HOME", "/out"), ABX_OK);
    chosen = build(builder);
    ck_assert_str_eq(home_of(chosen), "/out");
    ck_assert_int_eq(abx_policy_intersect(outer, task, &both, NULL), ABX_OK);
    ck_assert_str_eq(home_of(both), "/tmp");
    abx_policy_unref(both);
    abx_policy_unref(outer);
    abx_policy_unref(chosen);
    abx_policy_unref(task);
}
END_TEST

START_TEST(a_home_that_an_outer_layer_did_not_choose_is_no_opinion)
{
    abx_policy_builder *builder = new_builder(NULL);
    abx_policy *silent = build(new_builder(NULL)), *chosen, *both;

    ck_assert_int_eq(abx_policy_builder_env(builder, "HOME", "/tmp"), ABX_OK);
    chosen = build(builder);
    ck_assert_int_eq(abx_policy_intersect(silent, chosen, &both, NULL), ABX_OK);
    ck_assert_str_eq(home_of(both), "/tmp");
    abx_policy_unref(both);
    ck_assert_int_eq(abx_policy_intersect(chosen, silent, &both, NULL), ABX_OK);
    ck_assert_str_eq(home_of(both), "/tmp");
    abx_policy_unref(both);
    ck_assert_int_eq(abx_policy_intersect(silent, silent, &both, NULL), ABX_OK);
    ck_assert_str_eq(home_of(both), "/home/u");
    abx_policy_unref(both);
    abx_policy_unref(chosen);
    abx_policy_unref(silent);
}
END_TEST

/* Each leaves the builder poisoned: later calls and build tell the same failure. */
static abx_status
bad_null(abx_policy_builder *builder)
{
    return abx_policy_builder_path(builder, NULL, ABX_ACCESS_READ, ABX_VERDICT_DENY);
}

static abx_status
bad_access(abx_policy_builder *builder)
{
    return abx_policy_builder_path(builder, "/a", 8, ABX_VERDICT_DENY);
}

static abx_status
bad_verdict(abx_policy_builder *builder)
{
    return abx_policy_builder_path(builder, "/a", ABX_ACCESS_READ, 3);
}

static abx_status
bad_pattern(abx_policy_builder *builder)
{
    return abx_policy_builder_path(builder, "/a/*", ABX_ACCESS_READ, ABX_VERDICT_ALLOW);
}

static abx_status
bad_variable(abx_policy_builder *builder)
{
    return abx_policy_builder_variable(builder, "home", "/home/other");
}

static abx_status
bad_directory(abx_policy_builder *builder)
{
    abx_policy_builder *fresh = NULL;
    abx_status r;

    abx_policy_builder_new(NULL, &fresh, NULL);
    r = abx_policy_builder_variable(fresh, "workspace", "relative");
    abx_policy_builder_unref(fresh);
    return abx_policy_builder_variable(builder, "tmp", "/x") == r ? r : ABX_OK;
}

static abx_status
bad_host(abx_policy_builder *builder)
{
    return abx_policy_builder_host(builder, "a b", 0, 0, ABX_VERDICT_ALLOW);
}

static abx_status
bad_ports(abx_policy_builder *builder)
{
    return abx_policy_builder_host(builder, "example.com", 90, 80, ABX_VERDICT_ALLOW);
}

static abx_status
bad_env(abx_policy_builder *builder)
{
    return abx_policy_builder_env(builder, "A=B", "x");
}

static abx_status
bad_limit(abx_policy_builder *builder)
{
    return abx_policy_builder_limit(builder, 99, 1);
}

static abx_status
zero_limit(abx_policy_builder *builder)
{
    return abx_policy_builder_limit(builder, ABX_LIMIT_MEMORY, 0);
}

static abx_status
bad_explain(abx_policy_builder *builder)
{
    return abx_policy_builder_explain(builder, "why", NULL);
}

static abx_status
bad_weaken(abx_policy_builder *builder)
{
    return abx_policy_builder_weaken(builder, ABX_WEAKEN_BEST_EFFORT, "");
}

static abx_status
bad_document(abx_policy_builder *builder)
{
    return merge(builder, "{\"version\":1,\"nmae\":\"x\"}");
}

static const struct setter_case {
    const char *name;
    abx_status (*set)(abx_policy_builder *builder);
    abx_status status;
    const char *step;
} setter_cases[] = {
    { "NULL", bad_null, ABX_ERR_INVALID, "policy:path" },
    { "unknown access", bad_access, ABX_ERR_INVALID, "policy:path" },
    { "unknown verdict", bad_verdict, ABX_ERR_INVALID, "policy:path" },
    { "a pattern in an allow", bad_pattern, ABX_ERR_POLICY, "policy:path" },
    { "a variable again, with another value", bad_variable, ABX_ERR_POLICY, "policy:variable" },
    { "a directory that is relative", bad_directory, ABX_ERR_POLICY, "policy:variable" },
    { "a host that is none", bad_host, ABX_ERR_POLICY, "policy:host" },
    { "ports the wrong way round", bad_ports, ABX_ERR_POLICY, "policy:host" },
    { "an environment name that is none", bad_env, ABX_ERR_POLICY, "policy:env" },
    { "an unknown limit", bad_limit, ABX_ERR_INVALID, "policy:limit" },
    { "a limit of zero", zero_limit, ABX_ERR_POLICY, "policy:limit" },
    { "nothing to explain", bad_explain, ABX_ERR_STATE, "policy:explain" },
    { "weaken without a reason", bad_weaken, ABX_ERR_POLICY, "policy:weaken" },
    { "a bad document", bad_document, ABX_ERR_POLICY, "policy:/nmae" },
};

START_TEST(a_setter_that_fails_poisons_the_builder)
{
    const struct setter_case *c = &setter_cases[_i];
    abx_policy_builder *builder = new_builder(NULL);
    abx_policy *policy = NULL;
    abx_error *error = NULL;
    abx_status r = c->set(builder);

    ck_assert_msg(r == c->status, "%s: %d", c->name, r);
    ck_assert_int_eq(
            abx_policy_builder_path(builder, "/ok", ABX_ACCESS_READ, ABX_VERDICT_ALLOW), c->status);
    ck_assert_int_eq(abx_policy_builder_build(builder, &policy, &error), c->status);
    ck_assert_ptr_null(policy);
    ck_assert_msg(strcmp(abx_error_get_step(error), c->step) == 0, "%s: %s", c->name,
            abx_error_get_step(error));
    abx_error_unref(error);
    abx_policy_builder_unref(builder);
}
END_TEST

START_TEST(an_unknown_profile_is_refused_at_once)
{
    abx_policy_builder *builder = NULL;
    abx_error *error = NULL;

    ck_assert_int_eq(abx_policy_builder_new("workspace-wirte", &builder, &error), ABX_ERR_POLICY);
    ck_assert_ptr_null(builder);
    ck_assert(strstr(abx_error_get_message(error), "nearest is 'workspace-write'") != NULL);
    abx_error_unref(error);
}
END_TEST

START_TEST(a_builder_is_built_once)
{
    abx_policy_builder *builder = new_builder(NULL);
    abx_policy *policy = NULL;

    ck_assert_int_eq(abx_policy_builder_build(builder, &policy, NULL), ABX_OK);
    abx_policy_unref(policy);
    policy = NULL;
    ck_assert_int_eq(abx_policy_builder_build(builder, &policy, NULL), ABX_ERR_STATE);
    ck_assert_ptr_null(policy);
    ck_assert_int_eq(abx_policy_builder_path(builder, "/a", ABX_ACCESS_READ, ABX_VERDICT_DENY),
            ABX_ERR_STATE);
    abx_policy_builder_unref(builder);
}
END_TEST

START_TEST(rules_of_two_documents_keep_apart)
{
    abx_policy_builder *builder = new_builder(NULL);
    abx_policy *policy;
    const struct layer *layer;

    abx_policy_builder_source(builder, "first.json");
    ck_assert_int_eq(
            merge(builder, "{\"version\":1,\"filesystem\":{\"read\":{\"deny\":[\"/a\"]}}}"),
            ABX_OK);
    abx_policy_builder_source(builder, "second.json");
    ck_assert_int_eq(
            merge(builder, "{\"version\":1,\"filesystem\":{\"read\":{\"deny\":[\"/b\"]}}}"),
            ABX_OK);
    ck_assert_int_eq(
            merge(builder, "{\"version\":1,\"filesystem\":{\"read\":{\"deny\":[\"/c\"]}}}"),
            ABX_OK);
    abx_policy_builder_path(builder, "/d", ABX_ACCESS_READ, ABX_VERDICT_DENY);
    policy = build(builder);
    layer = *vec_at(&policy->layers, struct layer *, 0);
    ck_assert_str_eq(layer->source, "first.json");
    ck_assert_str_eq(rule_of(policy, "/filesystem/read/deny/0")->pattern, "/a");
    ck_assert_str_eq(rule_of(policy, "second.json:/filesystem/read/deny/0")->pattern, "/b");
    ck_assert_str_eq(rule_of(policy, "document3:/filesystem/read/deny/0")->pattern, "/c");
    ck_assert_str_eq(rule_of(policy, "builder:/0")->pattern, "/d");
    abx_policy_unref(policy);
}
END_TEST

START_TEST(layers_of_a_document_use_the_variables_and_decide_together)
{
    abx_policy_builder *builder = new_builder(NULL);
    abx_policy *policy;

    ck_assert_int_eq(
            merge(builder, "{\"version\":1,\"layers\":["
                           "{\"source\":\"managed\",\"filesystem\":{\"write\":{\"allow\":[\"${"
                           "workspace}\"],"
                           "\"deny\":[\"${workspace}/secret\"]}},\"limits\":{\"processes\":10}},"
                           "{\"extends\":\"workspace-write\",\"limits\":{\"processes\":100}}]}"),
            ABX_OK);
    policy = build(builder);
    ck_assert_uint_eq(policy->layers.count, 2);
    ck_assert_str_eq((*vec_at(&policy->layers, struct layer *, 0))->source, "managed");
    ck_assert_uint_eq(
            verdict(policy, ABX_REQUEST_PATH, ABX_ACCESS_WRITE, "/w/a", 0), ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(verdict(policy, ABX_REQUEST_PATH, ABX_ACCESS_WRITE, "/w/secret/a", 0),
            ABX_VERDICT_DENY);
    ck_assert_uint_eq(policy_get_settings(policy)->limits[ABX_LIMIT_PROCESSES], 10);
    abx_policy_unref(policy);
}
END_TEST

START_TEST(a_document_with_layers_stands_alone)
{
    abx_policy_builder *builder = new_builder("read-only");
    abx_error *error = NULL;
    abx_policy *policy = NULL;

    ck_assert_int_eq(merge(builder, "{\"version\":1,\"layers\":[{}]}"), ABX_ERR_POLICY);
    ck_assert_int_eq(abx_policy_builder_build(builder, &policy, &error), ABX_ERR_POLICY);
    ck_assert(strstr(abx_error_get_message(error), "stands alone") != NULL);
    abx_error_unref(error);
    abx_policy_builder_unref(builder);

    builder = new_builder(NULL);
    ck_assert_int_eq(merge(builder, "{\"version\":1,\"layers\":[{}]}"), ABX_OK);
    ck_assert_int_eq(merge(builder, "{\"version\":1}"), ABX_ERR_STATE);
    abx_policy_builder_unref(builder);

    builder = new_builder(NULL);
    ck_assert_int_eq(merge(builder, "{\"version\":1,\"layers\":[{}]}"), ABX_OK);
    ck_assert_int_eq(abx_policy_builder_path(builder, "/a", ABX_ACCESS_READ, ABX_VERDICT_DENY),
            ABX_ERR_STATE);
    abx_policy_builder_unref(builder);
}
END_TEST

START_TEST(weaken_is_kept_with_its_reason)
{
    abx_policy_builder *builder = new_builder("workspace-write");
    abx_policy *policy;
    char *json = NULL;

    ck_assert_int_eq(abx_policy_builder_weaken(builder, ABX_WEAKEN_HOST_NETWORK, "a test"), ABX_OK);
    policy = build(builder);
    ck_assert_int_eq(policy_get_settings(policy)->network, NETWORK_HOST);
    ck_assert(policy_get_settings(policy)->weaken_host_network);
    ck_assert_int_eq(abx_policy_to_json(policy, &json, NULL), ABX_OK);
    ck_assert(strstr(json, "\"what\": \"host-network\"") != NULL);
    ck_assert(strstr(json, "\"reason\": \"a test\"") != NULL);
    free(json);
    abx_policy_unref(policy);
}
END_TEST

START_TEST(null_is_refused_everywhere)
{
    abx_policy_builder *builder = NULL;
    abx_policy *policy = NULL;
    char *text = NULL;

    ck_assert_int_eq(abx_policy_builder_new(NULL, NULL, NULL), ABX_ERR_INVALID);
    ck_assert_int_eq(abx_policy_builder_build(NULL, &policy, NULL), ABX_ERR_INVALID);
    ck_assert_int_eq(abx_policy_builder_variable(NULL, "a", "b"), ABX_ERR_INVALID);
    ck_assert_int_eq(abx_policy_builder_merge_json(NULL, "{}", 2), ABX_ERR_INVALID);
    ck_assert_int_eq(abx_policy_from_json(NULL, 0, &policy, NULL), ABX_ERR_INVALID);
    ck_assert_int_eq(abx_policy_to_json(NULL, &text, NULL), ABX_ERR_INVALID);
    ck_assert_int_eq(abx_policy_describe(NULL, "text", &text, NULL), ABX_ERR_INVALID);
    abx_policy_builder_unref(NULL);
    ck_assert_int_eq(abx_policy_builder_new(NULL, &builder, NULL), ABX_OK);
    ck_assert_ptr_eq(abx_policy_builder_ref(builder), builder);
    abx_policy_builder_unref(builder);
    abx_policy_builder_unref(builder);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("builder");
    TCase *tcase = tcase_create("builder");

    tcase_add_loop_test(
            tcase, a_profile_does_what_it_says, 0, sizeof profile_cases / sizeof profile_cases[0]);
    tcase_add_test(tcase, without_a_profile_nothing_is_allowed);
    tcase_add_test(tcase, an_unset_home_is_an_error_that_names_the_variable);
    tcase_add_test(tcase, an_own_rule_replaces_the_same_one_of_the_profile);
    tcase_add_test(tcase, one_call_can_give_several_accesses);
    tcase_add_test(tcase, a_host_of_the_builder_turns_the_filter_on);
    tcase_add_test(tcase, the_environment_is_what_was_said);
    tcase_add_test(tcase, a_task_has_a_home_that_it_can_use_unless_another_is_chosen);
    tcase_add_test(tcase, a_home_that_an_outer_layer_did_not_choose_is_no_opinion);
    tcase_add_loop_test(tcase, a_setter_that_fails_poisons_the_builder, 0,
            sizeof setter_cases / sizeof setter_cases[0]);
    tcase_add_test(tcase, an_unknown_profile_is_refused_at_once);
    tcase_add_test(tcase, a_builder_is_built_once);
    tcase_add_test(tcase, rules_of_two_documents_keep_apart);
    tcase_add_test(tcase, layers_of_a_document_use_the_variables_and_decide_together);
    tcase_add_test(tcase, a_document_with_layers_stands_alone);
    tcase_add_test(tcase, weaken_is_kept_with_its_reason);
    tcase_add_test(tcase, null_is_refused_everywhere);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
