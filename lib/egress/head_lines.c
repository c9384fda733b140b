/* SPDX-License-Identifier: Apache-2.0
 * Cuts heads into lines.  Pure. */
#include "egress/head_lines.h"

#include <string.h>

static size_t
line_end(const char *text, size_t length, size_t at)
{
    const char *end = memchr(text + at, '\n', length - at);

    return end == NULL ? length : (size_t)(end - text);
}

bool
head_next(const char *text, size_t length, size_t *at, struct head_line *ret_line)
{
    size_t end = line_end(text, length, *at);
    struct head_line line = { .at = *at, .length = end - *at };
    const char *colon;

    if (*at >= length) {
        return false;
    }
    *at = end + 1;
    while (line.length > 0 && text[line.at + line.length - 1] == '\r') {
        line.length--;
    }
    if (line.at > 0) {
        colon = memchr(text + line.at, ':', line.length);
        line.name_length = colon == NULL ? line.length : (size_t)(colon - text) - line.at;
        line.value_at = line.at + line.name_length + (colon != NULL);
        line.value_length = line.at + line.length - line.value_at;
        while (line.value_length > 0 && strchr(" \t", text[line.value_at]) != NULL) {
            line.value_at++;
            line.value_length--;
        }
        while (line.value_length > 0 &&
                strchr(" \t", text[line.value_at + line.value_length - 1]) != NULL) {
            line.value_length--;
        }
    }
    *ret_line = line;
    return true;
}

bool
head_names(const char *text, const struct head_line *line, const char *name)
{
    return name != NULL && line->name_length == strlen(name) &&
           strncasecmp(text + line->at, name, line->name_length) == 0;
}

bool
head_find(const char *text, size_t length, const char *name, struct head_line *ret_line)
{
    size_t at = 0;

    while (head_next(text, length, &at, ret_line)) {
        if (head_names(text, ret_line, name)) {
            return true;
        }
    }
    return false;
}
