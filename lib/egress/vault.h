/* SPDX-License-Identifier: Apache-2.0
 * Memory for secrets: pages of their own that are in no core file and in no child, not swapped
 * where the host allows it, and wiped before they are given back.  Counted; the count is atomic. */
#ifndef ABX_EGRESS_VAULT_H
#define ABX_EGRESS_VAULT_H

#include "base/mem.h"

#include <stdatomic.h>
#include <stddef.h>

struct vault {
    atomic_uint references;
    size_t length;
    _Alignas(16) unsigned char bytes[];
};

struct vault *vault_new(size_t length); /* zeroed; NULL: no memory */
struct vault *vault_of(const void *bytes, size_t length);
struct vault *vault_ref(struct vault *vault);
void vault_unref(struct vault *vault);
DEFINE_CLEANUP(vault_unref, struct vault)

#endif
