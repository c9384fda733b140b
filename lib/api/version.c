/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"

#include <stddef.h>
#include <stdlib.h>

uint32_t
abx_version(void)
{
    return ABX_VERSION_HEX;
}

const char *
abx_version_string(void)
{
    return "0.1.0";
}

/* Known means that this build does something with it, not that the header has a name for it. */
static int32_t
is_request(int64_t value)
{
    return value == ABX_REQUEST_PATH || value == ABX_REQUEST_CONNECT || value == ABX_REQUEST_EXEC ||
           value == ABX_REQUEST_LISTEN || value == ABX_REQUEST_SOCKET ||
           value == ABX_REQUEST_HTTP || value == ABX_REQUEST_CREDENTIAL ||
           value == ABX_REQUEST_SYSCALL;
}

static int32_t
is_event(int64_t value)
{
    return value > 0 && value <= ABX_EVENT_NOTICE && value != ABX_EVENT_LOG;
}

int32_t
abx_feature_supported(uint32_t which, int64_t value)
{
    switch (which) {
    case ABX_ENUM_STATUS:
        return status_is_known(value);
    case ABX_ENUM_REQUEST:
        return is_request(value);
    case ABX_ENUM_EVENT:
        return is_event(value);
    default:
        return 0;
    }
}

void
abx_free(void *buffer)
{
    free(buffer);
}
