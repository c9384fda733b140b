/* SPDX-License-Identifier: Apache-2.0
 * Owns the answer to "which command does this process belong to".  Exact for a process that a
 * listener has spoken of; for others a guess by session and parents, good enough for an event's
 * label, and never asked when something is decided.  Any thread. */
#include "linux/own.h"

#include "base/mem.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PARENTS_MAX 64

void
boundary_saw(struct boundary *boundary, int32_t pid, uint64_t command)
{
    struct boundary_private *own = boundary->own;
    struct owner *owner = &own->owners[(uint32_t)pid % OWNERS];

    if (pid <= 0) {
        return;
    }
    pthread_mutex_lock(&own->lock);
    *owner = (struct owner){ .pid = pid, .command = command };
    pthread_mutex_unlock(&own->lock);
}

static uint64_t
look_up(struct boundary_private *own, int32_t pid)
{
    const struct owner *owner = &own->owners[(uint32_t)pid % OWNERS];
    uint64_t command = 0;

    pthread_mutex_lock(&own->lock);
    if (owner->pid == pid) {
        command = owner->command;
    }
    pthread_mutex_unlock(&own->lock);
    return command;
}

struct lineage {
    int32_t parent, session;
};

static bool
read_lineage(int32_t pid, struct lineage *lineage)
{
    char path[32], text[512];
    AUTO(closep) int fd = -1;
    ssize_t n;
    const char *end;

    snprintf(path, sizeof path, "/proc/%" PRId32 "/stat", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n <= 0) {
        return false;
    }
    text[n] = '\0';
    end = strrchr(text, ')'); /* the name before may have any byte */
    return end != NULL && sscanf(end + 1, " %*c %" SCNd32 " %*d %" SCNd32, &lineage->parent,
                                  &lineage->session) == 2;
}

uint64_t
boundary_command_of(struct boundary *boundary, int32_t pid)
{
    struct boundary_private *own = boundary->own;
    struct lineage lineage;

    for (int i = 0; i < PARENTS_MAX && pid > 0 && pid != boundary->init_pid; i++) {
        uint64_t command = look_up(own, pid);

        if (command == 0 && read_lineage(pid, &lineage)) {
            command = lineage.session > 0 ? look_up(own, lineage.session) : 0;
        } else if (command == 0) {
            return 0;
        }
        if (command != 0) {
            return command;
        }
        pid = lineage.parent;
    }
    return 0;
}

void
boundary_program_of(int32_t pid, char *buffer, size_t room)
{
    static const char memory[] = "/memfd:agentbox-init";
    static const char name[] = "agentbox-init";
    char path[32];
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%" PRId32 "/exe", pid);
    n = readlink(path, buffer, room - 1);
    buffer[n < 0 ? 0 : n] = '\0';
    /* A child of init that has not executed its program yet: it runs from memory. */
    if (strncmp(buffer, memory, strlen(memory)) == 0) {
        snprintf(buffer, room, "%s", name);
    }
}
