/* SPDX-License-Identifier: Apache-2.0
 * Owns how structs and statuses pass the API.  Pure. */
#include "api/door.h"

#include <string.h>

#define STRUCT_MAX 4096u

abx_status
struct_in(void *dst, size_t dst_size, size_t v1_size, const void *src, struct fail *fail)
{
    const unsigned char *bytes = src;
    uint32_t size;

    memset(dst, 0, dst_size);
    if (src == NULL) {
        return ABX_OK;
    }
    memcpy(&size, src, sizeof size);
    if (size < v1_size || size > STRUCT_MAX) {
        return fail_set(fail, ABX_ERR_ABI, 0, "", "a struct's size is %u, not %zu or more",
                (unsigned)size, v1_size);
    }
    for (size_t i = dst_size; i < size; i++) {
        if (bytes[i] != 0) {
            return fail_set(fail, ABX_ERR_ABI, 0, "",
                    "a struct sets a field that this version of the library lacks");
        }
    }
    memcpy(dst, src, size < dst_size ? size : dst_size);
    return ABX_OK;
}

abx_status
struct_out(void *dst, size_t v1_size, const void *src, size_t src_size, struct fail *fail)
{
    const size_t head = sizeof(uint32_t);
    uint32_t size;

    memcpy(&size, dst, sizeof size);
    if (size < v1_size || size > STRUCT_MAX) {
        return fail_set(fail, ABX_ERR_ABI, 0, "", "a struct's size is %u, not %zu or more",
                (unsigned)size, v1_size);
    }
    memset((char *)dst + head, 0, size - head);
    memcpy((char *)dst + head, (const char *)src + head,
            (size < src_size ? size : src_size) - head);
    return ABX_OK;
}

abx_status
status_filter(abx_status status, uint32_t documented)
{
    int bit = ABX_ERR_INVALID - status;

    if (status >= 0 || status == ABX_ERR_INTERNAL) {
        return status;
    }
    return bit >= 0 && bit < 31 && (documented & (1u << bit)) != 0 ? status : ABX_ERR_INTERNAL;
}

abx_status
door_out(struct fail *fail, uint32_t documented, abx_error **reterr)
{
    fail->status = status_filter(fail->status, documented);
    return fail_out(fail, reterr);
}

abx_status
door_text(char *text, char **ret_text)
{
    if (text == NULL) {
        return ABX_ERR_NOMEM;
    }
    *ret_text = text;
    return ABX_OK;
}
