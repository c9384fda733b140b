/* SPDX-License-Identifier: Apache-2.0
 * The backend of this platform, for backend/pick.c. */
#ifndef ABX_LINUX_BACKEND_H
#define ABX_LINUX_BACKEND_H

#include "backend/backend.h"

extern const struct backend linux_backend;

#endif
