/* SPDX-License-Identifier: Apache-2.0
 * Inside the listener only: what opens for writing and for reading share. */
#ifndef ABX_LINUX_CALLS_OPEN_H
#define ABX_LINUX_CALLS_OPEN_H

#include "linux/listen/course.h"

struct open_request {
    int dirfd;
    uint64_t path;
    uint64_t flags;
    uint32_t mode;
    uint64_t resolve; /* of openat2 */
};

/* Opens the very object that an O_PATH descriptor holds, without blocking, and hands it in. */
enum call_result open_object(struct call *call, int object, const struct open_request *request);
/* Hands in what was opened with O_NONBLOCK, as it was asked for. */
enum call_result open_hand_in(struct call *call, int fd, const struct open_request *request);

/* The common case of that in as few system calls as can be: a file that is there, allowed, and
 * reached over no link.  false: the call is left to the course of all others. */
bool open_at_once(struct call *call, const char *asked, const struct open_request *request,
        enum call_result *ret_result);
/* Where names decide about reads: such an open never continues, since nothing but the broker keeps
 * it from what it may not read. */
enum call_result open_to_read(
        struct call *call, struct resolved *resolved, const struct open_request *request);
enum call_result read_failed(struct call *call, struct resolved *resolved, int error);

#endif
