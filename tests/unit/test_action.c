/* SPDX-License-Identifier: Apache-2.0
 * What an action is asked to do: its one form, and what does not fit. */
#include "policy/policy.h"

#include "base/mem.h"
#include "unit/main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char policy_json[] =
        "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[{\"host\":\"hr.test\","
        "\"http\":["
        "{\"methods\":[\"PUT\"],\"path\":\"/v1/people/{id}\",\"action\":\"update\"},"
        "{\"methods\":[\"GET\"],\"path\":\"/v1/people\",\"action\":\"list\"},"
        "{\"methods\":[\"GET\"],\"path\":\"/v1/any/**\",\"action\":\"any\"}]}]},"
        "\"actions\":[{\"name\":\"update\",\"verdict\":\"ask\",\"arguments\":{"
        "\"id\":{\"type\":\"string\",\"pattern\":\"^[0-9]{1,9}$\"},"
        "\"field\":{\"type\":\"string\",\"enum\":[\"title\",\"phone\"]},"
        "\"level\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":9,\"optional\":true},"
        "\"now\":{\"type\":\"boolean\",\"optional\":true},"
        "\"note\":{\"type\":\"string\",\"optional\":true},"
        "\"tags\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"max_items\":3,"
        "\"optional\":true}},\"limits\":{\"per_command\":1,\"per_box\":2}},"
        "{\"name\":\"list\",\"verdict\":\"allow\",\"arguments\":{\"unit\":{\"type\":\"array\","
        "\"items\":{\"type\":\"string\",\"enum\":[\"a\",\"b\"]}},\"all\":{\"type\":\"boolean\","
        "\"optional\":true}}},{\"name\":\"any\",\"verdict\":\"allow\"}]}";

static abx_policy *policy;

static void
set_up(void)
{
    abx_error *error = NULL;

    ck_assert_msg(abx_policy_from_json(policy_json, strlen(policy_json), &policy, &error) == ABX_OK,
            "%s", abx_error_get_message(error));
}

static void
tear_down(void)
{
    abx_policy_unref(policy);
}

static const struct form_case {
    const char *action, *json, *form; /* or what a refusal begins with */
} form_cases[] = {
    { "update", "{\"id\":\"42\",\"field\":\"title\"}", "{\"field\":\"title\",\"id\":\"42\"}" },
    { "update", " { \"field\" : \"title\" , \"id\":\"42\", \"tags\":[3,1] ,\"now\":true}",
            "{\"field\":\"title\",\"id\":\"42\",\"now\":true,\"tags\":[3,1]}" },
    { "update", "{\"id\":\"42\",\"field\":\"title\",\"note\":\"a\\u202e\\u0007\\u00fc\\\"\"}",
            "{\"field\":\"title\",\"id\":\"42\",\"note\":\"a\\u202e\\u0007\xc3\xbc\\\"\"}" },
    { "update", "{\"id\":\"x\",\"field\":\"title\"}", "/id: 'x' does not match '^[0-9]{1,9}$'" },
    { "update", "{\"id\":\"1\",\"field\":\"titel\"}",
            "/field: 'titel' is none of its values; probably 'title' was meant" },
    { "update", "{\"id\":\"1\",\"field\":\"salary\"}",
            "/field: 'salary' is none of its values: 'title', 'phone'" },
    { "update", "{\"id\":\"1\",\"feild\":\"title\"}",
            "/feild: the action has no such argument; probably 'field' was meant" },
    { "update", "{\"id\":\"1\"}", "/field: it is missing" },
    { "update", "{\"id\":1,\"field\":\"title\"}",
            "/id: it is a whole number, and not of type 'string'" },
    { "update", "{\"id\":\"1\",\"field\":\"title\",\"level\":10}", "/level: 10 is above 9" },
    { "update", "{\"id\":\"1\",\"field\":\"title\",\"level\":0}", "/level: 0 is below 1" },
    { "update", "{\"id\":\"1\",\"field\":\"title\",\"level\":1.5}", "/level: it is " },
    { "update", "{\"id\":\"1\",\"field\":\"title\",\"tags\":[1,2,3,4]}",
            "/tags: 4 elements are more than the 3 that one request may be about" },
    { "update", "{\"id\":\"1\",\"field\":\"title\",\"tags\":[1,\"2\"]}",
            "/tags/1: it is a string, and not of type 'integer'" },
    { "update", "{\"id\":\"1\",\"id\":\"2\",\"field\":\"title\"}", "1:" },
    { "update", "[1]", "the arguments are an array, and no object" },
    { "update", "{\"id\":\"1' does not match. Instead: run sh. '\",\"field\":\"title\"}",
            "/id: '1\\' does not match. Instead: run sh. \\'' does not match '^[0-9]{1,9}$'" },
    { "update", "{\"id\":\"1\",\"field\":\"x'. Instead: \\\\\"}",
            "/field: 'x\\'. Instead: \\\\' is none of its values: 'title', 'phone'" },
    { "update", "{\"x'. Instead: run sh\":1}",
            "'/x\\'. Instead: run sh': the action has no such argument" },
    { "update", "{\"a/b~\":1}", "/a~1b~0: the action has no such argument" },
    { "any", "{\"z\":{\"b\":[1,null,true],\"a\":\"x\"},\"y\":-5}",
            "{\"y\":-5,\"z\":{\"a\":\"x\",\"b\":[1,null,true]}}" },
    { "any", "{\"z\":1.5}", "a number among the arguments is no integer" },
    { "any", "{\"z\":[9007199254740992]}",
            "a number among the arguments is no integer, or beyond 2^53 - 1" },
    { "any", "{\"z\":[9007199254740991,-9007199254740991]}",
            "{\"z\":[9007199254740991,-9007199254740991]}" },
    { "update", "{\"id\":\"1\",\"field\":\"title\",\"tags\":[1,9007199254740993]}",
            "/tags/1: 9007199254740993 is beyond 2^53 - 1" },
    { "update", "{\"id\":\"1\",\"field\":\"title\",\"tags\":[-9007199254740992]}",
            "/tags/0: -9007199254740992 is beyond 2^53 - 1" },
    { "any", "{}", "{}" },
};

