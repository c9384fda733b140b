/* SPDX-License-Identifier: Apache-2.0
 * Owns the comparison of connections.  Names: each that a rule has, one below it that none has, and
 * one of each sort that is below none.  Ports: the first at which each rule that speaks of a host
 * counts, and the one after its last, since nothing changes between.  Pure, one thread. */
#include "policy/compare_hosts.h"

#include "base/mem.h"
#include "policy/credentials.h"
#include "policy/ruling.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_ROOM (POLICY_HOST_SIZE + 16)

/* ---- the rules ---- */

static struct base *
base_of(struct host_pass *pass, const char *name, size_t length)
{
    uint32_t number = intern_put(&pass->names, name, length);
    struct base *base;

    if (number == INTERN_NONE) {
        return NULL;
    }
    if (number < pass->bases.count) {
        return vec_at(&pass->bases, struct base, number);
    }
    base = vec_add(&pass->bases);
    if (base != NULL) {
        base->first = NO_RULE;
    }
    return base;
}

static bool
add_rule(struct host_pass *pass, unsigned side, size_t layer, size_t number)
{
    const struct rule *rule =
            vec_at(&side_layer(pass->comparison, side, layer)->rules, struct rule, number);
    const struct host_pattern *pattern = rule->matcher;
    struct host_rule *own;
    struct base *base;
    uint32_t at = (uint32_t)pass->rules.count;

    if (rule->kind != ABX_REQUEST_CONNECT) {
        return true;
    }
    own = vec_add(&pass->rules);
    if (own == NULL) {
        return false;
    }
    *own = (struct host_rule){
        .side = side, .layer = (uint32_t)layer, .number = (uint32_t)number, .rule = rule
    };
    if (pattern->form == HOST_ADDRESS) {
        return numbers_add(&pass->blocks, at);
    }
    if (pattern->form == HOST_ANY_PUBLIC) {
        own->next = pass->any_public;
        pass->any_public = at;
        return true;
    }
    base = base_of(pass, pattern->name, pattern->length);
    if (base == NULL) {
        return false;
    }
    own->next = base->first;
    base->first = at;
    base->has_below |= pattern->form != HOST_NAME;
    return true;
}

static bool
add_reserved(struct host_pass *pass)
{
    const char *name;

    for (size_t i = 0; (name = host_reserved_name(i)) != NULL; i++) {
        struct base *base = base_of(pass, name, strlen(name));

        if (base == NULL) {
            return false;
        }
        base->has_below = true;
    }
    return true;
}

/* Whether a label stands in any name; then it is not fresh. */
static bool
has_label(const struct host_pass *pass, const char *label)
{
    size_t n = strlen(label);

    for (uint32_t i = 0; i < pass->bases.count; i++) {
        size_t length;
        const char *name = intern_bytes(&pass->names, i, &length);

        for (size_t at = 0; at < length;) {
            const char *dot = memchr(name + at, '.', length - at);
            size_t end = dot == NULL ? length : (size_t)(dot - name);

            if (end - at == n && memcmp(name + at, label, n) == 0) {
                return true;
            }
            at = end + 1;
        }
    }
    return false;
}

static int
compare_blocks(const void *a, const void *b, void *data)
{
    const struct host_pass *pass = data;
    const struct host_rule *x = vec_at(&pass->rules, struct host_rule, *(const uint32_t *)a);
    const struct host_rule *y = vec_at(&pass->rules, struct host_rule, *(const uint32_t *)b);
    const struct host_pattern *p = x->rule->matcher, *q = y->rule->matcher;
    int order = memcmp(block_bytes(x), block_bytes(y), 16);

    return order != 0 ? order : p->prefix < q->prefix ? -1 : p->prefix > q->prefix;
}

