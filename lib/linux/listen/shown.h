/* SPDX-License-Identifier: Apache-2.0
 * Inside the listener only: what of a call is shown to the person who is asked, besides its target,
 * as JSON.  A yes is for that, so equal text means the same thing. */
#ifndef ABX_LINUX_SHOWN_H
#define ABX_LINUX_SHOWN_H

#include "linux/listen/call.h"

#include "base/str.h"

/* The object (O_PATH) or, where nothing stands yet, the directory that gets it; by which call; how
 * it is opened.  0, or a negative errno: what cannot be shown cannot be asked about. */
int shown_object(
        struct str *out, const struct call *call, const char *verb, int object, int directory);
/* The program's content and its arguments, which are at this address of the caller.  Reads all of
 * the file: a worker.  0, or a negative errno: -EFAULT and -EACCES of the caller's memory, else as
 * above. */
int shown_program(struct str *out, const struct call *call, int object, uint64_t arguments);

#endif
