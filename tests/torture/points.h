/* SPDX-License-Identifier: Apache-2.0
 * Where something can fail: each allocation and each system call of the library, counted as they
 * come, in whatever thread.  One of them fails, or all from one on. */
#ifndef ABX_TESTS_POINTS_H
#define ABX_TESTS_POINTS_H

#include <stdbool.h>
#include <stddef.h>

enum points_kind {
    POINTS_NONE,
    POINTS_MEMORY,
    POINTS_CALLS,
    POINTS_DESCRIPTORS, /* those calls that make one */
    POINTS_INIT /* system calls of the program in the box: counted there (failing_init.c) */
};

/* The n-th point of this kind from now on fails, from 1; with `lasting` all later ones too. */
void points_arm(enum points_kind kind, size_t n, bool lasting);
/* From here on nothing fails; whether something did. */
bool points_disarm(void);
size_t points_count(void); /* since points_arm */
/* The errno of the first that failed since points_arm; 0: nothing did. */
int points_error(void);
void points_show(void); /* the stack of the one that failed, on stderr */

/* From now on nothing of this thread is a point, or is again. */
void points_pass(bool on);
/* Asked at each point; true: fail here, with errno. */
bool point_fails(enum points_kind kind, int error);

#endif
