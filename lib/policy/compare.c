/* SPDX-License-Identifier: Apache-2.0
 * Owns comparisons of policies: what was found, and the simple kinds of requests (ports, actions,
 * credentials).  Each part divides all requests of a kind into finitely many regions in which both
 * policies decide alike, and asks about one request of each.  Every difference is asked of both
 * policies as anybody would ask it.  Pure, one thread. */
#include "policy/compare_private.h"

#include "base/mem.h"
#include "policy/credentials.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- findings ---- */

void
findings_done(struct findings *findings)
{
    vec_done(&findings->rows);
    intern_done(&findings->texts);
}

void
tally_add(struct tally *tally, abx_verdict verdict)
{
    if (!tally->decided || verdict_is_stricter(verdict, tally->verdict)) {
        tally->verdict = verdict;
    }
    tally->decided = true;
}

/* NULL: no memory. */
static const char *
keep_text(struct findings *findings, const char *text)
{
    uint32_t number = intern_put(&findings->texts, text, strlen(text) + 1);

    return number == INTERN_NONE ? NULL : intern_bytes(&findings->texts, number, NULL);
}

abx_status
comparison_add(struct comparison *comparison, enum finding_change change, const char *request,
        const char *example, const char *const texts[SIDES], const char *const rules[SIDES],
        struct fail *fail)
{
    struct finding *finding = vec_add(&comparison->findings.rows);
    const char *const given[] = { request, example, texts[BEFORE], texts[AFTER], rules[BEFORE],
        rules[AFTER] };
    const char *kept[N_ELEMENTS(given)];

    for (size_t i = 0; i < N_ELEMENTS(given); i++) {
        kept[i] = keep_text(&comparison->findings, given[i]);
        if (finding == NULL || kept[i] == NULL) {
            return fail_nomem(fail);
        }
    }
    *finding = (struct finding){ .change = change,
        .request = kept[0],
        .example = kept[1],
        .before = kept[2],
        .after = kept[3],
        .rule_before = kept[4],
        .rule_after = kept[5] };
    switch (change) {
    case FINDING_WIDER:
        comparison->relation |= ABX_RELATION_WIDER;
        break;
    case FINDING_NARROWER:
        comparison->relation |= ABX_RELATION_NARROWER;
        break;
    case FINDING_CHANGED:
        comparison->relation |= ABX_RELATION_NEITHER;
        break;
    case FINDING_IDLE:
        break;
    }
    return ABX_OK;
}

static const char *
request_word(const abx_request *request)
{
    switch (request->kind) {
    case ABX_REQUEST_PATH:
        return request->access == ABX_ACCESS_READ    ? "read"
               : request->access == ABX_ACCESS_WRITE ? "write"
                                                     : "exec";
    case ABX_REQUEST_EXEC:
        return "exec";
    case ABX_REQUEST_CONNECT:
        return "connect";
    case ABX_REQUEST_HTTP:
        return request->verb;
    case ABX_REQUEST_LISTEN:
        return "listen";
    case ABX_REQUEST_SOCKET:
        return "socket";
    case ABX_REQUEST_ACTION:
        return "action";
    default:
        break;
    }
    return "credential";
}

/* As `agentbox explain` takes it. */
static void
write_request(struct str *out, const abx_request *request, const char *name)
{
    bool brackets = request->kind == ABX_REQUEST_CONNECT && strchr(request->target, ':') != NULL;

    out->length = 0;
    if (request->kind == ABX_REQUEST_LISTEN) {
        str_printf(out, "%u", request->port);
    } else if (brackets) {
        str_printf(out, "[%s]", request->target);
    } else {
        str_add(out, request->target);
    }
    if (request->kind == ABX_REQUEST_CREDENTIAL) {
        str_printf(out, " to %s", request->verb);
    }
    if (request->kind == ABX_REQUEST_CONNECT || request->kind == ABX_REQUEST_CREDENTIAL) {
        str_printf(out, ":%u", request->port);
    }
    if (name != NULL) {
        str_printf(out, " of %s", name);
    }
    if (request->kind == ABX_REQUEST_PATH && request->verb != NULL) {
        str_add(out, " by ");
        str_add(out, request->verb);
    }
}

