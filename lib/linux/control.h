/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: the control socket of a box as the host sees it, and the bytes sent over
 * it. */
#ifndef ABX_LINUX_CONTROL_H
#define ABX_LINUX_CONTROL_H

#include "backend/backend.h"
#include "plan/wire.h"

#include <sys/socket.h>

#define CONTROL_FDS 4u

struct control_message {
    struct wire_message wire;
    int fds[CONTROL_FDS]; /* owned; -1: none */
    bool is_cut; /* the host had no descriptor free for those of the message: there is none */
};

/* A pair of connected sockets, both close-on-exec and above the descriptors that init uses. The
 * first is the host's. 0 or -errno. */
int control_pair(int ret_fds[2]);
/* Any thread; messages are not mixed.  0 or -errno; -EAGAIN: init did not read for seconds. */
int control_send(int socket, const struct wire_message *message, const int *fds, size_t n_fds);
/* `room`: CMSG_SPACE(n_fds * sizeof(int)) bytes of zero, as long as the header is used. */
void control_put_fds(struct msghdr *header, char *room, const int *fds, size_t n_fds);
/* 1: a message; 0: end; -EAGAIN: nothing now; -EBADMSG: not what the protocol says. */
int control_receive(int socket, struct control_message *message);
void control_done(struct control_message *message); /* closes what was not taken */

/* A sealed memfd with these bytes, above the descriptors that init uses; or -errno. */
int control_seal(const char *name, const void *bytes, size_t size);
/* The command block of wire.h.  Caller frees; NULL: no memory, or too large (errno). */
void *control_command(const struct command *command, size_t *ret_size);

#endif
