/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void
freep(void *pointer)
{
    free(*(void **)pointer);
}

void
close_fd(int fd)
{
    int saved = errno;

    if (fd >= 0) {
        close(fd);
    }
    errno = saved;
}

void
closep(const int *fd)
{
    close_fd(*fd);
}

bool
size_add(size_t a, size_t b, size_t *ret_sum)
{
    return !__builtin_add_overflow(a, b, ret_sum);
}

bool
size_mul(size_t a, size_t b, size_t *ret_product)
{
    return !__builtin_mul_overflow(a, b, ret_product);
}
