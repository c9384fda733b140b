/* SPDX-License-Identifier: Apache-2.0
 * Whether a directory may get another name where patterns apply: every name in it must be as
 * protected at the new place as at the old one, or the rename would free it, or put unprotected
 * content under it. */
#include "linux/listen/calls_name.h"

#include "base/mem.h"
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAMES_MAX 20000u
#define DEPTH_MAX 64u

struct tree {
    struct call *call;
    unsigned int names, depth;
};

/* The same verdicts: for writing, and where names decide about it for reading. */
static bool
is_alike(struct call *call, const char *from, const char *to)
{
    return call_look(call, ABX_ACCESS_WRITE, from) == call_look(call, ABX_ACCESS_WRITE, to) &&
           (!call->boundary->plan->read_patterns ||
                   call_look(call, ABX_ACCESS_READ, from) == call_look(call, ABX_ACCESS_READ, to));
}

/* A link leads from its new place. */
static bool
link_may_move(struct call *call, int directory, const struct dirent *entry, const char *to)
{
    char text[PATH_MAX];
    ssize_t n = entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN
                        ? readlinkat(directory, entry->d_name, text, sizeof text - 1)
                        : 0;

    if (n <= 0) {
        return n == 0 || errno == EINVAL; /* no link */
    }
    text[n] = '\0';
    return link_may_stand(call, to, text);
}

static bool same_below(struct tree *tree, int directory, const char *from, const char *to);

static bool
same_name(struct tree *tree, DIR *stream, const struct dirent *entry, const char *from,
        const char *to)
{
    AUTO(freep) char *old = path_join(from, entry->d_name);
    AUTO(freep) char *new = path_join(to, entry->d_name);
    int directory;

    if (old == NULL || new == NULL || ++tree->names > NAMES_MAX ||
            !is_alike(tree->call, old, new) ||
            !link_may_move(tree->call, dirfd(stream), entry, new)) {
        return false;
    }
    if (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) {
        return true;
    }
    directory =
            openat(dirfd(stream), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return directory < 0 ? errno == ENOTDIR : same_below(tree, directory, old, new);
}

/* Takes the directory. */
static bool
same_below(struct tree *tree, int directory, const char *from, const char *to)
{
    DIR *stream = fdopendir(directory);
    const struct dirent *entry;
    bool is_same = true;

    if (stream == NULL) {
        close_fd(directory);
        return false;
    }
    tree->depth++;
    while (is_same && tree->depth <= DEPTH_MAX && (entry = readdir(stream)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            is_same = same_name(tree, stream, entry, from, to);
        }
    }
    is_same = is_same && tree->depth <= DEPTH_MAX;
    tree->depth--;
    closedir(stream);
    return is_same;
}

bool
move_keeps_protection(struct call *call, struct resolved *from, const char *to)
{
    struct tree tree = { .call = call };
    AUTO(closep) int object = resolve_host_object(call, from);
    int directory = object < 0 ? -1 : openat(object, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return directory >= 0 && same_below(&tree, directory, from->path, to);
}
