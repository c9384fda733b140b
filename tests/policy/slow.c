/* SPDX-License-Identifier: Apache-2.0
 * The second implementation of the one sentence: every rule is looked at, every way a pattern could
 * match is tried, nothing is prepared.  Shares no code with lib/policy but the layout of git
 * directories. */
#include "policy/slow.h"

#include "base/mem.h"
#include "policy/gitdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- patterns ---- */

/* One component against one component; every star tries every length. */
static bool
glob(const char *p, const char *t)
{
    size_t end = strcspn(p, "/");

    if (end == 0) {
        return *t == '\0' || *t == '/';
    }
    if (*p == '*') {
        for (;; t++) {
            if (glob(p + 1, t)) {
                return true;
            }
            if (*t == '\0' || *t == '/') {
                return false;
            }
        }
    }
    if (*t == '\0' || *t == '/') {
        return false;
    }
    if (*p == '?') {
        return glob(p + 1, t + 1);
    }
    if (*p == '[') {
        bool negated = p[1] == '!' || p[1] == '^';
        bool member = false;
        const char *c = p + 1 + negated;

        for (bool first = true; first || *c != ']'; first = false) {
            char low, high;

            c += *c == '\\';
            low = high = *c++;
            if (*c == '-' && c[1] != ']') {
                c++;
                c += *c == '\\';
                high = *c++;
            }
            member = member || (*t >= low && *t <= high);
        }
        return member != negated && glob(c + 1, t + 1);
    }
    p += *p == '\\';
    return *p == *t && glob(p + 1, t + 1);
}

static const char *
next_component(const char *at)
{
    at += strcspn(at, "/");
    return at + strspn(at, "/");
}

bool
slow_matches(const char *p, const char *t, int n)
{
    if (*p == '\0') {
        return n == 0;
    }
    if (strcspn(p, "/") == 2 && strncmp(p, "**", 2) == 0) {
        return slow_matches(next_component(p), t, n) ||
               (n > 0 && slow_matches(p, next_component(t), n - 1));
    }
    return n > 0 && glob(p, t) && slow_matches(next_component(p), next_component(t), n - 1);
}

int
slow_components(const char *path)
{
    int n = 0;

    for (path += strspn(path, "/"); *path != '\0'; path = next_component(path)) {
        n++;
    }
    return n;
}

/* Most components that the pattern matches; -1 none. */
static int
most_matched(const char *pattern, const char *path)
{
    char stripped[NOTE_TEXT_MAX];
    size_t length;

    snprintf(stripped, sizeof stripped, "%s", pattern + strspn(pattern, "/"));
    for (;;) {
        length = strlen(stripped);
        if (length > 0 && stripped[length - 1] == '/') {
            stripped[length - 1] = '\0';
        } else if (strcmp(stripped, "**") == 0) {
            stripped[0] = '\0';
        } else if (length > 3 && strcmp(stripped + length - 3, "/**") == 0) {
            stripped[length - 3] = '\0';
        } else {
            break;
        }
    }
    for (int n = slow_components(path); n >= 0; n--) {
        if (slow_matches(stripped, path + strspn(path, "/"), n)) {
            return n;
        }
    }
    return -1;
}

/* A name taken as it is: the path begins with it, component by component. */
static int
literal_matched(const char *name, const char *path)
{
    int n = 0;

    for (name += strspn(name, "/"), path += strspn(path, "/"); *name != '\0';
            name = next_component(name), path = next_component(path)) {
        size_t length = strcspn(name, "/");

        if (strcspn(path, "/") != length || memcmp(name, path, length) != 0) {
            return -1;
        }
        n++;
    }
    return n;
}

static bool
has_wildcard(const char *pattern)
{
    size_t length = strlen(pattern);

    if (length > 1 && pattern[length - 1] == '/') {
        return has_wildcard(strndupa(pattern, length - 1));
    }
    if (length >= 3 && strcmp(pattern + length - 3, "/**") == 0) {
        return has_wildcard(strndupa(pattern, length - 3));
    }
    if (strcmp(pattern, "**") == 0) {
        return false;
    }
    for (const char *at = pattern; *at != '\0'; at++) {
        if (*at == '\\') {
            at++;
        } else if (strchr("*?[", *at) != NULL) {
            return true;
        }
    }
    return false;
}

