/* SPDX-License-Identifier: Apache-2.0
 * Owns the read end of a captured stream.  It is read as fast as the command writes, kept up to the
 * limit, and counted beyond it, so that no command hangs on a full pipe. */
#include "supervise/capture.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define CHUNK (64u << 10)
#define FIRST_ROOM 4096u

struct capture {
    struct loop_source *source; /* NULL after end of file */
    int fd;
    char *data; /* room for one NUL more than `room` */
    size_t length, room, limit;
    uint64_t lost;
    bool taken;
};

static void
close_stream(struct capture *capture)
{
    loop_remove(capture->source);
    capture->source = NULL;
    close_fd(steal_fd(&capture->fd));
}

/* Room for more, up to the limit; false: keep no more. */
static bool
grow(struct capture *capture)
{
    size_t room = capture->room == 0 ? FIRST_ROOM : capture->room * 2;
    char *data;

    if (capture->taken || capture->room >= capture->limit) {
        return false;
    }
    room = room > capture->limit ? capture->limit : room;
    data = realloc(capture->data, room + 1);
    if (data == NULL) {
        return false;
    }
    capture->data = data;
    capture->room = room;
    return true;
}

/* Reads once; false when there is nothing (more) now. */
static bool
read_some(struct capture *capture)
{
    char waste[4096];
    bool keeps = !capture->taken && (capture->length < capture->room || grow(capture));
    char *to = keeps ? capture->data + capture->length : waste;
    size_t room = keeps ? capture->room - capture->length : sizeof waste;
    ssize_t n = capture->fd < 0 ? 0 : read(capture->fd, to, room > CHUNK ? CHUNK : room);

    if (n > 0 && keeps) {
        capture->length += (size_t)n;
    } else if (n > 0) {
        capture->lost += capture->taken ? 0 : (uint64_t)n;
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        close_stream(capture);
    }
    return n > 0 || (n < 0 && errno == EINTR);
}

static void
ready(void *data, uint32_t events)
{
    /* Once a round: others are served in between however fast this one writes. */
    read_some(data);
}

struct capture *
capture_new(struct loop *loop, int fd, size_t limit)
{
    struct capture *capture = calloc(1, sizeof *capture);

    if (capture == NULL) {
        return NULL;
    }
    *capture = (struct capture){ .fd = fd, .limit = limit };
    capture->source = loop_add(loop, fd, EPOLLIN, ready, capture);
    if (capture->source == NULL) {
        free(capture);
        return NULL;
    }
    return capture;
}

void
capture_take(struct capture *capture, char **ret_data, size_t *ret_length, uint64_t *ret_lost)
{
    /* What is in the pipe now was written before the command ended; a pipe holds 1 MiB at most
     * unless it was grown, so a background writer cannot keep this going. */
    for (size_t budget = 256; budget > 0 && capture->fd >= 0 && read_some(capture); budget--) {
    }
    if (capture->data == NULL) {
        capture->data = calloc(1, 1);
    }
    if (capture->data != NULL) {
        capture->data[capture->length] = '\0';
    }
    *ret_data = steal_ptr(&capture->data);
    *ret_length = *ret_data == NULL ? 0 : capture->length;
    *ret_lost = capture->lost;
    capture->taken = true;
}

bool
capture_is_over(const struct capture *capture)
{
    return capture->fd < 0;
}

void
capture_free(struct capture *capture)
{
    if (capture != NULL) {
        close_stream(capture);
        free(capture->data);
        free(capture);
    }
}
