/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: where a request goes to, as its first line and Host say it.  Pure. */
#ifndef ABX_EGRESS_HTTP_TARGET_H
#define ABX_EGRESS_HTTP_TARGET_H

#include "egress/http_head.h"

/* "host", "host:port", "[address]:port"; brackets are taken off.  No port: 0.  False: anything
 * else, user information too. */
bool http_authority_parse(struct span text, struct span *ret_host, uint16_t *ret_port);
/* Reads `target` of a request with this method into form, host, port and path.  0, or a negative
 * status. */
int http_target_parse(struct http_head *head, const char **ret_why);

#endif