/* ---- the sentence ---- */

struct candidate {
    bool exists;
    int matched;
    bool only_opens; /* the address: any other rule comes first */
    bool is_explicit, is_literal;
    abx_verdict verdict;
};

int
slow_strictness(abx_verdict verdict)
{
    return verdict == ABX_VERDICT_DENY ? 2 : verdict == ABX_VERDICT_ASK ? 1 : 0;
}

static void
compete(struct candidate *best, struct candidate other)
{
    bool wins;

    if (!best->exists || other.matched != best->matched) {
        wins = !best->exists || other.matched > best->matched;
    } else if (other.only_opens != best->only_opens) {
        wins = best->only_opens;
    } else if (other.is_explicit != best->is_explicit) {
        wins = other.is_explicit;
    } else if (other.is_literal != best->is_literal) {
        wins = other.is_literal;
    } else {
        wins = slow_strictness(other.verdict) > slow_strictness(best->verdict);
    }
    if (wins) {
        *best = other;
        best->exists = true;
    }
}

/* What a rule says about an access: 1 itself, 0 by implication, -1 nothing. */
static int
speaks_of(const struct note_rule *rule, uint32_t access)
{
    if (rule->access == access) {
        return 1;
    }
    if (rule->access == ABX_ACCESS_WRITE && rule->verdict == ABX_VERDICT_ALLOW) {
        return access == ABX_ACCESS_READ ? 0 : -1;
    }
    if (rule->access == ABX_ACCESS_READ && rule->verdict == ABX_VERDICT_DENY) {
        return 0;
    }
    return rule->access == ABX_ACCESS_READ && rule->verdict == ABX_VERDICT_ASK &&
                           access == ABX_ACCESS_WRITE
                   ? 0
                   : -1;
}

static bool
is_root(const struct note_rule *rule, uint32_t layer)
{
    return rule->layer == layer && rule->kind == ABX_REQUEST_PATH &&
           rule->access == ABX_ACCESS_WRITE && rule->verdict == ABX_VERDICT_ALLOW;
}

/* Its path without escapes, and without what adds nothing. */
static void
root_path(const struct note_rule *rule, char out[NOTE_TEXT_MAX])
{
    size_t n = 0;

    for (const char *at = rule->pattern; *at != '\0'; at++) {
        at += *at == '\\' && !rule->is_literal;
        if (*at == '/' && n > 0 && out[n - 1] == '/') {
            continue;
        }
        out[n++] = *at;
    }
    out[n] = '\0';
    while (n >= 2 && strcmp(out + n - 2, "**") == 0 && !rule->is_literal &&
            (n == 2 || out[n - 3] == '/')) {
        out[n -= n == 2 ? 2 : 3] = '\0';
    }
    while (n > 1 && out[n - 1] == '/') {
        out[--n] = '\0';
    }
    if (n == 0) {
        strcpy(out, "/");
    }
}

static bool
is_git_path(const char *path)
{
    size_t length = strlen(path);

    return strstr(path, "/.git/") != NULL || (length > 4 && strcmp(path + length - 4, ".git") == 0);
}

/* How deep the git directory of this root lies, if the path is in it; else -1. */
static int
git_matched(const char *root, const char *path)
{
    char name[NOTE_TEXT_MAX + 8];
    char *inside;

    snprintf(name, sizeof name, is_git_path(root) ? "%s" : "%s/.git", root);
    inside = strstr(name, "/.git/");
    if (inside != NULL) {
        inside[strlen("/.git")] = '\0';
    }
    return literal_matched(name, path);
}

/* Names and git directories that any layer protects, in a writable root of this one. */
static void
compete_protected(const struct note *note, const struct note_rule *rule, const char *path,
        struct candidate *best, int *git_depth)
{
    char root[NOTE_TEXT_MAX], name[2 * NOTE_TEXT_MAX];

