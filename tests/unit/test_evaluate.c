/* SPDX-License-Identifier: Apache-2.0
 * The one sentence: by the truth table of the documents, and by two implementations that must agree
 * on whatever is generated. */
#include "base/mem.h"
#include "base/str.h"
#include "policy/notation.h"

#include "unit/main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRUTH_ROWS_MIN 40

DEFINE_CLEANUP(abx_policy_unref, abx_policy)

static struct note note, generated;

static const char *const verdict_names[] = { "deny", "allow", "ask" };

/* Cuts the next `| cell ` and takes the back quotes off. */
static const char *
next_cell(char **rest)
{
    char *cell = *rest == NULL ? NULL : strsep(rest, "|");
    size_t length;

    if (cell == NULL) {
        return "";
    }
    cell += strspn(cell, " `");
    length = strlen(cell);
    while (length > 0 && strchr(" `\n", cell[length - 1]) != NULL) {
        cell[--length] = '\0';
    }
    return cell;
}

static void
check_row(char *line, int number)
{
    AUTO(abx_policy_unrefp) abx_policy *policy = NULL;
    char *rest = line + 1;
    const char *text = next_cell(&rest);
    const char *asked = next_cell(&rest);
    const char *verdict = next_cell(&rest);
    struct note_request request;
    struct ruling ruling;
    struct fail fail = { 0 };

    ck_assert_msg(note_parse(text, &note), "line %d: %s", number, text);
    ck_assert_msg(note_parse_request(asked, &request), "line %d: %s", number, asked);
    policy = note_policy(&note, &fail);
    ck_assert_msg(policy != NULL, "line %d: %s", number, fail.text);
    note_decide(policy, &request, &ruling);
    ck_assert_msg(strcmp(verdict_names[ruling.verdict], verdict) == 0,
            "line %d: %s: %s is %s by %s", number, text, asked, verdict_names[ruling.verdict],
            ruling.id);
    ck_assert(ruling.id != NULL && ruling.source != NULL && ruling.reason != NULL &&
              ruling.reason[0] != '\0' && ruling.alternative != NULL);
}

START_TEST(each_row_of_the_truth_table_holds)
{
    FILE *file = fopen(AGENTBOX_SOURCE_ROOT "/docs/policy-truth-table.md", "re");
    AUTO(freep) char *line = NULL;
    size_t room = 0;
    int n = 0;

    ck_assert_ptr_nonnull(file);
    for (int number = 1; getline(&line, &room, file) > 0; number++) {
        if (strncmp(line, "| `", 3) == 0) {
            check_row(line, number);
            n++;
        }
    }
    fclose(file);
    ck_assert_int_ge(n, TRUTH_ROWS_MIN);
}
END_TEST

/* ---- generated policies ---- */

static uint32_t random_state;

static uint32_t
draw(uint32_t below)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % below;
}

static const char *
pick_word(const char *const *words, uint32_t n)
{
    return words[draw(n)];
}

static void
draw_path(char *out, bool is_pattern)
{
    static const char *const names[] = { "a", "b", "ab", ".git", ".rc", "hooks", "config",
        "x.key" };
    static const char *const globs[] = { "*", "**", "?", "a*", "*.key", "[ab]", "[!a]b", "*b",
        "\\a", "a*b", "?.key", "x.k*", "*.[k]ey", "\\x?key", "*b*", "?b", "x*.*y", "*x.key" };
    uint32_t n = draw(6);

    strcpy(out, n == 0 ? "/" : "");
    for (uint32_t i = 0; i < n; i++) {
        strcat(out, "/");
        strcat(out, is_pattern && draw(3) == 0 ? pick_word(globs, N_ELEMENTS(globs))
                                               : pick_word(names, draw(4) == 0 ? 8 : 3));
    }
}

static void
draw_host(char *out, bool is_pattern)
{
    static const char *const hosts[] = { "a.com", "b.a.com", "x.b.a.com", "com.a", "local" };
    static const char *const blocks[] = { "10.0.0.0/8", "10.1.0.0/16", "93.0.0.0/8", "0.0.0.0/0" };
    static const char *const addresses[] = { "10.1.2.3", "93.1.2.3", "127.0.0.1" };
    static const char *const stars[] = { "", "*.", "**." };

    if (draw(4) == 0) {
        strcpy(out, is_pattern ? pick_word(blocks, 4) : pick_word(addresses, 3));
        return;
    }
    strcpy(out, is_pattern ? pick_word(stars, 3) : "");
    strcat(out, pick_word(hosts, N_ELEMENTS(hosts)));
    if (is_pattern && draw(10) == 0) {
        strcpy(out, "*");
    }
}

