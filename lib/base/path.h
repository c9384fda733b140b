/* SPDX-License-Identifier: Apache-2.0
 * Absolute canonical paths as text: how they nest.  No file system.
 */
#ifndef ABX_BASE_PATH_H
#define ABX_BASE_PATH_H

#include <stdbool.h>

/* Strictly below; everything but "/" is below "/". */
bool path_is_below(const char *path, const char *directory);
/* Is it, or strictly below. */
bool path_is_within(const char *path, const char *directory);
/* The directory that has it ("/" for "/").  Caller frees; NULL: no memory. */
char *path_parent(const char *path);
/* "directory/name". Caller frees; NULL: no memory. */
char *path_join(const char *directory, const char *name);

#endif
