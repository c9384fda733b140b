/* SPDX-License-Identifier: Apache-2.0
 * Comparisons: by a table, and held against all short requests over a small alphabet. */
#include "base/mem.h"
#include "policy/compare.h"
#include "policy/gitdir.h"
#include "policy/notation.h"

#include "unit/main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

DEFINE_CLEANUP(abx_policy_unref, abx_policy)
DEFINE_CLEANUP(abx_report_unref, abx_report)

static struct note note;

static abx_policy *
policy_of(const char *text)
{
    struct fail fail = { 0 };
    abx_policy *policy;

    ck_assert_msg(note_parse(text, &note), "%s", text);
    policy = note_policy(&note, &fail);
    ck_assert_msg(policy != NULL, "%s: %s", text, fail.text);
    return policy;
}

/* ---- a table ---- */

/* `row` is one that must be there: change, request, example. */
static const struct compare_case {
    const char *before, *after;
    abx_status relation;
    const char *row;
} cases[] = {
    { "read.allow: /", "read.allow: /", ABX_RELATION_EQUAL, NULL },
    { "read.allow: /w", "read.allow: /", ABX_RELATION_WIDER, "wider read /" },
    { "read.allow: /", "read.allow: /w", ABX_RELATION_NARROWER, "narrower read /" },
    { "read.allow: /a", "read.allow: /b", ABX_RELATION_NEITHER, "wider read /b" },
    /* A read ask implies a write ask. */
    { "read.allow: /a", "read.ask: /a", ABX_RELATION_NEITHER, "wider write /a" },
    { "read.allow: /", "read.allow: /; read.deny: **/.env", ABX_RELATION_NARROWER,
            "narrower read /.env" },
    /* The literals are exactly what the class is. */
    { "read.allow: /; read.deny: /[ab]", "read.allow: /; read.deny: /a; read.deny: /b",
            ABX_RELATION_EQUAL, NULL },
    { "read.allow: /; read.deny: /[abc]", "read.allow: /; read.deny: /a; read.deny: /b",
            ABX_RELATION_WIDER, "wider read /c" },
    { "read.allow: /; read.deny: /?*", "read.allow: /; read.deny: /*", ABX_RELATION_EQUAL, NULL },
    { "read.allow: /; read.deny: /x; read.deny: /[!x]; read.deny: /?",
            "read.allow: /; read.deny: /x", ABX_RELATION_WIDER, NULL },
    { "read.allow: /; read.deny: /?", "read.allow: /; read.deny: /[!a]; read.deny: /a",
            ABX_RELATION_WIDER, "wider read /\xc3\xa9" },
    { "read.allow: /; read.deny: /a*b; read.deny: /b*", "read.allow: /; read.deny: /[ab]*",
            ABX_RELATION_NARROWER, "narrower read /a" },
    { "read.allow: /; read.deny: /a*", "read.allow: /; read.deny: /a*; read.deny: /ab*",
            ABX_RELATION_EQUAL, "idle read /ab*" },
    { "read.allow: /; read.deny: /**/a/**/b", "read.allow: /; read.deny: **/a/**/b",
            ABX_RELATION_EQUAL, NULL },
    { "read.allow: /; read.deny: **/a/b", "read.allow: /; read.deny: **/a/**/b",
            ABX_RELATION_NARROWER, "narrower read /a/x/b" },
    { "read.allow: /; read.deny: **/a; read.allow: /w/a", "read.allow: /; read.deny: **/a",
            ABX_RELATION_NARROWER, "narrower read /w/a" },
    /* A write allow implies a read allow. */
    { "read.allow: /w", "write.allow: /w", ABX_RELATION_WIDER, "wider write /w" },
    { "write.allow: /w; git", "write.allow: /w", ABX_RELATION_WIDER,
            "wider write /w/.git by open" },
    { "write.allow: /w; git", "write.allow: /w; write.deny: /w/.git/hooks", ABX_RELATION_NEITHER,
            "narrower write /w/.git/hooks" },
    { "write.allow: /w; protect: .rc", "write.allow: /w; write.deny: /w/.rc", ABX_RELATION_EQUAL,
            NULL },
    { "read.allow: /; exec.deny: /x", "read.allow: /", ABX_RELATION_WIDER, "wider exec /x" },
    { "read.allow: /", "read.allow: /; exec.allow: /usr/bin", ABX_RELATION_NARROWER,
            "narrower exec /" },
    /* Layers. */
    { "read.allow: /", "read.deny: /s OVER read.allow: /", ABX_RELATION_NARROWER,
            "narrower read /s" },
    { "read.allow: /; read.deny: /s", "read.allow: /; read.deny: /s OVER read.allow: /",
            ABX_RELATION_EQUAL, NULL },
    /* Hosts. */
    { "network: filtered", "network: filtered; network.allow: a.com", ABX_RELATION_WIDER,
            "wider connect a.com:80" },
    { "network: filtered; network.allow: **.a.com",
            "network: filtered; network.allow: *.a.com; network.allow: a.com", ABX_RELATION_EQUAL,
            NULL },
    { "network: filtered; network.allow: *.a.com", "network: filtered; network.allow: **.a.com",
            ABX_RELATION_WIDER, "wider connect a.com:80" },
    { "network: filtered; network.allow: a.com:1-9", "network: filtered; network.allow: a.com:2-9",
            ABX_RELATION_NARROWER, "narrower connect a.com:1" },
    { "network: filtered; network.allow: a.com:1-9",
            "network: filtered; network.allow: a.com:1-4; network.allow: a.com:5-9",
            ABX_RELATION_EQUAL, NULL },
    { "network: filtered; network.allow: *",
            "network: filtered; network.allow: *; network.deny: "
            "192.0.0.0/2",
            ABX_RELATION_NARROWER, "narrower connect 192.0.1.0:80 of x.x" },
    { "network: filtered; network.allow: 93.0.0.0/8",
            "network: filtered; network.allow: 93.0.0.0/9; network.allow: 93.128.0.0/9",
            ABX_RELATION_EQUAL, NULL },
    { "network: filtered; network.allow: 93.0.0.0/8",
            "network: filtered; network.allow: 93.0.0.0/8; network.deny: 93.1.2.3/32",
            ABX_RELATION_NARROWER, "narrower connect 93.1.2.3:80" },
    { "network: filtered; network.private: 10.1.0.0/16:443",
            "network: filtered; network.private: 10.0.0.0/8:443", ABX_RELATION_WIDER,
            "wider connect 10.0.0.0:443" },
    /* One name gains by it and another loses. */
    { "network: filtered; network.allow: 10.0.0.0/8; network.ask: a.b; network.allow: c.b",
            "network: filtered; network.allow: a.b; network.allow: c.b; network.ask: 93.0.0.0/8",
            ABX_RELATION_NEITHER, "narrower connect 93.0.0.0:80 of c.b" },
    /* What no name leads to makes no difference. */
    { "network: filtered", "network: filtered; network.deny: 93.0.0.0/8", ABX_RELATION_EQUAL,
            NULL },
    { "network: filtered", "read.allow: /", ABX_RELATION_WIDER, "wider read /" },
    /* Requests. */
    { "network: filtered; network.allow: a.com",
            "network: filtered; network.allow: a.com http GET "
            "/v1/**",
            ABX_RELATION_NARROWER, "narrower GET http://a.com/" },
    { "network: filtered; network.allow: a.com http GET /v1/*",
            "network: filtered; network.allow: a.com http GET,PUT /v1/*", ABX_RELATION_WIDER,
            "wider PUT http://a.com/v1/x" },
    { "network: filtered; network.allow: a.com http GET /v1/**",
            "network: filtered; network.allow: a.com http GET /v1 http GET /v1/**",
            ABX_RELATION_EQUAL, NULL },
    { "network: filtered; network.allow: a.com http GET /v1/*",
            "network: filtered; network.allow: a.com http GET /v1/* http GET /v1/*/",
            ABX_RELATION_WIDER, "wider GET http://a.com/v1/x/" },
    { "listen.allow: x:80-90", "listen.allow: x:80-89; listen.allow: x:90", ABX_RELATION_EQUAL,
            NULL },
    { "listen.allow: x:80-90", "listen.allow: x:80-91", ABX_RELATION_WIDER, "wider listen 91" },
    { "socket.allow: /run/a", "socket.allow: @a literal", ABX_RELATION_NEITHER, "wider socket @a" },
    { "action.ask: pay", "action.allow: pay", ABX_RELATION_WIDER, "wider action pay" },
};

