/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: makes what the egress thread waits with. */
#ifndef ABX_EGRESS_BASE_H
#define ABX_EGRESS_BASE_H

#include <event2/event.h>

/* A base for one thread, edge-triggered, without locks; it must never be given a signal event.
 * NULL: *ret_error says why. */
struct event_base *base_new(int *ret_error);

#endif
