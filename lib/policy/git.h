/* SPDX-License-Identifier: Apache-2.0
 * Git protected by meaning: what a file in a git directory is, and whether new content of its
 * configuration may stand.  Pure; the policy rules of git directories are made from this. */
#ifndef ABX_POLICY_GIT_H
#define ABX_POLICY_GIT_H

#include <stdbool.h>
#include <stddef.h>

/* Whether `after` may replace `before` (NULL: there was none) as the git configuration at the
 * absolute `path`: no key that can run a program or redirect git is added or changed, and both
 * parse.  A submodule's core.worktree may lead back into the tree that holds it.  On false,
 * `reason` says which key. */
bool git_config_allows(const char *path, const char *before, size_t before_length,
        const char *after, size_t after_length, char *reason, size_t reason_room);
/* The same for info/attributes (filter=, diff=, merge= drivers may not be added). */
bool git_attributes_allow(const char *before, size_t before_length, const char *after,
        size_t after_length, char *reason, size_t reason_room);

#endif
