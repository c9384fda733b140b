/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: AWS Signature Version 4, by which a request is signed and no secret sent.
 * A request that was signed with what stands for the key is signed anew with the key.  Pure; heads
 * may be hostile, and are strict HTTP/1.1 with plain lines. */
#ifndef ABX_EGRESS_SIGV4_H
#define ABX_EGRESS_SIGV4_H

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

/* Parts of ID:SECRET or ID:SECRET:TOKEN; not terminated. */
struct sigv4_key {
    const char *id, *secret, *token; /* token NULL: there is none */
    size_t id_length, secret_length, token_length;
};
/* False: a part is missing or too short to be one. */
bool sigv4_key_parse(const void *bytes, size_t length, struct sigv4_key *ret_key);

struct sigv4_message {
    const char *head; /* from request line to empty line */
    size_t length;
    const void *body; /* NULL: it streams; "" where there is none */
    size_t body_length;
};

/* How a program signed: what signing anew has to do likewise. */
struct sigv4_scheme {
    bool in_query; /* a presigned URL */
    uint32_t path_form;
    char signature[65]; /* seeds those of a streaming body's chunks */
};

/* Whether the message was signed with this key, by the secret that stands for the real one.  False:
 * *ret_why says what is wrong. */
bool sigv4_check(const struct sigv4_message *message, const struct sigv4_key *key,
        struct sigv4_scheme *ret_scheme, const char **ret_why);
/* Writes the head signed with the key, as the scheme is, which gets the new signature.  False: no
 * memory. */
bool sigv4_sign(const struct sigv4_message *message, const struct sigv4_key *key,
        struct sigv4_scheme *scheme, struct str *out);

/* ---- bodies in signed chunks: each chunk's signature has the one before in it ---- */

struct sigv4_chain;

/* Whether the body is of that kind. */
bool sigv4_is_chained(const struct sigv4_message *message);
/* After sigv4_sign, with the message that it wrote.  NULL: no memory. */
struct sigv4_chain *sigv4_chain_new(const struct sigv4_message *message,
        const struct sigv4_key *key, const struct sigv4_scheme *scheme);
void sigv4_chain_free(struct sigv4_chain *chain);
/* The signature of the next chunk, which holds these bytes (none: it is the last).  False: no
 * memory. */
bool sigv4_chain_next(
        struct sigv4_chain *chain, const void *bytes, size_t length, char ret_signature[65]);

#endif
