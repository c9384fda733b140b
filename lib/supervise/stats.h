/* SPDX-License-Identifier: Apache-2.0
 * What a context counts, from its first box to its end.  Atomics: any thread, under any lock. */
#ifndef ABX_SUPERVISE_STATS_H
#define ABX_SUPERVISE_STATS_H

#include <agentbox/agentbox.h>

#include <stdatomic.h>

enum counted {
    STAT_BOXES,
    STAT_COMMANDS,
    STAT_DENIALS,
    STAT_REPEATS,
    STAT_ASKED,
    STAT_GRANTED,
    STAT_REFUSED,
    STAT_TIMED_OUT,
    STAT_ABANDONED,
    STAT_HELD_NS,
    N_STATS
};

struct stats {
    atomic_uint_fast64_t counts[N_STATS]; /* all zero is none */
};

void stats_add(struct stats *stats, enum counted which, uint64_t amount);
/* All but its size.  A question that has ended is among those that were asked. */
void stats_read(struct stats *stats, abx_stats *ret_stats);

#endif
