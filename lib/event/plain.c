/* SPDX-License-Identifier: Apache-2.0
 * Owns what may be shown to a person as it is.  A list of what is good, since the list of what
 * deceives has no end: every character that is not in it is written as its number. */
#include "event/plain.h"

#include "base/mem.h"

#include <string.h>
#include <strings.h>

enum script {
    SCRIPT_NONE, /* shown in no word */
    SCRIPT_ASCII, /* digits and signs: in any word, or between two */
    SCRIPT_LATIN,
    SCRIPT_ACCENTED, /* Latin too */
    SCRIPT_CYRILLIC,
    SCRIPT_GREEK,
    SCRIPT_EASTERN, /* Chinese characters and kana, which stand in one word */
    SCRIPT_KOREAN
};

/* Letters that nearly every font has, without marks that join what is before them. */
static const struct {
    uint32_t first, last;
    enum script script;
} ranges[] = {
    { 0xc0, 0xd6, SCRIPT_ACCENTED },
    { 0xd8, 0xf6, SCRIPT_ACCENTED },
    { 0xf8, 0x130, SCRIPT_ACCENTED },
    { 0x132, 0x137, SCRIPT_ACCENTED },
    { 0x139, 0x148, SCRIPT_ACCENTED },
    { 0x14a, 0x17e, SCRIPT_ACCENTED },
    { 0x391, 0x3a1, SCRIPT_GREEK },
    { 0x3a3, 0x3a9, SCRIPT_GREEK },
    { 0x3ac, 0x3ce, SCRIPT_GREEK },
    { 0x401, 0x44f, SCRIPT_CYRILLIC },
    { 0x451, 0x45f, SCRIPT_CYRILLIC },
    { 0x3041, 0x3096, SCRIPT_EASTERN },
    { 0x30a1, 0x30fa, SCRIPT_EASTERN },
    { 0x30fc, 0x30fc, SCRIPT_EASTERN },
    { 0x4e00, 0x9fef, SCRIPT_EASTERN },
    { 0xac00, 0xd7a3, SCRIPT_KOREAN },
};

/* Letters of the ranges above that look like Latin ones, or like signs: a word of nothing else is
 * no word of its script that a person could tell from another. */
static const uint32_t alike[] = {
    0x391,
    0x392,
    0x395,
    0x396,
    0x397,
    0x399,
    0x39a,
    0x39c,
    0x39d,
    0x39f,
    0x3a1,
    0x3a4,
    0x3a5,
    0x3a7,
    0x3b1,
    0x3b3,
    0x3b9,
    0x3ba,
    0x3bd,
    0x3bf,
    0x3c1,
    0x3c3,
    0x3c4,
    0x3c5,
    0x3c7,
    0x3c9,
    0x401,
    0x405,
    0x406,
    0x407,
    0x408,
    0x410,
    0x412,
    0x413,
    0x415,
    0x417,
    0x41a,
    0x41c,
    0x41d,
    0x41e,
    0x420,
    0x421,
    0x422,
    0x423,
    0x425,
    0x42c,
    0x430,
    0x432,
    0x433,
    0x435,
    0x437,
    0x43a,
    0x43c,
    0x43d,
    0x43e,
    0x43f,
    0x440,
    0x441,
    0x442,
    0x443,
    0x445,
    0x44c,
    0x451,
    0x455,
    0x456,
    0x457,
    0x458,
    0x45b,
    0x30a8,
    0x30ad,
    0x30bd,
    0x30bf,
    0x30cb,
    0x30ce,
    0x30cf,
    0x30d8,
    0x30ed,
    0x30fc,
    0x3044,
    0x3053,
    0x3064,
    0x3078,
    0x4e00,
    0x4e28,
    0x4e36,
    0x4e3f,
    0x4e59,
    0x4e5a,
    0x4e86,
    0x4e8c,
    0x4ebb,
    0x4eba,
    0x5165,
    0x516b,
    0x5341,
    0x535c,
    0x53e3,
    0x56d7,
    0x5de5,
    0x5344,
    0x529b,
    0x4e01,
    0x5915,
    0x65e5,
};

static enum script
script_of(uint32_t c)
{
    if (c < 0x80) {
        const bool is_letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';

        return is_letter ? SCRIPT_LATIN : c >= 0x20 && c != 0x7f ? SCRIPT_ASCII : SCRIPT_NONE;
    }
    for (size_t i = 0; i < N_ELEMENTS(ranges); i++) {
        if (c >= ranges[i].first && c <= ranges[i].last) {
            return ranges[i].script;
        }
    }
    return SCRIPT_NONE;
}

static bool
is_alike(uint32_t c)
{
    for (size_t i = 0; i < N_ELEMENTS(alike); i++) {
        if (alike[i] == c) {
            return true;
        }
    }
    return false;
}

/* Signs that people see as the end of a word: not digits, which may stand for letters. */
static bool
ends_word(unsigned char c)
{
    return c < 0x80 && strchr(" /.,:;_-=+?&@#%()[]{}<>\"'!|\\", c) != NULL;
}

