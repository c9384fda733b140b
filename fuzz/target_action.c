/* SPDX-License-Identifier: Apache-2.0
 * Arguments of an action: the first byte says how they come, as JSON or by a URL.  What fits has
 * one form, and that fits again and is its own form. */
#include "policy/policy.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char policy_json[] =
        "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[{\"host\":\"h.test\","
        "\"http\":[{"
        "\"methods\":[\"PUT\"],\"path\":\"/v1/{id}/"
        "{n}\",\"action\":\"a\"}]}]},\"actions\":[{\"name\":\"a\","
        "\"verdict\":\"ask\",\"arguments\":{\"id\":{\"type\":\"string\",\"pattern\":"
        "\"([a-z0-9]+|x.)*[^z]{0,9}\",\"optional\":true},\"n\":{\"type\":\"integer\",\"minimum\":-"
        "5,"
        "\"maximum\":500,\"optional\":true},\"b\":{\"type\":\"boolean\",\"optional\":true},\"l\":{"
        "\"type\":"
        "\"array\",\"items\":{\"type\":\"string\"},\"max_items\":5,\"optional\":true},\"e\":{"
        "\"type\":"
        "\"string\",\"enum\":[\"one\",\"two\"],\"optional\":true}}},{\"name\":\"any\",\"verdict\":"
        "\"allow\"}]}";

/* The one form is its own. */
static void
check_form(abx_policy *policy, const char *name, const struct action_form *form)
{
    struct action_input input = { .json = form->arguments, .json_length = strlen(form->arguments) };
    struct action_form again;
    struct fail fail = { 0 };

    if (input.json_length > ACTION_INPUT_MAX) {
        return;
    }
    if (policy_action_read(policy, name, &input, &again, &fail) != ABX_OK ||
            strcmp(again.arguments, form->arguments) != 0) {
        abort();
    }
    free(again.arguments);
}

static void
read_json(abx_policy *policy, const char *name, const char *text, size_t length)
{
    struct action_input input = { .json = text, .json_length = length };
    struct action_form form;
    struct fail fail = { 0 };

    if (policy_action_read(policy, name, &input, &form, &fail) == ABX_OK) {
        check_form(policy, name, &form);
        free(form.arguments);
    }
}

static void
read_url(abx_policy *policy, const char *text)
{
    struct http_action action;
    struct action_form form;
    struct fail fail = { 0 };
    struct action_input input = { .json = NULL };

    if (policy_http_action(policy, text, "PUT", &action, &fail) != ABX_OK) {
        return;
    }
    input.texts = action.texts.data;
    input.n_texts = action.texts.count;
    if (action.name != NULL &&
            policy_action_read(policy, action.name, &input, &form, &fail) == ABX_OK) {
        check_form(policy, action.name, &form);
        free(form.arguments);
    }
    http_action_done(&action);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static abx_policy *policy;
    AUTO(freep) char *text = size == 0 ? NULL : strndup((const char *)data + 1, size - 1);

    if (policy == NULL &&
            abx_policy_from_json(policy_json, strlen(policy_json), &policy, NULL) < 0) {
        abort();
    }
    if (text == NULL) {
        return 0;
    }
    switch (data[0] % 3) {
    case 0:
        read_json(policy, "a", text, strlen(text));
        break;
    case 1:
        read_json(policy, "any", text, strlen(text));
        break;
    default:
        read_url(policy, text);
        break;
    }
    return 0;
}
