/* SPDX-License-Identifier: Apache-2.0
 * The seccomp program of every command in a box, made by libseccomp in the host, loaded by init. */
#ifndef ABX_LINUX_FILTER_H
#define ABX_LINUX_FILTER_H

#include "base/fail.h"
#include "base/vec.h"
#include "plan/plan.h"

#include <linux/filter.h> /* struct sock_filter */

/* Fills a vec of struct sock_filter. */
abx_status filter_build(const struct plan *plan, struct vec *ret_filter, struct fail *fail);
/* For tests and the receipt: one line a rule, "name: notify if arg1 & 3 != 0". Caller frees. */
char *filter_dump(const struct plan *plan);

#endif
