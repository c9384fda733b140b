/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: listeners that any thread may add, and whose connections arrive on the
 * loop's, unless they are asked for. */
#ifndef ABX_LINUX_LISTENING_H
#define ABX_LINUX_LISTENING_H

#include "base/loop.h"

struct listening;

/* A connection at the listener with this key: non-blocking, the callee's. */
typedef void (*listening_fn)(void *data, uint32_t key, int fd);

struct listening *listening_new(struct loop *loop, listening_fn fn, void *data); /* NULL: errno */
bool listening_watch(struct listening *listening); /* loop thread; false: errno */
void listening_free(struct listening *listening); /* loop thread; closes all */
/* Takes the listener, also when it fails; any thread.  False: errno. */
bool listening_add(struct listening *listening, int fd, uint32_t key);
/* Gives out the first of what has arrived there, if something has, on this thread. */
void listening_accept(struct listening *listening, int fd);
/* Closes it; what had arrived there is given out first, on this thread. */
void listening_remove(struct listening *listening, int fd);

#endif
