/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: what stands for a secret in the box.  It looks like the real one, is
 * random, and is known before the secret is. */
#ifndef ABX_EGRESS_STAND_IN_H
#define ABX_EGRESS_STAND_IN_H

#include "policy/policy.h"

/* Letters and digits after the prefix, so it is the same in a URL, in JSON and in a form.  Caller
 * frees; NULL: no memory, or no randomness. */
char *stand_in_new(const struct policy_credential *credential);
/* Of the id of a key that signs. */
char *stand_in_new_key_id(void);

#endif
