/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
str_reserve(struct str *str, size_t more)
{
    size_t needed;
    size_t room = str->room == 0 ? 64 : str->room;
    char *data;

    if (str->failed || !size_add(str->length, more, &needed) || !size_add(needed, 1, &needed)) {
        str->failed = true;
        return false;
    }
    if (needed <= str->room) {
        return true;
    }
    while (room < needed) {
        if (!size_mul(room, 2, &room)) {
            str->failed = true;
            return false;
        }
    }
    data = realloc(str->data, room);
    if (data == NULL) {
        str->failed = true;
        return false;
    }
    str->data = data;
    str->room = room;
    return true;
}

void
str_add_bytes(struct str *str, const char *bytes, size_t length)
{
    if (!str_reserve(str, length)) {
        return;
    }
    memcpy(str->data + str->length, bytes, length);
    str->length += length;
    str->data[str->length] = '\0';
}

void
str_add(struct str *str, const char *text)
{
    str_add_bytes(str, text, strlen(text));
}

void
str_printf(struct str *str, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0 || !str_reserve(str, (size_t)length)) {
        str->failed = true;
        return;
    }
    va_start(arguments, format);
    vsnprintf(str->data + str->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    str->length += (size_t)length;
}

char *
str_steal(struct str *str, size_t *ret_length)
{
    char *data;

    str_add_bytes(str, "", 0);
    if (str->failed) {
        str_done(str);
        return NULL;
    }
    data = str->data;
    if (ret_length != NULL) {
        *ret_length = str->length;
    }
    *str = (struct str){ 0 };
    return data;
}

void
str_done(struct str *str)
{
    free(str->data);
    *str = (struct str){ 0 };
}

size_t
utf8_sequence(const unsigned char *bytes, size_t left)
{
    static const struct {
        unsigned char first, last, low, high;
        size_t length;
    } forms[] = {
        { 0x00, 0x7f, 0x00, 0x00, 1 },
        { 0xc2, 0xdf, 0x80, 0xbf, 2 },
        { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
        { 0xe1, 0xec, 0x80, 0xbf, 3 },
        { 0xed, 0xed, 0x80, 0x9f, 3 },
        { 0xee, 0xef, 0x80, 0xbf, 3 },
        { 0xf0, 0xf0, 0x90, 0xbf, 4 },
        { 0xf1, 0xf3, 0x80, 0xbf, 4 },
        { 0xf4, 0xf4, 0x80, 0x8f, 4 },
    };

    for (size_t i = 0; i < N_ELEMENTS(forms); i++) {
        if (bytes[0] < forms[i].first || bytes[0] > forms[i].last) {
            continue;
        }
        if (forms[i].length > left) {
            return 0;
        }
        if (forms[i].length > 1 && (bytes[1] < forms[i].low || bytes[1] > forms[i].high)) {
            return 0;
        }
        for (size_t k = 2; k < forms[i].length; k++) {
            if ((bytes[k] & 0xc0) != 0x80) {
                return 0;
            }
        }
        return forms[i].length;
    }
    return 0;
}

uint32_t
utf8_character(const unsigned char *bytes, size_t length)
{
    uint32_t character = length == 1 ? bytes[0] : bytes[0] & (0xffu >> (length + 1));

    for (size_t i = 1; i < length; i++) {
        character = character << 6 | (bytes[i] & 0x3fu);
    }
    return character;
}

/* Characters that would let a name forge what people see: controls, U+200B to U+200F, U+2028 to
 * U+202E, U+2060 to U+206F, U+FEFF. */
static bool
is_unseen(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c <= 0x9f) || (c >= 0x200b && c <= 0x200f) ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

static bool
is_plain(unsigned char c)
{
    return c >= ' ' && c < 0x7f && c != '\\';
}

void
str_add_escaped(struct str *str, const char *bytes, size_t length, bool escape_backslash)
{
    const unsigned char *p = (const unsigned char *)bytes;
    size_t plain = 0; /* from here to i nothing needs escaping */

    for (size_t i = 0; i < length;) {
        size_t n;
        bool is_backslash;

        if (is_plain(p[i])) { /* nearly all */
            i++;
            continue;
        }
        n = utf8_sequence(p + i, length - i);
        is_backslash = n == 1 && p[i] == '\\' && escape_backslash;

        if (n > 0 && !is_backslash && !is_unseen(utf8_character(p + i, n))) {
            i += n;
            continue;
        }
        str_add_bytes(str, bytes + plain, i - plain);
        n = n == 0 ? 1 : n;
        for (size_t k = 0; k < n && !is_backslash; k++) {
            str_printf(str, "\\x%02X", p[i + k]);
        }
        str_add(str, is_backslash ? "\\\\" : "");
        i += n;
        plain = i;
    }
    str_add_bytes(str, bytes + plain, length - plain);
}

/* Of the characters that are not escaped those that most fonts do not show (Unicode's
 * Default_Ignorable_Code_Point). */
static bool
is_ignorable(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = { { 0xad, 0xad }, { 0x34f, 0x34f }, { 0x61c, 0x61c }, { 0x115f, 0x1160 },
        { 0x17b4, 0x17b5 }, { 0x180b, 0x180f }, { 0x3164, 0x3164 }, { 0xfe00, 0xfe0f },
        { 0xffa0, 0xffa0 }, { 0xfff0, 0xfff8 }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
        { 0xe0000, 0xe0fff } };

    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        if (c >= ranges[i].first && c <= ranges[i].last) {
            return true;
        }
    }
    return false;
}