static void
show_rows(const struct findings *findings)
{
    for (size_t i = 0; i < findings->rows.count; i++) {
        const struct finding *f = vec_at(&findings->rows, struct finding, i);

        printf("  %d %s %s: %s -> %s by %s, %s\n", f->change, f->request, f->example, f->before,
                f->after, f->rule_before, f->rule_after);
    }
}

static const char *const change_words[] = { "wider", "narrower", "changed", "idle" };

static bool
has_row(const struct findings *findings, const char *text)
{
    for (size_t i = 0; i < findings->rows.count; i++) {
        const struct finding *f = vec_at(&findings->rows, struct finding, i);
        char own[512];

        snprintf(own, sizeof own, "%s %s %s", change_words[f->change], f->request, f->example);
        if (strcmp(own, text) == 0) {
            return true;
        }
    }
    return false;
}

/* Tables of notations say ports of `listen` and names as rules' patterns are. */
START_TEST(each_pair_of_the_table_compares_as_it_says)
{
    const struct compare_case *c = &cases[_i];
    AUTO(abx_policy_unrefp) abx_policy *before = policy_of(c->before);
    AUTO(abx_policy_unrefp) abx_policy *after = policy_of(c->after);
    struct findings findings;
    struct fail fail = { 0 };
    uint32_t relation;

    ck_assert_msg(
            policy_compare(before, after, &relation, &findings, &fail) == ABX_OK, "%s", fail.text);
    if ((abx_status)relation != c->relation || (c->row != NULL && !has_row(&findings, c->row))) {
        printf("%s | %s\n", c->before, c->after);
        show_rows(&findings);
    }
    ck_assert_int_eq((abx_status)relation, c->relation);
    ck_assert_msg(c->row == NULL || has_row(&findings, c->row), "%s", c->row);
    findings_done(&findings);
}
END_TEST

