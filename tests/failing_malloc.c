/* SPDX-License-Identifier: Apache-2.0
 * Stands before libc's allocator for the whole process, so that strdup and asprintf fail too; where
 * there is a sanitizer, before its allocator. */
#include "failing_malloc.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* glibc's own names for what is replaced here. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *pointer, size_t size);
void __libc_free(void *pointer);

/* A sanitizer's. */
void *__interceptor_malloc(size_t size) __attribute__((weak));
void *__interceptor_calloc(size_t count, size_t size) __attribute__((weak));
void *__interceptor_realloc(void *pointer, size_t size) __attribute__((weak));
void __interceptor_free(void *pointer) __attribute__((weak));

#define REAL(name) (__interceptor_##name != NULL ? __interceptor_##name : __libc_##name)

/* Runs before a sanitizer is ready. */
#define BARE __attribute__((no_sanitize("address", "undefined")))

static bool (*_Atomic decide)(const void *caller);
static atomic_size_t countdown;
static atomic_bool failed;
static atomic_long alive;
static _Thread_local bool uncounted, passing;

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

void
malloc_fail_if(bool (*fn)(const void *caller))
{
    atomic_store(&decide, fn);
}

void
malloc_uncounted(bool on)
{
    uncounted = on;
}

BARE static bool
fails(const void *caller)
{
    bool (*fn)(const void *) = atomic_load(&decide);
    size_t left = atomic_load(&countdown);

    if (passing) {
        return false;
    }
    if (fn != NULL && fn(caller)) {
        errno = ENOMEM;
        return true;
    }
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

BARE static void *
counted(void *pointer)
{
    alive += pointer != NULL && !uncounted;
    return pointer;
}

BARE void *
malloc(size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : counted(REAL(malloc)(size));
}

BARE void *
calloc(size_t count, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : counted(REAL(calloc)(count, size));
}

BARE void *
realloc(void *pointer, size_t size)
{
    void *result = fails(__builtin_return_address(0)) ? NULL : REAL(realloc)(pointer, size);

    alive += pointer == NULL && result != NULL;
    return result;
}

BARE static char *
copy(const char *text, size_t length, const void *caller)
{
    char *result = fails(caller) ? NULL : counted(REAL(malloc)(length + 1));

    if (result != NULL) {
        memcpy(result, text, length);
        result[length] = '\0';
    }
    return result;
}

/* A sanitizer's own would allocate behind our back, and libc's would be the caller. */
BARE char *
strndup(const char *text, size_t most)
{
    return copy(text, strnlen(text, most), __builtin_return_address(0));
}

BARE char *
strdup(const char *text)
{
    return copy(text, strlen(text), __builtin_return_address(0));
}

BARE void
free(void *pointer)
{
    alive -= pointer != NULL;
    REAL(free)(pointer);
}

#ifdef __SANITIZE_ADDRESS__
/* A sanitizer asks for a thread's stack as the thread starts, and ends the process where that lacks
 * memory. */
BARE int
pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes)
{
    static int (*_Atomic real)(pthread_t, pthread_attr_t *);
    int r;

    passing = true;
    if (real == NULL) {
        real = (int (*)(pthread_t, pthread_attr_t *))dlsym(RTLD_NEXT, "pthread_getattr_np");
    }
    r = real(thread, attributes);
    passing = false;
    return r;
}
#endif
