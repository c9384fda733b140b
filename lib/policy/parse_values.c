/* SPDX-License-Identifier: Apache-2.0
 * The parser's tools: objects by table, arrays, single values, and the one way to tell a failure
 * with source, pointer, line and column.  Knows no key of the language. */
#include "policy/http.h"
#include "policy/parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *
pointer_of(const struct parser *parser)
{
    return parser->pointer.data == NULL ? "" : parser->pointer.data;
}

/* Puts place before a message.  `key`: the place is the key's, not the value's. */
static bool
tell(struct parser *parser, abx_status status, const char *pointer, bool key, const char *text,
        const char *remedy)
{
    struct json_place place = json_locate(parser->text, parser->length, pointer, key);
    char step[sizeof parser->fail->step];
    char shown[160];
    size_t length = strlen(pointer);

    /* The end of a long pointer says more than its start. */
    snprintf(shown, sizeof shown, "%s",
            pointer + (length < sizeof shown ? 0 : length - sizeof shown + 1));
    snprintf(step, sizeof step, "policy:%.110s", pointer);
    fail_set(parser->fail, status, 0, step, "%.120s:%zu:%zu: %s%s%s",
            parser->source == NULL ? "policy" : parser->source, place.line, place.column, shown,
            shown[0] == '\0' ? "" : ": ", text);
    if (remedy[0] != '\0') {
        fail_remedy(parser->fail, "%s", remedy);
    }
    return false;
}

bool
parse_wrong(struct parser *parser, const char *format, ...)
{
    char text[320];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return tell(parser, ABX_ERR_POLICY, pointer_of(parser), false, text, "");
}

bool
parse_result(struct parser *parser, abx_status result)
{
    struct fail inner = *parser->fail;

    if (result >= 0) {
        return true;
    }
    if (result == ABX_ERR_NOMEM) {
        return false;
    }
    return tell(parser, ABX_ERR_POLICY, pointer_of(parser), false, inner.text, inner.remedy);
}

bool
parse_unsupported(struct parser *parser, const char *what)
{
    if (parser->unsupported == NULL) {
        parser->unsupported = what;
        parser->unsupported_pointer = strdup(pointer_of(parser));
        if (parser->unsupported_pointer == NULL) {
            fail_nomem(parser->fail);
            return false;
        }
    }
    return true;
}

static void
leave(struct parser *parser, size_t length)
{
    parser->pointer.length = length;
    if (parser->pointer.data != NULL) {
        parser->pointer.data[length] = '\0';
    }
}

struct member_walk {
    struct parser *parser;
    parse_member_fn fn;
    void *data;
};

static bool
walk_member(void *data, const char *key, const struct json *value)
{
    struct member_walk *walk = data;
    struct parser *parser = walk->parser;
    size_t length = parser->pointer.length;
    bool ok;

    json_pointer_add(&parser->pointer, key);
    if (parser->pointer.failed) {
        fail_nomem(parser->fail);
        return false;
    }
    ok = walk->fn(parser, key, value, walk->data);
    leave(parser, length);
    return ok;
}

bool
parse_members(struct parser *parser, const struct json *value, parse_member_fn fn, void *data)
{
    struct member_walk walk = { parser, fn, data };

    return parse_kind(parser, value, JSON_KIND_OBJECT) &&
           json_each_member(value, walk_member, &walk);
}

/* The keys that an object may have. */
struct key_table {
    const struct parse_key *keys;
    size_t n_keys;
    void *data;
};

static bool
wrong_key(struct parser *parser, const struct key_table *table, const char *key)
{
    const char *known[32];
    const char *nearest;
    char text[320], remedy[200] = "";
    size_t used;

    for (size_t i = 0; i < table->n_keys; i++) {
        known[i] = table->keys[i].name;
    }
    nearest = nearest_of(key, known, table->n_keys);
    snprintf(text, sizeof text, "unknown key '%.60s'", key);
    if (nearest != NULL) {
        used = strlen(text);
        snprintf(text + used, sizeof text - used, "; nearest known one is '%s'", nearest);
        snprintf(remedy, sizeof remedy, "write '%s'", nearest);
    } else {
        snprintf(remedy, sizeof remedy, "known here:");
        for (size_t i = 0; i < table->n_keys; i++) {
            used = strlen(remedy);
            snprintf(remedy + used, sizeof remedy - used, " %s", known[i]);
        }
    }
    return tell(parser, ABX_ERR_POLICY, pointer_of(parser), true, text, remedy);
}

static bool
known_member(struct parser *parser, const char *key, const struct json *value, void *data)
{
    const struct key_table *table = data;

    for (size_t i = 0; i < table->n_keys; i++) {
        if (strcmp(table->keys[i].name, key) == 0) {
            return table->keys[i].parse(parser, value, table->data);
        }
    }
    return wrong_key(parser, table, key);
}