static void
draw_url_path(char *out, bool is_pattern)
{
    static const char *const segments[] = { "a", "b", "ab", "%61", "x;y" };
    static const char *const odd[] = { "..", "%2e", "..;b", "a%2fb", "", "%25a", "%00" };
    static const char *const globs[] = { "*", "**", "a*", "[ab]", "*b", "a?" };
    uint32_t n = draw(4);

    out[0] = '\0';
    for (uint32_t i = 0; i < n; i++) {
        strcat(out, "/");
        strcat(out, is_pattern      ? (draw(3) == 0 ? pick_word(globs, 6) : pick_word(segments, 3))
                    : draw(12) == 0 ? pick_word(odd, N_ELEMENTS(odd))
                                    : pick_word(segments, N_ELEMENTS(segments)));
    }
    strcat(out, n == 0 || draw(6) == 0 ? "/" : "");
}

/* What requests a rule for a host is about, if it is. */
static void
draw_requests(struct note_rule *rule)
{
    static const char *const methods[] = { "GET", "PUT", "GET,PUT", "*" };

    rule->n_http = rule->verdict == ABX_VERDICT_DENY || rule->opens_private || draw(2) == 0
                           ? 0
                           : 1 + draw(NOTE_HTTP_MAX);
    for (uint32_t i = 0; i < rule->n_http; i++) {
        strcpy(rule->http[i].methods, pick_word(methods, N_ELEMENTS(methods)));
        draw_url_path(rule->http[i].path, true);
        strcpy(rule->http[i].action, draw(3) == 0 ? draw(2) == 0 ? "x" : "y" : "");
    }
}

/* Actions of some layers; where there are none, no request counts as one. */
static void
draw_actions(void)
{
    bool has[NOTE_LAYERS_MAX] = { false };
    size_t n = generated.n_rules;

    for (uint32_t i = 0; i < generated.n_layers; i++) {
        has[i] = draw(3) == 0;
        for (int k = 0; k < 2 && has[i]; k++) {
            struct note_rule *rule = &generated.rules[generated.n_rules++];

            memset(rule, 0, sizeof *rule);
            rule->layer = i;
            rule->kind = ABX_REQUEST_ACTION;
            rule->verdict = draw(3);
            strcpy(rule->pattern, k == 0 ? "x" : "y");
        }
    }
    for (size_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < generated.rules[i].n_http; k++) {
            if (!has[generated.rules[i].layer]) {
                generated.rules[i].http[k].action[0] = '\0';
            }
        }
    }
}

static void
draw_rule(struct note_rule *rule, uint32_t n_layers)
{
    memset(rule, 0, sizeof *rule);
    rule->layer = draw(n_layers);
    rule->verdict = draw(3);
    if (draw(3) == 0) {
        rule->kind = ABX_REQUEST_CONNECT;
        rule->opens_private = rule->verdict == ABX_VERDICT_ALLOW && draw(3) == 0;
        rule->port_first = draw(3) == 0 ? 20 : 0;
        rule->port_last = rule->port_first == 0 ? 0 : 90;
        draw_host(rule->pattern, true);
        draw_requests(rule);
        return;
    }
    rule->kind = ABX_REQUEST_PATH;
    rule->access = 1u << draw(draw(3) == 0 ? 3 : 2);
    draw_path(rule->pattern, rule->verdict != ABX_VERDICT_ALLOW);
    rule->is_literal = draw(8) == 0;
}

static void
draw_note(void)
{
    generated.n_layers = 1 + draw(NOTE_LAYERS_MAX);
    generated.n_rules = draw(12);
    memset(generated.layers, 0, sizeof generated.layers);
    for (uint32_t i = 0; i < generated.n_layers; i++) {
        struct note_layer *layer = &generated.layers[i];

        layer->network = draw(3);
        layer->has_mode = layer->network != NETWORK_NONE || draw(2) == 0;
        layer->is_git_protected = draw(3) == 0;
        layer->n_protect = draw(2);
        strcpy(layer->protect[0], draw(2) == 0 ? ".rc" : "ab");
    }
    for (size_t i = 0; i < generated.n_rules; i++) {
        draw_rule(&generated.rules[i], generated.n_layers);
    }
    draw_actions();
}

