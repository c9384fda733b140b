/* SPDX-License-Identifier: Apache-2.0
 * The real file system behind struct host_view.  Any thread; the only state is each thread's own
 * trouble. */
#include "linux/host.h"

#include "base/mem.h"
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TEXT_MAX (64u << 10)

static _Thread_local int last_trouble;

/* What is missing, or closed to the host and so to the box, is an answer; the rest is trouble. */
static void
note(int error)
{
    static const int answers[] = { ENOENT, ENOTDIR, EACCES, EPERM, ELOOP, ENAMETOOLONG };

    for (size_t i = 0; i < N_ELEMENTS(answers); i++) {
        if (error == answers[i]) {
            return;
        }
    }
    last_trouble = error;
}

static int
trouble(void *data)
{
    int error = last_trouble;

    last_trouble = 0;
    return error;
}

static enum host_kind
look(void *data, const char *path)
{
    struct stat stat;

    if (lstat(path, &stat) < 0) {
        note(errno);
        return HOST_MISSING;
    }
    switch (stat.st_mode & S_IFMT) {
    case S_IFREG:
        return HOST_FILE;
    case S_IFDIR:
        return HOST_DIRECTORY;
    case S_IFLNK:
        return HOST_SYMLINK;
    default:
        return HOST_OTHER;
    }
}

/* Whether the spelling is the only one: nothing that only names the way. */
static bool
is_plain(const char *path)
{
    for (const char *slash = path; slash != NULL; slash = strchr(slash + 1, '/')) {
        const char *name = slash + 1;
        size_t length = strcspn(name, "/");

        if (path[1] != '\0' && (length == 0 || (length == 1 && name[0] == '.') ||
                                       (length == 2 && name[0] == '.' && name[1] == '.'))) {
            return false;
        }
    }
    return path[0] == '/';
}

/* Most paths have no link in them: one look-up tells, where realpath(3) makes one for each name.
 * 0, or what it failed with: ELOOP where a link is. */
static int
look_without_links(const char *path)
{
    struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };
    AUTO(closep)
    int fd = is_plain(path) ? (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how) : -1;

    return fd >= 0 ? 0 : is_plain(path) ? errno : ELOOP;
}

static char *
without_memory(void)
{
    note(ENOMEM);
    errno = ENOMEM;
    return NULL;
}

static char *
real_path(void *data, const char *path)
{
    int error = look_without_links(path);
    char *real = error == 0 ? strdup(path) : NULL;
    AUTO(freep) char *parent = NULL;
    AUTO(freep) char *real_parent = NULL;

    if (error == 0) {
        return real == NULL ? without_memory() : real;
    }
    if (error != ENOENT) {
        real = realpath(path, NULL);
        if (real != NULL || errno == ELOOP) {
            return real;
        }
        if (errno == ENOMEM) {
            return without_memory();
        }
        note(errno);
    }
    /* What is missing, or cannot be looked at, is kept as spelled: nothing can be reached there by
     * us, and so not by the box. */
    if (strcmp(path, "/") == 0) {
        real = strdup(path);
        return real == NULL ? without_memory() : real;
    }
    parent = path_parent(path);
    if (parent == NULL) {
        return without_memory();
    }
    real_parent = real_path(data, parent);
    if (real_parent == NULL) {
        return NULL;
    }
    real = path_join(real_parent, strrchr(path, '/') + 1);
    return real == NULL ? without_memory() : real;
}

static int
list(void *data, const char *path, struct vec *names)
{
    DIR *directory = opendir(path);
    const struct dirent *entry;

    if (directory == NULL) {
        note(errno);
        return -errno;
    }
    while ((entry = readdir(directory)) != NULL) {
        char **name;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        name = vec_add(names);
        if (name != NULL) {
            *name = strdup(entry->d_name);
        }
        if (name == NULL || *name == NULL) {
            names->count -= name != NULL;
            note(ENOMEM);
            closedir(directory);
            return -ENOMEM;
        }
    }
    closedir(directory);
    return 0;
}

static char *
read_text(void *data, const char *path)
{
    AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    AUTO(freep) char *text = NULL;
    struct stat stat;
    ssize_t n;

    if (fd < 0 || fstat(fd, &stat) < 0) {
        note(errno);
        return NULL;
    }
    if (!S_ISREG(stat.st_mode)) {
        return NULL;
    }
    text = calloc(1, TEXT_MAX + 1);
    n = text == NULL ? -1 : pread(fd, text, TEXT_MAX, 0);
    if (n < 0) {
        note(errno);
        return NULL;
    }
    return steal_ptr(&text);
}

const struct host_view host_real = {
    .look = look,
    .real_path = real_path,
    .list = list,
    .read_text = read_text,
    .trouble = trouble,
};
