/* SPDX-License-Identifier: Apache-2.0
 * Reads the file that stands and the one that shall stand, bounded, and lets lib/policy/git judge.
 * What cannot be read is refused. */
#include "supervise/content.h"

#include "base/mem.h"
#include "policy/git.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

bool
content_allows(const char *target, int content, char *reason, size_t reason_room)
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
    if (name != NULL && strcmp(name, "/attributes") == 0) {
        return git_attributes_allow(
                before, before_length, after, after_length, reason, reason_room);
    }
    return git_config_allows(
            target, before, before_length, after, after_length, reason, reason_room);
}
