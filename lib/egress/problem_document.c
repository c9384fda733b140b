/* SPDX-License-Identifier: Apache-2.0
 * RFC 9457 leaves to each server how it names the values that it does not take.  Known are what the
 * RFC shows ("errors", with JSON pointers), what its predecessor shows ("invalid-params"), and the
 * object of ASP.NET, whose keys are the names. */
#include "egress/problem_document.h"

#include "base/json.h"
#include "base/mem.h"

#include <string.h>
#include <strings.h>

#define NESTING_MAX 16u
#define TITLE_MAX 200u /* bytes */
#define DETAIL_MAX 600u
#define NAME_MAX_BYTES 100u
#define NAMES_MAX 16u

bool
problem_document_is(struct span content_type)
{
    const char *semicolon = memchr(content_type.at, ';', content_type.length);

    if (semicolon != NULL) {
        content_type.length = (size_t)(semicolon - content_type.at);
    }
    return span_is(span_trim(content_type), "application/problem+json");
}

/* Never a part of a character. */
static void
add_text(struct str *out, const char *text, size_t most)
{
    AUTO(str_done) struct str cut = { 0 };
    size_t length = strlen(text);

    if (length > most) {
        length = most;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) {
            length--;
        }
        str_add_bytes(&cut, text, length);
        str_add(&cut, "...");
        text = cut.failed ? "" : cut.data;
    }
    out->failed |= cut.failed;
    str_add_json_bytes(out, text, false);
}

static const char *
text_of(const struct json *value)
{
    const char *text = json_text(value);

    return text == NULL || text[0] == '\0' ? NULL : text;
}

static void
add_key(struct str *out, const char *key)
{
    str_printf(out, "%s\"%s\":", out->length == 0 ? "{" : ",", key);
}

static void
add_member(struct str *out, const struct json *document, const char *key, size_t most)
{
    const char *text = text_of(json_member(document, key));

    if (text != NULL) {
        add_key(out, key);
        add_text(out, text, most);
    }
}

/* ---- names ---- */
struct names {
    struct str *out;
    size_t n;
};

static bool
add_name(void *data, const char *name, const struct json *unused)
{
    struct names *names = data;

    if (names->n == 0) {
        add_key(names->out, "fields");
    }
    str_add(names->out, names->n++ == 0 ? "[" : ",");
    add_text(names->out, name, NAME_MAX_BYTES);
    return names->n < NAMES_MAX;
}

/* What one entry of a list calls the value, or NULL. */
static const char *
name_in(const struct json *entry)
{
    static const char *const keys[] = { "pointer", "name", "field", "parameter" };
    const char *name = NULL;

    for (size_t i = 0; name == NULL && i < N_ELEMENTS(keys); i++) {
        name = text_of(json_member(entry, keys[i]));
    }
    return name;
}

static void
add_names(struct str *out, const struct json *document)
{
    static const char *const keys[] = { "errors", "invalid-params", "invalid_params" };
    struct names names = { .out = out };

    for (size_t i = 0; names.n == 0 && i < N_ELEMENTS(keys); i++) {
        const struct json *list = json_member(document, keys[i]);

        if (list != NULL && json_kind_of(list) == JSON_KIND_OBJECT) {
            json_each_member(list, add_name, &names);
        }
        for (size_t k = 0; list != NULL && json_kind_of(list) == JSON_KIND_ARRAY &&
                           k < json_count(list) && names.n < NAMES_MAX;
                k++) {
            const char *name = name_in(json_element(list, k));

            if (name != NULL) {
                add_name(&names, name, NULL);
            }
        }
    }
    str_add(out, names.n == 0 ? "" : "]");
}

void
problem_document_read(const char *bytes, size_t length, struct str *out)
{
    struct json_problem unused;
    AUTO(str_done) struct str made = { 0 };
    struct json *document = json_read(bytes, length, NESTING_MAX, &unused);

    if (document == NULL || json_kind_of(document) != JSON_KIND_OBJECT) {
        json_free(document);
        return;
    }
    add_member(&made, document, "title", TITLE_MAX);
    add_member(&made, document, "detail", DETAIL_MAX);
    add_names(&made, document);
    json_free(document);
    out->failed |= made.failed;
    if (made.length > 0 && !made.failed) {
        str_add(out, made.data);
        str_add(out, "}");
    }
}
