/* SPDX-License-Identifier: Apache-2.0
 * The description says what counts, with concrete names, and stays short. */
#include <agentbox/agentbox.h>

#include "base/json.h"
#include "unit/main.h"

#include <stdio.h>
#include <string.h>

static const char task[] =
        "{\"version\":1,\"extends\":\"workspace-write\",\"filesystem\":{\"read\":{\"deny\":[\"**/"
        ".env\"]},"
        "\"write\":{\"ask\":[\"${workspace}/published\"]},\"protect\":{\"add\":[\"deploy.yaml\"]},"
        "\"inputs\":[{\"from\":\"~/q3.xlsx\"}]},\"network\":{\"mode\":\"filtered\",\"allow\":["
        "\"docs.example.com:443\",{\"host\":\"hr.example.com\",\"http\":[{\"methods\":[\"GET\","
        "\"HEAD\"],\"path\":\"/v1/**\"},{\"methods\":[\"PUT\"],\"path\":\"/v1/*\",\"action\":"
        "\"hr.update\"},{\"methods\":[\"POST\"],\"path\":\"/pay\",\"action\":\"pay\"}]}],"
        "\"ask\":[\"*.example.net\"]},\"actions\":[{\"name\":\"hr.update\",\"verdict\":\"ask\","
        "\"arguments\":{\"field\":{\"type\":\"string\",\"enum\":[\"title\",\"phone\",\"room\"]},"
        "\"ids\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"pattern\":\"[0-9]+\"},"
        "\"max_items\":5},\"level\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":9,"
        "\"optional\":true}},\"limits\":{\"per_command\":1,\"per_box\":20},\"approvers\":2},"

        "{\"name\":\"pay\",\"verdict\":\"deny\"}],\"credentials\":[{\"name\":\"hr-api\",\"env\":"
        "\"HR_TOKEN\",\"hosts\":[\"hr.example.com\"]}],\"limits\":{\"wall_ms\":60000},"
        "\"approvals\":{\"timeout_ms\":30000}}";

static abx_policy *
parse(const char *json)
{
    abx_policy_builder *builder = NULL;
    abx_policy *policy = NULL;
    abx_error *error = NULL;
    abx_status r;

    abx_policy_builder_new(NULL, &builder, NULL);
    abx_policy_builder_variable(builder, "home", "/home/u");
    abx_policy_builder_variable(builder, "workspace", "/w");
    abx_policy_builder_merge_json(builder, json, strlen(json));
    r = abx_policy_builder_build(builder, &policy, &error);
    ck_assert_msg(r == ABX_OK, "%s", abx_error_get_message(error));
    abx_policy_builder_unref(builder);
    return policy;
}

static char *
describe(const char *json, const char *format)
{
    abx_policy *policy = parse(json);
    char *text = NULL;
    size_t length = 0;

    ck_assert_int_eq(abx_policy_describe(policy, format, &text, &length), ABX_OK);
    ck_assert_uint_eq(strlen(text), length);
    abx_policy_unref(policy);
    return text;
}

static const char *const told[] = {
    "/home/u/.ssh",
    "/**/.env",
    "May be written",
    "/w, /tmp",
    "Written only after a person agreed: /w/published",
    "deploy.yaml",
    ".bashrc",
    "hooks",
    "/task/in/q3.xlsx",
    "docs.example.com:443",
    "*.example.net",
    "60000 ms for a command",
    "up to 30 seconds",
    "Permission denied",
    "CONNECT tunnel failed, response 403",
    "curl then exits 0",
    "need not be run again",
    "To hr.example.com only these requests: GET HEAD /v1/**, PUT /v1/* (after a person "
    "agreed), "
    "POST "
    "/pay (denied)\n",
    "Actions taken only after a person agreed: hr.update\n",
    "Actions that may not be taken: pay\n",
    "Action hr.update takes: field ('title', 'phone' or 'room'), ids (array of at most 5: string "
    "that "
    "matches '[0-9]+'), level (optional, integer from 1 to 9); at most 1 time in one command; at "
    "most "
    "20 times in one box; two different people must agree\n",
    "Credential hr-api, of which $HR_TOKEN holds a stand-in, works only in requests to: "
    "hr.example.com\n",
};

START_TEST(the_text_tells_what_counts)
{
    char *text = describe(task, "text");

    ck_assert_msg(strstr(text, told[_i]) != NULL, "'%s' is not in:\n%s", told[_i], text);
    free(text);
}
END_TEST

static const struct silence_case {
    const char *json, *text;
} silence_cases[] = {
    { "{\"version\":1}", "person" },
    { "{\"version\":1}", "Limits" },
    { "{\"version\":1,\"extends\":\"read-only\"}", "Input files" },
    { "{\"version\":1,\"extends\":\"read-only\"}", "Hosts" },
    { "{\"version\":1,\"extends\":\"read-only\"}", "403" },
};

START_TEST(what_is_not_there_is_not_told)
{
    char *text = describe(silence_cases[_i].json, "text");

    ck_assert_msg(strstr(text, silence_cases[_i].text) == NULL, "'%s' is in:\n%s",
            silence_cases[_i].text, text);
    free(text);
}
END_TEST

