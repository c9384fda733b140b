/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: characters in other spellings than their own: percent-encoded (and + for
 * a space), escaped in JSON, as entities of HTML.  Pure; bytes may be hostile. */
#ifndef ABX_EGRESS_SPELLING_H
#define ABX_EGRESS_SPELLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPELLING_MAX 12u /* bytes that one character takes at most */

enum spelling_result {
    SPELLING_NONE,
    SPELLING_CUT, /* more bytes decide */
    SPELLING_READ
};
struct spelling {
    size_t length; /* of what was read */
    uint8_t bytes[4]; /* the character, in UTF-8, or the byte that was percent-encoded */
    size_t n;
};

/* Whether a spelling may begin with this byte. */
bool spelling_begins(uint8_t byte);
/* The one that begins at bytes[0]. */
enum spelling_result spelling_read(
        const uint8_t *bytes, size_t length, struct spelling *ret_spelling);

#endif
