/* SPDX-License-Identifier: Apache-2.0
 * Owns the comparison of what is no verdict: limits, the environment, inputs, credentials' places
 * and what was weakened.  Values of variables are not repeated, only their names.  Pure, one
 * thread. */
#include "policy/compare_private.h"
#include "policy/identity.h"
#include "policy/index.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

static abx_status
add(struct comparison *comparison, enum finding_change change, const char *name, const char *before,
        const char *after, struct fail *fail)
{
    const char *texts[SIDES] = { before, after };
    const char *rules[SIDES] = { "", "" };

    return comparison_add(comparison, change, "setting", name, texts, rules, fail);
}

/* Where more is more; `zero_is_none`: 0 means no limit, and so most. */
static abx_status
compare_number(struct comparison *comparison, const char *name, uint64_t before, uint64_t after,
        bool zero_is_none, struct fail *fail)
{
    uint64_t x = before == 0 && zero_is_none ? UINT64_MAX : before;
    uint64_t y = after == 0 && zero_is_none ? UINT64_MAX : after;
    char texts[SIDES][24] = { "none", "none" };

    if (x == y) {
        return ABX_OK;
    }
    if (x != UINT64_MAX) {
        snprintf(texts[BEFORE], sizeof texts[BEFORE], "%llu", (unsigned long long)x);
    }
    if (y != UINT64_MAX) {
        snprintf(texts[AFTER], sizeof texts[AFTER], "%llu", (unsigned long long)y);
    }
    return add(comparison, y > x ? FINDING_WIDER : FINDING_NARROWER, name, texts[BEFORE],
            texts[AFTER], fail);
}

static abx_status
compare_text(struct comparison *comparison, const char *name, const char *before, const char *after,
        struct fail *fail)
{
    before = before == NULL ? "" : before;
    after = after == NULL ? "" : after;
    return strcmp(before, after) == 0 ? ABX_OK
                                      : add(comparison, FINDING_CHANGED, name, before, after, fail);
}

/* A proxy's URL may have a password, so it is not shown. */
static abx_status
compare_upstream(
        struct comparison *comparison, const char *before, const char *after, struct fail *fail)
{
    return strcmp(before == NULL ? "" : before, after == NULL ? "" : after) == 0
                   ? ABX_OK
                   : add(comparison, FINDING_CHANGED, "network.upstream", "", "", fail);
}

static abx_status
compare_numbers(struct comparison *comparison, const struct policy_settings *before,
        const struct policy_settings *after, struct fail *fail)
{
    static const char *const limits[] = { [ABX_LIMIT_MEMORY] = "limits.memory",
        [ABX_LIMIT_PROCESSES] = "limits.processes",
        [ABX_LIMIT_CPU_MS] = "limits.cpu_ms",
        [ABX_LIMIT_WALL_MS] = "limits.wall_ms",
        [ABX_LIMIT_FILE_SIZE] = "limits.file_size",
        [ABX_LIMIT_OUTPUT] = "limits.output" };
    const struct {
        const char *name;
        uint64_t before, after;
        bool zero_is_none;
    } rows[] = {
        { "approvals.timeout_ms", before->approval_timeout_ms, after->approval_timeout_ms, false },
        { "approvals.per_minute", before->approvals_per_minute, after->approvals_per_minute, true },
        { "approvals of one", before->consent.approvers <= 1, after->consent.approvers <= 1,
                false },
        { "approvals without evidence", !before->consent.step_up, !after->consent.step_up, false },
        { "feedback.reads silent", before->silent_reads, after->silent_reads, false },
        { "weaken host-network", before->weaken_host_network, after->weaken_host_network, false },
        { "weaken nested-namespaces", before->weaken_nested_namespaces,
                after->weaken_nested_namespaces, false },
        { "weaken best-effort", before->weaken_best_effort, after->weaken_best_effort, false },
        { "network.mode host", before->network == NETWORK_HOST, after->network == NETWORK_HOST,
                false },
    };
    abx_status r = ABX_OK;

    for (unsigned i = 1; i < N_ELEMENTS(limits) && r == ABX_OK; i++) {
        r = compare_number(comparison, limits[i], before->limits[i], after->limits[i], true, fail);
    }
    for (size_t i = 0; i < N_ELEMENTS(rows) && r == ABX_OK; i++) {
        r = compare_number(comparison, rows[i].name, rows[i].before, rows[i].after,
                rows[i].zero_is_none, fail);
    }
    return r;
}

/* ---- lists ---- */

static bool
has_text(const char *const *list, const char *text)
{
    for (; list != NULL && *list != NULL; list++) {
        if (strcmp(*list, text) == 0) {
            return true;
        }
    }
    return false;
}

