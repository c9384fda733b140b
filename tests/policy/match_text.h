/* SPDX-License-Identifier: Apache-2.0
 * Patterns held against texts, in one call: the library compiles them once and keeps them. */
#ifndef TESTS_POLICY_MATCH_TEXT_H
#define TESTS_POLICY_MATCH_TEXT_H

#include "base/mem.h"
#include "policy/hostname.h"
#include "policy/match.h"
#include "policy/rules.h"

DEFINE_CLEANUP(path_pattern_free, struct path_pattern)

/* Number of leading components of `path` the pattern matched at most (0: only "/"), or -1. */
static inline int
path_match(const char *pattern, const char *path)
{
    struct fail fail;
    struct path_split split;
    AUTO(path_pattern_freep) struct path_pattern *compiled = path_pattern_new(pattern, &fail);

    return compiled == NULL || !path_split(path, &split) ? -1
                                                         : path_pattern_match(compiled, &split);
}

static inline bool
path_pattern_is_literal(const char *pattern)
{
    struct fail fail;
    AUTO(path_pattern_freep) struct path_pattern *compiled = path_pattern_new(pattern, &fail);

    return compiled != NULL && !path_pattern_has_wildcard(compiled);
}

/* Whether some path strictly below `directory`, existing or not, could be matched. */
static inline bool
path_pattern_reaches_below(const char *pattern, const char *directory)
{
    struct fail fail;
    struct path_split split;
    AUTO(path_pattern_freep) struct path_pattern *compiled = path_pattern_new(pattern, &fail);

    return compiled != NULL && path_split(directory, &split) &&
           path_pattern_reaches(compiled, &split);
}

/* How much of `host` the pattern matched (longer is more), or -1. */
static inline int
host_match(const char *pattern, const char *host)
{
    struct host_pattern compiled, single;
    struct fail fail;

    if (host_parse(pattern, &compiled, &fail) < 0 || host_parse(host, &single, &fail) < 0 ||
            !host_is_single(&single)) {
        return -1;
    }
    return host_pattern_match(&compiled, &single);
}

#endif
