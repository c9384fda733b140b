/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: what a client's first bytes are, and which host they are for.  Pure;
 * bytes may be hostile. */
#ifndef ABX_EGRESS_GREETING_H
#define ABX_EGRESS_GREETING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GREETING_MAX 65536u /* more is never looked at */

enum greeting_kind {
    GREETING_MORE, /* it cannot be told yet */
    GREETING_TLS,
    GREETING_HTTP, /* a request of HTTP/1 */
    GREETING_HTTP2, /* without TLS; its hosts are named where this does not read */
    GREETING_OTHER, /* neither */
    GREETING_BAD_TLS, /* begins like one and cannot be read */
    GREETING_BAD_HTTP
};

struct greeting {
    enum greeting_kind kind;
    char host[256]; /* SNI, or the host of the request, in the spelling of a policy; "": none */
    bool could_be_tls, could_be_http; /* MORE */
    bool has_ech; /* TLS */
    int status; /* BAD_HTTP: 400 and the like */
    const char *why; /* of both that are bad; a literal */
};

void greeting_read(const uint8_t *bytes, size_t length, struct greeting *ret_greeting);

#endif
