/* SPDX-License-Identifier: Apache-2.0
 * Owns the spellings of a character.  One level: what is encoded twice is not seen through. */
#include "egress/spelling.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>

#define DIGITS_MAX 7u /* of an entity, zeros before it included */

bool
spelling_begins(uint8_t byte)
{
    return byte == '%' || byte == '\\' || byte == '&' || byte == '+';
}

static enum spelling_result
read_as(struct spelling *ret_spelling, size_t length, uint8_t byte)
{
    *ret_spelling = (struct spelling){ .length = length, .bytes = { byte }, .n = 1 };
    return SPELLING_READ;
}

/* A code point, in UTF-8. */
static enum spelling_result
read_point(struct spelling *ret_spelling, size_t length, uint32_t point)
{
    static const uint8_t leads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    size_t n = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;

    if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) {
        return SPELLING_NONE;
    }
    *ret_spelling = (struct spelling){ .length = length, .n = n };
    for (size_t i = n - 1; i > 0; i--) {
        ret_spelling->bytes[i] = (uint8_t)(0x80 | (point & 0x3f));
        point >>= 6;
    }
    ret_spelling->bytes[0] = (uint8_t)(leads[n] | point);
    return SPELLING_READ;
}

/* `n` digits in hex. */
static enum spelling_result
read_hex(const uint8_t *bytes, size_t length, size_t n, uint32_t *ret_value)
{
    *ret_value = 0;
    for (size_t i = 0; i < n; i++) {
        int digit = i < length ? hex_digit((char)bytes[i]) : 0;

        if (i == length) {
            return SPELLING_CUT;
        }
        if (digit < 0) {
            return SPELLING_NONE;
        }
        *ret_value = *ret_value << 4 | (uint32_t)digit;
    }
    return SPELLING_READ;
}

static enum spelling_result
read_percent(const uint8_t *bytes, size_t length, struct spelling *ret_spelling)
{
    uint32_t value;
    enum spelling_result result = read_hex(bytes + 1, length - 1, 2, &value);

    return result == SPELLING_READ ? read_as(ret_spelling, 3, (uint8_t)value) : result;
}

/* \uXXXX, and two of them for what UTF-16 has as a pair. */
static enum spelling_result
read_unicode(const uint8_t *bytes, size_t length, struct spelling *ret_spelling)
{
    uint32_t high, low;
    enum spelling_result result = read_hex(bytes + 2, length - 2, 4, &high);

    if (result != SPELLING_READ || high < 0xd800 || high >= 0xdc00) {
        return result == SPELLING_READ ? read_point(ret_spelling, 6, high) : result;
    }
    if (length < 8) {
        return memcmp(bytes + 6, "\\u", length - 6) == 0 ? SPELLING_CUT : SPELLING_NONE;
    }
    if (memcmp(bytes + 6, "\\u", 2) != 0) {
        return SPELLING_NONE;
    }
    result = read_hex(bytes + 8, length - 8, 4, &low);
    if (result != SPELLING_READ || low < 0xdc00 || low >= 0xe000) {
        return result == SPELLING_READ ? SPELLING_NONE : result;
    }
    return read_point(ret_spelling, 12, 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
}

static enum spelling_result
read_escape(const uint8_t *bytes, size_t length, struct spelling *ret_spelling)
{
    if (length < 2) {
        return SPELLING_CUT;
    }
    switch (bytes[1]) {
    case '"':
    case '\\':
    case '/':
        return read_as(ret_spelling, 2, bytes[1]);
    case 'n':
        return read_as(ret_spelling, 2, '\n');
    case 'r':
        return read_as(ret_spelling, 2, '\r');
    case 'u':
        return read_unicode(bytes, length, ret_spelling);
    default:
        return SPELLING_NONE;
    }
}

/* &#65; or &#x41; */
static enum spelling_result
read_number(const uint8_t *bytes, size_t length, struct spelling *ret_spelling)
{
    bool is_hex = length > 2 && (bytes[2] | 0x20) == 'x';
    size_t first = is_hex ? 3 : 2, at = first;
    uint32_t value = 0;

    while (at < length && at < first + DIGITS_MAX && hex_digit((char)bytes[at]) >= 0 &&
            (is_hex || hex_digit((char)bytes[at]) < 10)) {
        value = value * (is_hex ? 16 : 10) + (uint32_t)hex_digit((char)bytes[at]);
        at++;
    }
    if (at == length) {
        return SPELLING_CUT;
    }
    return at > first && bytes[at] == ';' ? read_point(ret_spelling, at + 1, value) : SPELLING_NONE;
}

static enum spelling_result
read_entity(const uint8_t *bytes, size_t length, struct spelling *ret_spelling)
{
    static const struct name {
        const char *text;
        uint8_t byte;
    } names[] = { { "&amp;", '&' }, { "&lt;", '<' }, { "&gt;", '>' }, { "&quot;", '"' },
        { "&apos;", '\'' } };

    if (length > 1 && bytes[1] == '#') {
        return read_number(bytes, length, ret_spelling);
    }
    for (size_t i = 0; i < N_ELEMENTS(names); i++) {
        size_t whole = strlen(names[i].text), n = whole < length ? whole : length;

        if (memcmp(bytes, names[i].text, n) == 0) {
            return n == whole ? read_as(ret_spelling, whole, names[i].byte) : SPELLING_CUT;
        }
    }
    return SPELLING_NONE;
}

enum spelling_result
spelling_read(const uint8_t *bytes, size_t length, struct spelling *ret_spelling)
{
    switch (bytes[0]) {
    case '%':
        return read_percent(bytes, length, ret_spelling);
    case '\\':
        return read_escape(bytes, length, ret_spelling);
    case '&':
        return read_entity(bytes, length, ret_spelling);
    case '+':
        return read_as(ret_spelling, 1, ' ');
    default:
        return SPELLING_NONE;
    }
}
