/* SPDX-License-Identifier: Apache-2.0
 * Cleanup attributes for users in C with gcc or clang: `ABX_AUTO(abx_box) box = NULL;` releases the
 * handle when it goes out of scope.  Not part of the ABI. */
#ifndef AGENTBOX_AUTO_H
#define AGENTBOX_AUTO_H

#include <agentbox/agentbox.h>

#define ABX_AUTO(type) __attribute__((cleanup(type##_unrefp))) type *
#define ABX_AUTO_BUFFER __attribute__((cleanup(abx_freep))) char *

#define ABX_DEFINE_AUTO(type)                                                                      \
    static inline void type##_unrefp(type **handle)                                                \
    {                                                                                              \
        type##_unref(*handle);                                                                     \
    }

ABX_DEFINE_AUTO(abx_error)
ABX_DEFINE_AUTO(abx_context)
ABX_DEFINE_AUTO(abx_policy_builder)
ABX_DEFINE_AUTO(abx_policy)
ABX_DEFINE_AUTO(abx_box)
ABX_DEFINE_AUTO(abx_process)
ABX_DEFINE_AUTO(abx_event)
ABX_DEFINE_AUTO(abx_report)

static inline void
abx_freep(char **buffer)
{
    abx_free(*buffer);
}

#endif
