/* SPDX-License-Identifier: Apache-2.0
 * Stands before libc's allocator for the whole process, so that strdup and asprintf fail too. */
#include "failing_malloc.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

/* glibc's own names for what is replaced here. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *pointer, size_t size);
void __libc_free(void *pointer);

static atomic_size_t countdown;
static atomic_bool failed;
static atomic_long alive;

void
malloc_fail_at(size_t n)
{
    atomic_store(&failed, false);
    atomic_store(&countdown, n);
}

bool
malloc_has_failed(void)
{
    return atomic_load(&failed);
}

long
malloc_alive(void)
{
    return atomic_load(&alive);
}

static bool
fails(void)
{
    size_t left = atomic_load(&countdown);

    while (left > 0) {
        if (atomic_compare_exchange_weak(&countdown, &left, left - 1)) {
            if (left == 1) {
                atomic_store(&failed, true);
                errno = ENOMEM;
                return true;
            }
            return false;
        }
    }
    return false;
}

static void *
counted(void *pointer)
{
    alive += pointer != NULL;
    return pointer;
}

void *
malloc(size_t size)
{
    return fails() ? NULL : counted(__libc_malloc(size));
}

void *
calloc(size_t count, size_t size)
{
    return fails() ? NULL : counted(__libc_calloc(count, size));
}

void *
realloc(void *pointer, size_t size)
{
    void *result = fails() ? NULL : __libc_realloc(pointer, size);

    alive += pointer == NULL && result != NULL;
    return result;
}

void
free(void *pointer)
{
    alive -= pointer != NULL;
    __libc_free(pointer);
}