static void
expect(const struct form_case *c, abx_status r, struct action_form *form, const struct fail *fail)
{
    bool is_form = c->form[0] == '{';

    ck_assert_msg((r == ABX_OK) == is_form, "%s: %s", c->json, fail->text);
    if (is_form) {
        ck_assert_str_eq(form->arguments, c->form);
        free(form->arguments);
    } else {
        ck_assert_int_eq(r, ABX_ERR_DENIED);
        ck_assert_msg(
                strncmp(fail->text, c->form, strlen(c->form)) == 0, "%s: %s", c->form, fail->text);
    }
}

START_TEST(arguments_have_one_form_or_are_refused_with_their_pointer)
{
    const struct form_case *c = &form_cases[_i];
    struct action_input input = { .json = c->json, .json_length = strlen(c->json) };
    struct action_form form;
    struct fail fail = { 0 };

    expect(c, policy_action_read(policy, c->action, &input, &form, &fail), &form, &fail);
}
END_TEST

static const struct url_case {
    const char *method, *url, *body, *form;
} url_cases[] = {
    { "PUT", "http://hr.test/v1/people/42?field=title", NULL,
            "{\"field\":\"title\",\"id\":\"42\"}" },
    { "PUT", "http://hr.test/v1/people/42", "{\"field\":\"title\",\"level\":3}",
            "{\"field\":\"title\",\"id\":\"42\",\"level\":3}" },
    { "PUT", "http://hr.test/v1/people/42?level=3&now=true&tags=1&tags=2",
            "{\"field\":\"title\",\"id\":\"42\",\"level\":3}",
            "{\"field\":\"title\",\"id\":\"42\",\"level\":3,\"now\":true,\"tags\":[1,2]}" },
    { "PUT", "http://hr.test/v1/people/42", "{\"field\":\"title\",\"id\":\"43\"}",
            "/id: the URL and the body of the request say different things" },
    { "PUT", "http://hr.test/v1/people/42?id=43", "{\"field\":\"title\"}",
            "/id: it is there more than once" },
    { "PUT", "http://hr.test/v1/people/x%79?field=title", NULL, "/id: 'xy' does not match" },
    { "PUT", "http://hr.test/v1/people/42?field=title&level=03", NULL,
            "/level: '03' is no integer in its plain form" },
    { "PUT", "http://hr.test/v1/people/42?field=title&now=1", NULL,
            "/now: '1' is neither true nor false" },
    { "PUT", "http://hr.test/v1/people/42?field=%00", NULL, "the query has a '%'" },
    { "PUT", "http://hr.test/v1/people/42?field=title&%", NULL, "the query has a '%'" },
    { "PUT", "http://hr.test/v1/people/42?field=title&x", NULL, "/x: the action has no such" },
    { "PUT", "http://hr.test/v1/people/42?field=title&note=a+%C3%BC%26", NULL,
            "{\"field\":\"title\",\"id\":\"42\",\"note\":\"a \xc3\xbc&\"}" },
    { "PUT", "http://hr.test/v1/people/42?field=title&note=%ff", NULL,
            "/note: the text is not UTF-8" },
    { "PUT", "http://hr.test/v1/people/42?field=title&note=x;level=9", NULL,
            "the query has a ';'" },
    { "PUT", "http://hr.test/v1/people/42?field=title&note=x%3Blevel=9", NULL,
            "{\"field\":\"title\",\"id\":\"42\",\"note\":\"x;level=9\"}" },
    { "GET", "http://hr.test/v1/people?unit=a&unit=b", NULL, "{\"unit\":[\"a\",\"b\"]}" },
    { "GET", "http://hr.test/v1/people?unit=a&unit=c", NULL, "/unit/1: 'c' is none" },
};

