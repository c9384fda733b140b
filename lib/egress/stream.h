/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: one end of a session, a socket with or without TLS: what was read from it
 * and not used yet, and what is to be written.  Its user is told that something changed, and looks
 * itself.  Egress thread. */
#ifndef ABX_EGRESS_STREAM_H
#define ABX_EGRESS_STREAM_H

#include "egress/tls.h"

#include <event2/buffer.h>
#include <event2/event.h>

struct stream {
    int fd;
    struct evbuffer *input; /* what was read: the user takes from its front */
    struct evbuffer *output; /* the user adds to its end */
    bool is_open; /* no handshake is under way */
    bool has_ended; /* the peer sends no more, and said so */
    bool has_failed; /* nothing goes on; `why` */
    const char *why; /* for people */
    /* of stream.c alone */
    struct event *event;
    struct tls *tls; /* NULL: plain */
    bool readable, writable, wants_shut, is_shut;
    void (*fn)(void *data);
    void *data;
};

/* Takes the descriptor (connected, non-blocking), in any case.  `fn` is called on the loop, never
 * by a function of this header, and may free the stream.  NULL: no memory. */
struct stream *stream_new(struct event_base *base, int fd, void (*fn)(void *data), void *data);
/* The first bytes are a handshake of `tls`, which is over the same descriptor and is taken. */
void stream_secure(struct stream *stream, struct tls *tls);
/* Closes; what was not written is lost.  `resets`: so that the peer sees a failure, not an end. */
void stream_free(struct stream *stream, bool resets);

/* Goes on with the handshake, and reads until `most` bytes wait in `input` or there are no more.
 * True: something changed. */
bool stream_pull(struct stream *stream, size_t most);
/* Writes what it can of `output`.  True: something was written. */
bool stream_push(struct stream *stream);
/* When `output` is written the peer is told that no more comes. */
void stream_shut(struct stream *stream);
/* Whether that has been done. */
bool stream_is_shut(const struct stream *stream);

#endif
