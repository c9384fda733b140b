/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/policy: git directories that a `.git` file or a worktree leads to. */
#ifndef ABX_POLICY_GITLINK_H
#define ABX_POLICY_GITLINK_H

#include "base/host.h"
#include "policy/rules.h"

/* For each writable root of an unfinished layer: if its `.git` is a file that git itself made for
 * it (the git directory points back), what git needs there becomes writable, and is judged by
 * meaning; links of worktrees that exist are guarded. */
abx_status git_add_linked(struct layer *layer, const struct host_view *host, struct fail *fail);

#endif
