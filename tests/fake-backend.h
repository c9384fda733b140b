/* SPDX-License-Identifier: Apache-2.0
 * A backend without an operating system: "commands" are entries of a list, and the test says what
 * they try and how they end.  One open box at a time. */
#ifndef ABX_TESTS_FAKE_BACKEND_H
#define ABX_TESTS_FAKE_BACKEND_H

#include "backend/backend.h"

extern const struct backend fake_backend;

/* What the next open or spawn returns instead of success; ABX_OK again afterwards. */
void fake_fail_next(abx_status status);

/* The canary's sample of this kind (plan/wire.h) has this result next time. */
void fake_spoil_canary(char kind, int32_t error);
size_t fake_canaries(void); /* how many ran */

/* As if a process of the command tried this; on the supervisor thread, as the real one does.  A
 * held call: ABX_VERDICT_ASK and its ticket. */
abx_verdict fake_try(uint64_t command, uint32_t access, const char *target, uint64_t *ret_ticket);
/* The same by a process: 1234 and 1236 are of one program, 1235 is of another, 1237 of one with
 * a sentence in its name. */
abx_verdict fake_try_by(int32_t pid, uint64_t command, uint32_t access, const char *target);
/* The same, with any act. */
abx_verdict fake_act(uint64_t command, const struct act *act, uint64_t *ret_ticket);
void fake_withdraw(uint64_t ticket);
void fake_report(uint32_t type, uint64_t command, const struct act *act, const char *reason);
void fake_report_by(uint32_t type, uint64_t command, const struct act *act, const char *rule,
        const char *reason); /* the same, by a rule */
/* The command writes to its stdout (1) or stderr (2). */
void fake_write(uint64_t command, int stream, const char *data, size_t length);
/* The leader ends; with `keeps_output` a background process holds its streams open. */
void fake_exit(uint64_t command, uint32_t reason, int32_t code, bool keeps_output);
void fake_exit_as(uint64_t command, const struct exit_status *status); /* the same */
void fake_end(void); /* init dies */
/* Of the box, when a command ends that was signalled with 9; 0 at first. */
extern uint64_t fake_killed_for_memory;

/* What the open box got. */
const struct gateway *fake_gateway(void);

/* What the backend was told last for this ticket: -1 nothing yet, else a verdict. */
int fake_answer_to(uint64_t ticket);
/* The environment and directory of a command, "NAME=value\n..." */
const char *fake_environment(uint64_t command);
const char *fake_cwd(uint64_t command);
/* Closing takes that long, once. */
void fake_slow_close(uint32_t ms);
size_t fake_open_boundaries(void);
size_t fake_programs_looked_up(void); /* that a decision or an event wanted to know */

#endif
