/* SPDX-License-Identifier: Apache-2.0
 * The egress proxy: what leaves a box goes through here, is decided again and dialled outside.
 * Knows policy and protocols, not the boundary.  One thread for each context serves all its boxes;
 * it starts with the first box that has a way out. */
#ifndef ABX_EGRESS_EGRESS_H
#define ABX_EGRESS_EGRESS_H

#include "backend/backend.h"
#include "backend/gateway.h"
#include "policy/policy.h"

struct egress; /* one per context */
struct egress_box; /* one per box with a way out */

abx_status egress_new(struct egress **ret_egress, struct fail *fail);
/* Every box of it is closed already. */
void egress_free(struct egress *egress);

/* The proxies of others that lead outside: URLs, which may hold a secret; NULL: none. */
struct egress_upstream {
    const char *plain; /* for requests that are not encrypted */
    const char *tunnel; /* for everything else */
    const char *exceptions; /* what is dialled, as in NO_PROXY */
};

struct egress_setup {
    abx_policy *policy; /* resolved; borrowed until close */
    const struct broker *broker; /* decides and reports; borrowed until close */
    const char *backend; /* its name, a literal */
    struct egress_upstream upstream; /* borrowed for the opening */
    const char *identity; /* on whose behalf, as hosts of the policy are told; NULL: nobody's;
                             borrowed until close */
    uint64_t decoy_seed; /* of what the decoys of the policy show (base/decoy.h) */
};
abx_status egress_open(struct egress *egress, const struct egress_setup *setup,
        struct egress_box **ret_box, struct fail *fail);
/* What the backend gets; lives as long as the box. */
const struct gateway *egress_gateway(struct egress_box *box);
/* The answer to a question that the broker gave this ticket; any thread that holds no lock; tickets
 * of others are nothing.  `reason` reaches the program with a refusal; NULL: none. */
void egress_answer(
        struct egress_box *box, uint64_t ticket, abx_verdict verdict, const char *reason);
/* The certificate that signs what is terminated, PEM; NULL if nothing ever is, or the build has no
 * TLS.  Lives as long as the egress. */
const char *egress_authority(struct egress_box *box);
/* What programs of the box are shown so that they believe that certificate, besides whom the host's
 * file (NULL: none) and the policy name.  Caller frees both texts. */
abx_status egress_trust(struct egress_box *box, const char *host_bundle,
        struct trust_files *ret_files, struct fail *fail);
/* What a command's environment holds in place of a credential, "NAME=stand-in", NULL-terminated;
 * lives as long as the box. */
const char *const *egress_environment(struct egress_box *box);
/* A secret for the credential of that name; copied, wiped after use or `expires_ms` (Unix time, 0:
 * never). ABX_ERR_INVALID: no such credential, or a secret that the kind cannot carry. */
abx_status egress_set_secret(struct egress_box *box, const char *name, const void *secret,
        size_t length, int64_t expires_ms, struct fail *fail);
/* A grant for this host was taken back: every way to it, open or being made, that nothing allows
 * any more ends with a reset and an event before this returns.  The broker is asked, so no lock may
 * be held.  Not on the egress thread. */
void egress_revoke(struct egress_box *box, const char *name, uint32_t port);
/* A grant for requests was taken back: every request under way that it let through, or the question
 * that it came from (0: none), and that nothing else allows ends with its event before this
 * returns, as egress_revoke ends connections. */
void egress_revoke_requests(struct egress_box *box, uint64_t grant, uint64_t ticket);
/* Ends every connection, tells every dial that waits ECANCELED, and frees it.  No call of the
 * broker or to the gateway's `dialled_fn` comes after it returned.  The backend is closed, and
 * nobody answers any more.  Not on the egress thread. */
void egress_close(struct egress_box *box);

#endif