static void
draw_url(struct note_request *r)
{
    char host[64], path[128];

    draw_host(host, false);
    draw_url_path(path, false);
    r->request.kind = ABX_REQUEST_HTTP;
    r->is_connected = draw(3) == 0;
    r->request.verb = draw(2) == 0 ? "GET" : "PUT";
    snprintf(r->target, sizeof r->target, "%s://%s%s%s%s", draw(3) == 0 ? "http" : "https", host,
            draw(6) == 0 ? ":22" : "", path, draw(6) == 0 ? "?a=../b" : "");
}

static void
draw_request(struct note_request *r)
{
    static const char *const verbs[] = { "open", "mkdir", "rename", "unlink" };

    memset(r, 0, sizeof *r);
    r->request.size = sizeof r->request;
    r->request.target = r->target;
    if (draw(4) == 0) {
        draw_url(r);
        return;
    }
    if (draw(6) == 0) {
        r->request.kind = ABX_REQUEST_CONNECT;
        r->request.port = draw(2) == 0 ? 443 : 22;
        draw_host(r->target, false);
        if (strchr("0123456789", r->target[0]) != NULL && draw(2) == 0) {
            strcpy(r->name, "a.com");
        }
        return;
    }
    r->request.kind = draw(6) == 0 ? ABX_REQUEST_EXEC : ABX_REQUEST_PATH;
    r->request.access = r->request.kind == ABX_REQUEST_EXEC ? 0 : 1 + draw(7);
    r->request.verb = draw(2) == 0 ? NULL : verbs[draw(N_ELEMENTS(verbs))];
    draw_path(r->target, false);
}

static void
show_note(void)
{
    for (size_t i = 0; i < generated.n_rules; i++) {
        const struct note_rule *rule = &generated.rules[i];

        printf("layer %u kind %u access %u %s '%s'%s\n", rule->layer, rule->kind, rule->access,
                verdict_names[rule->verdict], rule->pattern, rule->is_literal ? " literal" : "");
        for (uint32_t k = 0; k < rule->n_http; k++) {
            printf("    http %s %s %s\n", rule->http[k].methods, rule->http[k].path,
                    rule->http[k].action);
        }
    }
    for (uint32_t i = 0; i < generated.n_layers; i++) {
        printf("layer %u git %d protect %s\n", i, generated.layers[i].is_git_protected,
                generated.layers[i].n_protect > 0 ? generated.layers[i].protect[0] : "-");
    }
}

START_TEST(two_implementations_agree_on_generated_policies_and_requests)
{
    random_state = (uint32_t)_i * 7919u + 1;
    for (int round = 0; round < 1000; round++) {
        AUTO(abx_policy_unrefp) abx_policy *policy = NULL;
        struct fail fail = { 0 };

        draw_note();
        policy = note_policy(&generated, &fail);
        if (policy == NULL) {
            ck_assert_int_eq(fail.status, ABX_ERR_POLICY);
            continue;
        }
        for (int i = 0; i < 20; i++) {
            struct note_request r;
            struct ruling ruling;
            abx_verdict slow;

            draw_request(&r);
            note_decide(policy, &r, &ruling);
            slow = slow_decide(&generated, &r);
            if (ruling.verdict != slow) {
                show_note();
            }
            ck_assert_msg(ruling.verdict == slow,
                    "kind %u access %u %s by %s port %u: %s (%s), slowly %s", r.request.kind,
                    r.request.access, r.target, r.request.verb == NULL ? "-" : r.request.verb,
                    r.request.port, verdict_names[ruling.verdict], ruling.id, verdict_names[slow]);
        }
    }
}
END_TEST

/* Keys of patterns are no longer than a part of such names. */
#define LONG "0123456789abcdef0123456789abcdef0123456789abcdef"
static const struct long_name {
    const char *pattern, *path;
    bool matches;
} long_names[] = {
    { "**/*" LONG, "/a/x" LONG, true },
    { "**/*y" LONG, "/a/x" LONG, false },
    { "**/*y" LONG, "/a/xy" LONG, true },
    { "**/" LONG "y*", "/a/" LONG "x", false },
    { "**/" LONG "y*", "/a/" LONG "yx", true },
    { "**/a*" LONG "b?", "/b/a" LONG "bc/d", true },
    { "**/a*" LONG "b?", "/b/b" LONG "bc/d", false },
    { "**/a[*]*", "/a*b", true },
    { "**/a\\**", "/a*b", true },
    { "**/a\\**", "/ab", false },
    { "**/*\\xff", "/a/b\xff", true },
    { "**/?\\xff", "/a/\xc3\xbf", false },
    { "**/*]a]", "/b/]a]", true },
    { "**/[]a]*b", "/b/]b", true },
    { "**/*[]a]b", "/b/xab/c", true },
};