static abx_status
take_rules(struct host_pass *pass, struct fail *fail)
{
    char label[16] = "x";

    for (unsigned side = 0; side < SIDES; side++) {
        for (size_t i = 0; i < side_layers(pass->comparison, side); i++) {
            for (size_t k = 0; k < side_layer(pass->comparison, side, i)->rules.count; k++) {
                if (!add_rule(pass, side, i, k)) {
                    return fail_nomem(fail);
                }
            }
        }
    }
    if (!add_reserved(pass)) {
        return fail_nomem(fail);
    }
    while (has_label(pass, label)) {
        snprintf(label, sizeof label, "x%u", ++pass->fresh);
    }
    if (pass->blocks.count > 1) {
        qsort_r(pass->blocks.data, pass->blocks.count, sizeof(uint32_t), compare_blocks, pass);
    }
    return ABX_OK;
}

static void
fresh_label(const struct host_pass *pass, char out[16])
{
    snprintf(out, 16, pass->fresh == 0 ? "x" : "x%u", pass->fresh);
}

/* ---- one host ---- */

bool
host_pass_speaks(struct host_pass *pass, uint32_t number, const struct host_pattern *host)
{
    const struct host_rule *rule = vec_at(&pass->rules, struct host_rule, number);
    int matched = host_pattern_match(rule->rule->matcher, host);
    struct speaker *speaker;

    if (matched < 0) {
        return true;
    }
    speaker = vec_add(&pass->speakers);
    if (speaker == NULL) {
        return false;
    }
    *speaker = (struct speaker){ .side = rule->side,
        .layer = rule->layer,
        .number = rule->number,
        .matched = (uint32_t)matched,
        .rule = rule->rule };
    return true;
}

bool
host_pass_name(struct host_pass *pass, const struct host_pattern *host)
{
    bool ok = true;

    for (const char *suffix = host->name; suffix != NULL && ok;) {
        const char *dot = strchr(suffix, '.');
        uint32_t number = intern_find(&pass->names, suffix, strlen(suffix));
        uint32_t at =
                number == INTERN_NONE ? NO_RULE : vec_at(&pass->bases, struct base, number)->first;

        for (; at != NO_RULE && ok; at = vec_at(&pass->rules, struct host_rule, at)->next) {
            ok = host_pass_speaks(pass, at, host);
        }
        suffix = dot == NULL ? NULL : dot + 1;
    }
    for (uint32_t at = pass->any_public; at != NO_RULE && ok;
            at = vec_at(&pass->rules, struct host_rule, at)->next) {
        ok = host_pass_speaks(pass, at, host);
    }
    return ok;
}

bool
host_pass_edges(struct host_pass *pass)
{
    static const uint32_t defaults[] = { 80, 81, 443, 444 };
    bool ok = numbers_add(&pass->edges, 1);

    for (size_t i = 0; i < pass->speakers.count && ok; i++) {
        const struct rule *rule = vec_at(&pass->speakers, struct speaker, i)->rule;

        if (rule->port_last != 0) {
            ok = numbers_add(&pass->edges, rule->port_first) &&
                 numbers_add(&pass->edges, rule->port_last + 1);
        }
        for (size_t k = 0; k < N_ELEMENTS(defaults) && ok && rule->port_last == 0 &&
                           rule->verdict != ABX_VERDICT_DENY;
                k++) {
            ok = numbers_add(&pass->edges, defaults[k]);
        }
    }
    numbers_sort(&pass->edges);
    return ok;
}

static void
note_best(const struct speaker *best, unsigned side, size_t layer, struct comparison *comparison)
{
    if (side == AFTER && best != NULL) {
        *comparison_won(comparison, side, layer, best->number) = true;
    }
}

/* Whether the speaker's layer does not open the host, which all the speakers match. */
static bool
is_closed_to(const struct vec *speakers, const struct speaker *speaker,
        const struct host_pattern *host, uint32_t port)
{
    bool is_closed = host->form == HOST_ADDRESS && host_is_closed(host);

    for (size_t i = 0; i < speakers->count && is_closed; i++) {
        const struct speaker *other = vec_at(speakers, struct speaker, i);

        is_closed = other->side != speaker->side || other->layer != speaker->layer ||
                    !rule_opens(other->rule, port);
    }
    return is_closed;
}

