/* SPDX-License-Identifier: Apache-2.0
 * Inside the signature only: a request, taken apart, and its canonical text. */
#ifndef ABX_EGRESS_SIGV4_PARTS_H
#define ABX_EGRESS_SIGV4_PARTS_H

#include "egress/sigv4.h"

#define ALGORITHM "AWS4-HMAC-SHA256"
#define ITEMS_MAX 256u
#define DECODED_MAX 2048u

/* A piece of the head. */
struct piece {
    const char *at;
    size_t length;
};

struct field {
    struct piece name, value;
};

/* What a signature is about. */
struct parts {
    struct piece method, target, path, query, version;
    struct field fields[ITEMS_MAX];
    size_t n_fields;
    struct piece id, scope, date, region,
            service; /* of the credential; scope is DATE/.../aws4_request */
    struct piece signed_names, signature, time;
    bool in_query;
    char decoded[DECODED_MAX]; /* credential and signed names of a query */
};

bool piece_is(struct piece piece, const char *text); /* case makes no difference */
void add_piece(struct str *out, struct piece piece);
/* Cuts the part before `separator` off the front; the rest is empty if there is none. */
struct piece cut(struct piece *rest, char separator);
/* Undoes percent-encoding; how much was written, at most piece.length. */
size_t decode_piece(struct piece piece, bool plus_is_space, char *to);

/* NULL: all parts are there; else why it cannot be signed again. */
const char *sigv4_split(const struct sigv4_message *message, struct parts *ret_parts);
const struct field *parts_find(const struct parts *parts, const char *name);

/* Ways in which programs write the path: encoded once as it is sent or twice, with empty segments
 * or without. */
enum { PATH_TWICE = 1, PATH_PLAIN = 2, PATH_FORMS = 4 };
/* NULL: `out` has it; else why there is none. */
const char *sigv4_canonical(const struct sigv4_message *message, const struct parts *parts,
        uint32_t form, struct str *out);

#endif
