/* SPDX-License-Identifier: Apache-2.0
 * Inside kinds.c: all globs side by side as one automaton over bytes. */
#ifndef ABX_POLICY_AUTOMATON_H
#define ABX_POLICY_AUTOMATON_H

#include "base/mem.h"
#include "policy/kinds.h"

#define PHASES 4u /* continuation bytes of a character that are still due: 0 to 3 */

struct kind_glob {
    const struct path_part *part;
    bool is_forbidden;
    uint32_t last; /* the bit that is set when all of it was matched */
};

/* Bytes that no glob tells apart, in a phase. */
struct symbol {
    uint8_t before, after;
    uint8_t likely; /* the byte that looks best in an example */
    const uint64_t *stay, *one, *two; /* places that stay, go on by one, by two */
};

struct automaton {
    struct kinds *kinds;
    struct work *work;
    uint32_t n_bits, n_words;
    bool has_characters; /* some glob takes whole characters, so their length matters */
    uint64_t *start, *stars;
    struct intern symbol_keys;
    struct vec symbols; /* struct symbol */
    uint16_t symbol_of[PHASES][256];
    uint8_t order[256]; /* bytes, those first that look like a name */
    struct intern states; /* the set, and the phase in the word after it */
    struct vec from; /* struct origin, by state */
    struct vec next; /* uint32_t, by state and symbol */
};

struct origin {
    uint32_t state;
    uint16_t symbol;
};

static inline void
set_bit(uint64_t *words, uint32_t bit)
{
    words[bit / 64] |= UINT64_C(1) << bit % 64;
}

static inline bool
has_bit(const uint64_t *words, uint32_t bit)
{
    return (words[bit / 64] >> bit % 64 & 1) != 0;
}

bool kinds_is_possible_byte(const struct kinds *kinds, unsigned char byte);
void automaton_done(struct automaton *automaton);
abx_status automaton_count_bits(struct automaton *automaton, struct fail *fail);
abx_status automaton_make_symbols(struct automaton *automaton, struct fail *fail);
void automaton_step(const struct automaton *automaton, const uint64_t *from,
        const struct symbol *symbol, uint64_t *to);

#endif
