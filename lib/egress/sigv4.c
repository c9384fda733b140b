/* SPDX-License-Identifier: Apache-2.0
 * Owns signatures by AWS Signature Version 4: whether one verifies, and the one that takes its
 * place.  What programs encode differently is found by trying which way verifies.  Pure. */
#include "egress/sigv4.h"

#include "base/digest.h"
#include "base/mem.h"
#include "egress/forms.h"
#include "egress/sigv4_parts.h"

#include <stdlib.h>
#include <string.h>

#define PART_MIN 8u

bool
sigv4_key_parse(const void *bytes, size_t length, struct sigv4_key *ret_key)
{
    struct piece rest = { bytes, length };
    struct piece id = cut(&rest, ':');
    bool has_token = memchr(rest.at, ':', rest.length) != NULL;
    struct piece secret = cut(&rest, ':');

    *ret_key = (struct sigv4_key){ .id = id.at,
        .id_length = id.length,
        .secret = secret.at,
        .secret_length = secret.length,
        .token = has_token ? rest.at : NULL,
        .token_length = has_token ? rest.length : 0 };
    return id.length >= PART_MIN && secret.length >= PART_MIN &&
           (!has_token || rest.length >= PART_MIN);
}

static void
derive_key(const struct parts *parts, const struct sigv4_key *key, struct vault *first,
        uint8_t signing[DIGEST_SIZE])
{
    memcpy(first->bytes, "AWS4", 4);
    memcpy(first->bytes + 4, key->secret, key->secret_length);
    digest_hmac(first->bytes, first->length, parts->date.at, parts->date.length, signing);
    digest_hmac(signing, DIGEST_SIZE, parts->region.at, parts->region.length, signing);
    digest_hmac(signing, DIGEST_SIZE, parts->service.at, parts->service.length, signing);
    digest_hmac(signing, DIGEST_SIZE, "aws4_request", strlen("aws4_request"), signing);
}

/* NULL: `signature` is that of the message; else why there is none. */
static const char *
make_signature(const struct sigv4_message *message, const struct parts *parts, uint32_t form,
        const struct sigv4_key *key, char signature[DIGEST_HEX_SIZE])
{
    static const char no_memory[] = "out of memory: it cannot be signed again";
    AUTO(str_done) struct str request = { 0 };
    AUTO(str_done) struct str text = { 0 };
    AUTO(vault_unrefp) struct vault *first = vault_new(4 + key->secret_length);
    uint8_t signing[DIGEST_SIZE], digest[DIGEST_SIZE];
    const char *wrong = sigv4_canonical(message, parts, form, &request);

    if (wrong != NULL) {
        return wrong;
    }
    str_add(&text, ALGORITHM "\n");
    add_piece(&text, parts->time);
    str_add(&text, "\n");
    add_piece(&text, parts->scope);
    str_add(&text, "\n");
    if (request.failed || first == NULL) {
        return no_memory;
    }
    digest_hex(request.data, request.length, signature);
    explicit_bzero(request.data, request.length); /* a session's token is in it */
    str_add(&text, signature);
    if (text.failed) {
        return no_memory;
    }
    derive_key(parts, key, first, signing);
    digest_hmac(signing, DIGEST_SIZE, text.data, text.length, digest);
    explicit_bzero(signing, sizeof signing);
    digest_spell(digest, signature);
    return NULL;
}

bool
sigv4_check(const struct sigv4_message *message, const struct sigv4_key *key,
        struct sigv4_scheme *ret_scheme, const char **ret_why)
{
    struct parts parts;

