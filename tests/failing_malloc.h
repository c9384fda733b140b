/* SPDX-License-Identifier: Apache-2.0
 * The allocator of a test: counts what is alive, and lets the n-th allocation fail. */
#ifndef ABX_TESTS_FAILING_MALLOC_H
#define ABX_TESTS_FAILING_MALLOC_H

#include <stdbool.h>
#include <stddef.h>

/* The n-th allocation from now on fails, in whatever thread; 0: none. */
void malloc_fail_at(size_t n);
bool malloc_has_failed(void); /* since malloc_fail_at */
/* Whoever is asked at each allocation, with its caller, whether it fails; NULL: nobody. */
void malloc_fail_if(bool (*fn)(const void *caller));
long malloc_alive(void); /* allocations not freed */
/* What this thread allocates from now on is not counted: libc keeps it. */
void malloc_uncounted(bool on);

#endif
