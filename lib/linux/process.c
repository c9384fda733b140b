/* SPDX-License-Identifier: Apache-2.0
 * Reads single facts about a process from the host's /proc.  Any thread. */
#include "linux/process.h"

#include "base/mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS_ROOM 16384 /* a long list of groups comes before what is looked for */

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

bool
proc_status(int32_t pid, const char *field, int base, uint64_t *ret_number)
{
    AUTO(closep) int fd = -1;
    AUTO(freep) char *status = malloc(STATUS_ROOM);
    char path[64];
    const char *line, *number;
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 || status == NULL ? -1 : read(fd, status, STATUS_ROOM - 1);
    if (n <= 0) {
        return false;
    }
    status[n] = '\0';
    line = find_field(status, field);
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
