/* SPDX-License-Identifier: Apache-2.0
 * Owns the spellings of a character.  Two levels: what is encoded three times is not seen through.
 */
#include "egress/spelling.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>

#define DIGITS_MAX 16u /* of a number, zeros before it included */
#define POINT_MAX 0x10ffffu

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

    if (point > POINT_MAX || (point >= 0xd800 && point < 0xe000)) {
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

static bool
is_digit(uint8_t byte, bool is_hex)
{
    const int digit = hex_digit((char)byte);

    return digit >= 0 && (is_hex || digit < 10);
}

/* Digits from bytes[at] on, up to DIGITS_MAX; returns where they end. */
static size_t
read_digits(const uint8_t *bytes, size_t length, size_t at, bool is_hex, uint32_t *ret_value)
{
    const size_t first = at;

    *ret_value = 0;
    while (at < length && at < first + DIGITS_MAX && is_digit(bytes[at], is_hex)) {
        *ret_value = *ret_value * (is_hex ? 16 : 10) + (uint32_t)hex_digit((char)bytes[at]);
        *ret_value = *ret_value > POINT_MAX ? POINT_MAX + 1 : *ret_value;
        at++;
    }
    return at;
}

/* \u{41} */
static enum spelling_result
read_braces(const uint8_t *bytes, size_t length, struct spelling *ret_spelling)
{
    uint32_t value;
    const size_t end = read_digits(bytes, length, 3, true, &value);

    if (end == length) {
        return SPELLING_CUT;
    }
    return end == 3 || bytes[end] != '}' ? SPELLING_NONE : read_point(ret_spelling, end + 1, value);
}

static enum spelling_result
read_escape(const uint8_t *bytes, size_t length, struct spelling *ret_spelling)
{
    static const char letters[] = "bfnrtv", controls[] = "\b\f\n\r\t\v";
    enum spelling_result result;
    const char *letter;
    uint32_t value;

    if (length < 2) {
        return SPELLING_CUT;
    }
    if (bytes[1] == 'u') {
        return length > 2 && bytes[2] == '{' ? read_braces(bytes, length, ret_spelling)
                                             : read_unicode(bytes, length, ret_spelling);
    }
    if (bytes[1] == 'x') {
        result = read_hex(bytes + 2, length - 2, 2, &value);
        return result == SPELLING_READ ? read_point(ret_spelling, 4, value) : result;
    }
    if (bytes[1] < ' ' || bytes[1] > '~' || is_digit(bytes[1], false)) {
        return SPELLING_NONE;
    }
    letter = strchr(letters, bytes[1]);
    return read_as(
            ret_spelling, 2, letter == NULL ? bytes[1] : (uint8_t)controls[letter - letters]);
}

/* &#65; or &#x41;, and without the semicolon before what is no digit. */
static enum spelling_result
read_number(const uint8_t *bytes, size_t length, struct spelling *ret_spelling)
{
    bool is_hex = length > 2 && (bytes[2] | 0x20) == 'x';
    size_t first = is_hex ? 3 : 2;
    enum spelling_result result;
    uint32_t value;
    size_t at = read_digits(bytes, length, first, is_hex, &value);

    if (at == first) {
        return at == length ? SPELLING_CUT : SPELLING_NONE;
    }
    if (at == length) {
        result = read_point(ret_spelling, at, value);
        return result == SPELLING_READ ? SPELLING_OPEN : SPELLING_CUT;
    }
    if (is_digit(bytes[at], is_hex)) {
        return SPELLING_NONE; /* too many */
    }
    return read_point(ret_spelling, at + (bytes[at] == ';'), value);
}

/* The references of HTML to ASCII characters. */
static const struct name {
    const char *text;
    uint8_t byte;
    bool may_be_open; /* without its semicolon, too */
} names[] = {
    { "amp", '&', true },
    { "AMP", '&', true },
    { "lt", '<', true },
    { "LT", '<', true },
    { "gt", '>', true },
    { "GT", '>', true },
    { "quot", '"', true },
    { "QUOT", '"', true },
    { "apos", '\'', false },
    { "Tab", '\t', false },
    { "NewLine", '\n', false },
    { "excl", '!', false },
    { "num", '#', false },
    { "dollar", '$', false },
    { "percnt", '%', false },
    { "lpar", '(', false },
    { "rpar", ')', false },
    { "ast", '*', false },
    { "midast", '*', false },
    { "plus", '+', false },
    { "comma", ',', false },
    { "period", '.', false },
    { "sol", '/', false },
    { "colon", ':', false },
    { "semi", ';', false },
    { "equals", '=', false },
    { "quest", '?', false },
    { "commat", '@', false },
    { "lsqb", '[', false },
    { "lbrack", '[', false },
    { "bsol", '\\', false },
    { "rsqb", ']', false },
    { "rbrack", ']', false },
    { "Hat", '^', false },
    { "lowbar", '_', false },
    { "UnderBar", '_', false },
    { "grave", '`', false },
    { "DiacriticalGrave", '`', false },
    { "lcub", '{', false },
    { "lbrace", '{', false },
    { "verbar", '|', false },
    { "vert", '|', false },
    { "VerticalLine", '|', false },
    { "rcub", '}', false },
    { "rbrace", '}', false },
};

/* What stands at bytes[0] as this name. */
static enum spelling_result
read_name(
        const struct name *name, const uint8_t *bytes, size_t length, struct spelling *ret_spelling)
{
    const size_t n = strlen(name->text), whole = n + 1;

    if (memcmp(bytes + 1, name->text, n < length - 1 ? n : length - 1) != 0) {
        return SPELLING_NONE;
    }
    if (length <= whole) {
        read_as(ret_spelling, whole, name->byte);
        return length == whole && name->may_be_open ? SPELLING_OPEN : SPELLING_CUT;
    }
    if (bytes[whole] == ';') {
        return read_as(ret_spelling, whole + 1, name->byte);
    }
    return name->may_be_open ? read_as(ret_spelling, whole, name->byte) : SPELLING_NONE;
}

static enum spelling_result
read_entity(const uint8_t *bytes, size_t length, struct spelling *ret_spelling)
{
    enum spelling_result result = length == 1 ? SPELLING_CUT : SPELLING_NONE;

    if (length > 1 && bytes[1] == '#') {
        return read_number(bytes, length, ret_spelling);
    }
    for (size_t i = 0; i < N_ELEMENTS(names) && result == SPELLING_NONE; i++) {
        result = read_name(&names[i], bytes, length, ret_spelling);
    }
    return result;
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

/* ---- one within another ---- */

#define VIEW_MAX (SPELLING_MAX + 1) /* the byte behind a spelling may end it */

/* What bytes spell, each byte of it with where its spelling ends. */
struct plain {
    uint8_t bytes[VIEW_MAX + 4];
    size_t ends[VIEW_MAX + 4];
    size_t n;
    size_t n_sure; /* the first that more bytes cannot change */
};

/* Adds what stands at bytes[at]; returns where the next one begins, or `at`: it is cut. */
static size_t
add_plain(struct plain *plain, const uint8_t *bytes, size_t length, size_t at)
{
    struct spelling spelling = { .length = 1, .bytes = { bytes[at] }, .n = 1 };
    const enum spelling_result result = spelling_read(bytes + at, length - at, &spelling);

    if (result == SPELLING_CUT) {
        return at;
    }
    for (size_t i = 0; i < spelling.n; i++) {
        plain->bytes[plain->n] = spelling.bytes[i];
        plain->ends[plain->n++] = at + spelling.length;
    }
    plain->n_sure = result == SPELLING_OPEN ? plain->n_sure : plain->n;
    return at + spelling.length;
}

static void
read_plain(struct plain *plain, const uint8_t *bytes, size_t length)
{
    size_t at = 0;

    while (at < length) {
        const size_t next = add_plain(plain, bytes, length, at);

        if (next == at || !spelling_begins(plain->bytes[0])) {
            break;
        }
        at = next;
    }
}

enum spelling_result
spelling_read_twice(const uint8_t *bytes, size_t length, struct spelling *ret_spelling)
{
    struct plain plain = { .n = 0 };
    struct spelling spelling;
    enum spelling_result result;

    read_plain(&plain, bytes, length < VIEW_MAX ? length : VIEW_MAX);
    result = plain.n == 0 ? SPELLING_CUT : spelling_read(plain.bytes, plain.n, &spelling);
    if (result == SPELLING_CUT || (result == SPELLING_NONE && plain.n_sure < plain.n)) {
        return length < VIEW_MAX ? SPELLING_CUT : SPELLING_NONE;
    }
    if (result == SPELLING_NONE || plain.ends[spelling.length - 1] > SPELLING_MAX) {
        return SPELLING_NONE;
    }
    result = spelling.length > plain.n_sure ? SPELLING_OPEN : result;
    spelling.length = plain.ends[spelling.length - 1];
    *ret_spelling = spelling;
    return result;
}
