/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/policy only: what a compiled policy is made of.  Parsing (parse.c, builder.c,
 * profile.c) fills layers through policy_add_*; deciding (evaluate.c, match.c) reads them. */
#ifndef ABX_POLICY_RULES_H
#define ABX_POLICY_RULES_H

#include "policy/policy.h"

#include <stdatomic.h>

#define RULES_MAX 10000u
#define PATTERN_MAX 4096u
#define DOCUMENT_MAX (1u << 20)
#define NESTING_MAX 32
#define APPROVAL_TIMEOUT_MS 120000u

enum rule_origin {
    ORIGIN_OWN = 0,
    ORIGIN_PROFILE,
    ORIGIN_PROTECT,
    ORIGIN_SECRET,
    ORIGIN_TWIN /* by policy_resolve */
};

struct rule {
    uint32_t kind; /* ABX_REQUEST_PATH, _CONNECT, _LISTEN, _SOCKET, _ACTION */
    uint32_t access; /* for PATH one ABX_ACCESS_* bit */
    abx_verdict verdict;
    enum rule_origin origin;
    bool implied; /* loses every tie */
    bool is_literal; /* pattern has no active wildcard; `pattern` is then the unescaped path */
    bool by_content; /* see struct ruling */
    bool opens_private; /* CONNECT, from network.private or host_loopback (127.0.0.0/8):
                           only these let an address through that is closed by default */
    uint32_t port_first, port_last; /* CONNECT, LISTEN; 0-0: default ports */
    char *pattern; /* PATH: absolute, normalised, variables put in; CONNECT: host pattern or CIDR,
                      canonical; ACTION: its name */
    char *id; /* never NULL, see struct ruling */
    char *reason; /* or NULL */
    char *alternative; /* or NULL */
    char *because; /* never NULL after layer_finish: `reason`, or a sentence made from the rule */
    void *matcher; /* compiled form: struct path_pattern or struct host_pattern; NULL for a literal
                      path */
    const struct action_type *action; /* ACTION: what it takes (policy/action.h), kept by the
                                         layer; NULL: nothing is declared */
    struct http_rule *http; /* CONNECT: which requests it is about (policy/http.h); NULL: the whole
                               connection.  All others on it are denied, as if implied */
    uint32_t n_http;
    struct consent consent; /* ACTION */
    char *rest_because, *rest_alternative; /* of what `http` leaves out; made by layer_finish */
};

/* A rule of this kind marks its literal path as a git directory: what lies below is judged by
 * meaning (gitdir.h).  Made by layer_finish and policy_resolve, never by a document. */
#define RULE_GIT_ROOT 0x100u
/* The same for one file that sends git to another directory: it may go, but not come or change. */
#define RULE_GIT_LINK 0x101u
/* Below this directory every name ".git" is such a directory, or a file that leads to one, whenever
 * it comes. */
#define RULE_GIT_TREE 0x102u

/* How git directories are protected in the writable roots of a layer; what is later is stricter. */
enum git_protection { GIT_OFF = 0, GIT_MEANING, GIT_FROZEN };

/* One document.  Immutable and shared once it is finished.  Which sections it has an opinion on
 * matters when layers are combined. */
struct layer {
    atomic_uint references;
    struct layer *base; /* what this is a copy of (policy_resolve, policy_intersect), it owns the
                           texts; or NULL */
    char *source; /* "managed", "user", "task" or a file name */
    char *name; /* the document's "name", or NULL */
    char *profile; /* what it extends, or NULL */
    struct vec rules; /* struct rule */
    bool has_read, has_write, has_exec, has_network, has_sockets, has_listen, has_actions;
    bool has_credentials;
    abx_verdict default_read, default_write; /* where no rule matches */
    void *index; /* evaluate.c's: what makes a decision fast */
    struct policy_settings settings; /* strings owned by the layer's `texts` */
    struct vec texts; /* char *, owned; also the arrays that settings point to */
    struct vec
            protect; /* char *, owned: names (or relative paths) protected in every writable root */
    enum git_protection git;
    char *document; /* canonical JSON of this layer alone (emit.c), for to_json and digest */
};

struct abx_policy {
    atomic_uint references;
    struct vec layers; /* struct layer *, outermost (ceiling) first */
    struct policy_settings settings; /* of all layers */
    struct vec texts;
    char digest[65];
};

/* words.c */
extern const char *const git_words[3]; /* by enum git_protection */
extern const char *const weaken_words[3]; /* by ABX_WEAKEN_* - 1 */

/* layer.c: makes and owns. */
struct layer *layer_new(const char *source);
struct layer *layer_ref(struct layer *layer);
void layer_free(struct layer *layer); /* drops one reference */
/* Hands over a text or an array that settings point to; the layer frees it, and so does failure.
 * NULL: there was no memory for it. */
abx_status layer_keep(struct layer *layer, void *owned, struct fail *fail);
/* Copies the rule's texts; compiles its matcher; fails for what is malformed (status POLICY,
 * fail->text says what; the caller prefixes the place).  A path pattern without active wildcards
 * becomes a literal and is unescaped; with `is_literal` it is taken as it is.  Says in has_* that
 * the section is there. */
abx_status layer_add_rule(struct layer *layer, const struct rule *rule, struct fail *fail);
/* Adds implied rules, sorts, builds the index; afterwards the layer is immutable. */
abx_status layer_finish(struct layer *layer, struct fail *fail);
/* A policy of these layers (takes them on success), settings combined, digest made. */
abx_status policy_new(
        struct layer *const *layers, size_t n_layers, abx_policy **ret_policy, struct fail *fail);

/* combine.c: the same with layers that stay shared; and a ceiling over a policy. */
abx_status policy_share(
        struct layer *const *layers, size_t n_layers, abx_policy **ret_policy, struct fail *fail);
abx_status policy_intersect(
        abx_policy *ceiling, abx_policy *policy, abx_policy **ret_policy, struct fail *fail);

/* match.c: pure.  Absolute, no "//", ".", "..", no trailing "/": the one spelling.  NULL with fail
 * set. */
char *path_normalise(const char *path, struct fail *fail);
/* host.c: canonical host names and addresses. */
char *host_canonical(const char *host, struct fail *fail); /* patterns too; NULL: invalid */

/* secrets.c: what of the host's environment is passed where no layer says so, NULL-terminated. */
const char *const *passed_names(void);

#endif
