/* SPDX-License-Identifier: Apache-2.0
 * Owns the comparison of what actions take and how often they may be done; whether they may be done
 * is compared as requests.  Each argument has its own values, or may be absent, so one by one they
 * are all there is.  Pure, one thread. */
#include "policy/action.h"
#include "policy/compare_private.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_SIZE 300u

/* An argument of an action, and the name of the rows about it. */
struct comparing {
    struct comparison *comparison;
    char name[NAME_SIZE];
    struct fail *fail;
};

static abx_status
add(const struct comparing *of, enum finding_change change, const char *what, const char *before,
        const char *after)
{
    char name[NAME_SIZE + 16];

    snprintf(name, sizeof name, "%s%s", of->name, what);
    return setting_add(of->comparison, change, name, before, after, of->fail);
}

/* Where more of `what` fits more, or less; beyond what is exact nothing does. */
static abx_status
compare_bound(const struct comparing *of, const char *what, bool more_is_wider,
        const bool has[SIDES], const int64_t bounds[SIDES])
{
    int64_t given[SIDES];
    char texts[SIDES][24];

    for (unsigned side = 0; side < SIDES; side++) {
        const int64_t none = more_is_wider ? ARGUMENT_NUMBER_MAX : -ARGUMENT_NUMBER_MAX;
        const bool says = has[side] && (more_is_wider ? bounds[side] < none : bounds[side] > none);

        given[side] = says ? bounds[side] : none;
        snprintf(texts[side], sizeof texts[side], "none");
        if (says) {
            snprintf(texts[side], sizeof texts[side], "%" PRId64, bounds[side]);
        }
    }
    return given[BEFORE] == given[AFTER]
                   ? ABX_OK
                   : add(of,
                             (given[AFTER] > given[BEFORE]) == more_is_wider ? FINDING_WIDER
                                                                             : FINDING_NARROWER,
                             what, texts[BEFORE], texts[AFTER]);
}

static abx_status
compare_choices(
        const struct comparing *of, const struct argument *before, const struct argument *after)
{
    char name[NAME_SIZE + 16];

    if (before->n_choices == 0 && after->n_choices != 0) {
        return add(of, FINDING_NARROWER, " enum", "any", "a list");
    }
    if (before->n_choices != 0 && after->n_choices == 0) {
        return add(of, FINDING_WIDER, " enum", "a list", "any");
    }
    snprintf(name, sizeof name, "%s enum", of->name);
    return setting_lists(of->comparison, name, before->choices, after->choices, true, of->fail);
}

static int64_t
most_items(const struct argument *argument)
{
    return argument->most == 0 ? ARGUMENT_ITEMS_MAX : argument->most;
}

/* Both have it. */
static abx_status
compare_argument(
        const struct comparing *of, const struct argument *before, const struct argument *after)
{
    const bool has_minimum[SIDES] = { before->has_minimum, after->has_minimum };
    const bool has_maximum[SIDES] = { before->has_maximum, after->has_maximum };
    const bool has_most[SIDES] = { true, true };
    const int64_t minimum[SIDES] = { before->minimum, after->minimum };
    const int64_t maximum[SIDES] = { before->maximum, after->maximum };
    const int64_t most[SIDES] = { most_items(before), most_items(after) };
    const char *patterns[SIDES] = { before->pattern, after->pattern };
    abx_status r = ABX_OK;

    if (before->is_optional != after->is_optional) {
        r = add(of, after->is_optional ? FINDING_WIDER : FINDING_NARROWER, "",
                before->is_optional ? "optional" : "required",
                after->is_optional ? "optional" : "required");
    }
    if (before->type != after->type ||
            (before->type == ARGUMENT_ARRAY && before->items != after->items)) {
        const bool are_arrays = before->type == after->type;

        return r == ABX_OK ? add(of, FINDING_CHANGED, are_arrays ? " items" : " type",
                                     argument_words[are_arrays ? before->items : before->type],
                                     argument_words[are_arrays ? after->items : after->type])
                           : r;
    }
    r = r == ABX_OK ? compare_bound(of, " minimum", false, has_minimum, minimum) : r;
    r = r == ABX_OK ? compare_bound(of, " maximum", true, has_maximum, maximum) : r;
    r = r == ABX_OK ? compare_bound(of, " max_items", true, has_most, most) : r;
    r = r == ABX_OK ? compare_choices(of, before, after) : r;
    for (unsigned side = 0; side < SIDES; side++) {
        patterns[side] = patterns[side] == NULL ? "" : patterns[side];
    }
    return r == ABX_OK && strcmp(patterns[BEFORE], patterns[AFTER]) != 0
                   ? add(of, FINDING_CHANGED, " pattern", patterns[BEFORE], patterns[AFTER])
                   : r;
}

