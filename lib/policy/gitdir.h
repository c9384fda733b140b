/* SPDX-License-Identifier: Apache-2.0
 * What a path inside a git directory is, by its meaning for git.  Pure. */
#ifndef ABX_POLICY_GITDIR_H
#define ABX_POLICY_GITDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum git_file {
    GIT_FREE = 0, /* objects, refs, logs, index, HEAD, *.lock, hooks/NAME.sample ... */
    GIT_DIRECTORY, /* the git directory itself, or a file that leads to one: a file only by content
                    */
    GIT_PLACE, /* a directory that holds guarded names: made and removed, never moved or replaced */
    GIT_HOOK, /* hooks/NAME: never */
    GIT_CONFIG, /* config, config.worktree: only by a replacement whose content passes */
    GIT_ATTRIBUTES, /* info/attributes: likewise */
    GIT_LINK, /* commondir: would send git to another directory; only by content */
    GIT_COPY /* GIT_COPY_PREFIX and more: judged content on its way to a name beside it; never */
};

/* How names begin under which judged content waits to be renamed over another name. */
#define GIT_COPY_PREFIX ".abx-"

/* Whether git, on whatever file system, takes a component of this length for ".git". */
bool git_is_name(const char *name, size_t length);
/* Classifies `path`, relative to a git directory ("" is the directory itself).  *ret_depth: number
 * of its components up to the one that decides; what lies below inherits. */
enum git_file git_file_classify(const char *path, uint32_t *ret_depth);
/* The same name by name, for who has no path yet: where one is, and what a name makes of it. */
enum git_place {
    GIT_INSIDE, /* of a git directory: where a walk begins */
    GIT_IN_WORKTREES,
    GIT_IN_MODULES,
    GIT_IN_MODULE,
    GIT_IN_HOOKS,
    GIT_IN_INFO,
    GIT_IN_MODULE_HOOKS,
    GIT_IN_MODULE_INFO,
    GIT_OUT /* nothing below is guarded, or all is by what was found */
};
/* *ret_file: what the path is now; *ret_inherits: all that lies below is that, too. */
enum git_place git_place_enter(enum git_place place, const char *name, size_t length,
        enum git_file *ret_file, bool *ret_inherits);
/* Whether some name below the directory `path` (relative) is not free. */
bool git_directory_guards(const char *path);
/* Whether a call of this name (NULL: none in particular) on such a file is refused. */
bool git_file_refuses(enum git_file file, const char *verb);
/* Whether new content may lift the refusal. */
bool git_file_is_by_content(enum git_file file);

#endif
