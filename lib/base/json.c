/* SPDX-License-Identifier: Apache-2.0
 * The only file that knows jansson.  jansson keeps no places for values, so a small scanner finds
 * them again in a text that jansson has accepted, or up to where it stopped.  Pure; any thread. */
#include "base/json.h"

#include "base/mem.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the scanner ------------------------------------------------------------------------------
 */

#define SCAN_NESTING 64u

/* Walks the tokens.  On text that is not JSON it only promises to end. */
struct scan {
    const char *text;
    size_t length;
    size_t at;
    struct str pointer; /* of the value that is being read */
    size_t parent[SCAN_NESTING]; /* length of the pointer before each open container's member */
    size_t index[SCAN_NESTING]; /* of the element in an array; SIZE_MAX in an object */
    size_t depth;
    size_t key_at; /* where the last key began */
};

static size_t
scan_string_end(const struct scan *scan)
{
    size_t i = scan->at + 1;

    while (i < scan->length && scan->text[i] != '"') {
        i += scan->text[i] == '\\' ? 2 : 1;
    }
    return i < scan->length ? i + 1 : scan->length;
}

/* The key's own text, with its JSON escapes undone by jansson. */
static void
scan_key(struct scan *scan, size_t end)
{
    json_t *key = json_loadb(scan->text + scan->at, end - scan->at, JSON_DECODE_ANY, NULL);

    scan->key_at = scan->at;
    json_pointer_add(&scan->pointer, json_is_string(key) ? json_string_value(key) : "");
    json_decref(key);
}

static void
scan_element(struct scan *scan)
{
    char number[24];

    snprintf(number, sizeof number, "%zu", scan->index[scan->depth - 1]);
    json_pointer_add(&scan->pointer, number);
}

static void
scan_leave_member(struct scan *scan)
{
    scan->pointer.length = scan->parent[scan->depth - 1];
    if (scan->pointer.data != NULL) {
        scan->pointer.data[scan->pointer.length] = '\0';
    }
}

static void
scan_open(struct scan *scan, bool is_array)
{
    scan->parent[scan->depth] = scan->pointer.length;
    scan->index[scan->depth] = is_array ? 0 : SIZE_MAX;
    scan->depth++;
    if (is_array) {
        scan_element(scan);
    }
}

/* In an object whose member has no key yet, a string is that key. */
static bool
scan_wants_key(const struct scan *scan)
{
    return scan->depth > 0 && scan->index[scan->depth - 1] == SIZE_MAX &&
           scan->pointer.length == scan->parent[scan->depth - 1];
}

enum scan_token { SCAN_END, SCAN_VALUE, SCAN_OTHER };

/* Takes one token.  SCAN_VALUE: a value with the present pointer starts at *ret_at. */
static enum scan_token
scan_next(struct scan *scan, size_t *ret_at)
{
    char c;
    size_t end;

    if (scan->at >= scan->length) {
        return SCAN_END;
    }
    c = scan->text[scan->at];
    *ret_at = scan->at;
    switch (c) {
    case '{':
    case '[':
        if (scan->depth == SCAN_NESTING) {
            return SCAN_END;
        }
        scan->at++;
        return SCAN_VALUE;
    case '}':
    case ']':
        if (scan->depth == 0) {
            return SCAN_END;
        }
        scan_leave_member(scan);
        scan->depth--;
        scan->at++;
        return SCAN_OTHER;
    case ',':
        if (scan->depth > 0) {
            scan_leave_member(scan);
            if (scan->index[scan->depth - 1] != SIZE_MAX) {
                scan->index[scan->depth - 1]++;
                scan_element(scan);
            }
        }
        scan->at++;
        return SCAN_OTHER;
    case '"':
        end = scan_string_end(scan);
        if (scan_wants_key(scan)) {
            scan_key(scan, end);
            scan->at = end;
            return SCAN_OTHER;
        }
        scan->at = end;
        return SCAN_VALUE;
    case ':':
    case ' ':
    case '\t':
    case '\r':
    case '\n':
        scan->at++;
        return SCAN_OTHER;
    default:
        while (scan->at < scan->length && strchr("{}[],:\" \t\r\n", scan->text[scan->at]) == NULL) {
            scan->at++;
        }
        /* A NUL byte is found by strchr; it must not stop the walk. */
        scan->at += scan->at == *ret_at;
        return SCAN_VALUE;
    }
}

/* After the caller has looked at a value: goes into it if it is a container. */
static void
scan_enter(struct scan *scan, size_t at)
{
    if (scan->text[at] == '{' || scan->text[at] == '[') {
        scan_open(scan, scan->text[at] == '[');
    }
}

static struct json_place
place_of(const char *text, size_t at)
{
    struct json_place place = { 1, 1 };

    for (size_t i = 0; i < at; i++) {
        place.column++;
        if (text[i] == '\n') {
            place.line++;
            place.column = 1;
        }
    }
    return place;
}

struct json_place
json_locate(const char *text, size_t length, const char *pointer, bool key)
{
    struct scan scan = { .text = text, .length = length };
    struct json_place place = { 0, 0 };
    enum scan_token token;
    size_t at;

    while ((token = scan_next(&scan, &at)) != SCAN_END && !scan.pointer.failed) {
        if (token != SCAN_VALUE) {
            continue;
        }
        if (strcmp(scan.pointer.data == NULL ? "" : scan.pointer.data, pointer) == 0) {
            place = place_of(text, key ? scan.key_at : at);
            break;
        }
        scan_enter(&scan, at);
    }
    str_done(&scan.pointer);
    return place;
}

