/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: limits of a whole box by cgroup v2, where the host was given a part of the
 * tree. */
#ifndef ABX_LINUX_CGROUP_H
#define ABX_LINUX_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CGROUP_ROOT "/sys/fs/cgroup"

struct cgroup; /* the group of one box */

/* How often its limits were in the way. */
struct cgroup_counts {
    uint64_t killed_for_memory; /* processes */
    uint64_t processes_refused;
};

/* The host's own group, from the text of /proc/self/cgroup ("0::/path"); false if it has none. */
bool cgroup_own(const char *text, char *buffer, size_t room);
/* Makes a group below the host's own or beside it, with these limits (0: none), or returns NULL and
 * -errno in *ret_error: -EOPNOTSUPP if no part of the tree was delegated with the controllers
 * needed. */
struct cgroup *cgroup_new(const char *root, uint64_t memory, uint64_t processes, int *ret_error);
/* Whether cgroup_new would work, tried: 1 or 0, or -errno where something lacks that may be there
 * the next time. */
int cgroup_delegated(const char *root);
/* 0 or -errno. */
int cgroup_add(struct cgroup *cgroup, int32_t pid);
/* What there was since the last call; NULL: nothing is known. */
struct cgroup_counts cgroup_take_counts(struct cgroup *cgroup);
/* Every process in it, at once; where the kernel has no cgroup.kill (before 5.14) nothing. */
void cgroup_kill(struct cgroup *cgroup);
/* After the last process is gone. NULL is nothing. */
void cgroup_free(struct cgroup *cgroup);

/* For tests: the parts that work on the directory of a group. */
int cgroup_limit(int directory, uint64_t memory, uint64_t processes);
/* What is more than *told, which becomes what there is; what cannot be read stays as it was told.
 */
struct cgroup_counts cgroup_new_counts(int directory, struct cgroup_counts *told);

#endif
