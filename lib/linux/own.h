/* SPDX-License-Identifier: Apache-2.0
 * What boundary.c, asking.c, commands.c and owners.c share; nobody else includes it.
 *
 * Locks: `lock` guards what stands below it and is held neither across a call into another part nor
 * across a system call.  Everything else belongs to the loop's thread, or to the opener and the
 * closer, before and after. */
#ifndef ABX_LINUX_OWN_H
#define ABX_LINUX_OWN_H

#include "linux/boundary.h"
#include "linux/cgroup.h"
#include "linux/control.h"
#include "linux/launch.h"

#include <pthread.h>

enum boundary_state { BOX_OPENING, BOX_OPEN, BOX_ENDED };

/* A thread that waits for an answer of init; on its stack. */
struct waiter {
    struct waiter *next;
    uint32_t kind; /* WIRE_SPAWN, WIRE_BIND or WIRE_MAKE_SOCKET */
    uint64_t id; /* of the command, or a cookie */
    bool done;
    int error; /* errno, 0: it worked */
    uint32_t step; /* enum wire_start_step */
    int fd; /* the terminal of a command, or the socket */
    pthread_cond_t cond;
};

/* A command whose leader or whose listener still lives. Loop thread. */
struct running {
    struct running *next;
    struct boundary *boundary;
    uint64_t id;
    bool started; /* its program was executed: the broker is told of its end */
    bool exited;
    struct notify *notify; /* until no process has the filter any more */
    int hangup; /* duplicate of the listener, watched for that */
    struct loop_source *source;
};

/* Which process belongs to which command: the latest that were seen. */
#define OWNERS 512u
struct owner {
    int32_t pid;
    uint64_t command;
};

struct boundary_private {
    struct launched init;
    int control;
    struct loop_source *control_source, *init_source;
    void *program; /* for the names of steps */
    size_t program_size;
    struct cgroup *cgroup;
    struct running *commands;

    pthread_mutex_t lock;
    pthread_cond_t changed; /* state, while it opens */
    enum boundary_state state;
    struct fail fail; /* why it never opened */
    uint32_t optional_failed;
    struct waiter *waiters;
    uint64_t cookie;
    struct owner owners[OWNERS];
};

/* ---- boundary.c ---- */
abx_status boundary_open(
        const struct box_setup *setup, struct boundary **ret_boundary, struct fail *fail);
void boundary_kill(struct boundary *boundary);
void boundary_close(struct boundary *boundary);
void boundary_answer(struct boundary *boundary, uint64_t ticket, abx_verdict verdict);
const char *boundary_proxy(struct boundary *boundary);

/* ---- asking.c ---- */
void waiter_init(struct waiter *waiter, uint32_t kind, uint64_t id);
/* Sends and waits for the answer: 0 or the errno of it, which is ESRCH when the box ended. */
int waiter_ask(struct boundary *boundary, struct waiter *waiter, const struct wire_message *message,
        const int *fds, size_t n_fds);
/* The lock is held. */
struct waiter *waiter_find(struct boundary_private *own, uint32_t kind, uint64_t id);
void waiter_wake(struct boundary *boundary, uint32_t kind, uint64_t id, int error, uint32_t step);
/* The box has ended: nobody waits any longer. */
void waiters_end(struct boundary *boundary);

/* ---- commands.c ---- */
abx_status boundary_spawn(
        struct boundary *boundary, const struct command *command, int *ret_pty, struct fail *fail);
abx_status boundary_signal(struct boundary *boundary, uint64_t command, int32_t signal);
/* A message about a command or a bind; takes its descriptors. Loop thread. */
void commands_message(struct boundary *boundary, struct control_message *message);
void commands_free(struct boundary *boundary); /* loop thread */

/* ---- owners.c ---- */
/* Remembers a leader by its pidfd. */
void owners_add_leader(struct boundary *boundary, int pidfd, uint64_t command);

/* ---- receipt.c ---- */
char *boundary_receipt(struct boundary *boundary);

#endif
