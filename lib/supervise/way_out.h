/* SPDX-License-Identifier: Apache-2.0
 * A box's way out: the egress of its context, which starts with the first box that has one, and
 * what its commands must know of it. */
#ifndef ABX_SUPERVISE_WAY_OUT_H
#define ABX_SUPERVISE_WAY_OUT_H

#include "supervise/box.h"

/* Opens box->egress where its plan has a way out; else nothing. */
abx_status way_out_open(abx_box *box, struct fail *fail);

/* Variables that a policy may set otherwise: the proxy, whom to believe, and what stands for
 * secrets; NULL-terminated.  Caller frees with environment_free.  NULL: no memory. */
char **way_out_environment(abx_box *box);

#endif
