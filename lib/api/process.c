/* SPDX-License-Identifier: Apache-2.0 */
#include "supervise/process.h"

#include "api/door.h"

#define EXIT_V1 32u

abx_status
abx_process_wait(abx_process *process, int64_t timeout_ms, abx_exit *exit)
{
    abx_exit result = { 0 };
    struct fail fail = { 0 };
    abx_status r;

    if (process == NULL || timeout_ms < -1) {
        return ABX_ERR_INVALID;
    }
    r = process_wait(process, timeout_ms, &result);
    if (r == ABX_OK && exit != NULL) {
        r = struct_out(exit, EXIT_V1, &result, sizeof result, &fail);
    }
    return status_filter(r, MAY_ABI);
}

abx_status
abx_process_signal(abx_process *process, int32_t signal)
{
    if (process == NULL || signal < 1 || signal > 64) {
        return ABX_ERR_INVALID;
    }
    return status_filter(process_signal(process, signal), MAY_STATE | MAY_IO);
}

abx_status
abx_process_resize(abx_process *process, uint32_t rows, uint32_t columns)
{
    if (process == NULL || rows > UINT16_MAX || columns > UINT16_MAX) {
        return ABX_ERR_INVALID;
    }
    return status_filter(process_resize(process, rows, columns), MAY_STATE | MAY_IO);
}

uint64_t
abx_process_get_id(abx_process *process)
{
    return process == NULL ? 0 : process->id;
}

int64_t
abx_process_take_stdio(abx_process *process, uint32_t which)
{
    return process == NULL || which > 2 ? -1 : process_take_stdio(process, which);
}

const char *
abx_process_get_output(abx_process *process, uint32_t which, size_t *ret_length)
{
    return process == NULL || which > 2 ? NULL : process_get_output(process, which, ret_length);
}

abx_status
abx_process_explain(abx_process *process, const char *format, char **ret_text, size_t *ret_length)
{
    if (process == NULL || ret_text == NULL) {
        return ABX_ERR_INVALID;
    }
    return status_filter(
            process_explain(process, format, ret_text, ret_length), MAY_INVALID | MAY_NOMEM);
}

abx_process *
abx_process_ref(abx_process *process)
{
    return process == NULL ? NULL : process_ref(process);
}

void
abx_process_unref(abx_process *process)
{
    process_unref(process);
}
