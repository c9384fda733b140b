/* SPDX-License-Identifier: Apache-2.0
 * Owns the comparison of what is no verdict: limits, the environment, inputs, credentials' places
 * and what was weakened; compare_actions.c what actions take.  Values of variables are not
 * repeated, only their names.  Pure, one thread. */
#include "policy/compare_private.h"
#include "policy/identity.h"
#include "policy/index.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

abx_status
setting_add(struct comparison *comparison, enum finding_change change, const char *name,
        const char *before, const char *after, struct fail *fail)
{
    const char *texts[SIDES] = { before, after };
    const char *rules[SIDES] = { "", "" };

    return comparison_add(comparison, change, "setting", name, texts, rules, fail);
}

/* Where more is more; `zero_is_none`: 0 means no limit, and so most. */
abx_status
setting_number(struct comparison *comparison, const char *name, uint64_t before, uint64_t after,
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
    return setting_add(comparison, y > x ? FINDING_WIDER : FINDING_NARROWER, name, texts[BEFORE],
            texts[AFTER], fail);
}

abx_status
setting_text(struct comparison *comparison, const char *name, const char *before, const char *after,
        struct fail *fail)
{
    before = before == NULL ? "" : before;
    after = after == NULL ? "" : after;
    return strcmp(before, after) == 0
                   ? ABX_OK
                   : setting_add(comparison, FINDING_CHANGED, name, before, after, fail);
}

