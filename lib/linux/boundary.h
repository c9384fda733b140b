/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: one open box as its parts see it.  boundary.c owns it: starts init, speaks
 * the control socket, starts commands.  The parts (notify.c, mask.c, stub.c) get it lent. */
#ifndef ABX_LINUX_BOUNDARY_H
#define ABX_LINUX_BOUNDARY_H

#include "backend/gateway.h"

struct notify; /* notify.h: the listener of one command */
struct mask; /* mask.h: the served file system of denied reads */
struct stub; /* stub.h: the name server of the box */
struct doors; /* doors.h: listeners at which connections leave the box */
struct watch; /* watch.h: what the box sent to nowhere */
struct published; /* publish.h: ports of the box that the host reaches */
struct sockets; /* sockets.h: unix sockets that the box made */
struct listeners; /* notify.h: what the listeners of a box share */

struct boundary {
    const struct plan *plan;
    struct loop *loop;
    struct loop *mask_loop; /* the mask's; see box_setup */
    const struct broker *broker;
    const struct gateway *gateway; /* NULL: there is no way out */
    int32_t init_pid; /* as the host sees it */
    int root; /* O_PATH of the box's root directory */
    int host_root; /* O_PATH of the host's "/" */
    uint64_t decoy_seed;
    struct mask *mask; /* NULL without masks */
    struct stub *stub;
    struct doors *doors; /* NULL: nothing leaves the box */
    struct watch *watch; /* NULL without a gateway */
    struct published *published; /* NULL: no port is */
    struct sockets *sockets; /* unix sockets that the box made; NULL: none is known */
    struct listeners
            *listeners; /* notify.c's: made by the first notify_new, freed by notify_close */
    struct boundary_private *own; /* boundary.c's */
};

/* Has init bind a directory, just made below a guarded (read-only) mount, writable onto itself.
 * Blocks; workers only, never the loop's thread. 0 or -errno. */
int boundary_bind(struct boundary *boundary, const char *path);
/* The same for a directory or file, given as O_PATH in the box, read-only onto itself: from then on
 * the broker does what is done to it. */
int boundary_guard(struct boundary *boundary, int object);
/* Takes the mount away whose root the descriptor is, since its place was moved to where nobody
 * would see it. */
int boundary_detach(struct boundary *boundary, int object);
/* A TCP socket made by init (WIRE_MAKE_SOCKET of plan/wire.h), or -errno.  Blocks; workers only. */
int boundary_make_socket(struct boundary *boundary, uint32_t how, int32_t value);
/* The command that a process of the box belongs to (0: cannot be told).  Exact where a listener has
 * spoken of the pid before; else by session and parents. `pid` as the host sees it. */
uint64_t boundary_command_of(struct boundary *boundary, int32_t pid);
/* The command that every process of the box belongs to; 0: there are several, or none.  Loop
 * thread. */
uint64_t boundary_only_command(struct boundary *boundary);
/* Whether the process of this number in the box's /proc is no command yet: as little of it may be
 * read as of init. */
bool boundary_is_waiting(struct boundary *boundary, int32_t shown_pid);
void boundary_saw(struct boundary *boundary, int32_t pid, uint64_t command);
/* /proc/PID/exe of a process, for events; "" if it cannot be read. */
void boundary_program_of(int32_t pid, char *buffer, size_t room);

#endif
