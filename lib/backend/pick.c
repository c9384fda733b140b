/* SPDX-License-Identifier: Apache-2.0
 * The one place that knows which platforms there are. */
#include "backend/backend.h"

#ifdef __linux__
#    include "linux/backend.h"
#endif

const struct backend *
backend_pick(void)
{
#ifdef __linux__
    return &linux_backend;
#else
#    error "no backend for this platform; see docs/porting.md"
#endif
}
