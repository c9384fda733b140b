/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/policy: what makes a decision fast. */
#ifndef ABX_POLICY_INDEX_H
#define ABX_POLICY_INDEX_H

#include "policy/gitdir.h"
#include "policy/hostname.h"
#include "policy/http.h"
#include "policy/keys.h"
#include "policy/match.h"
#include "policy/rules.h"

#define NO_RULE KEY_NONE

/* Which rules compete with each other. */
enum slot { SLOT_READ, SLOT_WRITE, SLOT_EXEC, SLOT_SOCKET, SLOT_CONNECT, SLOT_LISTEN, SLOT_ACTION };
enum slot rule_slot(const struct rule *rule);

struct index {
    struct key_table keys; /* of rules: literal paths, what says most of each path pattern, host
                              names and suffixes, address blocks */
    struct key_table requests; /* of rules about requests, by their places in their rule */
    struct vec loose; /* uint32_t: rules that have no key and are tried each time */
    struct vec restricted; /* const char *: literal paths with a write verdict other than allow,
                              sorted */
    struct vec git_roots; /* const char *, sorted */
    struct vec git_trees; /* const char *, sorted */
    uint8_t prefixes[17]; /* bit n: there are address blocks of that length */
    char *default_reason[SLOT_ACTION + 1];
    char *default_alternative[SLOT_ACTION + 1];
};

/* With which the keys of a rule's requests are mixed. */
uint64_t index_owner(uint32_t rule);

struct index *index_new(const struct layer *layer);
void index_free(struct index *index);

/* What a layer says about one request. */
struct pick {
    uint32_t rule; /* NO_RULE: none matched */
    uint64_t rank;
    enum git_file git; /* not FREE: the rule is a git root, and this is why */
    const struct http_rule *http; /* of a request: which of the rule's decided; or NULL */
    bool reads; /* of a request: those on its connection are decided one by one */
};

/* `path` for READ, WRITE, EXEC, SOCKET; `verb` may be NULL. */
void index_pick_path(const struct layer *layer, enum slot slot, const struct path_split *path,
        const char *verb, struct pick *ret_pick);
void index_pick_host(const struct layer *layer, const struct host_pattern *host, uint32_t port,
        struct pick *ret_pick);
/* Whether the host is an address that no rule of the layer opens at this port. */
bool index_is_closed(const struct layer *layer, const struct host_pattern *host, uint32_t port);
void index_pick_port(const struct layer *layer, uint32_t port, struct pick *ret_pick);
/* A request on a connection: hosts compete first, then paths.  A rule with `http` of which none
 * matches is there with its rest, denied, which loses every tie. */
void index_pick_http(const struct layer *layer, const struct http_url *url, const char *method,
        struct pick *ret_pick);
/* An abstract unix socket, "@name", or an action. */
void index_pick_name(
        const struct layer *layer, uint32_t kind, const char *name, struct pick *ret_pick);

/* Of component `i`. */
bool path_has_git_name(const struct path_split *path, uint32_t i);

bool verdict_is_stricter(abx_verdict a, abx_verdict b);

/* The one sentence: more of the name, then explicit before implied, literal before pattern, strict
 * before permissive.  What only opens an address comes after all others of equal length.  The
 * larger number wins; equal ones say the same.  A connection of which requests are decided one by
 * one is open for them, so such a rule comes before others of equal length. */
uint64_t rule_rank(const struct rule *rule, uint32_t matched);
/* The same for a request: `http` is the rule's that matched `path_matched` of the path, or NULL. */
uint64_t http_rank(const struct rule *rule, uint32_t matched, const struct http_rule *http,
        uint32_t path_matched);
/* Whether a rule opens what it matches, which is closed otherwise, at this port. */
bool rule_opens(const struct rule *rule, uint32_t port);
/* Whether it is of host_loopback: it opens localhost only. */
bool rule_opens_loopback(const struct rule *rule);
/* Whether a rule has a say about a connection to this port of a host that it matches. */
bool rule_can_speak(const struct rule *rule, uint32_t port, bool is_closed);

#endif