    root_path(rule, root);
    if (strcmp(root, "/tmp") == 0 || strcmp(root, "/dev/shm") == 0) {
        return;
    }
    for (uint32_t k = 0; k < note->n_layers; k++) {
        for (uint32_t i = 0; i < note->layers[k].n_protect && !is_git_path(root); i++) {
            snprintf(name, sizeof name, "%s/%s", root, note->layers[k].protect[i]);
            if (literal_matched(name, path) >= 0) {
                compete(best, (struct candidate){ .matched = literal_matched(name, path),
                                      .is_explicit = true,
                                      .is_literal = true,
                                      .verdict = ABX_VERDICT_DENY });
            }
        }
        if (note->layers[k].is_git_protected && git_matched(root, path) > *git_depth) {
            *git_depth = git_matched(root, path);
        }
    }
}

/* Only the deepest git directory judges. */
static void
compete_git(const char *path, const char *verb, int git_depth, struct candidate *best)
{
    const char *inside = path + strspn(path, "/");
    uint32_t depth;
    enum git_file file;

    for (int i = 0; i < git_depth; i++) {
        inside = next_component(inside);
    }
    file = git_file_classify(inside, &depth);
    if (git_file_refuses(file, verb)) {
        compete(best, (struct candidate){ .matched = git_depth + (int)depth,
                              .is_explicit = true,
                              .is_literal = true,
                              .verdict = ABX_VERDICT_DENY });
    }
}

/* Every ".git" below a protected root is a git directory, whenever it comes. */
static void
compete_later_git(const char *root, const char *path, const char *verb, struct candidate *best)
{
    int depth = literal_matched(root, path), i = 0;

    for (const char *at = path + strspn(path, "/"); depth >= 0 && *at != '\0';
            at = next_component(at), i++) {
        if (i >= depth && strncasecmp(at, ".git", 4) == 0 && (at[4] == '/' || at[4] == '\0')) {
            compete_git(path, verb, i + 1, best);
        }
    }
}

static void
compete_tree(const struct note *note, const struct note_rule *rule, const abx_request *request,
        struct candidate *best)
{
    char root[NOTE_TEXT_MAX];
    bool is_protected = false;

    root_path(rule, root);
    for (uint32_t k = 0; k < note->n_layers; k++) {
        is_protected |= note->layers[k].is_git_protected;
    }
    if (is_protected && !is_git_path(root) && strcmp(root, "/tmp") != 0 &&
            strcmp(root, "/dev/shm") != 0) {
        compete_later_git(root, request->target, request->verb, best);
    }
}

static void
compete_paths(const struct note *note, uint32_t layer, uint32_t kind, uint32_t access,
        const abx_request *request, struct candidate *best)
{
    int git_depth = -1;

    for (size_t i = 0; i < note->n_rules; i++) {
        const struct note_rule *rule = &note->rules[i];
        int speaks = kind == ABX_REQUEST_SOCKET ? 1 : speaks_of(rule, access);
        bool literal = rule->is_literal || !has_wildcard(rule->pattern);
        int matched;

        if (rule->layer != layer || rule->kind != kind) {
            continue;
        }
        matched = rule->is_literal ? literal_matched(rule->pattern, request->target)
                                   : most_matched(rule->pattern, request->target);
        if (speaks >= 0 && matched >= 0) {
            compete(best, (struct candidate){ .matched = matched,
                                  .is_explicit = speaks == 1,
                                  .is_literal = literal,
                                  .verdict = rule->verdict });
        }
    }
    for (size_t i = 0; i < note->n_rules && kind == ABX_REQUEST_PATH && access == ABX_ACCESS_WRITE;
            i++) {
        if (is_root(&note->rules[i], layer)) {
            compete_protected(note, &note->rules[i], request->target, best, &git_depth);
            compete_tree(note, &note->rules[i], request, best);
        }
    }
    if (git_depth >= 0) {
        compete_git(request->target, request->verb, git_depth, best);
    }
}

/* ---- hosts ---- */