bool
can_speak(const struct vec *speakers, const struct speaker *speaker,
        const struct host_pattern *host, uint32_t port)
{
    return rule_can_speak(speaker->rule, port, false) &&
           (rule_can_speak(speaker->rule, port, true) ||
                   !is_closed_to(speakers, speaker, host, port));
}

bool
layer_connect(const struct comparison *comparison, unsigned side, size_t number,
        const struct vec *speakers, const struct host_pattern *host, uint32_t port,
        abx_verdict *ret_verdict, const struct speaker **ret_best)
{
    const struct layer *layer = side_layer(comparison, side, number);
    uint64_t rank = 0;

    *ret_best = NULL;
    *ret_verdict = ABX_VERDICT_DENY;
    if (!layer_has_opinion(layer, number + 1 == side_layers(comparison, side), SLOT_CONNECT)) {
        return false;
    }
    if (layer->settings.network == NETWORK_NONE) {
        return true;
    }
    for (size_t i = 0; i < speakers->count; i++) {
        const struct speaker *speaker = vec_at(speakers, struct speaker, i);

        if (speaker->side == side && speaker->layer == number &&
                can_speak(speakers, speaker, host, port)) {
            uint64_t own = rule_rank(speaker->rule, speaker->matched);

            if (*ret_best == NULL || own > rank ||
                    (own == rank && speaker->number < (*ret_best)->number)) {
                *ret_best = speaker;
                rank = own;
            }
        }
    }
    if (*ret_best == NULL) {
        *ret_verdict =
                layer->settings.network == NETWORK_HOST ? ABX_VERDICT_ALLOW : ABX_VERDICT_DENY;
    } else {
        *ret_verdict =
                (*ret_best)->rule->n_http > 0 ? ABX_VERDICT_ALLOW : (*ret_best)->rule->verdict;
    }
    return true;
}

abx_verdict
host_pass_connect(const struct host_pass *pass, unsigned side, const struct host_pattern *host,
        uint32_t port, bool by_name)
{
    struct tally tally = { .verdict = ABX_VERDICT_DENY };

    for (size_t i = 0; i < side_layers(pass->comparison, side); i++) {
        const struct layer *layer = side_layer(pass->comparison, side, i);
        const struct speaker *best;
        abx_verdict verdict;

        if (!layer_connect(
                    pass->comparison, side, i, &pass->speakers, host, port, &verdict, &best)) {
            continue;
        }
        if (by_name && best == NULL && layer->settings.network != NETWORK_NONE) {
            verdict = host_is_closed(host) && layer->settings.network != NETWORK_HOST
                              ? ABX_VERDICT_DENY
                              : ABX_VERDICT_ALLOW;
        }
        note_best(best, side, i, pass->comparison);
        tally_add(&tally, verdict);
    }
    return tally.verdict;
}

static abx_status
compare_port(struct host_pass *pass, const char *target, const struct host_pattern *host,
        uint32_t port, struct fail *fail)
{
    abx_request request = {
        .size = sizeof request, .kind = ABX_REQUEST_CONNECT, .target = target, .port = port
    };
    abx_verdict verdicts[SIDES];

    for (unsigned side = 0; side < SIDES; side++) {
        verdicts[side] = host_pass_connect(pass, side, host, port, false);
    }
    return verdicts[BEFORE] == verdicts[AFTER]
                   ? ABX_OK
                   : comparison_ask(pass->comparison, &request, NULL, verdicts, NULL, fail);
}

/* What speaks of requests at a port, so that the same at another one is not looked at twice. */
static bool
speaks_the_same(
        const struct host_pass *pass, const struct host_pattern *host, uint32_t a, uint32_t b)
{
    for (size_t i = 0; i < pass->speakers.count; i++) {
        const struct speaker *speaker = vec_at(&pass->speakers, struct speaker, i);

        if (can_speak(&pass->speakers, speaker, host, a) !=
                can_speak(&pass->speakers, speaker, host, b)) {
            return false;
        }
    }
    return true;
}

