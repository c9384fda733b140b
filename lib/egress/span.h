/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: a piece of bytes that somebody else holds.  Case makes no difference, of
 * ASCII letters. */
#ifndef ABX_EGRESS_SPAN_H
#define ABX_EGRESS_SPAN_H

#include <stdbool.h>
#include <stddef.h>

struct span {
    const char *at; /* not terminated */
    size_t length;
};

bool is_letter_or_digit(char c); /* of ASCII */
bool span_is(struct span span, const char *text);
bool span_is_same(struct span a, struct span b);
bool span_is_one_of(struct span span, const char *const *texts); /* NULL-terminated */
bool span_is_token(struct span span); /* a word as HTTP has them (RFC 9110, 5.6.2) */
struct span span_trim(struct span span); /* without blanks and tabs around it */
/* Takes the next element off a list with commas; false: it is empty.  Elements may be empty. */
bool span_next(struct span *list, struct span *ret_element);
/* Takes what stands before the next blank off, with the blank. */
struct span span_until_space(struct span *text);

#endif
