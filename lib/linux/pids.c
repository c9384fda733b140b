/* SPDX-License-Identifier: Apache-2.0
 * Translates process numbers of the box.  Linux 6.12 does it by an ioctl on the namespace; before,
 * the descendants of the box's pid 1 are searched for the number (all processes of the box are:
 * orphans become its children), and what was found is kept and checked when it is used again. */
#include "linux/pids.h"

#include "base/mem.h"
#include "base/vec.h"
#include "linux/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define KNOWN 256u
#define SEARCHED_MAX 65536u
/* linux/nsfs.h since 6.12 */
#define GET_TGID_FROM_PIDNS _IOR(0xb7, 0x7, int)

struct pids {
    int32_t init;
    int namespace; /* -1: not readable, or the kernel is too old */
    int32_t known[KNOWN]; /* host pid by number of the box, modulo */
};

struct pids *
pids_new(int32_t init)
{
    struct pids *pids = calloc(1, sizeof *pids);
    char path[64];

    if (pids == NULL) {
        return NULL;
    }
    snprintf(path, sizeof path, "/proc/%d/ns/pid", init);
    pids->init = init;
    pids->namespace = open(path, O_RDONLY | O_CLOEXEC);
    return pids;
}

void
pids_free(struct pids *pids)
{
    if (pids != NULL) {
        close_fd(pids->namespace);
        free(pids);
    }
}

static size_t
read_file(const char *path, char *buffer, size_t room)
{
    AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, buffer, room - 1);

    buffer[got < 0 ? 0 : got] = '\0';
    return got < 0 ? 0 : (size_t)got;
}

/* Whether a thread of the host's process `pid` has this number in the innermost namespace. */
static bool
has_number(int32_t pid, int32_t thread, int32_t number)
{
    char path[64], status[4096];
    const char *line;
    int32_t last = 0;

    snprintf(path, sizeof path, "/proc/%d/task/%d/status", pid, thread);
    if (read_file(path, status, sizeof status) == 0) {
        return false;
    }
    line = strstr(status, "\nNSpid:");
    if (line == NULL) {
        return false;
    }
    line += strlen("\nNSpid:");
    while (*line == '\t') {
        last = proc_number(line + 1);
        line += 1 + strcspn(line + 1, "\t\n");
    }
    return last == number;
}

static void
add_children(struct vec *queue, int32_t pid, int32_t thread)
{
    char path[64];
    int child = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, thread);
    file = fopen(path, "re");
    while (file != NULL && queue->count < SEARCHED_MAX && fscanf(file, "%d", &child) == 1) {
        int32_t *added = vec_add(queue);

        if (added != NULL) {
            *added = child;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

/* Whether `pid` has such a thread; its children join the queue. */
static bool
visit(struct vec *queue, int32_t pid, int32_t number)
{
    char path[64];
    const struct dirent *entry;
    bool found = false;
    DIR *tasks;

    snprintf(path, sizeof path, "/proc/%d/task", pid);
    tasks = opendir(path);
    while (tasks != NULL && !found && (entry = readdir(tasks)) != NULL) {
        int32_t thread = proc_number(entry->d_name);

        if (thread > 0) {
            found = has_number(pid, thread, number);
            add_children(queue, pid, thread);
        }
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    return found;
}

static int32_t
search(struct pids *pids, int32_t number)
{
    struct vec queue = VEC(int32_t);
    int32_t *first = vec_add(&queue);
    int32_t found = 0;

    if (first != NULL) {
        *first = pids->init;
    }
    for (size_t i = 0; i < queue.count && found == 0; i++) {
        int32_t pid = *vec_at(&queue, int32_t, i);

        found = visit(&queue, pid, number) ? pid : 0;
    }
    vec_done(&queue);
    return found;
}

int32_t
pids_host(struct pids *pids, int32_t number)
{
    int32_t *known = &pids->known[(uint32_t)number % KNOWN];
    int host;

    if (number <= 0) {
        return 0;
    }
    host = pids->namespace < 0 ? -1 : ioctl(pids->namespace, GET_TGID_FROM_PIDNS, number);
    if (host > 0) {
        return host;
    }
    if (host < 0 && pids->namespace >= 0 && errno == ESRCH) {
        return 0;
    }
    if (*known == 0 || !has_number(*known, *known, number)) {
        *known = search(pids, number);
    }
    return *known;
}
