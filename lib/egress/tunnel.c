/* SPDX-License-Identifier: Apache-2.0
 * Owns two descriptors and what could not be written yet.  An idle tunnel has no buffer: what is
 * read goes through a room that all share, and only what the other side does not take is kept.
 * Nothing is read while the other side takes nothing, so a slow peer slows its own sender only.
 * Where much comes at once it goes through a pipe of all, without being copied.
 *
 * Events are edge-triggered, registered once: the flags remember what was ready. */
#include "egress/tunnel.h"

#include "egress/farewell.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHUNK (64u << 10) /* at most this is kept for a slow peer */
#define TURN (512u << 10) /* then it is the turn of others */
#define MUCH (16u << 10) /* who sends that at once is not copied */

/* One connection; `left` is what it did not take yet. */
struct side {
    struct tunnel *tunnel;
    int fd;
    struct event *event;
    bool readable, writable;
    bool sends_much;
    bool ended; /* it sends no more */
    bool shut; /* it was told that nothing comes any more */
    uint8_t *left;
    size_t left_at, left_length;
};

struct tunnel {
    struct part part;
    struct side inside, outside;
    enum hold hold;
    struct watch watch;
    struct event *again; /* its turn was over; made when first needed */
};

static void
side_done(struct side *side)
{
    if (side->event != NULL) {
        event_free(side->event);
    }
    free(side->left);
}

/* All but the descriptors. */
static void
tunnel_free(struct tunnel *tunnel)
{
    part_remove(&tunnel->part);
    side_done(&tunnel->inside);
    side_done(&tunnel->outside);
    if (tunnel->again != NULL) {
        event_free(tunnel->again);
    }
    free(tunnel);
}

static void
end(struct tunnel *tunnel, void (*close_end)(int fd))
{
    struct watch watch = tunnel->watch;
    bool was_held = tunnel->hold != HOLD_NOTHING;
    int inside = tunnel->inside.fd, outside = tunnel->outside.fd;

    tunnel_free(tunnel);
    close_end(inside);
    close_end(outside);
    if (was_held) {
        watch.gone(watch.data);
    }
}

static void
end_part(struct part *part)
{
    end((struct tunnel *)part, close_with_reset);
}

/* ---- moving bytes ---- */
enum flow { FLOW_WAITS, FLOW_TURN_OVER, FLOW_BROKEN };

