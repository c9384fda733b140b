/* SPDX-License-Identifier: Apache-2.0
 * A growing string.  A failed append marks it; str_steal then returns NULL, so a caller checks
 * once.  Also the escaping of bytes that are not valid UTF-8. */
#ifndef ABX_BASE_STR_H
#define ABX_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str {
    char *data; /* NUL-terminated once something was appended */
    size_t length;
    size_t room;
    bool failed;
};

void str_add(struct str *str, const char *text);
void str_add_bytes(struct str *str, const char *bytes, size_t length);
void str_printf(struct str *str, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The text, which the caller frees ("" if nothing was appended), or NULL if memory ran out. */
char *str_steal(struct str *str, size_t *ret_length);
void str_done(struct str *str);

/* Length of the valid UTF-8 sequence at `bytes`, or 0: RFC 3629, no surrogates, no overlong forms.
 */
#define UTF8_MAX 4u /* as `left` of a text that ends with NUL, which is in no sequence */
size_t utf8_sequence(const unsigned char *bytes, size_t left);
/* The character that such a sequence is. */
uint32_t utf8_character(const unsigned char *bytes, size_t length);

/* A copy in which each byte that is not part of valid UTF-8, and of each character that is not seen
 * (controls, line and paragraph separators, those that turn the direction of writing), is written
 * `\xHH`, and a backslash is doubled only if `escape_backslash`. */
char *text_escape(const char *bytes, size_t length, bool escape_backslash);
void str_add_escaped(struct str *str, const char *bytes, size_t length, bool escape_backslash);
/* Undoes it where backslashes were doubled; there may be NULs in what comes out.  NULL: no memory.
 */
char *text_unescape(const char *text, size_t *ret_length);

/* A foreign value within a sentence: between two ', as text_escape makes it with doubled
 * backslashes, and a backslash before each mark that is one or looks like one.  So it ends where
 * the quotation ends.  Of more than `most` bytes the first, and "..." behind the quotation. */
void str_add_quoted(struct str *str, const char *bytes, size_t length, size_t most);
/* The same for a formatted message, as far as there is room; returns `buffer`. */
const char *text_quote(const char *text, char *buffer, size_t room);
#define QUOTED_SIZE 112 /* a value in a message */

/* Whether it is UTF-8 of which every character is seen: two such texts that differ look so, but for
 * letters that are alike. */
bool text_is_seen(const char *text);

/* Appends UTF-8 text as a JSON string, with its quotes. */
void str_add_json(struct str *str, const char *text);
/* The same for any bytes: what text_escape makes of them. */
void str_add_json_bytes(struct str *str, const char *bytes, bool escape_backslash);

int hex_digit(char c); /* -1: it is none */
int hex_byte(const char *digits); /* two of them; -1: they are none */
/* A port: 1 to 65535, in digits alone, without a zero before them. */
bool port_read(const char *digits, size_t length, uint32_t *ret_port);

#endif
