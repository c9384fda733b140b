/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: the lines of a head that is about to be sent, or just came: strict
 * HTTP/1.1, with no folded lines.  Pure. */
#ifndef ABX_EGRESS_HEAD_LINES_H
#define ABX_EGRESS_HEAD_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* A line of the head, without its end. */
struct head_line {
    size_t at, length;
    size_t name_length; /* of a field; 0: the request line */
    size_t value_at, value_length; /* of a field without white space around it */
};

/* The line at *at, which moves behind it.  False: there are no more. */
bool head_next(const char *text, size_t length, size_t *at, struct head_line *ret_line);
/* Whether it is that field (NULL: none is); case makes no difference. */
bool head_names(const char *text, const struct head_line *line, const char *name);
/* The first field of that name. */
bool head_find(const char *text, size_t length, const char *name, struct head_line *ret_line);

#endif
