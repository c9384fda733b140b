/* SPDX-License-Identifier: Apache-2.0
 * The program in the box as bytes, made by the build (tools/embed.py). */
#ifndef ABX_LINUX_INIT_BLOB_H
#define ABX_LINUX_INIT_BLOB_H

#include <stddef.h>

extern const unsigned char init_blob[];
extern const size_t init_blob_size;

#endif
