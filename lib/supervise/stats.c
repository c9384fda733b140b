/* SPDX-License-Identifier: Apache-2.0
 * Owns the counts of a context.  Knows nothing of what is counted. */
#include "supervise/stats.h"

void
stats_add(struct stats *stats, enum counted which, uint64_t amount)
{
    atomic_fetch_add(&stats->counts[which], amount);
}

static uint64_t
read_one(struct stats *stats, enum counted which)
{
    return atomic_load(&stats->counts[which]);
}

/* What happens last is read first: each end of a question that is seen has its question. */
void
stats_read(struct stats *stats, abx_stats *ret_stats)
{
    ret_stats->held_ns = read_one(stats, STAT_HELD_NS);
    ret_stats->abandoned = read_one(stats, STAT_ABANDONED);
    ret_stats->timed_out = read_one(stats, STAT_TIMED_OUT);
    ret_stats->refused = read_one(stats, STAT_REFUSED);
    ret_stats->granted = read_one(stats, STAT_GRANTED);
    ret_stats->asked = read_one(stats, STAT_ASKED);
    ret_stats->repeats = read_one(stats, STAT_REPEATS);
    ret_stats->denials = read_one(stats, STAT_DENIALS);
    ret_stats->commands = read_one(stats, STAT_COMMANDS);
    ret_stats->boxes = read_one(stats, STAT_BOXES);
}
