/* SPDX-License-Identifier: Apache-2.0
 * What a platform does, and what it may ask and tell.  A backend knows neither policy nor events:
 * it gets a plan, and a broker that decides.  All broker functions may be called from the loop
 * thread and from the backend's workers. */
#ifndef ABX_BACKEND_BACKEND_H
#define ABX_BACKEND_BACKEND_H

#include "base/fail.h"
#include "base/loop.h"
#include "plan/plan.h"

/* Who does something. */
struct subject {
    uint64_t command; /* id of the command, 0 if it cannot be told */
    int32_t pid; /* as the host sees it */
    const char *program; /* path of its executable, "" if unknown; NULL: backend->program_of tells,
                            while the call that is decided about waits */
};

/* Why something was denied, for a program that can be told in its own protocol. */
struct refusal {
    char rule[128], reason[256], alternative[256];
    uint64_t ticket; /* of the question that was answered with no; else 0 */
    int status; /* of HTTP, with which a proxy outside refused; else 0 */
};

/* How a server, or a proxy outside, refused a request. */
struct reply {
    int status; /* of HTTP */
    const char *problem; /* what it said about it, as ABX_FIELD_PROBLEM has it; or NULL */
};

#define ACTION_KEY_SIZE 33u

/* What is done. */
struct act {
    uint32_t request; /* ABX_REQUEST_* */
    uint32_t access; /* ABX_ACCESS_*, one bit */
    uint32_t layer; /* ABX_LAYER_* that is told; 0: the one of the request */
    uint32_t port;
    const char *target; /* real absolute path, host name or address, name of a system call */
    const char *asked; /* as the program spelled it, or NULL if the same */
    const char *bound; /* what else is shown to who is asked, JSON: a yes is for that; or NULL */
#define BOUND_NO_BODY "{\"body\":\"none\"}" /* of a request without one */
/* Of one that becomes a connection of its own: only what says so covers it. */
#define BOUND_UPGRADE "{\"body\":\"none\",\"upgrade\":\"websocket\"}"
    const char *verb; /* "open", "rename", "unlink", "connect", ... */
    int content; /* descriptor of what would stand at target after a rename, which nobody
                    else can write to; else -1 */
    bool *judged; /* set to true where the content decides; or NULL */
    bool quiet; /* only the verdict: no event, no question (no ticket) where it is ASK, no use taken
                 */
    bool looks; /* no use of a grant is taken: that is for the call which this one is before */
    uint64_t *by; /* set to the grant that allows it; or NULL */
    uint64_t *counted; /* set to the grant of which a use was taken, or would be; or NULL */
    const char *body; /* of a request: JSON that is its arguments; NULL: it has none */
    size_t body_length;
    const char *unreadable; /* of a request: why its body is not there; or NULL */
    const char *action; /* what it counts as, where the broker found that; or NULL */
    char *key; /* ACTION_KEY_SIZE: written where an action is allowed, or will be by an answer: by
                  that a server knows it again; or NULL */
    struct refusal *refusal; /* written where it is denied, or would be by an answer; or NULL */
    const struct reply *reply; /* of what is reported: why; or NULL */
};

struct exit_status {
    uint32_t reason; /* ABX_EXIT_CODE or ABX_EXIT_SIGNAL */
    int32_t code;
    uint64_t cpu_us;
    uint64_t peak_memory;
    /* How often the box's limits were in the way since a command of it ended last, as far as that
     * is known. */
    uint64_t killed_for_memory; /* processes */
    uint64_t processes_refused;
};

struct broker {
    void *data;
    /* ALLOW: go on.  DENY: refuse with EACCES; the event has been made.  ASK: hold the call; the
     * answer comes through backend->answer with *ret_ticket.  Equal questions share a ticket. */
    abx_verdict (*decide)(
            void *data, const struct subject *subject, const struct act *act, uint64_t *ret_ticket);
    /* Of a held call: whether what was allowed before, by the answer to a question (its ticket) or
     * by a use of a grant (its number), still is: the host may have taken the grant back.  False:
     * the denial has its event. */
    bool (*holds)(void *data, const struct subject *subject, const struct act *act, uint64_t by);
    /* Of a request under way: the host took back what allowed it, so it is denied after all. */
    void (*revoked)(void *data, const struct subject *subject, const struct act *act);
    /* The caller of a held call is gone or was interrupted: one waiter less. */
    void (*withdraw)(void *data, uint64_t ticket);
    /* A refusal that the boundary makes without asking (a system call), or something allowed and
     * worth knowing.  `type`: ABX_EVENT_DENIAL or ABX_EVENT_NOTICE.  Texts may be NULL. */
    void (*report)(void *data, uint32_t type, const struct subject *subject, const struct act *act,
            const char *rule, const char *reason, const char *alternative);
    /* Supervisor thread. */
    void (*exited)(void *data, uint64_t command, const struct exit_status *status);
    /* The whole box is gone; no further calls. */
    void (*ended)(void *data);
    /* What was reported as refused outside was accepted when it came again: it is nothing to
     * explain any more. */
    void (*accepted)(void *data, const struct subject *subject, const struct act *act);
};

