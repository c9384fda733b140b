/* SPDX-License-Identifier: Apache-2.0
 * The names of statuses, from the one table. */
#include "base/status.h"

#include "base/mem.h"

static const struct {
    abx_status status;
    const char *name;
} statuses[] = {
#define STATUS(name, number, since, text, remedy) { number, "ABX_" #name },
#include "base/status.def"
#undef STATUS
};

bool
status_is_known(int64_t status)
{
    for (size_t i = 0; i < N_ELEMENTS(statuses); i++) {
        if (statuses[i].status == status) {
            return true;
        }
    }
    return false;
}

const char *
abx_status_name(abx_status status)
{
    for (size_t i = 0; i < N_ELEMENTS(statuses); i++) {
        if (statuses[i].status == status) {
            return statuses[i].name;
        }
    }
    return "ABX_STATUS_UNKNOWN";
}
