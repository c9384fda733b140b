/* SPDX-License-Identifier: Apache-2.0
 * Bodies (RFC 9112, 6 and 7).  Chunks are read a byte at a time except for what they hold; nothing
 * is kept but numbers and the beginning of a trailer's name. */
#include "egress/http_body.h"

#include "base/str.h"

#include <string.h>

#define CHUNK_DIGITS_MAX 15u

enum state {
    DATA, /* and with a length, or until the connection closes, nothing else */
    DATA_CR,
    DATA_LF,
    SIZE_FIRST,
    SIZE,
    EXTENSION,
    SIZE_LF,
    TRAILER_FIRST, /* what comes is a trailer, or the end */
    TRAILER_NAME,
    TRAILER_VALUE,
    TRAILER_LF,
    END_LF,
    OVER
};

/* These would make another message of the one that was decided about (RFC 9110, 6.5.1). */
static const char *const forbidden_trailers[] = { "authorization", "connection", "content-encoding",
    "content-length", "content-range", "content-type", "cookie", "expect", "host", "set-cookie",
    "te", "trailer", "transfer-encoding", "upgrade", NULL };

void
http_body_start(struct http_body *body, const struct http_head *head)
{
    *body = (struct http_body){ .framing = head->framing };
    switch (head->framing) {
    case HTTP_NO_BODY:
        body->state = OVER;
        break;
    case HTTP_LENGTH:
        body->left = head->content_length;
        body->state = body->left > 0 ? DATA : OVER;
        break;
    case HTTP_CHUNKED:
        body->state = SIZE_FIRST;
        break;
    case HTTP_UNTIL_CLOSE:
        body->left = UINT64_MAX;
        body->state = DATA;
        break;
    }
}

bool
http_body_is_over(const struct http_body *body)
{
    return body->state == OVER;
}

bool
http_body_may_end(const struct http_body *body)
{
    return body->state == OVER || body->framing == HTTP_UNTIL_CLOSE;
}

/* A size is hexadecimal digits; what comes behind it is an extension or the end of the line. */
static const char *
read_size(struct http_body *body, char c)
{
    int digit = hex_digit(c);

    if (digit >= 0) {
        if (body->line >= CHUNK_DIGITS_MAX) {
            return "a chunk's size is too long";
        }
        body->left = body->left << 4 | (unsigned)digit;
        body->state = SIZE;
        return NULL;
    }
    if (body->state == SIZE && (c == ';' || c == '\r')) {
        body->state = c == ';' ? EXTENSION : SIZE_LF;
        return NULL;
    }
    return "a chunk's size is no plain number";
}

/* Names and values, without the quotes that hide the end of a line from some readers. */
static const char *
read_extension(struct http_body *body, char c)
{
    body->extras++;
    if (c == '\r') {
        body->state = SIZE_LF;
    } else if (c != ';' && c != '=' && !span_is_token((struct span){ &c, 1 })) {
        return "a chunk's extension has a character that belongs in none";
    }
    return NULL;
}

static const char *
read_trailer_name(struct http_body *body, char c)
{
    if (c == ':' && body->state == TRAILER_NAME) {
        size_t length = body->line < sizeof body->name ? body->line : sizeof body->name;

        body->state = TRAILER_VALUE;
        return span_is_one_of((struct span){ body->name, length }, forbidden_trailers)
                       ? "a trailer belongs into the head"
                       : NULL;
    }
    if (c == '\r' && body->state == TRAILER_FIRST) {
        body->state = END_LF;
        return NULL;
    }
    if (!span_is_token((struct span){ &c, 1 })) {
        return "a trailer's name has a character that belongs in none";
    }
    if (body->line < sizeof body->name) {
        body->name[body->line] = (char)(c == '_' ? '-' : c);
    }
    body->state = TRAILER_NAME;
    return NULL;
}

/* One byte that is not body. */
static const char *
read_byte(struct http_body *body, char c)
{
    const char *why = NULL;
    uint32_t line = body->line + 1;

    switch ((enum state)body->state) {
    case DATA_CR:
        why = c == '\r' ? NULL : "a chunk is longer than its size";
        body->state = DATA_LF;
        break;
    case DATA_LF:
        why = c == '\n' ? NULL : "a chunk is longer than its size";
        body->state = SIZE_FIRST;
        line = 0;
        break;
    case SIZE_FIRST:
    case SIZE:
        why = read_size(body, c);
        break;
    case EXTENSION:
        why = read_extension(body, c);
        break;
    case SIZE_LF:
        why = c == '\n' ? NULL : "a chunk's size does not end with CR LF";
        body->state = body->left > 0 ? DATA : TRAILER_FIRST;
        line = 0;
        break;
    case TRAILER_FIRST:
    case TRAILER_NAME:
        body->extras++;
        why = read_trailer_name(body, c);
        break;
    case TRAILER_VALUE:
        body->extras++;
        line = 0;
        if (c == '\r') {
            body->state = TRAILER_LF;
        } else if (((unsigned char)c < ' ' && c != '\t') || c == 0x7f) {
            why = "a trailer has a control character";
        }
        break;
    case TRAILER_LF:
        why = c == '\n' ? NULL : "a trailer does not end with CR LF";
        body->state = TRAILER_FIRST;
        line = 0;
        break;
    case END_LF:
        why = c == '\n' ? NULL : "the body does not end with CR LF";
        body->state = OVER;
        break;
    case DATA:
    case OVER:
        break;
    }
    body->line = line;
    if (why == NULL && (line > HTTP_CHUNK_LINE_MAX || body->extras > HTTP_CHUNK_EXTRAS_MAX)) {
        return "chunks say too much besides the body";
    }
    return why;
}

ssize_t
http_body_read(struct http_body *body, const char *bytes, size_t length, struct span *ret_piece,
        const char **ret_why)
{
    size_t used = 0;

    *ret_piece = (struct span){ bytes, 0 };
    while (used < length && body->state != OVER) {
        if (body->state == DATA) {
            uint64_t left = length - used;
            size_t piece = (size_t)(left < body->left ? left : body->left);

            *ret_piece = (struct span){ bytes + used, piece };
            if (body->framing != HTTP_UNTIL_CLOSE) {
                body->left -= piece;
            }
            if (body->left == 0) {
                body->state = body->framing == HTTP_CHUNKED ? DATA_CR : OVER;
            }
            return (ssize_t)(used + piece);
        }
        *ret_why = read_byte(body, bytes[used++]);
        if (*ret_why != NULL) {
            return -1;
        }
    }
    return (ssize_t)used;
}
