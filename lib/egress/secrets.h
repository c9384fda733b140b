/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: the secrets of one box, and what stands for them inside it.  A secret is
 * copied into memory that is neither swapped nor dumped where the host allows it, and wiped when
 * its lease ends. */
#ifndef ABX_EGRESS_SECRETS_H
#define ABX_EGRESS_SECRETS_H

#include "egress/egress.h"

struct secrets; /* one per box */

/* Makes a stand-in for each credential of the policy, which is borrowed until free. */
abx_status secrets_new(abx_policy *policy, struct secrets **ret_secrets, struct fail *fail);
void secrets_free(struct secrets *secrets); /* wipes */
/* "NAME=stand-in", NULL-terminated; lives as long as the secrets. */
const char *const *secrets_environment(const struct secrets *secrets);
/* Any thread.  See egress_set_secret. */
abx_status secrets_set(struct secrets *secrets, const char *name, const void *secret, size_t length,
        int64_t expires_ms, struct fail *fail);
/* A made-up secret that a decoy shows: its use in a request refuses that.  Before the first
 * connection. */
abx_status secrets_add_decoy(
        struct secrets *secrets, const char *path, const char *text, struct fail *fail);

/* egress.c: those of the box. */
struct secrets *egress_secrets(struct egress_box *box);

#endif
