/* SPDX-License-Identifier: Apache-2.0
 * Inside the parser only: where it stands in the document, and the tables that say which keys an
 * object has.  Every function returns false after it has told the failure with its place. */
#ifndef ABX_POLICY_PARSE_H
#define ABX_POLICY_PARSE_H

#include "policy/builder.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"

struct parser {
    abx_policy_builder *builder;
    const char *text; /* the document, to find places again */
    size_t length;
    const char *source; /* for messages; NULL: unnamed */
    const char *id_prefix; /* of rules without an id */
    enum rule_origin origin;
    bool is_inner; /* a layer inside a document */
    struct str pointer;
    /* The first thing that is valid and that this build does not enforce. */
    const char *unsupported;
    char *unsupported_pointer;
    struct fail *fail;
};

typedef bool (*parse_fn)(struct parser *parser, const struct json *value, void *data);

struct parse_key {
    const char *name;
    parse_fn parse;
};

/* What is wrong with the value at the parser's place. */
bool parse_wrong(struct parser *parser, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
/* Gives a failure that a builder function told its place. */
bool parse_result(struct parser *parser, abx_status result);
/* Valid, and refused at the end unless something else is wrong. */
bool parse_unsupported(struct parser *parser, const char *what);

bool parse_object(struct parser *parser, const struct json *value, const struct parse_key *keys,
        size_t n_keys, void *data);
/* An object whose keys are names of the policy's own. */
typedef bool (*parse_member_fn)(
        struct parser *parser, const char *key, const struct json *value, void *data);
bool parse_members(struct parser *parser, const struct json *value, parse_member_fn fn, void *data);
bool parse_array(struct parser *parser, const struct json *value, parse_fn fn, void *data);
bool parse_required(struct parser *parser, const struct json *object, const char *key);
bool parse_kind(struct parser *parser, const struct json *value, enum json_kind kind);
bool parse_text(struct parser *parser, const struct json *value, const char **ret_text);
/* A name of the policy's own, "hr.read": letters, digits, dot, dash, underscore. */
bool parse_word(struct parser *parser, const struct json *value, const char **ret_text);
bool parse_bool(struct parser *parser, const struct json *value, bool *ret_bool);
/* What stands in a request as it is: no space, no separator but those of `also`. */
bool parse_token(
        struct parser *parser, const struct json *value, const char *also, const char **ret_text);
/* Hosts that are named: struct credential_host; whatever the outcome, named_hosts_done. */
bool parse_named_hosts(struct parser *parser, const struct json *value, struct vec *hosts);
void named_hosts_done(struct vec *hosts);
bool parse_integer(struct parser *parser, const struct json *value, int64_t least, int64_t most,
        int64_t *ret_integer);
/* The index of the word in `choices`. */
bool parse_choice(struct parser *parser, const struct json *value, const char *const *choices,
        size_t n_choices, size_t *ret_choice);
/* 443, "443" or "3000-3999". */
bool parse_ports(
        struct parser *parser, const struct json *value, uint32_t *ret_first, uint32_t *ret_last);

/* "example.com:443", "[fd00::/8]:443", "fd00::1"; without a port 0 to 0. `*ret_host` is to be
 * freed. */
bool parse_host_port(const char *text, char **ret_host, uint32_t *ret_first, uint32_t *ret_last,
        struct fail *fail);

/* A rule as it is written: a name, or an object with `path` or `host` and more. */
struct entry {
    const char *name, *id, *reason, *instead;
    bool literal;
    struct vec http; /* struct http_rule, without ids; owned */
};
bool parse_path_entry(struct parser *parser, const struct json *value, struct entry *ret_entry);
/* `has_http`: it may be about requests.  Whatever the outcome, entry_done. */
bool parse_host_entry(
        struct parser *parser, const struct json *value, bool has_http, struct entry *ret_entry);
void entry_done(struct entry *entry);
/* How many different approvers a yes needs. */
bool parse_approvers(struct parser *parser, const struct json *value, struct consent *consent);
bool parse_entry_id(struct parser *parser, const struct json *value, void *entry);
/* "ID/http/0" and so on. */
bool parse_http_ids(struct parser *parser, struct entry *entry, const char *id);
/* The texts of a rule at the parser's place; `*ret_id` is to be freed. */
bool parse_texts(struct parser *parser, const struct entry *entry, struct entry_texts *ret_texts,
        char **ret_id);

/* The sections, parse_*.c. */
bool parse_filesystem(struct parser *parser, const struct json *value, void *data);
bool parse_network(struct parser *parser, const struct json *value, void *data);
bool parse_http(struct parser *parser, const struct json *value, void *data);
/* Once all of a document was read: whether each segment that an action's path names is one of the
 * arguments that the action declares. */
bool parse_http_arguments(struct parser *parser, const struct json *document);
bool parse_credentials(struct parser *parser, const struct json *value, void *data);
bool parse_identity(struct parser *parser, const struct json *value, void *data);
bool parse_actions(struct parser *parser, const struct json *value, void *data);
/* Of an action. */
struct action_type;
bool parse_arguments(struct parser *parser, const struct json *value, struct action_type *type);
bool parse_action_limits(struct parser *parser, const struct json *value, struct action_type *type);
bool parse_environment(struct parser *parser, const struct json *value, void *data);
bool parse_limits(struct parser *parser, const struct json *value, void *data);
bool parse_approvals(struct parser *parser, const struct json *value, void *data);
bool parse_feedback(struct parser *parser, const struct json *value, void *data);
bool parse_weaken(struct parser *parser, const struct json *value, void *data);
bool parse_run_as(struct parser *parser, const struct json *value, void *data);
bool parse_variables(struct parser *parser, const struct json *value, void *data);

#endif
