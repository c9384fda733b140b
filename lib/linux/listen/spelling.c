/* SPDX-License-Identifier: Apache-2.0
 * Paths as text: from what the caller spelled to an absolute path of the box.  Reads links of the
 * caller's /proc; looks nothing up in a file system. */
#include "linux/listen/spelling.h"

#include "base/mem.h"
#include "linux/listen/listeners.h"
#include "linux/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINK_ROOM 64u

/* Where the kernel says what the directory is that relative paths start from. */
static void
name_link(const struct call *call, int dirfd, char path[LINK_ROOM])
{
    if (dirfd == AT_FDCWD) {
        snprintf(path, LINK_ROOM, "/proc/%d/cwd", (int)call->pid);
    } else {
        snprintf(path, LINK_ROOM, "/proc/%d/fd/%d", (int)call->pid, dirfd);
    }
}

/* The kept one, which is there if this caller has asked for it before. */
static struct caller_link *
kept_link(const struct call *call, int dirfd)
{
    const unsigned int slot = ((unsigned int)call->pid * 31u + (unsigned int)dirfd) % CALLER_LINKS;
    struct caller_link *kept = &call->boundary->listeners->caller_links[slot];
    char path[LINK_ROOM];

    if (kept->pid != call->pid || kept->number != dirfd) {
        close_fd(kept->link);
        *kept = (struct caller_link){ .pid = call->pid, .number = dirfd, .link = -1 };
    } else if (kept->link < 0) {
        name_link(call, dirfd, path);
        kept->link = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    }
    return kept;
}

static ssize_t
read_link(const struct call *call, int dirfd, char *buffer, size_t room)
{
    struct caller_link *kept = call->on_worker ? NULL : kept_link(call, dirfd);
    char path[LINK_ROOM];

    if (kept != NULL && kept->link >= 0) {
        ssize_t n = readlinkat(kept->link, "", buffer, room);

        if (n >= 0) {
            return n;
        }
        close_fd(steal_fd(&kept->link)); /* of a process that is gone: its number is another's */
    }
    name_link(call, dirfd, path);
    return readlink(path, buffer, room);
}

static bool
is_gone(const struct call *call, int dirfd)
{
    char path[LINK_ROOM];
    struct stat stat_buffer;

    name_link(call, dirfd, path);
    return stat(path, &stat_buffer) != 0 || stat_buffer.st_nlink == 0;
}

/* The directory that relative paths start from. */
static int
base_of(const struct call *call, int dirfd, char *buffer, size_t room)
{
    static const char mark[] = " (deleted)";
    ssize_t n = read_link(call, dirfd, buffer, room);

    if (n < 0) {
        return errno == ENOENT ? -EBADF : -errno;
    }
    if ((size_t)n >= room) {
        return -ENAMETOOLONG;
    }
    buffer[n] = '\0';
    if (buffer[0] != '/') {
        return -ENOTDIR;
    }
    if ((size_t)n > sizeof mark && strcmp(buffer + n - (sizeof mark - 1), mark) == 0 &&
            is_gone(call, dirfd)) {
        return -ENOENT;
    }
    return 0;
}

bool
spelling_starts_with(const char *path, const char *prefix)
{
    size_t length = strlen(prefix);

    return strncmp(path, prefix, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* Puts `with` in place of the first `length` bytes of path. */
static int
put_prefix(char *path, size_t length, const char *with)
{
    size_t rest = strlen(path + length), put = strlen(with);

    if (put + rest >= PATH_MAX) {
        return -ENAMETOOLONG;
    }
    memmove(path + put, path + length, rest + 1);
    memcpy(path, with, put);
    return 0;
}

/* The caller's own number in the box's /proc: of the last level of namespaces, or the host's. */
static uint64_t
box_number(const struct call *call, const char *field, const char *field_of_host)
{
    uint64_t number = 0;

    proc_status(call->pid, call->boundary->plan->capabilities.fresh_proc ? field : field_of_host,
            10, &number);
    return number;
}

/* A name below a directory that the caller has open: "/proc/self/fd/7/name". */
static int
put_directory(const struct call *call, char *path)
{
    const size_t start = strlen("/proc/self/fd/");
    size_t end;
    char with[PATH_MAX];
    int r;

    if (path[start - 1] == '\0') {
        return 0;
    }
    end = start + strspn(path + start, "0123456789");
    if (end == start || path[end] != '/' || path[end + strspn(path + end, "/")] == '\0') {
        return 0;
    }
    r = base_of(call, proc_number(path + start), with, sizeof with);
    return r < 0 ? r : put_prefix(path, end, with);
}

int
spelling_put_caller(const struct call *call, char *path)
{
    static const struct {
        const char *from;
        const char *to;
    } devices[] = { { "/dev/fd", "/proc/self/fd" }, { "/dev/stdin", "/proc/self/fd/0" },
        { "/dev/stdout", "/proc/self/fd/1" }, { "/dev/stderr", "/proc/self/fd/2" } };
    char with[PATH_MAX];
    int r = 0;

    for (size_t i = 0; i < N_ELEMENTS(devices) && r == 0; i++) {
        if (spelling_starts_with(path, devices[i].from)) {
            r = put_prefix(path, strlen(devices[i].from), devices[i].to);
        }
    }
    if (r == 0 && spelling_starts_with(path, "/proc/self/root")) {
        r = put_prefix(path, strlen("/proc/self/root"), "/");
    } else if (r == 0 && spelling_starts_with(path, "/proc/self/cwd")) {
        r = base_of(call, AT_FDCWD, with, sizeof with);
        r = r < 0 ? r : put_prefix(path, strlen("/proc/self/cwd"), with);
    } else if (r == 0 && spelling_starts_with(path, "/proc/self/fd")) {
        r = put_directory(call, path);
    }
    if (r == 0 && spelling_starts_with(path, "/proc/self")) {
        snprintf(with, sizeof with, "/proc/%" PRIu64, box_number(call, "NStgid", "Tgid"));
        r = put_prefix(path, strlen("/proc/self"), with);
    } else if (r == 0 && spelling_starts_with(path, "/proc/thread-self")) {
        snprintf(with, sizeof with, "/proc/%" PRIu64 "/task/%" PRIu64,
                box_number(call, "NStgid", "Tgid"), box_number(call, "NSpid", "Pid"));
        r = put_prefix(path, strlen("/proc/thread-self"), with);
    }
    return r;
}

int
spelling_absolute(const struct call *call, int dirfd, const char *asked, char *path)
{
    size_t length = 0, rest = strlen(asked);

    if (asked[0] != '/') {
        int r = base_of(call, dirfd, path, PATH_MAX);

        if (r < 0) {
            return r;
        }
        length = strlen(path);
        path[length++] = '/';
    }
    if (length + rest >= PATH_MAX) {
        return -ENAMETOOLONG;
    }
    memcpy(path + length, asked, rest + 1);
    return 0;
}

void
spelling_remove_dots(char *path)
{
    size_t to = 0;

    for (const char *from = path; *from != '\0';) {
        size_t n = strcspn(from, "/");

        if (n == 2 && from[0] == '.' && from[1] == '.') {
            while (to > 0 && path[--to] != '/') {
            }
        } else if (n > 0 && !(n == 1 && from[0] == '.')) {
            path[to++] = '/';
            memmove(path + to, from, n);
            to += n;
        }
        from += n + strspn(from + n, "/");
    }
    if (to == 0) {
        path[to++] = '/';
    }
    path[to] = '\0';
}