    *ret_why = sigv4_split(message, &parts);
    if (*ret_why != NULL) {
        return false;
    }
    if (parts.id.length != key->id_length || memcmp(parts.id.at, key->id, key->id_length) != 0) {
        *ret_why = "it is signed with another key";
        return false;
    }
    for (uint32_t form = 0; form < PATH_FORMS; form++) {
        *ret_why = make_signature(message, &parts, form, key, ret_scheme->signature);
        if (*ret_why != NULL) {
            return false;
        }
        if (parts.signature.length == DIGEST_HEX_SIZE - 1 &&
                memcmp(parts.signature.at, ret_scheme->signature, DIGEST_HEX_SIZE - 1) == 0) {
            ret_scheme->in_query = parts.in_query;
            ret_scheme->path_form = form;
            return true;
        }
    }
    *ret_why = "its signature does not verify";
    return false;
}

/* ---- signing anew ---- */

/* The names with that of the token in its place. */
static void
add_names(struct str *out, struct piece names, bool has_token)
{
    static const char token[] = "x-amz-security-token";
    bool added = !has_token;

    while (names.length > 0) {
        struct piece name = cut(&names, ';');
        size_t shorter = name.length < strlen(token) ? name.length : strlen(token);

        if (!added &&
                (memcmp(token, name.at, shorter) < 0 ||
                        (memcmp(token, name.at, shorter) == 0 && name.length > strlen(token)))) {
            str_add(out, token);
            str_add(out, ";");
            added = true;
        }
        add_piece(out, name);
        str_add(out, names.length > 0 || !added ? ";" : "");
    }
    str_add(out, added ? "" : token);
}

/* The head with the key's id, and with the token; the signature is still to come, and stands where
 * *ret_at says. */
static void
write_unsigned(
        const struct parts *parts, const struct sigv4_key *key, struct str *out, size_t *ret_at)
{
    add_piece(out, parts->method);
    str_add(out, " ");
    add_piece(out, parts->target);
    str_add(out, " ");
    add_piece(out, parts->version);
    str_add(out, "\r\n");
    for (size_t i = 0; i < parts->n_fields; i++) {
        const struct field *field = &parts->fields[i];

        add_piece(out, field->name);
        str_add(out, ": ");
        if (!piece_is(field->name, "authorization")) {
            add_piece(out, field->value);
            str_add(out, "\r\n");
            continue;
        }
        str_add(out, ALGORITHM " Credential=");
        str_add_bytes(out, key->id, key->id_length);
        str_add(out, "/");
        add_piece(out, parts->scope);
        str_add(out, ", SignedHeaders=");
        add_names(out, parts->signed_names, key->token != NULL);
        str_add(out, ", Signature=");
        *ret_at = out->length;
        str_printf(out, "%064d\r\n", 0);
    }
    if (key->token != NULL) {
        str_add(out, "x-amz-security-token: ");
        str_add_bytes(out, key->token, key->token_length);
        str_add(out, "\r\n");
    }
    str_add(out, "\r\n");
}

static void
add_encoded(struct str *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        char encoded[3];

        str_add_bytes(out, encoded, percent_encode(text + i, 1, encoded));
    }
}

/* The same for a presigned URL. */
static void
write_presigned(
        const struct parts *parts, const struct sigv4_key *key, struct str *out, size_t *ret_at)
{
    add_piece(out, parts->method);
    str_add(out, " ");
    add_piece(out, parts->path);
    str_add(out, "?");
    for (struct piece rest = parts->query; rest.length > 0;) {
        struct piece value = cut(&rest, '&'), item = value;
        struct piece name = cut(&value, '=');

        if (piece_is(name, "X-Amz-Signature")) {
            continue;
        }
        if (piece_is(name, "X-Amz-Credential")) {
            str_add(out, "X-Amz-Credential=");
            add_encoded(out, key->id, key->id_length);
            str_add(out, "%2F");
            add_encoded(out, parts->scope.at, parts->scope.length);
        } else {
            add_piece(out, item);
        }
        str_add(out, "&");
    }
    if (key->token != NULL) {
        str_add(out, "X-Amz-Security-Token=");
        add_encoded(out, key->token, key->token_length);
        str_add(out, "&");
    }
    str_add(out, "X-Amz-Signature=");
    *ret_at = out->length;
    str_printf(out, "%064d ", 0);
    add_piece(out, parts->version);
    str_add(out, "\r\n");
    for (size_t i = 0; i < parts->n_fields; i++) {
        add_piece(out, parts->fields[i].name);
        str_add(out, ": ");
        add_piece(out, parts->fields[i].value);
        str_add(out, "\r\n");
    }
    str_add(out, "\r\n");
}

