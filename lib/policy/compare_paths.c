/* SPDX-License-Identifier: Apache-2.0
 * Owns the comparison of files and of sockets with a path: the rules of both policies as tracks of
 * one walk.  Pure, one thread. */
#include "policy/compare_private.h"

#include "base/mem.h"
#include "policy/ruling.h"
#include "policy/walk.h"

#include <stdlib.h>
#include <string.h>

enum { GIT_KINDS = RULE_GIT_TREE - RULE_GIT_ROOT + 1 };

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
    struct intern gits[SIDES][GIT_KINDS];
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

static uint32_t
call_difference(const struct path_pass *pass, const uint32_t *said, unsigned call,
        abx_verdict verdicts[SIDES])
{
    verdicts[BEFORE] = side_verdict(pass, BEFORE, said, call);
    verdicts[AFTER] = side_verdict(pass, AFTER, said, call);
    return verdicts_difference(verdicts);
}

static uint32_t
find_differences(void *data, const uint32_t *said)
{
    const struct path_pass *pass = data;
    abx_verdict verdicts[SIDES];
    uint32_t differences = 0;

    for (unsigned call = 0; call < pass->n_calls; call++) {
        differences |= call_difference(pass, said, call, verdicts);
    }
    return differences;
}

/* By the first call that makes the difference. */
static abx_status
visit(void *data, const uint32_t *said, uint32_t difference, const struct walk_place *place,
        struct fail *fail)
{
    struct path_pass *pass = data;
    AUTO(freep) char *path = walk_path(place);
    abx_request request = pass->request;
    abx_verdict verdicts[SIDES];
    unsigned call = 0;

    if (path == NULL) {
        return fail_nomem(fail);
    }
    while (call_difference(pass, said, call, verdicts) != difference) {
        call++;
    }
    request.target = path;
    request.verb = walk_calls[call];
    return comparison_ask(pass->comparison, &request, NULL, verdicts,
            pass->leaves_out_git ? &pass->imagined : NULL, fail);
}

/* Places that rules about git directories name, by kind, of the only layer of each side. */
static bool
note_gits(struct path_pass *pass)
{
    bool ok = true;

    for (unsigned side = 0; side < SIDES; side++) {
        const struct vec *rules = &side_layer(pass->comparison, side, 0)->rules;

        for (size_t i = 0; i < rules->count && ok; i++) {
            const struct rule *rule = vec_at(rules, struct rule, i);

            ok = rule->kind < RULE_GIT_ROOT ||
                 intern_put(&pass->gits[side][rule->kind - RULE_GIT_ROOT], rule->pattern,
                         strlen(rule->pattern)) != INTERN_NONE;
        }
    }
    return ok;
}

static bool
has_git(const struct path_pass *pass, unsigned side, uint32_t kind, const char *path, size_t length)
{
    return intern_find(&pass->gits[side][kind - RULE_GIT_ROOT], path, length) != INTERN_NONE;
}

static bool
is_common_git(const struct path_pass *pass, unsigned side, const struct rule *rule)
{
    return has_git(pass, 1 - side, rule->kind, rule->pattern, strlen(rule->pattern));
}

/* Whether some directory above is a git root of this side alone. */
static bool
is_in_own_root(const struct path_pass *pass, unsigned side, const char *path)
{
    for (const char *slash = strchr(path, '/'); slash != NULL && slash[1] != '\0';
            slash = strchr(slash + 1, '/')) {
        size_t length = slash == path ? 1 : (size_t)(slash - path);

        if (has_git(pass, side, RULE_GIT_ROOT, path, length) &&
                !has_git(pass, 1 - side, RULE_GIT_ROOT, path, length)) {
            return true;
        }
    }
    return false;
}

/* Of several git directories one inside another only the deepest judges, so none may be left out
 * of one that is not. */
static bool
may_leave_out_git(struct path_pass *pass)
{
    bool may = side_layers(pass->comparison, BEFORE) == 1 &&
               side_layers(pass->comparison, AFTER) == 1 && note_gits(pass);

    for (unsigned side = 0; side < SIDES && may; side++) {
        const struct vec *rules = &side_layer(pass->comparison, side, 0)->rules;

        for (size_t i = 0; i < rules->count && may; i++) {
            const struct rule *rule = vec_at(rules, struct rule, i);

            may = rule->kind != RULE_GIT_ROOT || !is_in_own_root(pass, side, rule->pattern);
        }
    }
    return may;
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
        .said = walk_said(rule->verdict, rule->implied && pass->slot == SLOT_EXEC),
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
    struct walk walk = { .rules = VEC(struct walk_rule),
        .work = &comparison->work,
        .data = pass,
        .find_differences = find_differences,
        .visit = visit };
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

    for (unsigned i = 0; i < SIDES * GIT_KINDS; i++) {
        intern_init(&pass.gits[i / GIT_KINDS][i % GIT_KINDS]);
    }
    pass.leaves_out_git = slot == SLOT_WRITE && may_leave_out_git(&pass);
    r = walk_slot(&pass, fail);
    if (r == ABX_OK && pass.imagined) {
        pass.leaves_out_git = false;
        r = walk_slot(&pass, fail);
    }
    for (unsigned i = 0; i < SIDES * GIT_KINDS; i++) {
        intern_done(&pass.gits[i / GIT_KINDS][i % GIT_KINDS]);
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
