/* SPDX-License-Identifier: Apache-2.0
 * Owns a descriptor, its two buffers and its TLS.  Events are edge-triggered, registered once: the
 * flags remember what was ready. */
#include "egress/stream.h"

#include "base/mem.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define READ_SIZE (16u << 10) /* a record of TLS */
#define PIECES_MAX 16

static void
ready(evutil_socket_t fd, short events, void *data)
{
    struct stream *stream = data;

    stream->readable = stream->readable || (events & EV_READ) != 0;
    stream->writable = stream->writable || (events & EV_WRITE) != 0;
    stream->fn(stream->data);
}

struct stream *
stream_new(struct event_base *base, int fd, void (*fn)(void *data), void *data)
{
    struct stream *stream = calloc(1, sizeof *stream);
    int on = 1;

    if (stream == NULL) {
        close_fd(fd);
        return NULL;
    }
    *stream = (struct stream){ .fd = fd,
        .input = evbuffer_new(),
        .output = evbuffer_new(),
        .event = event_new(base, fd, EV_READ | EV_WRITE | EV_PERSIST | EV_ET, ready, stream),
        .is_open = true,
        .readable = true,
        .writable = true,
        .fn = fn,
        .data = data };
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (stream->input == NULL || stream->output == NULL || stream->event == NULL ||
            event_add(stream->event, NULL) != 0) {
        stream_free(stream, true);
        return NULL;
    }
    return stream;
}

void
stream_secure(struct stream *stream, struct tls *tls)
{
    stream->tls = tls;
    stream->is_open = false;
}

void
stream_free(struct stream *stream, bool resets)
{
    static const struct linger at_once = { .l_onoff = 1 };

    if (stream == NULL) {
        return;
    }
    tls_free(stream->tls);
    if (stream->event != NULL) {
        event_free(stream->event);
    }
    if (stream->input != NULL) {
        evbuffer_free(stream->input);
    }
    if (stream->output != NULL) {
        evbuffer_free(stream->output);
    }
    if (resets) {
        setsockopt(stream->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    close_fd(stream->fd);
    free(stream);
}

static void
fail(struct stream *stream, const char *why)
{
    stream->has_failed = true;
    stream->why = why;
}

/* What TLS returned is no number of bytes and not the end: waits, or it is over. */
static void
settle(struct stream *stream, ssize_t result)
{
    if (result == TLS_FAILED) {
        fail(stream, tls_why(stream->tls));
    } else if (tls_wants_write(stream->tls)) {
        stream->writable = false;
    } else {
        stream->readable = false;
    }
}

static void
shake_hands(struct stream *stream)
{
    int r = tls_handshake(stream->tls);

    if (r == 1) {
        stream->is_open = true;
    } else {
        settle(stream, r);
    }
}

/* Bytes; 0: none now, or no more. */
static size_t
read_some(struct stream *stream, void *bytes, size_t room)
{
    ssize_t n;

    if (stream->tls != NULL) {
        n = tls_read(stream->tls, bytes, room);
        if (n < 0) {
            settle(stream, n);
            return 0;
        }
    } else {
        n = recv(stream->fd, bytes, room, 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            stream->readable = false;
            return 0;
        }
        if (n < 0) {
            fail(stream, "the connection broke");
            return 0;
        }
    }
    stream->has_ended = n == 0;
    return (size_t)n;
}

bool
stream_pull(struct stream *stream, size_t most)
{
    bool has_changed = false;

    if (!stream->is_open && !stream->has_failed) {
        shake_hands(stream);
        has_changed = stream->is_open || stream->has_failed;
    }
    while (stream->is_open && stream->readable && !stream->has_ended && !stream->has_failed &&
            evbuffer_get_length(stream->input) < most) {
        struct evbuffer_iovec room;
        size_t n;

        if (evbuffer_reserve_space(stream->input, READ_SIZE, &room, 1) < 1) {
            fail(stream, "out of memory");
            return true;
        }
        n = read_some(stream, room.iov_base, room.iov_len < READ_SIZE ? room.iov_len : READ_SIZE);
        room.iov_len = n;
        evbuffer_commit_space(stream->input, &room, 1);
        has_changed = has_changed || n > 0 || stream->has_ended || stream->has_failed;
    }
    return has_changed;
}

/* How much of `output` was written, or -1: it has to wait, or failed. */
static ssize_t
write_plain(struct stream *stream)
{
    struct evbuffer_iovec pieces[PIECES_MAX];
    int n_pieces = evbuffer_peek(stream->output, -1, NULL, pieces, PIECES_MAX);
    struct msghdr message = { .msg_iov = pieces,
        .msg_iovlen = (size_t)(n_pieces < PIECES_MAX ? n_pieces : PIECES_MAX) };
    ssize_t n = sendmsg(stream->fd, &message, MSG_NOSIGNAL);

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        stream->writable = false;
    } else if (n < 0) {
        fail(stream, "the connection broke");
    }
    return n;
}

static ssize_t
write_tls(struct stream *stream)
{
    size_t length = evbuffer_get_length(stream->output);
    size_t piece = length < READ_SIZE ? length : READ_SIZE;
    const void *bytes = evbuffer_pullup(stream->output, (ssize_t)piece);
    ssize_t n = bytes == NULL ? TLS_FAILED : tls_write(stream->tls, bytes, piece);

    if (n < 0) {
        settle(stream, n);
    }
    return n;
}

/* After the last byte. */
static void
say_end(struct stream *stream)
{
    int r = stream->tls == NULL ? 1 : tls_shut(stream->tls);

    if (r != 1) {
        settle(stream, r);
        return;
    }
    shutdown(stream->fd, SHUT_WR);
    stream->is_shut = true;
}

bool
stream_push(struct stream *stream)
{
    bool has_written = false;

    while (stream->is_open && stream->writable && !stream->has_failed &&
            evbuffer_get_length(stream->output) > 0) {
        ssize_t n = stream->tls != NULL ? write_tls(stream) : write_plain(stream);

        if (n < 0) {
            break;
        }
        evbuffer_drain(stream->output, (size_t)n);
        has_written = true;
    }
    if (stream->wants_shut && !stream->is_shut && stream->is_open && !stream->has_failed &&
            evbuffer_get_length(stream->output) == 0) {
        say_end(stream);
    }
    return has_written;
}

void
stream_shut(struct stream *stream)
{
    stream->wants_shut = true;
}

bool
stream_is_shut(const struct stream *stream)
{
    return stream->is_shut;
}