START_TEST(the_other_way_round_is_the_reverse)
{
    const struct compare_case *c = &cases[_i];
    AUTO(abx_policy_unrefp) abx_policy *before = policy_of(c->before);
    AUTO(abx_policy_unrefp) abx_policy *after = policy_of(c->after);
    AUTO(abx_report_unrefp) abx_report *report = NULL;
    abx_status back = c->relation == ABX_RELATION_WIDER      ? ABX_RELATION_NARROWER
                      : c->relation == ABX_RELATION_NARROWER ? ABX_RELATION_WIDER
                                                             : c->relation;

    ck_assert_int_eq(abx_policy_compare(after, before, &report, NULL), back);
}
END_TEST

/* ---- all short requests ---- */

static uint32_t random_state;

static uint32_t
draw(uint32_t below)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % below;
}

static void
draw_component(char *out, bool is_pattern)
{
    static const char *const names[] = { "a", "b", "ab", "ba", "aa", "c", "hooks", ".git" };
    static const char *const globs[] = { "*", "?", "a*", "*b", "[ab]", "[!a]", "??", "*a*", "a?",
        "[!a]?", "**", "?*", "[a-b]*" };

    strcat(out, is_pattern && draw(2) == 0 ? globs[draw(N_ELEMENTS(globs))]
                                           : names[draw(draw(5) == 0 ? 8 : 6)]);
}

static void
draw_path(char *out, bool is_pattern)
{
    uint32_t n = draw(4);

    strcpy(out, n == 0 ? "/" : "");
    for (uint32_t i = 0; i < n; i++) {
        strcat(out, "/");
        draw_component(out, is_pattern);
    }
}

static void
draw_network(struct note_rule *rule)
{
    static const char *const hosts[] = { "a", "a.b", "*.b", "**.b", "*", "*.a.b", "b", "local",
        "10.0.0.0/8", "93.0.0.0/8", "93.0.0.0/9", "93.1.0.0/16", "0.0.0.0/0" };
    static const char *const paths[] = { "/", "/a", "/a/", "/a/**", "/**", "/*", "/a/*", "/*/b",
        "/**/b", "/**/", "/a/**/", "/[ab]*" };
    static const char *const methods[] = { "GET", "PUT", "GET,PUT", "*" };

    rule->kind = ABX_REQUEST_CONNECT;
    strcpy(rule->pattern, hosts[draw(N_ELEMENTS(hosts))]);
    rule->opens_private = rule->verdict == ABX_VERDICT_ALLOW && draw(3) == 0;
    rule->port_first = draw(3) == 0 ? 80 + draw(3) : 0;
    rule->port_last = rule->port_first == 0 ? 0 : rule->port_first + draw(3);
    rule->n_http = rule->verdict == ABX_VERDICT_DENY || rule->opens_private || draw(2) == 0
                           ? 0
                           : 1 + draw(3);
    for (uint32_t i = 0; i < rule->n_http; i++) {
        strcpy(rule->http[i].methods, methods[draw(N_ELEMENTS(methods))]);
        strcpy(rule->http[i].path, paths[draw(N_ELEMENTS(paths))]);
    }
}

