/* SPDX-License-Identifier: Apache-2.0
 * Policies in one line, for tables and generated tests, and a second way to decide that is as plain
 * as the sentence it implements.
 *
 *   read.deny: /w/.env; write.allow: /w; protect: .bashrc; git
 *
 * Sections: read write exec network listen socket action.  `network.private` opens a closed
 * address.  A pattern may be followed by ` literal`; hosts and `listen` by `:PORT` or
 * `:FIRST-LAST`, and hosts then by ` http METHODS PATH [ACTION]` (methods separated by `,`), as
 * often as there are requests.  `network: filtered` or `network: host` is the mode.  ` OVER ` puts
 * a ceiling over what follows. Requests: `read /w/a`, `write /w/a by rename`, `exec /bin/sh`,
 * `connect example.com:443`, `listen 80`, `socket @name`, `address 10.1.2.3:443 of example.com`
 * (what an allowed name turned out to be), `GET https://example.com/a`, `action NAME`. ` when
 * connected` after a request is one on a connection that was decided before. */
#ifndef ABX_TESTS_POLICY_NOTATION_H
#define ABX_TESTS_POLICY_NOTATION_H

#include "policy/rules.h"

#define NOTE_RULES_MAX 2048u
#define NOTE_LAYERS_MAX 3u
#define NOTE_TEXT_MAX 256u

#define NOTE_HTTP_MAX 4u

struct note_http {
    char methods[32], path[64], action[32]; /* "" is none */
};

struct note_rule {
    uint32_t layer;
    uint32_t kind, access;
    abx_verdict verdict;
    bool is_literal, opens_private;
    uint32_t port_first, port_last;
    char pattern[NOTE_TEXT_MAX];
    struct note_http http[NOTE_HTTP_MAX];
    uint32_t n_http;
};

struct note_layer {
    enum network_mode network;
    bool has_mode, is_git_protected;
    char protect[4][NOTE_TEXT_MAX];
    uint32_t n_protect;
};

struct note {
    struct note_rule rules[NOTE_RULES_MAX];
    size_t n_rules;
    struct note_layer layers[NOTE_LAYERS_MAX];
    uint32_t n_layers;
};

struct note_request {
    abx_request request;
    char target[NOTE_TEXT_MAX];
    char verb[NOTE_TEXT_MAX];
    char name[NOTE_TEXT_MAX]; /* not empty: `target` is an address of this allowed name */
    bool is_connected;
};

bool note_parse(const char *text, struct note *ret_note);
bool note_parse_request(const char *text, struct note_request *ret_request);
/* NULL: a rule was refused, and `fail` says why. */
abx_policy *note_policy(const struct note *note, struct fail *fail);

void note_decide(abx_policy *policy, const struct note_request *request, struct ruling *ret_ruling);

/* slow.c, slow_http.c */
abx_verdict slow_decide(const struct note *note, const struct note_request *request);

#endif
