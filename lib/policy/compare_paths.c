/* SPDX-License-Identifier: Apache-2.0
 * Owns the comparison of files and of sockets with a path: the rules of both policies as tracks of
 * one walk.  Pure, one thread. */
#include "policy/compare_private.h"

#include "base/mem.h"
#include "base/path.h"
#include "policy/ruling.h"
#include "policy/walk.h"

#include <stdlib.h>
#include <string.h>

/* Of each layer one track; of EXEC two, since what is not said there is said by READ. */
struct path_pass {
    struct comparison *comparison;
    enum slot slot;
    uint32_t n_each;
    unsigned n_calls;
    abx_request request;
    /* Git directories that both policies have are left out: what is refused there is refused by
     * both, so that no difference is overlooked, and it is noted if one is imagined. */
    bool leaves_out_git;
    bool imagined;
};

static uint32_t
track_of(const struct path_pass *pass, unsigned side, size_t layer)
{
    return (uint32_t)((side == BEFORE ? 0 : side_layers(pass->comparison, BEFORE)) + layer) *
           pass->n_each;
}

static abx_verdict
verdict_said(uint32_t said)
{
    return (said & ~(uint32_t)WALK_IMPLIED) - 1;
}

/* What ruling.c would make of it; see decide_path and decide_exec. */
static void
add_layer(const struct path_pass *pass, const struct layer *layer, bool is_innermost,
        const uint32_t *said, struct tally *tally)
{
    enum slot slot = pass->slot;

    if (slot == SLOT_EXEC) {
        bool restricts = layer->settings.restricts_exec;

        if (*said != WALK_NOTHING && (restricts || (*said & WALK_IMPLIED) == 0)) {
            tally_add(tally, verdict_said(*said));
            return;
        }
        if (restricts) {
            tally_add(tally, ABX_VERDICT_DENY);
            return;
        }
        slot = SLOT_READ;
        said += WALK_CALLS;
    }
    if (*said != WALK_NOTHING) {
        tally_add(tally, verdict_said(*said));
    } else if (layer_has_opinion(layer, is_innermost, slot)) {
        tally_add(tally, slot == SLOT_READ    ? layer->default_read
                         : slot == SLOT_WRITE ? layer->default_write
                                              : ABX_VERDICT_DENY);
    }
}

static abx_verdict
side_verdict(const struct path_pass *pass, unsigned side, const uint32_t *said, unsigned call)
{
    size_t n = side_layers(pass->comparison, side);
    struct tally tally = { .verdict = ABX_VERDICT_DENY };

    for (size_t i = 0; i < n; i++) {
        add_layer(pass, side_layer(pass->comparison, side, i), i + 1 == n,
                said + track_of(pass, side, i) * WALK_CALLS + call, &tally);
    }
    return tally.verdict;
}

/* Whether both policies say so. */
static bool
is_decided_so(const struct path_pass *pass, const abx_request *request, const abx_verdict *expected)
{
    for (unsigned side = 0; side < SIDES; side++) {
        struct ruling ruling;

        if (policy_decide(pass->comparison->sides[side], request, &ruling) != expected[side]) {
            return false;
        }
    }
    return true;
}

static abx_status
visit(void *data, const uint32_t *said, const struct walk_place *place, struct fail *fail)
{
    struct path_pass *pass = data;
    AUTO(freep) char *path = NULL;
    abx_status r = ABX_OK;

    for (unsigned call = 0; call < pass->n_calls && r == ABX_OK; call++) {
        abx_verdict verdicts[SIDES] = { side_verdict(pass, BEFORE, said, call),
            side_verdict(pass, AFTER, said, call) };
        abx_request request = pass->request;

        if (verdicts[BEFORE] == verdicts[AFTER]) {
            continue;
        }
        if (path == NULL && (path = walk_path(place)) == NULL) {
            return fail_nomem(fail);
        }
        request.target = path;
        request.verb = walk_calls[call];
        if (pass->leaves_out_git && !is_decided_so(pass, &request, verdicts)) {
            pass->imagined = true;
            continue;
        }
        r = comparison_ask(pass->comparison, &request, NULL, verdicts, fail);
    }
    return r;
}

static bool
has_git_rule(const struct layer *layer, const struct rule *like)
{
    for (size_t i = 0; i < layer->rules.count; i++) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, i);

        if (rule->kind == like->kind && strcmp(rule->pattern, like->pattern) == 0) {
            return true;
        }
    }
    return false;
}

static bool
is_common_git(const struct path_pass *pass, unsigned side, const struct rule *rule)
{
    return has_git_rule(side_layer(pass->comparison, 1 - side, 0), rule);
}

/* Of several git directories one inside another only the deepest judges, so none may be left out
 * of one that is not. */