bool
text_is_seen(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    for (size_t left = strlen(text), n; left > 0; at += n, left -= n) {
        n = utf8_sequence(at, left);
        if (n == 0 || is_unseen(utf8_character(at, n)) || is_ignorable(utf8_character(at, n))) {
            return false;
        }
    }
    return true;
}

char *
text_escape(const char *bytes, size_t length, bool escape_backslash)
{
    struct str out = { 0 };

    str_add_escaped(&out, bytes, length, escape_backslash);
    return str_steal(&out, NULL);
}

/* A backslash stands before x and two digits, or before any character. */
char *
text_unescape(const char *text, size_t *ret_length)
{
    struct str out = { 0 };

    while (*text != '\0') {
        char byte = *text++;

        if (byte == '\\' && *text != '\0') {
            byte = *text++;
            if (byte == 'x' && hex_byte(text) >= 0) {
                byte = (char)hex_byte(text);
                text += 2;
            }
        }
        str_add_bytes(&out, &byte, 1);
    }
    return str_steal(&out, ret_length);
}

/* A straight quotation mark, or what a reader takes for one. */
static bool
is_mark(uint32_t c)
{
    return c == '\'' || c == 0xb4 || (c >= 0x2b9 && c <= 0x2bd) || c == 0x2c8 || c == 0x2ca ||
           (c >= 0x2018 && c <= 0x201b) || c == 0x2032 || c == 0x2035 || c == 0xff07;
}

#define QUOTED_UNIT 17 /* of a character: each of four bytes as \xHH */

/* One character as it stands in a quotation; returns how many bytes it was. */
static size_t
quote_character(const unsigned char *p, size_t left, char ret_unit[QUOTED_UNIT])
{
    const size_t n = utf8_sequence(p, left), taken = n == 0 ? 1 : n;
    const uint32_t c = n == 0 ? 0 : utf8_character(p, n);

    if (n == 0 || is_unseen(c)) {
        for (size_t i = 0; i < taken; i++) {
            snprintf(ret_unit + i * 4, 5, "\\x%02X", p[i]);
        }
    } else {
        snprintf(ret_unit, QUOTED_UNIT, "%s%.*s", c == '\\' || is_mark(c) ? "\\" : "", (int)n,
                (const char *)p);
    }
    return taken;
}

void
str_add_quoted(struct str *str, const char *bytes, size_t length, size_t most)
{
    const unsigned char *p = (const unsigned char *)bytes;
    char unit[QUOTED_UNIT];

    str_add(str, "'");
    for (size_t i = 0, n; i < length; i += n) {
        n = quote_character(p + i, length - i, unit);
        if (i + n > most) {
            str_add(str, "'...");
            return;
        }
        str_add(str, unit);
    }
    str_add(str, "'");
}

const char *
text_quote(const char *text, char *buffer, size_t room)
{
    static const char cut[] = "'...";
    const unsigned char *p = (const unsigned char *)text;
    const size_t length = strlen(text);
    size_t used = 1;
    char unit[QUOTED_UNIT];

    buffer[0] = '\'';
    for (size_t i = 0, n; i < length; i += n) {
        n = quote_character(p + i, length - i, unit);
        if (used + strlen(unit) + sizeof cut > room) {
            memcpy(buffer + used, cut, sizeof cut);
            return buffer;
        }
        memcpy(buffer + used, unit, strlen(unit));
        used += strlen(unit);
    }
    memcpy(buffer + used, "'", 2);
    return buffer;
}

void
str_add_json(struct str *str, const char *text)
{
    const char *plain = text; /* from here to text nothing needs escaping */

    str_add(str, "\"");
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;

        if (c >= ' ' && c != 0x7f && c != '"' && c != '\\') {
            continue;
        }
        str_add_bytes(str, plain, (size_t)(text - plain));
        str_printf(str, c == '"' || c == '\\' ? "\\%c" : "\\u%04x", c);
        plain = text + 1;
    }
    str_add_bytes(str, plain, (size_t)(text - plain));
    str_add(str, "\"");
}

void
str_add_json_bytes(struct str *str, const char *bytes, bool escape_backslash)
{
    char *text = text_escape(bytes, strlen(bytes), escape_backslash);

    str->failed |= text == NULL;
    str_add_json(str, text == NULL ? "" : text);
    free(text);
}

int
hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int
hex_byte(const char *digits)
{
    const int high = hex_digit(digits[0]), low = high < 0 ? -1 : hex_digit(digits[1]);

    return low < 0 ? -1 : high * 16 + low;
}

bool
port_read(const char *digits, size_t length, uint32_t *ret_port)
{
    uint32_t port = 0;

    if (length == 0 || length > 5 || digits[0] == '0') {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (digits[i] < '0' || digits[i] > '9') {
            return false;
        }
        port = port * 10 + (uint32_t)(digits[i] - '0');
    }
    if (port > UINT16_MAX) {
        return false;
    }
    *ret_port = port;
    return true;
}
