/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: what a program is told in HTTP when it is refused or nothing is reached:
 * application/problem+json (RFC 9457).  Pure. */
#ifndef ABX_EGRESS_PROBLEM_H
#define ABX_EGRESS_PROBLEM_H

#include "backend/backend.h"
#include "base/str.h"

#include <stdint.h>

struct problem {
    int status; /* 403 and the like */
    const char *detail; /* a sentence, without the reason of a refusal */
    const char *name; /* of the destination; NULL or "": there is none */
    uint16_t port;
    const char *backend;
    const struct refusal *refusal; /* NULL: not the policy speaks */
    bool only_head; /* the answer to HEAD */
};

/* Appends a whole response, after which the connection is closed. */
void problem_response(const struct problem *problem, struct str *out);
/* The words for a destination that was not reached, and the status: 504 for ETIMEDOUT, else 502. */
void problem_of_errno(struct problem *problem, int error);

#endif
