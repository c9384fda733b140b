/* SPDX-License-Identifier: Apache-2.0
 * Pieces of text that was read, and the words in it.  Owns nothing. */
#include "egress/span.h"

#include <string.h>

static char
lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

bool
is_letter_or_digit(char c)
{
    return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9');
}

bool
span_is(struct span span, const char *text)
{
    for (size_t i = 0; i < span.length; i++) {
        if (text[i] == '\0' || lower(span.at[i]) != lower(text[i])) {
            return false;
        }
    }
    return text[span.length] == '\0';
}

bool
span_is_same(struct span a, struct span b)
{
    return a.length == b.length && strncasecmp(a.at, b.at, a.length) == 0;
}

bool
span_is_one_of(struct span name, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (span_is(name, *names)) {
            return true;
        }
    }
    return false;
}

bool
span_is_token(struct span span)
{
    static const char others[] = "!#$%&'*+-.^_`|~";

    for (size_t i = 0; i < span.length; i++) {
        char c = span.at[i];

        if (!is_letter_or_digit(c) && memchr(others, c, sizeof others - 1) == NULL) {
            return false;
        }
    }
    return span.length > 0;
}

struct span
span_trim(struct span span)
{
    while (span.length > 0 && (span.at[0] == ' ' || span.at[0] == '\t')) {
        span.at++;
        span.length--;
    }
    while (span.length > 0 &&
            (span.at[span.length - 1] == ' ' || span.at[span.length - 1] == '\t')) {
        span.length--;
    }
    return span;
}

bool
span_next(struct span *list, struct span *ret_element)
{
    const char *comma = memchr(list->at, ',', list->length);
    size_t length = comma != NULL ? (size_t)(comma - list->at) : list->length;

    if (list->length == 0) {
        return false;
    }
    *ret_element = span_trim((struct span){ list->at, length });
    length += comma != NULL;
    list->at += length;
    list->length -= length;
    return true;
}

struct span
span_until_space(struct span *text)
{
    const char *space = memchr(text->at, ' ', text->length);
    struct span word = { text->at, space != NULL ? (size_t)(space - text->at) : text->length };

    text->at += word.length + (space != NULL);
    text->length -= word.length + (space != NULL);
    return word;
}