/* A name's own verdict, and that of the address that it turned out to have. */
static void
decide(abx_policy *policy, const abx_request *request, const char *name, struct ruling *ret_ruling)
{
    abx_request named = *request;
    struct ruling by_address;

    if (name == NULL) {
        policy_decide(policy, request, ret_ruling);
        return;
    }
    named.target = name;
    policy_decide(policy, &named, ret_ruling);
    policy_decide_address(policy, name, request->target, request->port, &by_address);
    if (verdict_is_stricter(by_address.verdict, ret_ruling->verdict)) {
        *ret_ruling = by_address;
    }
}

/* What tells findings apart. */
struct finding_key {
    uint64_t kind;
    const char *ids[SIDES], *sources[SIDES];
    uint64_t verdicts[SIDES];
    struct consent consents[SIDES];
};

/* Which of both is asked for more.  Where neither has all that the other wants, both are. */
static bool
needs_more(const struct consent *a, const struct consent *b)
{
    return a->approvers > b->approvers || (a->step_up && !b->step_up);
}

static enum finding_change
change_of(const struct ruling rulings[SIDES])
{
    if (rulings[BEFORE].verdict != rulings[AFTER].verdict) {
        return verdict_is_stricter(rulings[BEFORE].verdict, rulings[AFTER].verdict)
                       ? FINDING_WIDER
                       : FINDING_NARROWER;
    }
    if (!needs_more(&rulings[BEFORE].consent, &rulings[AFTER].consent)) {
        return FINDING_NARROWER;
    }
    return needs_more(&rulings[AFTER].consent, &rulings[BEFORE].consent) ? FINDING_CHANGED
                                                                         : FINDING_WIDER;
}

/* "ask", or what it takes besides: "ask 2 approvers with evidence". */
static const char *
verdict_text(const struct ruling *ruling, char *buffer, size_t room)
{
    if (ruling->verdict != ABX_VERDICT_ASK ||
            (ruling->consent.approvers <= 1 && !ruling->consent.step_up)) {
        return verdict_words[ruling->verdict];
    }
    snprintf(buffer, room, "%s%s%s", verdict_words[ruling->verdict],
            ruling->consent.approvers > 1 ? " 2 approvers" : "",
            ruling->consent.step_up ? " with evidence" : "");
    return buffer;
}

static bool
is_alike(const struct ruling *a, const struct ruling *b)
{
    return a->verdict == b->verdict &&
           (a->verdict != ABX_VERDICT_ASK || (!needs_more(&a->consent, &b->consent) &&
                                                     !needs_more(&b->consent, &a->consent)));
}

static abx_status
add_ruled(struct comparison *comparison, const abx_request *request, const char *name,
        const struct ruling rulings[SIDES], struct fail *fail)
{
    char texts[SIDES][48];
    const char *verdicts[SIDES], *rules[SIDES];

    for (unsigned side = 0; side < SIDES; side++) {
        struct str *text = &comparison->text;

        text->length = 0;
        str_add(text, rulings[side].source);
        str_add(text, "#");
        str_add(text, rulings[side].id);
        rules[side] = text->failed ? NULL : keep_text(&comparison->findings, text->data);
        verdicts[side] = verdict_text(&rulings[side], texts[side], sizeof texts[side]);
    }
    write_request(&comparison->text, request, name);
    if (rules[BEFORE] == NULL || rules[AFTER] == NULL || comparison->text.failed) {
        return fail_nomem(fail);
    }
    return comparison_add(comparison, change_of(rulings), request_word(request),
            comparison->text.data, verdicts, rules, fail);
}

