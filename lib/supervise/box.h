/* SPDX-License-Identifier: Apache-2.0
 * An open boundary: its plan, its commands, its grants and open questions.  box.c owns it; broker.c
 * decides for it; approvals.c keeps its questions. */
#ifndef ABX_SUPERVISE_BOX_H
#define ABX_SUPERVISE_BOX_H

#include "supervise/context.h"
#include "supervise/denials.h"
#include "supervise/grants.h"
#include "supervise/identity.h"

struct capture;

struct abx_box {
    atomic_uint references;
    abx_context *context;
    uint64_t id;
    abx_policy *policy; /* as given */
    abx_identity *identity; /* or NULL */
    abx_policy *resolved; /* as it stands on this host */
    struct observed *observed; /* NULL: it does not observe */
    struct plan plan;
    uint64_t decoy_seed;
    struct broker broker;
    struct egress_box *egress; /* NULL: it has no way out */
    struct boundary *boundary;
    char *canary; /* its results as a JSON array */
    atomic_bool trying; /* the canary is: denials are no events */
    struct outlet outlet; /* for its events */
    bool opened; /* and recorded as that */
    struct loop_timer timer; /* of the earliest deadline; the supervisor thread's */
    struct vec captures; /* struct capture *: output that still flows; the supervisor thread's */
    pthread_mutex_t lock; /* guards all below */
    bool killed, ended;
    struct vec processes; /* abx_process *, owned: not yet exited */
    struct vec labels; /* struct box_label: of the last commands that exited */
    struct vec action_counts; /* struct action_count (actions.h) */
    struct vec grants; /* struct grant */
    struct revoked revoked;
    struct vec approvals; /* struct approval * */
    uint64_t minute_ns; /* when the minute in which questions are counted began */
    uint64_t asked; /* in it */
    struct denials denials; /* of commands that exited, or that nobody can tell */
};

/* Background processes outlive their command, and so does its label. */
struct box_label {
    uint64_t command;
    char *label;
};

/* `identity` may be NULL. */
abx_status box_open(abx_context *context, abx_policy *policy, abx_identity *identity,
        abx_box **ret_box, struct fail *fail);
abx_box *box_ref(abx_box *box);
bool box_try_ref(abx_box *box); /* false: its last reference is gone already */
/* The last one kills and reaps; not on the supervisor thread. */
void box_unref(abx_box *box);
DEFINE_CLEANUP(box_unref, abx_box)
abx_status box_kill(abx_box *box);
/* receipt.c: caller frees; NULL: no memory. */
char *box_receipt(abx_box *box, size_t *ret_length);

/* Takes a command in before it starts; ABX_ERR_STATE if the box was killed. */
abx_status box_add(abx_box *box, struct abx_process *process, struct fail *fail);
/* Looks a command up that is not over; the caller releases it. */
struct abx_process *box_find(abx_box *box, uint64_t command);
/* A command is over, its record leaves the box; its label stays for a while. */
void box_forget(abx_box *box, struct abx_process *process);
/* A copy of the label of a command that exited, or NULL. */
char *box_label_of(abx_box *box, uint64_t command);
/* Supervisor thread: takes a capture that goes on without its command. */
void box_keep_capture(abx_box *box, struct capture *capture);
bool box_is_killed(abx_box *box);
bool box_has_ended(abx_box *box);

/* granting.c */
abx_status box_grant(abx_box *box, const abx_request *pattern, int64_t expires_ms, uint32_t uses,
        const char *approver, uint64_t *ret_grant, struct fail *fail);
abx_status box_revoke(abx_box *box, uint64_t grant);
char *box_grants(abx_box *box, size_t *ret_length);

/* Supervisor thread: the boundary is gone, and every command with it. */
void box_ended(abx_box *box);

/* broker.c */
void broker_init(struct broker *broker, abx_box *box);
/* Whether a grant may be for this: what the policy asks about, or has no rule for, or allows. */
bool broker_may_grant(abx_box *box, const abx_request *request, struct ruling *ret_ruling);

#endif
