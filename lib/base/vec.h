/* SPDX-License-Identifier: Apache-2.0
 * A growing array of equal elements: `struct vec rules = VEC(struct rule);`, `vec_add` returns the
 * new zeroed element or NULL.  Elements move when the array grows. */
#ifndef ABX_BASE_VEC_H
#define ABX_BASE_VEC_H

#include <stddef.h>

struct vec {
    void *data;
    size_t count;
    size_t room;
    size_t element;
};

#define VEC(type)                                                                                  \
    (struct vec)                                                                                   \
    {                                                                                              \
        .element = sizeof(type)                                                                    \
    }
#define vec_at(vec, type, i) (&((type *)(vec)->data)[i])

void *vec_add(struct vec *vec);
/* Removes element `i` and keeps the order. */
void vec_remove(struct vec *vec, size_t i);
/* Frees the array, not what its elements own; the vec is empty and usable again. */
void vec_done(struct vec *vec);

#endif
