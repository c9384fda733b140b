/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/policy: equal bytes get equal numbers, counted from 0.  The bytes do not move. */
#ifndef ABX_POLICY_INTERN_H
#define ABX_POLICY_INTERN_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

#define INTERN_NONE UINT32_MAX

struct intern {
    struct vec entries; /* struct intern_entry */
    struct vec chunks; /* char * */
    size_t used, room; /* of the last chunk */
    uint32_t *heads;
    uint32_t mask;
};

void intern_init(struct intern *intern);
void intern_done(struct intern *intern);
/* The number of these bytes, new or not; INTERN_NONE: there was no memory. */
uint32_t intern_put(struct intern *intern, const void *bytes, size_t length);
/* INTERN_NONE: they were never put. */
uint32_t intern_find(const struct intern *intern, const void *bytes, size_t length);
/* Aligned for 64-bit numbers. */
const void *intern_bytes(const struct intern *intern, uint32_t number, size_t *ret_length);

#endif
