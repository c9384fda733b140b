/* SPDX-License-Identifier: Apache-2.0
 * Takes a signed request apart: its fields, and the parts of its signature, which stand in a field
 * or in the query.  Pure. */
#include "egress/sigv4_parts.h"

#include <string.h>

bool
piece_is(struct piece piece, const char *text)
{
    return piece.length == strlen(text) && strncasecmp(piece.at, text, piece.length) == 0;
}

void
add_piece(struct str *out, struct piece piece)
{
    str_add_bytes(out, piece.at, piece.length);
}

struct piece
cut(struct piece *rest, char separator)
{
    const char *end = rest->length == 0 ? NULL : memchr(rest->at, separator, rest->length);
    struct piece part = { rest->at, end == NULL ? rest->length : (size_t)(end - rest->at) };
    size_t used = part.length + (end != NULL);

    rest->at += used;
    rest->length -= used;
    return part;
}

static struct piece
trim(struct piece piece)
{
    while (piece.length > 0 && (piece.at[0] == ' ' || piece.at[0] == '\t')) {
        piece.at++;
        piece.length--;
    }
    while (piece.length > 0 && strchr(" \t\r", piece.at[piece.length - 1]) != NULL) {
        piece.length--;
    }
    return piece;
}

static bool
split_head(const struct sigv4_message *message, struct parts *parts)
{
    struct piece rest = { message->head, message->length };
    struct piece line = trim(cut(&rest, '\n'));

    parts->method = cut(&line, ' ');
    parts->target = cut(&line, ' ');
    parts->version = line;
    parts->query = parts->target;
    parts->path = cut(&parts->query, '?');
    for (;;) {
        line = trim(cut(&rest, '\n'));
        if (line.length == 0) {
            return rest.length == 0;
        }
        if (parts->n_fields == ITEMS_MAX) {
            return false;
        }
        parts->fields[parts->n_fields].name = cut(&line, ':');
        parts->fields[parts->n_fields++].value = trim(line);
    }
}

/* The first after `field`, or of all. */
static const struct field *
find_after(const struct parts *parts, const struct field *field, const char *name)
{
    for (size_t i = field == NULL ? 0 : (size_t)(field - parts->fields) + 1; i < parts->n_fields;
            i++) {
        if (piece_is(parts->fields[i].name, name)) {
            return &parts->fields[i];
        }
    }
    return NULL;
}

const struct field *
parts_find(const struct parts *parts, const char *name)
{
    return find_after(parts, NULL, name);
}

static bool
find_parameter(const struct parts *parts, const char *name, struct piece *ret_value)
{
    for (struct piece rest = parts->query; rest.length > 0;) {
        struct piece value = cut(&rest, '&');

        if (piece_is(cut(&value, '='), name)) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

/* ID/DATE/REGION/SERVICE/aws4_request, with `slash` between. */
static bool
split_credential(struct piece credential, struct parts *parts)
{
    struct piece rest = credential;

    parts->id = cut(&rest, '/');
    parts->scope = rest;
    parts->date = cut(&rest, '/');
    parts->region = cut(&rest, '/');
    parts->service = cut(&rest, '/');
    return piece_is(rest, "aws4_request") && parts->date.length == 8;
}

static bool
split_authorization(struct piece value, struct parts *parts)
{
    struct piece credential = { "", 0 };

    cut(&value, ' ');
    while (value.length > 0) {
        struct piece item = trim(cut(&value, ','));
        struct piece name = cut(&item, '=');

        if (piece_is(name, "Credential")) {
            credential = item;
        } else if (piece_is(name, "SignedHeaders")) {
            parts->signed_names = item;
        } else if (piece_is(name, "Signature")) {
            parts->signature = item;
        }
    }
    return split_credential(credential, parts);
}

size_t
decode_piece(struct piece piece, bool plus_is_space, char *to)
{
    size_t n = 0;

    for (size_t i = 0; i < piece.length; i++) {
        char c = piece.at[i];

        if (c == '%' && i + 2 < piece.length && hex_byte(piece.at + i + 1) >= 0) {
            c = (char)hex_byte(piece.at + i + 1);
            i += 2;
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        }
        to[n++] = c;
    }
    return n;
}

static bool
split_presigned(struct parts *parts)
{
    struct piece credential, names;
    size_t n;

    if (!find_parameter(parts, "X-Amz-Credential", &credential) ||
            !find_parameter(parts, "X-Amz-SignedHeaders", &names) ||
            !find_parameter(parts, "X-Amz-Date", &parts->time) ||
            !find_parameter(parts, "X-Amz-Signature", &parts->signature) ||
            credential.length + names.length > DECODED_MAX) {
        return false;
    }
    n = decode_piece(credential, false, parts->decoded);
    parts->signed_names.at = parts->decoded + n;
    parts->signed_names.length = decode_piece(names, false, parts->decoded + n);
    return split_credential((struct piece){ parts->decoded, n }, parts);
}

const char *
sigv4_split(const struct sigv4_message *message, struct parts *parts)
{
    const struct field *field;
    struct piece algorithm;

    *parts = (struct parts){ 0 };
    if (!split_head(message, parts)) {
        return "the request is too large to be signed again";
    }
    field = parts_find(parts, "authorization");
    parts->in_query = field == NULL;
    if (parts->in_query) {
        return !find_parameter(parts, "X-Amz-Algorithm", &algorithm) ||
                               !piece_is(algorithm, ALGORITHM) || !split_presigned(parts)
                       ? "it is not signed by " ALGORITHM
                       : NULL;
    }
    if (find_after(parts, field, "authorization") != NULL) {
        return "it is signed more than once";
    }
    if (field->value.length < sizeof ALGORITHM ||
            memcmp(field->value.at, ALGORITHM " ", sizeof ALGORITHM) != 0 ||
            !split_authorization(field->value, parts)) {
        return "it is not signed by " ALGORITHM;
    }
    field = parts_find(parts, "x-amz-date");
    if (field == NULL || parts->signature.length == 0 || parts->signed_names.length == 0) {
        return "it has no x-amz-date, no signature, or signs no field";
    }
    parts->time = field->value;
    return NULL;
}
