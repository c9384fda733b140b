/* SPDX-License-Identifier: Apache-2.0
 * Bodies between two connections: out of one framing, into another.  And heads that hold secrets.
 */
#include "egress/session_private.h"

#include <stdlib.h>
#include <string.h>

/* ---- heads ---- */
struct sealed *
sealed_take(struct evbuffer *from)
{
    size_t length = evbuffer_get_length(from);
    unsigned char *bytes = evbuffer_pullup(from, -1);
    struct sealed *sealed = malloc(sizeof *sealed + length);

    if (sealed != NULL && (bytes != NULL || length == 0)) {
        sealed->refs = 1;
        sealed->length = length;
        memcpy(sealed->bytes, bytes, length);
    }
    if (bytes != NULL) {
        explicit_bzero(bytes, length);
    }
    evbuffer_drain(from, length);
    return sealed;
}

void
sealed_unref(struct sealed *sealed)
{
    if (sealed != NULL && --sealed->refs == 0) {
        explicit_bzero(sealed->bytes, sealed->length);
        free(sealed);
    }
}

static void
was_sent(const void *bytes, size_t length, void *data)
{
    sealed_unref(data);
}

bool
sealed_add(struct sealed *sealed, struct evbuffer *to)
{
    if (evbuffer_add_reference(to, sealed->bytes, sealed->length, was_sent, sealed) != 0) {
        return false;
    }
    sealed->refs++;
    return true;
}

/* ---- bodies ---- */
bool
flow_start(struct flow *flow, const struct http_head *head, const struct http_frame *frame)
{
    flow->frame = *frame;
    flow->sent = 0;
    flow->left = 0;
    http_body_start(&flow->body, head);
    flow->is_over = head->framing == HTTP_NO_BODY;
    flow->raw = flow->is_over ? NULL : evbuffer_new();
    return flow->is_over || flow->raw != NULL;
}

void
flow_done(struct flow *flow)
{
    if (flow->raw != NULL) {
        evbuffer_free(flow->raw);
    }
    flow->raw = NULL;
}

const char *
flow_take(struct flow *flow, struct evbuffer *from)
{
    while (!http_body_is_over(&flow->body) && evbuffer_get_length(flow->raw) < INPUT_MAX) {
        struct evbuffer_iovec bytes;
        struct span piece;
        const char *why = NULL;
        ssize_t used;

        if (evbuffer_peek(from, -1, NULL, &bytes, 1) < 1 || bytes.iov_len == 0) {
            break;
        }
        used = http_body_read(&flow->body, bytes.iov_base, bytes.iov_len, &piece, &why);
        if (used < 0) {
            return why;
        }
        /* Framing stands before the piece, never behind it. */
        evbuffer_drain(from, (size_t)used - piece.length);
        if (piece.length > 0 &&
                evbuffer_remove_buffer(from, flow->raw, piece.length) != (int)piece.length) {
            return "out of memory";
        }
    }
    return NULL;
}

bool
flow_give(struct flow *flow, struct evbuffer *clean, bool is_last, struct evbuffer *to)
{
    size_t length = evbuffer_get_length(clean);
    bool is_chunked = flow->frame.framing == HTTP_CHUNKED;
    int r = 0;

    flow->sent += length;
    if (is_chunked && length > 0) {
        r = evbuffer_add_printf(to, "%zx\r\n", length) < 0;
    }
    r |= evbuffer_add_buffer(to, clean);
    if (is_chunked && length > 0) {
        r |= evbuffer_add(to, "\r\n", 2);
    }
    if (is_chunked && is_last) {
        r |= evbuffer_add(to, "0\r\n\r\n", 5);
    }
    flow->is_over = is_last;
    if (flow->frame.framing == HTTP_LENGTH &&
            (flow->sent > flow->frame.length || (is_last && flow->sent < flow->frame.length))) {
        return false;
    }
    return r == 0;
}