static size_t
character(const unsigned char *at, size_t left)
{
    const size_t length = utf8_sequence(at, left);

    return length == 0 ? 1 : length;
}

/* What a word is made of. */
struct word {
    size_t length; /* bytes */
    bool has_script[SCRIPT_KOREAN + 1];
    bool is_distinct; /* some letter of it that is not Latin looks like none that is */
    bool has_ascii; /* letters or digits */
};

static struct word
look(const unsigned char *at, size_t left)
{
    struct word word = { 0 };

    while (word.length < left && !ends_word(at[word.length])) {
        const size_t n = utf8_sequence(at + word.length, left - word.length);
        const uint32_t c = n == 0 ? 0 : utf8_character(at + word.length, n);
        const enum script script = script_of(c);

        word.has_script[script] = true;
        word.has_ascii |= c < 0x80;
        word.is_distinct |= c >= 0x80 && !is_alike(c);
        word.length += n == 0 ? 1 : n;
    }
    return word;
}

/* Whether the letters of the word that are not ASCII are shown. */
static bool
is_plain_word(const struct word *word)
{
    static const enum script scripts[] = { SCRIPT_ACCENTED, SCRIPT_CYRILLIC, SCRIPT_GREEK,
        SCRIPT_EASTERN, SCRIPT_KOREAN };
    size_t n = 0;

    for (size_t i = 0; i < N_ELEMENTS(scripts); i++) {
        n += word->has_script[scripts[i]];
    }
    if (n != 1 || word->has_script[SCRIPT_NONE] || !word->is_distinct) {
        return false;
    }
    return word->has_script[SCRIPT_ACCENTED] || !word->has_ascii;
}

static void
add_number(struct str *out, const unsigned char *at, size_t length)
{
    if (utf8_sequence(at, length) == 0) {
        str_printf(out, "\\x%02X", at[0]);
    } else {
        str_printf(out, "\\u{%X}", utf8_character(at, length));
    }
}

/* What str_add_plain() says of what it left out; text that says it too is not left as it is. */
#define LEFT_OUT " CHARACTERS LEFT OUT"

static bool
claims_omission(const unsigned char *at, size_t length)
{
    size_t i = 1;

    while (i < length && at[i] >= '0' && at[i] <= '9') {
        i++;
    }
    return at[0] == '[' && i > 1 && length - i >= strlen(LEFT_OUT) &&
           strncasecmp((const char *)at + i, LEFT_OUT, strlen(LEFT_OUT)) == 0;
}

/* What ends a word. */
static void
add_sign(struct str *out, const unsigned char *text, size_t i, size_t length, bool is_quoted)
{
    const char sign = (char)text[i];

    if (sign == ' ' && (i == 0 || i + 1 == length || text[i - 1] == ' ')) {
        str_add(out, "\\x20"); /* else it is not seen */
    } else if (claims_omission(text + i, length - i)) {
        add_number(out, text + i, 1);
    } else {
        str_add(out, sign == '\\' || (sign == '"' && is_quoted) ? "\\" : "");
        str_add_bytes(out, &sign, 1);
    }
}

/* One line, whatever its length. */
static void
add_all(struct str *out, const unsigned char *at, size_t length, bool is_quoted)
{
    for (size_t i = 0; i < length;) {
        struct word word = look(at + i, length - i);
        const bool is_plain = is_plain_word(&word);

        for (size_t end = i + word.length; i < end;) {
            const size_t n = character(at + i, end - i);

            if (is_plain || (at[i] >= 0x20 && at[i] < 0x7f)) {
                str_add_bytes(out, (const char *)at + i, n);
            } else {
                add_number(out, at + i, n);
            }
            i += n;
        }
        if (i < length) {
            add_sign(out, at, i++, length, is_quoted);
        }
    }
}

static size_t
skip(const unsigned char *at, size_t length, size_t characters)
{
    size_t i = 0;

    for (; characters > 0 && i < length; characters--) {
        i += character(at + i, length - i);
    }
    return i;
}

static void
add_plain(struct str *out, const char *text, bool is_quoted)
{
    const unsigned char *at = (const unsigned char *)text;
    const size_t length = strlen(text);
    size_t characters = 0, head, tail;

    for (size_t i = 0; i < length; i += character(at + i, length - i)) {
        characters++;
    }
    if (characters <= PLAIN_HEAD + PLAIN_TAIL) {
        add_all(out, at, length, is_quoted);
        return;
    }
    head = skip(at, length, PLAIN_HEAD);
    tail = skip(at, length, characters - PLAIN_TAIL);
    add_all(out, at, head, is_quoted);
    str_printf(out, " [%zu" LEFT_OUT "] ", characters - PLAIN_HEAD - PLAIN_TAIL);
    add_all(out, at + tail, length - tail, is_quoted);
}

void
str_add_plain(struct str *out, const char *text)
{
    add_plain(out, text, false);
}

void
str_add_plain_quoted(struct str *out, const char *text)
{
    str_add(out, "\"");
    add_plain(out, text, true);
    str_add(out, "\"");
}
