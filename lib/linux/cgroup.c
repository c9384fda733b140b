/* SPDX-License-Identifier: Apache-2.0
 * Owns the cgroup of a box.  The library does not move its host, so a group is made below the
 * host's own group, or, since a group with processes cannot give controllers to children, beside
 * it.  Knows nothing of boxes.  One thread at a time. */
#include "linux/cgroup.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct cgroup {
    int parent, directory;
    char name[64];
    struct cgroup_counts told;
};

bool
cgroup_own(const char *text, char *buffer, size_t room)
{
    const char *line = text;
    size_t length;

    while (strncmp(line, "0::/", 4) != 0) {
        line = strchr(line, '\n');
        if (line == NULL) {
            return false;
        }
        line++;
    }
    line += 3;
    length = strcspn(line, "\n");
    if (length >= room || strstr(line, "/../") != NULL) { /* outside of the cgroup namespace */
        return false;
    }
    memcpy(buffer, line, length);
    buffer[length] = '\0';
    return true;
}

static int
write_file(int directory, const char *name, const char *text)
{
    AUTO(closep) int fd = openat(directory, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0 || write(fd, text, strlen(text)) < 0) {
        return -errno;
    }
    return 0;
}

static int
write_number(int directory, const char *name, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRIu64, value);
    return write_file(directory, name, text);
}

int
cgroup_limit(int directory, uint64_t memory, uint64_t processes)
{
    int r = 0;

    if (memory != 0) {
        r = write_number(directory, "memory.max", memory);
        if (r == 0) {
            /* Else the box would fill the swap instead; absent without swap accounting. */
            int swap = write_file(directory, "memory.swap.max", "0");

            r = swap == -ENOENT ? 0 : swap;
        }
    }
    if (r == 0 && processes != 0) {
        r = write_number(directory, "pids.max", processes);
    }
    return r;
}

/* Makes the group in `parent` (taken). */
static struct cgroup *
make_in(int parent, uint64_t memory, uint64_t processes, int *ret_error)
{
    static atomic_uint counter;
    struct cgroup *cgroup = calloc(1, sizeof *cgroup);
    int r;

    if (cgroup == NULL) {
        close_fd(parent);
        *ret_error = -ENOMEM;
        return NULL;
    }
    cgroup->parent = parent;
    cgroup->directory = -1;
    snprintf(cgroup->name, sizeof cgroup->name, "agentbox-%d-%u", (int)getpid(),
            atomic_fetch_add(&counter, 1));
    if (mkdirat(parent, cgroup->name, 0755) < 0) {
        *ret_error = -errno;
        cgroup->name[0] = '\0';
        cgroup_free(cgroup);
        return NULL;
    }
    cgroup->directory =
            openat(parent, cgroup->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    r = cgroup->directory < 0 ? -errno : cgroup_limit(cgroup->directory, memory, processes);
    if (r < 0) {
        cgroup_free(cgroup);
        *ret_error = r;
        return NULL;
    }
    return cgroup;
}

static int
read_own(char *buffer, size_t room)
{
    char text[4096];
    AUTO(closep) int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

    if (n < 0) {
        return -errno;
    }
    text[n] = '\0';
    return cgroup_own(text, buffer, room) ? 0 : -EOPNOTSUPP;
}

/* A group of the host's own, or above it; *ret_error tells why it is none. */
static int
open_parent(const char *path, int *ret_error)
{
    AUTO(closep) int parent = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    /* Only a real group has this file, so a missing mount or the way above the root is seen. */
    if (parent < 0 || faccessat(parent, "cgroup.procs", F_OK, 0) < 0) {
        *ret_error = -errno;
        return -1;
    }
    return steal_fd(&parent);
}

struct cgroup *
cgroup_new(const char *root, uint64_t memory, uint64_t processes, int *ret_error)
{
    char own[PATH_MAX / 2], path[PATH_MAX];

    int error = read_own(own, sizeof own);
    const bool has_own = error == 0;

    for (int up = 0; has_own && !error_passes(-error) && up < 2; up++) {
        struct cgroup *cgroup = NULL;
        int parent;

        snprintf(path, sizeof path, "%s%s%s", root, own, up == 0 ? "" : "/..");
        parent = open_parent(path, &error);
        if (parent >= 0) {
            cgroup = make_in(parent, memory, processes, &error);
        }
        if (cgroup != NULL) {
            return cgroup;
        }
    }
    *ret_error = error_passes(-error) ? error : -EOPNOTSUPP;
    return NULL;
}

int
cgroup_delegated(const char *root)
{
    int error = 0;
    /* Limits that limit nothing: only whether the controllers are there. */
    struct cgroup *cgroup = cgroup_new(root, UINT64_C(1) << 50, 1u << 20, &error);

    cgroup_free(cgroup);
    return cgroup != NULL ? 1 : error == -EOPNOTSUPP ? 0 : error;
}

int
cgroup_add(struct cgroup *cgroup, int32_t pid)
{
    return write_number(cgroup->directory, "cgroup.procs", (uint64_t)pid);
}

/* The number after the word at the start of a line.  False: it cannot be read, and *ret_count
 * stays.
 */
static bool
read_count(int directory, const char *name, const char *word, uint64_t *ret_count)
{
    AUTO(closep) int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    char text[1024];
    const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    const size_t length = strlen(word);
    uint64_t count;

    text[n < 0 ? 0 : n] = '\0';
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, word, length) == 0 && sscanf(line + length, " %" SCNu64, &count) == 1) {
            *ret_count = count;
            return true;
        }
    }
    return false;
}

/* What it is more than it was told; the kernel's only grow. */
static uint64_t
take_count(int directory, const char *name, const char *word, uint64_t *told)
{
    const uint64_t before = *told;

    return read_count(directory, name, word, told) && *told > before ? *told - before : 0;
}

struct cgroup_counts
cgroup_new_counts(int directory, struct cgroup_counts *told)
{
    return (struct cgroup_counts){
        .killed_for_memory =
                take_count(directory, "memory.events", "oom_kill ", &told->killed_for_memory),
        .processes_refused = take_count(directory, "pids.events", "max ", &told->processes_refused),
    };
}

struct cgroup_counts
cgroup_take_counts(struct cgroup *cgroup)
{
    return cgroup == NULL ? (struct cgroup_counts){ 0 }
                          : cgroup_new_counts(cgroup->directory, &cgroup->told);
}

void
cgroup_kill(struct cgroup *cgroup)
{
    if (cgroup != NULL) {
        write_file(cgroup->directory, "cgroup.kill", "1");
    }
}

void
cgroup_free(struct cgroup *cgroup)
{
    if (cgroup == NULL) {
        return;
    }
    close_fd(cgroup->directory);
    if (cgroup->name[0] != '\0') {
        unlinkat(cgroup->parent, cgroup->name, AT_REMOVEDIR);
    }
    close_fd(cgroup->parent);
    free(cgroup);
}