struct gateway; /* backend/gateway.h */

/* Whom programs of a box believe: contents of files, no secret. */
struct trust_files {
    char *bundle; /* certificates, PEM */
    size_t bundle_length;
    char *store; /* the same for Java */
    size_t store_length;
};

/* What open needs besides the plan; borrowed during the call. */
struct box_setup {
    const struct plan *plan; /* borrowed until close */
    struct loop *loop; /* the supervisor's; runs in its own thread already */
    struct loop *mask_loop; /* where the plan has a mask; runs in another thread: serves what the
                               first may have to wait for when it reads the memory of a box, and
                               never waits for it */
    const struct broker *broker; /* borrowed until close */
    const struct gateway *gateway; /* borrowed until close; NULL: the box has no way out, and no
                                      port of it is published */
    const struct trust_files *trust; /* not NULL where plan_adds_trust */
    const char *init_path; /* NULL: the carried program */
    uint64_t decoy_seed; /* what decoys show is made from it (base/decoy.h) */
};

struct command {
    uint64_t id;
    const char *const *argv;
    const char *const *env; /* whole environment */
    const char *cwd;
    int stdio[3]; /* borrowed descriptors; unused with pty */
    bool pty;
    bool canary; /* argv are samples (plan/wire.h), which are tried, not executed */
    uint32_t rows, columns;
    uint64_t cpu_ms; /* 0 none */
};

struct boundary; /* one open box, the backend's */

struct backend {
    const char *name; /* "linux" */
    /* 0, or -errno where something lacks at the moment that it needs to find out. */
    int (*probe)(struct capabilities *ret_capabilities);
    const struct host_view *host;
    /* Blocks until the boundary stands, or nothing is left of it.  Any thread but the loop's. */
    abx_status (*open)(
            const struct box_setup *setup, struct boundary **ret_boundary, struct fail *fail);
    /* Blocks until the command executes inside the finished boundary; ABX_ERR_EXEC with os_code
     * ENOENT, EACCES... if its program cannot be executed.  *ret_pty: master, with pty, else -1. */
    abx_status (*spawn)(struct boundary *boundary, const struct command *command, int *ret_pty,
            struct fail *fail);
    /* Path of the executable of a process, "" if unknown; its last component is "agentbox-init" as
     * long as a command does not execute yet.  Any thread. */
    void (*program_of)(int32_t pid, char *buffer, size_t room);
    /* To the process group of the command's leader; 9 to all that it started. */
    abx_status (*signal)(struct boundary *boundary, uint64_t command, int32_t signal);
    /* Held calls of this ticket go on (ALLOW) or fail with EACCES (DENY).  Any thread that holds no
     * lock; may come before the `decide` that said ASK has returned. */
    void (*answer)(struct boundary *boundary, uint64_t ticket, abx_verdict verdict);
    /* URL of the explicit proxy as the box's commands reach it, for their environment; NULL: there
     * is none.  Lives as long as the box. */
    const char *(*proxy)(struct boundary *boundary);
    /* JSON array for the receipt: {"mechanism","state","detail"} per layer.  Caller frees. */
    char *(*receipt)(struct boundary *boundary);
    void (*kill)(struct boundary *boundary); /* every process; the box cannot be used again */
    /* Ends and reaps everything, frees.  No broker call after it returned.  Not on the loop thread.
     */
    void (*close)(struct boundary *boundary);
    /* These two are NULL wherever something is enforced.  What a command would try: *ret_verdict,
     * or ABX_NONE and *ret_ticket where it is held. */
    abx_status (*attempt)(struct boundary *boundary, uint64_t command, const abx_request *request,
            abx_verdict *ret_verdict, uint64_t *ret_ticket, struct fail *fail);
    /* What a held one came to; ABX_NONE: nothing yet, ABX_ERR_STATE: it never will. */
    abx_status (*outcome)(struct boundary *boundary, uint64_t ticket, int64_t timeout_ms,
            abx_verdict *ret_verdict);
};

/* The platform's, of which the build selects the folder. */
extern const struct backend backend_native;
/* lib/simulated: no system at all. */
extern const struct backend backend_simulated;
/* pick.c: the backend of this build. */
const struct backend *backend_pick(void);
/* The one that a host asked for, ABX_BACKEND_*. */
const struct backend *backend_choose(uint32_t backend);

#endif