bool
sigv4_sign(const struct sigv4_message *message, const struct sigv4_key *key,
        struct sigv4_scheme *scheme, struct str *out)
{
    struct sigv4_message mine = *message;
    struct parts parts;
    size_t at = 0;

    if (sigv4_split(message, &parts) != NULL) {
        return false;
    }
    if (scheme->in_query) {
        write_presigned(&parts, key, out, &at);
    } else {
        write_unsigned(&parts, key, out, &at);
    }
    if (out->failed) {
        return false;
    }
    mine.head = out->data;
    mine.length = out->length;
    if (sigv4_split(&mine, &parts) != NULL ||
            make_signature(&mine, &parts, scheme->path_form, key, scheme->signature) != NULL) {
        return false;
    }
    memcpy(out->data + at, scheme->signature, DIGEST_HEX_SIZE - 1);
    return true;
}

/* ---- chunks ---- */

struct sigv4_chain {
    char *beginning; /* of the text to sign: algorithm, time, scope */
    struct vault *signing; /* the derived key */
    char previous[DIGEST_HEX_SIZE];
};

bool
sigv4_is_chained(const struct sigv4_message *message)
{
    struct parts parts;
    const struct field *payload;

    if (sigv4_split(message, &parts) != NULL) {
        return false;
    }
    payload = parts_find(&parts, "x-amz-content-sha256");
    return payload != NULL && piece_is(payload->value, "STREAMING-AWS4-HMAC-SHA256-PAYLOAD");
}

void
sigv4_chain_free(struct sigv4_chain *chain)
{
    if (chain != NULL) {
        vault_unref(chain->signing);
        free(chain->beginning);
        free(chain);
    }
}

struct sigv4_chain *
sigv4_chain_new(const struct sigv4_message *message, const struct sigv4_key *key,
        const struct sigv4_scheme *scheme)
{
    AUTO(vault_unrefp) struct vault *first = vault_new(4 + key->secret_length);
    struct sigv4_chain *chain = calloc(1, sizeof *chain);
    struct str beginning = { 0 };
    struct parts parts;

    if (chain == NULL || first == NULL || sigv4_split(message, &parts) != NULL) {
        free(chain);
        return NULL;
    }
    str_add(&beginning, ALGORITHM "-PAYLOAD\n");
    add_piece(&beginning, parts.time);
    str_add(&beginning, "\n");
    add_piece(&beginning, parts.scope);
    str_add(&beginning, "\n");
    chain->beginning = str_steal(&beginning, NULL);
    chain->signing = vault_new(DIGEST_SIZE);
    if (chain->beginning == NULL || chain->signing == NULL) {
        sigv4_chain_free(chain);
        return NULL;
    }
    derive_key(&parts, key, first, chain->signing->bytes);
    memcpy(chain->previous, scheme->signature, sizeof chain->previous);
    return chain;
}

bool
sigv4_chain_next(struct sigv4_chain *chain, const void *bytes, size_t length,
        char ret_signature[DIGEST_HEX_SIZE])
{
    AUTO(str_done) struct str text = { 0 };
    char digest[DIGEST_HEX_SIZE];
    uint8_t signature[DIGEST_SIZE];

    str_add(&text, chain->beginning);
    str_add(&text, chain->previous);
    digest_hex("", 0, digest);
    str_printf(&text, "\n%s\n", digest);
    digest_hex(bytes, length, digest);
    str_add(&text, digest);
    if (text.failed) {
        return false;
    }
    digest_hmac(chain->signing->bytes, DIGEST_SIZE, text.data, text.length, signature);
    digest_spell(signature, chain->previous);
    memcpy(ret_signature, chain->previous, sizeof chain->previous);
    return true;
}