/* One has it: the other takes it only as absent. */
static abx_status
add_argument(const struct comparing *of, const struct argument *argument, unsigned side)
{
    const char *is = argument->is_optional ? "optional" : "required";

    return add(of,
            !argument->is_optional ? FINDING_CHANGED
            : side == AFTER        ? FINDING_WIDER
                                   : FINDING_NARROWER,
            "", side == BEFORE ? is : "none", side == AFTER ? is : "none");
}

static abx_status
compare_arguments(struct comparison *comparison, const char *action,
        const struct action_type *before, const struct action_type *after, struct fail *fail)
{
    struct comparing of = { .comparison = comparison, .fail = fail };
    size_t i = 0, k = 0;
    abx_status r = ABX_OK;

    while (r == ABX_OK && (i < before->n_arguments || k < after->n_arguments)) {
        const struct argument *old = i < before->n_arguments ? &before->arguments[i] : NULL;
        const struct argument *new = k < after->n_arguments ? &after->arguments[k] : NULL;
        const int order = old == NULL ? 1 : new == NULL ? -1 : strcmp(old->name, new->name);

        snprintf(of.name, sizeof of.name, "action %.130s argument %.130s", action,
                order <= 0 ? old->name : new->name);
        r = order == 0  ? compare_argument(&of, old, new)
            : order < 0 ? add_argument(&of, old, BEFORE)
                        : add_argument(&of, new, AFTER);
        i += order <= 0;
        k += order >= 0;
    }
    return r;
}

/* Layers that each declare something: what fits all of them is not looked into. */
static abx_status
compare_texts(struct comparison *comparison, const char *action, struct fail *fail)
{
    AUTO(str_done) struct str old = { 0 };
    AUTO(str_done) struct str new = { 0 };
    char name[NAME_SIZE];

    policy_action_text(comparison->sides[BEFORE], action, &old);
    policy_action_text(comparison->sides[AFTER], action, &new);
    snprintf(name, sizeof name, "action %.130s arguments", action);
    if (old.failed || new.failed) {
        return fail_nomem(fail);
    }
    if (old.length == 0 && new.length != 0) {
        return setting_add(comparison, FINDING_NARROWER, name, "any", new.data, fail);
    }
    if (old.length != 0 && new.length == 0) {
        return setting_add(comparison, FINDING_WIDER, name, old.data, "any", fail);
    }
    return setting_text(comparison, name, old.data, new.data, fail);
}

static abx_status
compare_action(struct comparison *comparison, const char *action, struct fail *fail)
{
    const struct action_limits before = policy_action_limits(comparison->sides[BEFORE], action);
    const struct action_limits after = policy_action_limits(comparison->sides[AFTER], action);
    const struct action_type *old = action_declared(comparison->sides[BEFORE], action);
    const struct action_type *new = action_declared(comparison->sides[AFTER], action);
    char name[NAME_SIZE];
    abx_status r = old != NULL && new != NULL
                           ? compare_arguments(comparison, action, old, new, fail)
                           : compare_texts(comparison, action, fail);

    snprintf(name, sizeof name, "action %.130s limits.per_command", action);
    r = r == ABX_OK ? setting_number(
                              comparison, name, before.per_command, after.per_command, true, fail)
                    : r;
    snprintf(name, sizeof name, "action %.130s limits.per_box", action);
    return r == ABX_OK ? setting_number(comparison, name, before.per_box, after.per_box, true, fail)
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
abx_status
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
