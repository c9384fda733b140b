/* SPDX-License-Identifier: Apache-2.0
 * SHA-256, the one digest of the library. */
#ifndef ABX_BASE_DIGEST_H
#define ABX_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define DIGEST_SIZE 32u
#define DIGEST_HEX_SIZE 65u

void digest_hex(const void *bytes, size_t length, char ret_hex[DIGEST_HEX_SIZE]);
/* Of a file from where it stands, `most` bytes of it.  0 or -errno; *ret_length: how many it was.
 */
int digest_file(int fd, uint64_t most, char ret_hex[DIGEST_HEX_SIZE], uint64_t *ret_length);
/* HMAC; key and bytes may be secret, nothing of them stays behind. */
void digest_hmac(const void *key, size_t key_length, const void *bytes, size_t length,
        uint8_t ret_digest[DIGEST_SIZE]);
/* Small letters. */
void digest_spell(const uint8_t digest[DIGEST_SIZE], char ret_hex[DIGEST_HEX_SIZE]);

#endif