START_TEST(names_that_are_long_or_odd_are_found)
{
    const struct long_name *c = &long_names[_i];
    AUTO(abx_policy_unrefp) abx_policy *policy = NULL;
    AUTO(str_done) struct str text = { 0 };
    abx_request request = { .size = sizeof request,
        .kind = ABX_REQUEST_PATH,
        .access = ABX_ACCESS_READ,
        .target = c->path };
    struct ruling ruling;

    str_add(&text, "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"],\"deny\":[");
    str_add_json_bytes(&text, c->pattern, false);
    str_add(&text, "]}}}");
    ck_assert_int_eq(abx_policy_from_json(text.data, text.length, &policy, NULL), ABX_OK);
    ck_assert_int_eq(policy_decide(policy, &request, &ruling),
            c->matches ? ABX_VERDICT_DENY : ABX_VERDICT_ALLOW);
}
END_TEST

/* ---- rulings and the public face ---- */

static abx_policy *
policy_of(const char *text)
{
    struct fail fail = { 0 };
    abx_policy *policy;

    ck_assert(note_parse(text, &note));
    policy = note_policy(&note, &fail);
    ck_assert_msg(policy != NULL, "%s", fail.text);
    return policy;
}

static struct ruling
ruling_of(abx_policy *policy, const char *text)
{
    struct note_request request;
    struct ruling ruling;

    ck_assert(note_parse_request(text, &request));
    note_decide(policy, &request, &ruling);
    return ruling;
}

START_TEST(a_write_outside_of_every_root_is_told_the_roots)
{
    AUTO(abx_policy_unrefp) abx_policy *policy = policy_of("write.allow: /w; write.allow: /tmp");
    struct ruling ruling = ruling_of(policy, "write /etc/x");

    ck_assert(ruling.from_default);
    ck_assert_str_eq(ruling.id, "default");
    ck_assert_str_eq(ruling.alternative, "write below '/w' or '/tmp'");
}
END_TEST

START_TEST(a_rule_without_a_reason_gets_a_sentence)
{
    AUTO(abx_policy_unrefp)
    abx_policy *policy = policy_of("read.deny: /home/u/.ssh OVER read.allow: /");
    struct ruling ruling = ruling_of(policy, "read /home/u/.ssh/id");

    ck_assert_str_eq(ruling.source, "user");
    ck_assert_uint_eq(ruling.layer, 0);
    ck_assert_str_eq(ruling.reason, "'/home/u/.ssh' is denied for reading by the policy 'user'");
}
END_TEST

static const struct connect_case {
    const char *network, *alternative;
    const char *target; /* NULL: other.test */
    uint32_t port; /* 0: 443 */
} connect_cases[] = {
    { "\"allow\":[\"a.com\",\"*.a.com\"]", "connect to 'a.com' or '*.a.com'" },
    { "\"allow\":[\"*.a.com\",\"*.a.com:22\",\"b.com\",\"*.a.com:8000-8010\"]",
            "connect to '*.a.com:80,443,22,8000-8010' or 'b.com'" },
    { "\"allow\":[\"a.com:8080\"],\"deny\":[\"a.com:9090\"]", "connect to 'a.com:8080'" },
    { "\"host_loopback\":[5432,6379]", "connect to 'localhost:5432,6379'" },
    { "\"private\":[\"10.0.0.0/8\",\"[fd00::/8]:443\"]",
            "connect to '10.0.0.0/8' or '[fd00::/8]:443'" },
    { "\"deny\":[\"a.com\"]", "" },
    { "\"allow\":[\"*\",\"a.com:22\"]", "connect to '*:80,443' or 'a.com:22'", "b.com", 22 },
    { "\"allow\":[\"*:1-65535\"]", "", "10.0.0.1" },
    { "\"allow\":[\"*:1-65535\"],\"private\":[\"10.0.0.2\"]", "connect to '10.0.0.2'", "10.0.0.1" },
};

START_TEST(a_connection_elsewhere_is_told_each_destination_once_with_its_ports)
{
    const struct connect_case *c = &connect_cases[_i];
    AUTO(abx_policy_unrefp) abx_policy *policy = NULL;
    struct abx_request request = { sizeof request, ABX_REQUEST_CONNECT, 0,
        c->port == 0 ? 443 : c->port, c->target == NULL ? "other.test" : c->target };
    struct ruling ruling;
    char json[512];

    snprintf(json, sizeof json, "{\"version\":1,\"network\":{\"mode\":\"filtered\",%s}}",
            c->network);
    ck_assert_int_eq(abx_policy_from_json(json, strlen(json), &policy, NULL), ABX_OK);
    ck_assert_uint_eq(policy_decide(policy, &request, &ruling), ABX_VERDICT_DENY);
    ck_assert_str_eq(ruling.alternative, c->alternative);
}
END_TEST

