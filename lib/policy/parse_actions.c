/* SPDX-License-Identifier: Apache-2.0
 * HTTP rules, credentials and actions: read and checked like everything else, and then refused,
 * since this build has nothing that enforces them. */
#include "policy/parse.h"

#include <stdlib.h>
#include <string.h>

/* Which of an object's required parts were there is asked of the object; values are only checked.
 */
static bool
any_text(struct parser *parser, const struct json *value, void *data)
{
    const char *text;

    return parse_text(parser, value, &text);
}

static bool
any_bool(struct parser *parser, const struct json *value, void *data)
{
    bool truth;

    return parse_bool(parser, value, &truth);
}

static bool
any_integer(struct parser *parser, const struct json *value, void *data)
{
    int64_t number;

    return parse_integer(parser, value, INT64_MIN, INT64_MAX, &number);
}

static bool
positive(struct parser *parser, const struct json *value, void *data)
{
    int64_t number;

    return parse_integer(parser, value, 1, INT64_C(1000000000), &number);
}

/* "hr.read": letters, digits, dot, dash, underscore. */
static bool
word(struct parser *parser, const struct json *value, void *data)
{
    static const char allowed[] =
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const char *text;

    if (!parse_text(parser, value, &text)) {
        return false;
    }
    return (strlen(text) <= 128 && strspn(text, allowed) == strlen(text)) ||
           parse_wrong(parser, "'%.60s' is no name: letters, digits, '.', '-' and '_'", text);
}

/* ---- HTTP -------------------------------------------------------------------------------------
 */

static bool
http_method(struct parser *parser, const struct json *value, void *data)
{
    const char *text;

    if (!parse_text(parser, value, &text)) {
        return false;
    }
    return (strlen(text) <= 32 && strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") == strlen(text)) ||
           parse_wrong(parser, "'%.40s' is no method: capital letters", text);
}

static bool
http_methods(struct parser *parser, const struct json *value, void *data)
{
    return parse_array(parser, value, http_method, NULL) &&
           (json_count(value) > 0 || parse_wrong(parser, "the list is empty"));
}

static bool
http_path(struct parser *parser, const struct json *value, void *data)
{
    const char *text;

    if (!parse_text(parser, value, &text)) {
        return false;
    }
    if (strlen(text) > PATTERN_MAX) {
        return parse_wrong(parser, "the path is longer than %u bytes", PATTERN_MAX);
    }
    return text[0] == '/' || parse_wrong(parser, "'%.60s' does not begin with '/'", text);
}

static bool
http_rule(struct parser *parser, const struct json *value, void *data)
{
    static const struct parse_key keys[] = {
        { "methods", http_methods },
        { "path", http_path },
        { "action", word },
    };

    return parse_object(parser, value, keys, N_ELEMENTS(keys), NULL) &&
           parse_required(parser, value, "methods") && parse_required(parser, value, "path");
}

bool
parse_http(struct parser *parser, const struct json *value, void *data)
{
    return parse_array(parser, value, http_rule, NULL) &&
           (json_count(value) > 0 || parse_wrong(parser, "the list is empty")) &&
           parse_unsupported(parser, "HTTP rules are");
}

/* ---- credentials ------------------------------------------------------------------------------
 */

static bool
credential_env(struct parser *parser, const struct json *value, void *data)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    const char *text;

    if (!parse_text(parser, value, &text)) {
        return false;
    }
    return (strlen(text) <= 128 && strspn(text, allowed) == strlen(text) &&
                   (text[0] < '0' || text[0] > '9')) ||
           parse_wrong(parser, "'%.60s' cannot name an environment variable", text);
}

static bool
credential_host(struct parser *parser, const struct json *value, void *data)
{
    const char *text;
    AUTO(freep) char *host = NULL;
    AUTO(freep) char *canonical = NULL;
    uint32_t first, last;

    if (!parse_text(parser, value, &text)) {
        return false;
    }
    if (!parse_host_port(text, &host, &first, &last, parser->fail)) {
        return parse_result(parser, parser->fail->status);
    }
    canonical = host_canonical(host, parser->fail);
    return canonical != NULL || parse_result(parser, parser->fail->status);
}

