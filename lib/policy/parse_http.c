/* SPDX-License-Identifier: Apache-2.0
 * "http" of a host entry: which requests it is about, and what they count as. */
#include "policy/http.h"
#include "policy/parse.h"

#include <stdlib.h>
#include <string.h>

static bool
http_method(struct parser *parser, const struct json *value, void *data)
{
    struct str *methods = data;
    const char *text;

    if (!parse_text(parser, value, &text)) {
        return false;
    }
    if (strcmp(text, "*") != 0 && !http_method_is_valid(text)) {
        return parse_wrong(parser, "'%.40s' is no method: capital letters, or '*'", text);
    }
    str_printf(methods, "%s%s", methods->length == 0 ? "" : " ", text);
    return true;
}

static bool
http_methods(struct parser *parser, const struct json *value, void *data)
{
    struct http_rule *rule = data;
    AUTO(str_done) struct str methods = { 0 };

    if (!parse_array(parser, value, http_method, &methods)) {
        return false;
    }
    if (json_count(value) == 0) {
        return parse_wrong(parser, "the list is empty");
    }
    rule->methods = str_steal(&methods, NULL);
    if (rule->methods == NULL) {
        fail_nomem(parser->fail);
    }
    return rule->methods != NULL;
}

static bool
copy_text(struct parser *parser, const char *text, char **ret_copy)
{
    *ret_copy = strdup(text);
    if (*ret_copy == NULL) {
        fail_nomem(parser->fail);
    }
    return *ret_copy != NULL;
}

static bool
http_path(struct parser *parser, const struct json *value, void *data)
{
    const char *text;

    return parse_text(parser, value, &text) &&
           copy_text(parser, text, &((struct http_rule *)data)->path);
}

static bool
http_action(struct parser *parser, const struct json *value, void *data)
{
    const char *text;

    return parse_word(parser, value, &text) &&
           copy_text(parser, text, &((struct http_rule *)data)->action);
}

/* Compiled once here, so that what is wrong with it is told at its place. */
static bool
check_path(struct parser *parser, const struct http_rule *rule)
{
    static char no_id[] = "";
    struct http_rule trial = *rule, compiled;
    size_t length = parser->pointer.length;
    bool ok;

    trial.id = no_id;
    str_add(&parser->pointer, "/path");
    ok = parse_result(parser, http_rule_copy(&trial, &compiled, parser->fail));
    if (ok) {
        http_rule_done(&compiled);
        parser->pointer.length = length;
        parser->pointer.data[length] = '\0';
    }
    return ok;
}

static bool
http_rule(struct parser *parser, const struct json *value, void *data)
{
    static const struct parse_key keys[] = {
        { "methods", http_methods },
        { "path", http_path },
        { "action", http_action },
    };
    struct http_rule *rule = vec_add(data);

    if (rule == NULL) {
        fail_nomem(parser->fail);
        return false;
    }
    return parse_object(parser, value, keys, N_ELEMENTS(keys), rule) &&
           parse_required(parser, value, "methods") && parse_required(parser, value, "path") &&
           check_path(parser, rule);
}

bool
parse_http(struct parser *parser, const struct json *value, void *data)
{
    struct entry *entry = data;

    return parse_array(parser, value, http_rule, &entry->http) &&
           (json_count(value) > 0 || parse_wrong(parser, "the list is empty"));
}

bool
parse_http_ids(struct parser *parser, struct entry *entry, const char *id)
{
    for (size_t i = 0; i < entry->http.count; i++) {
        struct str text = { 0 };

        str_printf(&text, "%s/http/%zu", id, i);
        vec_at(&entry->http, struct http_rule, i)->id = str_steal(&text, NULL);
        if (vec_at(&entry->http, struct http_rule, i)->id == NULL) {
            fail_nomem(parser->fail);
            return false;
        }
    }
    return true;
}

void
entry_done(struct entry *entry)
{
    for (size_t i = 0; i < entry->http.count; i++) {
        http_rule_done(vec_at(&entry->http, struct http_rule, i));
    }
    vec_done(&entry->http);
}
