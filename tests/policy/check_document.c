/* SPDX-License-Identifier: Apache-2.0
 * For tests/policy/check_schema.py: reads documents from standard input, each as its length, a line
 * end and its bytes; writes for each a line with the status and the message. */
#include <agentbox/agentbox.h>

#include <stdio.h>
#include <stdlib.h>

static void
check(const char *json, size_t length)
{
    abx_policy_builder *builder = NULL;
    abx_policy *policy = NULL;
    abx_error *error = NULL;
    abx_status r;

    abx_policy_builder_new(NULL, &builder, NULL);
    abx_policy_builder_variable(builder, "home", "/home/u");
    abx_policy_builder_variable(builder, "workspace", "/w");
    abx_policy_builder_variable(builder, "output", "/out");
    abx_policy_builder_merge_json(builder, json, length);
    r = abx_policy_builder_build(builder, &policy, &error);
    printf("%d %s\n", r, r < 0 ? abx_error_get_message(error) : "");
    abx_error_unref(error);
    abx_policy_unref(policy);
    abx_policy_builder_unref(builder);
}

int
main(void)
{
    size_t length;

    while (scanf("%zu\n", &length) == 1) {
        char *json = malloc(length + 1);

        if (json == NULL || fread(json, 1, length, stdin) != length) {
            return 1;
        }
        check(json, length);
        free(json);
    }
    return 0;
}
