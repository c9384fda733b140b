/* SPDX-License-Identifier: Apache-2.0
 * Makes the events of a box: who, what, and by which rule. */
#ifndef ABX_SUPERVISE_TELLING_H
#define ABX_SUPERVISE_TELLING_H

#include "supervise/process.h"

#include <limits.h>

/* Why; texts may be NULL. */
struct grounds {
    uint32_t layer; /* 0: the one of the act */
    uint32_t failure; /* ABX_CLASS_*; 0: what type and layer make of it */
    uint32_t retry;
    const char *rule, *source, *reason, *alternative;
    const char *approver, *evidence; /* of an answer */
};

/* The verb is part of what is asked for: the method of a request, the host of a credential, the
 * arguments of an action. */
bool act_has_verb(uint32_t request);
/* What a policy is asked about it; the texts stay the act's. */
abx_request act_request(const struct act *act);
uint32_t layer_of(const struct act *act);
/* A request that counts as an action, as that; `asked`, which the caller ends, keeps what it was:
 * "POST https://hr.test/v1/leave".  Others stay as they are.  False: no memory. */
bool act_as_action(const struct act *act, struct str *asked, struct act *ret_told);
/* The facts that every event of a box has.  `label` is borrowed until the event is made. */
void tell_begin(struct event_draft *draft, abx_box *box, uint32_t type, uint64_t command,
        const char *label);
void tell_act(struct event_draft *draft, const struct subject *subject, const struct act *act,
        const struct grounds *grounds);
/* A notice of a grant that the host gives or takes back; where this fails it may not give it. */
abx_status tell_grant(abx_box *box, const struct grant *grant, const char *verb, const char *reason,
        struct fail *fail);
/* The program of a subject, which its call waits for: looked up in `buffer` if that was not done.
 */
const char *program_of(const abx_box *box, const struct subject *subject, char buffer[PATH_MAX]);
/* What is denied because the delegation of the box has expired. */
struct grounds identity_grounds(const abx_box *box);
/* A denial or a notice, `times` equal attempts of it; of an action, as that.  `process` may be
 * NULL. */
void tell(abx_box *box, abx_process *process, uint32_t type, const struct subject *subject,
        const struct act *act, const struct grounds *grounds, uint64_t times);
/* Forgets the notices that this act was refused outside; each has been told. */
void tell_accepted(abx_box *box, abx_process *process, const struct act *act);

#endif