static void
draw_rule(struct note_rule *rule, uint32_t n_layers, bool of_network)
{
    memset(rule, 0, sizeof *rule);
    rule->layer = draw(n_layers);
    rule->verdict = draw(3);
    if (of_network) {
        draw_network(rule);
        return;
    }
    rule->kind = ABX_REQUEST_PATH;
    rule->access = 1u << draw(draw(3) == 0 ? 3 : 2);
    draw_path(rule->pattern, rule->verdict != ABX_VERDICT_ALLOW);
}

/* A policy, or (`again`) the last one a little changed. */
static abx_policy *
draw_policy(bool again, bool of_network)
{
    static struct note drawn;
    struct fail fail = { 0 };

    if (again && drawn.n_rules > 0) {
        draw_rule(&drawn.rules[draw((uint32_t)drawn.n_rules)], drawn.n_layers, of_network);
        return note_policy(&drawn, &fail);
    }
    memset(&drawn, 0, sizeof drawn);
    drawn.n_layers = draw(4) == 0 ? 2 : 1;
    drawn.n_rules = draw(8);
    for (uint32_t i = 0; i < drawn.n_layers; i++) {
        drawn.layers[i].network =
                of_network ? draw(8) == 0 ? NETWORK_HOST : NETWORK_FILTERED : NETWORK_NONE;
        drawn.layers[i].has_mode = of_network;
        drawn.layers[i].is_git_protected = draw(3) == 0;
        drawn.layers[i].n_protect = draw(2);
        strcpy(drawn.layers[i].protect[0], "ab");
    }
    for (size_t i = 0; i < drawn.n_rules; i++) {
        draw_rule(&drawn.rules[i], drawn.n_layers, of_network);
    }
    return note_policy(&drawn, &fail);
}

struct trial {
    abx_policy *sides[2];
    struct findings findings;
    uint32_t relation, found;
    bool decides[64]; /* rules of the only layer of sides[1] */
    unsigned n;
};

static void
check_idle(const struct trial *trial, const struct ruling *ruling)
{
    char id[64];

    if (trial->sides[1]->layers.count != 1) {
        return;
    }
    snprintf(id, sizeof id, "%s#%s", ruling->source, ruling->id);
    for (size_t i = 0; i < trial->findings.rows.count; i++) {
        const struct finding *f = vec_at(&trial->findings.rows, struct finding, i);

        /* A rule is one for each access, and what it implies has its name. */
        ck_assert_msg(f->change != FINDING_IDLE || strcmp(f->rule_after, id) != 0 ||
                              strcmp(f->request, "http") == 0,
                "%s decides", id);
    }
}

static const char *const verdict_names[] = { "deny", "allow", "ask" };

static void
try(struct trial *trial, const abx_request *request, const char *word)
{
    static const int more[] = { 0, 2, 1 };
    struct ruling before, after;
    bool shown = false;

    policy_decide(trial->sides[0], request, &before);
    policy_decide(trial->sides[1], request, &after);
    trial->n++;
    if (request->kind == ABX_REQUEST_CONNECT) {
        check_idle(trial, &after);
    }
    if (before.verdict == after.verdict) {
        return;
    }
    trial->found |=
            more[after.verdict] > more[before.verdict] ? ABX_RELATION_WIDER : ABX_RELATION_NARROWER;
    for (size_t i = 0; i < trial->findings.rows.count && !shown; i++) {
        const struct finding *f = vec_at(&trial->findings.rows, struct finding, i);

        shown = strcmp(f->before, verdict_names[before.verdict]) == 0 &&
                strcmp(f->after, verdict_names[after.verdict]) == 0 &&
                (word == NULL || strcmp(f->request, word) == 0);
    }
    if (!shown) {
        AUTO(freep) char *a = NULL;
        AUTO(freep) char *b = NULL;
        size_t n;

        abx_policy_to_json(trial->sides[0], &a, &n);
        abx_policy_to_json(trial->sides[1], &b, &n);
        show_rows(&trial->findings);
        ck_abort_msg("%s %s by %s: %s -> %s is no row\n%s\n%s", word, request->target,
                request->verb, verdict_names[before.verdict], verdict_names[after.verdict], a, b);
    }
}