static const struct closed_case {
    const char *network, *target, *rule, *alternative; /* of the policy that has to say more */
} closed_cases[] = {
    { "\"allow\":[\"localhost:8080\"]", "::1", "network:loopback", "'host_loopback'" },
    { "\"ask\":[\"127.0.0.1:8080\"]", "localhost", "network:loopback", "'host_loopback'" },
    { "\"allow\":[\"localhost:8081\"]", "localhost", "default", "" },
    { "\"allow\":[\"0.0.0.0/0:8080\"]", "localhost", "default", "" },
    { "\"allow\":[\"10.0.0.0/8:8080\"]", "10.1.2.3", "network:closed", "'private'" },
    { "\"allow\":[\"0.0.0.0/0:8080\"]", "169.254.169.254", "network:closed", "'private'" },
    { "\"allow\":[\"0.0.0.0/0:8081\"]", "10.1.2.3", "default", "" },
};

START_TEST(what_is_listed_and_not_opened_says_what_to_write)
{
    const struct closed_case *c = &closed_cases[_i];
    AUTO(abx_policy_unrefp) abx_policy *policy = NULL;
    struct abx_request request = { sizeof request, ABX_REQUEST_CONNECT, 0, 8080, c->target };
    struct ruling ruling;
    char json[512];

    snprintf(json, sizeof json, "{\"version\":1,\"network\":{\"mode\":\"filtered\",%s}}",
            c->network);
    ck_assert_int_eq(abx_policy_from_json(json, strlen(json), &policy, NULL), ABX_OK);
    ck_assert_uint_eq(policy_decide(policy, &request, &ruling), ABX_VERDICT_DENY);
    ck_assert_str_eq(ruling.id, c->rule);
    ck_assert_msg(strstr(ruling.alternative, c->alternative) != NULL, "%s", ruling.alternative);
}
END_TEST

static const struct loopback_case {
    const char *network, *target;
    abx_verdict verdict;
} loopback_cases[] = {
    { "", "localhost", ABX_VERDICT_ALLOW },
    { "", "LOCALHOST.", ABX_VERDICT_ALLOW },
    { "", "::1", ABX_VERDICT_ALLOW },
    { ",\"deny\":[\"localhost\"]", "127.0.0.1", ABX_VERDICT_DENY },
    { ",\"deny\":[\"localhost\"]", "::1", ABX_VERDICT_DENY },
    { ",\"deny\":[\"::1\"]", "localhost", ABX_VERDICT_DENY },
    { ",\"deny\":[\"127.0.0.0/8\"]", "::1", ABX_VERDICT_DENY },
    { ",\"ask\":[\"localhost:8080\"]", "127.0.0.1", ABX_VERDICT_ASK },
    { ",\"ask\":[\"127.0.0.1:8080\"]", "localhost", ABX_VERDICT_ASK },
    { ",\"ask\":[\"localhost:8081\"]", "127.0.0.1", ABX_VERDICT_ALLOW },
};

START_TEST(a_port_of_the_host_is_decided_alike_by_each_of_its_names)
{
    const struct loopback_case *c = &loopback_cases[_i];
    AUTO(abx_policy_unrefp) abx_policy *policy = NULL;
    struct abx_request request = { sizeof request, ABX_REQUEST_CONNECT, 0, 8080, c->target };
    struct ruling ruling;
    char json[512];

    snprintf(json, sizeof json,
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"host_loopback\":[8080]%s}}",
            c->network);
    ck_assert_int_eq(abx_policy_from_json(json, strlen(json), &policy, NULL), ABX_OK);
    ck_assert_msg(policy_decide(policy, &request, &ruling) == c->verdict, "%s%s: %s", c->target,
            c->network, ruling.id);
}
END_TEST

