/* SPDX-License-Identifier: Apache-2.0
 * The compiled policy as the rest of the library sees it: immutable, shared, pure.  Who needs more
 * than this header is inside lib/policy and includes policy/rules.h. */
#ifndef ABX_POLICY_POLICY_H
#define ABX_POLICY_POLICY_H

#include "base/fail.h"
#include "base/host.h"
#include "base/vec.h"

#include <agentbox/agentbox.h>
#include <stdbool.h>

/* What a yes needs besides being one, where the verdict is ASK. */
struct consent {
    uint32_t approvers; /* that many different ones say it; 0 is 1 */
    bool step_up; /* each with evidence */
};
/* What is enough for both. */
struct consent consent_join(struct consent a, struct consent b);

/* Why a verdict is what it is; strings live as long as the policy. */
struct ruling {
    abx_verdict verdict;
    uint32_t rule; /* index in its layer, UINT32_MAX: the default */
    uint32_t layer;
    const char *id; /* the rule's `id`, or its place: "/filesystem/write/deny/0",
                       "task:/network/allow/2", "protect:.bashrc", "default" */
    const char *source; /* "managed", "user", "task", or the layer's file name */
    const char *reason; /* never NULL: the rule's, or one made from its kind */
    const char *alternative; /* never NULL; "" if there is none */
    bool by_content; /* a deny that git_allows_replace (policy/git.h) may lift: the new content
                        decides */
    bool from_default; /* no rule matched */
    struct consent consent; /* as the actions want it; besides, the settings' */
};

/* Layers are numbered from 0, the outermost. */
size_t policy_layer_count(abx_policy *policy);
/* Of the innermost one, which is the policy's own under a ceiling. */
const char *policy_source(abx_policy *policy);
/* What a caller of the public API may ask; policy_decide denies the rest. */
bool policy_request_is_valid(const abx_request *request);
abx_verdict policy_decide(
        abx_policy *policy, const abx_request *request, struct ruling *ret_ruling);

/* The policy as it stands on this host: rules on symbolic links get a twin for what they point to,
 * paths below linked directories likewise, protected names are joined to every writable root and
 * git directories found in them (also where a `.git` file points).  The result is what the box
 * uses; `policy` is unchanged. */
abx_status policy_resolve(abx_policy *policy, const struct host_view *host,
        abx_policy **ret_resolved, struct fail *fail);

/* The same with all allowed that no rule speaks of and that is safe: observe.c. ABX_ERR_UNSUPPORTED
 * for more than one layer. */
abx_status policy_observe(abx_policy *policy, abx_policy **ret_observed, struct fail *fail);

/* Every absolute literal path at which some path rule stands (const char *, borrowed), sorted,
 * unique: only at these, and where patterns match, can a verdict change. */
abx_status policy_anchors(abx_policy *policy, struct vec *ret_paths, struct fail *fail);
/* Git directories that are judged by meaning (gitdir.h), whether they exist or not; sorted, unique.
 */
abx_status policy_git_roots(abx_policy *policy, struct vec *ret_paths, struct fail *fail);
/* Directories below which every ".git" is one too, whenever it comes; sorted, unique. */
abx_status policy_git_trees(abx_policy *policy, struct vec *ret_paths, struct fail *fail);
/* The patterns (const char *, borrowed) of rules for this access (one ABX_ACCESS_* bit) with a deny
 * or ask verdict. */
abx_status policy_patterns(
        abx_policy *policy, uint32_t access, struct vec *ret_patterns, struct fail *fail);
/* Whether each name below a symbolic link at `link` that the pattern could match is matched below
 * `target`, where it leads, too (NULL: wherever that is).  False if memory runs out. */
bool path_match_follows(const char *pattern, const char *link, const char *target);
/* Whether a name that exists or not, anywhere below `directory`, could have another write verdict
 * than allow.  `directory` itself is writable.  True for every directory where patterns apply. */
bool policy_guards(abx_policy *policy, const char *directory);

/* The names (const char *, borrowed) in rules about requests, of credentials and of the identity,
 * not patterns and not addresses; each once or more often. */
abx_status policy_read_names(abx_policy *policy, struct vec *ret_names, struct fail *fail);
/* Whether some rule lets through what goes to exactly this address, not to a range, and not only
 * opens it. */
bool policy_lists_address(abx_policy *policy, const char *address, uint32_t port);
/* Ports of the host's loopback (uint16_t) that some rule opens, ascending, no more than `most` and
 * one.  They are there where another rule closes them, too: what is denied is told. */
