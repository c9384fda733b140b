/* SPDX-License-Identifier: Apache-2.0
 * Signs requests anew that were signed with what stands for a key, and the chunks of their bodies.
 * Egress thread. */
#include "egress/replace_private.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_MAX (1u << 20)
#define CHUNK_LINE_MAX 256u

enum replace_result
replace_sign(struct replace *replace, size_t credential, const struct sigv4_message *before,
        const struct sigv4_message *after, struct vault **ret_head)
{
    const struct policy_credential *of = replace_credential(replace, credential);
    const char *id = secrets_key_id(replace->secrets, credential);
    const char *secret = secrets_stand_in(replace->secrets, credential);
    struct sigv4_key stand_in = { id, secret, NULL, strlen(id), strlen(secret), 0 }, key;
    AUTO(vault_unrefp) struct vault *value = NULL;
    AUTO(str_done) struct str out = { 0 };
    struct sigv4_message written;
    struct sigv4_scheme scheme;
    enum replace_result result;
    const char *why;

    if (!sigv4_check(before, &stand_in, &scheme, &why)) {
        return replace_refuse(replace, 403, of->name, of->id, why,
                "sign with the key that the environment holds, and change nothing afterwards");
    }
    value = replace_secret(replace, credential, &result);
    if (value == NULL) {
        return result;
    }
    if (!sigv4_key_parse(value->bytes, value->length, &key) ||
            !sigv4_sign(after, &key, &scheme, &out)) {
        return replace_nomem(replace);
    }
    written = (struct sigv4_message){ out.data, out.length, after->body, after->body_length };
    *ret_head = vault_of(out.data, out.length);
    if (*ret_head != NULL && sigv4_is_chained(&written)) {
        sigv4_chain_free(replace->chain);
        replace->chain = sigv4_chain_new(&written, &key, &scheme);
        result = replace->chain == NULL ? replace_nomem(replace) : REPLACE_DONE;
    }
    explicit_bzero(out.data, out.length);
    return *ret_head == NULL ? replace_nomem(replace) : result;
}

/* ---- chunks ---- */

static enum replace_result
refuse_chunk(struct replace *replace, const char *why)
{
    return replace_refuse(replace, 413, "credentials", "boundary:credential", why,
            "sign the body as a whole, or not at all (UNSIGNED-PAYLOAD)");
}

/* "SIZE;chunk-signature=..." */
static bool
parse_line(const char *line, size_t length, size_t *ret_size)
{
    static const char rest[] = ";chunk-signature=";
    size_t size = 0, i = 0;

    while (i < length && i < 8 && hex_digit(line[i]) >= 0) {
        size = size * 16 + (size_t)hex_digit(line[i++]);
    }
    *ret_size = size;
    return i > 0 && length == i + strlen(rest) + 64 && memcmp(line + i, rest, strlen(rest)) == 0;
}

/* A chunk that is all there; *ret_moved: whether there was one. */
static enum replace_result
take_chunk(struct replace *replace, struct evbuffer *from, struct evbuffer *to, bool *ret_moved)
{
    const struct needles *needles = secrets_in_requests(replace->secrets);
    size_t length = evbuffer_get_length(from), size;
    const char *bytes = (const char *)evbuffer_pullup(from, -1);
    const char *end = bytes == NULL ? NULL : memmem(bytes, length, "\r\n", 2);
    struct finding finding;
    char signature[65], line[CHUNK_LINE_MAX];

    *ret_moved = false;
    if (end == NULL) {
        return length > CHUNK_LINE_MAX ? refuse_chunk(replace, "its body is not in signed chunks")
                                       : REPLACE_DONE;
    }
    if (!parse_line(bytes, (size_t)(end - bytes), &size)) {
        return refuse_chunk(replace, "its body is not in signed chunks");
    }
    if (size > CHUNK_MAX) {
        return refuse_chunk(replace, "a chunk is larger than 1 MiB, and cannot be signed again");
    }
    end += 2;
    if (length - (size_t)(end - bytes) < size + 2) {
        return REPLACE_DONE;
    }
    if (needles_find(needles, end, size, true, &finding)) {
        return replace_judge(replace, secrets_mark(replace->secrets, finding.id), 0);
    }
    if (!sigv4_chain_next(replace->chain, end, size, signature)) {
        return replace_nomem(replace);
    }
    snprintf(line, sizeof line, "%.*s;chunk-signature=%s\r\n", (int)strcspn(bytes, ";"), bytes,
            signature);
    *ret_moved = evbuffer_drain(from, (size_t)(end - bytes)) == 0 &&
                 evbuffer_add(to, line, strlen(line)) == 0 &&
                 evbuffer_remove_buffer(from, to, size + 2) == (int)size + 2;
    return *ret_moved ? REPLACE_DONE : replace_nomem(replace);
}

enum replace_result
replace_chain(struct replace *replace, struct evbuffer *from, bool is_last, struct evbuffer *to)
{
    enum replace_result result = REPLACE_DONE;
    bool moved = true;

    while (result == REPLACE_DONE && moved && evbuffer_get_length(from) > 0) {
        result = take_chunk(replace, from, to, &moved);
    }
    if (result == REPLACE_DONE && is_last && evbuffer_get_length(from) > 0) {
        return refuse_chunk(replace, "its body ends within a chunk");
    }
    return result;
}

enum replace_result
replace_chain_whole(struct replace *replace, struct evbuffer *body)
{
    struct evbuffer *changed = replace->chain == NULL ? NULL : evbuffer_new();
    enum replace_result result = REPLACE_DONE;

    if (replace->chain == NULL) {
        return REPLACE_DONE;
    }
    if (changed == NULL) {
        return replace_nomem(replace);
    }
    result = replace_chain(replace, body, true, changed);
    if (result == REPLACE_DONE && evbuffer_add_buffer(body, changed) != 0) {
        result = replace_nomem(replace);
    }
    evbuffer_free(changed);
    return result;
}
