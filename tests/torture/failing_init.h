/* SPDX-License-Identifier: Apache-2.0
 * What the test and the failing program in the box share. */
#ifndef ABX_TESTS_FAILING_INIT_H
#define ABX_TESTS_FAILING_INIT_H

#define FAILING_INIT_MARK "agentbox-failing-init:"
#define FAILING_INIT_PATH 160 /* bytes of mark and path */

struct failing_init {
    long fail_at; /* 0: nothing fails */
    long calls; /* so far */
};

#endif