abx_status
comparison_ask(struct comparison *comparison, const abx_request *request, const char *name,
        const abx_verdict *expected, bool *ret_otherwise, struct fail *fail)
{
    struct ruling rulings[SIDES];
    struct finding_key key = { .kind = (uint64_t)request->kind << 32 | request->access };
    size_t n = comparison->seen.entries.count;
    uint32_t number;

    for (unsigned side = 0; side < SIDES; side++) {
        decide(comparison->sides[side], request, name, &rulings[side]);
        key.ids[side] = rulings[side].id;
        key.sources[side] = rulings[side].source;
        key.verdicts[side] = rulings[side].verdict;
        key.consents[side].approvers = rulings[side].consent.approvers;
        key.consents[side].step_up = rulings[side].consent.step_up;
        if (expected != NULL && (abx_verdict)rulings[side].verdict != expected[side]) {
            if (ret_otherwise != NULL) {
                *ret_otherwise = true;
                return ABX_OK;
            }
            return fail_set(fail, ABX_ERR_INTERNAL, 0, "compare:example",
                    "'%.300s' is not decided as expected", request->target);
        }
    }
    if (is_alike(&rulings[BEFORE], &rulings[AFTER])) {
        return ABX_OK;
    }
    number = intern_put(&comparison->seen, &key, sizeof key);
    if (number == INTERN_NONE) {
        return fail_nomem(fail);
    }
    return number < n ? ABX_OK : add_ruled(comparison, request, name, rulings, fail);
}

/* ---- which rules decide ---- */

bool *
comparison_won(struct comparison *comparison, unsigned side, size_t layer, size_t rule)
{
    return side == BEFORE ? NULL : &comparison->won[layer][rule];
}

bool *
comparison_won_request(
        struct comparison *comparison, unsigned side, size_t layer, size_t rule, size_t request)
{
    return side == BEFORE
                   ? NULL
                   : &comparison->won[layer][comparison->first_request[layer][rule] + request];
}

static bool
make_won(struct comparison *comparison)
{
    size_t n_layers = side_layers(comparison, AFTER);

    comparison->won = calloc(n_layers + 1, sizeof *comparison->won);
    comparison->first_request = calloc(n_layers + 1, sizeof *comparison->first_request);
    for (size_t i = 0; i < n_layers && comparison->won != NULL && comparison->first_request != NULL;
            i++) {
        const struct vec *rules = &side_layer(comparison, AFTER, i)->rules;
        size_t n = rules->count;

        comparison->first_request[i] = calloc(rules->count + 1, sizeof(uint32_t));
        for (size_t k = 0; k < rules->count && comparison->first_request[i] != NULL; k++) {
            comparison->first_request[i][k] = (uint32_t)n;
            n += vec_at(rules, struct rule, k)->n_http;
        }
        comparison->won[i] = calloc(n + 1, sizeof(bool));
        if (comparison->won[i] == NULL || comparison->first_request[i] == NULL) {
            return false;
        }
    }
    return comparison->won != NULL && comparison->first_request != NULL;
}

static void
won_done(struct comparison *comparison)
{
    for (size_t i = 0; i < side_layers(comparison, AFTER); i++) {
        if (comparison->won != NULL) {
            free(comparison->won[i]);
        }
        if (comparison->first_request != NULL) {
            free(comparison->first_request[i]);
        }
    }
    free(comparison->won);
    free(comparison->first_request);
}

static abx_status
add_idle(struct comparison *comparison, const struct layer *layer, const struct rule *rule,
        const char *example, const char *id, abx_verdict verdict, struct fail *fail)
{
    AUTO(str_done) struct str name = { 0 };
    const char *texts[SIDES] = { "", verdict_words[verdict] };
    const char *rules[SIDES] = { "", NULL };
    abx_request request = { .kind = rule->kind, .access = rule->access, .verb = "http" };

    request.kind =
            rule->kind == ABX_REQUEST_CONNECT && id != rule->id ? ABX_REQUEST_HTTP : rule->kind;
    str_printf(&name, "%s#%s", layer->source, id);
    if (name.failed) {
        return fail_nomem(fail);
    }
    rules[AFTER] = name.data;
    return comparison_add(
            comparison, FINDING_IDLE, request_word(&request), example, texts, rules, fail);
}

