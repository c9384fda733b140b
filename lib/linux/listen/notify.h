/* SPDX-License-Identifier: Apache-2.0
 * Answers the notified system calls of one command: decodes, resolves paths inside the box, asks
 * the broker, lets go on what the kernel layers decide, and does the rest on the caller's behalf.
 */
#ifndef ABX_LINUX_NOTIFY_H
#define ABX_LINUX_NOTIFY_H

#include "linux/boundary.h"

#include <stdatomic.h>

/* Whose calls they are; stands as long as the notify. */
struct notify_owner {
    atomic_uint_least64_t command;
    void (*ended)(struct notify_owner *owner); /* no process has the filter any more; may free */
};

/* Takes the listener.  NULL: errno says why.  Loop thread. */
struct notify *notify_new(struct boundary *boundary, struct notify_owner *owner, int listener);
/* Pending calls get EACCES or are gone.  Returns at once; what its workers still do ends by itself,
 * at the latest in notify_close. Loop thread. */
void notify_free(struct notify *notify);
/* Loop thread: calls held under this ticket go on or fail. */
void notify_answer(struct boundary *boundary, uint64_t ticket, abx_verdict verdict);
/* A command has ended: NOTICEs about what is executable in git directories that it made.  Loop
 * thread.
 */
void notify_report_git(struct boundary *boundary, uint64_t command);
/* Frees what the listeners of a box share (its workers); after the last notify_free of the box.
 * Loop thread. */
void notify_close(struct boundary *boundary);

#endif
