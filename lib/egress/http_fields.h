/* SPDX-License-Identifier: Apache-2.0
 * Inside the HTTP readers only: lines, fields, and how something is refused. */
#ifndef ABX_EGRESS_HTTP_FIELDS_H
#define ABX_EGRESS_HTTP_FIELDS_H

#include "egress/http_head.h"

/* Takes a line off; it ends with CR LF, and neither of them stands elsewhere in it. */
bool http_line_next(struct span *rest, struct span *ret_line);
/* Name, colon, value without white space around it. */
bool http_field_split(struct span line, struct http_field *ret_field, const char **ret_why);
/* Reads fields up to the empty line, and what they make of framing and connection.  0, or a
 * negative status.  *ret_host: the value of Host; `at` is NULL if there is none. */
int http_fields_read(
        struct http_head *head, struct span rest, struct span *ret_host, const char **ret_why);
/* Returns the status, negative. */
int http_refuse(int status, const char *why, const char **ret_why);

#endif
