/* SPDX-License-Identifier: Apache-2.0
 * The doors of the policy builder, of JSON both ways and of the description: argument checks, then
 * one call down.  A setter that fails poisons its builder; build hands out that first failure. */
#include "policy/builder.h"

#include "api/door.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a setter returns: remembers the first failure, with a step where the place gave none. */
static abx_status
settle(abx_policy_builder *builder, const char *step, abx_status r, struct fail *fail)
{
    if (r >= 0) {
        return ABX_OK;
    }
    if (fail->step[0] == '\0') {
        snprintf(fail->step, sizeof fail->step, "policy:%s", step);
    }
    builder->failed = true;
    builder->fail = *fail;
    return r;
}

/* Whether something may be added.  A poisoned builder repeats its first failure; nothing can be
 * added to one that was built, or that has its layers from a document. */
static abx_status
may_add(abx_policy_builder *builder)
{
    struct fail fail = { 0 };

    if (builder == NULL) {
        return ABX_ERR_INVALID;
    }
    if (builder->failed) {
        return builder->fail.status;
    }
    if (builder->layer == NULL) {
        return ABX_ERR_STATE;
    }
    if (builder->layers.count > 0) {
        fail_set(&fail, ABX_ERR_STATE, 0, "", "a document with layers stands alone");
        return settle(builder, "layers", fail.status, &fail);
    }
    return ABX_OK;
}

static abx_status
null_argument(struct fail *fail)
{
    return fail_set(fail, ABX_ERR_INVALID, 0, "", "NULL argument");
}

abx_status
abx_policy_builder_new(const char *profile, abx_policy_builder **ret_builder, abx_error **reterr)
{
    struct fail fail = { 0 };
    abx_policy_builder *builder;

    if (ret_builder == NULL) {
        null_argument(&fail);
        return fail_out(&fail, reterr);
    }
    builder = builder_new(&fail);
    if (builder == NULL) {
        return fail_out(&fail, reterr);
    }
    if (profile != NULL && builder_set_profile(builder, profile, &fail) < 0) {
        settle(builder, "profile", fail.status, &fail);
        builder_free(builder);
        return fail_out(&fail, reterr);
    }
    *ret_builder = builder;
    return ABX_OK;
}

abx_policy_builder *
abx_policy_builder_ref(abx_policy_builder *builder)
{
    if (builder != NULL) {
        atomic_fetch_add_explicit(&builder->references, 1, memory_order_relaxed);
    }
    return builder;
}

void
abx_policy_builder_unref(abx_policy_builder *builder)
{
    if (builder != NULL &&
            atomic_fetch_sub_explicit(&builder->references, 1, memory_order_acq_rel) == 1) {
        builder_free(builder);
    }
}

abx_status
abx_policy_builder_variable(abx_policy_builder *builder, const char *name, const char *value)
{
    struct fail fail = { 0 };
    abx_status r = may_add(builder);

    if (r < 0) {
        return r;
    }
    r = name == NULL || value == NULL ? null_argument(&fail)
                                      : builder_set_variable(builder, name, value, &fail);
    return settle(builder, "variable", r, &fail);
}

/* Texts of a rule that no document holds. */
static void
own_texts(abx_policy_builder *builder, char id[32], struct entry_texts *ret_texts)
{
    snprintf(id, 32, "builder:/%zu", builder->n_rules++);
    *ret_texts = (struct entry_texts){ .id = id, .origin = ORIGIN_OWN };
}

static abx_status
add_path(abx_policy_builder *builder, const char *pattern, uint32_t access, abx_verdict verdict,
        struct fail *fail)
{
    static const uint32_t bits[] = { ABX_ACCESS_READ, ABX_ACCESS_WRITE, ABX_ACCESS_EXEC };
    struct entry_texts texts;
    char id[32];
    abx_status r = ABX_OK;

    if (pattern == NULL) {
        return null_argument(fail);
    }
    if (access == 0 || access > 7 || verdict > ABX_VERDICT_ASK) {
        return fail_set(fail, ABX_ERR_INVALID, 0, "", "access %u or verdict %u is unknown", access,
                verdict);
    }
    own_texts(builder, id, &texts);
    for (size_t i = 0; r >= 0 && i < N_ELEMENTS(bits); i++) {
        if (access & bits[i]) {
            r = builder_add_path(builder, pattern, bits[i], verdict, &texts, fail);
        }
    }
    return r;
}

abx_status
abx_policy_builder_path(
        abx_policy_builder *builder, const char *pattern, uint32_t access, abx_verdict verdict)
{
    struct fail fail = { 0 };
    abx_status r = may_add(builder);

    if (r < 0) {
        return r;
    }
    return settle(builder, "path", add_path(builder, pattern, access, verdict, &fail), &fail);
}

/* Setters that need a network turn it on where nothing was said about it. */
static void
default_mode(abx_policy_builder *builder, enum network_mode mode)
{
    if (!(builder->given & GIVEN_MODE)) {
        builder->given |= GIVEN_MODE;
        builder->layer->has_network = true;
        builder->layer->settings.network = mode;
    }
}

