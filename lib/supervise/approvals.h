/* SPDX-License-Identifier: Apache-2.0
 * Questions: held calls that wait for an answer.  Equal questions of one command share a ticket; no
 * answer by the deadline is a denial. */
#ifndef ABX_SUPERVISE_APPROVALS_H
#define ABX_SUPERVISE_APPROVALS_H

#include "supervise/box.h"
#include "supervise/telling.h"

#define APPROVALS_MAX 64u /* open per box */

/* Any thread, box unlocked.  True and a ticket: the call is held, and an event was queued if the
 * question is new.  False: it cannot be asked, and `grounds` gets the reason and the layer of that.
 */
bool approvals_ask(abx_box *box, abx_process *process, const struct subject *subject,
        const struct act *act, const struct ruling *ruling, uint64_t *ret_ticket,
        struct grounds *grounds);
void approvals_withdraw(abx_box *box, uint64_t ticket);
abx_status approvals_answer(
        abx_box *box, uint64_t ticket, const abx_answer *answer, struct fail *fail);
/* Gives the secret of a credential; open questions for it are answered.  Any thread. */
abx_status approvals_set_secret(abx_box *box, const char *name, const void *secret, size_t length,
        int64_t expires_ms, struct fail *fail);
/* The same for the credential that this question is about. */
abx_status approvals_supply(abx_box *box, uint64_t ticket, const void *secret, size_t length,
        int64_t expires_ms, struct fail *fail);
/* Supervisor thread: a command ends, and with it the questions that nobody waits for any more; of
 * one that is killed all.  Each is told. */
void approvals_abandon(abx_box *box, uint64_t command, bool is_killed);
/* Supervisor thread: a command is over; what nobody waits for any more is dropped. */
void approvals_end_command(abx_box *box, uint64_t command);
/* Supervisor thread: none is open any more. */
void approvals_done(abx_box *box);

/* consent.c: NULL is no name, which is allowed; ABX_ERR_INVALID: one that could pass for another.
 */
abx_status check_approver(const char *approver, const char *step, struct fail *fail);

/* Finds the box that has this question; the caller releases it.  NULL: none. */
abx_box *approvals_find_box(abx_context *context, uint64_t ticket);

#endif
