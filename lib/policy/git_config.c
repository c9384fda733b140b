/* SPDX-License-Identifier: Apache-2.0
 * The syntax of git configuration: git-config(1), "Syntax", and config.c of git 2.39, which decides
 * where the two differ.  It does not follow includes.  Pure. */
#include "policy/git_config.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SETTINGS_MAX 10000u

struct reader {
    const char *text;
    size_t length, at;
    char *section, *subsection; /* the present one; NULL before the first */
    struct vec *settings;
};

/* The next byte; a line end in place of "\r\n" and of the end, as git has it.  -1: nothing is left.
 */
static int
take(struct reader *reader)
{
    unsigned char c;

    if (reader->at >= reader->length) {
        return -1;
    }
    c = (unsigned char)reader->text[reader->at++];
    if (c == '\r' && reader->at < reader->length && reader->text[reader->at] == '\n') {
        reader->at++;
        return '\n';
    }
    return c;
}

static bool
is_letter(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool
is_name(int c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-';
}

static char
lower(int c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static void
skip_line(struct reader *reader)
{
    int c;

    while ((c = take(reader)) != '\n' && c != -1) {
    }
}

static void
add(struct str *str, int c)
{
    char byte = (char)c;

    str_add_bytes(str, &byte, 1);
}

/* After the quote that opens a subsection, up to the one that ends it. */
static bool
read_quoted_subsection(struct reader *reader, struct str *out)
{
    int c;

    while ((c = take(reader)) != '"') {
        if (c == '\\') {
            c = take(reader);
        }
        if (c == -1 || c == '\n') {
            return false;
        }
        add(out, c);
    }
    return true;
}

/* After '[': `section]`, `section.sub]` or `section "sub"]`. */
static bool
read_section(struct reader *reader)
{
    struct str section = { 0 }, subsection = { 0 };
    bool has_subsection = false;
    int c;

    for (;;) {
        c = take(reader);
        if (c == '.' && !has_subsection) {
            has_subsection = true;
        } else if (is_name(c) || c == '.') {
            /* The old form: no case is kept. */
            add(has_subsection ? &subsection : &section, lower(c));
        } else {
            break;
        }
    }
    if (c == ' ' || c == '\t') {
        while (c == ' ' || c == '\t') {
            c = take(reader);
        }
        /* `[a.b "c"]` is the subsection "b.c" of a. */
        if (has_subsection) {
            add(&subsection, '.');
        }
        has_subsection = true;
        c = c == '"' && read_quoted_subsection(reader, &subsection) ? take(reader) : -1;
    }
    free(reader->section);
    free(reader->subsection);
    reader->section = str_steal(&section, NULL);
    reader->subsection = str_steal(&subsection, NULL);
    if (!has_subsection) {
        free(steal_ptr(&reader->subsection));
    }
    return c == ']' && reader->section != NULL && reader->section[0] != '\0' &&
           (!has_subsection || reader->subsection != NULL);
}

/* One escape of a value; false for one that git does not know. */
static bool
read_escape(struct reader *reader, struct str *out)
{
    int c = take(reader);

    switch (c) {
    case '\n':
        return true;
    case 't':
        add(out, '\t');
        return true;
    case 'b':
        add(out, '\b');
        return true;
    case 'n':
        add(out, '\n');
        return true;
    case '\\':
    case '"':
        add(out, c);
        return true;
    default:
        return false;
    }
}

/* After '=': to the end of the line, over quotes, escapes and comments. */
static bool
read_value(struct reader *reader, struct str *out)
{
    bool quoted = false;
    size_t trailing = 0; /* unquoted white space that counts only if something follows */

    for (;;) {
        int c = take(reader);

        if (c == '\n' || c == -1) {
            if (quoted) {
                return false;
            }
            break;
        }
        if ((c == ';' || c == '#') && !quoted) {
            skip_line(reader);
            break;
        }
        if ((c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f') && !quoted) {
            if (out->length > 0) {
                add(out, c);
                trailing++;
            }
            continue;
        }
        if (c == '"') {
            quoted = !quoted;
            trailing = 0;
        } else if (c == '\\') {
            if (!read_escape(reader, out)) {
                return false;
            }
            trailing = 0;
        } else {
            add(out, c);
            trailing = 0;
        }
    }
    if (trailing > 0 && !out->failed) {
        out->length -= trailing;
        out->data[out->length] = '\0';
    }
    return true;
}

static bool
add_setting(struct reader *reader, char *key, char *value)
{
    struct git_setting setting = { .section = strdup(reader->section),
        .subsection = reader->subsection == NULL ? NULL : strdup(reader->subsection),
        .key = key,
        .value = value };
    struct git_setting *slot =
            setting.section == NULL || (reader->subsection != NULL && setting.subsection == NULL) ||
                            reader->settings->count >= SETTINGS_MAX
                    ? NULL
                    : vec_add(reader->settings);

    if (slot == NULL) {
        free(setting.section);
        free(setting.subsection);
        return false;
    }
    *slot = setting;
    return true;
}

/* A key, whose first letter is `first`, and what stands behind it. */
static bool
read_setting(struct reader *reader, int first)
{
    AUTO(str_done) struct str name = { 0 };
    AUTO(str_done) struct str text = { 0 };
    AUTO(freep) char *key = NULL;
    AUTO(freep) char *value = NULL;
    int c = first;

    if (reader->section == NULL || !is_letter(first)) {
        return false;
    }
    for (; is_name(c); c = take(reader)) {
        add(&name, lower(c));
    }
    while (c == ' ' || c == '\t') {
        c = take(reader);
    }
    if (c == '=') {
        if (!read_value(reader, &text)) {
            return false;
        }
        value = str_steal(&text, NULL);
        if (value == NULL) {
            return false;
        }
    } else if (c != '\n' && c != -1) {
        return false;
    }
    key = str_steal(&name, NULL);
    if (key == NULL || !add_setting(reader, key, value)) {
        return false;
    }
    steal_ptr(&key);
    steal_ptr(&value);
    return true;
}

bool
git_config_read(const char *text, size_t length, struct vec *ret_settings)
{
    struct vec settings = VEC(struct git_setting);
    struct reader reader = { .text = text, .length = length, .settings = &settings };
    bool ok = length == 0 || memchr(text, '\0', length) == NULL;
    int c;

    while (ok && (c = take(&reader)) != -1) {
        if (c == ' ' || (c >= '\t' && c <= '\r')) {
            continue;
        }
        if (c == '#' || c == ';') {
            skip_line(&reader);
        } else if (c == '[') {
            ok = read_section(&reader);
        } else {
            ok = read_setting(&reader, c);
        }
    }
    free(reader.section);
    free(reader.subsection);
    if (!ok) {
        git_config_done(&settings);
        return false;
    }
    *ret_settings = settings;
    return true;
}

void
git_config_done(struct vec *settings)
{
    for (size_t i = 0; i < settings->count; i++) {
        struct git_setting *setting = vec_at(settings, struct git_setting, i);

        free(setting->section);
        free(setting->subsection);
        free(setting->key);
        free(setting->value);
    }
    vec_done(settings);
}
