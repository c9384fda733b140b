/* SPDX-License-Identifier: Apache-2.0
 * What is in the audit log and is no event: boxes, starts of commands, secrets given.
 * Without an audit log none of this does anything. */
#ifndef ABX_SUPERVISE_RECORDING_H
#define ABX_SUPERVISE_RECORDING_H

#include "supervise/process.h"

/* The log, and what it goes on in, must be out of reach of what runs in the box. */
abx_status recording_is_safe(abx_box *box, struct fail *fail);
abx_status record_opened(abx_box *box, struct fail *fail);
/* It does not open, since its delegation is over. */
void record_refused(abx_box *box);
void record_closed(abx_box *box);
/* Of a command that starts next: its program, and a digest of all its arguments, in which there may
 * be secrets. */
abx_status record_spawn(
        abx_box *box, const abx_process *process, const struct command *command, struct fail *fail);
/* The name of a credential whose secret is given. */
abx_status record_supply(abx_box *box, const char *name, int64_t expires_ms, struct fail *fail);

#endif