/* How much of a name the pattern matched; an exact name counts as more than any. */
static int
name_matched(const char *pattern, const char *host)
{
    bool both = strncmp(pattern, "**.", 3) == 0;
    const char *suffix = pattern + (both ? 3 : 2);
    size_t more = strlen(host) - strlen(suffix);

    if (strcmp(pattern, "*") == 0) {
        return strchr(host, '.') != NULL ? 0 : -1;
    }
    if (pattern[0] != '*') {
        return strcasecmp(pattern, host) == 0 ? 1000 : -1;
    }
    if (strlen(host) < strlen(suffix) || strcasecmp(host + more, suffix) != 0) {
        return -1;
    }
    return (more == 0 && both) || (more > 0 && host[more - 1] == '.') ? (int)strlen(suffix) : -1;
}

static int
address_matched(const char *pattern, const char *address)
{
    unsigned a[4], b[4], bits = 32;

    if (sscanf(pattern, "%u.%u.%u.%u/%u", &a[0], &a[1], &a[2], &a[3], &bits) < 4 ||
            sscanf(address, "%u.%u.%u.%u", &b[0], &b[1], &b[2], &b[3]) != 4) {
        return -1;
    }
    for (unsigned i = 0; i < bits; i++) {
        if (((a[i / 8] ^ b[i / 8]) >> (7 - i % 8) & 1) != 0) {
            return -1;
        }
    }
    return (int)bits;
}

static bool
is_address(const char *host)
{
    return host[strspn(host, "0123456789./")] == '\0';
}

static bool
covers_port(const struct note_rule *rule, uint32_t port)
{
    if (rule->port_last == 0) {
        return rule->verdict == ABX_VERDICT_DENY || port == 80 || port == 443;
    }
    return rule->port_first <= port && port <= rule->port_last;
}

/* The closed addresses that generated tests use. */
static bool
is_closed(const char *address)
{
    return strncmp(address, "10.", 3) == 0 || strncmp(address, "127.", 4) == 0;
}

static int
pattern_matched(const struct note_rule *rule, const char *host, uint32_t port)
{
    if (rule->kind != ABX_REQUEST_CONNECT || is_address(rule->pattern) != is_address(host) ||
            !covers_port(rule, port)) {
        return -1;
    }
    return is_address(host) ? address_matched(rule->pattern, host)
                            : name_matched(rule->pattern, host);
}

static bool
is_opened(const struct note *note, uint32_t layer, const char *host, uint32_t port)
{
    for (size_t i = 0; i < note->n_rules; i++) {
        const struct note_rule *rule = &note->rules[i];

        if (rule->layer == layer && rule->opens_private && pattern_matched(rule, host, port) >= 0) {
            return true;
        }
    }
    return false;
}

int
slow_host_matched(
        const struct note *note, const struct note_rule *rule, const char *host, uint32_t port)
{
    if (rule->verdict != ABX_VERDICT_DENY && is_address(host) && is_closed(host) &&
            !is_opened(note, rule->layer, host, port)) {
        return -1;
    }
    return pattern_matched(rule, host, port);
}

bool
slow_reads_requests(const struct note *note, uint32_t layer, const char *host, uint32_t port)
{
    int most = -1;
    bool reads = false;

    for (size_t i = 0; i < note->n_rules; i++) {
        const struct note_rule *rule = &note->rules[i];
        int matched = rule->layer == layer ? slow_host_matched(note, rule, host, port) : -1;

        if (matched > most) {
            most = matched;
            reads = false;
        }
        reads = reads || (matched >= 0 && matched == most && rule->n_http > 0);
    }
    return reads;
}

static void
compete_hosts(
        const struct note *note, uint32_t layer, const abx_request *request, struct candidate *best)
{
    uint32_t port = request->port == 0 ? 443 : request->port;

    for (size_t i = 0; i < note->n_rules; i++) {
        const struct note_rule *rule = &note->rules[i];
        int matched =
                rule->layer == layer ? slow_host_matched(note, rule, request->target, port) : -1;

        if (matched >= 0) {
            compete(best, (struct candidate){ .matched = matched,
                                  .only_opens = rule->opens_private,
                                  .is_explicit = true,
                                  .is_literal = matched == 1000,
                                  .verdict = rule->verdict });
        }
    }
    if (slow_reads_requests(note, layer, request->target, port)) {
        best->verdict = ABX_VERDICT_ALLOW;
    }
}