START_TEST(requests_and_credentials_know_a_port_of_the_host_by_each_of_its_names)
{
    static const char *const hosts[] = { "localhost", "127.0.0.1", "::1" };
    static const char json[] =
            "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"host_loopback\":[8080,8081],"
            "\"allow\":[{\"host\":\"localhost:8080\",\"http\":[{\"methods\":[\"GET\"],\"path\":"
            "\"/v1/**\"}]}]},"
            "\"credentials\":[{\"name\":\"k\",\"env\":\"K\",\"hosts\":[\"localhost:8081\"]}]}";
    AUTO(abx_policy_unrefp) abx_policy *policy = NULL;
    char url[64];

    ck_assert_int_eq(abx_policy_from_json(json, strlen(json), &policy, NULL), ABX_OK);
    for (size_t i = 0; i < N_ELEMENTS(hosts); i++) {
        struct abx_request request = { sizeof request, ABX_REQUEST_HTTP, 0, 0, url, "GET" };
        const bool is_long = strchr(hosts[i], ':') != NULL;
        struct ruling ruling;

        snprintf(url, sizeof url, is_long ? "http://[%s]:8080/v1/a" : "http://%s:8080/v1/a",
                hosts[i]);
        ck_assert_uint_eq(policy_decide(policy, &request, &ruling), ABX_VERDICT_ALLOW);
        request.verb = "POST";
        ck_assert_uint_eq(policy_decide(policy, &request, &ruling), ABX_VERDICT_DENY);
        ck_assert(policy_reads_http(policy, hosts[i], 8080));
        ck_assert(policy_credential_goes_to(policy, 0, hosts[i], 8081));
        ck_assert(!policy_credential_goes_to(policy, 0, hosts[i], 8080));
    }
}
END_TEST

START_TEST(the_first_layer_that_says_the_strictest_is_the_source)
{
    AUTO(abx_policy_unrefp)
    abx_policy *policy = policy_of("read.ask: /w OVER read.deny: /w OVER read.deny: /w");
    struct ruling ruling = ruling_of(policy, "read /w");

    ck_assert_str_eq(ruling.source, "user");
    ck_assert_uint_eq(ruling.layer, 1);
}
END_TEST

START_TEST(no_network_is_its_own_reason)
{
    AUTO(abx_policy_unrefp) abx_policy *policy = policy_of("read.allow: /");
    struct ruling ruling = ruling_of(policy, "connect example.com:443");

    ck_assert_str_eq(ruling.id, "network:mode");
    ck_assert_str_eq(ruling.reason, "the policy allows no network");
    ck_assert_str_ne(ruling.alternative, "");
}
END_TEST

START_TEST(gits_configuration_is_denied_by_content)
{
    AUTO(abx_policy_unrefp) abx_policy *policy = policy_of("write.allow: /w; git");

    ck_assert(ruling_of(policy, "write /w/.git/config by rename").by_content);
    ck_assert(ruling_of(policy, "write /w/.git/info/attributes by rename").by_content);
    ck_assert(!ruling_of(policy, "write /w/.git/hooks/x by rename").by_content);
    ck_assert_str_eq(ruling_of(policy, "write /w/.git/hooks/x").id, "protect:.git/hooks");
}
END_TEST

static const struct bad_request {
    const char *name;
    abx_request request;
} bad_requests[] = {
    { "relative", { sizeof(abx_request), ABX_REQUEST_PATH, 1, 0, "a", NULL } },
    { "dots", { sizeof(abx_request), ABX_REQUEST_PATH, 1, 0, "/a/../b", NULL } },
    { "a slash at the end", { sizeof(abx_request), ABX_REQUEST_PATH, 1, 0, "/a/", NULL } },
    { "two slashes", { sizeof(abx_request), ABX_REQUEST_PATH, 1, 0, "//a", NULL } },
    { "no access", { sizeof(abx_request), ABX_REQUEST_PATH, 0, 0, "/a", NULL } },
    { "unknown access", { sizeof(abx_request), ABX_REQUEST_PATH, 8, 0, "/a", NULL } },
    { "no target", { sizeof(abx_request), ABX_REQUEST_PATH, 1, 0, NULL, NULL } },
    { "unknown kind", { sizeof(abx_request), 99, 1, 0, "/a", NULL } },
    { "no port", { sizeof(abx_request), ABX_REQUEST_LISTEN, 0, 0, NULL, NULL } },
    { "a port too large", { sizeof(abx_request), ABX_REQUEST_CONNECT, 0, 65536, "a.com", NULL } },
};

START_TEST(a_request_that_is_none_is_refused)
{
    const struct bad_request *c = &bad_requests[_i];
    AUTO(abx_policy_unrefp) abx_policy *policy = policy_of("read.allow: /");
    abx_decision decision = { .size = sizeof decision, .verdict = 77 };
    struct ruling ruling;

    ck_assert_msg(
            abx_policy_evaluate(policy, &c->request, &decision) == ABX_ERR_INVALID, "%s", c->name);
    ck_assert_uint_eq(decision.verdict, 77);
    ck_assert_uint_eq(policy_decide(policy, &c->request, &ruling), ABX_VERDICT_DENY);
}
END_TEST