static bool
would_block(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

/* Writes what is left; false: the connection is broken. */
static bool
write_left(struct side *to)
{
    while (to->left != NULL && to->writable) {
        ssize_t n =
                send(to->fd, to->left + to->left_at, to->left_length - to->left_at, MSG_NOSIGNAL);

        if (n < 0 && !would_block(errno)) {
            return false;
        }
        to->writable = n >= 0;
        to->left_at += n < 0 ? 0 : (size_t)n;
        if (to->left_at == to->left_length) {
            free(to->left);
            to->left = NULL;
        }
    }
    return true;
}

/* Writes, and keeps what is not taken. */
static bool
write_new(struct side *to, const uint8_t *bytes, size_t length)
{
    ssize_t n = send(to->fd, bytes, length, MSG_NOSIGNAL);
    size_t sent = n < 0 ? 0 : (size_t)n;

    if (n < 0 && !would_block(errno)) {
        return false;
    }
    if (sent == length) {
        return true;
    }
    to->writable = n >= 0;
    to->left = malloc(length - sent);
    if (to->left == NULL) {
        return false;
    }
    memcpy(to->left, bytes + sent, length - sent);
    to->left_at = 0;
    to->left_length = length - sent;
    return write_left(to);
}

static bool
read_and_write(struct side *from, struct side *to, size_t *moved)
{
    uint8_t *scratch = egress_scratch(from->tunnel->part.box);
    ssize_t n = recv(from->fd, scratch, CHUNK, 0);

    if (n < 0) {
        from->readable = false;
        return would_block(errno);
    }
    from->ended = n == 0;
    from->sends_much = n >= (ssize_t)MUCH;
    *moved += (size_t)n;
    return n == 0 || write_new(to, scratch, (size_t)n);
}

/* The same through a pipe, so that the kernel hands pages on.  The pipe is everybody's: nothing may
 * stay in it.  (What a peer that is gone raises stays blocked with this thread.) */
static bool
pass_on(struct side *from, struct side *to, size_t *moved)
{
    struct egress_box *box = from->tunnel->part.box;
    const int *pipe = egress_pipe(box);
    ssize_t n = splice(from->fd, NULL, pipe[1], NULL, CHUNK, SPLICE_F_NONBLOCK), sent = 1;

    if (n < 0) {
        from->readable = false;
        return would_block(errno);
    }
    from->ended = n == 0;
    from->sends_much = n >= (ssize_t)MUCH;
    *moved += (size_t)n;
    while (n > 0 && sent > 0) {
        sent = splice(pipe[0], NULL, to->fd, NULL, (size_t)n, SPLICE_F_NONBLOCK);
        n -= sent > 0 ? sent : 0;
    }
    if (n == 0) {
        return true;
    }
    if (read(pipe[0], egress_scratch(box), (size_t)n) != n) {
        egress_pipe_spoil(box);
        return false;
    }
    return write_new(to, egress_scratch(box), (size_t)n);
}

static enum flow
flow(struct side *from, struct side *to)
{
    bool has_pipe = egress_pipe(from->tunnel->part.box)[0] >= 0;
    size_t moved = 0;

    for (;;) {
        if (!write_left(to)) {
            return FLOW_BROKEN;
        }
        if (to->left != NULL) {
            return FLOW_WAITS;
        }
        if (from->ended && !to->shut) {
            to->shut = true;
            shutdown(to->fd, SHUT_WR);
        }
        if (from->ended || !from->readable || !to->writable) {
            return FLOW_WAITS;
        }
        if (moved >= TURN) {
            return FLOW_TURN_OVER;
        }
        if (!(has_pipe && from->sends_much ? pass_on : read_and_write)(from, to, &moved)) {
            return FLOW_BROKEN;
        }
    }
}

static void go_on(evutil_socket_t fd, short events, void *data);

/* Comes back after the others had their turn. */
static bool
come_back(struct tunnel *tunnel)
{
    static const struct timeval at_once = { 0 };

    if (tunnel->again == NULL) {
        tunnel->again = evtimer_new(egress_base(tunnel->part.box), go_on, tunnel);
    }
    return tunnel->again != NULL && event_add(tunnel->again, &at_once) == 0;
}

/* False: the tunnel is over. */
static bool
pump(struct tunnel *tunnel)
{
    struct side *inside = &tunnel->inside, *outside = &tunnel->outside;
    enum flow out = tunnel->hold == HOLD_NOTHING ? flow(inside, outside) : FLOW_WAITS;
    enum flow in = tunnel->hold != HOLD_BOTH ? flow(outside, inside) : FLOW_WAITS;

    if (out == FLOW_BROKEN || in == FLOW_BROKEN ||
            ((out == FLOW_TURN_OVER || in == FLOW_TURN_OVER) && !come_back(tunnel))) {
        end(tunnel, close_with_reset);
        return false;
    }
    if (inside->shut && outside->shut) {
        end(tunnel, close_fd);
        return false;
    }
    return true;
}

static void
go_on(evutil_socket_t fd, short events, void *data)
{
    pump(data);
}

static void
ready(evutil_socket_t fd, short events, void *data)
{
    struct side *side = data;
    struct tunnel *tunnel = side->tunnel;
    bool looks = side == &tunnel->inside && tunnel->hold != HOLD_NOTHING && (events & EV_READ) != 0;

    side->readable = side->readable || (events & EV_READ) != 0;
    side->writable = side->writable || (events & EV_WRITE) != 0;
    if (pump(tunnel) && looks) {
        tunnel->watch.look(tunnel->watch.data);
    }
}

/* ---- beginning and end ---- */
static bool
side_init(struct side *side, struct tunnel *tunnel, int fd)
{
    int on = 1;

    side->tunnel = tunnel;
    side->fd = fd;
    side->writable = true;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    side->event = event_new(egress_base(tunnel->part.box), fd,
            EV_READ | EV_WRITE | EV_PERSIST | EV_ET, ready, side);
    return side->event != NULL && event_add(side->event, NULL) == 0;
}

struct tunnel *
tunnel_start(struct egress_box *box, const struct errand *errand, int inside, int outside,
        enum hold hold, const struct watch *watch)
{
    const struct subject *subject = errand == NULL ? NULL : &errand->subject;
    const struct destination *destination = errand == NULL ? NULL : &errand->destination;
    struct tunnel *tunnel = calloc(1, sizeof *tunnel);

    if (tunnel == NULL || !part_add(&tunnel->part, box, end_part, subject, destination)) {
        free(tunnel);
        close_with_reset(inside);
        close_with_reset(outside);
        return NULL;
    }
    tunnel->hold = hold;
    if (watch != NULL) {
        tunnel->watch = *watch;
    }
    if (!side_init(&tunnel->inside, tunnel, inside) ||
            !side_init(&tunnel->outside, tunnel, outside)) {
        tunnel_free(tunnel);
        close_with_reset(inside);
        close_with_reset(outside);
        return NULL;
    }
    return tunnel;
}

void
tunnel_release(struct tunnel *tunnel)
{
    tunnel->hold = HOLD_NOTHING;
    pump(tunnel);
}

void
tunnel_take(struct tunnel *tunnel, int *ret_inside, int *ret_outside)
{
    *ret_inside = tunnel->inside.fd;
    *ret_outside = tunnel->outside.fd;
    tunnel_free(tunnel);
}

void
tunnel_refuse(struct tunnel *tunnel, const void *bytes, size_t length)
{
    struct egress_box *box = tunnel->part.box;
    int inside, outside;

    tunnel_take(tunnel, &inside, &outside);
    close_with_reset(outside);
    farewell(box, inside, bytes, length);
}

int
tunnel_client(const struct tunnel *tunnel)
{
    return tunnel->inside.fd;
}
