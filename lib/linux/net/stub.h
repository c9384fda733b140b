/* SPDX-License-Identifier: Apache-2.0
 * The box's name server: every valid name gets an address of its own (198.18.0.0/15, and a ULA for
 * IPv6), nothing is asked outside.  So a denied name fails at connect, with name and port. */
#ifndef ABX_LINUX_STUB_H
#define ABX_LINUX_STUB_H

#include "linux/boundary.h"

#include <sys/socket.h>

struct stub *stub_new(struct boundary *boundary, struct fail *fail);
/* Takes a bound UDP socket or a listening TCP socket. Loop thread. */
abx_status stub_attach(struct stub *stub, int fd, int type, struct fail *fail);
/* The name an address was given out for, or NULL.  Any thread; copied into `buffer`. */
const char *stub_name_of(
        struct stub *stub, const struct sockaddr *address, char *buffer, size_t room);
void stub_free(struct stub *stub);

#endif
