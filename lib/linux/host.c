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
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TEXT_MAX (64u << 10)

static _Thread_local int last_trouble;

/* What is missing, or closed to the host and so to the box, is an answer; the rest is trouble. */
static bool
note(int error)
{
    static const int answers[] = { ENOENT, ENOTDIR, EACCES, EPERM, ELOOP, ENAMETOOLONG };

    for (size_t i = 0; i < N_ELEMENTS(answers); i++) {
        if (error == answers[i]) {
            return false;
        }
    }
    last_trouble = error;
    return true;
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
    int error;

    if (directory == NULL) {
        note(errno);
        return -errno;
    }
    while (errno = 0, (entry = readdir(directory)) != NULL) {
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
    error = errno; /* 0 at the end */
    closedir(directory);
    if (error != 0) {
        note(error);
    }
    return -error;
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

/* ---- git directories in a tree ---- */

/* On average: the search is bounded where there are few, too. */
#define NAMES_PER_DIRECTORY 16u

static bool
add_path(struct vec *paths, const char *directory, const char *name)
{
    char *path = path_join(directory, name);
    char **slot = path == NULL ? NULL : vec_add(paths);

    if (slot == NULL) {
        free(path);
        return false;
    }
    *slot = path;
    return true;
}

/* Adds the child directories to `queue`; those of git are not entered. */
static int
search(const char *path, struct vec *queue, uint32_t most, uint32_t *n_left, struct vec *paths)
{
    AUTO(closep)
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    int r = 0;

    if (directory == NULL) {
        return note(errno) ? -errno : 0;
    }
    steal_fd(&fd);
    while (r == 0 && *n_left > 0 && (entry = readdir(directory)) != NULL) {
        bool is_directory = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;

        --*n_left;
        if (strcasecmp(entry->d_name, ".git") == 0) {
            r = add_path(paths, path, entry->d_name) ? 0 : -ENOMEM;
        } else if (is_directory && strcmp(entry->d_name, ".") != 0 &&
                   strcmp(entry->d_name, "..") != 0) {
            if (queue->count == most / NAMES_PER_DIRECTORY) {
                *n_left = 0;
                break;
            }
            r = add_path(queue, path, entry->d_name) ? 0 : -ENOMEM;
        }
    }
    closedir(directory);
    return r;
}

/* Breadth first: what is near is found, however much there is. */
static int
find_git(void *data, const char *path, uint32_t most, struct vec *paths)
{
    struct vec queue = VEC(char *);
    uint32_t n_left = most;
    int r = search(path, &queue, most, &n_left, paths);

    for (size_t i = 0; i < queue.count; i++) {
        char *directory = *vec_at(&queue, char *, i);

        if (r == 0) {
            r = search(directory, &queue, most, &n_left, paths);
        }
        free(directory);
    }
    vec_done(&queue);
    if (r < 0) {
        note(-r);
        return r;
    }
    return n_left == 0;
}

const struct host_view host_real = {
    .look = look,
    .real_path = real_path,
    .list = list,
    .read_text = read_text,
    .trouble = trouble,
    .find_git = find_git,
};
