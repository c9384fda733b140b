/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: reads HTTP/1.1 heads, strictly: what two programs could understand
 * differently is refused (RFC 9112).  Pure; bytes may be hostile. */
#ifndef ABX_EGRESS_HTTP_HEAD_H
#define ABX_EGRESS_HTTP_HEAD_H

#include "egress/span.h"

#include <stdint.h>

#define HTTP_HEAD_MAX 65536u
#define HTTP_TARGET_MAX 16384u
#define HTTP_FIELDS_MAX 128u
#define HTTP_CONNECTION_MAX 32u /* names in Connection, all together: each is looked for */

struct http_field {
    struct span name, value; /* value without white space around it */
};

enum http_framing {
    HTTP_NO_BODY,
    HTTP_LENGTH, /* content_length */
    HTTP_CHUNKED,
    HTTP_UNTIL_CLOSE /* responses only */
};

enum http_form {
    HTTP_ORIGIN, /* "/path?query" */
    HTTP_ABSOLUTE, /* "http://host/path?query" */
    HTTP_AUTHORITY /* CONNECT "host:port" */
};

struct http_head {
    size_t length; /* of the head with its empty line */
    bool is_request;
    int minor; /* HTTP/1.minor: 0 or 1 */
    /* request */
    struct span method, target;
    enum http_form form;
    bool is_https; /* what an absolute target says */
    struct span host; /* that counts: of the target, else of Host; without port and brackets; empty
                         only in HTTP/1.0 */
    uint16_t port; /* 0: the scheme's */
    struct span path; /* with the query; "/" if the target has none; empty for CONNECT */
    /* response */
    int status;
    struct span reason;
    /* both */
    struct http_field fields[HTTP_FIELDS_MAX];
    size_t n_fields;
    enum http_framing framing;
    uint64_t content_length; /* with HTTP_LENGTH */
    bool keep_alive;
    bool expects_continue;
    struct span upgrade; /* the protocol where Connection asks for one, else empty */
};

/* 0: more bytes are needed; > 0: read, that long; < 0: refused with this status, negative (400,
 * 414, 417, 421, 431, 501, 505; of a response always 502), and *ret_why says why, a literal. */
int http_request_parse(
        const char *bytes, size_t length, struct http_head *ret_head, const char **ret_why);
/* `method` of the request that is answered: HEAD and CONNECT change the framing. */
int http_response_parse(const char *bytes, size_t length, struct span method,
        struct http_head *ret_head, const char **ret_why);
/* The first field of that name (lower case), or NULL. */
const struct http_field *http_field_get(const struct http_head *head, const char *name);
size_t http_field_count(const struct http_head *head, const char *name);
/* Whether a field belongs to the connection and not to the message: it is not passed on. */
bool http_field_is_hop(const struct http_head *head, const struct http_field *field);

#endif
