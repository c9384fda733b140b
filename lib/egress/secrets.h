/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: the secrets of one box, and what stands for them inside it.  A secret is
 * copied into memory of its own (vault.h) and wiped when its lease ends, or after the requests that
 * then use it. */
#ifndef ABX_EGRESS_SECRETS_H
#define ABX_EGRESS_SECRETS_H

#include "egress/answers.h"
#include "egress/egress.h"

#include <event2/event.h>

struct secrets; /* one per box; the egress thread's unless it says otherwise */

#define SECRET_MIN 8u /* a shorter one cannot be told from other text in an answer */
#define SECRET_MAX 8192u

/* Makes a stand-in for each credential of the policy, which is borrowed until free.  Any thread.
 * `base` NULL: what is over is wiped when it is next looked at. */
abx_status secrets_new(abx_policy *policy, struct event_base *base, struct secrets **ret_secrets,
        struct fail *fail);
void secrets_free(struct secrets *secrets); /* wipes; NULL is nothing */
/* "NAME=stand-in", NULL-terminated; lives as long as the secrets.  Any thread. */
const char *const *secrets_environment(const struct secrets *secrets);
/* See egress_set_secret. */
abx_status secrets_set(struct secrets *secrets, const char *name, const void *secret, size_t length,
        int64_t expires_ms, struct fail *fail);
/* What a decoy shows: the use of a made-up secret in it refuses a request.  Before the first
 * connection, any thread. */
abx_status secrets_add_decoy(
        struct secrets *secrets, const char *path, const char *content, struct fail *fail);

/* egress.c: those of the box. */
struct secrets *egress_secrets(struct egress_box *box);

/* ---- what is looked for in requests ---- */

enum mark_kind { MARK_STAND_IN, MARK_KEY_ID, MARK_DECOY };
struct mark {
    enum mark_kind kind;
    size_t credential; /* index in the policy's settings; of a decoy nothing */
    const char *decoy; /* its path, or NULL */
};
const struct needles *secrets_in_requests(const struct secrets *secrets);
struct mark secrets_mark(const struct secrets *secrets, uint32_t id);
const char *secrets_stand_in(const struct secrets *secrets, size_t credential);
const char *secrets_key_id(const struct secrets *secrets, size_t credential); /* SIGV4, or NULL */

/* The secret; NULL: it is not there, or its lease is over.  The caller releases it. */
struct vault *secrets_get(struct secrets *secrets, size_t credential);

/* ---- what is looked for in answers ---- */

/* NULL: there is no secret, or no memory, which *ret_failed tells apart.  The caller releases it.
 */
struct answers *secrets_in_answers(struct secrets *secrets, bool *ret_failed);
/* A user name that the secret was sent with as Basic: an answer may have it in that form. */
void secrets_note_user(struct secrets *secrets, size_t credential, const char *user);

#endif