static void
try_path(struct trial *trial, const char *path)
{
    static const char *const words[] = { "read", "write", "exec" };
    static const char *const verbs[] = { "rename", "unlinkat", "rmdir", "utimensat" };

    for (uint32_t i = 0; i < 3; i++) {
        abx_request request = {
            .size = sizeof request, .kind = ABX_REQUEST_PATH, .access = 1u << i, .target = path
        };

        /* Without rules about running, a row about reading says it. */
        try(trial, &request, i == 2 ? NULL : words[i]);
        for (size_t k = 0; i == 1 && strstr(path, ".git") != NULL && k < N_ELEMENTS(verbs); k++) {
            request.verb = verbs[k];
            try(trial, &request, words[i]);
        }
    }
}

static void
try_paths(struct trial *trial)
{
    static const char *const parts[] = { "a", "b", "c", "aa", "ab", "ba", "bb", "ac", "ca", "aab",
        "bab", "hooks", ".git", "\xc3\xa9", "a\xc3\xa9", "\xff" };
    const size_t n = N_ELEMENTS(parts);
    char path[64];

    try_path(trial, "/");
    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof path, "/%s", parts[i]);
        try_path(trial, path);
        for (size_t k = 0; k < n; k++) {
            snprintf(path, sizeof path, "/%s/%s", parts[i], parts[k]);
            try_path(trial, path);
            for (size_t m = 0; m < n; m++) {
                snprintf(path, sizeof path, "/%s/%s/%s", parts[i], parts[k], parts[m]);
                try_path(trial, path);
            }
        }
    }
}

static void
try_url(struct trial *trial, const char *host, uint32_t port)
{
    static const char *const paths[] = { "/", "/a", "/a/", "/b", "/c", "/a/a", "/a/b", "/a/b/",
        "/b/b", "/c/b/c", "/a/a/b", "/ab", "/ca", "/a//b", "/%61", "/a%2fb" };
    static const char *const methods[] = { "GET", "PUT", "POST" };

    for (size_t i = 0; i < N_ELEMENTS(paths); i++) {
        for (size_t k = 0; k < N_ELEMENTS(methods); k++) {
            char url[128];
            abx_request request = {
                .size = sizeof request, .kind = ABX_REQUEST_HTTP, .target = url, .verb = methods[k]
            };

            snprintf(url, sizeof url, "http://%s:%u%s", host, port, paths[i]);
            try(trial, &request, NULL);
        }
    }
}

static void
try_hosts(struct trial *trial)
{
    static const char *const hosts[] = { "a", "b", "c", "a.b", "c.b", "c.a.b", "b.a", "a.a",
        "local", "a.local", "10.0.0.0", "10.9.9.9", "93.0.0.0", "93.1.2.3", "93.200.0.1", "9.9.9.9",
        "127.0.0.1" };
    static const uint32_t ports[] = { 1, 79, 80, 81, 82, 83, 84, 85, 442, 443, 444, 65535 };

    for (size_t i = 0; i < N_ELEMENTS(hosts); i++) {
        for (size_t k = 0; k < N_ELEMENTS(ports); k++) {
            abx_request request = { .size = sizeof request,
                .kind = ABX_REQUEST_CONNECT,
                .target = hosts[i],
                .port = ports[k] };

            try(trial, &request, "connect");
            if (k >= 2 && k < 5) {
                try_url(trial, hosts[i], ports[k]);
            }
        }
    }
}

