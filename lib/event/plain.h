/* SPDX-License-Identifier: Apache-2.0
 * Text that a person reads and decides by: nothing in it looks like something else.  Pure. */
#ifndef ABX_EVENT_PLAIN_H
#define ABX_EVENT_PLAIN_H

#include "base/str.h"

#include <stdint.h>

#define PLAIN_HEAD 256u /* characters that are shown of what is too long */
#define PLAIN_TAIL 128u

/* Appends UTF-8 as one line.  Shown as they are: ASCII, and letters of a word that is of one way of
 * writing (Latin with accents, Cyrillic, Greek, Chinese and Japanese, Korean) and could not be
 * taken for another word.  All else is `\u{HEX}`: what is not seen, turns the direction, joins or
 * covers others; spaces at the ends and more than one of them are `\x20`, a backslash is two.  The
 * middle of what is longer than both limits together is left out, and that is said in words that
 * no text has: the `[` of one that does is its number. */
void str_add_plain(struct str *out, const char *text);
/* The same between `"`; one in the text is `\"`. */
void str_add_plain_quoted(struct str *out, const char *text);

#endif
