/* SPDX-License-Identifier: Apache-2.0
 * The only file that knows jansson.  Its values are used, its reader is not: that one keeps no
 * places, and when memory runs out in the middle of a string it writes past its buffer (2.14,
 * lex_save).  One reader here makes the values, and finds again where one stood.  Pure; any thread.
 */
#include "base/json.h"

#include "base/mem.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the reader -------------------------------------------------------------------------------
 */

struct reader {
    const char *text;
    size_t length, at;
    size_t nesting; /* levels that may still be opened */
    struct str pointer; /* of the value that is being read */
    size_t key_at; /* where the last key began */
    /* json_locate: stops at this value. */
    const char *wanted;
    bool found;
    /* The failure, if `found` is not the reason to stop. */
    const char *wrong; /* NULL: no memory */
    size_t wrong_at;
};

static json_t *read_value(struct reader *reader);

static json_t *
wrong(struct reader *reader, size_t at, const char *what)
{
    reader->wrong = what;
    reader->wrong_at = at;
    return NULL;
}

/* The next byte without taking it; 0 at the end, and for a NUL byte, which JSON has nowhere. */
static char
peek(const struct reader *reader)
{
    return reader->at < reader->length ? reader->text[reader->at] : '\0';
}

static void
skip_space(struct reader *reader)
{
    char c;

    while ((c = peek(reader)) == ' ' || c == '\t' || c == '\r' || c == '\n') {
        reader->at++;
    }
}

static bool
take(struct reader *reader, char c)
{
    bool is_there = peek(reader) == c;

    reader->at += is_there;
    return is_there;
}

/* The four digits of `\\uXXXX`; UINT32_MAX if they are none. */
static uint32_t
read_unit(struct reader *reader)
{
    uint32_t unit = 0;

    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(peek(reader));

        if (digit < 0) {
            return UINT32_MAX;
        }
        unit = unit * 16 + (uint32_t)digit;
        reader->at++;
    }
    return unit;
}

static void
add_utf8(struct str *out, uint32_t c)
{
    char bytes[4];
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

    for (size_t i = n - 1; i > 0; i--) {
        bytes[i] = (char)(0x80 | (c & 0x3f));
        c >>= 6;
    }
    bytes[0] = (char)(lead[n] | c);
    str_add_bytes(out, bytes, n);
}

/* After `\\u`: one character, maybe of two surrogates. */
static bool
read_unicode(struct reader *reader, struct str *out)
{
    uint32_t c = read_unit(reader), low;

    if (c >= 0xd800 && c < 0xdc00 && take(reader, '\\') && take(reader, 'u')) {
        low = read_unit(reader);
        c = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00)
                                          : UINT32_MAX;
    }
    if (c == 0 || (c >= 0xd800 && c < 0xe000) || c == UINT32_MAX) {
        return false;
    }
    add_utf8(out, c);
    return true;
}

/* After a backslash. */
static bool
read_escape(struct reader *reader, struct str *out)
{
    static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    char c = peek(reader);
    const char *name = c == '\0' ? NULL : strchr(names, c);

    if (take(reader, 'u')) {
        return read_unicode(reader, out);
    }
    if (name == NULL) {
        return false;
    }
    str_add_bytes(out, &bytes[name - names], 1);
    reader->at++;
    return true;
}

/* A string, whose quote is next, into `out`. */
static bool
read_text(struct reader *reader, struct str *out)
{
    reader->at++;
    while (!take(reader, '"')) {
        const unsigned char *p = (const unsigned char *)reader->text + reader->at;
        size_t start = reader->at;
        size_t n = start < reader->length ? utf8_sequence(p, reader->length - start) : 0;

        if (start == reader->length) {
            wrong(reader, start, "the string does not end");
            return false;
        }
        if (n == 0) {
            wrong(reader, start, "this is not UTF-8");
            return false;
        }
        if (*p < 0x20) {
            wrong(reader, start, "a control character must be escaped");
            return false;
        }
        if (take(reader, '\\')) {
            if (!read_escape(reader, out)) {
                wrong(reader, start, "this escape is no character of a text");
                return false;
            }
            continue;
        }
        str_add_bytes(out, (const char *)p, n);
        reader->at += n;
    }
    str_add_bytes(out, "", 0);
    return !out->failed;
}

static json_t *
read_string(struct reader *reader)
{
    AUTO(str_done) struct str text = { 0 };

    return read_text(reader, &text) ? json_stringn_nocheck(text.data, text.length) : NULL;
}

