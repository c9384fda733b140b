/* SPDX-License-Identifier: Apache-2.0
 * Tries a new box before it is handed out: an API that returned success is not believed. */
#ifndef ABX_SUPERVISE_CANARY_H
#define ABX_SUPERVISE_CANARY_H

#include "supervise/box.h"

/* Tries an allowed and a denied sample of each kind of rule in the box; ABX_ERR_SETUP with a step
 * "canary:<what>" if one does not come out as the policy says.  Once for each policy and context.
 */
abx_status canary_run(abx_box *box, struct fail *fail);
void canary_init(abx_context *context);
void canary_done(abx_context *context);

#endif
