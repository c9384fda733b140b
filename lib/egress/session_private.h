/* SPDX-License-Identifier: Apache-2.0
 * Inside session*.c only.  A session is one connection of a program in the box.  It has at most one
 * exchange at a time, a request with its answer, and at most one connection outside, which the next
 * exchange uses again if it goes to the same place.
 *
 * Whatever happens, session_run looks at all of it again and does what can be done.  So the
 * functions below only change what is theirs and say whether something changed; nothing is freed
 * but by session_run's end. */
#ifndef ABX_EGRESS_SESSION_PRIVATE_H
#define ABX_EGRESS_SESSION_PRIVATE_H

#include "egress/decide.h"
#include "egress/dial.h"
#include "egress/http_body.h"
#include "egress/http_write.h"
#include "egress/replace.h"
#include "egress/session.h"
#include "egress/stream.h"
#include "egress/upstream.h"

#define INPUT_MAX (64u << 10) /* of a body, waits to be looked at */
#define OUTPUT_MAX (128u << 10) /* waits for a slow reader; then nothing more is read for it */

/* A head as it is sent, with its secrets: wiped when nobody needs it any more. */
struct sealed {
    unsigned refs;
    size_t length;
    char bytes[];
};
struct sealed *sealed_take(struct evbuffer *from); /* empties `from`; NULL: no memory */
bool sealed_add(struct sealed *sealed, struct evbuffer *to);
void sealed_unref(struct sealed *sealed);

/* One body on its way. */
struct flow {
    struct http_body body; /* as it comes */
    struct http_frame frame; /* as it goes */
    struct evbuffer *raw; /* without its framing; what credentials have not looked at yet */
    size_t left; /* of raw: they looked at it, and wait for more */
    uint64_t sent; /* of the body */
    bool is_over; /* all of it is in the other's output */
};

enum stage {
    STAGE_CONNECT, /* may it go there?  A proxy asks for each request */
    STAGE_BODY, /* it is gathered, since it is decided about */
    STAGE_REQUEST, /* may it be made? */
    STAGE_COLLECT, /* the body is gathered, since it is needed with the head */
    STAGE_CREDENTIALS,
    STAGE_ORIGIN, /* a connection is made */
    STAGE_FORWARD, /* the request goes out, the answer comes in */
    STAGE_UPGRADED /* bytes, both ways */
};

struct exchange {
    enum stage stage;
    /* the request */
    char *bytes; /* that `request` is made of */
    struct http_head request;
    char host[POLICY_HOST_SIZE]; /* where it goes */
    uint16_t port;
    struct decision *decision;
    bool is_asked, is_decided;
    abx_verdict verdict;
    uint64_t by; /* the grant that allows it, or the question; 0: the policy */
    bool is_revoked; /* what allows it was taken back */
    struct refusal refusal;
    struct replace *replace;
    struct flow out;
    struct evbuffer *collected; /* the body; NULL: it streams */
    size_t most; /* of the body that is decided about; 0: none is */
    const char *unreadable; /* why it has no arguments that can be decided about; or NULL */
    char key[ACTION_KEY_SIZE]; /* of the action that the request counts as; "": none */
    struct sealed *head; /* as it is sent */
    bool waits; /* for a secret */
    bool has_begun; /* the head was sent */
    bool was_retried;
    /* the answer */
    char *answer_bytes;
    struct http_head answer;
    bool has_answer; /* its head was passed on */
    size_t n_interim; /* answers before the answer */
    struct flow in;
    struct evbuffer *held; /* of the answer, until the program may see it; NULL: it may */
    struct str document; /* what the held answer has of a body */
    bool is_told; /* what the held answer says */
    bool keeps; /* the client's connection stays open */
};

/* The connection outside. */
struct origin {
    struct stream *stream; /* NULL: none */
    char host[POLICY_HOST_SIZE];
    uint16_t port;
    bool may_be_stale; /* nobody looked after it for a while, so it may be gone */
    const struct upstream_proxy *relay; /* whose connection it is; NULL: the origin's */
    struct dial *dial;
    int error; /* of the dial */
    bool is_refused; /* by the policy: the exchange's refusal */
};