static size_t
take_digits(struct reader *reader)
{
    size_t start = reader->at;

    while (peek(reader) >= '0' && peek(reader) <= '9') {
        reader->at++;
    }
    return reader->at - start;
}

/* What stands behind the digits of a whole number; false if it is malformed. */
static bool
read_fraction(struct reader *reader, bool *ret_is_real)
{
    if (take(reader, '.')) {
        *ret_is_real = true;
        if (take_digits(reader) == 0) {
            return false;
        }
    }
    if (take(reader, 'e') || take(reader, 'E')) {
        *ret_is_real = true;
        if (!take(reader, '+')) {
            take(reader, '-');
        }
        return take_digits(reader) > 0;
    }
    return true;
}

/* Numbers with a fraction are no use to anybody here: their kind is kept, not their value. */
static json_t *
read_number(struct reader *reader)
{
    size_t start = reader->at, digits, n;
    bool is_negative = take(reader, '-'), is_real = false;
    int64_t value = 0;

    digits = reader->at;
    n = take_digits(reader);
    if (n == 0 || (n > 1 && reader->text[digits] == '0') || !read_fraction(reader, &is_real)) {
        return wrong(reader, start, "this is no number");
    }
    if (is_real) {
        return json_real(0.0);
    }
    for (; n > 0; n--, digits++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
                __builtin_sub_overflow(value, reader->text[digits] - '0', &value)) {
            return wrong(reader, start, "the number is too big");
        }
    }
    if (!is_negative && value == INT64_MIN) {
        return wrong(reader, start, "the number is too big");
    }
    return json_integer(is_negative ? value : -value);
}

static json_t *
read_word(struct reader *reader)
{
    static const char *const words[] = { "true", "false", "null" };

    for (size_t i = 0; i < N_ELEMENTS(words); i++) {
        size_t n = strlen(words[i]);

        if (reader->length - reader->at >= n &&
                memcmp(reader->text + reader->at, words[i], n) == 0) {
            reader->at += n;
            return i == 0 ? json_true() : i == 1 ? json_false() : json_null();
        }
    }
    if (reader->at == 0 && reader->length >= 3 && memcmp(reader->text, "\xef\xbb\xbf", 3) == 0) {
        return wrong(reader, 0, "a byte order mark stands here: save it as UTF-8 without one");
    }
    return wrong(reader, reader->at,
            reader->at == reader->length ? "the document is cut off" : "a value is expected");
}

static void
leave(struct reader *reader, size_t length)
{
    reader->pointer.length = length;
    if (reader->pointer.data != NULL) {
        reader->pointer.data[length] = '\0';
    }
}

/* A comma: another one comes.  The closing bracket: none does.  Else `*ret_ok` is false. */
static bool
another(struct reader *reader, char close, bool *ret_ok)
{
    skip_space(reader);
    if (take(reader, ',')) {
        return true;
    }
    if (!take(reader, close)) {
        *ret_ok = false;
        wrong(reader, reader->at,
                reader->at == reader->length ? "the document is cut off"
                : close == '}'               ? "',' or '}' is expected"
                                             : "',' or ']' is expected");
    }
    return false;
}

static bool
read_member(struct reader *reader, json_t *object)
{
    AUTO(str_done) struct str key = { 0 };
    size_t outside = reader->pointer.length, key_at;
    json_t *value;

    skip_space(reader);
    key_at = reader->at;
    if (peek(reader) != '"') {
        wrong(reader, key_at,
                key_at == reader->length ? "the document is cut off" : "a key is expected");
        return false;
    }
    if (!read_text(reader, &key)) {
        return false;
    }
    json_pointer_add(&reader->pointer, key.data);
    if (json_object_get(object, key.data) != NULL) {
        wrong(reader, key_at, "the same key stands here twice");
        return false;
    }
    skip_space(reader);
    if (!take(reader, ':')) {
        wrong(reader, reader->at, "':' is expected");
        return false;
    }
    reader->key_at = key_at;
    value = read_value(reader);
    if (value == NULL || json_object_set_new_nocheck(object, key.data, value) < 0) {
        return false;
    }
    leave(reader, outside);
    return true;
}