/* A proxy's URL may have a password, so it is not shown. */
static abx_status
compare_upstream(
        struct comparison *comparison, const char *before, const char *after, struct fail *fail)
{
    return strcmp(before == NULL ? "" : before, after == NULL ? "" : after) == 0
                   ? ABX_OK
                   : setting_add(comparison, FINDING_CHANGED, "network.upstream", "", "", fail);
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
        r = setting_number(comparison, limits[i], before->limits[i], after->limits[i], true, fail);
    }
    for (size_t i = 0; i < N_ELEMENTS(rows) && r == ABX_OK; i++) {
        r = setting_number(comparison, rows[i].name, rows[i].before, rows[i].after,
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

/* Each text that only one has. */
abx_status
setting_lists(struct comparison *comparison, const char *name, const char *const *before,
        const char *const *after, bool more_is_wider, struct fail *fail)
{
    const char *const *lists[SIDES] = { before, after };
    abx_status r = ABX_OK;

    for (unsigned side = 0; side < SIDES; side++) {
        bool wider = (side == AFTER) == more_is_wider;

        for (const char *const *at = lists[side]; at != NULL && *at != NULL && r == ABX_OK; at++) {
            char text[300];
            const char *has[SIDES] = { side == BEFORE ? "has" : "has not",
                side == AFTER ? "has" : "has not" };

            if (!has_text(lists[1 - side], *at)) {
                snprintf(text, sizeof text, "%s %.250s", name, *at);
                r = setting_add(comparison, wider ? FINDING_WIDER : FINDING_NARROWER, text,
                        has[BEFORE], has[AFTER], fail);
            }
        }
    }
    return r;
}

/* The "NAME=value" of this one's name, or NULL. */
static const char *
find_variable(const char *const *list, const char *variable)
{
    const size_t length = strcspn(variable, "=") + 1;

    for (; list != NULL && *list != NULL; list++) {
        if (strncmp(*list, variable, length) == 0) {
            return *list;
        }
    }
    return NULL;
}

/* A line for each name; what a value is for, nobody knows. */
static abx_status
compare_variables(struct comparison *comparison, const char *const *before,
        const char *const *after, struct fail *fail)
{
    const char *const *lists[SIDES] = { before, after };
    abx_status r = ABX_OK;

    for (unsigned side = 0; side < SIDES; side++) {
        for (const char *const *at = lists[side]; at != NULL && *at != NULL && r == ABX_OK; at++) {
            const char *other = find_variable(lists[1 - side], *at);
            const char *is[SIDES] = { side == BEFORE ? "set" : "not set",
                side == AFTER ? "set" : "not set" };
            char text[300];

            snprintf(text, sizeof text, "environment.set %.*s",
                    (int)(strcspn(*at, "=") > 250 ? 250 : strcspn(*at, "=")), *at);
            if (other == NULL) {
                r = setting_add(comparison, FINDING_CHANGED, text, is[BEFORE], is[AFTER], fail);
            } else if (side == BEFORE && strcmp(other, *at) != 0) {
                r = setting_add(
                        comparison, FINDING_CHANGED, text, "a value", "another value", fail);
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
                r = setting_add(comparison, side == AFTER ? FINDING_WIDER : FINDING_NARROWER, text,
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
        r = setting_add(comparison,
                gone == 0  ? FINDING_WIDER
                : new == 0 ? FINDING_NARROWER
                           : FINDING_CHANGED,
                name, "", "", fail);
    }
    snprintf(name, sizeof name, "credential %.150s clear_text", before->name);
    r = r == ABX_OK ? setting_number(
                              comparison, name, before->clear_text, after->clear_text, false, fail)
                    : r;
    snprintf(name, sizeof name, "credential %.150s lease_s", before->name);
    r = r == ABX_OK ? setting_number(comparison, name, before->lease_s, after->lease_s, true, fail)
                    : r;
    snprintf(name, sizeof name, "credential %.150s env", before->name);
    r = r == ABX_OK ? setting_text(comparison, name, before->env, after->env, fail) : r;
    snprintf(name, sizeof name, "credential %.150s key_env", before->name);
    r = r == ABX_OK ? setting_text(comparison, name, before->key_env, after->key_env, fail) : r;
    snprintf(name, sizeof name, "credential %.150s header", before->name);
    r = r == ABX_OK ? setting_text(comparison, name, before->header, after->header, fail) : r;
    snprintf(name, sizeof name, "credential %.150s query", before->name);
    r = r == ABX_OK ? setting_text(comparison, name, before->query, after->query, fail) : r;
    snprintf(name, sizeof name, "credential %.150s user", before->name);
    r = r == ABX_OK ? setting_text(comparison, name, before->user, after->user, fail) : r;
    snprintf(name, sizeof name, "credential %.150s prefix", before->name);
    return r == ABX_OK ? setting_text(comparison, name, before->prefix, after->prefix, fail) : r;
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
                   : setting_text(comparison, "identity", old.data, new.data, fail);
}

abx_status
compare_settings(struct comparison *comparison, struct fail *fail)
{
    const struct policy_settings *before = policy_get_settings(comparison->sides[BEFORE]);
    const struct policy_settings *after = policy_get_settings(comparison->sides[AFTER]);
    const struct policy_settings *both[SIDES] = { before, after };
    abx_status r = compare_numbers(comparison, before, after, fail);

    r = r == ABX_OK ? setting_lists(comparison, "environment.pass", before->env_pass,
                              after->env_pass, true, fail)
                    : r;
    r = r == ABX_OK ? compare_variables(comparison, before->env_set, after->env_set, fail) : r;
    r = r == ABX_OK ? setting_lists(comparison, "filesystem.decoys", before->decoys, after->decoys,
                              false, fail)
                    : r;
    r = r == ABX_OK ? compare_inputs(comparison, both, fail) : r;
    r = r == ABX_OK ? setting_text(comparison, "run_as", before->run_as, after->run_as, fail) : r;
    r = r == ABX_OK ? setting_text(comparison, "network.extra_ca", before->extra_ca,
                              after->extra_ca, fail)
                    : r;
    r = r == ABX_OK ? compare_identity(comparison, before->identity, after->identity, fail) : r;
    r = r == ABX_OK ? compare_upstream(comparison, before->upstream, after->upstream, fail) : r;
    r = r == ABX_OK ? compare_actions(comparison, fail) : r;
    return r == ABX_OK ? compare_credentials(comparison, before, after, fail) : r;
}
