/* SPDX-License-Identifier: Apache-2.0
 * Reads the file that stands and the one that shall stand, bounded, and lets lib/policy/git judge.
 * What cannot be read is refused. */
#include "supervise/content.h"

#include "base/mem.h"
#include "base/path.h"
#include "policy/git.h"
#include "policy/gitdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONTENT_MAX (1u << 20)

/* All of a regular file, from its start; the file's own position does not move. */
static char *
read_all(int fd, size_t *ret_length)
{
    struct stat status;
    AUTO(freep) char *data = NULL;
    size_t length = 0;

    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size > CONTENT_MAX) {
        return NULL;
    }
    data = malloc(CONTENT_MAX + 1);
    while (data != NULL) {
        ssize_t n = pread(fd, data + length, CONTENT_MAX + 1 - length, (off_t)length);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 || (length += (size_t)n) > CONTENT_MAX) {
            return NULL;
        }
        if (n == 0) {
            break;
        }
    }
    *ret_length = length;
    return steal_ptr(&data);
}

/* ---- files that send git to a directory ---- */

/* Whether a rule about git, and not something else, keeps this call from the path. */
static bool
is_guarded(abx_policy *policy, const char *directory, const char *name, const char *rule)
{
    AUTO(freep) char *path = path_join(directory, name);
    abx_request request = { .size = sizeof request,
        .kind = ABX_REQUEST_PATH,
        .access = ABX_ACCESS_WRITE,
        .target = path,
        .verb = "open" };
    struct ruling ruling;

    return path != NULL && policy_decide(policy, &request, &ruling) == ABX_VERDICT_DENY &&
           strcmp(ruling.id, rule) == 0;
}

/* Whether a component of the path as it is spelled is ".git": wherever the file is moved, it leads
 * into a directory of that name. */
static bool
spells_git(const char *path)
{
    for (size_t length; *path != '\0'; path += length) {
        path += strspn(path, "/");
        length = strcspn(path, "/");
        if (git_is_name(path, length)) {
            return true;
        }
    }
    return false;
}

/* `path` as it is spelled, from the real directory `parent` on: only the names of directories that
 * it climbs out of first are left out. */
static char *
spelled_from(const char *parent, const char *path)
{
    AUTO(freep) char *directory = strdup(parent);

    if (path[0] == '/') {
        return strdup(path);
    }
    for (; directory != NULL && strncmp(path, "../", 3) == 0; path += 3) {
        char *above = path_parent(directory);

        free(directory);
        directory = above;
    }
    return directory == NULL ? NULL : path_join(directory, path);
}

/* "gitdir: PATH": to a directory whose hooks and configuration are guarded.  No link is on the way:
 * it could lead elsewhere later. */
static bool
git_file_allows(
        abx_policy *policy, const struct host_view *host, const char *target, const char *text)
{
    const char *path = text + strlen("gitdir: ");
    AUTO(freep) char *parent = path_parent(target);
    AUTO(freep) char *spelled = NULL;
    AUTO(freep) char *real = NULL;

    if (parent == NULL || strncmp(text, "gitdir: ", strlen("gitdir: ")) != 0 || !spells_git(path)) {
        return false;
    }
    spelled = spelled_from(parent, path);
    real = spelled == NULL ? NULL : host->real_path(host->data, spelled);
    return real != NULL && strcmp(spelled, real) == 0 &&
           is_guarded(policy, real, "hooks/x", "protect:.git/hooks") &&
           is_guarded(policy, real, "config", "protect:.git/config");
}

/* What git writes to worktrees/NAME/commondir. */
static bool
commondir_allows(const char *target, const char *text)
{
    AUTO(freep) char *parent = path_parent(target);
    AUTO(freep) char *above = parent == NULL ? NULL : path_parent(parent);
    const char *name = above == NULL ? NULL : strrchr(above, '/');

    return name != NULL && strcmp(name, "/worktrees") == 0 && strcmp(text, "../..") == 0;
}

static bool
link_allows(abx_policy *policy, const struct host_view *host, const char *target, const char *data,
        size_t length, char *reason, size_t reason_room)
{
    AUTO(freep) char *text = strndup(data, length);
    bool is_line = text != NULL && strlen(text) == length;

    if (is_line && length > 0 && text[length - 1] == '\n') {
        text[length - 1] = '\0';
    }
    if (is_line && strpbrk(text, "\r\n") == NULL &&
            (strcasecmp(strrchr(target, '/'), "/commondir") == 0
                            ? commondir_allows(target, text)
                            : git_file_allows(policy, host, target, text))) {
        return true;
    }
    snprintf(reason, reason_room, "it does not lead to a git directory that is protected");
    return false;
}

bool
content_allows(abx_policy *policy, const struct host_view *host, const char *target, int content,
        char *reason, size_t reason_room)
{
    AUTO(closep) int fd = open(target, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool exists = fd >= 0 || errno != ENOENT;
    size_t before_length = 0, after_length = 0;
    AUTO(freep) char *before = fd < 0 ? NULL : read_all(fd, &before_length);
    AUTO(freep) char *after = read_all(content, &after_length);
    const char *name = strrchr(target, '/');

    if (after == NULL || (exists && before == NULL)) {
        snprintf(reason, reason_room, "its content cannot be read, or is too long to be judged");
        return false;
    }
    if (name != NULL && strcasecmp(name, "/attributes") == 0) {
        return git_attributes_allow(
                before, before_length, after, after_length, reason, reason_room);
    }
    if (name != NULL && (strcasecmp(name, "/commondir") == 0 || strcasecmp(name, "/.git") == 0)) {
        return link_allows(policy, host, target, after, after_length, reason, reason_room);
    }
    return git_config_allows(
            target, before, before_length, after, after_length, reason, reason_room);
}
