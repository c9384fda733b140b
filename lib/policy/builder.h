/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/policy and for api/policy.c: what a policy is while it is being made.  The parser and
 * the public setters add through these functions; a failure is told without its place, which the
 * caller knows. */
#ifndef ABX_POLICY_BUILDER_H
#define ABX_POLICY_BUILDER_H

#include "policy/rules.h"

struct variable {
    char *name, *value;
};

struct weakening {
    uint32_t what; /* ABX_WEAKEN_* */
    char *reason;
};

/* What the own document said and a profile must not overwrite. */
enum given_bits {
    GIVEN_MODE = 1,
    GIVEN_PASS = 2,
    GIVEN_APPROVAL_TIMEOUT = 4,
    GIVEN_APPROVAL_RATE = 8,
    GIVEN_READS = 16,
    GIVEN_GIT = 128,
    GIVEN_NO_DEFAULT_NAMES = 256,
    GIVEN_STRICT = 512,
    GIVEN_NEEDS_NETWORK = 1024 /* a rule that mode "none" would make idle */
};

struct abx_policy_builder {
    atomic_uint references;
    struct layer *layer; /* rules go in as they come; NULL after build */
    struct vec layers; /* struct layer *: of a document with "layers", which stands alone */
    struct vec variables; /* struct variable */
    struct vec env_pass; /* char * */
    struct vec env_set; /* struct variable */
    struct vec inputs; /* struct policy_input, strings owned */
    struct vec decoys; /* char * */
    struct vec weakened; /* struct weakening */
    struct vec credentials; /* struct policy_credential; the layer keeps their texts */
    char *source; /* name of the document that is merged next, or NULL */
    uint32_t given;
    size_t n_documents, n_rules; /* merged and added so far, for ids */
    size_t n_http; /* rules about requests */
    bool failed;
    struct fail fail; /* the first failure */
};

/* A wrong fact, without its place, which the caller knows. */
#define fail_policy(fail, ...) fail_set(fail, ABX_ERR_POLICY, 0, "", __VA_ARGS__)

/* What an entry says besides its name. */
struct entry_texts {
    const char *id; /* never NULL */
    const char *reason, *instead; /* or NULL */
    enum rule_origin origin;
    bool literal;
    struct http_rule *http; /* of a host: the requests it is about; borrowed */
    uint32_t n_http;
    struct consent consent; /* of an action */
    const struct action_type *action; /* the same; kept by the layer, or NULL */
};

abx_policy_builder *builder_new(struct fail *fail); /* without a profile */
void builder_free(abx_policy_builder *builder);
abx_status builder_set_profile(abx_policy_builder *builder, const char *name, struct fail *fail);
abx_status builder_set_variable(
        abx_policy_builder *builder, const char *name, const char *value, struct fail *fail);
/* `access` is one bit.  A rule of a profile is left out where an own one has the same pattern and
 * kind. */
abx_status builder_add_path(abx_policy_builder *builder, const char *path, uint32_t access,
        abx_verdict verdict, const struct entry_texts *texts, struct fail *fail);
/* Ports 0 to 0 are the default ones. */
abx_status builder_add_host(abx_policy_builder *builder, const char *host, uint32_t port_first,
        uint32_t port_last, abx_verdict verdict, const struct entry_texts *texts,
        struct fail *fail);
/* An address range of `network.private`. */
abx_status builder_add_private(abx_policy_builder *builder, const char *range, uint32_t port_first,
        uint32_t port_last, const struct entry_texts *texts, struct fail *fail);
abx_status builder_add_loopback(abx_policy_builder *builder, uint32_t port_first,
        uint32_t port_last, const struct entry_texts *texts, struct fail *fail);
abx_status builder_add_listen(abx_policy_builder *builder, uint32_t port_first, uint32_t port_last,
        const struct entry_texts *texts, struct fail *fail);
abx_status builder_add_action(abx_policy_builder *builder, const char *name, abx_verdict verdict,
        const struct entry_texts *texts, struct fail *fail);
