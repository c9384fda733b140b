/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: characters in other spellings than their own: percent-encoded (and + for
 * a space), escaped in JSON and JavaScript, as entities of HTML, and one of these within another.
 * Pure; bytes may be hostile. */
#ifndef ABX_EGRESS_SPELLING_H
#define ABX_EGRESS_SPELLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPELLING_MAX 24u /* bytes that one character takes at most */

enum spelling_result {
    SPELLING_NONE,
    SPELLING_CUT, /* more bytes decide */
    SPELLING_OPEN, /* read, if no more bytes follow; else they decide */
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
/* The same where what is spelled at bytes[0] is itself the beginning of a spelling: `%2541`,
 * `\\u0041`, `&amp;#65;`, `%5Cu0041`.  NONE too if it would be what spelling_read reads. */
enum spelling_result spelling_read_twice(
        const uint8_t *bytes, size_t length, struct spelling *ret_spelling);

#endif
