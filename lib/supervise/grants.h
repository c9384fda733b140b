/* SPDX-License-Identifier: Apache-2.0
 * Grants: what a box may do on top of its policy, for a while.  A policy never changes; grants come
 * and go, expire and count down.  The box's lock guards them. */
#ifndef ABX_SUPERVISE_GRANTS_H
#define ABX_SUPERVISE_GRANTS_H

#include "base/fail.h"
#include "base/str.h"
#include "base/vec.h"

#include <agentbox/agentbox.h>

#define GRANTS_MAX 4096u /* per box */
#define APPROVER_MAX 256u /* bytes of a name */
#define GRANT_RULE_SIZE 32u

struct grant {
    uint64_t id;
    uint64_t ticket; /* of the question whose answer gave it; 0: the host did */
    uint32_t request, access, port;
    char *target; /* real path, host or URL; owned */
    char *verb; /* of a request its method; owned, or NULL: any */
    char *bound; /* what else was shown (struct act); owned, or NULL: any but BOUND_UPGRADE */
    bool below; /* everything below target, not target itself */
    uint64_t command; /* 0: every command of the box */
    uint64_t expires_ns; /* CLOCK_MONOTONIC, 0: never */
    int64_t expires_ms; /* the same in Unix time, as it was given */
    uint32_t uses; /* left; 0: unlimited */
    uint32_t held; /* of them: taken for what is not done yet */
    char *approver; /* owned, or NULL */
};

/* What events call one: "grant:7". */
void grant_rule(uint64_t id, char ret_rule[GRANT_RULE_SIZE]);
/* What it adds, as JSON: all of it but what `bound` says. */
void grant_adds(const struct grant *grant, struct str *out);
/* Takes the strings on success.  False: no memory, or too many. */
bool grants_add(struct vec *grants, const struct grant *grant);
/* Takes it out; the caller frees it (grant_done).  False: there is none. */
bool grants_take(struct vec *grants, uint64_t id, struct grant *ret_grant);
void grant_done(struct grant *grant);
void grants_end_command(struct vec *grants, uint64_t command);
void grants_done(struct vec *grants);
/* What was taken back, for calls that are still under way. */
struct revoked {
    struct vec ids; /* uint64_t: grants, and the questions that they came from */
    bool is_all; /* there was no memory to tell them apart: everything counts as taken back */
};
void revoked_add(struct revoked *revoked, uint64_t id);
bool revoked_has(const struct revoked *revoked, uint64_t id);

/* Whether what is shown (struct act, or NULL) is that the request becomes a connection of its own.
 */
bool bound_is_upgrade(const char *bound);

/* How a grant covers this, if one does. */
enum cover { COVER_NONE, COVER_FREE, COVER_COUNTED };
#define APPROVERS_SIZE (2 * APPROVER_MAX + sizeof ", ")
/* Which one it is. */
struct by {
    uint64_t grant;
    bool is_answer; /* a yes gave it; else the host did */
    bool is_held; /* a use was taken */
    char approver[APPROVERS_SIZE]; /* "": nobody was named */
};
/* `take` takes one where uses are counted, until grants_used says whether it was used up. */
enum cover grants_use(struct vec *grants, const abx_request *request, const char *bound,
        uint64_t command, bool take, struct by *ret_by);
void grants_used(struct vec *grants, uint64_t id, bool was_done);
void grants_json(const struct vec *grants, struct str *out);
/* Nothing is given until a time that is over: ABX_ERR_INVALID.  0 is never. */
abx_status check_expires(int64_t expires_ms, const char *step, struct fail *fail);
/* Unix time in ms as CLOCK_MONOTONIC in ns, so that setting the clock moves no deadline. */
uint64_t grant_deadline(int64_t expires_ms);
/* The target of a request for a grant, from its escaped spelling: an absolute path without "." and
 * "..", NULL if it is none or memory ran out; "/" and two stars at its end are cut off. */
char *grant_target(const char *spelled, bool *ret_below);

#endif
