/* SPDX-License-Identifier: Apache-2.0
 * A server on the host's loopback, in a process of its own, in which nothing fails: answers each
 * request with what it got. */
#ifndef ABX_TESTS_OUTSIDE_H
#define ABX_TESTS_OUTSIDE_H

#include <stdint.h>

#define OUTSIDE_SECRET "zzre-al-1234567890" /* what the server gets, and the command never sees */

uint16_t outside_start(void); /* its port; ends with the process that starts it, too */
void outside_stop(void);

#endif