abx_status policy_loopback_ports(
        abx_policy *policy, size_t most, struct vec *ret_ports, struct fail *fail);
/* Unix sockets of the host that the policy allows by name (const char *, borrowed): paths, and
 * "@name". */
abx_status policy_sockets(abx_policy *policy, struct vec *ret_paths, struct fail *fail);
/* The id of a rule that denies a host or asks about one, or NULL. */
const char *policy_host_restriction(abx_policy *policy);

/* Whether requests to this host and port must be read: some layer has HTTP rules for it, or a
 * credential goes there. */
bool policy_reads_http(abx_policy *policy, const char *host, uint32_t port);
/* Why programs of a box must believe more authorities than those of the host: the id of a rule
 * about requests, the name of a credential or a key of the policy; NULL: they need not. */
const char *policy_adds_trust(abx_policy *policy);
/* A request on a connection that was decided before: what was asked about the connection is not
 * asked again.  `url` as for ABX_REQUEST_HTTP. */
abx_verdict policy_decide_connected(
        abx_policy *policy, const char *url, const char *method, struct ruling *ret_ruling);
/* What a name turned out to be: whether this address (as text) may be dialled for it.  Closed
 * ranges (private, loopback, link-local, metadata ...) need a rule that opens them; a deny of the
 * address counts; the name's own rule was asked before. */
abx_verdict policy_decide_address(abx_policy *policy, const char *name, const char *address,
        uint32_t port, struct ruling *ret_ruling);
/* The one spelling of a host as a request may name it: a name in lower case and A-labels without
 * the dot at its end, or an address without brackets.  False: it is none, or a pattern. */
#define POLICY_HOST_SIZE 256u
bool policy_host_spelling(const char *host, char ret_host[POLICY_HOST_SIZE]);
/* The same of a URL, which is plain: nobody could understand its path otherwise. */
struct policy_url {
    char host[POLICY_HOST_SIZE];
    uint32_t port;
    char *text; /* owned */
};
/* ABX_ERR_INVALID: it is none that a request could have, or not plain. */
abx_status policy_url_spelling(const char *url, struct policy_url *ret_url, struct fail *fail);
bool http_method_is_valid(const char *method);
/* Whether the request to `url`, whatever its query, is for what lies below `base`; both are spelled
 * so. */
bool policy_url_is_below(const char *url, const char *base);
/* Whether some rule may ask about what lies below this path, or URL with its method, so that a
 * grant for all of it could lift something (below.c). */
bool policy_asks_below(abx_policy *policy, const abx_request *request);
/* The field in which that host is told on whose behalf a request is made, or NULL. */
const char *policy_identity_header(abx_policy *policy, const char *host, uint32_t port);
/* Whether the credential with this index goes to that host. */
bool policy_credential_goes_to(
        abx_policy *policy, size_t credential, const char *host, uint32_t port);

/* ---- actions (action.c, http_action.c) ---- */
#define ACTION_INPUT_MAX (64u << 10)

/* What a path or a query says of an argument. */
struct action_text {
    const char *name, *value;
};
/* All that is said; the texts may be repeated. */
struct action_input {
    const char *json; /* an object; NULL: there is none */
    size_t json_length;
    const struct action_text *texts;
    size_t n_texts;
    bool is_part; /* what is missing may be said elsewhere */
};
/* Arguments that fit, in their one form. */
struct action_form {
    char *arguments; /* JSON, members by name; owned */
};
/* ABX_ERR_DENIED: it does not fit what some layer declares; fail->text begins with the JSON pointer
 * of what is wrong. */
abx_status policy_action_read(abx_policy *policy, const char *name,
        const struct action_input *input, struct action_form *ret_form, struct fail *fail);
/* What is denied since it could not be read, as `fail` says, whose text is then the reason; what a
 * rule denies stays. */
void policy_action_unread(
        abx_policy *policy, const char *name, const struct fail *fail, struct ruling *ruling);
bool policy_action_has_arguments(abx_policy *policy, const char *name);
struct action_limits {
    uint32_t per_command, per_box; /* 0: no limit */
};
/* The declared name that was probably meant; NULL: none is near. */
const char *policy_action_nearest(abx_policy *policy, const char *name);
/* What a layer says may be done instead of it, the outermost that does; NULL: none does. */
const char *policy_action_instead(abx_policy *policy, const char *name);
/* What each layer declares of it, each declaration once: for comparing. */
struct str;
void policy_action_text(abx_policy *policy, const char *name, struct str *out);
struct action_limits policy_action_limits(abx_policy *policy, const char *name);