/* Each text that only one has.  `hides_value`: it is "NAME=value". */
static abx_status
compare_lists(struct comparison *comparison, const char *name, const char *const *before,
        const char *const *after, bool more_is_wider, bool hides_value, struct fail *fail)
{
    const char *const *lists[SIDES] = { before, after };
    abx_status r = ABX_OK;

    for (unsigned side = 0; side < SIDES; side++) {
        bool wider = (side == AFTER) == more_is_wider;

        for (const char *const *at = lists[side]; at != NULL && *at != NULL && r == ABX_OK; at++) {
            char text[300];
            int length = hides_value ? (int)strcspn(*at, "=") : (int)strlen(*at);
            const char *has[SIDES] = { side == BEFORE ? "has" : "", side == AFTER ? "has" : "" };

            if (!has_text(lists[1 - side], *at)) {
                snprintf(text, sizeof text, "%s %.*s", name, length > 250 ? 250 : length, *at);
                r = add(comparison,
                        hides_value ? FINDING_CHANGED
                        : wider     ? FINDING_WIDER
                                    : FINDING_NARROWER,
                        text, has[BEFORE], has[AFTER], fail);
            }
        }
    }
    return r;
}

static bool
has_input(const struct policy_settings *settings, const struct policy_input *input)
{
    for (size_t i = 0; i < settings->n_inputs; i++) {
        if (strcmp(settings->inputs[i].from, input->from) == 0 &&
                strcmp(settings->inputs[i].as, input->as) == 0) {
            return true;
        }
    }
    return false;
}

static abx_status
compare_inputs(struct comparison *comparison, const struct policy_settings *const both[SIDES],
        struct fail *fail)
{
    abx_status r = ABX_OK;

    for (unsigned side = 0; side < SIDES; side++) {
        for (size_t i = 0; i < both[side]->n_inputs && r == ABX_OK; i++) {
            const struct policy_input *input = &both[side]->inputs[i];
            char text[300];

            if (!has_input(both[1 - side], input)) {
                snprintf(text, sizeof text, "inputs %.250s", input->as);
                r = add(comparison, side == AFTER ? FINDING_WIDER : FINDING_NARROWER, text,
                        side == BEFORE ? input->from : "", side == AFTER ? input->from : "", fail);
            }
        }
    }
    return r;
}

/* ---- credentials: where they go is compared as requests ---- */

static abx_status
compare_credential(struct comparison *comparison, const struct policy_credential *before,
        const struct policy_credential *after, struct fail *fail)
{
    uint32_t gone = before->places & ~after->places, new = after->places & ~before->places;
    char name[200];
    abx_status r = ABX_OK;

    if (gone != 0 || new != 0) {
        snprintf(name, sizeof name, "credential %.150s places", before->name);
        r = add(comparison,
                gone == 0  ? FINDING_WIDER
                : new == 0 ? FINDING_NARROWER
                           : FINDING_CHANGED,
                name, "", "", fail);
    }
    snprintf(name, sizeof name, "credential %.150s clear_text", before->name);
    r = r == ABX_OK ? compare_number(
                              comparison, name, before->clear_text, after->clear_text, false, fail)
                    : r;
    snprintf(name, sizeof name, "credential %.150s lease_s", before->name);
    r = r == ABX_OK ? compare_number(comparison, name, before->lease_s, after->lease_s, true, fail)
                    : r;
    snprintf(name, sizeof name, "credential %.150s env", before->name);
    r = r == ABX_OK ? compare_text(comparison, name, before->env, after->env, fail) : r;
    snprintf(name, sizeof name, "credential %.150s key_env", before->name);
    r = r == ABX_OK ? compare_text(comparison, name, before->key_env, after->key_env, fail) : r;
    snprintf(name, sizeof name, "credential %.150s header", before->name);
    r = r == ABX_OK ? compare_text(comparison, name, before->header, after->header, fail) : r;
    snprintf(name, sizeof name, "credential %.150s query", before->name);
    r = r == ABX_OK ? compare_text(comparison, name, before->query, after->query, fail) : r;
    snprintf(name, sizeof name, "credential %.150s user", before->name);
    r = r == ABX_OK ? compare_text(comparison, name, before->user, after->user, fail) : r;
    snprintf(name, sizeof name, "credential %.150s prefix", before->name);
    return r == ABX_OK ? compare_text(comparison, name, before->prefix, after->prefix, fail) : r;
}

static abx_status
compare_credentials(struct comparison *comparison, const struct policy_settings *before,
        const struct policy_settings *after, struct fail *fail)
{
    abx_status r = ABX_OK;

    for (size_t i = 0; i < before->n_credentials; i++) {
        for (size_t k = 0; k < after->n_credentials && r == ABX_OK; k++) {
            if (strcmp(before->credentials[i].name, after->credentials[k].name) == 0) {
                r = compare_credential(
                        comparison, &before->credentials[i], &after->credentials[k], fail);
            }
        }
    }
    return r;
}

