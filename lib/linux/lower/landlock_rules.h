/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: Landlock's rights and rules for the two ways in which a box is lowered. */
#ifndef ABX_LINUX_LANDLOCK_RULES_H
#define ABX_LINUX_LANDLOCK_RULES_H

#include "linux/lower/lower_view.h"

/* landlock(7); this may be compiled with older headers. */
enum {
    FS_EXECUTE = 1 << 0,
    FS_WRITE_FILE = 1 << 1,
    FS_READ_FILE = 1 << 2,
    FS_READ_DIR = 1 << 3,
    FS_REMOVE = 0x30, /* directory, file */
    FS_MAKE = 0x1fc0, /* all seven kinds */
    FS_REFER = 1 << 13, /* since ABI 2; before, renames between directories are refused */
    FS_TRUNCATE = 1 << 14, /* since ABI 3 */
    FS_IOCTL_DEV = 1 << 15, /* since ABI 5 */
    NET_TCP = 3, /* bind and connect, since ABI 4 */
    SCOPE_ABSTRACT = 1, /* since ABI 6 */
    SCOPE_SIGNAL = 2,

    FS_READ = FS_READ_FILE | FS_READ_DIR,
    FS_WRITE = FS_WRITE_FILE | FS_TRUNCATE,
    FS_CHANGE = FS_WRITE | FS_REMOVE | FS_MAKE | FS_REFER,
    FS_OF_FILE = FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV
};

/* The rights to a place that may be written: where the broker does the writing, only to remove. */
uint64_t landlock_change(const struct plan *plan, const char *path);
/* One rule, with what the ABI knows of these rights. */
void landlock_allow(
        struct lowering *lowering, const char *path, bool is_directory, uint64_t rights);
/* The same for what was found by looking: gone or a link by now, it gets no right. */
void landlock_allow_found(
        struct lowering *lowering, const char *path, bool is_directory, uint64_t rights);
/* lower_landlock.c: the rules of a box without mounts, where Landlock is the wall. */
void landlock_allow_without_mounts(struct lowering *lowering);

#endif
