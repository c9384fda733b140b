/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: a call that waits until the gateway has connected outside. */
#ifndef ABX_LINUX_DIALLING_H
#define ABX_LINUX_DIALLING_H

#include "linux/net/passage.h"

struct dialling;

/* The call's; takes the passage and the socket on success.  NULL: no memory. */
struct dialling *dialling_new(struct passage *passage, int socket);
/* The gateway's part, before the call is kept: from then on it may be gone at any time. */
struct dialling *dialling_share(struct call *call);
/* Asks the gateway, and gives it its part.  held_dialled hears of the end, if the call still waits.
 */
void dialling_start(struct dialling *shared);
/* After the end: an errno, or 0 and the passage, which stays here unless it is taken. */
int dialling_result(struct dialling *dialling, struct passage ***ret_passage);
/* The socket that is to be connected then; lent. */
int dialling_socket(const struct dialling *dialling);
/* The call is over: what was or will be dialled for it is hung up.  NULL is nothing. */
void dialling_leave(struct dialling *dialling);

#endif