static const char *const short_cases[] = {
    "{\"version\":1,\"extends\":\"packages\"}",
    "{\"version\":1,\"layers\":[{\"source\":\"managed\",\"extends\":\"packages\"},{\"extends\":"
    "\"workspace-write\"}]}",
    task,
};

START_TEST(a_description_stays_under_sixty_lines)
{
    static const char *const formats[] = { "text", "markdown" };

    for (size_t k = 0; k < 2; k++) {
        char *text = describe(short_cases[_i], formats[k]);
        size_t lines = 0;

        for (const char *p = text; *p != '\0'; p++) {
            lines += *p == '\n';
        }
        ck_assert_msg(lines > 4 && lines < 60, "%zu lines:\n%s", lines, text);
        free(text);
    }
}
END_TEST

START_TEST(the_json_form_tells_what_an_action_takes)
{
    char *text = describe(task, "json");

    ck_assert_msg(
            strstr(text, "\"approvers\":2,\"arguments\":{\"field\":{\"type\":\"string\"") != NULL &&
                    strstr(text, "\"limits\":{\"per_command\":1,\"per_box\":20}") != NULL,
            "%s", text);
    free(text);
}
END_TEST

START_TEST(the_json_form_can_be_read)
{
    char *text = describe(short_cases[_i], "json");
    struct json_problem problem;
    struct json *document = json_read(text, strlen(text), 16, &problem);

    ck_assert_msg(document != NULL, "%s\n%s", problem.text, text);
    ck_assert_uint_ge(json_count(json_member(document, "layers")), 1);
    json_free(document);
    free(text);
}
END_TEST

START_TEST(an_unknown_format_is_refused)
{
    abx_policy *policy = parse("{\"version\":1}");
    char *text = NULL;

    ck_assert_int_eq(abx_policy_describe(policy, "html", &text, NULL), ABX_ERR_INVALID);
    ck_assert_ptr_null(text);
    abx_policy_unref(policy);
}
END_TEST

/* ---- hosts ---- */

static const struct hosts_case {
    const char *network, *line;
} hosts_cases[] = {
    { "\"host_loopback\":[8080]", "Hosts that may be reached: localhost:8080\n" },
    { "\"host_loopback\":[8080,8081],\"allow\":[{\"host\":\"localhost:8080\",\"http\":[{"
      "\"methods\":["
      "\"GET\"],\"path\":\"/v1/**\"}]}]",
            "Hosts that may be reached: localhost:8081\n- To localhost:8080 only these requests: "
            "GET "
            "/v1/**\n" },
    { "\"host_loopback\":[\"6000-6010\"],\"deny\":[\"localhost:6003\"]",
            "Hosts that may be reached: localhost:6000-6002, localhost:6004-6010\n- Hosts that may "
            "not be reached: localhost:6003\n" },
    { "\"host_loopback\":[8080],\"ask\":[\"127.0.0.1:8080\"]",
            "listed here\n- Hosts reached only after a person agreed: 127.0.0.1:8080\n" },
    { "\"host_loopback\":[8080],\"allow\":[\"localhost:8080\",\"localhost:8081\"]",
            "Hosts that may be reached: localhost:8080\n" },
    { "\"private\":[\"10.0.0.1:443\",\"10.1.0.0/16:443\"],\"deny\":[\"10.0.0.1\"]",
            "Hosts that may be reached: 10.1.0.0/16:443\n- Hosts that may not be reached: "
            "10.0.0.1\n" },
    { "\"allow\":[\"a.com\"],\"deny\":[\"a.com:80\"]",
            "Hosts that may be reached: a.com:443\n- Hosts that may not be reached: a.com:80\n" },
    { "\"allow\":[\"a.com\",\"*.b.com\"]", "Hosts that may be reached: a.com, *.b.com\n" },
};

START_TEST(a_host_is_named_where_the_list_holds)
{
    const struct hosts_case *c = &hosts_cases[_i];
    char json[512], *text;

    snprintf(json, sizeof json, "{\"version\":1,\"network\":{\"mode\":\"filtered\",%s}}",
            c->network);
    text = describe(json, "text");
    ck_assert_msg(strstr(text, c->line) != NULL, "%s: %s", c->network, text);
    free(text);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("describe");
    TCase *tcase = tcase_create("describe");

    tcase_add_loop_test(tcase, the_text_tells_what_counts, 0, sizeof told / sizeof told[0]);
    tcase_add_loop_test(tcase, what_is_not_there_is_not_told, 0,
            sizeof silence_cases / sizeof silence_cases[0]);
    tcase_add_loop_test(tcase, a_description_stays_under_sixty_lines, 0,
            sizeof short_cases / sizeof short_cases[0]);
    tcase_add_test(tcase, the_json_form_tells_what_an_action_takes);
    tcase_add_loop_test(
            tcase, the_json_form_can_be_read, 0, sizeof short_cases / sizeof short_cases[0]);
    tcase_add_test(tcase, an_unknown_format_is_refused);
    tcase_add_loop_test(tcase, a_host_is_named_where_the_list_holds, 0,
            sizeof hosts_cases / sizeof hosts_cases[0]);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
