/* SPDX-License-Identifier: Apache-2.0
 * Inside the replacement only: what its files share. */
#ifndef ABX_EGRESS_REPLACE_PRIVATE_H
#define ABX_EGRESS_REPLACE_PRIVATE_H

#include "egress/replace.h"

#include "egress/box.h"
#include "egress/decide.h"
#include "egress/secrets.h"
#include "egress/sigv4.h"

/* How the body is written, and so a secret in it. */
enum body_kind { BODY_PLAIN, BODY_FORM, BODY_JSON };

/* The end of what was seen of a stream: what is cut in two is found, too. */
struct tail {
    unsigned char *bytes; /* as many as the longest needle has, and room for as many again */
    size_t length, room;
};

struct replace {
    struct egress_box *box;
    struct secrets *secrets;
    struct errand *errand; /* who asks, and the origin */
    bool tls;
    void (*ready)(void *data);
    void *data;
    struct decision *waiting; /* for a secret */
    const char *sent; /* the name of a credential that was put in; or NULL */
    uint64_t asked; /* credentials that were asked for already, a bit each */
    bool is_refused;
    int status;
    struct refusal refusal;
    enum body_kind body;
    bool reads_answers, wants_body; /* of this origin, by the policy */
    struct sigv4_chain *chain; /* signs the chunks of the body; or NULL */
    struct answers *answers; /* once an answer is looked at */
    bool has_answers; /* they were taken, if there are any */
    struct tail tails[2]; /* of requests, of answers */
};

/* ---- replace.c ---- */

/* Whether the credential goes to this origin, by the policy. */
bool replace_goes(const struct replace *replace, size_t credential);
/* What was found in a request, in this place of it (a CREDENTIAL_* bit, 0: none that is meant for
 * one).  DONE: it may be replaced.  Else it has been told. */
enum replace_result replace_judge(struct replace *replace, struct mark mark, uint32_t place);
/* The secret; NULL: *ret_result says why, and `ready` follows a WAIT. */
struct vault *replace_secret(
        struct replace *replace, size_t credential, enum replace_result *ret_result);
/* Refuses; the event is made if a rule is given. */
enum replace_result replace_refuse(struct replace *replace, int status, const char *credential,
        const char *rule, const char *reason, const char *alternative);
enum replace_result replace_nomem(struct replace *replace);
/* Takes what is looked for in answers of this origin, if anything is.  False: no memory. */
bool replace_takes_answers(struct replace *replace);

const struct policy_credential *replace_credential(const struct replace *replace, size_t number);

/* ---- replace_sign.c ---- */

/* The head of `after`, signed anew, if `before` was signed with what stands for the key. */
enum replace_result replace_sign(struct replace *replace, size_t credential,
        const struct sigv4_message *before, const struct sigv4_message *after,
        struct vault **ret_head);
/* Chunks of a body that have signatures of their own: the same for a piece, and for the whole. */
enum replace_result replace_chain(
        struct replace *replace, struct evbuffer *from, bool is_last, struct evbuffer *to);
enum replace_result replace_chain_whole(struct replace *replace, struct evbuffer *body);

/* ---- edits.c: changes to a text, made at once ---- */

struct edit {
    size_t at, length;
    struct vault *text; /* owned */
};
struct edits {
    struct vec list; /* struct edit, ascending and apart */
    bool failed;
};
#define EDITS                                                                                      \
    (struct edits)                                                                                 \
    {                                                                                              \
        .list = VEC(struct edit)                                                                   \
    }
void edits_add(struct edits *edits, size_t at, size_t length, const void *text, size_t n);
/* The text with all changes, which may have secrets in it. NULL: no memory. */
struct vault *edits_apply(const struct edits *edits, const void *text, size_t length);
void edits_done(struct edits *edits);
/* Adds without copying; wiped when it was sent. */
bool evbuffer_add_vault(struct evbuffer *buffer, struct vault *vault);
/* How a secret stands in a body of that kind. */
struct vault *secret_in_body(const struct vault *secret, enum body_kind kind);
struct vault *secret_in_query(const struct vault *secret);

#endif
