/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: heads as they are passed on.  What belonged to the connection they came
 * over is left out, and framing is said anew.  Pure. */
#ifndef ABX_EGRESS_HTTP_WRITE_H
#define ABX_EGRESS_HTTP_WRITE_H

#include "base/str.h"
#include "egress/http_head.h"

/* What the body looks like on its way on. */
struct http_frame {
    enum http_framing framing;
    uint64_t length; /* with HTTP_LENGTH */
    bool keeps_length; /* with HTTP_NO_BODY of an answer: Content-Length says what there would be */
};

/* A field that is ours to say: what a program says under that name is left out. */
struct http_own {
    const char *name, *value; /* value NULL: it is left out only */
};

/* `expects`: the origin is to say whether it wants the body. */
void http_request_write(struct str *out, const struct http_head *request, const char *host,
        uint16_t port, bool is_tls, const struct http_frame *frame, bool expects,
        const struct http_own *own, size_t n_own);
/* `keeps`: the connection stays open after it; `minor` of the one who gets it. */
void http_answer_write(struct str *out, const struct http_head *answer,
        const struct http_frame *frame, bool keeps, int minor);
/* Whether an upgrade that is asked for is passed on: only to what is no HTTP any more, since
 * nobody decides about what follows. */
bool http_upgrade_passes(const struct http_head *request);
/* "host:port", without the port that is usual; IPv6 in brackets. */
void http_authority_write(struct str *out, const char *host, uint16_t port, bool is_tls);

#endif