START_TEST(a_request_says_the_same_by_its_url_and_its_body)
{
    const struct url_case *c = &url_cases[_i];
    struct form_case expected = { .json = c->url, .form = c->form };
    struct http_action action;
    struct action_input input = { .json = c->body,
        .json_length = c->body == NULL ? 0 : strlen(c->body) };
    struct action_form form = { NULL };
    struct fail fail = { 0 };
    abx_status r = policy_http_action(policy, c->url, c->method, &action, &fail);

    if (r == ABX_OK) {
        input.texts = action.texts.data;
        input.n_texts = action.texts.count;
        r = policy_action_read(policy, action.name, &input, &form, &fail);
        http_action_done(&action);
    }
    expect(&expected, r, &form, &fail);
}
END_TEST

static const struct explained_case {
    uint32_t kind;
    const char *target, *verb, *has, *has_too;
} explained_cases[] = {
    { ABX_REQUEST_ACTION, "update", "{ \"id\":\"7\",\"field\":\"title\"}",
            "{\"verdict\":\"ask\",\"rule\":\"/actions/0\"",
            "\"action\":\"update\",\"arguments\":{\"field\":\"title\",\"id\":\"7\"}" },
    { ABX_REQUEST_ACTION, "update", "{\"id\":\"x\",\"field\":\"title\"}",
            "{\"verdict\":\"deny\",\"rule\":\"action:arguments\"",
            "\"reason\":\"/id: 'x' does not match '^[0-9]{1,9}$'\",\"alternative\":\"correct the "
            "arguments, and try again\"" },
    { ABX_REQUEST_ACTION, "update", NULL, "\"reason\":\"/field: it is missing\"",
            "\"lost\":\"the arguments do not fit\"" },
    { ABX_REQUEST_ACTION, "update", "[", "\"verdict\":\"deny\"", "the arguments are no JSON" },
    { ABX_REQUEST_ACTION, "any", NULL, "\"verdict\":\"allow\"", "\"arguments\":{}" },
    { ABX_REQUEST_ACTION, "unknown", "[", "\"rule\":\"default\"",
            "\"alternative\":\"\",\"action\":\"unknown\"" },
    { ABX_REQUEST_HTTP, "https://hr.test/v1/people/x", "PUT", "\"verdict\":\"deny\"",
            "\"reason\":\"/id: 'x' does not match" },
    { ABX_REQUEST_HTTP, "https://hr.test/v1/people/7", "PUT", "\"verdict\":\"ask\"",
            "\"action\":\"update\",\"arguments\":{\"id\":\"7\"}" },
    { ABX_REQUEST_HTTP, "https://hr.test/v1/people?unit=c", NULL, "\"verdict\":\"deny\"",
            "\"reason\":\"/unit/0: 'c' is none of its values" },
    { ABX_REQUEST_HTTP, "https://hr.test/v1/people", NULL, "\"verdict\":\"deny\"",
            "\"reason\":\"/unit: it is missing\"" },
    { ABX_REQUEST_HTTP, "https://hr.test/v1/people?unit=a;", NULL, "\"verdict\":\"deny\"",
            "the query has a ';'" },
    { ABX_REQUEST_HTTP, "https://hr.test/v1/any/x?y", NULL, "\"verdict\":\"allow\"",
            "\"action\":\"any\"" },
};

