/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: what a server says about a request that it refused, as a problem document
 * (RFC 9457), of which a little is kept.  Pure; bytes may be hostile. */
#ifndef ABX_EGRESS_PROBLEM_DOCUMENT_H
#define ABX_EGRESS_PROBLEM_DOCUMENT_H

#include "egress/span.h"

#include "base/str.h"

#define PROBLEM_DOCUMENT_MAX 8192u /* a longer one is not read */

/* Whether the value of Content-Type says that it is one in JSON. */
bool problem_document_is(struct span content_type);
/* Appends ABX_FIELD_PROBLEM: an object with what it has of "title", "detail" and "fields", each cut
 * where it is long; nothing if it has none of them or is none. */
void problem_document_read(const char *bytes, size_t length, struct str *out);

#endif
