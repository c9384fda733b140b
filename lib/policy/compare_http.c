/* SPDX-License-Identifier: Apache-2.0
 * Owns the comparison of requests to one host and port: for each method that a rule names, and one
 * that none does, all paths at once, with and without a slash at the end.  Pure, one thread. */
#include "policy/compare_private.h"

#include "base/mem.h"
#include "base/str.h"
#include "policy/walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a walk costs before it begins, and a rule about requests that is looked at for it. */
#define WALK_WORK 20000u
#define REQUEST_WORK 50u

struct http_pass {
    struct comparison *comparison;
    const char *host;
    const struct host_pattern *parsed;
    uint32_t port;
    const struct vec *speakers;
    const char *method;
    bool ends_in_slash;
    uint32_t *most; /* by track: how much of the host the speakers that count matched, and one */
    struct tally *rest; /* by track: where no rule about requests matches; undecided: no opinion */
};

static uint32_t
track_of(const struct http_pass *pass, unsigned side, size_t layer)
{
    return (uint32_t)((side == BEFORE ? 0 : side_layers(pass->comparison, BEFORE)) + layer);
}

bool
has_request_rules(const struct vec *speakers, const struct host_pattern *host, uint32_t port)
{
    for (size_t i = 0; i < speakers->count; i++) {
        const struct speaker *speaker = vec_at(speakers, struct speaker, i);

        if (speaker->rule->n_http > 0 && can_speak(speakers, speaker, host, port)) {
            return true;
        }
    }
    return false;
}

/* Of a layer only the speakers count that matched most of the host. */
static bool
counts(const struct http_pass *pass, const struct speaker *speaker)
{
    return can_speak(pass->speakers, speaker, pass->parsed, pass->port) &&
           pass->most[track_of(pass, speaker->side, speaker->layer)] == speaker->matched + 1;
}

/* What a layer says of a request that none of its rules about requests has. */
static void
find_rest(struct http_pass *pass, unsigned side, size_t number)
{
    uint32_t track = track_of(pass, side, number);
    const struct speaker *best;
    abx_verdict verdict;
    uint64_t rank = 0;
    bool found = false;

    if (!layer_connect(pass->comparison, side, number, pass->speakers, pass->parsed, pass->port,
                &verdict, &best)) {
        return;
    }
    if (best == NULL) {
        tally_add(&pass->rest[track], verdict);
        return;
    }
    pass->most[track] = best->matched + 1;
    for (size_t i = 0; i < pass->speakers->count; i++) {
        const struct speaker *speaker = vec_at(pass->speakers, struct speaker, i);
        uint64_t own = http_rank(speaker->rule, speaker->matched, NULL, 0);

        if (speaker->side == side && speaker->layer == number && counts(pass, speaker) &&
                (!found || own > rank)) {
            found = true;
            rank = own;
            verdict = speaker->rule->n_http > 0 ? ABX_VERDICT_DENY : speaker->rule->verdict;
        }
    }
    tally_add(&pass->rest[track], verdict);
}

/* ---- one walk ---- */

/* A byte that stands in a URL as it is. */
static bool
is_plain(unsigned char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || strchr("/-_.~!$&'()*+,;=:@", byte) != NULL;
}

static char *
make_url(const struct http_pass *pass, const char *path)
{
    AUTO(str_done) struct str url = { 0 };
    bool brackets = strchr(pass->host, ':') != NULL;

    str_add(&url, pass->port == 80 ? "http://" : "https://");
    str_printf(&url, brackets ? "[%s]" : "%s", pass->host);
    if (pass->port != 80 && pass->port != 443) {
        str_printf(&url, ":%u", pass->port);
    }
    for (const char *at = path; *at != '\0'; at++) {
        if (is_plain((unsigned char)*at)) {
            str_add_bytes(&url, at, 1);
        } else {
            str_printf(&url, "%%%02X", (unsigned char)*at);
        }
    }
    if (pass->ends_in_slash) {
        str_add(&url, "/");
    }
    return str_steal(&url, NULL);
}

