/* SPDX-License-Identifier: Apache-2.0
 * What is true of writing any file, also one in memory. */
#ifndef ABX_BASE_FILE_H
#define ABX_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether this process may make a file this long; errno is EFBIG if not.  Where the host has a
 * limit (RLIMIT_FSIZE) a write beyond it does not only fail: its signal, SIGXFSZ, ends the host. */
bool file_may_have(uint64_t size);
/* Goes on after what was written in part; false: errno says why, and some of it may be there. */
bool file_write_all(int fd, const char *bytes, size_t length);

#endif
