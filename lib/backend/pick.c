/* SPDX-License-Identifier: Apache-2.0
 * Which backend a context gets.  The simulated one is never chosen unless it was asked for. */
#include "backend/backend.h"

const struct backend *
backend_pick(void)
{
    return &backend_native;
}

const struct backend *
backend_choose(uint32_t backend)
{
    return backend == ABX_BACKEND_SIMULATED ? &backend_simulated : backend_pick();
}
