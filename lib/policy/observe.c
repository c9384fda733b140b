/* SPDX-License-Identifier: Apache-2.0
 * The policy that a box in observe mode has: the given one, and an allowing rule for all that no
 * rule of it speaks of, where that is safe.  What a rule denies or asks about stays so, and secrets
 * are denied whatever it says.  Pure. */
#include "policy/builder.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Nobody has these names; a rule about them has a backend ask about every name. */
#define EVERY_NAME "**/.agentbox-observes-every-name"
#define EVERY_PROGRAM "/.agentbox-observes-every-program"

static abx_status
add_path(abx_policy_builder *builder, const char *path, uint32_t access, abx_verdict verdict,
        struct fail *fail)
{
    const struct entry_texts texts = {
        .id = verdict == ABX_VERDICT_ALLOW ? "observe" : "observe:secret",
        .reason = "observe mode lets nobody read credentials and private data",
        .origin = ORIGIN_PROFILE,
    };

    return builder_add_path(builder, path, access, verdict, &texts, fail);
}

static abx_status
add_paths(abx_policy_builder *builder, const struct policy_settings *settings, struct fail *fail)
{
    abx_status r = add_path(builder, "/", ABX_ACCESS_READ, ABX_VERDICT_ALLOW, fail);

    if (r >= 0 && settings->restricts_exec) {
        r = add_path(builder, "/", ABX_ACCESS_EXEC, ABX_VERDICT_ALLOW, fail);
    }
    if (r >= 0 && settings->workspace != NULL) {
        r = add_path(builder, "${workspace}", ABX_ACCESS_WRITE, ABX_VERDICT_ALLOW, fail);
    }
    r = r < 0 ? r : add_path(builder, "/tmp", ABX_ACCESS_WRITE, ABX_VERDICT_ALLOW, fail);
    for (const char *const *path = secret_paths(); r >= 0 && *path != NULL; path++) {
        if (**path != '~' || settings->home != NULL) {
            r = add_path(builder, *path, ABX_ACCESS_READ, ABX_VERDICT_DENY, fail);
        }
    }
    r = r < 0 ? r : add_path(builder, EVERY_NAME, ABX_ACCESS_READ, ABX_VERDICT_DENY, fail);
    return r < 0 ? r : add_path(builder, EVERY_PROGRAM, ABX_ACCESS_EXEC, ABX_VERDICT_DENY, fail);
}

static abx_status
add_network(abx_policy_builder *builder, const struct policy_settings *settings, struct fail *fail)
{
    const struct entry_texts texts = { .id = "observe", .origin = ORIGIN_PROFILE };

    if (settings->network == NETWORK_HOST) {
        return ABX_OK;
    }
    builder->layer->settings.network = NETWORK_FILTERED;
    return builder_add_host(builder, "*", 1, 65535, ABX_VERDICT_ALLOW, &texts, fail);
}

abx_status
policy_observe(abx_policy *policy, abx_policy **ret_observed, struct fail *fail)
{
    const struct policy_settings *settings = policy_get_settings(policy);
    size_t length;
    AUTO(freep) char *json = NULL;
    abx_policy_builder *builder;
    abx_status r;

    if (policy_layer_count(policy) != 1) {
        return fail_set(fail, ABX_ERR_UNSUPPORTED, 0, "observe:layers",
                "a policy with layers cannot be observed: learn for one of them");
    }
    json = emit_policy(policy, &length);
    builder = json == NULL ? NULL : builder_new(fail);
    if (builder == NULL) {
        return fail_nomem(fail);
    }
    r = policy_parse(builder, NULL, json, length, fail);
    r = r < 0 ? r : add_paths(builder, settings, fail);
    r = r < 0 ? r : add_network(builder, settings, fail);
    r = r < 0 ? r : builder_build(builder, ret_observed, fail);
    builder_free(builder);
    return r;
}
