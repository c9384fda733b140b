/* SPDX-License-Identifier: Apache-2.0
 * From a path as people spell it (`~`, `${name}`, relative, `\xHH`) to the one spelling that rules
 * keep, and back.  The value of a variable is always taken as it is, never as a pattern.  Pure. */
#include "policy/builder.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

/* What the box fixes, for every policy. */
static const struct {
    const char *name, *value;
} fixed[] = {
    { "tmp", "/tmp" },
    { "inputs", "/task/in" },
};

const char *
variable_get(const struct vec *variables, const char *name)
{
    for (size_t i = 0; i < N_ELEMENTS(fixed); i++) {
        if (strcmp(fixed[i].name, name) == 0) {
            return fixed[i].value;
        }
    }
    for (size_t i = 0; i < variables->count; i++) {
        const struct variable *variable = vec_at(variables, struct variable, i);

        if (strcmp(variable->name, name) == 0) {
            return variable->value;
        }
    }
    return NULL;
}

static abx_status
fail_unset(const struct vec *variables, const char *name, struct fail *fail)
{
    AUTO(freep) const char **known = calloc(variables->count + N_ELEMENTS(fixed), sizeof *known);
    const char *nearest = NULL;

    if (known != NULL) {
        for (size_t i = 0; i < variables->count; i++) {
            known[i] = vec_at(variables, struct variable, i)->name;
        }
        for (size_t i = 0; i < N_ELEMENTS(fixed); i++) {
            known[variables->count + i] = fixed[i].name;
        }
        nearest = nearest_of(name, known, variables->count + N_ELEMENTS(fixed));
    }
    if (nearest != NULL) {
        fail_set(fail, ABX_ERR_POLICY, 0, "", "the variable '%s' is not set; '%s' is", name,
                nearest);
    } else {
        fail_set(fail, ABX_ERR_POLICY, 0, "", "the variable '%s' is not set", name);
    }
    fail_remedy(fail, "set '%s' before the rules that use it (agentbox: --var %s=%s)", name, name,
            strcmp(name, "home") == 0 || strcmp(name, "output") == 0 ? "DIR" : "VALUE");
    return ABX_ERR_POLICY;
}

static bool
is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool
is_special(char c)
{
    return c == '*' || c == '?' || c == '[' || c == '\\';
}

/* One byte that means itself, also inside a class. */
static void
add_quoted(struct str *out, char c)
{
    if (c != '\0' && strchr("*?[]\\-!^", c) != NULL) {
        str_add(out, "\\");
    }
    str_add_bytes(out, &c, 1);
}

/* What a backslash at `p` stands for; returns the characters used, or 0 with `fail` set. */
static size_t
read_escape(const char *p, char *ret_byte, struct fail *fail)
{
    if (p[1] == '\0') {
        fail_set(fail, ABX_ERR_POLICY, 0, "", "nothing follows the last backslash");
        fail_remedy(fail, "write two backslashes for one");
        return 0;
    }
    if (p[1] != 'x') {
        *ret_byte = p[1];
        return 2;
    }
    if (hex_byte(p + 2) < 0) {
        fail_set(fail, ABX_ERR_POLICY, 0, "", "'\\x' wants two hexadecimal digits");
        return 0;
    }
    *ret_byte = (char)hex_byte(p + 2);
    if (*ret_byte == '\0' || *ret_byte == '/') {
        fail_set(fail, ABX_ERR_POLICY, 0, "", "'\\x%c%c' cannot be part of a name", p[2], p[3]);
        return 0;
    }
    return 4;
}

abx_status
variable_unescape(const char *text, char **ret_text, struct fail *fail)
{
    struct str out = { 0 };

    for (const char *p = text; *p != '\0';) {
        size_t used = 1;
        char byte = *p;

        if (*p == '\\') {
            used = read_escape(p, &byte, fail);
        }
        if (used == 0) {
            str_done(&out);
            return fail->status;
        }
        str_add_bytes(&out, &byte, 1);
        p += used;
    }
    *ret_text = str_steal(&out, NULL);
    return *ret_text == NULL ? fail_nomem(fail) : ABX_OK;
}

/* `${name}` at `p`: adds its value; returns the characters used, or 0 with `fail` set. */
static size_t
read_variable(const struct vec *variables, const char *p, struct str *out, struct fail *fail)
{
    size_t length = 0;
    AUTO(freep) char *name = NULL;
    const char *value;

    if (p[1] != '{') {
        while (is_name_character(p[1 + length])) {
            length++;
        }
        if (length == 0) {
            add_quoted(out, '$');
            return 1;
        }
        fail_set(fail, ABX_ERR_POLICY, 0, "", "'$%.*s' is no variable", (int)length, p + 1);
        if (length == 4 && memcmp(p + 1, "HOME", length) == 0) {
            fail_remedy(fail, "write '${home}' or '~', or a backslash before the dollar");
        } else {
            fail_remedy(
                    fail, "write '${%.*s}', or a backslash before the dollar", (int)length, p + 1);
        }
        return 0;
    }
    while (is_name_character(p[2 + length])) {
        length++;
    }
    if (length == 0 || p[2 + length] != '}') {
        fail_set(fail, ABX_ERR_POLICY, 0, "", "a variable is written '${name}'");
        return 0;
    }
    name = strndup(p + 2, length);
    if (name == NULL) {
        fail_nomem(fail);
        return 0;
    }
    value = variable_get(variables, name);
    if (value == NULL) {
        fail_unset(variables, name, fail);
        return 0;
    }
    while (*value != '\0') {
        add_quoted(out, *value++);
    }
    return length + 3;
}

