/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: the ways in which a text is written inside others: percent-encoded, in
 * JSON, in base64.  Those that spell each character by itself are read by spelling.h.  Pure. */
#ifndef ABX_EGRESS_FORMS_H
#define ABX_EGRESS_FORMS_H

#include "egress/vault.h"

#include <stdbool.h>

/* Texts that may be secret, one after the other in one vault. */
struct forms {
    struct vault *vault;
    size_t used;
    struct form {
        size_t at, length;
        enum form_kind {
            FORM_PLAIN,
            FORM_BASIC, /* base64 of USER:SECRET */
            FORM_FRAGMENT /* what is always the same of its base64 inside of another */
        } kind;
        const char *user; /* BASIC; borrowed */
    } list[16];
    size_t n;
};

/* The secret itself and its forms in base64 of both alphabets, with each user name
 * (NULL-terminated) as Basic. False: no memory. */
bool forms_make(
        struct forms *ret_forms, const void *secret, size_t length, const char *const *users);
void forms_done(struct forms *forms);

/* How much room the encoded text needs, at most; each returns how much it wrote. */
#define PERCENT_ROOM(length) (3 * (length))
size_t percent_encode(const void *bytes, size_t length, char *to);
#define JSON_ROOM(length) (6 * (length))
size_t json_escape(const void *bytes, size_t length, char *to);
#define BASE64_ROOM(length) (4 * (((length) + 2) / 3))
size_t base64_encode(const void *bytes, size_t length, char *to);
/* -1: it is no base64, strictly.  `to` has room for 3 * length / 4. */
ptrdiff_t base64_decode(const char *text, size_t length, void *to);

#endif
