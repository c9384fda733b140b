/* SPDX-License-Identifier: Apache-2.0
 * What boundary.c, asking.c, seats.c, commands.c and owners.c share; nobody else includes it.
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

/* Which process belongs to which command: the latest that were seen. */
#define OWNERS 512u
struct owner {
    int32_t pid;
    uint64_t command;
};

struct boundary_private {
    struct launched init;
    int control;
    int slow_fd; /* what network_free left to be closed by a thread that may wait; or -1 */
    struct loop_source *control_source, *init_source;
    void *program; /* for the names of steps */
    size_t program_size;
    struct cgroup *cgroup;

    pthread_mutex_t lock;
    pthread_cond_t changed; /* state, while it opens */
    enum boundary_state state;
    struct fail fail; /* why it never opened */
    uint32_t optional_failed;
    struct waiter *waiters; /* asking.c's */
    uint64_t cookie;
    struct seat *seats; /* seats.c's */
    uint64_t last_seat;
    uint32_t n_commands; /* started so far */
    struct owner owners[OWNERS];
};

/* ---- boundary.c ---- */
abx_status boundary_open(
        const struct box_setup *setup, struct boundary **ret_boundary, struct fail *fail);
void boundary_kill(struct boundary *boundary);
void boundary_close(struct boundary *boundary);
void boundary_answer(struct boundary *boundary, uint64_t ticket, abx_verdict verdict);
const char *boundary_proxy(struct boundary *boundary);

/* ---- commands.c ---- */
abx_status boundary_spawn(
        struct boundary *boundary, const struct command *command, int *ret_pty, struct fail *fail);
abx_status boundary_signal(struct boundary *boundary, uint64_t command, int32_t signal);

/* ---- asking.c ---- */
/* Init has answered; takes the descriptor.  Loop thread. */
void asking_message(struct boundary *boundary, struct control_message *message);
/* The box has ended: nobody waits any longer. */
void asking_end(struct boundary *boundary);

/* ---- receipt.c ---- */
char *boundary_receipt(struct boundary *boundary);

#endif
