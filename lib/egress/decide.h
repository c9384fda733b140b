/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: asks the broker, and waits where the answer is a question. */
#ifndef ABX_EGRESS_DECIDE_H
#define ABX_EGRESS_DECIDE_H

#include "egress/egress.h"

struct decision;

/* Called once, on the egress thread.  `refusal` is NULL with ALLOW; borrowed. */
typedef void (*decided_fn)(void *data, abx_verdict verdict, const struct refusal *refusal);

/* Egress thread.  Copies subject and act.  NULL: `fn` has been called already.  Otherwise it will
 * be, unless the decision is cancelled: the one who waited is gone. */
struct decision *decision_start(struct egress_box *box, const struct subject *subject,
        const struct act *act, decided_fn fn, void *data);
uint64_t decision_ticket(const struct decision *decision);
void decision_cancel(struct decision *decision);

#endif