abx_status
host_pass_ports(struct host_pass *pass, const char *target, const struct host_pattern *host,
        struct fail *fail)
{
    struct work *work = &pass->comparison->work;
    uint32_t requests_at = 0;
    abx_status r = host_pass_edges(pass) ? ABX_OK : fail_nomem(fail);

    /* At an address that is closed each that speaks looks for one that opens it. */
    if (r == ABX_OK && !work_spend(work, pass->edges.count * pass->speakers.count *
                                                 (host->form == HOST_ADDRESS && host_is_closed(host)
                                                                 ? pass->speakers.count
                                                                 : 4))) {
        r = work_fail(work, fail);
    }

    for (size_t i = 0; i < pass->edges.count && r == ABX_OK; i++) {
        uint32_t port = *vec_at(&pass->edges, uint32_t, i);

        if (port > 65535) {
            break;
        }
        r = compare_port(pass, target, host, port, fail);
        if (r == ABX_OK && has_request_rules(&pass->speakers, host, port) &&
                (requests_at == 0 || !speaks_the_same(pass, host, port, requests_at))) {
            requests_at = port;
            r = compare_requests(pass->comparison, target, host, port, &pass->speakers, fail);
        }
    }
    return r;
}

void
host_pass_next(struct host_pass *pass)
{
    pass->speakers.count = 0;
    pass->edges.count = 0;
}

/* ---- names ---- */

bool
host_pass_example(
        const struct host_pass *pass, size_t i, struct host_pattern *ret_host, bool *ret_end)
{
    char label[16], name[NAME_ROOM];
    struct fail fail;
    size_t n = pass->bases.count;

    fresh_label(pass, label);
    *ret_end = i >= 2 * n + 2;
    if (i < 2 * n) {
        size_t length;
        const char *base = intern_bytes(&pass->names, (uint32_t)(i / 2), &length);

        if (i % 2 != 0 && !vec_at(&pass->bases, struct base, i / 2)->has_below) {
            return false;
        }
        snprintf(name, sizeof name, "%s%s%.*s", i % 2 != 0 ? label : "", i % 2 != 0 ? "." : "",
                (int)length, base);
    } else {
        snprintf(name, sizeof name, i % 2 != 0 ? "%s.%s" : "%s", label, label);
    }
    return !*ret_end && host_parse(name, ret_host, &fail) == ABX_OK && ret_host->form == HOST_NAME;
}

static abx_status
compare_named(struct host_pass *pass, struct fail *fail)
{
    struct host_pattern host;
    bool is_end = false;
    abx_status r = ABX_OK;

    for (size_t i = 0; !is_end && r == ABX_OK; i++) {
        if (!host_pass_example(pass, i, &host, &is_end)) {
            continue;
        }
        host_pass_next(pass);
        r = host_pass_name(pass, &host) ? host_pass_ports(pass, host.name, &host, fail)
                                        : fail_nomem(fail);
    }
    return r;
}

abx_status
compare_hosts(struct comparison *comparison, struct fail *fail)
{
    struct host_pass pass = { .comparison = comparison,
        .rules = VEC(struct host_rule),
        .bases = VEC(struct base),
        .any_public = NO_RULE,
        .blocks = VEC(uint32_t),
        .open = VEC(uint32_t),
        .speakers = VEC(struct speaker),
        .edges = VEC(uint32_t) };
    abx_status r;

    intern_init(&pass.names);
    r = take_rules(&pass, fail);
    r = r == ABX_OK ? compare_named(&pass, fail) : r;
    r = r == ABX_OK ? compare_addressed(&pass, fail) : r;
    intern_done(&pass.names);
    vec_done(&pass.rules);
    vec_done(&pass.bases);
    vec_done(&pass.blocks);
    vec_done(&pass.open);
    vec_done(&pass.speakers);
    vec_done(&pass.edges);
    return r;
}