/* ---- layers ---- */

bool
slow_has_section(const struct note *note, uint32_t layer, uint32_t kind, uint32_t access)
{
    for (size_t i = 0; i < note->n_rules; i++) {
        if (note->rules[i].layer == layer && note->rules[i].kind == kind &&
                note->rules[i].access == access) {
            return true;
        }
    }
    return kind == ABX_REQUEST_CONNECT && note->layers[layer].has_mode;
}

static bool
restricts_exec(const struct note *note, uint32_t layer)
{
    for (size_t i = 0; i < note->n_rules; i++) {
        if (note->rules[i].layer == layer && note->rules[i].access == ABX_ACCESS_EXEC &&
                note->rules[i].verdict == ABX_VERDICT_ALLOW) {
            return true;
        }
    }
    return false;
}

/* -1: the layer has no opinion. */
static int
slow_path(const struct note *note, uint32_t layer, uint32_t kind, uint32_t access,
        const abx_request *request)
{
    struct candidate best = { 0 };

    compete_paths(note, layer, kind, access, request, &best);
    if (best.exists) {
        return (int)best.verdict;
    }
    return layer + 1 == note->n_layers || slow_has_section(note, layer, kind, access)
                   ? ABX_VERDICT_DENY
                   : -1;
}

static int
slow_exec(const struct note *note, uint32_t layer, const abx_request *request)
{
    struct candidate best = { 0 };

    compete_paths(note, layer, ABX_REQUEST_PATH, ABX_ACCESS_EXEC, request, &best);
    if (restricts_exec(note, layer)) {
        return best.exists ? (int)best.verdict : ABX_VERDICT_DENY;
    }
    return best.exists && best.is_explicit
                   ? (int)best.verdict
                   : slow_path(note, layer, ABX_REQUEST_PATH, ABX_ACCESS_READ, request);
}

static int
slow_connect(const struct note *note, uint32_t layer, const abx_request *request, bool is_named)
{
    struct candidate best = { 0 };

    if (layer + 1 < note->n_layers && !slow_has_section(note, layer, ABX_REQUEST_CONNECT, 0)) {
        return -1;
    }
    if (note->layers[layer].network == NETWORK_NONE) {
        return ABX_VERDICT_DENY;
    }
    compete_hosts(note, layer, request, &best);
    if (best.exists) {
        return (int)best.verdict;
    }
    return note->layers[layer].network == NETWORK_HOST || (is_named && !is_closed(request->target))
                   ? ABX_VERDICT_ALLOW
                   : ABX_VERDICT_DENY;
}

static int
slow_layer(const struct note *note, uint32_t layer, uint32_t access, const struct note_request *r)
{
    const abx_request *request = &r->request;

    if (request->kind == ABX_REQUEST_CONNECT) {
        return slow_connect(note, layer, request, r->name[0] != '\0');
    }
    if (request->kind == ABX_REQUEST_HTTP) {
        return slow_http(note, layer, r);
    }
    if (request->kind == ABX_REQUEST_SOCKET) {
        return slow_path(note, layer, ABX_REQUEST_SOCKET, 0, request);
    }
    return access == ABX_ACCESS_EXEC ? slow_exec(note, layer, request)
                                     : slow_path(note, layer, ABX_REQUEST_PATH, access, request);
}

/* Paths, hosts and sockets with a path; the strictest of all layers and access bits. */
abx_verdict
slow_decide(const struct note *note, const struct note_request *request)
{
    uint32_t asked =
            request->request.kind == ABX_REQUEST_PATH ? request->request.access : ABX_ACCESS_EXEC;
    abx_verdict verdict = ABX_VERDICT_ALLOW;

    for (uint32_t access = 1; access <= 4; access <<= 1) {
        for (uint32_t layer = 0; layer < note->n_layers && (asked & access) != 0; layer++) {
            int said = slow_layer(note, layer, access, request);

            if (said >= 0 && slow_strictness((abx_verdict)said) > slow_strictness(verdict)) {
                verdict = (abx_verdict)said;
            }
        }
    }
    return verdict;
}
