/* SPDX-License-Identifier: Apache-2.0
 * Owns the one form of arguments, which is shown, counted and granted.  Pure, any thread. */
#include "policy/action.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void
add_unseen(struct str *out, uint32_t point)
{
    if (point >= 0x10000) {
        point -= 0x10000;
        str_printf(out, "\\u%04x\\u%04x", 0xd800 + (point >> 10), 0xdc00 + (point & 0x3ff));
    } else {
        str_printf(out, "\\u%04x", point);
    }
}

/* How much of it stands in the form as it is, up to what is more than a byte. */
static size_t
plain_length(const char *text)
{
    size_t n = 0;

    while (text[n] >= ' ' && text[n] < 0x7f && text[n] != '"' && text[n] != '\\') {
        n++;
    }
    return n;
}

/* Any other character; returns its length. */
static size_t
add_special(struct str *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    const size_t length = utf8_sequence(at, UTF8_MAX);
    AUTO(freep) char *shown = NULL;

    if (length <= 1) { /* 0: there is no such text in JSON */
        if (*at == '"' || *at == '\\') {
            str_add(out, "\\");
            str_add_bytes(out, text, 1);
        } else {
            add_unseen(out, *at);
        }
        return 1;
    }
    shown = text_escape(text, length, false);
    if (shown == NULL) {
        out->failed = true;
    } else if (strncmp(shown, text, length) == 0) {
        str_add_bytes(out, text, length);
    } else {
        add_unseen(out, utf8_character(at, length));
    }
    return length;
}

void
action_add_text(struct str *out, const char *text)
{
    str_add(out, "\"");
    while (*text != '\0') {
        size_t length = plain_length(text);

        if (length > 0) {
            str_add_bytes(out, text, length);
        } else {
            length = add_special(out, text);
        }
        text += length;
    }
    str_add(out, "\"");
}

struct names {
    const char **list;
    size_t n;
};

static bool
take_name(void *data, const char *key, const struct json *value)
{
    struct names *names = data;

    names->list[names->n++] = key;
    return true;
}

static int
by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char **
sorted_names(const struct json *object, size_t *ret_n)
{
    struct names names = { calloc(json_count(object) + 1, sizeof *names.list), 0 };

    if (names.list != NULL) {
        json_each_member(object, take_name, &names);
        qsort(names.list, names.n, sizeof *names.list, by_name);
    }
    *ret_n = names.n;
    return names.list;
}

bool
action_is_exact(int64_t number)
{
    return number >= -ARGUMENT_NUMBER_MAX && number <= ARGUMENT_NUMBER_MAX;
}

bool
action_add_json(struct str *out, const struct json *value)
{
    AUTO(freep) const char **names = NULL;
    size_t n = json_count(value);
    bool ok = true;

    switch (json_kind_of(value)) {
    case JSON_KIND_NULL:
        str_add(out, "null");
        return true;
    case JSON_KIND_BOOL:
        str_add(out, json_truth(value) ? "true" : "false");
        return true;
    case JSON_KIND_INTEGER:
        str_printf(out, "%" PRId64, json_number(value));
        return action_is_exact(json_number(value));
    case JSON_KIND_REAL:
        return false;
    case JSON_KIND_TEXT:
        action_add_text(out, json_text(value));
        return true;
    case JSON_KIND_ARRAY:
        str_add(out, "[");
        for (size_t i = 0; i < n && ok; i++) {
            str_add(out, i == 0 ? "" : ",");
            ok = action_add_json(out, json_element(value, i));
        }
        str_add(out, "]");
        return ok;
    case JSON_KIND_OBJECT:
        break;
    }
    names = sorted_names(value, &n);
    out->failed = out->failed || names == NULL;
    str_add(out, "{");
    for (size_t i = 0; names != NULL && i < n && ok; i++) {
        str_add(out, i == 0 ? "" : ",");
        action_add_text(out, names[i]);
        str_add(out, ":");
        ok = action_add_json(out, json_member(value, names[i]));
    }
    str_add(out, "}");
    return ok;
}
