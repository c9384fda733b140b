/* SPDX-License-Identifier: Apache-2.0
 * Requests in the second implementation: a URL is taken apart by hand, every rule tried. */
#include "policy/slow.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct slow_url {
    char host[NOTE_TEXT_MAX], path[NOTE_TEXT_MAX]; /* path decoded */
    unsigned port;
    bool is_plain;
};

/* What a path must not have in it, as it is or decoded. */
static bool
is_plain_path(const char *raw, const char *decoded)
{
    static const char *const never[] = { "//", "%2f", "%2F", "%5c", "%5C", "%25", "%0", "%1", "%7f",
        "%7F" };
    char framed[NOTE_TEXT_MAX + 2];

    for (size_t i = 0; i < N_ELEMENTS(never); i++) {
        if (strstr(raw, never[i]) != NULL) {
            return false;
        }
    }
    snprintf(framed, sizeof framed, "%s/", decoded);
    return strstr(framed, "/./") == NULL && strstr(framed, "/../") == NULL &&
           strstr(framed, "/.;") == NULL && strstr(framed, "/..;") == NULL;
}

static bool
parse_url(const char *text, struct slow_url *url)
{
    char rest[NOTE_TEXT_MAX];
    char scheme[8];
    char *at, *out = url->path;

    if (sscanf(text, "%7[a-z]://%255s", scheme, rest) != 2) {
        return false;
    }
    url->port = strcmp(scheme, "http") == 0 ? 80 : 443;
    rest[strcspn(rest, "?")] = '\0';
    at = rest + strcspn(rest, "/");
    snprintf(url->host, sizeof url->host, "%.*s", (int)(at - rest), rest);
    sscanf(url->host, "%*[^:]:%u", &url->port);
    url->host[strcspn(url->host, ":")] = '\0';
    if (*at == '\0') {
        strcpy(at, "/");
    }
    for (const char *from = at; *from != '\0'; from++) {
        unsigned byte = (unsigned char)*from;

        if (*from == '%') {
            if (sscanf(from + 1, "%2x", &byte) != 1) {
                return false;
            }
            from += 2;
        }
        *out++ = (char)byte;
    }
    *out = '\0';
    url->is_plain = is_plain_path(at, url->path);
    return true;
}

/* -1: another path or method. */
static int
request_matched(const struct note_http *http, const char *method, const char *path)
{
    char pattern[NOTE_TEXT_MAX], text[NOTE_TEXT_MAX], methods[64];
    size_t end = strlen(http->path);
    bool slash = strlen(path) > 1 && path[strlen(path) - 1] == '/';
    bool wants_slash = end > 1 && http->path[end - 1] == '/';
    bool is_open;

    snprintf(methods, sizeof methods, ",%s,", http->methods);
    snprintf(pattern, sizeof pattern, ",%s,", method);
    if (strstr(methods, pattern) == NULL && strcmp(http->methods, "*") != 0) {
        return -1;
    }
    snprintf(text, sizeof text, "%.*s", (int)(strlen(path) - slash), path);
    end -= wants_slash;
    is_open = end >= 3 && strncmp(http->path + end - 3, "/**", 3) == 0;
    snprintf(pattern, sizeof pattern, "%.*s", (int)(end - (is_open ? 3 : 0)), http->path);
    if (slash != wants_slash && !(is_open && !wants_slash)) {
        return -1;
    }
    for (int n = slow_components(text); n >= 0; n--) {
        if (slow_matches(pattern + (pattern[0] == '/'), text + 1, n)) {
            return n + 1;
        }
        if (!is_open) {
            return -1;
        }
    }
    return -1;
}

struct http_candidate {
    bool exists;
    int host, path;
    bool only_opens; /* the address: any other rule comes first */
    bool is_explicit, is_literal;
    abx_verdict verdict;
    const char *action;
};

