/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/policy: what one comparison may still do, so that no two policies keep it for long. */
#ifndef ABX_POLICY_WORK_H
#define ABX_POLICY_WORK_H

#include "base/fail.h"

#include <stdbool.h>
#include <stdint.h>

/* A unit is about a nanosecond, of which a box's policies take some millions. */
#define WORK_MAX UINT64_C(600000000)

struct work {
    uint64_t left;
};

/* False: there is less. */
static inline bool
work_spend(struct work *work, uint64_t units)
{
    bool is_enough = units <= work->left;

    work->left = is_enough ? work->left - units : 0;
    return is_enough;
}

/* What ended a comparison: it was too much work, or else there was no memory. */
static inline abx_status
work_fail(const struct work *work, struct fail *fail)
{
    if (work->left > 0) {
        return fail_nomem(fail);
    }
    fail_set(fail, ABX_ERR_UNSUPPORTED, 0, "compare:work",
            "the rules overlap in too many ways to be compared exactly");
    fail_remedy(fail, "use fewer patterns, and fewer rules that speak of the same");
    return fail->status;
}

#endif