bool
parse_object(struct parser *parser, const struct json *value, const struct parse_key *keys,
        size_t n_keys, void *data)
{
    struct key_table table = { keys, n_keys, data };

    return parse_members(parser, value, known_member, &table);
}

bool
parse_array(struct parser *parser, const struct json *value, parse_fn fn, void *data)
{
    size_t length = parser->pointer.length;
    bool ok = parse_kind(parser, value, JSON_KIND_ARRAY);

    for (size_t i = 0; ok && i < json_count(value); i++) {
        str_printf(&parser->pointer, "/%zu", i);
        if (parser->pointer.failed) {
            fail_nomem(parser->fail);
            return false;
        }
        ok = fn(parser, json_element(value, i), data);
        leave(parser, length);
    }
    return ok;
}

bool
parse_required(struct parser *parser, const struct json *object, const char *key)
{
    return json_member(object, key) != NULL || parse_wrong(parser, "the key '%s' is missing", key);
}

bool
parse_kind(struct parser *parser, const struct json *value, enum json_kind kind)
{
    enum json_kind actual = json_kind_of(value);

    return actual == kind || parse_wrong(parser, "this is %s, and must be %s",
                                     json_kind_name(actual), json_kind_name(kind));
}

bool
parse_text(struct parser *parser, const struct json *value, const char **ret_text)
{
    if (!parse_kind(parser, value, JSON_KIND_TEXT)) {
        return false;
    }
    *ret_text = json_text(value);
    return (*ret_text)[0] != '\0' || parse_wrong(parser, "the text is empty");
}

bool
parse_word(struct parser *parser, const struct json *value, const char **ret_text)
{
    static const char allowed[] =
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

    if (!parse_text(parser, value, ret_text)) {
        return false;
    }
    return (strlen(*ret_text) <= 128 && strspn(*ret_text, allowed) == strlen(*ret_text)) ||
           parse_wrong(parser, "'%.60s' is no name: letters, digits, '.', '-' and '_'", *ret_text);
}

bool
parse_bool(struct parser *parser, const struct json *value, bool *ret_bool)
{
    if (!parse_kind(parser, value, JSON_KIND_BOOL)) {
        return false;
    }
    *ret_bool = json_truth(value);
    return true;
}

bool
parse_integer(struct parser *parser, const struct json *value, int64_t least, int64_t most,
        int64_t *ret_integer)
{
    if (!parse_kind(parser, value, JSON_KIND_INTEGER)) {
        return false;
    }
    *ret_integer = json_number(value);
    if (*ret_integer < least || *ret_integer > most) {
        return parse_wrong(parser, "%lld is out of range: from %lld to %lld",
                (long long)*ret_integer, (long long)least, (long long)most);
    }
    return true;
}

bool
parse_choice(struct parser *parser, const struct json *value, const char *const *choices,
        size_t n_choices, size_t *ret_choice)
{
    const char *text;
    const char *nearest;
    char list[200] = "";

    if (!parse_text(parser, value, &text)) {
        return false;
    }
    for (size_t i = 0; i < n_choices; i++) {
        size_t used = strlen(list);

        if (strcmp(choices[i], text) == 0) {
            *ret_choice = i;
            return true;
        }
        snprintf(list + used, sizeof list - used, "%s%s", used == 0 ? "" : ", ", choices[i]);
    }
    nearest = nearest_of(text, choices, n_choices);
    if (nearest != NULL) {
        return parse_wrong(parser, "'%.60s' is none of %s; nearest is '%s'", text, list, nearest);
    }
    return parse_wrong(parser, "'%.60s' is none of %s", text, list);
}

/* Digits at *text, which moves behind them. */
static bool
read_port(const char **text, uint32_t *ret_port)
{
    const char *digits = *text;
    const size_t length = strspn(digits, "0123456789");

    *text += length;
    return port_read(digits, length, ret_port);
}

static bool
read_ports(const char *text, uint32_t *ret_first, uint32_t *ret_last)
{
    if (!read_port(&text, ret_first)) {
        return false;
    }
    *ret_last = *ret_first;
    if (*text == '-') {
        text++;
        if (!read_port(&text, ret_last) || *ret_last < *ret_first) {
            return false;
        }
    }
    return *text == '\0';
}

bool
parse_ports(
        struct parser *parser, const struct json *value, uint32_t *ret_first, uint32_t *ret_last)
{
    int64_t port;

    if (json_kind_of(value) == JSON_KIND_INTEGER) {
        if (!parse_integer(parser, value, 1, 65535, &port)) {
            return false;
        }
        *ret_first = *ret_last = (uint32_t)port;
        return true;
    }
    if (!parse_kind(parser, value, JSON_KIND_TEXT)) {
        return false;
    }
    return read_ports(json_text(value), ret_first, ret_last) ||
           parse_wrong(parser,
                   "'%.60s' is no port and no range: ports go from 1 to 65535, a range is "
                   "'3000-3999'",
                   json_text(value));
}

