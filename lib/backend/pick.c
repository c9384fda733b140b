/* SPDX-License-Identifier: Apache-2.0
 * Which backend a context gets. */
#include "backend/backend.h"

const struct backend *
backend_pick(void)
{
    return &backend_native;
}
