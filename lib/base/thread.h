/* SPDX-License-Identifier: Apache-2.0
 * Threads of the library. */
#ifndef ABX_BASE_THREAD_H
#define ABX_BASE_THREAD_H

#include <pthread.h>
#include <stddef.h>

/* Starts a thread that is born with every signal blocked, so that no handler of the host ever runs
 * on it.  `stack` in bytes, 0: the host's default; ret_thread NULL: detached.  0 or an errno. */
int thread_start(pthread_t *ret_thread, size_t stack, void *(*run)(void *data), void *data);

/* Its waits are measured by the clock that nobody sets (clock_now_ns). */
void condition_init(pthread_cond_t *condition);

#endif