/* An address counts where some name leads to it. */
static void
try_addresses(struct trial *trial)
{
    static const char *const names[] = { "a", "c", "a.b", "c.b", "c.a.b", "c.c" };
    static const char *const addresses[] = { "10.9.9.9", "93.0.0.1", "93.1.2.3", "93.200.0.1",
        "9.9.9.9" };
    static const uint32_t ports[] = { 80, 81, 443, 444 };
    static const int more[] = { 0, 2, 1 };

    for (size_t i = 0; i < N_ELEMENTS(names); i++) {
        for (size_t k = 0; k < N_ELEMENTS(addresses) * N_ELEMENTS(ports); k++) {
            uint32_t port = ports[k % N_ELEMENTS(ports)];
            abx_request request = { .size = sizeof request,
                .kind = ABX_REQUEST_CONNECT,
                .target = names[i],
                .port = port };
            int least[2];

            for (unsigned side = 0; side < 2; side++) {
                struct ruling named, found;

                policy_decide(trial->sides[side], &request, &named);
                policy_decide_address(trial->sides[side], names[i],
                        addresses[k / N_ELEMENTS(ports)], port, &found);
                least[side] = more[named.verdict] < more[found.verdict] ? more[named.verdict]
                                                                        : more[found.verdict];
            }
            trial->found |= least[0] < least[1]   ? ABX_RELATION_WIDER
                            : least[0] > least[1] ? ABX_RELATION_NARROWER
                                                  : 0;
        }
    }
}

static void
hold_against_all(bool of_network, int rounds)
{
    unsigned n[4] = { 0 };

    for (int round = 0; round < rounds; round++) {
        AUTO(abx_policy_unrefp) abx_policy *before = draw_policy(false, of_network);
        AUTO(abx_policy_unrefp) abx_policy *after = draw_policy(draw(4) != 0, of_network);
        struct trial trial = { .sides = { before, after } };
        struct fail fail = { 0 };
        abx_status r;

        if (before == NULL || after == NULL) {
            continue;
        }
        r = policy_compare(before, after, &trial.relation, &trial.findings, &fail);
        ck_assert_msg(r == ABX_OK, "%s", fail.text);
        if (of_network) {
            try_hosts(&trial);
            try_addresses(&trial);
        } else {
            try_paths(&trial);
        }
        ck_assert_uint_eq(trial.found & ~trial.relation, 0);
        n[trial.relation]++;
        findings_done(&trial.findings);
    }
    for (int i = 0; i < 4; i++) {
        ck_assert_uint_gt(n[i], 0);
    }
}

START_TEST(no_short_path_differs_without_a_row)
{
    random_state = (uint32_t)_i * 7919u + 1;
    hold_against_all(false, 25);
}
END_TEST

START_TEST(no_host_or_request_differs_without_a_row)
{
    random_state = (uint32_t)_i * 104729u + 1;
    hold_against_all(true, 40);
}
END_TEST

/* ---- git directories, name by name ---- */

START_TEST(a_git_directory_is_the_same_name_by_name)
{
    static const char *const names[] = { "hooks", "x.sample", ".sample", "config",
        "config.worktree", "commondir", "info", "attributes", "worktrees", "modules", "objects",
        "refs", "logs", "x", "HOOKS", "Config", ".abx-x", ".abx-x.sample" };

    random_state = (uint32_t)_i + 1;
    for (int round = 0; round < 50000; round++) {
        enum git_place place = GIT_INSIDE;
        enum git_file last = GIT_DIRECTORY, kept = GIT_FREE, file;
        uint32_t n = 1 + draw(5), depth = 0;
        char path[128] = "";

        for (uint32_t i = 0; i < n; i++) {
            const char *name = names[draw(N_ELEMENTS(names))];
            bool inherits = false;

            snprintf(path + strlen(path), sizeof path - strlen(path), "%s%s", i == 0 ? "" : "/",
                    name);
            last = GIT_FREE;
            if (place != GIT_OUT) {
                place = git_place_enter(place, name, strlen(name), &last, &inherits);
                kept = inherits ? last : kept;
            }
        }
        file = git_file_classify(path, &depth);
        ck_assert_msg(file == (kept != GIT_FREE ? kept : last), "%s", path);
    }
}
END_TEST

/* ---- the public face ---- */

