/* SPDX-License-Identifier: Apache-2.0
 * What a policy says of the calls that an audit log tells of. */
#ifndef ABX_SUPERVISE_REPLAY_H
#define ABX_SUPERVISE_REPLAY_H

#include "audit/verify.h"
#include "base/host.h"
#include "supervise/recorded.h"

struct replay {
    abx_policy *policy; /* resolved; owned */
    const struct host_view *host;
    struct recorded_state state;
    struct intern keys; /* of the groups, in their order */
    struct vec groups; /* struct replay_group */
    uint64_t same; /* calls that are decided as they were */
    uint64_t gaps[GAPS]; /* that are not asked about, by why */
};

/* `policy` as a box of this host would have it. */
abx_status replay_init(
        struct replay *replay, abx_policy *policy, const struct host_view *host, struct fail *fail);
void replay_done(struct replay *replay);
/* For audit_read; `data` is the replay. */
bool replay_record(void *data, const struct record *record);
/* The rows of abx_audit_replay.  `problem`: where the log breaks, or "".  NULL: no memory. */
abx_report *replay_report(struct replay *replay, const char *problem);

/* All of it for a log: of one of which one file is named, all its files.  The outcome is an
 * ABX_REPLAY_*. */
abx_status replay_log(abx_policy *policy, const struct host_view *host, const char *const *paths,
        size_t count, abx_report **ret_report, struct fail *fail);

#endif
