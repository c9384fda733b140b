/* SPDX-License-Identifier: Apache-2.0
 * Owns the form of audit records and their chain.  Lines are compared byte by byte with what this
 * file would write, so that nothing can stand beside what the hash covers.  Pure but for random
 * salts, any thread. */
#include "audit/record.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define SALT_BYTES 16u
#define SALT_HEX (2 * SALT_BYTES)

void
chain_begin(struct chain *chain)
{
    chain->n = 0;
    memset(chain->hash, '0', DIGEST_HEX_SIZE - 1);
    chain->hash[DIGEST_HEX_SIZE - 1] = '\0';
}

static bool
digest_body(const char *salt, const char *body, size_t length, char ret_digest[DIGEST_HEX_SIZE])
{
    AUTO(str_done) struct str text = { 0 };

    str_add_bytes(&text, salt, SALT_HEX);
    str_add(&text, " ");
    str_add_bytes(&text, body, length);
    if (text.failed) {
        return false;
    }
    digest_hex(text.data, text.length, ret_digest);
    return true;
}

static bool
chain_hash(uint64_t n, const char *previous, const char *digest, char ret_hash[DIGEST_HEX_SIZE])
{
    AUTO(str_done) struct str text = { 0 };

    str_printf(&text, "%" PRIu64 " %s %s", n, previous, digest);
    if (text.failed) {
        return false;
    }
    digest_hex(text.data, text.length, ret_hash);
    return true;
}

static bool
make_salt(char ret_salt[SALT_HEX + 1])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[SALT_BYTES];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        return false;
    }
    for (size_t i = 0; i < SALT_BYTES; i++) {
        ret_salt[2 * i] = digits[bytes[i] >> 4];
        ret_salt[2 * i + 1] = digits[bytes[i] & 15];
    }
    ret_salt[SALT_HEX] = '\0';
    return true;
}

bool
record_write(struct chain *chain, const char *body, struct str *out)
{
    char salt[SALT_HEX + 1], digest[DIGEST_HEX_SIZE], hash[DIGEST_HEX_SIZE];

    if (!make_salt(salt) || !digest_body(salt, body, strlen(body), digest) ||
            !chain_hash(chain->n + 1, chain->hash, digest, hash)) {
        return false;
    }
    str_printf(out, "{\"n\":%" PRIu64 ",\"prev\":\"%s\",\"salt\":\"%s\",\"body\":", chain->n + 1,
            chain->hash, salt);
    str_add(out, body);
    str_printf(out, ",\"hash\":\"%s\"}\n", hash);
    if (out->failed) {
        return false;
    }
    chain->n++;
    memcpy(chain->hash, hash, sizeof hash);
    return true;
}

/* ---- reading ---- */

/* A line taken apart; pointers into it. */
struct parts {
    uint64_t n;
    const char *prev, *salt, *body, *digest, *hash; /* salt and body, or digest */
    size_t body_length;
};

static bool
take(const char **at, const char *end, const char *text)
{
    size_t n = strlen(text);

    if ((size_t)(end - *at) < n || memcmp(*at, text, n) != 0) {
        return false;
    }
    *at += n;
    return true;
}

static bool
take_hex(const char **at, const char *end, size_t n, const char **ret_text)
{
    if ((size_t)(end - *at) < n) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (hex_digit((*at)[i]) < 0 || ((*at)[i] >= 'A' && (*at)[i] <= 'F')) {
            return false;
        }
    }
    *ret_text = *at;
    *at += n;
    return true;
}

static bool
take_number(const char **at, const char *end, uint64_t *ret_number)
{
    const char *first = *at;
    uint64_t number = 0;

    for (; *at < end && **at >= '0' && **at <= '9'; (*at)++) {
        if (number > (UINT64_MAX - 9) / 10) {
            return false;
        }
        number = number * 10 + (uint64_t)(**at - '0');
    }
    *ret_number = number;
    return *at > first && *first != '0';
}

#define HASH_TAIL (sizeof ",\"hash\":\"\"}" - 1 + DIGEST_HEX_SIZE - 1)