bool
parse_host_port(const char *text, char **ret_host, uint32_t *ret_first, uint32_t *ret_last,
        struct fail *fail)
{
    const char *host = text, *port = NULL;
    size_t length = strlen(text);
    const char *colon = strchr(text, ':');

    *ret_first = *ret_last = 0;
    if (text[0] == '[') {
        const char *end = strchr(text, ']');

        if (end == NULL || (end[1] != '\0' && end[1] != ':')) {
            fail_set(fail, ABX_ERR_POLICY, 0, "", "'%.100s' has no ']' before its port", text);
            return false;
        }
        host = text + 1;
        length = (size_t)(end - host);
        port = end[1] == ':' ? end + 2 : NULL;
    } else if (colon != NULL && strchr(colon + 1, ':') == NULL) {
        length = (size_t)(colon - text);
        port = colon + 1;
    }
    if (strstr(text, "://") != NULL) {
        fail_set(fail, ABX_ERR_POLICY, 0, "", "'%.100s' is a URL, and must be a host", text);
        fail_remedy(fail, "write the host alone, with ':port' if it is not 80 or 443");
        return false;
    }
    if (port != NULL && !read_ports(port, ret_first, ret_last)) {
        fail_set(fail, ABX_ERR_POLICY, 0, "", "'%.60s' is no port: ports go from 1 to 65535", port);
        return false;
    }
    *ret_host = strndup(host, length);
    if (*ret_host == NULL) {
        fail_nomem(fail);
        return false;
    }
    return true;
}

static bool
entry_name(struct parser *parser, const struct json *value, void *data)
{
    return parse_text(parser, value, &((struct entry *)data)->name);
}

bool
parse_entry_id(struct parser *parser, const struct json *value, void *data)
{
    struct entry *entry = data;

    return parse_text(parser, value, &entry->id) &&
           (strlen(entry->id) <= 256 || parse_wrong(parser, "the id is longer than 256 bytes"));
}

static bool
entry_reason(struct parser *parser, const struct json *value, void *data)
{
    return parse_text(parser, value, &((struct entry *)data)->reason);
}

static bool
entry_instead(struct parser *parser, const struct json *value, void *data)
{
    return parse_text(parser, value, &((struct entry *)data)->instead);
}

static bool
entry_literal(struct parser *parser, const struct json *value, void *data)
{
    return parse_bool(parser, value, &((struct entry *)data)->literal);
}

static bool
parse_entry(struct parser *parser, const struct json *value, const struct parse_key *keys,
        size_t n_keys, struct entry *ret_entry)
{
    *ret_entry = (struct entry){ .http = VEC(struct http_rule) };
    if (json_kind_of(value) == JSON_KIND_TEXT) {
        return parse_text(parser, value, &ret_entry->name);
    }
    if (json_kind_of(value) != JSON_KIND_OBJECT) {
        return parse_wrong(parser, "this is %s, and must be a string or an object",
                json_kind_name(json_kind_of(value)));
    }
    return parse_required(parser, value, keys[0].name) &&
           parse_object(parser, value, keys, n_keys, ret_entry);
}

bool
parse_path_entry(struct parser *parser, const struct json *value, struct entry *ret_entry)
{
    static const struct parse_key keys[] = {
        { "path", entry_name },
        { "id", parse_entry_id },
        { "reason", entry_reason },
        { "instead", entry_instead },
        { "literal", entry_literal },
    };

    return parse_entry(parser, value, keys, N_ELEMENTS(keys), ret_entry);
}

bool
parse_host_entry(
        struct parser *parser, const struct json *value, bool has_http, struct entry *ret_entry)
{
    static const struct parse_key keys[] = {
        { "host", entry_name },
        { "id", parse_entry_id },
        { "reason", entry_reason },
        { "instead", entry_instead },
        { "http", parse_http },
    };

    return parse_entry(parser, value, keys, N_ELEMENTS(keys) - !has_http, ret_entry);
}

bool
parse_texts(struct parser *parser, const struct entry *entry, struct entry_texts *ret_texts,
        char **ret_id)
{
    struct str id = { 0 };

    if (entry->id != NULL) {
        str_add(&id, entry->id);
    } else {
        str_printf(&id, "%s%s", parser->id_prefix, pointer_of(parser));
    }
    *ret_id = str_steal(&id, NULL);
    *ret_texts = (struct entry_texts){ .id = *ret_id,
        .reason = entry->reason,
        .instead = entry->instead,
        .origin = parser->origin,
        .literal = entry->literal };
    if (*ret_id == NULL) {
        fail_nomem(parser->fail);
        return false;
    }
    return true;
}
