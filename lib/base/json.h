/* SPDX-License-Identifier: Apache-2.0
 * JSON read strictly: no duplicate key, no value beyond what C can hold, bounded nesting.  A value
 * is borrowed from its document.  Writers build text with struct str and str_add_json. */
#ifndef ABX_BASE_JSON_H
#define ABX_BASE_JSON_H

#include "base/str.h"

#include <stdint.h>

struct json; /* one value; the document is its outermost one */

enum json_kind {
    JSON_KIND_NULL,
    JSON_KIND_BOOL,
    JSON_KIND_INTEGER,
    JSON_KIND_REAL,
    JSON_KIND_TEXT,
    JSON_KIND_ARRAY,
    JSON_KIND_OBJECT
};

/* A place in a document. */
struct json_place {
    size_t line, column; /* from 1; a column is a byte.  0: not found */
};

struct json_problem {
    struct json_place place;
    char pointer[256]; /* the value that was being read, cut at the front if it is too long */
    char text[160];
    bool no_memory; /* nothing is wrong with the text */
};

#define JSON_NESTING_MAX 64u

/* Reads a document of at most `nesting` levels.  NULL: `problem` says why. */
struct json *json_read(
        const char *text, size_t length, size_t nesting, struct json_problem *problem);
void json_free(struct json *document);

enum json_kind json_kind_of(const struct json *value);
const char *json_kind_name(enum json_kind kind); /* "a string", "an array", ... */
bool json_truth(const struct json *value); /* of a boolean */
int64_t json_number(const struct json *value); /* of an integer */
const char *json_text(const struct json *value); /* of a string: no NUL inside */
size_t json_count(const struct json *value); /* elements or members; else 0 */
const struct json *json_element(const struct json *array, size_t i);
const struct json *json_member(const struct json *object, const char *key); /* NULL: it has none */
/* Calls `fn` for the members in the order of the document until it returns false. */
bool json_each_member(const struct json *object,
        bool (*fn)(void *data, const char *key, const struct json *value), void *data);

/* Finds where the value of a pointer (RFC 6901) stands in the text, or the key of that member. */
struct json_place json_locate(const char *text, size_t length, const char *pointer, bool key);
/* Appends `/` and the key, escaped as a pointer wants it. */
void json_pointer_add(struct str *pointer, const char *key);

/* Appends the value. */
void json_write(struct str *out, const struct json *value);

/* The same document indented for people.  NULL: no memory, or it is none.  Caller frees. */
char *json_indent(const char *text, size_t length, size_t *ret_length);

#endif