/* Puts in what `~` stands for at the start; returns the characters used, or SIZE_MAX. */
static size_t
read_tilde(const struct vec *variables, const char *text, struct str *out, struct fail *fail)
{
    if (text[0] != '~') {
        return 0;
    }
    if (text[1] != '/' && text[1] != '\0') {
        fail_set(fail, ABX_ERR_POLICY, 0, "", "'~' stands for the home directory only as '~/...'");
        fail_remedy(fail, "write the absolute path, or a backslash before the tilde");
        return SIZE_MAX;
    }
    return read_variable(variables, "${home}", out, fail) == 0 ? SIZE_MAX : 1;
}

/* To a pattern in which only what could be special is escaped. */
static abx_status
expand(const struct vec *variables, const char *text, bool literal, struct str *out,
        bool *ret_is_literal, struct fail *fail)
{
    size_t used = read_tilde(variables, text, out, fail);
    bool is_literal = true;

    if (used == SIZE_MAX) {
        return fail->status;
    }
    for (const char *p = text + used; *p != '\0'; p += used) {
        char byte = *p;

        used = 1;
        if (*p == '$') {
            used = read_variable(variables, p, out, fail);
        } else if (*p == '\\') {
            used = read_escape(p, &byte, fail);
            add_quoted(out, byte);
        } else if (is_special(*p) && literal) {
            add_quoted(out, *p);
        } else {
            is_literal = is_literal && !is_special(*p);
            str_add_bytes(out, p, 1);
        }
        if (used == 0) {
            return fail->status;
        }
    }
    *ret_is_literal = is_literal;
    return ABX_OK;
}

/* A relative path is below the workspace; a pattern that begins with `**` is already everywhere. */
static abx_status
make_absolute(const struct vec *variables, struct str *path, struct fail *fail)
{
    struct str absolute = { 0 };

    if (path->failed) {
        return fail_nomem(fail);
    }
    if (path->length == 0) {
        return fail_set(fail, ABX_ERR_POLICY, 0, "", "the path is empty");
    }
    if (path->data[0] == '/') {
        return ABX_OK;
    }
    if (strncmp(path->data, "**", 2) != 0 &&
            read_variable(variables, "${workspace}", &absolute, fail) == 0) {
        str_done(&absolute);
        return fail->status;
    }
    str_add(&absolute, "/");
    str_add(&absolute, path->data);
    str_done(path);
    *path = absolute;
    return ABX_OK;
}

/* A backslash always has a byte behind it here. */
static void
drop_escapes(char *text)
{
    char *to = text;

    for (const char *p = text; *p != '\0'; p++) {
        p += *p == '\\';
        *to++ = *p;
    }
    *to = '\0';
}

abx_status
variable_path(const struct vec *variables, const char *text, bool literal, char **ret_path,
        bool *ret_is_literal, struct fail *fail)
{
    AUTO(str_done) struct str path = { 0 };
    bool is_literal = true;
    abx_status r = expand(variables, text, literal, &path, &is_literal, fail);

    if (r >= 0) {
        r = make_absolute(variables, &path, fail);
    }
    if (r < 0) {
        return r;
    }
    if (path.failed) {
        return fail_nomem(fail);
    }
    if (path.length > PATTERN_MAX) {
        return fail_set(
                fail, ABX_ERR_POLICY, 0, "", "the path is longer than %u bytes", PATTERN_MAX);
    }
    if (is_literal) {
        drop_escapes(path.data);
    }
    *ret_path = path_normalise(path.data, fail);
    if (*ret_path == NULL) {
        return fail->status;
    }
    *ret_is_literal = is_literal;
    return ABX_OK;
}

char *
variable_spell(const char *path, bool is_literal)
{
    AUTO(freep) char *text = NULL;
    struct str out = { 0 };

    for (const char *p = path; *p != '\0'; p++) {
        if (*p == '$' || (is_literal && is_special(*p))) {
            str_add(&out, "\\");
        } else if (*p == '\\' && p[1] != '\0') {
            str_add_bytes(&out, p++, 1);
        }
        str_add_bytes(&out, p, 1);
    }
    text = str_steal(&out, NULL);
    return text == NULL ? NULL : text_escape(text, strlen(text), false);
}
