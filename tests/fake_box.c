/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_box.h"

#include "supervise/context.h"

#include <check.h>
#include <string.h>

abx_policy *
fake_policy(const char *json)
{
    abx_policy *policy = NULL;
    abx_error *error = NULL;

    ck_assert_msg(abx_policy_from_json(json, strlen(json), &policy, &error) == ABX_OK, "%s",
            abx_error_get_message(error));
    return policy;
}

void
fake_box_open(abx_policy *policy, size_t events, const char *label, abx_context **ret_context,
        abx_box **ret_box, abx_process **ret_process)
{
    static const char *const argv[] = { "/bin/fake", NULL };
    const abx_spawn_options options = { .size = sizeof options, .label = label };
    struct fail fail = { 0 };

    ck_assert_int_eq(context_new(&fake_backend, NULL, events, ret_context, &fail), ABX_OK);
    ck_assert_msg(box_open(*ret_context, policy, NULL, ret_box, &fail) == ABX_OK, "%s %s",
            fail.step, fail.text);
    ck_assert_int_eq(abx_box_spawn(*ret_box, argv, &options, ret_process, NULL), ABX_OK);
    abx_policy_unref(policy);
}
