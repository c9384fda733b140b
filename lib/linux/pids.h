/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: which process of the host a number in the box's process namespace is. */
#ifndef ABX_LINUX_PIDS_H
#define ABX_LINUX_PIDS_H

#include <stdint.h>

struct pids;

/* `init`: pid 1 of the box, as the host sees it.  NULL: no memory. */
struct pids *pids_new(int32_t init);
void pids_free(struct pids *pids); /* NULL is nothing */
/* The process (thread group) that thread `number` of the box belongs to; 0 if it is gone. Not
 * thread-safe. */
int32_t pids_host(struct pids *pids, int32_t number);

#endif
