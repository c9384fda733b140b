/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: the addresses that a box's name server gave out, and for which names.
 * Pure; any thread, one at a time. */
#ifndef ABX_LINUX_NAMES_H
#define ABX_LINUX_NAMES_H

#include <stdint.h>

#define NAMES_MAX 65536u

struct names;

struct names *names_new(void); /* NULL: no memory */
void names_free(struct names *names);
/* The address (host order, in 198.18.0.0/15) of a name, a new one if it has none yet; when there
 * are too many the oldest name loses its own.  0: no memory. */
uint32_t names_address(struct names *names, const char *name);
/* The name of an address, or NULL. */
const char *names_name(const struct names *names, uint32_t address);

#endif