static json_t *
read_object(struct reader *reader)
{
    json_t *object = json_object();
    bool ok = object != NULL;

    reader->at++;
    skip_space(reader);
    if (ok && !take(reader, '}')) {
        do {
            ok = read_member(reader, object);
        } while (ok && another(reader, '}', &ok));
    }
    if (!ok) {
        json_decref(object);
    }
    return ok ? object : NULL;
}

static bool
read_element(struct reader *reader, json_t *array)
{
    size_t outside = reader->pointer.length;
    json_t *value;

    str_printf(&reader->pointer, "/%zu", json_array_size(array));
    value = read_value(reader);
    if (value == NULL || json_array_append_new(array, value) < 0) {
        return false;
    }
    leave(reader, outside);
    return true;
}

static json_t *
read_array(struct reader *reader)
{
    json_t *array = json_array();
    bool ok = array != NULL;

    reader->at++;
    skip_space(reader);
    if (ok && !take(reader, ']')) {
        do {
            ok = read_element(reader, array);
        } while (ok && another(reader, ']', &ok));
    }
    if (!ok) {
        json_decref(array);
    }
    return ok ? array : NULL;
}

/* NULL: found, or failed. */
static json_t *
read_value(struct reader *reader)
{
    json_t *value;
    char c;

    skip_space(reader);
    if (reader->pointer.failed) {
        return NULL;
    }
    if (reader->wanted != NULL &&
            strcmp(reader->pointer.data == NULL ? "" : reader->pointer.data, reader->wanted) == 0) {
        reader->found = true;
        return NULL;
    }
    c = peek(reader);
    if (c == '{' || c == '[') {
        if (reader->nesting == 0) {
            return wrong(reader, reader->at, "nested too deep");
        }
        reader->nesting--;
        value = c == '{' ? read_object(reader) : read_array(reader);
        reader->nesting++;
        return value;
    }
    if (c == '"') {
        return read_string(reader);
    }
    return c == '-' || (c >= '0' && c <= '9') ? read_number(reader) : read_word(reader);
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
    struct reader reader = {
        .text = text, .length = length, .nesting = JSON_NESTING_MAX, .wanted = pointer
    };

    json_decref(read_value(&reader));
    str_done(&reader.pointer);
    return reader.found ? place_of(text, key ? reader.key_at : reader.at)
                        : (struct json_place){ 0, 0 };
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

/* The end of a long pointer says more than its start. */
static void
tell(const struct reader *reader, struct json_problem *problem)
{
    const char *pointer = reader->pointer.data == NULL ? "" : reader->pointer.data;
    size_t length = strlen(pointer);

    *problem = (struct json_problem){ .no_memory = reader->wrong == NULL };
    if (problem->no_memory) {
        return;
    }
    problem->place = place_of(reader->text, reader->wrong_at);
    snprintf(problem->text, sizeof problem->text, "%s", reader->wrong);
    if (length >= sizeof problem->pointer) {
        pointer += length - sizeof problem->pointer + 1;
    }
    snprintf(problem->pointer, sizeof problem->pointer, "%s", pointer);
}

struct json *
json_read(const char *text, size_t length, size_t nesting, struct json_problem *problem)
{
    struct reader reader = { .text = text, .length = length, .nesting = nesting };
    json_t *document = read_value(&reader);

    skip_space(&reader);
    if (document != NULL && reader.at < length) {
        json_decref(document);
        document = wrong(&reader, reader.at, "the document ended before this");
    }
    if (document == NULL) {
        tell(&reader, problem);
    }
    str_done(&reader.pointer);
    return (struct json *)(void *)document;
}

/* ---- values ----------------------------------------------------------------------------------
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

void
json_write(struct str *out, const struct json *value)
{
    char *dumped = json_dumps(in(value), JSON_COMPACT | JSON_ENCODE_ANY);

    out->failed |= dumped == NULL;
    str_add(out, dumped == NULL ? "" : dumped);
    free(dumped);
}

char *
json_indent(const char *text, size_t length, size_t *ret_length)
{
    struct json_problem problem;
    struct json *document = json_read(text, length, JSON_NESTING_MAX, &problem);
    struct str pretty = { 0 };
    char *dumped;

    if (document == NULL) {
        return NULL;
    }
    dumped = json_dumps(in(document), JSON_INDENT(2));
    json_free(document);
    if (dumped == NULL) {
        return NULL;
    }
    str_add(&pretty, dumped);
    str_add(&pretty, "\n");
    free(dumped);
    return str_steal(&pretty, ret_length);
}
