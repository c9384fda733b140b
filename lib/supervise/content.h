/* SPDX-License-Identifier: Apache-2.0
 * Verdicts by content: whether a file may be replaced by this one. */
#ifndef ABX_SUPERVISE_CONTENT_H
#define ABX_SUPERVISE_CONTENT_H

#include "policy/policy.h"

/* `content` is a descriptor of what would stand at `target`; nobody else may write to it any more.
 * Reads both, so not for the supervisor thread.  On false `reason` says why. */
bool content_allows(abx_policy *policy, const struct host_view *host, const char *target,
        int content, char *reason, size_t reason_room);

#endif
