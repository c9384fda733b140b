/* SPDX-License-Identifier: Apache-2.0
 * Owns the look at the host's limit of files.  Any thread. */
#include "base/file.h"

#include <errno.h>
#include <sys/resource.h>

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
