/* SPDX-License-Identifier: Apache-2.0
 * Inside the mask only: invented secrets, the same for a path as long as the box lives.  Pure. */
#ifndef ABX_LINUX_MASK_DECOY_H
#define ABX_LINUX_MASK_DECOY_H

#include <stddef.h>
#include <stdint.h>

/* Copies up to `size` bytes of the decoy from `offset` on; how many.  Without a buffer: its length.
 */
size_t decoy_read(uint64_t secret, const char *path, uint64_t offset, char *buffer, size_t size);

#endif
