/* SPDX-License-Identifier: Apache-2.0
 * Inside the making of a suggestion: from observations to needs (suggest.c), and from needs and the
 * given policy to a document (suggest_document.c). */
#ifndef ABX_SUPERVISE_SUGGEST_H
#define ABX_SUPERVISE_SUGGEST_H

#include "supervise/observe.h"

/* A path that must be allowed. */
struct need {
    char *path;
    struct str programs;
};

struct needs {
    struct vec list; /* struct need */
    uint32_t access;
};

struct suggestion {
    abx_box *box;
    const struct policy_settings *settings; /* of the given policy */
    struct vec seen; /* struct observation, sorted: a copy, since opens wait for the list */
    struct needs reads, writes, programs;
    bool failed;
};

extern const char *const system_directories[]; /* NULL-terminated */

/* What the given policy says of a path. */
void suggest_rule(
        const struct suggestion *s, uint32_t access, const char *path, struct ruling *ruling);
/* A rule of it denies the path or asks about it. */
bool suggest_is_closed(const struct suggestion *s, uint32_t access, const char *path);
enum host_kind suggest_look(const struct suggestion *s, const char *path);

/* The document; caller frees.  NULL: no memory. */
char *suggestion_write(const struct suggestion *s, size_t *ret_length);

#endif
