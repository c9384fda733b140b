/* SPDX-License-Identifier: Apache-2.0
 * "http" of a host entry: which requests it is about, and what they count as. */
#include "base/mem.h"
#include "policy/action.h"
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

/* ---- segments that are arguments ---- */

/* What the document's layer declares of an action; NULL: nothing. */
static const struct action_type *
find_declared(const struct layer *layer, const char *action)
{
    for (size_t i = 0; i < layer->rules.count; i++) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, i);

        if (rule->kind == ABX_REQUEST_ACTION && strcmp(rule->pattern, action) == 0) {
            return rule->action != NULL && rule->action->has_arguments ? rule->action : NULL;
        }
    }
    return NULL;
}

static bool
check_capture(
        struct parser *parser, const struct action_type *type, const char *action, const char *name)
{
    AUTO(freep) const char **known = calloc(type->n_arguments + 1, sizeof *known);
    const char *nearest;

    if (known == NULL) {
        fail_nomem(parser->fail);
        return false;
    }
    for (size_t i = 0; i < type->n_arguments; i++) {
        known[i] = type->arguments[i].name;
        if (strcmp(known[i], name) == 0) {
            return true;
        }
    }
    nearest = nearest_of(name, known, type->n_arguments);
    return parse_wrong(parser, "the action '%.60s' has no argument '%.60s'%s%.60s%s", action, name,
            nearest == NULL ? "" : "; nearest is '", nearest == NULL ? "" : nearest,
            nearest == NULL ? "" : "'");
}

static bool
check_captures(struct parser *parser, const struct json *rule)
{
    const struct json *action = json_member(rule, "action");
    const char *name = action == NULL ? NULL : json_text(action);
    const struct action_type *type =
            name == NULL ? NULL : find_declared(parser->builder->layer, name);
    struct vec captures = VEC(struct http_capture);
    char *pattern;
    bool ok;

    if (type == NULL) {
        return true;
    }
    pattern = http_captures_read(json_text(json_member(rule, "path")), &captures, parser->fail);
    ok = pattern != NULL;
    for (size_t i = 0; i < captures.count && ok; i++) {
        ok = check_capture(parser, type, name, vec_at(&captures, struct http_capture, i)->name);
    }
    free(pattern);
    http_captures_done(&captures);
    return ok;
}

bool
parse_http_arguments(struct parser *parser, const struct json *document)
{
    static const char *const lists[] = { "allow", "ask" };
    const struct json *network = json_member(document, "network");
    size_t length = parser->pointer.length;

    for (size_t i = 0; i < N_ELEMENTS(lists) && network != NULL; i++) {
        const struct json *list = json_member(network, lists[i]);

        for (size_t k = 0; list != NULL && k < json_count(list); k++) {
            const struct json *entry = json_element(list, k);
            const struct json *http =
                    json_kind_of(entry) == JSON_KIND_OBJECT ? json_member(entry, "http") : NULL;

            for (size_t n = 0; http != NULL && n < json_count(http); n++) {
                str_printf(&parser->pointer, "/network/%s/%zu/http/%zu/path", lists[i], k, n);
                if (!check_captures(parser, json_element(http, n))) {
                    return false;
                }
                parser->pointer.length = length;
                parser->pointer.data[length] = '\0';
            }
        }
    }
    return true;
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