START_TEST(evaluate_reads_and_writes_as_much_as_the_caller_knows)
{
    AUTO(abx_policy_unrefp) abx_policy *policy = policy_of("read.allow: /");
    abx_request request = { sizeof request, ABX_REQUEST_PATH, 1, 0, "/a", NULL };
    abx_decision decision = { .size = offsetof(abx_decision, layer), .layer = 77 };
    struct {
        abx_request request;
        uint64_t more;
    } newer = { request, 1 };

    ck_assert_int_eq(abx_policy_evaluate(policy, &request, &decision), ABX_OK);
    ck_assert_uint_eq(decision.verdict, ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(decision.layer, 77);
    newer.request.size = sizeof newer;
    ck_assert_int_eq(abx_policy_evaluate(policy, &newer.request, &decision), ABX_ERR_ABI);
    newer.more = 0;
    ck_assert_int_eq(abx_policy_evaluate(policy, &newer.request, &decision), ABX_OK);
    decision.size = 0;
    ck_assert_int_eq(abx_policy_evaluate(policy, &request, &decision), ABX_ERR_ABI);
    ck_assert_int_eq(abx_policy_evaluate(NULL, &request, &decision), ABX_ERR_INVALID);
    ck_assert_int_eq(abx_policy_evaluate(policy, NULL, &decision), ABX_ERR_INVALID);
}
END_TEST

START_TEST(what_requests_leave_out_is_denied_with_what_they_name)
{
    AUTO(abx_policy_unrefp)
    abx_policy *policy = policy_of("network: filtered; network.allow: hr.com http GET,HEAD /v1/** "
                                   "http PUT /v1/*");
    struct ruling ruling = ruling_of(policy, "DELETE https://hr.com/v1/7");

    ck_assert_uint_eq(ruling.verdict, ABX_VERDICT_DENY);
    ck_assert_str_eq(ruling.id, "rule:0");
    ck_assert_str_eq(
            ruling.reason, "only some requests to 'hr.com' are allowed by the policy 'task'");
    ck_assert_str_eq(ruling.alternative, "request 'GET HEAD /v1/**' or 'PUT /v1/*'");
    ck_assert(!ruling.from_default);
    ruling = ruling_of(policy, "GET https://hr.com/v1//7");
    ck_assert_str_eq(ruling.id, "network:path");
    ck_assert_str_eq(ruling.reason, "the path has an empty segment");
    ck_assert(policy_reads_http(policy, "HR.com", 443));
    ck_assert(!policy_reads_http(policy, "hr.com", 22));
    ck_assert(!policy_reads_http(policy, "other.com", 443));
}
END_TEST

START_TEST(a_request_is_denied_with_the_reason_of_its_action)
{
    AUTO(abx_policy_unrefp)
    abx_policy *policy = policy_of("action.ask: pay OVER network: filtered; network.allow: hr.com "
                                   "http POST /pay pay; action.allow: pay");
    struct ruling ruling = ruling_of(policy, "POST https://hr.com/pay");

    ck_assert_uint_eq(ruling.verdict, ABX_VERDICT_ASK);
    ck_assert_str_eq(ruling.source, "user");
    ck_assert_str_eq(ruling.reason, "'pay' needs an approval by the policy 'user'");
}
END_TEST

START_TEST(explain_tells_requests_apart)
{
    AUTO(abx_policy_unrefp)
    abx_policy *policy =
            policy_of("network: filtered; network.allow: hr.com http GET /v1/** http GET "
                      "/v1/a; network.ask: hr.com; network.allow: *.com");
    abx_request request = { sizeof request, ABX_REQUEST_HTTP, 0, 0, "https://hr.com/v1/a", "GET" };
    AUTO(freep) char *json = NULL;
    size_t length = 0;

    ck_assert_int_eq(abx_policy_explain(policy, &request, &json, &length), ABX_OK);
    ck_assert_ptr_nonnull(strstr(json, "{\"verdict\":\"allow\",\"rule\":\"http\""));
    ck_assert_ptr_nonnull(strstr(json, "\"methods\":\"GET\",\"path\":\"/v1/a\""));
    ck_assert_ptr_nonnull(strstr(json, "\"id\":\"rule:1\",\"source\":\"task\",\"pattern\":"
                                       "\"hr.com\",\"verdict\":\"ask\""));
    ck_assert_ptr_nonnull(strstr(json, "another rule matched more of the name"));
}
END_TEST

START_TEST(explain_names_every_rule_that_matched_and_why_it_lost)
{
    AUTO(abx_policy_unrefp)
    abx_policy *policy =
            policy_of("read.allow: /; read.deny: **/.env; write.allow: /w/.env; read.deny: /x");
    abx_request request = { sizeof request, ABX_REQUEST_PATH, 1, 0, "/w/.env", NULL };
    AUTO(freep) char *json = NULL;
    size_t length = 0;

    ck_assert_int_eq(abx_policy_explain(policy, &request, &json, &length), ABX_OK);
    ck_assert_uint_eq(length, strlen(json));
    ck_assert_ptr_nonnull(strstr(json, "{\"verdict\":\"deny\",\"rule\":\"rule:1\""));
    ck_assert_ptr_nonnull(strstr(json, "another rule matched more of the name"));
    ck_assert_ptr_nonnull(
            strstr(json, "it is implied by another rule, and such a rule loses a tie"));
    ck_assert_ptr_null(strstr(json, "/x"));
}
END_TEST

START_TEST(an_intersection_is_never_wider_than_either)
{
    random_state = 5;
    for (int round = 0; round < 200; round++) {
        AUTO(abx_policy_unrefp) abx_policy *a = NULL;
        AUTO(abx_policy_unrefp) abx_policy *b = NULL;
        AUTO(abx_policy_unrefp) abx_policy *both = NULL;
        struct fail fail;

        draw_note();
        a = note_policy(&generated, &fail);
        draw_note();
        generated.n_layers = 1;
        for (size_t i = 0; i < generated.n_rules; i++) {
            generated.rules[i].layer = 0;
        }
        b = note_policy(&generated, &fail);
        if (a == NULL || b == NULL) {
            continue;
        }
        ck_assert_int_eq(abx_policy_intersect(a, b, &both, NULL), ABX_OK);
        for (int i = 0; i < 20; i++) {
            struct note_request r;
            struct ruling of_b, of_both;

            draw_request(&r);
            policy_decide(b, &r.request, &of_b);
            policy_decide(both, &r.request, &of_both);
            ck_assert(of_both.verdict != ABX_VERDICT_ALLOW || of_b.verdict == ABX_VERDICT_ALLOW);
        }
    }
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("evaluate");
    TCase *tcase = tcase_create("evaluate");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, each_row_of_the_truth_table_holds);
    tcase_add_loop_test(
            tcase, names_that_are_long_or_odd_are_found, 0, (int)N_ELEMENTS(long_names));
    tcase_add_loop_test(tcase, two_implementations_agree_on_generated_policies_and_requests, 0, 10);
    tcase_add_test(tcase, a_write_outside_of_every_root_is_told_the_roots);
    tcase_add_test(tcase, a_rule_without_a_reason_gets_a_sentence);
    tcase_add_loop_test(tcase, a_connection_elsewhere_is_told_each_destination_once_with_its_ports,
            0, N_ELEMENTS(connect_cases));
    tcase_add_loop_test(
            tcase, what_is_listed_and_not_opened_says_what_to_write, 0, N_ELEMENTS(closed_cases));
    tcase_add_loop_test(tcase, a_port_of_the_host_is_decided_alike_by_each_of_its_names, 0,
            N_ELEMENTS(loopback_cases));
    tcase_add_test(tcase, requests_and_credentials_know_a_port_of_the_host_by_each_of_its_names);
    tcase_add_test(tcase, the_first_layer_that_says_the_strictest_is_the_source);
    tcase_add_test(tcase, no_network_is_its_own_reason);
    tcase_add_test(tcase, gits_configuration_is_denied_by_content);
    tcase_add_loop_test(tcase, a_request_that_is_none_is_refused, 0, N_ELEMENTS(bad_requests));
    tcase_add_test(tcase, evaluate_reads_and_writes_as_much_as_the_caller_knows);
    tcase_add_test(tcase, what_requests_leave_out_is_denied_with_what_they_name);
    tcase_add_test(tcase, a_request_is_denied_with_the_reason_of_its_action);
    tcase_add_test(tcase, explain_tells_requests_apart);
    tcase_add_test(tcase, explain_names_every_rule_that_matched_and_why_it_lost);
    tcase_add_test(tcase, an_intersection_is_never_wider_than_either);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