static void
compete(struct http_candidate *best, struct http_candidate other)
{
    const int ours[] = { best->host, !best->only_opens, best->path, best->is_explicit,
        best->is_literal, slow_strictness(best->verdict) };
    const int theirs[] = { other.host, !other.only_opens, other.path, other.is_explicit,
        other.is_literal, slow_strictness(other.verdict) };

    for (size_t i = 0; i < N_ELEMENTS(ours) && best->exists; i++) {
        if (theirs[i] != ours[i]) {
            if (theirs[i] < ours[i]) {
                return;
            }
            break;
        }
        if (i + 1 == N_ELEMENTS(ours)) {
            return;
        }
    }
    *best = other;
    best->exists = true;
}

/* The verdict of an action in a layer; deny where the layer lists others only. */
static abx_verdict
action_verdict(const struct note *note, uint32_t layer, const char *name)
{
    bool knows = false;

    for (size_t i = 0; i < note->n_rules; i++) {
        const struct note_rule *rule = &note->rules[i];

        if (rule->layer == layer && rule->kind == ABX_REQUEST_ACTION) {
            knows = true;
            if (strcmp(rule->pattern, name) == 0) {
                return rule->verdict;
            }
        }
    }
    return knows ? ABX_VERDICT_DENY : ABX_VERDICT_ALLOW;
}

static abx_verdict
stricter(abx_verdict a, abx_verdict b)
{
    return slow_strictness(a) > slow_strictness(b) ? a : b;
}

static void
compete_requests(const struct note *note, const struct note_rule *rule, int host_matched,
        const char *method, const struct slow_url *url, struct http_candidate *best)
{
    for (uint32_t i = 0; i < rule->n_http; i++) {
        const struct note_http *http = &rule->http[i];
        int matched = request_matched(http, method, url->path);
        abx_verdict own = http->action[0] == '\0' ? ABX_VERDICT_ALLOW
                                                  : action_verdict(note, rule->layer, http->action);

        if (matched >= 0) {
            compete(best, (struct http_candidate){ .host = host_matched,
                                  .path = matched,
                                  .is_explicit = true,
                                  .is_literal = strpbrk(http->path, "*?[\\") == NULL,
                                  .verdict = stricter(rule->verdict, own),
                                  .action = http->action });
        }
    }
    compete(best, (struct http_candidate){ .host = host_matched,
                          .only_opens = rule->opens_private,
                          .is_explicit = rule->n_http == 0,
                          .verdict = rule->n_http == 0 ? rule->verdict : ABX_VERDICT_DENY });
}

int
slow_http(const struct note *note, uint32_t layer, const struct note_request *r)
{
    struct http_candidate best = { 0 };
    struct slow_url url;
    bool reads;
    abx_verdict verdict;

    if (layer + 1 < note->n_layers && !slow_has_section(note, layer, ABX_REQUEST_CONNECT, 0)) {
        return -1;
    }
    if (note->layers[layer].network == NETWORK_NONE || !parse_url(r->target, &url)) {
        return ABX_VERDICT_DENY;
    }
    reads = slow_reads_requests(note, layer, url.host, url.port);
    if (reads && !url.is_plain) {
        return ABX_VERDICT_DENY;
    }
    for (size_t i = 0; i < note->n_rules; i++) {
        const struct note_rule *rule = &note->rules[i];
        int matched = rule->layer == layer ? slow_host_matched(note, rule, url.host, url.port) : -1;

        if (matched >= 0) {
            compete_requests(note, rule, matched, r->request.verb, &url, &best);
        }
    }
    if (!best.exists) {
        return note->layers[layer].network == NETWORK_HOST ? ABX_VERDICT_ALLOW : ABX_VERDICT_DENY;
    }
    verdict = best.verdict;
    if (r->is_connected && !reads && verdict == ABX_VERDICT_ASK) {
        verdict = ABX_VERDICT_ALLOW;
    }
    for (uint32_t i = 0; i < note->n_layers && best.action != NULL && best.action[0] != '\0'; i++) {
        verdict = stricter(verdict, action_verdict(note, i, best.action));
    }
    return (int)verdict;
}
