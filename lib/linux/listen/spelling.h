/* SPDX-License-Identifier: Apache-2.0
 * Inside the listener only: from what a caller spelled to an absolute path. */
#ifndef ABX_LINUX_SPELLING_H
#define ABX_LINUX_SPELLING_H

#include "linux/listen/call.h"

/* Absolute in `path` (room PATH_MAX): relative to the caller's descriptor `dirfd` or its cwd. 0 or
 * -errno. */
int spelling_absolute(const struct call *call, int dirfd, const char *asked, char *path);
/* Links of /proc and /dev that mean the process which looks: here they mean the caller. 0 or
 * -errno. */
int spelling_put_caller(const struct call *call, char *path);
/* "/a/./b//../c" is "/a/c": as text, for what could not be looked up. */
void spelling_remove_dots(char *path);
/* Whether the path is the prefix, or below it. */
bool spelling_starts_with(const char *path, const char *prefix);

#endif
