/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/policy: the finitely many kinds of a path's component, as far as some patterns can
 * tell.  Names that a rule spells out stand for themselves; all others that the same globs match
 * are of one kind, and one example stands for them. */
#ifndef ABX_POLICY_KINDS_H
#define ABX_POLICY_KINDS_H

#include "policy/intern.h"
#include "policy/match.h"
#include "policy/work.h"

struct kind_name {
    const char *text; /* not NUL-terminated */
    uint32_t length;
    uint32_t kind;
    bool is_possible;
};

struct kind {
    const uint64_t *globs; /* the bits of those that match */
    const char *example; /* of a name that is not spelled out; NULL: there is none */
    uint32_t example_length;
    uint32_t state; /* kinds.c */
    bool is_possible;
    struct vec only; /* uint32_t: names of a kind without an example */
};

struct kinds {
    bool of_urls; /* what a segment of a plain URL can be; else what a file name can be */
    struct vec globs; /* struct kind_glob */
    struct vec names; /* struct kind_name */
    struct vec kinds; /* struct kind */
    struct intern glob_texts, texts, sets; /* numbers are indices of the three above */
    struct vec patterns; /* struct path_pattern *, owned */
    uint32_t n_words; /* of struct kind's `globs` */
    uint64_t *forbidden; /* globs of names that cannot be */
    uint64_t *ends; /* bits of the automaton's sets that are the end of a glob */
    uint32_t *ended; /* by such a bit: that glob */
    uint32_t n_set_words;
};

void kinds_init(struct kinds *kinds, bool of_urls);
void kinds_done(struct kinds *kinds);
/* First all that is to be told apart, each returning its number (INTERN_NONE: no memory). */
uint32_t kinds_add_name(struct kinds *kinds, const char *text, size_t length);
uint32_t kinds_add_glob(struct kinds *kinds, const struct path_part *part);
/* A glob of our own. */
abx_status kinds_add_pattern(
        struct kinds *kinds, const char *glob, bool is_forbidden, struct fail *fail);
/* Then their kinds.  ABX_ERR_UNSUPPORTED: there are too many. */
abx_status kinds_finish(struct kinds *kinds, struct work *work, struct fail *fail);
static inline bool
kind_has_glob(const struct kinds *kinds, uint32_t kind, uint32_t glob)
{
    return (vec_at(&kinds->kinds, struct kind, kind)->globs[glob / 64] >> glob % 64 & 1) != 0;
}

#endif
