/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: what becomes of credentials in one request and its answer.  In a request
 * stand-ins become secrets where the policy says so; anywhere else they, and the made-up secrets of
 * decoys, refuse it.  In the answer secrets become stand-ins.  Egress thread. */
#ifndef ABX_EGRESS_REPLACE_H
#define ABX_EGRESS_REPLACE_H

#include "egress/egress.h"

#include <event2/buffer.h>

/* A body of announced length up to this is collected before its head is sent (below). */
#define REPLACE_BODY_MAX (1u << 20)

struct replace; /* one request with its answer, or one stream that cannot be changed */

struct replace_setup {
    struct egress_box *box;
    const struct subject *subject; /* copied */
    const char *host; /* the origin as it was decided */
    uint16_t port;
    bool tls; /* the origin is spoken to by TLS, so nobody between hears */
    /* What said REPLACE_WAIT is to be asked again, with the same arguments. */
    void (*ready)(void *data);
    void *data;
};

enum replace_result {
    REPLACE_DONE,
    REPLACE_WAIT, /* a secret is wanted and not there yet: what is left waits, `ready` follows */
    REPLACE_REFUSED /* the event has been made; replace_refusal says why */
};

struct replace *replace_new(const struct replace_setup *setup); /* NULL: no memory */
void replace_free(struct replace *replace); /* also while it waits: `ready` does not follow */

/* Whether the bodies of requests to this origin may change, or must be known before the head can be
 * sent.  Then a body of announced length up to REPLACE_BODY_MAX is collected and given to
 * replace_request with the head; a longer one keeps its length, and what would change that refuses
 * it; a chunked one may change as it streams. */
bool replace_wants_body(const struct replace *replace);
/* Rewrites a head as it is about to be sent, from request line to empty line, and the body that
 * belongs to it (NULL: there is none, or it streams).  Keeps Content-Length right and asks for
 * answers that are not compressed where they are to be read. */
enum replace_result replace_request(
        struct replace *replace, struct evbuffer *head, struct evbuffer *body);
/* Moves a piece of a streaming body from `from` to `to`.  What may be the beginning of something
 * stays in `from`, to which the next piece is added; with `is_last` nothing stays.  Every streaming
 * body goes through this, whatever its origin.  `keeps_length`: it was announced. */
enum replace_result replace_request_body(struct replace *replace, struct evbuffer *from,
        bool keeps_length, bool is_last, struct evbuffer *to);

/* The name of a credential whose secret is in the request; NULL: none. */
const char *replace_sent(const struct replace *replace);

/* Whether the bodies of answers may change, so that their length is not known: the session sends
 * them chunked, or until it closes. */
bool replace_changes_answer(const struct replace *replace);
/* Rewrites an answer's head.  REFUSED (502): its body could not be read. */
enum replace_result replace_answer(struct replace *replace, struct evbuffer *head);
/* As above; never waits.  REFUSED: no memory; the answer cannot go on. */
enum replace_result replace_answer_body(
        struct replace *replace, struct evbuffer *from, bool is_last, struct evbuffer *to);

/* Bytes that cannot be changed: after an upgrade, in a tunnel.  Sees what stands in several pieces,
 * too.  An answer is refused where it has a secret: the connection ends. */
enum replace_result replace_watch(
        struct replace *replace, bool is_answer, const void *bytes, size_t length);

/* The first bytes of a connection that is not read further, if they have what stands for a secret,
 * or a decoy's.  True: refused, the event has been made. */
bool replace_refuses(struct egress_box *box, const struct subject *subject, const char *host,
        uint16_t port, const void *bytes, size_t length, struct refusal *ret_refusal);

/* After REPLACE_REFUSED. */
const struct refusal *replace_refusal(const struct replace *replace);
int replace_status(const struct replace *replace); /* 400, 403, 413, 502 or 503 */

#endif