/* The pointer of what stands at an offset. */
static void
pointer_at(const char *text, size_t length, size_t offset, char *buffer, size_t room)
{
    struct scan scan = { .text = text, .length = length < offset ? length : offset };
    enum scan_token token;
    size_t at;
    const char *pointer;

    while ((token = scan_next(&scan, &at)) != SCAN_END && !scan.pointer.failed) {
        if (token == SCAN_VALUE) {
            scan_enter(&scan, at);
        }
    }
    pointer = scan.pointer.data == NULL ? "" : scan.pointer.data;
    if (strlen(pointer) >= room) {
        pointer += strlen(pointer) - room + 1;
    }
    snprintf(buffer, room, "%s", pointer);
    str_done(&scan.pointer);
}

void
json_pointer_add(struct str *pointer, const char *key)
{
    str_add(pointer, "/");
    for (const char *p = key; *p != '\0'; p++) {
        if (*p == '~' || *p == '/') {
            str_add(pointer, *p == '~' ? "~0" : "~1");
        } else {
            str_add_bytes(pointer, p, 1);
        }
    }
}

/* ---- reading ----------------------------------------------------------------------------------
 */

static const json_t *
in(const struct json *value)
{
    return (const json_t *)(const void *)value;
}

static const struct json *
out(const json_t *value)
{
    return (const struct json *)(const void *)value;
}

/* Before jansson sees it, since a deep document costs a deep stack. */
static bool
nests_too_deep(const char *text, size_t length, size_t nesting, size_t *ret_at)
{
    size_t depth = 0;
    bool in_string = false;

    for (size_t i = 0; i < length; i++) {
        char c = text[i];

        if (in_string && c == '\\') {
            i++; /* whatever it is, it does not end the string */
        } else if (c == '"') {
            in_string = !in_string;
        } else if (!in_string && (c == '{' || c == '[')) {
            if (++depth > nesting) {
                *ret_at = i;
                return true;
            }
        } else if (!in_string && (c == '}' || c == ']') && depth > 0) {
            depth--;
        }
    }
    return false;
}

static void
problem_at(
        struct json_problem *problem, const char *text, size_t length, size_t at, const char *what)
{
    problem->place = place_of(text, at < length ? at : length);
    pointer_at(text, length, at, problem->pointer, sizeof problem->pointer);
    snprintf(problem->text, sizeof problem->text, "%s", what);
}

struct json *
json_read(const char *text, size_t length, size_t nesting, struct json_problem *problem)
{
    json_error_t error;
    json_t *document;
    size_t at;

    problem->no_memory = false;
    if (nests_too_deep(text, length, nesting, &at)) {
        problem_at(problem, text, length, at, "nested too deep");
        return NULL;
    }
    document = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (document == NULL) {
        problem->no_memory = json_error_code(&error) == json_error_out_of_memory;
        problem_at(
                problem, text, length, error.position < 0 ? 0 : (size_t)error.position, error.text);
        return NULL;
    }
    return (struct json *)(void *)document;
}

void
json_free(struct json *document)
{
    json_decref((json_t *)(void *)document);
}

enum json_kind
json_kind_of(const struct json *value)
{
    switch (json_typeof(in(value))) {
    case JSON_OBJECT:
        return JSON_KIND_OBJECT;
    case JSON_ARRAY:
        return JSON_KIND_ARRAY;
    case JSON_STRING:
        return JSON_KIND_TEXT;
    case JSON_INTEGER:
        return JSON_KIND_INTEGER;
    case JSON_REAL:
        return JSON_KIND_REAL;
    case JSON_TRUE:
    case JSON_FALSE:
        return JSON_KIND_BOOL;
    case JSON_NULL:
        break;
    }
    return JSON_KIND_NULL;
}

const char *
json_kind_name(enum json_kind kind)
{
    static const char *const names[] = {
        [JSON_KIND_NULL] = "null",
        [JSON_KIND_BOOL] = "true or false",
        [JSON_KIND_INTEGER] = "a whole number",
        [JSON_KIND_REAL] = "a number with a fraction",
        [JSON_KIND_TEXT] = "a string",
        [JSON_KIND_ARRAY] = "an array",
        [JSON_KIND_OBJECT] = "an object",
    };

    return names[kind];
}

bool
json_truth(const struct json *value)
{
    return json_is_true(in(value));
}

int64_t
json_number(const struct json *value)
{
    return json_integer_value(in(value));
}

const char *
json_text(const struct json *value)
{
    return json_string_value(in(value));
}

size_t
json_count(const struct json *value)
{
    return json_is_object(in(value)) ? json_object_size(in(value)) : json_array_size(in(value));
}

const struct json *
json_element(const struct json *array, size_t i)
{
    return out(json_array_get(in(array), i));
}

const struct json *
json_member(const struct json *object, const char *key)
{
    return out(json_object_get(in(object), key));
}

bool
json_each_member(const struct json *object,
        bool (*fn)(void *data, const char *key, const struct json *value), void *data)
{
    /* jansson's iterators want a mutable object, and do not change it. */
    json_t *mutable = (json_t *)(uintptr_t)object;

    for (void *i = json_object_iter(mutable); i != NULL; i = json_object_iter_next(mutable, i)) {
        if (!fn(data, json_object_iter_key(i), out(json_object_iter_value(i)))) {
            return false;
        }
    }
    return true;
}

/* ---- writing ----------------------------------------------------------------------------------
 */

char *
json_indent(const char *text, size_t length, size_t *ret_length)
{
    json_t *document = json_loadb(text, length, 0, NULL);
    struct str pretty = { 0 };
    char *dumped;

    if (document == NULL) {
        return NULL;
    }
    dumped = json_dumps(document, JSON_INDENT(2));
    json_decref(document);
    if (dumped == NULL) {
        return NULL;
    }
    str_add(&pretty, dumped);
    str_add(&pretty, "\n");
    free(dumped);
    return str_steal(&pretty, ret_length);
}
