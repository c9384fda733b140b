/* SPDX-License-Identifier: Apache-2.0
 * Stands for the parts that land next; each takes its own functions away from here. */
#include "linux/net.h"

/* ---- net.c ---- */
enum call_result
net_handle(struct call *call)
{
    return call_refuse(call, "network", "the network is not in this build yet", NULL);
}
