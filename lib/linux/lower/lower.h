/* SPDX-License-Identifier: Apache-2.0
 * Translates a plan to init's program.  Pure but for the host view; leaves no trace. */
#ifndef ABX_LINUX_LOWER_H
#define ABX_LINUX_LOWER_H

#include "backend/backend.h"
#include "plan/program.h"

/* `trust`: NULL where the plan needs none.  `host_writes_maps`: the id maps come from outside (a
 * root host), so the program has none. */
abx_status lower(const struct plan *plan, const struct host_view *host,
        const struct trust_files *trust, bool host_writes_maps, void **ret_bytes, size_t *ret_size,
        struct fail *fail);

#endif