/* As which action a request counts, and what its URL says of the arguments. */
struct http_action {
    const char *name; /* NULL: none; lives as long as the policy */
    struct vec texts; /* struct action_text, owned */
};
/* ABX_ERR_DENIED: layers name different ones, or the query can be understood in more than one way.
 */
abx_status policy_http_action(abx_policy *policy, const char *url, const char *method,
        struct http_action *ret_action, struct fail *fail);
/* RFC 9110, 9.3.1 and 9.3.2: content in GET and HEAD means nothing. */
bool http_method_has_body(const char *method);
void http_action_done(struct http_action *action);
/* Its name alone, also where the query cannot be read.  NULL: none, or layers name different ones.
 */
const char *policy_http_action_name(abx_policy *policy, const char *url, const char *method);

extern const char *const verdict_words[3]; /* by ABX_VERDICT_* */

enum network_mode { NETWORK_NONE = 0, NETWORK_FILTERED, NETWORK_HOST };
extern const char *const network_words[3]; /* by enum network_mode, as a document has them */
struct policy_input {
    const char *from; /* absolute host path */
    const char *as; /* relative, below the inputs directory of the box, "/task/in" */
};
/* Where in a request a credential may stand; the bits are places that were listed. */
enum credential_place {
    CREDENTIAL_BEARER = 1, /* in Authorization, as the token of any scheme but Basic */
    CREDENTIAL_BASIC = 2, /* in Authorization: Basic, as the password */
    CREDENTIAL_HEADER = 4, /* in the field `header` */
    CREDENTIAL_QUERY = 8, /* in the query, as the parameter `query` */
    CREDENTIAL_BODY = 16, /* anywhere in the body */
    CREDENTIAL_SIGV4 = 32 /* nowhere: it signs, AWS Signature Version 4 */
};
#define CREDENTIAL_WORDS 6u
extern const char *const credential_words[CREDENTIAL_WORDS]; /* by the number of the bit */
struct policy_credential {
    const char *name;
    const char *env; /* the variable that holds its stand-in; NULL: none */
    const char *key_env; /* SIGV4: the variable that holds the stand-in of the key's id; or NULL */
    uint32_t places; /* CREDENTIAL_* */
    const char *header, *query; /* see above; or NULL */
    const char *user; /* BASIC: sent in place of the program's; NULL: that one */
    const char *prefix; /* what the real one begins with, so the stand-in does; NULL: by `env` */
    bool clear_text; /* also to origins that are spoken to without TLS */
    uint64_t lease_s; /* 0: as the harness says */
    uint32_t layer;
    const char *id, *alternative; /* for denials */
    const struct credential_host *hosts; /* policy/credentials.h */
    size_t n_hosts;
};
/* What is not a verdict; of all layers together.  Borrowed from the policy. */
struct policy_settings {
    enum network_mode network;
    const char *workspace; /* NULL if the variable is not set */
    const char *home; /* value of ${home} */
    const char *const *env_pass; /* names taken from the host's environment, NULL-terminated */
    const char *const *env_set; /* "NAME=value" */
    bool has_default_home; /* HOME in it is nobody's choice */
    const struct policy_input *inputs;
    size_t n_inputs;
    const char *const *decoys; /* absolute paths, NULL-terminated */
    uint64_t limits[8]; /* by ABX_LIMIT_*; 0 is none */
    uint64_t approval_timeout_ms; /* default 120000 */
    uint64_t approvals_per_minute; /* 0 is none */
    struct consent consent; /* for every question */
    bool silent_reads; /* "feedback": {"reads": "silent"} */
    bool restricts_exec; /* exec.allow was given: only those run */
    bool exec_rules; /* any exec rule: execve is decided */
    bool weaken_host_network; /* NETWORK_HOST needs it of every layer */
    bool weaken_nested_namespaces;
    bool weaken_best_effort;
    const char *run_as; /* "uid:gid" or NULL */
    const struct policy_identity *identity; /* policy/identity.h; NULL: nobody is told */
    const struct policy_credential *credentials;
    size_t n_credentials;
    const char
            *extra_ca; /* path of a PEM file of the host that is believed besides its own; NULL */
    const char *upstream; /* "environment", "none" or the URL of a proxy; NULL: not given */
    const char *tmp; /* value of ${tmp}, or NULL: a private place where no name is protected */
};
const struct policy_settings *policy_get_settings(abx_policy *policy);

#endif