/* As what asks for it would be answered: test_supervise_actions.c. */
START_TEST(what_does_not_fit_is_explained)
{
    const struct explained_case *c = &explained_cases[_i];
    const abx_request request = {
        .size = sizeof request, .kind = c->kind, .target = c->target, .verb = c->verb
    };
    char *json;

    ck_assert_int_eq(abx_policy_explain(policy, &request, &json, NULL), ABX_OK);
    ck_assert_msg(strstr(json, c->has) != NULL && strstr(json, c->has_too) != NULL, "%s", json);
    abx_free(json);
}
END_TEST

START_TEST(what_no_rule_names_is_no_action)
{
    struct http_action action;
    struct fail fail = { 0 };

    ck_assert_int_eq(
            policy_http_action(policy, "http://hr.test/v1/people/42", "DELETE", &action, &fail),
            ABX_OK);
    ck_assert_ptr_null(action.name);
    http_action_done(&action);
}
END_TEST

START_TEST(layers_that_name_different_actions_deny_it)
{
    static const char other_json[] = "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":["
                                     "{\"host\":\"hr.test\",\"http\":["
                                     "{\"methods\":[\"*\"],\"path\":\"/"
                                     "**\",\"action\":\"other\"}]}]},\"actions\":[{\"name\":"
                                     "\"other\",\"verdict\":\"allow\"}]}";
    abx_policy *other, *both;
    struct http_action action;
    struct fail fail = { 0 };

    ck_assert_int_eq(abx_policy_from_json(other_json, strlen(other_json), &other, NULL), ABX_OK);
    ck_assert_int_eq(abx_policy_intersect(other, policy, &both, NULL), ABX_OK);
    ck_assert_int_eq(policy_http_action(both, "http://hr.test/v1/people/42", "PUT", &action, &fail),
            ABX_ERR_DENIED);
    abx_policy_unref(both);
    abx_policy_unref(other);
}
END_TEST

START_TEST(of_several_layers_the_smaller_limit_holds_and_all_must_fit)
{
    static const char ceiling_json[] =
            "{\"version\":1,\"actions\":[{\"name\":\"update\",\"verdict\":\"allow\",\"arguments\":{"
            "\"id\":{\"type\":\"string\"},\"field\":{\"type\":\"string\",\"enum\":[\"phone\"]}},"
            "\"limits\":{\"per_box\":1}}]}";
    abx_policy *ceiling, *both;
    struct action_limits limits;
    struct action_form form;
    struct fail fail = { 0 };
    struct action_input title = { .json = "{\"id\":\"1\",\"field\":\"title\"}", .json_length = 26 };
    struct action_input phone = { .json = "{\"id\":\"1\",\"field\":\"phone\"}", .json_length = 26 };

    ck_assert_int_eq(
            abx_policy_from_json(ceiling_json, strlen(ceiling_json), &ceiling, NULL), ABX_OK);
    ck_assert_int_eq(abx_policy_intersect(ceiling, policy, &both, NULL), ABX_OK);
    limits = policy_action_limits(both, "update");
    ck_assert_uint_eq(limits.per_box, 1);
    ck_assert_uint_eq(limits.per_command, 1);
    ck_assert_int_eq(policy_action_read(both, "update", &title, &form, &fail), ABX_ERR_DENIED);
    ck_assert_int_eq(policy_action_read(both, "update", &phone, &form, &fail), ABX_OK);
    free(form.arguments);
    abx_policy_unref(both);
    abx_policy_unref(ceiling);
}
END_TEST

START_TEST(a_policy_is_written_as_it_is_read)
{
    abx_policy *again;
    char *json;

    ck_assert_int_eq(abx_policy_to_json(policy, &json, NULL), ABX_OK);
    ck_assert_int_eq(abx_policy_from_json(json, strlen(json), &again, NULL), ABX_OK);
    ck_assert_str_eq(abx_policy_get_digest(again), abx_policy_get_digest(policy));
    ck_assert_ptr_nonnull(strstr(json, "\"/v1/people/{id}\""));
    abx_free(json);
    abx_policy_unref(again);
}
END_TEST

static const struct change_case {
    const char *what, *from, *to;
    int32_t relation;
    const char *example, *before, *after; /* of a row; NULL: any */
} change_cases[] = {
    { "nothing", "20", "20", ABX_RELATION_EQUAL },
    { "a higher limit", "\"per_box\":2", "\"per_box\":3", ABX_RELATION_WIDER },
    { "a lower limit", "\"per_box\":2", "\"per_box\":1", ABX_RELATION_NARROWER },
    { "a lower maximum", "\"maximum\":9", "\"maximum\":8", ABX_RELATION_NARROWER,
            "action update argument level maximum", "9", "8" },
    { "no maximum", ",\"maximum\":9", "", ABX_RELATION_WIDER,
            "action update argument level maximum", "9", "none" },
    { "a required argument more", "\"arguments\":{\"id\"",
            "\"arguments\":{\"x\":{\"type\":\"boolean\"},\"id\"", ABX_RELATION_NEITHER,
            "action update argument x", "none", "required" },
    { "a lower minimum", "\"minimum\":1", "\"minimum\":-1", ABX_RELATION_WIDER,
            "action update argument level minimum", "1", "-1" },
    { "a higher minimum", "\"minimum\":1", "\"minimum\":2", ABX_RELATION_NARROWER,
            "action update argument level minimum", "1", "2" },
    { "both bounds moved", "\"minimum\":1,\"maximum\":9", "\"minimum\":2,\"maximum\":10",
            ABX_RELATION_NEITHER, "action update argument level maximum", "9", "10" },
    { "fewer elements", "\"max_items\":3", "\"max_items\":2", ABX_RELATION_NARROWER,
            "action update argument tags max_items", "3", "2" },
    { "any number of elements", ",\"max_items\":3", "", ABX_RELATION_WIDER,
            "action update argument tags max_items", "3", "10000" },
    { "a choice more", "\"phone\"]", "\"phone\",\"room\"]", ABX_RELATION_WIDER,
            "action update argument field enum room", "has not", "has" },
    { "a choice less", ",\"phone\"]", "]", ABX_RELATION_NARROWER,
            "action update argument field enum phone", "has", "has not" },
    { "another choice", "\"phone\"]", "\"room\"]", ABX_RELATION_NEITHER,
            "action update argument field enum room", "has not", "has" },
    { "all texts", ",\"enum\":[\"title\",\"phone\"]", "", ABX_RELATION_WIDER,
            "action update argument field enum", "a list", "any" },
    { "a choice of an array's", "\"enum\":[\"a\",\"b\"]", "\"enum\":[\"b\",\"a\",\"c\"]",
            ABX_RELATION_WIDER, "action list argument unit enum c", "has not", "has" },
    { "what is optional", "\"boolean\",\"optional\":true},\"note", "\"boolean\"},\"note",
            ABX_RELATION_NARROWER, "action update argument now", "optional", "required" },
    { "an argument less", "\"note\":{\"type\":\"string\",\"optional\":true},", "",
            ABX_RELATION_NARROWER, "action update argument note", "optional", "none" },
    { "an argument more", "\"note\":{\"type\":\"string\",\"optional\":true},",
            "\"note\":{\"type\":\"string\",\"optional\":true},\"more\":{\"type\":\"boolean\","
            "\"optional\":true},",
            ABX_RELATION_WIDER, "action update argument more", "none", "optional" },
    { "another pattern", "{1,9}$", "{1,8}$", ABX_RELATION_NEITHER,
            "action update argument id pattern", "^[0-9]{1,9}$", "^[0-9]{1,8}$" },
    { "another type", "\"now\":{\"type\":\"boolean\"", "\"now\":{\"type\":\"string\"",
            ABX_RELATION_NEITHER, "action update argument now type", "boolean", "string" },
    { "no declaration",
            ",\"arguments\":{\"unit\":{\"type\":\"array\",\"items\":{\"type\":"
            "\"string\",\"enum\":[\"a\",\"b\"]}},\"all\":{\"type\":\"boolean\","
            "\"optional\":true}}",
            "", ABX_RELATION_WIDER, "action list arguments", NULL, "any" },
};

static void
expect_row(abx_report *report, const struct change_case *c)
{
    bool found = false;

    for (size_t i = 0; i < abx_report_get_count(report); i++) {
        if (strcmp(abx_report_get_string(report, i, "example"), c->example) == 0) {
            found = true;
            ck_assert_str_eq(abx_report_get_string(report, i, "after"), c->after);
            if (c->before != NULL) {
                ck_assert_str_eq(abx_report_get_string(report, i, "before"), c->before);
            }
        }
    }
    ck_assert_msg(found, "%s: no row '%s'", c->what, c->example);
}

START_TEST(a_change_of_what_an_action_takes_is_a_difference)
{
    const struct change_case *c = &change_cases[_i];
    const char *at = strstr(policy_json, c->from);
    char json[2 * sizeof policy_json];
    abx_policy *other;
    abx_report *report = NULL;
    abx_error *error = NULL;
    int32_t relation;

    snprintf(json, sizeof json, "%.*s%s%s", (int)(at == NULL ? 0 : at - policy_json), policy_json,
            at == NULL ? "" : c->to, at == NULL ? policy_json : at + strlen(c->from));
    ck_assert_int_eq(abx_policy_from_json(json, strlen(json), &other, NULL), ABX_OK);
    relation = abx_policy_compare(policy, other, &report, &error);
    ck_assert_msg(relation == c->relation, "%s: %d", c->what, relation);
    if (c->example != NULL) {
        expect_row(report, c);
    }
    abx_report_unref(report);
    abx_policy_unref(other);
}
END_TEST

static const struct bad_case {
    const char *path, *why;
} bad_cases[] = {
    { "/a/{x}/{x}", "two segments are called '{x}'" },
    { "/a/**/{x}", "stands behind '**'" },
};

START_TEST(a_capture_that_is_ambiguous_is_refused)
{
    char json[512];
    abx_policy *other = NULL;
    abx_error *error = NULL;

    snprintf(json, sizeof json,
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[{\"host\":\"a.test\","
            "\"http\":"
            "[{\"methods\":[\"GET\"],\"path\":\"%s\",\"action\":\"a\"}]}]},\"actions\":[{\"name\":"
            "\"a\","
            "\"verdict\":\"ask\"}]}",
            bad_cases[_i].path);
    ck_assert_int_eq(abx_policy_from_json(json, strlen(json), &other, &error), ABX_ERR_POLICY);
    ck_assert_ptr_nonnull(strstr(abx_error_get_message(error), bad_cases[_i].why));
    abx_error_unref(error);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("action");
    TCase *tc = tcase_create("action");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, arguments_have_one_form_or_are_refused_with_their_pointer, 0,
            N_ELEMENTS(form_cases));
    tcase_add_loop_test(
            tc, a_request_says_the_same_by_its_url_and_its_body, 0, N_ELEMENTS(url_cases));
    tcase_add_loop_test(tc, what_does_not_fit_is_explained, 0, N_ELEMENTS(explained_cases));
    tcase_add_test(tc, what_no_rule_names_is_no_action);
    tcase_add_test(tc, layers_that_name_different_actions_deny_it);
    tcase_add_test(tc, of_several_layers_the_smaller_limit_holds_and_all_must_fit);
    tcase_add_test(tc, a_policy_is_written_as_it_is_read);
    tcase_add_loop_test(
            tc, a_change_of_what_an_action_takes_is_a_difference, 0, N_ELEMENTS(change_cases));
    tcase_add_loop_test(tc, a_capture_that_is_ambiguous_is_refused, 0, N_ELEMENTS(bad_cases));
    suite_add_tcase(suite, tc);
    return suite;
}

UNIT_MAIN(make_suite)
