/* SPDX-License-Identifier: Apache-2.0
 * Owns the memory that secrets are in.  Any thread. */
#include "egress/vault.h"

#include <string.h>
#include <sys/mman.h>

struct vault *
vault_new(size_t length)
{
    struct vault *vault;
    size_t size;

    if (!size_add(length, sizeof *vault, &size)) {
        return NULL;
    }
    vault = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (vault == MAP_FAILED) {
        return NULL;
    }
    /* None of these is a condition: a host may not have them, or have a limit. */
    madvise(vault, size, MADV_DONTDUMP);
    madvise(vault, size, MADV_DONTFORK);
    mlock(vault, size);
    atomic_init(&vault->references, 1);
    vault->length = length;
    return vault;
}

struct vault *
vault_of(const void *bytes, size_t length)
{
    struct vault *vault = vault_new(length);

    if (vault != NULL && length > 0) {
        memcpy(vault->bytes, bytes, length);
    }
    return vault;
}

struct vault *
vault_ref(struct vault *vault)
{
    if (vault != NULL) {
        atomic_fetch_add_explicit(&vault->references, 1, memory_order_relaxed);
    }
    return vault;
}

void
vault_unref(struct vault *vault)
{
    size_t size;

    if (vault != NULL &&
            atomic_fetch_sub_explicit(&vault->references, 1, memory_order_acq_rel) == 1) {
        size = vault->length + sizeof *vault;
        explicit_bzero(vault, size);
        munmap(vault, size);
    }
}