START_TEST(rows_have_an_example_that_both_policies_decide_so)
{
    static const char one[] = "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]}}}";
    static const char two[] = "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"],"
                              "\"deny\":[{\"path\":\"**/*.key\",\"id\":\"keys\"}]}},"
                              "\"limits\":{\"processes\":4}}";
    AUTO(abx_policy_unrefp) abx_policy *before = NULL;
    AUTO(abx_policy_unrefp) abx_policy *after = NULL;
    AUTO(abx_report_unrefp) abx_report *report = NULL;
    abx_request request = {
        .size = sizeof request, .kind = ABX_REQUEST_PATH, .access = ABX_ACCESS_READ
    };
    abx_decision decision = { .size = sizeof decision };

    ck_assert_int_eq(abx_policy_from_json(one, strlen(one), &before, NULL), ABX_OK);
    ck_assert_int_eq(abx_policy_from_json(two, strlen(two), &after, NULL), ABX_OK);
    ck_assert_int_eq(abx_policy_compare(before, after, &report, NULL), ABX_RELATION_NARROWER);
    ck_assert_uint_eq(abx_report_get_count(report), 2);
    ck_assert_str_eq(abx_report_get_string(report, 0, "change"), "narrower");
    ck_assert_str_eq(abx_report_get_string(report, 0, "request"), "read");
    ck_assert_str_eq(abx_report_get_string(report, 0, "rule_after"), "task#keys");
    request.target = abx_report_get_string(report, 0, "example");
    ck_assert_int_eq(abx_policy_evaluate(before, &request, &decision), ABX_OK);
    ck_assert_uint_eq(decision.verdict, ABX_VERDICT_ALLOW);
    ck_assert_int_eq(abx_policy_evaluate(after, &request, &decision), ABX_OK);
    ck_assert_uint_eq(decision.verdict, ABX_VERDICT_DENY);
    ck_assert_str_eq(abx_report_get_string(report, 1, "example"), "limits.processes");
    ck_assert_str_eq(abx_report_get_string(report, 1, "before"), "none");
    ck_assert_str_eq(abx_report_get_string(report, 1, "after"), "4");
    ck_assert_int_eq(abx_policy_compare(NULL, after, &report, NULL), ABX_ERR_INVALID);
}
END_TEST

START_TEST(a_variable_has_one_row_that_does_not_tell_its_value)
{
    static const char one[] =
            "{\"version\":1,\"environment\":{\"set\":{\"A\":\"hidden\",\"B\":\"b\",\"AA\":\"a\"}}}";
    static const char two[] =
            "{\"version\":1,\"environment\":{\"set\":{\"A\":\"other\",\"AA\":\"a\",\"C\":\"c\"}}}";
    static const char *const rows[][3] = { { "environment.set A", "a value", "another value" },
        { "environment.set B", "set", "not set" }, { "environment.set C", "not set", "set" } };
    AUTO(abx_policy_unrefp) abx_policy *before = NULL;
    AUTO(abx_policy_unrefp) abx_policy *after = NULL;
    AUTO(abx_report_unrefp) abx_report *report = NULL;

    ck_assert_int_eq(abx_policy_from_json(one, strlen(one), &before, NULL), ABX_OK);
    ck_assert_int_eq(abx_policy_from_json(two, strlen(two), &after, NULL), ABX_OK);
    ck_assert_int_eq(abx_policy_compare(before, after, &report, NULL), ABX_RELATION_NEITHER);
    ck_assert_uint_eq(abx_report_get_count(report), N_ELEMENTS(rows));
    for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
        ck_assert_str_eq(abx_report_get_string(report, i, "change"), "changed");
        ck_assert_str_eq(abx_report_get_string(report, i, "example"), rows[i][0]);
        ck_assert_str_eq(abx_report_get_string(report, i, "before"), rows[i][1]);
        ck_assert_str_eq(abx_report_get_string(report, i, "after"), rows[i][2]);
    }
}
END_TEST

START_TEST(the_password_of_a_proxy_is_in_no_row)
{
    static const char one[] = "{\"version\":1,\"network\":{\"mode\":\"filtered\"}}";
    static const char two[] = "{\"version\":1,\"network\":{\"mode\":\"filtered\","
                              "\"upstream\":\"http://u:hidden@proxy:3128\"}}";
    AUTO(abx_policy_unrefp) abx_policy *before = NULL;
    AUTO(abx_policy_unrefp) abx_policy *after = NULL;
    AUTO(abx_report_unrefp) abx_report *report = NULL;
    AUTO(freep) char *json = NULL;
    size_t length;

    ck_assert_int_eq(abx_policy_from_json(one, strlen(one), &before, NULL), ABX_OK);
    ck_assert_int_eq(abx_policy_from_json(two, strlen(two), &after, NULL), ABX_OK);
    ck_assert_int_eq(abx_policy_compare(before, after, &report, NULL), ABX_RELATION_NEITHER);
    ck_assert_int_eq(abx_report_to_json(report, &json, &length), ABX_OK);
    ck_assert_ptr_nonnull(strstr(json, "network.upstream"));
    ck_assert_ptr_null(strstr(json, "hidden"));
}
END_TEST

