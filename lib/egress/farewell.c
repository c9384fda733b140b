/* SPDX-License-Identifier: Apache-2.0
 * Writes what fits into the socket at once (a few hundred bytes into an empty one), says that no
 * more comes, and reads what the peer still sends, for a moment and not too much of it. */
#include "egress/farewell.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#define PATIENCE_S 2
#define READ_MOST (1u << 20)

struct farewell {
    struct part part;
    int fd;
    struct event *event;
    size_t had;
};

static void
finish(struct farewell *farewell, void (*close_end)(int fd))
{
    part_remove(&farewell->part);
    if (farewell->event != NULL) {
        event_free(farewell->event);
    }
    close_end(farewell->fd);
    free(farewell);
}

static void
end_part(struct part *part)
{
    finish((struct farewell *)part, close_with_reset);
}

static void
read_on(evutil_socket_t fd, short events, void *data)
{
    struct farewell *farewell = data;
    ssize_t n = 0;

    if ((events & EV_TIMEOUT) == 0) {
        n = recv(farewell->fd, egress_scratch(farewell->part.box), SCRATCH_SIZE, 0);
        farewell->had += n < 0 ? 0 : (size_t)n;
    }
    if ((events & EV_TIMEOUT) != 0 || n == 0 || farewell->had > READ_MOST ||
            (n < 0 && errno != EAGAIN && errno != EINTR)) {
        finish(farewell, close_fd);
    }
}

void
farewell(struct egress_box *box, int fd, const void *bytes, size_t length)
{
    static const struct timeval patience = { .tv_sec = PATIENCE_S };
    struct farewell *farewell;

    if (length == 0 || send(fd, bytes, length, MSG_NOSIGNAL) != (ssize_t)length ||
            shutdown(fd, SHUT_WR) < 0) {
        close_with_reset(fd);
        return;
    }
    farewell = calloc(1, sizeof *farewell);
    if (farewell == NULL) {
        close_fd(fd);
        return;
    }
    farewell->fd = fd;
    farewell->event = event_new(egress_base(box), fd, EV_READ | EV_PERSIST, read_on, farewell);
    if (!part_add(&farewell->part, box, end_part, NULL, NULL) || farewell->event == NULL ||
            event_add(farewell->event, &patience) != 0) {
        finish(farewell, close_fd);
    }
}