/* Rules that the document gave and that decide nothing, since others always do. */
static abx_status
find_idle(struct comparison *comparison, struct fail *fail)
{
    abx_status r = ABX_OK;

    for (size_t i = 0; i < side_layers(comparison, AFTER); i++) {
        const struct layer *layer = side_layer(comparison, AFTER, i);

        for (size_t k = 0; k < layer->rules.count && r == ABX_OK; k++) {
            const struct rule *rule = vec_at(&layer->rules, struct rule, k);
            bool is_network = rule->kind == ABX_REQUEST_CONNECT;

            if (rule->origin != ORIGIN_OWN || rule->implied || rule->kind >= RULE_GIT_ROOT ||
                    rule->kind == ABX_REQUEST_ACTION ||
                    (is_network && layer->settings.network != NETWORK_FILTERED)) {
                continue;
            }
            if (!comparison->won[i][k]) {
                r = add_idle(comparison, layer, rule, rule->pattern, rule->id, rule->verdict, fail);
            }
            for (uint32_t n = 0; n < rule->n_http && r == ABX_OK; n++) {
                if (!comparison->won[i][comparison->first_request[i][k] + n]) {
                    r = add_idle(comparison, layer, rule, rule->http[n].path, rule->http[n].id,
                            rule->http[n].verdict, fail);
                }
            }
        }
    }
    return r;
}

/* ---- numbers ---- */

static int
compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

void
numbers_sort(struct vec *numbers)
{
    uint32_t *data = numbers->data;
    size_t n = 0;

    if (numbers->count > 1) {
        qsort(data, numbers->count, sizeof *data, compare_numbers);
    }
    for (size_t i = 0; i < numbers->count; i++) {
        if (n == 0 || data[n - 1] != data[i]) {
            data[n++] = data[i];
        }
    }
    numbers->count = n;
}

bool
numbers_add(struct vec *numbers, uint32_t number)
{
    uint32_t *slot = vec_add(numbers);

    if (slot != NULL) {
        *slot = number;
    }
    return slot != NULL;
}

/* ---- ports of the box ---- */

static void
note_listen(struct comparison *comparison, uint32_t port)
{
    for (size_t i = 0; i < side_layers(comparison, AFTER); i++) {
        struct pick pick;

        index_pick_port(side_layer(comparison, AFTER, i), port, &pick);
        if (pick.rule != NO_RULE) {
            comparison->won[i][pick.rule] = true;
        }
    }
}

static abx_status
compare_listen(struct comparison *comparison, struct fail *fail)
{
    struct vec edges = VEC(uint32_t);
    bool ok = numbers_add(&edges, 1);
    abx_status r = ABX_OK;

    for (unsigned side = 0; side < SIDES; side++) {
        for (size_t i = 0; i < side_layers(comparison, side); i++) {
            const struct vec *rules = &side_layer(comparison, side, i)->rules;

            for (size_t k = 0; k < rules->count && ok; k++) {
                const struct rule *rule = vec_at(rules, struct rule, k);

                if (rule->kind == ABX_REQUEST_LISTEN) {
                    ok = numbers_add(&edges, rule->port_first) &&
                         numbers_add(&edges, rule->port_last + 1);
                }
            }
        }
    }
    if (!ok) {
        r = fail_nomem(fail);
    }
    numbers_sort(&edges);
    for (size_t i = 0; i < edges.count && r == ABX_OK; i++) {
        abx_request request = { .size = sizeof request, .kind = ABX_REQUEST_LISTEN };

        request.port = *vec_at(&edges, uint32_t, i);
        if (request.port > 0 && request.port <= 65535) {
            note_listen(comparison, request.port);
            r = comparison_ask(comparison, &request, NULL, NULL, NULL, fail);
        }
    }
    vec_done(&edges);
    return r;
}

/* ---- names that are all there is ---- */

