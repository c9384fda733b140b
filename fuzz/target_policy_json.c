/* SPDX-License-Identifier: Apache-2.0
 * A policy document of any bytes: read or refused with a place, and if read, written and read again
 * to the same policy. */
#include <agentbox/agentbox.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    abx_policy_builder *builder = NULL;
    abx_policy *policy = NULL, *again = NULL;
    abx_error *error = NULL;
    char *json = NULL, *text = NULL;
    size_t length;

    if (size > 65536 || abx_policy_builder_new(NULL, &builder, NULL) < 0) {
        return 0;
    }
    abx_policy_builder_variable(builder, "home", "/home/u");
    abx_policy_builder_variable(builder, "workspace", "/w");
    abx_policy_builder_variable(builder, "output", "/out");
    abx_policy_builder_merge_json(builder, (const char *)data, size);
    if (abx_policy_builder_build(builder, &policy, &error) < 0) {
        if (strncmp(abx_error_get_step(error), "policy:", 7) != 0) {
            abort();
        }
        abx_error_unref(error);
        abx_policy_builder_unref(builder);
        return 0;
    }
    abx_policy_builder_unref(builder);
    if (abx_policy_to_json(policy, &json, &length) < 0 ||
            abx_policy_from_json(json, length, &again, NULL) < 0 ||
            strcmp(abx_policy_get_digest(policy), abx_policy_get_digest(again)) != 0 ||
            abx_policy_describe(policy, "json", &text, NULL) < 0) {
        abort();
    }
    free(json);
    free(text);
    abx_policy_unref(policy);
    abx_policy_unref(again);
    return 0;
}
