/* SPDX-License-Identifier: Apache-2.0
 * What policy and plan may ask about the host's file system.  The backend implements it with real
 * calls, tests with a table, so that everything up to the plan stays pure. */
#ifndef ABX_BASE_HOST_H
#define ABX_BASE_HOST_H

#include "base/vec.h"

#include <stdint.h>

enum host_kind { HOST_MISSING = 0, HOST_FILE, HOST_DIRECTORY, HOST_SYMLINK, HOST_OTHER };

struct host_view {
    void *data;
    /* What stands at the absolute path, without following a last symbolic link. */
    enum host_kind (*look)(void *data, const char *path);
    /* The path with every symbolic link in its existing part resolved; what does not exist is kept
     * as spelled.  Caller frees; NULL with errno: ENOMEM, or ELOOP where links loop. */
    char *(*real_path)(void *data, const char *path);
    /* Adds the names (char *, caller frees) in a directory; 0, or -errno and then perhaps some. */
    int (*list)(void *data, const char *path, struct vec *names);
    /* The first 64 KiB of a regular file as text (no link followed); NULL if it cannot be read.
     * Caller frees.  A view without it (NULL) knows no linked git worktrees. */
    char *(*read_text)(void *data, const char *path);
    /* Why a look at something, by this thread since it last asked here, could not tell what is
     * there: an errno, 0: none.  Then what was said to be missing may not be, and nothing may be
     * built on it.  A view without it (NULL) always can. */
    int (*trouble)(void *data);
    /* Adds the paths (char *, caller frees) of what is called ".git" below a directory, the nearest
     * first, as far as a look at this many names goes; 0, 1 if there is more to search, or -errno.
     * NULL: finds nothing. */
    int (*find_git)(void *data, const char *path, uint32_t most, struct vec *paths);
};

/* The platform's. */
extern const struct host_view host_real;

static inline int
host_trouble(const struct host_view *host)
{
    return host->trouble == NULL ? 0 : host->trouble(host->data);
}

#endif
