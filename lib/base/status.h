/* SPDX-License-Identifier: Apache-2.0
 * What the statuses are called. */
#ifndef ABX_BASE_STATUS_H
#define ABX_BASE_STATUS_H

#include <agentbox/agentbox.h>
#include <stdbool.h>

bool status_is_known(int64_t status);

#endif
