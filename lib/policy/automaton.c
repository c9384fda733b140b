/* SPDX-License-Identifier: Apache-2.0
 * Makes the automaton of all globs: a bit for each place in each glob, and a symbol for the bytes
 * that no glob tells apart. */
#include "policy/automaton.h"

#include <stdlib.h>
#include <string.h>

/* What a place costs in one phase; it bounds memory, too. */
#define BIT_WORK 1024u

void
automaton_done(struct automaton *automaton)
{
    free(automaton->start);
    free(automaton->stars);
    vec_done(&automaton->symbols);
    vec_done(&automaton->from);
    vec_done(&automaton->next);
    intern_done(&automaton->symbol_keys);
    intern_done(&automaton->states);
}

/* How many continuation bytes a character with this first byte has, as `?` takes it. */
static uint8_t
continuations(unsigned char lead)
{
    return lead > 0xf4 || lead < 0xc2 ? 0 : lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
}

/* A glob with half a character in its text could tell names apart that are no text at all. */
static abx_status
check_text(const struct kind_glob *glob, struct fail *fail)
{
    struct glob_element element;
    uint8_t due = 0;

    for (uint32_t at = 0; path_part_next(glob->part, &at, &element);) {
        for (unsigned byte = 0x80; byte < 256 && element.is_text; byte++) {
            if (!element.bytes[byte]) {
                continue;
            }
            if (due > 0 && (byte & 0xc0) != 0x80) {
                due = 4;
                break;
            }
            due = due > 0 ? (uint8_t)(due - 1) : continuations((unsigned char)byte);
        }
        for (unsigned byte = 0; byte < 0x80 && due > 0; byte++) {
            due = element.bytes[byte] ? 4 : due;
        }
        if (due == 4 || (due > 0 && !element.is_text)) {
            due = 4;
            break;
        }
    }
    if (due == 0) {
        return ABX_OK;
    }
    fail_set(fail, ABX_ERR_UNSUPPORTED, 0, "compare:pattern",
            "a pattern has a part of a character beside a wildcard, '%.*s'",
            (int)glob->part->length, glob->part->text);
    fail_remedy(fail, "write whole characters, or a literal path");
    return fail->status;
}

/* Places: one before each element, two before one that takes a character (the second is inside of
 * it), and one at the end. */
abx_status
automaton_count_bits(struct automaton *automaton, struct fail *fail)
{
    struct vec *globs = &automaton->kinds->globs;
    struct glob_element element;

    for (size_t i = 0; i < globs->count; i++) {
        struct kind_glob *glob = vec_at(globs, struct kind_glob, i);

        for (uint32_t at = 0; path_part_next(glob->part, &at, &element);) {
            automaton->n_bits += element.form == GLOB_CHARACTER ? 2 : 1;
            automaton->has_characters |= element.form == GLOB_CHARACTER;
        }
        glob->last = automaton->n_bits++;
    }
    for (size_t i = 0; automaton->has_characters && i < globs->count; i++) {
        if (check_text(vec_at(globs, struct kind_glob, i), fail) < 0) {
            return fail->status;
        }
    }
    if (!work_spend(automaton->work, (uint64_t)automaton->n_bits * BIT_WORK *
                                             (automaton->has_characters ? PHASES : 1))) {
        return work_fail(automaton->work, fail);
    }
    automaton->n_words = automaton->n_bits / 64 + 1;
    automaton->start = calloc(automaton->n_words, sizeof *automaton->start);
    automaton->stars = calloc(automaton->n_words, sizeof *automaton->stars);
    return automaton->start == NULL || automaton->stars == NULL ? fail_nomem(fail) : ABX_OK;
}

static void
close_stars(const struct automaton *automaton, uint64_t *set)
{
    uint64_t carry = 0;

    for (uint32_t i = 0; i < automaton->n_words; i++) {
        uint64_t stars = set[i] & automaton->stars[i];

        set[i] |= stars << 1 | carry;
        carry = stars >> 63;
    }
}

/* What each byte does in one phase: three masks, and a word for the phases before and after it. */
struct masks {
    uint64_t *rows; /* [256] */
    uint32_t n_words;
};

static size_t
row_words(uint32_t n_words)
{
    return (size_t)3 * n_words + 1;
}

static uint64_t *
mask_of(const struct masks *masks, unsigned byte, unsigned step)
{
    return masks->rows + byte * row_words(masks->n_words) + (size_t)step * masks->n_words;
}

static void
fill_element(const struct masks *masks, const struct glob_element *element, uint32_t bit,
        uint8_t before, bool has_characters)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        uint8_t due = !has_characters ? 0
                      : before > 0    ? (uint8_t)(before - 1)
                                      : continuations((unsigned char)byte);

        if (element->form == GLOB_STAR) {
            set_bit(mask_of(masks, byte, 0), bit);
        } else if (element->form == GLOB_BYTE) {
            if (element->bytes[byte]) {
                set_bit(mask_of(masks, byte, 1), bit);
            }
        } else {
            set_bit(mask_of(masks, byte, before == 0 && due > 0 ? 1 : 2), bit);
            set_bit(mask_of(masks, byte, due > 0 ? 0 : 1), bit + 1);
        }
    }
}

