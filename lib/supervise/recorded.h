/* SPDX-License-Identifier: Apache-2.0
 * What the records of an audit log tell of calls, so that a policy can be asked about them again.
 * Several records may be of one call (a question, the yes, the action that followed): it is found
 * once. */
#ifndef ABX_SUPERVISE_RECORDED_H
#define ABX_SUPERVISE_RECORDED_H

#include "audit/record.h"
#include "base/json.h"
#include "policy/intern.h"

/* Why a record of a call cannot be asked about again. */
enum recorded_gap {
    GAP_REDACTED, /* it says nothing */
    GAP_UNREADABLE, /* it was cut, or is none that this version writes */
    GAP_BOUNDARY, /* no policy can allow it */
    GAP_LIMIT, /* what counts is what was done before */
    GAP_IDENTITY, /* the delegation had expired */
    GAP_GRANT, /* the host took a grant back */
    GAP_AUDIT, /* it could not be recorded, so it was not done */
    GAP_BODY, /* of a request, in which there are arguments */
    GAP_PROGRAM, /* was asked for by a name without a path */
    GAP_TORN, /* the last record was written in part */
    GAPS
};

/* Texts are owned. */
struct recorded_call {
    abx_request request; /* as a policy is asked; points to the two texts below */
    char *target, *verb;
    char *address; /* CONNECT: to which the name led; or NULL */
    char *arguments; /* of an action, in their one form; or NULL */
    bool lacks_body; /* HTTP: what its body says is not in the log */
    bool is_spelled; /* the target is as it was asked for, maybe a symbolic link */
    abx_verdict before; /* what was said */
};

enum recorded { RECORDED_NOTHING, RECORDED_CALL, RECORDED_GAP, RECORDED_NOMEM };

/* What later records of the same calls are known by. */
struct recorded_state {
    struct intern questions;
    struct intern commands; /* that were about to start */
    struct vec programs; /* char *, of each of those; NULL once it started */
};

void recorded_init(struct recorded_state *state);
void recorded_done(struct recorded_state *state);
void recorded_call_done(struct recorded_call *call);
/* `body` NULL: the record is redacted, or no JSON.  RECORDED_CALL: the caller ends the call;
 * RECORDED_GAP: *ret_gap says why there is none. */
enum recorded recorded_take(struct recorded_state *state, const struct record *record,
        const struct json *body, struct recorded_call *ret_call, enum recorded_gap *ret_gap);

#endif