/* Actions, and sockets without a path: each name that a rule has, and one that none has. */
static abx_status
compare_names(struct comparison *comparison, uint32_t kind, struct fail *fail)
{
    struct intern names;
    char fresh[16];
    abx_status r = ABX_OK;

    intern_init(&names);
    for (unsigned side = 0; side < SIDES; side++) {
        for (size_t i = 0; i < side_layers(comparison, side) && r == ABX_OK; i++) {
            const struct vec *rules = &side_layer(comparison, side, i)->rules;

            for (size_t k = 0; k < rules->count && r == ABX_OK; k++) {
                const struct rule *rule = vec_at(rules, struct rule, k);

                if (rule->kind != kind || (kind == ABX_REQUEST_SOCKET && rule->pattern[0] != '@')) {
                    continue;
                }
                if (side == AFTER) {
                    comparison->won[i][k] = true;
                }
                if (intern_put(&names, rule->pattern, strlen(rule->pattern) + 1) == INTERN_NONE) {
                    r = fail_nomem(fail);
                }
            }
        }
    }
    for (unsigned i = 0; r == ABX_OK; i++) {
        snprintf(fresh, sizeof fresh, "@x%u", i);
        if (intern_find(&names, fresh + (kind == ABX_REQUEST_ACTION),
                    strlen(fresh) + (kind != ABX_REQUEST_ACTION)) == INTERN_NONE) {
            break;
        }
    }
    for (uint32_t i = 0; i <= names.entries.count && r == ABX_OK; i++) {
        abx_request request = { .size = sizeof request, .kind = kind };

        request.target = i < names.entries.count ? intern_bytes(&names, i, NULL)
                                                 : fresh + (kind == ABX_REQUEST_ACTION);
        r = comparison_ask(comparison, &request, NULL, NULL, NULL, fail);
    }
    intern_done(&names);
    return r;
}

/* ---- credentials ---- */