static bool
may_leave_out_git(const struct path_pass *pass)
{
    if (side_layers(pass->comparison, BEFORE) != 1 || side_layers(pass->comparison, AFTER) != 1) {
        return false;
    }
    for (unsigned side = 0; side < SIDES; side++) {
        const struct vec *rules = &side_layer(pass->comparison, side, 0)->rules;

        for (size_t i = 0; i < rules->count; i++) {
            const struct rule *rule = vec_at(rules, struct rule, i);

            if (rule->kind != RULE_GIT_ROOT || is_common_git(pass, side, rule)) {
                continue;
            }
            for (size_t k = 0; k < rules->count; k++) {
                const struct rule *other = vec_at(rules, struct rule, k);

                if (other->kind == RULE_GIT_ROOT && k != i &&
                        path_is_within(other->pattern, rule->pattern)) {
                    return false;
                }
            }
        }
    }
    return true;
}

static bool
add_rule(struct path_pass *pass, struct walk *walk, unsigned side, size_t layer, size_t number)
{
    const struct rule *rule =
            vec_at(&side_layer(pass->comparison, side, layer)->rules, struct rule, number);
    enum slot slot = rule_slot(rule);
    struct walk_rule *own;
    bool is_second = pass->slot == SLOT_EXEC && slot == SLOT_READ;

    if ((slot != pass->slot && !is_second) || rule->pattern[0] == '@' ||
            (rule->kind >= RULE_GIT_ROOT && pass->leaves_out_git &&
                    is_common_git(pass, side, rule))) {
        return true;
    }
    own = vec_add(&walk->rules);
    if (own == NULL) {
        return false;
    }
    *own = (struct walk_rule){ .track = track_of(pass, side, layer) + is_second,
        .pattern = rule->matcher,
        .path = rule->pattern,
        .rank = rule_rank(rule, 0),
        .said = walk_said(rule->verdict, rule->implied),
        .git = rule->kind >= RULE_GIT_ROOT ? rule->kind : 0,
        .won = comparison_won(pass->comparison, side, layer, number) };
    if (own->git != 0) {
        pass->n_calls = WALK_CALLS;
    }
    return true;
}

static abx_status
walk_slot(struct path_pass *pass, struct fail *fail)
{
    struct comparison *comparison = pass->comparison;
    struct walk walk = { .rules = VEC(struct walk_rule), .data = pass, .visit = visit };
    abx_status r = ABX_OK;

    walk.n_tracks = track_of(pass, AFTER, side_layers(comparison, AFTER));
    pass->n_calls = 1;
    for (unsigned side = 0; side < SIDES; side++) {
        for (size_t i = 0; i < side_layers(comparison, side); i++) {
            for (size_t k = 0; r == ABX_OK && k < side_layer(comparison, side, i)->rules.count;
                    k++) {
                r = add_rule(pass, &walk, side, i, k) ? ABX_OK : fail_nomem(fail);
            }
        }
    }
    r = r == ABX_OK ? walk_all(&walk, fail) : r;
    vec_done(&walk.rules);
    return r;
}

static abx_status
compare_slot(struct comparison *comparison, enum slot slot, const abx_request *request,
        struct fail *fail)
{
    struct path_pass pass = { .comparison = comparison,
        .slot = slot,
        .n_each = slot == SLOT_EXEC ? 2 : 1,
        .request = *request };
    abx_status r;

    pass.leaves_out_git = slot == SLOT_WRITE && may_leave_out_git(&pass);
    r = walk_slot(&pass, fail);
    if (r == ABX_OK && pass.imagined) {
        pass.leaves_out_git = false;
        r = walk_slot(&pass, fail);
    }
    return r;
}

/* Without rules about running, what may be read may be run. */
static bool
has_exec_rules(const struct comparison *comparison)
{
    for (unsigned side = 0; side < SIDES; side++) {
        for (size_t i = 0; i < side_layers(comparison, side); i++) {
            if (side_layer(comparison, side, i)->settings.exec_rules) {
                return true;
            }
        }
    }
    return false;
}

abx_status
compare_paths(struct comparison *comparison, struct fail *fail)
{
    static const struct {
        enum slot slot;
        abx_request request;
    } slots[] = {
        { SLOT_READ, { .kind = ABX_REQUEST_PATH, .access = ABX_ACCESS_READ } },
        { SLOT_WRITE, { .kind = ABX_REQUEST_PATH, .access = ABX_ACCESS_WRITE } },
        { SLOT_EXEC, { .kind = ABX_REQUEST_PATH, .access = ABX_ACCESS_EXEC } },
        { SLOT_SOCKET, { .kind = ABX_REQUEST_SOCKET } },
    };
    abx_status r = ABX_OK;

    for (size_t i = 0; i < N_ELEMENTS(slots) && r == ABX_OK; i++) {
        abx_request request = slots[i].request;

        request.size = sizeof request;
        if (slots[i].slot != SLOT_EXEC || has_exec_rules(comparison)) {
            r = compare_slot(comparison, slots[i].slot, &request, fail);
        }
    }
    return r;
}
