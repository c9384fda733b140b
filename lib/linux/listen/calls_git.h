/* SPDX-License-Identifier: Apache-2.0
 * Inside the listener only: the names by which git finds its directories. */
#ifndef ABX_LINUX_CALLS_GIT_H
#define ABX_LINUX_CALLS_GIT_H

#include "linux/listen/calls_name.h"
#include "linux/listen/calls_open.h"

/* Whether git would take what has this name for its directory, or go where it leads: then the
 * kernel does not do it by itself, even where the box may write.  Negative: its path cannot be told
 * (course_untold). */
int git_name_matters(struct call *call, struct resolved *resolved);
/* The same for all names that git does not leave free: in a git directory that was made a moment
 * ago the box may still write. */
int git_name_is_guarded(struct call *call, struct resolved *resolved);
/* What was made under such a name in a place that the box may write, and does not know yet, becomes
 * read-only in the box. `parent` is in the box.  0 or -errno.  Workers only. */
int git_guard(struct call *call, int parent, const char *name);
/* Whether there are, or could be, such names in a directory of the host.  Blocks; workers only. */
bool git_is_in(const char *directory);
/* Guards those in a directory that was moved to where the box does not write yet; `parent` is in
 * the box.  False: not all. */
bool git_guard_moved(struct call *call, int parent, const char *directory);
/* Remembers a git directory that the call's command made; `parent` is in the box.  Not on a file
 * system that may block, since the loop's thread looks at it again.  Any thread. */
void git_remember(struct call *call, int parent, const char *path);
/* Gives judged content its name in a directory of the host, and guards it where that must be; what
 * cannot be guarded does not stay.  `to->parent` is in the box.  0 or -errno.  Workers only. */
int git_put_copy(struct call *call, int copy, struct resolved *to, int to_parent);
/* Opens such a file to be made or replaced: it appears when its content is there and was judged. */
enum call_result git_open_link(
        struct call *call, struct resolved *resolved, const struct open_request *request);
/* Waits until such files that were written are in their places, so that whoever wrote one and goes
 * on finds it there.  False: on the loop's thread there is something to wait for. */
bool git_wait_for_links(const struct call *call);

#endif
