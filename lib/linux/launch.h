/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: starts init without touching the host. */
#ifndef ABX_LINUX_LAUNCH_H
#define ABX_LINUX_LAUNCH_H

#include "base/fail.h"
#include "plan/plan.h"

/* Descriptor of the program to start: the carried one in a sealed memfd, or the one at `init_path`.
 */
abx_status launch_image(const char *init_path, int *ret_fd, struct fail *fail);

struct launched {
    int32_t pid;
    int pidfd;
};
/* Calls `fn` in a child that shares the memory of the host, which waits until the child has
 * executed a program or ended: `fn` makes system calls only, touches its `data` only and does not
 * return.  No handler of the host runs in it, and no wait of the host sees it (its exit signal is
 * 0).  0 or -errno; ended with launch_end. */
int launch_child(int (*fn)(void *data), void *data, int flags, struct launched *ret_launched);
/* In such a child nothing may be kept by a sanitizer: it has no place of its own for it. */
#define IN_CHILD __attribute__((no_sanitize("address", "thread", "undefined")))

/* Starts the image in new namespaces, with `control` as its descriptor 3.  Both descriptors are
 * above 3. Nothing is left on failure. */
abx_status launch_init(int image, int control, const struct plan *plan,
        struct launched *ret_launched, struct fail *fail);
/* A root host gives the box the ids that it has itself, each mapped onto itself. */
abx_status launch_write_maps(int32_t pid, struct fail *fail);
/* Kills and reaps, also if it has ended already; closes the pidfd. */
void launch_end(struct launched *launched);
void launch_kill(const struct launched *launched);
/* Waits until it and what is in its pid namespace have ended, but no longer than that. */
void launch_wait(const struct launched *launched, int milliseconds);

#endif
