/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: the listeners at which connections leave the box, and which connection is
 * whose.  What arrives is handed to the gateway only if a decided call made it: by its two ends. */
#ifndef ABX_LINUX_DOORS_H
#define ABX_LINUX_DOORS_H

#include "linux/net/passage.h"

#define DOORS_MAX 256u /* made on request; more, and the one used longest ago is closed */

struct doors;

struct doors *doors_new(struct boundary *boundary, struct fail *fail);
/* Loop thread. */
abx_status doors_watch(struct doors *doors, struct fail *fail);
void doors_free(struct doors *doors);
/* Takes a listener made at set-up: a port of the host's loopback.  False: errno. */
bool doors_add(struct doors *doors, int fd, uint16_t port);
/* Makes sure that a listener stands where a connection to this address arrives, and says in
 * *ret_target where to connect to: 0; -EAGAIN: init must be asked, by a worker; or another -errno.
 */
int doors_open(
        struct doors *doors, const struct address *to, bool may_block, struct address *ret_target);
/* Whether such a target is a listener of ours, and nobody else's can be there. */
bool doors_are_at(const struct doors *doors, const struct address *target);
/* A socket was, or is being, connected to that for the passage, which is taken.  Any thread. */
void doors_expect(
        struct doors *doors, int socket, const struct address *target, struct passage *passage);
/* One was connected to this port: takes in what has arrived there, which the loop does otherwise.
 */
void doors_answer(struct doors *doors, uint16_t port);
/* Whether the explicit proxy is at this address. */
bool doors_is_proxy(const struct doors *doors, const struct address *address);
const char *doors_proxy(const struct doors *doors); /* its URL */

#endif
