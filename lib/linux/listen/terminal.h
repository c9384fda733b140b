/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: opens of /dev/tty, which is the terminal of whoever opens it. */
#ifndef ABX_LINUX_TERMINAL_H
#define ABX_LINUX_TERMINAL_H

#include "linux/listen/calls_open.h"

bool terminal_is(const struct resolved *resolved);
/* Hands the caller's terminal in, which is not the supervisor's. */
enum call_result terminal_open(struct call *call, const struct open_request *request);
/* Where the caller has none, the event for that.  The kernel answers. */
void terminal_asked(const struct call *call, const struct open_request *request);

#endif