static abx_status
add_symbol(struct automaton *automaton, const struct masks *masks, unsigned byte, uint8_t before,
        uint8_t after, struct fail *fail)
{
    const size_t words = row_words(masks->n_words);
    uint64_t *row = mask_of(masks, byte, 0);
    struct symbol *symbol;
    const uint64_t *kept;
    uint32_t number;

    row[words - 1] = (uint64_t)before << 8 | after;
    number = intern_put(&automaton->symbol_keys, row, words * sizeof *row);
    if (number == INTERN_NONE) {
        return fail_nomem(fail);
    }
    automaton->symbol_of[before][byte] = (uint16_t)number;
    if (number < automaton->symbols.count) {
        return ABX_OK;
    }
    symbol = vec_add(&automaton->symbols);
    if (symbol == NULL) {
        return fail_nomem(fail);
    }
    kept = intern_bytes(&automaton->symbol_keys, number, NULL);
    *symbol = (struct symbol){ .before = before,
        .after = after,
        .likely = (uint8_t)byte,
        .stay = kept,
        .one = kept + masks->n_words,
        .two = kept + (size_t)2 * masks->n_words };
    return ABX_OK;
}

static void
order_bytes(uint8_t order[256])
{
    static const char first[] = "xyzabcdefghijklmnopqrstuvw0123456789XYZABCDEFGHIJKLMNOPQRSTUVW-_."
                                "\xc3\xe2\xf0\xa9";
    unsigned n = sizeof first - 1;

    memcpy(order, first, n);
    for (unsigned byte = 0; byte < 256; byte++) {
        if (memchr(first, (int)byte, sizeof first - 1) == NULL) {
            order[n++] = (uint8_t)byte;
        }
    }
}

static abx_status
add_phase(struct automaton *automaton, uint8_t before, struct fail *fail)
{
    struct masks masks = { .n_words = automaton->n_words };
    AUTO(freep) uint64_t *rows = calloc(256 * row_words(automaton->n_words), sizeof *rows);
    struct glob_element element;
    uint32_t bit = 0;
    abx_status r = rows == NULL ? fail_nomem(fail) : ABX_OK;

    masks.rows = rows;
    for (size_t i = 0; i < automaton->kinds->globs.count && r == ABX_OK; i++, bit++) {
        const struct kind_glob *glob = vec_at(&automaton->kinds->globs, struct kind_glob, i);

        for (uint32_t at = 0; path_part_next(glob->part, &at, &element);) {
            fill_element(&masks, &element, bit, before, automaton->has_characters);
            if (before == 0 && element.form == GLOB_STAR) {
                set_bit(automaton->stars, bit);
            }
            bit += element.form == GLOB_CHARACTER ? 2 : 1;
        }
    }
    for (unsigned i = 0; i < 256 && r == ABX_OK; i++) {
        unsigned char byte = automaton->order[i];
        uint8_t after = !automaton->has_characters ? 0
                        : before > 0               ? (uint8_t)(before - 1)
                                                   : continuations(byte);

        if (kinds_is_possible_byte(automaton->kinds, byte) &&
                (before == 0 || (byte & 0xc0) == 0x80)) {
            r = add_symbol(automaton, &masks, byte, before, after, fail);
        }
    }
    return r;
}

abx_status
automaton_make_symbols(struct automaton *automaton, struct fail *fail)
{
    abx_status r = ABX_OK;

    order_bytes(automaton->order);
    memset(automaton->symbol_of, 0xff, sizeof automaton->symbol_of);
    for (uint8_t before = 0; before < (automaton->has_characters ? PHASES : 1) && r == ABX_OK;
            before++) {
        r = add_phase(automaton, before, fail);
    }
    for (uint32_t i = 0, first = 0; i < automaton->kinds->globs.count; i++) {
        set_bit(automaton->start, first);
        first = vec_at(&automaton->kinds->globs, struct kind_glob, i)->last + 1;
    }
    close_stars(automaton, automaton->start);
    return r;
}

/* `set` has one word more for the phase. */
void
automaton_step(const struct automaton *automaton, const uint64_t *from, const struct symbol *symbol,
        uint64_t *to)
{
    uint64_t one = 0, two = 0;

    for (uint32_t i = 0; i < automaton->n_words; i++) {
        uint64_t by_one = from[i] & symbol->one[i];
        uint64_t by_two = from[i] & symbol->two[i];

        to[i] = (from[i] & symbol->stay[i]) | by_one << 1 | one | by_two << 2 | two;
        one = by_one >> 63;
        two = by_two >> 62;
    }
    to[automaton->n_words] = symbol->after;
    close_stars(automaton, to);
}
