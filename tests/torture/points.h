/* SPDX-License-Identifier: Apache-2.0
 * Where something can fail: each allocation and each system call of the library, told apart by who
 * makes it, how deep, and how often.  One point fails in a run; all have failed when a run has no
 * new one. */
#ifndef ABX_TESTS_POINTS_H
#define ABX_TESTS_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum points_kind { POINTS_NONE, POINTS_MEMORY, POINTS_CALLS };

/* Points of this kind fail from now on, one until the next points_begin. */
void points_begin(enum points_kind kind);
void points_end(void);
bool points_have_failed(void); /* since points_begin */
size_t points_count(void); /* that have failed ever */
void points_show(void); /* the stack of the one that failed, on stderr */

/* Asked at each point; true: fail here. */
bool point_fails(enum points_kind kind, const void *caller, uintptr_t detail);

#endif
