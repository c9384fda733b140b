/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: the prepared processes of a box that become its commands. */
#ifndef ABX_LINUX_SEATS_H
#define ABX_LINUX_SEATS_H

#include "linux/listen/notify.h"
#include "linux/own.h"

enum seat_state {
    SEAT_COMING, /* init was asked for it */
    SEAT_READY, /* it waits for a command */
    SEAT_STARTING, /* a command is sent to it */
    SEAT_RUNNING, /* its program was executed: the broker is told of its end */
    SEAT_FAILED
};

/* The lock of boundary_private guards it, but for what is said. */
struct seat {
    struct seat *next;
    struct boundary *boundary; /* constant, as the next two */
    uint64_t number;
    bool has_terminal;
    enum seat_state state;
    bool is_claimed; /* a thread that starts a command uses it */
    bool is_served; /* the loop's thread has its listener */
    bool exited; /* the leader; nothing more will come from it */
    struct exit_status status; /* then */
    int error; /* FAILED: errno, and in which step */
    uint32_t step; /* enum wire_start_step */
    pthread_cond_t cond; /* state is no longer COMING */

    /* Constant once READY; socket and pty belong to who claimed it. */
    int32_t pid; /* as the host sees it */
    int32_t shown_pid; /* in the box's /proc */
    int socket; /* the command goes in; its end, or a report, comes out, or EAGAIN after a while */
    int pty; /* master of the terminal */

    struct notify *notify; /* loop thread */
    struct notify_owner owner; /* its command: 0, until there is one */
};

/* Has one made ahead, unless one waits already.  What fails is found out when one is claimed. */
void seats_prepare(struct boundary *boundary);
/* One that waits for a command, for this one; one with a terminal is made now.  0 or -errno, which
 * is -ESRCH when the box has ended; *ret_step: in which step it failed, 0: none. Blocks. */
int seats_claim(struct boundary *boundary, uint64_t command, bool has_terminal,
        struct seat **ret_seat, uint32_t *ret_step);
/* `started`: its program was executed, or it was killed on the way there, and the broker will be
 * told of its end, or has been when this returns.  Else it ends. */
void seats_release(struct seat *seat, bool started);
int seats_send_kill(struct boundary *boundary, uint64_t command, int32_t signal);
/* A message about a seat; takes its descriptors.  Loop thread. */
void seats_message(struct boundary *boundary, struct control_message *message);
/* The box has ended: nobody waits any longer. */
void seats_wake(struct boundary *boundary);
void seats_free(struct boundary *boundary); /* loop thread */

#endif
