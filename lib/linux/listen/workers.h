/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: at most four threads per box for what may block.  They are started when
 * there is work and end when there is none for a while; each has all signals blocked, its own umask
 * and cwd once it asks for them, and none of the capabilities of root that a box does not have. */
#ifndef ABX_LINUX_WORKERS_H
#define ABX_LINUX_WORKERS_H

#include <stdbool.h>

#define WORKERS_MAX 4u
#define WORKERS_QUEUE_MAX 64u

struct workers;

typedef void (*work_fn)(void *data);

struct workers *workers_new(void); /* NULL: no memory */
/* Runs fn on a worker.  0; EAGAIN: as many wait as may; ENOMEM: there is no thread, and none can be
 * had.  Any thread. */
int workers_do(struct workers *workers, work_fn fn, void *data);
/* Waits for running jobs; queued ones are run first. NULL is nothing. */
void workers_free(struct workers *workers);
/* The same for jobs that may never end, and own all that they use: it waits for a moment, then they
 * go on, and the last frees it. */
void workers_leave(struct workers *workers);
/* On a worker: from now on its umask and cwd are its own, never the host's; false with errno: they
 * are not, and nothing may be done that needs them. */
bool workers_be_apart(void);

/* Drops, from the calling thread only, what a root host may do and the box may not: file
 * permissions hold, and what the kernel shows to root alone is not shown.  Reading and killing the
 * processes of the box stays possible. */
void workers_drop_capabilities(void);

#endif
