/* SPDX-License-Identifier: Apache-2.0
 * Says, when a command has ended, what is executable in the git directories that it made.  Nothing
 * should be: hooks are refused by name.  What still is there was put there by somebody else, or in
 * a race on a host without Landlock. */
#include "linux/listen/calls_git.h"

#include "base/mem.h"
#include "linux/listen/listeners.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MADE_MAX                                                                                   \
    256u /* directories of all commands; what is beyond is guarded, and not looked at */
#define LOOKED_AT_MAX 1024u /* names in one directory */

/* ---- what commands made ---- */

void
git_remember(struct call *call, int parent, const char *path)
{
    struct listeners *listeners = call->boundary->listeners;
    struct made_git made = { .command = call->command };
    struct made_git *place = NULL;

    made.path = resolve_may_block(call, parent) ? NULL : strdup(path);
    if (made.path == NULL) {
        return;
    }
    pthread_mutex_lock(&listeners->lock);
    if (listeners->made_git.count < MADE_MAX) {
        place = vec_add(&listeners->made_git);
    }
    if (place != NULL) {
        *place = made;
    }
    pthread_mutex_unlock(&listeners->lock);
    if (place == NULL) {
        free(made.path);
    }
}

/* The path of one that this command made, which is forgotten; NULL: there is none. */
static char *
take(struct listeners *listeners, uint64_t command)
{
    char *path = NULL;

    pthread_mutex_lock(&listeners->lock);
    for (size_t i = 0; i < listeners->made_git.count && path == NULL; i++) {
        const struct made_git *made = vec_at(&listeners->made_git, struct made_git, i);

        if (made->command == command) {
            path = made->path;
            vec_remove(&listeners->made_git, i);
        }
    }
    pthread_mutex_unlock(&listeners->lock);
    return path;
}

/* ---- what is in them ---- */

static bool
is_sample(const char *name)
{
    static const char end[] = ".sample";
    size_t length = strlen(name);

    return length >= sizeof end && strcmp(name + length - (sizeof end - 1), end) == 0;
}

static bool
is_executable(int directory, const char *name)
{
    struct stat stat;

    return fstatat(directory, name, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
           (S_ISLNK(stat.st_mode) || (S_ISREG(stat.st_mode) && (stat.st_mode & 0111) != 0));
}

static void
look_into(struct boundary *boundary, uint64_t command, const char *path)
{
    struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
        .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS };
    int fd = (int)syscall(SYS_openat2, boundary->root, path, &how, sizeof how);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    if (directory == NULL) {
        close_fd(fd);
        return;
    }
    for (unsigned int i = 0; i < LOOKED_AT_MAX && (entry = readdir(directory)) != NULL; i++) {
        AUTO(freep) char *target = NULL;

        if (is_sample(entry->d_name) || !is_executable(dirfd(directory), entry->d_name) ||
                asprintf(&target, "%s/%s", path, entry->d_name) < 0) {
            continue;
        }
        const struct subject subject = { .command = command, .program = "" };
        const struct act act = {
            .request = ABX_REQUEST_PATH,
            .access = ABX_ACCESS_EXEC,
            .target = target,
            .verb = "execute",
            .content = -1,
        };

        boundary->broker->report(boundary->broker->data, ABX_EVENT_NOTICE, &subject, &act,
                "boundary:git-executable",
                "the command made this git directory, and git may execute what is in it",
                "look at it before you use git there");
    }
    closedir(directory);
}

static void
look_into_hooks(struct boundary *boundary, uint64_t command, const char *path)
{
    AUTO(freep) char *hooks = NULL;

    if (asprintf(&hooks, "%s/hooks", path) >= 0) {
        look_into(boundary, command, hooks);
    }
}

void
notify_report_git(struct boundary *boundary, uint64_t command)
{
    char *path;

    while (boundary->listeners != NULL && (path = take(boundary->listeners, command)) != NULL) {
        look_into(boundary, command, path);
        look_into_hooks(boundary, command, path);
        free(path);
    }
}

void
git_forget(struct listeners *listeners)
{
    for (size_t i = 0; i < listeners->made_git.count; i++) {
        free(vec_at(&listeners->made_git, struct made_git, i)->path);
    }
    vec_done(&listeners->made_git);
}
