/* SPDX-License-Identifier: Apache-2.0
 * Reads single facts about a process from the host's /proc.  Any thread. */
#include "linux/process.h"

#include "base/mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX 4096 /* of a chain of parents */
#define TEXT_ROOM 16384 /* a long list of groups comes before what is looked for */

int32_t
proc_number(const char *text)
{
    int32_t number = 0;

    while (*text >= '0' && *text <= '9' && number < INT32_MAX / 10) {
        number = number * 10 + (*text++ - '0');
    }
    return number;
}

/* The line after "FIELD:", or NULL. */
static const char *
find_field(const char *status, const char *field)
{
    size_t length = strlen(field);

    for (const char *line = status; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n' ? 1 : 0;
        if (strncmp(line, field, length) == 0 && line[length] == ':') {
            return line + length + 1;
        }
    }
    return NULL;
}

/* A file of /proc/PID as text; the caller frees. NULL: no such process, or no memory. */
static char *
read_text(int32_t pid, const char *name)
{
    AUTO(closep) int fd = -1;
    AUTO(freep) char *text = malloc(TEXT_ROOM);
    char path[64];
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 || text == NULL ? -1 : read(fd, text, TEXT_ROOM - 1);
    if (n <= 0) {
        return NULL;
    }
    text[n] = '\0';
    return steal_ptr(&text);
}

bool
proc_status(int32_t pid, const char *field, int base, uint64_t *ret_number)
{
    AUTO(freep) char *status = read_text(pid, "status");
    const char *line = status != NULL ? find_field(status, field) : NULL;
    const char *number;

    if (line == NULL) {
        return false;
    }
    number = line + strcspn(line, "\n");
    while (number > line && number[-1] != ' ' && number[-1] != '\t') {
        number--;
    }
    *ret_number = strtoull(number, NULL, base);
    return true;
}

bool
proc_is_below(int32_t pid, int32_t ancestor)
{
    uint64_t parent = (uint64_t)pid;

    for (int i = 0; i < DEPTH_MAX && parent > 1; i++) {
        if (!proc_status((int32_t)parent, "PPid", 10, &parent)) {
            return false;
        }
        if (parent == (uint64_t)ancestor) {
            return true;
        }
    }
    return false;
}

dev_t
proc_terminal(int32_t pid)
{
    AUTO(freep) char *stat = read_text(pid, "stat");
    const char *end = stat != NULL ? strrchr(stat, ')') : NULL; /* the name may have any byte */
    int terminal = 0;

    /* The kernel's old encoding, which is makedev()'s for what fits. */
    return end != NULL && sscanf(end + 1, " %*c %*d %*d %*d %d", &terminal) == 1 ? (dev_t)terminal
                                                                                 : 0;
}