struct session {
    struct part part;
    struct errand *errand;
    bool is_tls, is_proxy;
    struct authority *authority;
    struct trust *trust;
    struct stream *client;
    struct origin origin;
    struct exchange *exchange; /* NULL: waits for a request */
    struct evbuffer *clean; /* what credentials made of a piece of a body */
    struct event *timer, *again;
    size_t discarded;
    size_t kept; /* as counted in the box */
    bool is_running; /* within session_run */
    bool is_closing; /* the last bytes are on their way */
    bool is_over, resets; /* to be freed */
};

/* session.c */
void session_run(struct session *session);
void session_abort(struct session *session); /* both sides see a failure */
void session_close(
        struct session *session); /* when all is written; the client has the time to read it */
/* Answers with a problem, and closes.  `detail` is a sentence; `refusal` NULL: not the policy
 * speaks. */
void session_refuse(
        struct session *session, int status, const char *detail, const struct refusal *refusal);
/* The same, with the event of a denial that is made here. */
void session_deny(struct session *session, int status, const char *rule, const char *reason,
        const char *alternative);
void session_deny_as(struct session *session, int status, const struct refusal *refusal);
/* For tests only: what lasts a second. */
extern unsigned session_second_ms;

/* session_request.c: from the first byte of a request until it may go out. */
bool request_read(struct session *session); /* a new exchange */
bool request_advance(struct session *session);
/* Whether the grant or the answer that let it through still does, or something else would.  False:
 * it is refused, with its event, or cut where its answer is on the way. */
bool request_holds(struct session *session);
char *request_method(const struct session *session); /* the caller frees; NULL: no memory */
/* "https://host/path?query", as it is decided about; NULL: no memory. */
char *request_url(const struct session *session);
bool request_has_body(const struct http_head *request);
void request_deny_unreadable(struct session *session, int status, const char *why);
void exchange_free(struct exchange *exchange);

/* session_room.c: what is kept of bodies before they may go on. */
void session_count_kept(struct session *session);
/* False: all sessions of the box keep too much; bodies that are gathered go on as they come. */
bool session_has_room(struct session *session);
/* For tests only: how much a box may. */
extern size_t session_room;

/* session_body.c: STAGE_BODY. */
bool body_advance(struct session *session);
/* What was gathered goes on as it comes, with the rest.  False: no memory. */
bool body_let_go(struct exchange *exchange);
/* What of the body is decided about; the length is 0 where there is none.  False: no memory. */
bool body_bytes(const struct exchange *exchange, const char **ret_bytes, size_t *ret_length);
/* What of it a yes is for (struct act, `bound`); the caller frees; NULL: no memory. */
char *body_shown(struct session *session);

/* session_action.c */
/* Whether what a request with a body asks for is in that, too. */
bool action_wants_body(const struct session *session, const char *url, const char *method);
/* Why the body could be something else than it seems, or NULL. */
const char *action_body_is_wrong(const struct http_head *request);

/* session_origin.c */
bool origin_advance(struct session *session); /* STAGE_ORIGIN */
/* It is gone, and the exchange was not answered: tries once more if nobody can tell, else refuses.
 */
void origin_lost(struct session *session);
void origin_close(struct session *session, bool resets);

/* session_forward.c: STAGE_FORWARD and STAGE_UPGRADED. */
bool forward_advance(struct session *session);

/* session_answer.c */
/* Looks at the answer's head, which is passed on next.  False: no memory. */
bool answer_look(struct session *session);
/* Looks at a piece of its body, in session->clean, which is passed on next. */
bool answer_read(struct session *session, bool is_last);
/* Where it is passed on to. */
struct evbuffer *answer_output(const struct session *session);
/* The session ends before all of a held answer was there: its status is told. */
void answer_leave(struct session *session);
/* Lets the program see what was told. */
bool answer_release(struct session *session);

/* session_flow.c */
bool flow_start(struct flow *flow, const struct http_head *head, const struct http_frame *frame);
void flow_done(struct flow *flow);
/* Takes what there is of the body off `from`, into flow->raw.  NULL, or why it is refused. */
const char *flow_take(struct flow *flow, struct evbuffer *from);
/* Frames what `clean` holds, empties it, and ends the body with `is_last`.  False: its length is
 * not what was said. */
bool flow_give(struct flow *flow, struct evbuffer *clean, bool is_last, struct evbuffer *to);

#endif
