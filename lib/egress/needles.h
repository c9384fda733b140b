/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: many texts looked for at once, in bytes that come in pieces, each of
 * their characters as it is or in another spelling (spelling.h).  What is found depends on the
 * bytes alone, never on where they were cut.  Pure; bytes may be hostile. */
#ifndef ABX_EGRESS_NEEDLES_H
#define ABX_EGRESS_NEEDLES_H

#include "egress/vault.h"

#include <stdbool.h>
#include <stdint.h>

struct needle {
    const void *bytes;
    size_t length; /* not 0 */
    uint32_t id;
    bool is_base64; /* white space may stand between its characters */
};

struct needles; /* immutable; kept in a vault, since needles may be secrets */

/* Of equal texts the first counts.  NULL: no memory. */
struct needles *needles_new(const struct needle *list, size_t n);
void needles_unref(struct needles *needles);
DEFINE_CLEANUP(needles_unref, struct needles)
/* The bytes that one may take, in its longest spelling; 0: there are none. */
size_t needles_longest(const struct needles *needles);

struct finding {
    size_t at, length;
    uint32_t id;
};

/* The first needle in the bytes, of several that begin there the one that takes the most.  True:
 * found.  False: none begins before ret_finding->at; what stands from there on may be the beginning
 * of one, unless `is_last`. */
bool needles_find(const struct needles *needles, const void *bytes, size_t length, bool is_last,
        struct finding *ret_finding);

#endif
