/* SPDX-License-Identifier: Apache-2.0
 * Owns the canonical text of a request, of which the signature is made.  Pure. */
#include "egress/sigv4_parts.h"

#include "base/digest.h"
#include "base/mem.h"
#include "egress/forms.h"

#include <stdlib.h>
#include <string.h>

static void
add_path(struct str *out, struct piece path, uint32_t form)
{
    for (size_t i = 0; i < path.length; i++) {
        if ((form & PATH_PLAIN) != 0 && path.at[i] == '/' && i > 0 && path.at[i - 1] == '/') {
            continue;
        }
        if ((form & PATH_TWICE) != 0 && path.at[i] != '/') {
            char encoded[3];

            str_add_bytes(out, encoded, percent_encode(path.at + i, 1, encoded));
        } else {
            str_add_bytes(out, path.at + i, 1);
        }
    }
}

static int
compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "name=value", both decoded and encoded again in the one way. */
static char *
canonical_parameter(struct piece item)
{
    struct piece name = cut(&item, '=');
    struct str out = { 0 };
    size_t room = name.length + item.length + 1;
    AUTO(freep) char *plain = malloc(room);
    AUTO(freep) char *encoded = malloc(PERCENT_ROOM(room));
    size_t n;

    if (plain == NULL || encoded == NULL) {
        return NULL;
    }
    n = percent_encode(plain, decode_piece(name, true, plain), encoded);
    str_add_bytes(&out, encoded, n);
    str_add(&out, "=");
    n = percent_encode(plain, decode_piece(item, true, plain), encoded);
    str_add_bytes(&out, encoded, n);
    return str_steal(&out, NULL);
}

static void
add_query(struct str *out, struct piece query)
{
    char *items[ITEMS_MAX];
    size_t n = 0;

    while (query.length > 0 && !out->failed) {
        struct piece item = cut(&query, '&');

        if (item.length >= 16 && strncmp(item.at, "X-Amz-Signature=", 16) == 0) {
            continue;
        }
        items[n] = n == ITEMS_MAX - 1 ? NULL : canonical_parameter(item);
        out->failed |= items[n] == NULL;
        n += items[n] != NULL;
    }
    qsort(items, n, sizeof *items, compare_texts);
    for (size_t i = 0; i < n; i++) {
        str_add(out, i == 0 ? "" : "&");
        str_add(out, items[i]);
        free(items[i]);
    }
}

/* Runs of spaces are one. */
static void
add_value(struct str *out, struct piece value)
{
    for (size_t i = 0; i < value.length; i++) {
        if (value.at[i] != ' ' || i == 0 || value.at[i - 1] != ' ') {
            str_add_bytes(out, value.at + i, 1);
        }
    }
}

static bool
add_fields(struct str *out, const struct parts *parts)
{
    for (struct piece rest = parts->signed_names; rest.length > 0;) {
        struct piece name = cut(&rest, ';');
        bool first = true;

        add_piece(out, name);
        str_add(out, ":");
        for (size_t i = 0; i < parts->n_fields; i++) {
            if (parts->fields[i].name.length == name.length &&
                    strncasecmp(parts->fields[i].name.at, name.at, name.length) == 0) {
                str_add(out, first ? "" : ",");
                add_value(out, parts->fields[i].value);
                first = false;
            }
        }
        str_add(out, "\n");
        if (first) {
            return false;
        }
    }
    return true;
}

/* What stands for the body; false: only the body would tell, and it is not there. */
static bool
add_payload(struct str *out, const struct sigv4_message *message, const struct parts *parts)
{
    const struct field *given = parts_find(parts, "x-amz-content-sha256");
    char digest[DIGEST_HEX_SIZE];

    if (given != NULL) {
        add_piece(out, given->value);
        return true;
    }
    if (parts->in_query && piece_is(parts->service, "s3")) {
        str_add(out, "UNSIGNED-PAYLOAD");
        return true;
    }
    if (message->body == NULL) {
        return false;
    }
    digest_hex(message->body, message->body_length, digest);
    str_add(out, digest);
    return true;
}

const char *
sigv4_canonical(const struct sigv4_message *message, const struct parts *parts, uint32_t form,
        struct str *out)
{
    add_piece(out, parts->method);
    str_add(out, "\n");
    add_path(out, parts->path, form);
    str_add(out, "\n");
    add_query(out, parts->query);
    str_add(out, "\n");
    if (!add_fields(out, parts)) {
        return "a field that was signed is not there";
    }
    str_add(out, "\n");
    add_piece(out, parts->signed_names);
    str_add(out, "\n");
    if (!add_payload(out, message, parts)) {
        return "its body is too large to be signed again; sign it with x-amz-content-sha256";
    }
    return NULL;
}