START_TEST(patterns_that_overlap_in_too_many_ways_are_refused_and_nothing_is_said)
{
    char text[2048] = "read.allow: /";
    AUTO(abx_policy_unrefp) abx_policy *policy = NULL;
    AUTO(abx_report_unrefp) abx_report *report = NULL;

    for (char c = 'a'; c <= 't'; c++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "; read.deny: /*%c*", c);
    }
    policy = policy_of(text);
    ck_assert_int_eq(abx_policy_compare(policy, policy, &report, NULL), ABX_ERR_UNSUPPORTED);
    ck_assert_ptr_null(report);
}
END_TEST

/* Patterns that do the same are tried as one, and each is told. */
START_TEST(every_rule_that_makes_a_difference_has_its_row)
{
    char text[8192] = "read.allow: /";
    AUTO(abx_policy_unrefp) abx_policy *before = policy_of(text);
    AUTO(abx_policy_unrefp) abx_policy *after = NULL;
    struct findings findings;
    struct fail fail = { 0 };
    uint32_t relation;

    for (int i = 0; i < 60; i++) {
        snprintf(text + strlen(text), sizeof text - strlen(text),
                "; read.deny: **/.s%d; read.deny: /a%d/*/k; read.deny: **/*.e%d", i, i, i);
    }
    after = policy_of(text);
    ck_assert_msg(
            policy_compare(before, after, &relation, &findings, &fail) == ABX_OK, "%s", fail.text);
    for (int i = 0; i < 60; i++) {
        char rows[3][64];

        snprintf(rows[0], sizeof rows[0], "narrower read /.s%d", i);
        snprintf(rows[1], sizeof rows[1], "narrower read /a%d/x/k", i);
        snprintf(rows[2], sizeof rows[2], "narrower read /.e%d", i);
        for (size_t k = 0; k < N_ELEMENTS(rows); k++) {
            ck_assert_msg(has_row(&findings, rows[k]), "%s", rows[k]);
        }
    }
    findings_done(&findings);
}
END_TEST

START_TEST(what_would_take_long_is_refused)
{
    static char text[65536];
    AUTO(abx_policy_unrefp) abx_policy *policy = NULL;
    AUTO(abx_report_unrefp) abx_report *report = NULL;

    strcpy(text, "read.allow: /");
    for (int i = 0; i < 300; i++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "; read.deny: **/a%d/**/b%d", i,
                i);
    }
    policy = policy_of(text);
    ck_assert_int_eq(abx_policy_compare(policy, policy, &report, NULL), ABX_ERR_UNSUPPORTED);
    ck_assert_ptr_null(report);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("compare");
    TCase *tcase = tcase_create("compare");

    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, each_pair_of_the_table_compares_as_it_says, 0, N_ELEMENTS(cases));
    tcase_add_loop_test(tcase, the_other_way_round_is_the_reverse, 0, N_ELEMENTS(cases));
    tcase_add_loop_test(tcase, no_short_path_differs_without_a_row, 0, 3);
    tcase_add_loop_test(tcase, no_host_or_request_differs_without_a_row, 0, 3);
    tcase_add_loop_test(tcase, a_git_directory_is_the_same_name_by_name, 0, 2);
    tcase_add_test(tcase, rows_have_an_example_that_both_policies_decide_so);
    tcase_add_test(tcase, a_variable_has_one_row_that_does_not_tell_its_value);
    tcase_add_test(tcase, the_password_of_a_proxy_is_in_no_row);
    tcase_add_test(tcase, patterns_that_overlap_in_too_many_ways_are_refused_and_nothing_is_said);
    tcase_add_test(tcase, every_rule_that_makes_a_difference_has_its_row);
    tcase_add_test(tcase, what_would_take_long_is_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