static abx_verdict
side_verdict(const struct http_pass *pass, unsigned side, const uint32_t *said)
{
    struct tally tally = { .verdict = ABX_VERDICT_DENY };

    for (size_t i = 0; i < side_layers(pass->comparison, side); i++) {
        uint32_t track = track_of(pass, side, i);

        if (said[track * WALK_CALLS] != WALK_NOTHING) {
            tally_add(&tally, said[track * WALK_CALLS] - 1);
        } else if (pass->rest[track].decided) {
            tally_add(&tally, pass->rest[track].verdict);
        }
    }
    return tally.verdict;
}

static abx_status
ask(const struct http_pass *pass, const char *path, const abx_verdict *expected, struct fail *fail)
{
    AUTO(freep) char *url = make_url(pass, path);
    abx_request request = {
        .size = sizeof request, .kind = ABX_REQUEST_HTTP, .target = url, .verb = pass->method
    };

    return url == NULL ? fail_nomem(fail)
                       : comparison_ask(pass->comparison, &request, NULL, expected, NULL, fail);
}

static uint32_t
find_differences(void *data, const uint32_t *said)
{
    const abx_verdict verdicts[SIDES] = { side_verdict(data, BEFORE, said),
        side_verdict(data, AFTER, said) };

    return verdicts_difference(verdicts);
}

static abx_status
visit(void *data, const uint32_t *said, uint32_t difference, const struct walk_place *place,
        struct fail *fail)
{
    const struct http_pass *pass = data;
    const abx_verdict verdicts[SIDES] = { side_verdict(pass, BEFORE, said),
        side_verdict(pass, AFTER, said) };
    AUTO(freep) char *path = walk_path(place);

    (void)difference; /* there is one */
    return path == NULL ? fail_nomem(fail) : ask(pass, path, verdicts, fail);
}

/* A request that counts as an action is judged by each layer that knows actions. */
static abx_verdict
with_action(const struct http_pass *pass, unsigned side, const struct http_rule *http)
{
    struct tally tally = { .decided = true, .verdict = http->verdict };

    for (size_t i = 0; http->action != NULL && i < side_layers(pass->comparison, side); i++) {
        const struct layer *layer = side_layer(pass->comparison, side, i);
        struct pick pick;

        if (layer->has_actions) {
            index_pick_name(layer, ABX_REQUEST_ACTION, http->action, &pick);
            tally_add(&tally, pick.rule == NO_RULE
                                      ? ABX_VERDICT_DENY
                                      : vec_at(&layer->rules, struct rule, pick.rule)->verdict);
        }
    }
    return tally.verdict;
}

static bool
add_requests(const struct http_pass *pass, struct walk *walk, const struct speaker *speaker)
{
    if (!work_spend(walk->work, speaker->rule->n_http * REQUEST_WORK)) {
        return false;
    }
    for (uint32_t i = 0; i < speaker->rule->n_http; i++) {
        const struct http_rule *http = &speaker->rule->http[i];
        struct walk_rule *own;

        if (!http_rule_has_method(http, pass->method) ||
                !http_rule_has_end(http, pass->ends_in_slash)) {
            continue;
        }
        own = vec_add(&walk->rules);
        if (own == NULL) {
            return false;
        }
        *own = (struct walk_rule){ .track = track_of(pass, speaker->side, speaker->layer),
            .pattern = http->pattern,
            .rank = http_rank(speaker->rule, 0, http, 0),
            .said = walk_said(with_action(pass, speaker->side, http), false),
            .is_exact = !http->is_open,
            .won = comparison_won_request(
                    pass->comparison, speaker->side, speaker->layer, speaker->number, i) };
    }
    return true;
}

static int
compare_speakers(const void *a, const void *b)
{
    const struct speaker *x = a, *y = b;

    return x->number < y->number ? -1 : x->number > y->number;
}

