/* SPDX-License-Identifier: Apache-2.0
 * Owns SHA-256, by way of nettle, which is included nowhere else.  Pure, any thread. */
#include "base/digest.h"

#include <nettle/sha2.h>

void
digest_hex(const void *bytes, size_t length, char ret_hex[DIGEST_HEX_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    struct sha256_ctx context;
    uint8_t digest[SHA256_DIGEST_SIZE];

    sha256_init(&context);
    sha256_update(&context, length, bytes);
    sha256_digest(&context, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++) {
        ret_hex[2 * i] = digits[digest[i] >> 4];
        ret_hex[2 * i + 1] = digits[digest[i] & 15];
    }
    ret_hex[2 * sizeof digest] = '\0';
}
