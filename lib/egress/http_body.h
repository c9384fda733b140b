/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: finds the body of an HTTP/1.1 message in the bytes of its connection,
 * however these are cut.  The caller frames it again, so no chunk extension and no trailer gets
 * through, and something that changes the body may sit in between.  Pure; bytes may be hostile. */
#ifndef ABX_EGRESS_HTTP_BODY_H
#define ABX_EGRESS_HTTP_BODY_H

#include "egress/http_head.h"

#include <sys/types.h>

#define HTTP_CHUNK_EXTRAS_MAX 8192u /* extensions and trailers of one body, together */
#define HTTP_CHUNK_LINE_MAX 256u /* a chunk's size with its extensions; a trailer's name */

struct http_body {
    enum http_framing framing;
    uint64_t left; /* of the body, or of the chunk that is read */
    int state;
    uint32_t line; /* bytes of the line that is read */
    uint32_t extras;
    char name[32]; /* of the trailer that is read, its beginning */
};

void http_body_start(struct http_body *body, const struct http_head *head);
/* How many of these bytes were used up; *ret_piece is what they held of the body, one piece or
 * none.  Called again for what is left of them until http_body_is_over: then they belong to the
 * next message.  -1: refused, and *ret_why says why. */
ssize_t http_body_read(struct http_body *body, const char *bytes, size_t length,
        struct span *ret_piece, const char **ret_why);
bool http_body_is_over(const struct http_body *body);
/* Whether the connection may end here. */
bool http_body_may_end(const struct http_body *body);

#endif
