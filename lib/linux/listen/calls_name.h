/* SPDX-License-Identifier: Apache-2.0
 * Inside the listener only: what the calls on one name and on two share. */
#ifndef ABX_LINUX_CALLS_NAME_H
#define ABX_LINUX_CALLS_NAME_H

#include "linux/listen/course.h"

/* Whether everything in the directory is as protected below `to` as where it is.  Blocks; workers
 * only. */
bool move_keeps_protection(struct call *call, struct resolved *from, const char *to);
/* Moves a file that is neither a directory nor a link, and no other, to another name, whose place
 * is taken (is_new: must not be).  0 or -errno. */
int move_object(struct call *call, struct resolved *from, int from_parent,
        const struct resolved *to, int to_parent, bool is_new);
/* Before a name is looked at, until it is made or moved.  Where patterns decide, whoever moves
 * something is alone: else a directory could get other content after it was looked at, or another
 * place after the path of something in it was judged.  False: not at once; on a worker. */
bool name_enter(struct call *call, bool alone);
void name_leave(struct call *call);
/* Whether a symbolic link with this text may stand at `link`.  Blocks; workers only. */
bool link_may_stand(struct call *call, const char *link, const char *text);
/* rename and link. */
enum call_result calls_move(struct call *call);
/* A directory came to stand in a guarded one: what is in it may be written directly, if nothing in
 * it is protected.  Blocks; workers only. */
void name_made_directory(struct call *call, const char *path);
/* The calling worker's umask becomes that of the caller; false with errno: nothing may be made. */
bool name_take_umask(const struct call *call);
/* A file that is renamed, opened for reading; -1: its content is not to be decided about. */
int content_open(struct call *call, struct resolved *source);
/* A nameless copy of it in another directory, with its mode; -1: it cannot be had. */
int content_copy(const struct resolved *source, int opened, int to_parent);
/* Gives a file, by its descriptor, this name over what has it; in one step only in git directories.
 * 0 or -errno. */
int name_put_copy(const struct call *call, int copy, const struct resolved *to, int to_parent);

#endif