static abx_status
add_host(abx_policy_builder *builder, const char *host, uint16_t port_first, uint16_t port_last,
        abx_verdict verdict, struct fail *fail)
{
    struct entry_texts texts;
    char id[32];
    abx_status r;

    if (host == NULL) {
        return null_argument(fail);
    }
    if (verdict > ABX_VERDICT_ASK) {
        return fail_set(fail, ABX_ERR_INVALID, 0, "", "verdict %u is unknown", verdict);
    }
    own_texts(builder, id, &texts);
    r = builder_add_host(builder, host, port_first, port_last, verdict, &texts, fail);
    if (r >= 0 && verdict != ABX_VERDICT_DENY) {
        default_mode(builder, NETWORK_FILTERED);
    }
    return r;
}

abx_status
abx_policy_builder_host(abx_policy_builder *builder, const char *host, uint16_t port_first,
        uint16_t port_last, abx_verdict verdict)
{
    struct fail fail = { 0 };
    abx_status r = may_add(builder);

    if (r < 0) {
        return r;
    }
    return settle(
            builder, "host", add_host(builder, host, port_first, port_last, verdict, &fail), &fail);
}

abx_status
abx_policy_builder_env(abx_policy_builder *builder, const char *name, const char *value)
{
    struct fail fail = { 0 };
    abx_status r = may_add(builder);

    if (r < 0) {
        return r;
    }
    r = name == NULL ? null_argument(&fail) : builder_add_env(builder, name, value, &fail);
    return settle(builder, "env", r, &fail);
}

abx_status
abx_policy_builder_limit(abx_policy_builder *builder, uint32_t limit, uint64_t value)
{
    struct fail fail = { 0 };
    abx_status r = may_add(builder);

    if (r < 0) {
        return r;
    }
    return settle(builder, "limit", builder_set_limit(builder, limit, value, &fail), &fail);
}

abx_status
abx_policy_builder_explain(abx_policy_builder *builder, const char *reason, const char *alternative)
{
    struct fail fail = { 0 };
    abx_status r = may_add(builder);

    if (r < 0) {
        return r;
    }
    return settle(builder, "explain", builder_explain(builder, reason, alternative, &fail), &fail);
}

abx_status
abx_policy_builder_weaken(abx_policy_builder *builder, uint32_t what, const char *reason)
{
    struct fail fail = { 0 };
    abx_status r = may_add(builder);

    if (r < 0) {
        return r;
    }
    r = builder_weaken(builder, what, reason, &fail);
    if (r >= 0 && what == ABX_WEAKEN_HOST_NETWORK) {
        default_mode(builder, NETWORK_HOST);
    }
    return settle(builder, "weaken", r, &fail);
}

abx_status
abx_policy_builder_source(abx_policy_builder *builder, const char *source)
{
    struct fail fail = { 0 };
    abx_status r = may_add(builder);
    char *copy;

    if (r < 0) {
        return r;
    }
    if (source == NULL || source[0] == '\0') {
        r = fail_set(&fail, ABX_ERR_INVALID, 0, "", "the source is empty");
        return settle(builder, "source", r, &fail);
    }
    copy = text_escape(source, strlen(source), false);
    if (copy == NULL) {
        return settle(builder, "source", fail_nomem(&fail), &fail);
    }
    free(builder->source);
    builder->source = copy;
    return ABX_OK;
}

abx_status
abx_policy_builder_merge_json(abx_policy_builder *builder, const char *json, size_t length)
{
    struct fail fail = { 0 };
    AUTO(freep) char *source = NULL;
    abx_status r = may_add(builder);

    if (r < 0) {
        return r;
    }
    source = steal_ptr(&builder->source);
    r = json == NULL ? null_argument(&fail) : policy_parse(builder, source, json, length, &fail);
    return settle(builder, "", r, &fail);
}

abx_status
abx_policy_builder_build(abx_policy_builder *builder, abx_policy **ret_policy, abx_error **reterr)
{
    struct fail fail = { 0 };
    abx_policy *policy = NULL;
    abx_status r;

    if (builder == NULL || ret_policy == NULL) {
        null_argument(&fail);
        return fail_out(&fail, reterr);
    }
    if (builder->failed) {
        return fail_out(&builder->fail, reterr);
    }
    r = settle(builder, "build", builder_build(builder, &policy, &fail), &fail);
    if (r < 0) {
        return fail_out(&fail, reterr);
    }
    *ret_policy = policy;
    return ABX_OK;
}

abx_status
abx_policy_from_json(const char *json, size_t length, abx_policy **ret_policy, abx_error **reterr)
{
    struct fail fail = { 0 };
    abx_policy_builder *builder;
    abx_status r;

    if (json == NULL || ret_policy == NULL) {
        null_argument(&fail);
        return fail_out(&fail, reterr);
    }
    r = abx_policy_builder_new(NULL, &builder, reterr);
    if (r < 0) {
        return r;
    }
    abx_policy_builder_merge_json(builder, json, length);
    r = abx_policy_builder_build(builder, ret_policy, reterr);
    abx_policy_builder_unref(builder);
    return r;
}

abx_status
abx_policy_to_json(abx_policy *policy, char **ret_json, size_t *ret_length)
{
    if (policy == NULL || ret_json == NULL) {
        return ABX_ERR_INVALID;
    }
    return door_text(emit_policy(policy, ret_length), ret_json);
}

abx_status
abx_policy_describe(abx_policy *policy, const char *format, char **ret_text, size_t *ret_length)
{
    struct fail fail = { 0 };

    if (policy == NULL || ret_text == NULL) {
        return ABX_ERR_INVALID;
    }
    return policy_describe(policy, format == NULL ? "text" : format, ret_text, ret_length, &fail);
}
