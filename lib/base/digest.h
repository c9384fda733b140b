/* SPDX-License-Identifier: Apache-2.0
 * SHA-256, the one digest of the library. */
#ifndef ABX_BASE_DIGEST_H
#define ABX_BASE_DIGEST_H

#include <stddef.h>

#define DIGEST_HEX_SIZE 65u

void digest_hex(const void *bytes, size_t length, char ret_hex[DIGEST_HEX_SIZE]);

#endif
