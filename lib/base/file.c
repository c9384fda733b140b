/* SPDX-License-Identifier: Apache-2.0
 * Owns the look at the host's limit of files, and writing all of something.  Any thread. */
#include "base/file.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

bool
file_may_have(uint64_t size)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
            size > limit.rlim_cur) {
        errno = EFBIG;
        return false;
    }
    return true;
}

bool
file_write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, bytes, length);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            errno = n == 0 ? EIO : errno;
            return false;
        }
        bytes += n;
        length -= (size_t)n;
    }
    return true;
}