static bool
take_apart(const char *line, size_t length, struct parts *parts)
{
    const char *at = line, *end = line + length, *tail;

    *parts = (struct parts){ 0 };
    if (length < HASH_TAIL || !take(&at, end, "{\"n\":") || !take_number(&at, end, &parts->n) ||
            !take(&at, end, ",\"prev\":\"") ||
            !take_hex(&at, end, DIGEST_HEX_SIZE - 1, &parts->prev) || !take(&at, end, "\",\"")) {
        return false;
    }
    tail = end - HASH_TAIL;
    if (take(&at, end, "digest\":\"")) {
        if (!take_hex(&at, end, DIGEST_HEX_SIZE - 1, &parts->digest) || !take(&at, end, "\"") ||
                at != tail) {
            return false;
        }
    } else {
        if (!take(&at, end, "salt\":\"") || !take_hex(&at, end, SALT_HEX, &parts->salt) ||
                !take(&at, end, "\",\"body\":") || at >= tail || *at != '{' || tail[-1] != '}') {
            return false;
        }
        parts->body = at;
        parts->body_length = (size_t)(tail - at);
    }
    return take(&tail, end, ",\"hash\":\"") &&
           take_hex(&tail, end, DIGEST_HEX_SIZE - 1, &parts->hash) && take(&tail, end, "\"}") &&
           tail == end;
}

/* False: no memory. */
static bool
digest_parts(const struct parts *parts, char ret_digest[DIGEST_HEX_SIZE])
{
    if (parts->digest == NULL) {
        return digest_body(parts->salt, parts->body, parts->body_length, ret_digest);
    }
    memcpy(ret_digest, parts->digest, DIGEST_HEX_SIZE - 1);
    ret_digest[DIGEST_HEX_SIZE - 1] = '\0';
    return true;
}

bool
chain_before(struct chain *chain, const char *line, size_t length)
{
    struct parts parts;

    if (!take_apart(line, length, &parts)) {
        return false;
    }
    chain->n = parts.n - 1;
    memcpy(chain->hash, parts.prev, sizeof chain->hash - 1);
    chain->hash[sizeof chain->hash - 1] = '\0';
    return true;
}

static abx_status
broken(const char *why, const char **ret_why)
{
    *ret_why = why;
    return ABX_ERR_IO;
}

abx_status
record_read(struct chain *chain, const char *line, size_t length, struct record *ret_record,
        const char **ret_why)
{
    char digest[DIGEST_HEX_SIZE], hash[DIGEST_HEX_SIZE];
    struct parts parts;

    if (!take_apart(line, length, &parts)) {
        return broken("the line is no record", ret_why);
    }
    if (parts.n != chain->n + 1) {
        return broken("the number does not follow the one before: records are missing, or were "
                      "put in or moved",
                ret_why);
    }
    if (memcmp(parts.prev, chain->hash, DIGEST_HEX_SIZE - 1) != 0) {
        return broken("the record follows another one than stands before it", ret_why);
    }
    if (!digest_parts(&parts, digest) || !chain_hash(parts.n, chain->hash, digest, hash)) {
        return ABX_ERR_NOMEM;
    }
    if (memcmp(hash, parts.hash, DIGEST_HEX_SIZE - 1) != 0) {
        return broken("the record was changed", ret_why);
    }
    chain->n = parts.n;
    memcpy(chain->hash, hash, sizeof hash);
    *ret_record = (struct record){ parts.n, parts.body, parts.body_length, line, length };
    return ABX_OK;
}

bool
record_is(const struct record *record, const char *type)
{
    const char *at = record->body, *end;

    if (at == NULL) {
        return false;
    }
    end = at + record->body_length;
    return take(&at, end, "{\"type\":\"") && take(&at, end, type) && take(&at, end, "\"");
}

bool
record_is_own(const struct record *record)
{
    static const char *const types[] = { "recovered", "lost", "rotated", "redaction" };

    for (size_t i = 0; i < N_ELEMENTS(types); i++) {
        if (record_is(record, types[i])) {
            return true;
        }
    }
    return false;
}

bool
record_redact(const char *line, size_t length, struct str *out)
{
    char digest[DIGEST_HEX_SIZE];
    struct parts parts;

    if (!take_apart(line, length, &parts) || !digest_parts(&parts, digest)) {
        return false;
    }
    str_printf(out, "{\"n\":%" PRIu64 ",\"prev\":\"%.64s\",\"digest\":\"%s\",\"hash\":\"%.64s\"}",
            parts.n, parts.prev, digest, parts.hash);
    return !out->failed;
}
