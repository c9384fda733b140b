/* SPDX-License-Identifier: Apache-2.0
 * Owns SHA-256, by way of nettle, which is included nowhere else.  Pure, any thread. */
#include "base/digest.h"

#include <errno.h>
#include <nettle/hmac.h>
#include <nettle/sha2.h>
#include <string.h>
#include <unistd.h>

void
digest_spell(const uint8_t digest[DIGEST_SIZE], char ret_hex[DIGEST_HEX_SIZE])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < DIGEST_SIZE; i++) {
        ret_hex[2 * i] = digits[digest[i] >> 4];
        ret_hex[2 * i + 1] = digits[digest[i] & 15];
    }
    ret_hex[2 * DIGEST_SIZE] = '\0';
}

void
digest_hex(const void *bytes, size_t length, char ret_hex[DIGEST_HEX_SIZE])
{
    struct sha256_ctx context;
    uint8_t digest[SHA256_DIGEST_SIZE];

    sha256_init(&context);
    sha256_update(&context, length, bytes);
    sha256_digest(&context, sizeof digest, digest);
    digest_spell(digest, ret_hex);
}

int
digest_file(int fd, uint64_t most, char ret_hex[DIGEST_HEX_SIZE], uint64_t *ret_length)
{
    struct sha256_ctx context;
    uint8_t digest[SHA256_DIGEST_SIZE], buffer[16384];
    uint64_t length = 0;
    ssize_t n = 1;

    sha256_init(&context);
    while (length < most && n > 0) {
        n = read(fd, buffer, most - length < sizeof buffer ? most - length : sizeof buffer);
        if (n < 0) {
            return -errno;
        }
        sha256_update(&context, (size_t)n, buffer);
        length += (uint64_t)n;
    }
    sha256_digest(&context, sizeof digest, digest);
    digest_spell(digest, ret_hex);
    *ret_length = length;
    return 0;
}

void
digest_hmac(const void *key, size_t key_length, const void *bytes, size_t length,
        uint8_t ret_digest[DIGEST_SIZE])
{
    struct hmac_sha256_ctx context;

    hmac_sha256_set_key(&context, key_length, key);
    hmac_sha256_update(&context, length, bytes);
    hmac_sha256_digest(&context, DIGEST_SIZE, ret_digest);
    explicit_bzero(&context, sizeof context);
}