static abx_status
walk_method(struct http_pass *pass, const struct vec *speakers, struct fail *fail)
{
    struct walk walk = { .of_urls = true,
        .without_root = pass->ends_in_slash, /* "/" has no other slash at its end */
        .rules = VEC(struct walk_rule),
        .work = &pass->comparison->work,
        .data = pass,
        .find_differences = find_differences,
        .visit = visit,
        .n_tracks = track_of(pass, AFTER, side_layers(pass->comparison, AFTER)) };
    abx_status r = work_spend(walk.work, WALK_WORK + speakers->count) ? ABX_OK
                                                                      : work_fail(walk.work, fail);

    for (size_t i = 0; i < speakers->count && r == ABX_OK; i++) {
        const struct speaker *speaker = vec_at(speakers, struct speaker, i);

        if (counts(pass, speaker)) {
            r = add_requests(pass, &walk, speaker) ? ABX_OK : work_fail(walk.work, fail);
        }
    }
    r = r == ABX_OK ? walk_all(&walk, fail) : r;
    vec_done(&walk.rules);
    return r;
}

/* ---- methods ---- */

static bool
add_methods(struct intern *methods, const char *list)
{
    for (const char *at = list; *at != '\0'; at += *at == ' ') {
        size_t n = strcspn(at, " ");
        char method[METHOD_MAX + 1];

        if (!(n == 1 && *at == '*') && n <= METHOD_MAX) {
            memcpy(method, at, n);
            method[n] = '\0';
            if (intern_put(methods, method, n + 1) == INTERN_NONE) {
                return false;
            }
        }
        at += n;
    }
    return true;
}

/* Those that are named, and one that is not. */
static bool
find_methods(const struct http_pass *pass, struct intern *methods)
{
    char fresh[METHOD_MAX + 1] = "X";

    for (size_t i = 0; i < pass->speakers->count; i++) {
        const struct speaker *speaker = vec_at(pass->speakers, struct speaker, i);

        for (uint32_t k = 0; k < speaker->rule->n_http && counts(pass, speaker); k++) {
            if (!add_methods(methods, speaker->rule->http[k].methods)) {
                return false;
            }
        }
    }
    for (unsigned i = 0; intern_find(methods, fresh, strlen(fresh) + 1) != INTERN_NONE; i++) {
        snprintf(fresh, sizeof fresh, "X%c%c%c", 'A' + (int)(i / 676 % 26),
                'A' + (int)(i / 26 % 26), 'A' + (int)(i % 26));
    }
    return intern_put(methods, fresh, strlen(fresh) + 1) != INTERN_NONE;
}

static abx_status
compare_methods(struct http_pass *pass, const struct vec *speakers, struct fail *fail)
{
    struct intern methods;
    abx_status r;

    intern_init(&methods);
    r = find_methods(pass, &methods) ? ABX_OK : fail_nomem(fail);
    for (uint32_t i = 0; i < methods.entries.count && r == ABX_OK; i++) {
        pass->method = intern_bytes(&methods, i, NULL);
        for (unsigned slash = 0; slash < 2 && r == ABX_OK; slash++) {
            pass->ends_in_slash = slash != 0;
            r = walk_method(pass, speakers, fail);
        }
        pass->ends_in_slash = false;
        /* A path that two servers could understand differently. */
        r = r == ABX_OK ? ask(pass, "/x//x", NULL, fail) : r;
    }
    intern_done(&methods);
    return r;
}

abx_status
compare_requests(struct comparison *comparison, const char *host, const struct host_pattern *parsed,
        uint32_t port, const struct vec *speakers, struct fail *fail)
{
    struct http_pass pass = {
        .comparison = comparison, .host = host, .parsed = parsed, .port = port, .speakers = speakers
    };
    uint32_t n_tracks = track_of(&pass, AFTER, side_layers(comparison, AFTER));
    AUTO(freep) uint32_t *most = calloc(n_tracks, sizeof *most);
    AUTO(freep) struct tally *rest = calloc(n_tracks, sizeof *rest);

    if (most == NULL || rest == NULL) {
        return fail_nomem(fail);
    }
    pass.most = most;
    pass.rest = rest;
    for (unsigned side = 0; side < SIDES; side++) {
        for (size_t i = 0; i < side_layers(comparison, side); i++) {
            find_rest(&pass, side, i);
        }
    }
    /* Of equal rules the one with the lower number decides, as everywhere. */
    qsort(speakers->data, speakers->count, sizeof(struct speaker), compare_speakers);
    return compare_methods(&pass, speakers, fail);
}