static abx_status
compare_identity(struct comparison *comparison, const struct policy_identity *before,
        const struct policy_identity *after, struct fail *fail)
{
    AUTO(str_done) struct str old = { 0 };
    AUTO(str_done) struct str new = { 0 };

    if (before != NULL) {
        identity_text(before, &old);
    }
    if (after != NULL) {
        identity_text(after, &new);
    }
    return old.failed || new.failed
                   ? fail_nomem(fail)
                   : compare_text(comparison, "identity", old.data, new.data, fail);
}

/* ---- actions: whether they may be done is compared as requests ---- */
static abx_status
compare_action(struct comparison *comparison, const char *action, struct fail *fail)
{
    const struct action_limits before = policy_action_limits(comparison->sides[BEFORE], action);
    const struct action_limits after = policy_action_limits(comparison->sides[AFTER], action);
    AUTO(str_done) struct str old = { 0 };
    AUTO(str_done) struct str new = { 0 };
    char name[200];
    abx_status r;

    policy_action_text(comparison->sides[BEFORE], action, &old);
    policy_action_text(comparison->sides[AFTER], action, &new);
    if (old.failed || new.failed) {
        return fail_nomem(fail);
    }
    snprintf(name, sizeof name, "action %.130s arguments", action);
    r = compare_text(comparison, name, old.data, new.data, fail);
    snprintf(name, sizeof name, "action %.130s limits.per_command", action);
    r = r == ABX_OK ? compare_number(
                              comparison, name, before.per_command, after.per_command, true, fail)
                    : r;
    snprintf(name, sizeof name, "action %.130s limits.per_box", action);
    return r == ABX_OK ? compare_number(comparison, name, before.per_box, after.per_box, true, fail)
                       : r;
}

/* An action that a side denies is no matter of what it takes. */
static bool
is_done_by_both(const struct comparison *comparison, const char *action)
{
    abx_request request = { .size = sizeof request, .kind = ABX_REQUEST_ACTION, .target = action };
    struct ruling ruling;

    return policy_decide(comparison->sides[BEFORE], &request, &ruling) != ABX_VERDICT_DENY &&
           policy_decide(comparison->sides[AFTER], &request, &ruling) != ABX_VERDICT_DENY;
}

/* In one layer a name stands once. */
static bool
is_in_an_outer_one(const struct vec *layers, size_t layer, const char *action)
{
    struct pick pick = { .rule = NO_RULE };

    for (size_t i = 0; i < layer && pick.rule == NO_RULE; i++) {
        index_pick_name(*vec_at(layers, struct layer *, i), ABX_REQUEST_ACTION, action, &pick);
    }
    return pick.rule != NO_RULE;
}

/* An action that both allow is one that some layer of `before` has. */
static abx_status
compare_actions(struct comparison *comparison, struct fail *fail)
{
    const struct vec *layers = &comparison->sides[BEFORE]->layers;
    abx_status r = ABX_OK;

    for (size_t i = 0; i < layers->count && r == ABX_OK; i++) {
        const struct layer *layer = *vec_at(layers, struct layer *, i);

        for (size_t k = 0; k < layer->rules.count && r == ABX_OK; k++) {
            const struct rule *rule = vec_at(&layer->rules, struct rule, k);

            if (rule->kind == ABX_REQUEST_ACTION && !is_in_an_outer_one(layers, i, rule->pattern) &&
                    is_done_by_both(comparison, rule->pattern)) {
                r = compare_action(comparison, rule->pattern, fail);
            }
        }
    }
    return r;
}

abx_status
compare_settings(struct comparison *comparison, struct fail *fail)
{
    const struct policy_settings *before = policy_get_settings(comparison->sides[BEFORE]);
    const struct policy_settings *after = policy_get_settings(comparison->sides[AFTER]);
    const struct policy_settings *both[SIDES] = { before, after };
    abx_status r = compare_numbers(comparison, before, after, fail);

    r = r == ABX_OK ? compare_lists(comparison, "environment.pass", before->env_pass,
                              after->env_pass, true, false, fail)
                    : r;
    r = r == ABX_OK ? compare_lists(comparison, "environment.set", before->env_set, after->env_set,
                              true, true, fail)
                    : r;
    r = r == ABX_OK ? compare_lists(comparison, "filesystem.decoys", before->decoys, after->decoys,
                              false, false, fail)
                    : r;
    r = r == ABX_OK ? compare_inputs(comparison, both, fail) : r;
    r = r == ABX_OK ? compare_text(comparison, "run_as", before->run_as, after->run_as, fail) : r;
    r = r == ABX_OK ? compare_text(comparison, "network.extra_ca", before->extra_ca,
                              after->extra_ca, fail)
                    : r;
    r = r == ABX_OK ? compare_identity(comparison, before->identity, after->identity, fail) : r;
    r = r == ABX_OK ? compare_upstream(comparison, before->upstream, after->upstream, fail) : r;
    r = r == ABX_OK ? compare_actions(comparison, fail) : r;
    return r == ABX_OK ? compare_credentials(comparison, before, after, fail) : r;
}
