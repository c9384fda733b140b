/* SPDX-License-Identifier: Apache-2.0
 * Ownership of memory and descriptors by attribute, and sizes that cannot overflow. */
#ifndef ABX_BASE_MEM_H
#define ABX_BASE_MEM_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#define AUTO(function) __attribute__((cleanup(function)))
#define N_ELEMENTS(array) (sizeof(array) / sizeof((array)[0]))

/* Makes `name##p`, the cleanup function for locals of type `type *`. */
#define DEFINE_CLEANUP(name, type)                                                                 \
    static inline void name##p(type **object)                                                      \
    {                                                                                              \
        name(*object);                                                                             \
    }

/* For `AUTO(freep) char *text = NULL;` and `AUTO(closep) int fd = -1;`. */
void freep(void *pointer);
void closep(const int *fd);

/* Closes and keeps errno; -1 is nothing. */
void close_fd(int fd);

/* Whether an errno means that memory, descriptors or processes are lacking at the moment. */
static inline bool
error_passes(int error)
{
    return error == ENOMEM || error == EMFILE || error == ENFILE || error == EAGAIN ||
           error == EINTR || error == ENOBUFS;
}

static inline void *
steal_pointer(void *pointer)
{
    void **p = pointer;
    void *value = *p;

    *p = NULL;
    return value;
}
#define steal_ptr(pointer) ((__typeof__(*(pointer)))steal_pointer(pointer))

static inline int
steal_fd(int *fd)
{
    int value = *fd;

    *fd = -1;
    return value;
}

bool size_add(size_t a, size_t b, size_t *ret_sum);
bool size_mul(size_t a, size_t b, size_t *ret_product);

#endif
