/* SPDX-License-Identifier: Apache-2.0
 * Invented secrets, the same for a path as long as the box lives: what a decoy shows, and what a
 * request that uses it is known by.  Pure. */
#ifndef ABX_BASE_DECOY_H
#define ABX_BASE_DECOY_H

#include <stddef.h>
#include <stdint.h>

#define DECOY_MAX 256u

/* The whole content for that path, terminated; its length. */
size_t decoy_write(uint64_t seed, const char *path, char ret_text[DECOY_MAX]);

#endif