abx_status builder_add_socket(abx_policy_builder *builder, const char *path,
        const struct entry_texts *texts, struct fail *fail);
/* Value NULL passes the host's own. */
abx_status builder_add_env(
        abx_policy_builder *builder, const char *name, const char *value, struct fail *fail);
abx_status builder_add_input(
        abx_policy_builder *builder, const char *from, const char *as, struct fail *fail);
abx_status builder_add_decoy(abx_policy_builder *builder, const char *path, struct fail *fail);
/* Texts and hosts are copied. */
struct credential_host;
abx_status builder_add_credential(abx_policy_builder *builder,
        const struct policy_credential *credential, const struct credential_host *hosts,
        size_t n_hosts, struct fail *fail);
/* Who is told on whose behalf a request is made.  Copied. */
abx_status builder_set_identity(abx_policy_builder *builder, const char *header,
        const struct credential_host *hosts, size_t n_hosts, struct fail *fail);
/* The last step: after the environment. */
abx_status builder_finish_credentials(abx_policy_builder *builder, struct fail *fail);
abx_status builder_add_protected(abx_policy_builder *builder, const char *name, struct fail *fail);
abx_status builder_set_limit(
        abx_policy_builder *builder, uint32_t limit, uint64_t value, struct fail *fail);
abx_status builder_weaken(
        abx_policy_builder *builder, uint32_t what, const char *reason, struct fail *fail);
bool builder_is_weakened(const abx_policy_builder *builder, uint32_t what);
/* Of the rule added last. */
abx_status builder_explain(
        abx_policy_builder *builder, const char *reason, const char *instead, struct fail *fail);
/* Empties the builder into a policy. */
abx_status builder_build(abx_policy_builder *builder, abx_policy **ret_policy, struct fail *fail);

/* build.c: the last step, also for the layers inside a document. */
abx_status builder_finish_layer(
        abx_policy_builder *builder, struct layer **ret_layer, struct fail *fail);

/* parse.c: `source` NULL is an unnamed document. */
abx_status policy_parse(abx_policy_builder *builder, const char *source, const char *json,
        size_t length, struct fail *fail);
/* A document of this library's own: its rules have `origin`, and ids that begin with `prefix`. */
abx_status policy_parse_profile(
        abx_policy_builder *builder, const char *name, const char *json, struct fail *fail);

/* profile.c */
struct profile {
    const char *name, *document;
    enum network_mode mode;
    const char *home; /* HOME where nobody chose it; NULL: the user's */
};
const struct profile *profile_find(const char *name);
const char *profile_nearest(const char *name); /* NULL: nothing is near */
abx_status profile_apply(abx_policy_builder *builder, struct fail *fail);

/* secrets.c: NULL-terminated. */
const char *const *secret_paths(void); /* as a policy spells them: "~/.ssh" */
const char *const *protected_names(void); /* ".bashrc" */

/* variables.c */
const char *variable_get(const struct vec *variables, const char *name); /* NULL: not set */
/* A path as a policy spells it, with `~`, variables, escapes: absolute and normalised; as a rule
 * keeps it (see struct rule) and whether it is a literal. */
abx_status variable_path(const struct vec *variables, const char *text, bool literal,
        char **ret_path, bool *ret_is_literal, struct fail *fail);
/* The opposite: a spelling that variable_path reads back. Caller frees. */
char *variable_spell(const char *path, bool is_literal);
/* Undoes `\xHH` and doubled backslashes. */
abx_status variable_unescape(const char *text, char **ret_text, struct fail *fail);

/* nearest.c: the candidate that was probably meant, or NULL. */
const char *nearest_of(const char *name, const char *const *candidates, size_t n_candidates);

/* emit.c: canonical JSON of what the builder holds.  NULL: no memory.  Caller frees. */
char *emit_layer(const abx_policy_builder *builder);
/* The whole policy, for people. */
char *emit_policy(abx_policy *policy, size_t *ret_length);

/* describe.c: "text", "markdown" or "json". */
abx_status policy_describe(abx_policy *policy, const char *format, char **ret_text,
        size_t *ret_length, struct fail *fail);

#endif