static bool
credential_hosts(struct parser *parser, const struct json *value, void *data)
{
    return parse_array(parser, value, credential_host, NULL) &&
           (json_count(value) > 0 || parse_wrong(parser, "the list is empty"));
}

static bool
credential_as(struct parser *parser, const struct json *value, void *data)
{
    static const char *const choices[] = { "bearer", "basic" };
    size_t choice;

    return parse_choice(parser, value, choices, N_ELEMENTS(choices), &choice);
}

static bool
credential(struct parser *parser, const struct json *value, void *data)
{
    static const struct parse_key keys[] = {
        { "name", word },
        { "env", credential_env },
        { "hosts", credential_hosts },
        { "as", credential_as },
        { "lease_s", positive },
    };

    return parse_object(parser, value, keys, N_ELEMENTS(keys), NULL) &&
           parse_required(parser, value, "name") && parse_required(parser, value, "hosts");
}

bool
parse_credentials(struct parser *parser, const struct json *value, void *data)
{
    return parse_array(parser, value, credential, NULL) &&
           (json_count(value) == 0 || parse_unsupported(parser, "credentials are"));
}

/* ---- actions ----------------------------------------------------------------------------------
 */

static bool
action_verdict(struct parser *parser, const struct json *value, void *data)
{
    size_t choice;

    return parse_choice(parser, value, verdict_words, N_ELEMENTS(verdict_words), &choice);
}

static bool
scope_name(struct parser *parser, const struct json *value, void *data)
{
    static const char *const choices[] = { "once", "command", "box", "until" };
    size_t choice;

    return parse_choice(parser, value, choices, N_ELEMENTS(choices), &choice);
}

static bool
action_scope(struct parser *parser, const struct json *value, void *data)
{
    return parse_array(parser, value, scope_name, NULL) &&
           (json_count(value) > 0 || parse_wrong(parser, "the list is empty"));
}

static bool
argument_type(struct parser *parser, const struct json *value, void *data)
{
    static const char *const choices[] = { "string", "integer", "boolean" };
    size_t choice;

    return parse_choice(parser, value, choices, N_ELEMENTS(choices), &choice);
}

static bool
argument_enum(struct parser *parser, const struct json *value, void *data)
{
    return parse_array(parser, value, any_text, NULL) &&
           (json_count(value) > 0 || parse_wrong(parser, "the list is empty"));
}

static bool
argument(struct parser *parser, const char *name, const struct json *value, void *data)
{
    static const struct parse_key keys[] = {
        { "type", argument_type },
        { "pattern", any_text },
        { "enum", argument_enum },
        { "minimum", any_integer },
        { "maximum", any_integer },
    };

    return parse_object(parser, value, keys, N_ELEMENTS(keys), NULL) &&
           parse_required(parser, value, "type");
}

static bool
action_arguments(struct parser *parser, const struct json *value, void *data)
{
    return parse_members(parser, value, argument, NULL);
}

static bool
action_limits(struct parser *parser, const struct json *value, void *data)
{
    static const struct parse_key keys[] = {
        { "per_command", positive },
        { "per_box", positive },
    };

    return parse_object(parser, value, keys, N_ELEMENTS(keys), NULL);
}

static bool
action_approvers(struct parser *parser, const struct json *value, void *data)
{
    int64_t number;

    return parse_integer(parser, value, 1, 2, &number);
}

static bool
action(struct parser *parser, const struct json *value, void *data)
{
    static const struct parse_key keys[] = {
        { "name", word },
        { "verdict", action_verdict },
        { "scope", action_scope },
        { "arguments", action_arguments },
        { "limits", action_limits },
        { "approvers", action_approvers },
        { "step_up", any_bool },
        { "reason", any_text },
        { "instead", any_text },
    };

    return parse_object(parser, value, keys, N_ELEMENTS(keys), NULL) &&
           parse_required(parser, value, "name") && parse_required(parser, value, "verdict");
}

bool
parse_actions(struct parser *parser, const struct json *value, void *data)
{
    return parse_array(parser, value, action, NULL) &&
           (json_count(value) == 0 || parse_unsupported(parser, "actions are"));
}