/* Whether some layer lists a host of this credential that has the name in it. */
static bool
credential_names(const struct comparison *comparison, const char *credential, const char *name)
{
    struct host_pattern parsed;
    struct fail fail;

    if (host_parse(name, &parsed, &fail) < 0) {
        return false;
    }
    for (unsigned side = 0; side < SIDES; side++) {
        for (size_t i = 0; i < side_layers(comparison, side); i++) {
            const struct policy_credential *own =
                    credential_find(side_layer(comparison, side, i), credential);

            for (size_t k = 0; own != NULL && k < own->n_hosts; k++) {
                struct host_pattern below = own->hosts[k].pattern;
                struct host_pattern suffix = parsed;

                suffix.form = HOST_BOTH;
                below.form = below.form == HOST_ADDRESS ? HOST_ADDRESS : HOST_NAME;
                if (host_pattern_match(&suffix, &below) >= 0) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* One host that the pattern stands for: itself, or one below that no entry has. */
static bool
credential_example(const struct comparison *comparison, const char *name,
        const struct credential_host *host, bool below, char out[POLICY_HOST_SIZE + 16])
{
    struct host_pattern parsed;
    struct fail fail;

    if (host->pattern.form == HOST_ADDRESS || !below) {
        snprintf(out, POLICY_HOST_SIZE + 16, "%s",
                host->pattern.form == HOST_ADDRESS ? host->text : host->pattern.name);
    }
    for (unsigned i = 0; below && host->pattern.form != HOST_ADDRESS; i++) {
        snprintf(out, POLICY_HOST_SIZE + 16, "x%u.%s", i, host->pattern.name);
        if (!credential_names(comparison, name, out)) {
            break;
        }
    }
    return host_parse(out, &parsed, &fail) == ABX_OK && host_is_single(&parsed);
}

static abx_status
ask_credential(struct comparison *comparison, const char *name, const struct credential_host *host,
        const struct vec *ports, struct fail *fail)
{
    char target[POLICY_HOST_SIZE + 16];
    abx_status r = ABX_OK;

    for (unsigned below = 0; below < 2; below++) {
        if (!credential_example(comparison, name, host, below != 0, target)) {
            continue;
        }
        for (size_t i = 0; i < ports->count && r == ABX_OK; i++) {
            abx_request request = { .size = sizeof request,
                .kind = ABX_REQUEST_CREDENTIAL,
                .port = *vec_at(ports, uint32_t, i),
                .target = name,
                .verb = target };

            if (request.port > 0 && request.port <= 65535) {
                r = comparison_ask(comparison, &request, NULL, NULL, NULL, fail);
            }
        }
    }
    return r;
}

/* Of one name in all layers: the edges of its ports, and then, with them, each of its hosts. */
static abx_status
each_credential_host(struct comparison *comparison, const char *name, struct vec *ports, bool asks,
        struct fail *fail)
{
    abx_status r = ABX_OK;

    for (unsigned side = 0; side < SIDES; side++) {
        for (size_t i = 0; i < side_layers(comparison, side); i++) {
            const struct policy_credential *credential =
                    credential_find(side_layer(comparison, side, i), name);

            for (size_t k = 0; credential != NULL && k < credential->n_hosts && r == ABX_OK; k++) {
                const struct credential_host *host = &credential->hosts[k];

                if (asks) {
                    r = ask_credential(comparison, name, host, ports, fail);
                } else if (!numbers_add(ports, host->port_first) ||
                           !numbers_add(ports, host->port_last + 1)) {
                    r = fail_nomem(fail);
                }
            }
        }
    }
    return r;
}

static abx_status
compare_credentials(struct comparison *comparison, struct fail *fail)
{
    static const uint32_t default_edges[] = { 1, 80, 81, 443, 444 };
    abx_status r = ABX_OK;

    for (unsigned side = 0; side < SIDES; side++) {
        for (size_t i = 0; i < side_layers(comparison, side); i++) {
            const struct policy_settings *settings = &side_layer(comparison, side, i)->settings;

            for (size_t k = 0; k < settings->n_credentials && r == ABX_OK; k++) {
                struct vec ports = VEC(uint32_t);
                bool ok = true;

                for (size_t n = 0; n < N_ELEMENTS(default_edges) && ok; n++) {
                    ok = numbers_add(&ports, default_edges[n]);
                }
                r = ok ? each_credential_host(
                                 comparison, settings->credentials[k].name, &ports, false, fail)
                       : fail_nomem(fail);
                numbers_sort(&ports);
                r = r == ABX_OK ? each_credential_host(comparison, settings->credentials[k].name,
                                          &ports, true, fail)
                                : r;
                vec_done(&ports);
            }
        }
    }
    return r;
}

/* ---- all of it ---- */

static abx_status
compare_all(struct comparison *comparison, struct fail *fail)
{
    abx_status r = make_won(comparison) ? ABX_OK : fail_nomem(fail);

    r = r == ABX_OK ? compare_paths(comparison, fail) : r;
    r = r == ABX_OK ? compare_names(comparison, ABX_REQUEST_SOCKET, fail) : r;
    r = r == ABX_OK ? compare_hosts(comparison, fail) : r;
    r = r == ABX_OK ? compare_listen(comparison, fail) : r;
    r = r == ABX_OK ? compare_names(comparison, ABX_REQUEST_ACTION, fail) : r;
    r = r == ABX_OK ? compare_credentials(comparison, fail) : r;
    r = r == ABX_OK ? compare_settings(comparison, fail) : r;
    return r == ABX_OK ? find_idle(comparison, fail) : r;
}

abx_status
policy_compare(abx_policy *before, abx_policy *after, uint32_t *ret_relation,
        struct findings *ret_findings, struct fail *fail)
{
    struct comparison comparison = { .sides = { before, after },
        .work = { .left = WORK_MAX },
        .findings = { .rows = VEC(struct finding) } };
    abx_status r;

    intern_init(&comparison.findings.texts);
    intern_init(&comparison.seen);
    r = compare_all(&comparison, fail);
    intern_done(&comparison.seen);
    str_done(&comparison.text);
    won_done(&comparison);
    if (r < 0) {
        findings_done(&comparison.findings);
        return r;
    }
    *ret_relation = comparison.relation;
    *ret_findings = comparison.findings;
    return ABX_OK;
}
