/* SPDX-License-Identifier: Apache-2.0
 * Owns the kinds of names.  All globs run side by side as one automaton over bytes (a bit for each
 * place in each glob); the sets of places that can be reached are its states, and the globs that
 * are at their end in a state make its kind.  Pure, one thread. */
#include "policy/automaton.h"

#include "policy/rules.h"

#include <stdlib.h>
#include <string.h>

#define STATES_MAX 16384u
#define LENGTH_MAX PATH_LENGTH_MAX
#define NO_SYMBOL UINT16_MAX

/* ---- what is told apart ---- */

void
kinds_init(struct kinds *kinds, bool of_urls)
{
    *kinds = (struct kinds){ .of_urls = of_urls,
        .globs = VEC(struct kind_glob),
        .names = VEC(struct kind_name),
        .kinds = VEC(struct kind),
        .patterns = VEC(struct path_pattern *) };
    intern_init(&kinds->glob_texts);
    intern_init(&kinds->texts);
    intern_init(&kinds->sets);
}

void
kinds_done(struct kinds *kinds)
{
    for (size_t i = 0; i < kinds->kinds.count; i++) {
        struct kind *kind = vec_at(&kinds->kinds, struct kind, i);

        free((char *)(uintptr_t)kind->example);
        vec_done(&kind->only);
    }
    for (size_t i = 0; i < kinds->patterns.count; i++) {
        path_pattern_free(*vec_at(&kinds->patterns, struct path_pattern *, i));
    }
    vec_done(&kinds->globs);
    vec_done(&kinds->names);
    vec_done(&kinds->kinds);
    vec_done(&kinds->patterns);
    intern_done(&kinds->glob_texts);
    intern_done(&kinds->texts);
    intern_done(&kinds->sets);
    free(kinds->forbidden);
    free(kinds->ends);
    free(kinds->ended);
}

/* Bytes that a component can have, as far as it is up to one byte. */
bool
kinds_is_possible_byte(const struct kinds *kinds, unsigned char byte)
{
    if (kinds->of_urls) {
        return byte >= ' ' && byte != 0x7f && strchr("/%\\", byte) == NULL;
    }
    return byte != '\0' && byte != '/';
}

static bool
is_possible_text(const struct kinds *kinds, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!kinds_is_possible_byte(kinds, (unsigned char)text[i])) {
            return false;
        }
    }
    return length > 0 && !(length == 1 && text[0] == '.') &&
           !(length == 2 && memcmp(text, "..", 2) == 0);
}

uint32_t
kinds_add_name(struct kinds *kinds, const char *text, size_t length)
{
    uint32_t number = intern_put(&kinds->texts, text, length);
    struct kind_name *name;

    if (number == INTERN_NONE || number < kinds->names.count) {
        return number;
    }
    name = vec_add(&kinds->names);
    if (name == NULL) {
        return INTERN_NONE;
    }
    name->text = intern_bytes(&kinds->texts, number, NULL);
    name->length = (uint32_t)length;
    name->is_possible = is_possible_text(kinds, text, length);
    return number;
}

uint32_t
kinds_add_glob(struct kinds *kinds, const struct path_part *part)
{
    AUTO(freep) char *key = malloc(part->length + 1);
    struct kind_glob *glob;
    uint32_t number;

    if (key == NULL) {
        return INTERN_NONE;
    }
    key[0] = (char)part->kind;
    memcpy(key + 1, part->text, part->length);
    number = intern_put(&kinds->glob_texts, key, part->length + 1);
    if (number == INTERN_NONE || number < kinds->globs.count) {
        return number;
    }
    glob = vec_add(&kinds->globs);
    if (glob == NULL) {
        return INTERN_NONE;
    }
    glob->part = part;
    return number;
}

abx_status
kinds_add_pattern(struct kinds *kinds, const char *glob, bool is_forbidden, struct fail *fail)
{
    struct path_pattern *pattern = path_pattern_new(glob, fail);
    struct path_pattern **slot = pattern == NULL ? NULL : vec_add(&kinds->patterns);
    uint32_t number;

    if (slot == NULL) {
        path_pattern_free(pattern);
        return pattern == NULL ? fail->status : fail_nomem(fail);
    }
    *slot = pattern;
    number = kinds_add_glob(kinds, &pattern->parts[0]);
    if (number == INTERN_NONE) {
        return fail_nomem(fail);
    }
    vec_at(&kinds->globs, struct kind_glob, number)->is_forbidden |= is_forbidden;
    return ABX_OK;
}

/* ---- kinds ---- */

/* The kind of names that end in this set; a new one has no example yet. */
static uint32_t
kind_of_globs(struct kinds *kinds, const uint64_t *globs)
{
    uint32_t number = intern_put(&kinds->sets, globs, kinds->n_words * sizeof *globs);
    struct kind *kind;

    if (number == INTERN_NONE || number < kinds->kinds.count) {
        return number;
    }
    kind = vec_add(&kinds->kinds);
    if (kind == NULL) {
        return INTERN_NONE;
    }
    kind->globs = intern_bytes(&kinds->sets, number, NULL);
    kind->only = VEC(uint32_t);
    kind->state = INTERN_NONE;
    kind->is_possible = true;
    for (uint32_t i = 0; i < kinds->n_words; i++) {
        kind->is_possible &= (globs[i] & kinds->forbidden[i]) == 0;
    }
    return number;
}

static uint32_t
kind_of_set(struct kinds *kinds, const uint64_t *set)
{
    uint64_t few[4] = { 0 };
    AUTO(freep) uint64_t *many = NULL;
    uint64_t *globs = few;

    if (kinds->n_words > N_ELEMENTS(few)) {
        globs = many = calloc(kinds->n_words, sizeof *many);
        if (many == NULL) {
            return INTERN_NONE;
        }
    }
    for (uint32_t i = 0; i < kinds->n_set_words; i++) {
        for (uint64_t ends = set[i] & kinds->ends[i]; ends != 0; ends &= ends - 1) {
            set_bit(globs, kinds->ended[i * 64 + (uint32_t)__builtin_ctzll(ends)]);
        }
    }
    return kind_of_globs(kinds, globs);
}

/* A name in which bytes could be half a character: asked glob by glob. */
static uint32_t
kind_by_matching(struct kinds *kinds, const struct kind_name *name)
{
    AUTO(freep) uint64_t *globs = calloc(kinds->n_words, sizeof *globs);

    for (uint32_t i = 0; globs != NULL && i < kinds->globs.count; i++) {
        if (path_part_takes(
                    vec_at(&kinds->globs, struct kind_glob, i)->part, name->text, name->length)) {
            set_bit(globs, i);
        }
    }
    return globs == NULL ? INTERN_NONE : kind_of_globs(kinds, globs);
}

static abx_status
classify_names(struct automaton *automaton, struct fail *fail)
{
    struct kinds *kinds = automaton->kinds;
    size_t room = automaton->n_words + 1;
    AUTO(freep) uint64_t *sets = calloc(2 * room, sizeof *sets);

    if (sets == NULL) {
        return fail_nomem(fail);
    }
    for (size_t i = 0; i < kinds->names.count; i++) {
        struct kind_name *name = vec_at(&kinds->names, struct kind_name, i);
        uint64_t *from = sets, *to = sets + room;
        bool is_plain = name->is_possible;

        memcpy(from, automaton->start, (room - 1) * sizeof *from);
        for (uint32_t k = 0; k < name->length && is_plain; k++) {
            unsigned char byte = (unsigned char)name->text[k];
            uint64_t *swap = from;

            is_plain = byte < 0x80;
            if (is_plain) {
                automaton_step(automaton, from,
                        vec_at(&automaton->symbols, struct symbol, automaton->symbol_of[0][byte]),
                        to);
                from = to;
                to = swap;
            }
        }
        name->kind = is_plain ? kind_of_set(kinds, from) : kind_by_matching(kinds, name);
        if (name->kind == INTERN_NONE) {
            return fail_nomem(fail);
        }
        name->is_possible &= vec_at(&kinds->kinds, struct kind, name->kind)->is_possible;
    }
    return ABX_OK;
}

/* The text that leads to a state, and one symbol more. */
static char *
text_to(const struct automaton *automaton, uint32_t state, uint16_t symbol, uint32_t *ret_length)
{
    uint32_t n = 1, at = state;
    char *text;

    for (; at != 0; n++) {
        at = vec_at(&automaton->from, struct origin, at)->state;
    }
    text = malloc(n + 1);
    if (text == NULL) {
        return NULL;
    }
    *ret_length = n;
    text[n] = '\0';
    for (at = state; n-- > 0;) {
        const struct origin *origin = vec_at(&automaton->from, struct origin, at);

        text[n] = (char)vec_at(&automaton->symbols, struct symbol, symbol)->likely;
        symbol = origin->symbol;
        at = origin->state;
    }
    return text;
}

static abx_status
arrive(struct automaton *automaton, uint32_t from, uint16_t symbol, uint32_t to, bool is_new,
        struct fail *fail)
{
    const uint64_t *set = intern_bytes(&automaton->states, to, NULL);
    struct kind *kind;
    uint32_t number;

    if (set[automaton->n_words] != 0 || !(is_new || to == 0)) {
        return ABX_OK;
    }
    number = kind_of_set(automaton->kinds, set);
    if (number == INTERN_NONE) {
        return fail_nomem(fail);
    }
    kind = vec_at(&automaton->kinds->kinds, struct kind, number);
    if (kind->example == NULL && kind->is_possible) {
        kind->state = to;
        kind->example = text_to(automaton, from, symbol, &kind->example_length);
        return kind->example == NULL ? fail_nomem(fail) : ABX_OK;
    }
    return ABX_OK;
}

/* Every set of places that some text leads to, the nearest first. */
static abx_status
explore(struct automaton *automaton, struct fail *fail)
{
    size_t bytes = (automaton->n_words + 1) * sizeof(uint64_t);
    AUTO(freep) uint64_t *to = calloc(1, bytes);

    if (to == NULL) {
        return fail_nomem(fail);
    }
    memcpy(to, automaton->start, bytes - sizeof *to);
    /* The kind of no text at all, too: afterwards there are no new ones. */
    if (intern_put(&automaton->states, to, bytes) == INTERN_NONE ||
            vec_add(&automaton->from) == NULL || kind_of_set(automaton->kinds, to) == INTERN_NONE) {
        return fail_nomem(fail);
    }
    for (uint32_t state = 0; state < automaton->from.count; state++) {
        const uint64_t *set = intern_bytes(&automaton->states, state, NULL);

        if (!work_spend(automaton->work,
                    automaton->symbols.count * (automaton->n_words * UINT64_C(2) + 30))) {
            return work_fail(automaton->work, fail);
        }
        for (uint16_t i = 0; i < automaton->symbols.count; i++) {
            const struct symbol *symbol = vec_at(&automaton->symbols, struct symbol, i);
            uint32_t *next = vec_add(&automaton->next);
            bool is_new;

            if (next == NULL) {
                return fail_nomem(fail);
            }
            *next = INTERN_NONE;
            if (set[automaton->n_words] != symbol->before) {
                continue;
            }
            automaton_step(automaton, set, symbol, to);
            *next = intern_put(&automaton->states, to, bytes);
            is_new = *next == automaton->from.count;
            if (*next == INTERN_NONE || (is_new && vec_add(&automaton->from) == NULL)) {
                return fail_nomem(fail);
            }
            if (is_new) {
                *vec_at(&automaton->from, struct origin, *next) =
                        (struct origin){ .state = state, .symbol = i };
            }
            if (*next > STATES_MAX) {
                fail_set(fail, ABX_ERR_UNSUPPORTED, 0, "compare:pattern",
                        "the patterns overlap in too many ways to be compared exactly");
                fail_remedy(fail, "use fewer '*' and '?' within one component");
                return fail->status;
            }
            if (arrive(automaton, state, i, *next, is_new, fail) < 0) {
                return fail->status;
            }
        }
    }
    return ABX_OK;
}

/* ---- examples that nobody spelled out ---- */

/* From which states a text of a length leads to a kind, for all lengths so far. */
struct reach {
    const struct automaton *automaton;
    uint32_t kind;
    uint32_t n_states;
    struct vec rows; /* bool *, by length */
    uint8_t *bytes; /* of the text so far */
    uint32_t *states;
};

static void
reach_done(struct reach *reach)
{
    for (size_t i = 0; i < reach->rows.count; i++) {
        free(*vec_at(&reach->rows, bool *, i));
    }
    vec_done(&reach->rows);
    free(reach->bytes);
    free(reach->states);
}

static uint32_t
next_state(const struct automaton *automaton, uint32_t state, uint16_t symbol)
{
    return symbol == NO_SYMBOL
                   ? INTERN_NONE
                   : *vec_at(&automaton->next, uint32_t, state * automaton->symbols.count + symbol);
}

/* One more length; *ret_any: from some state it leads there. */
static bool
reach_longer(struct reach *reach, bool *ret_any)
{
    const struct automaton *automaton = reach->automaton;
    bool *row = calloc(reach->n_states, sizeof *row);
    bool **slot = row == NULL ? NULL : vec_add(&reach->rows);
    const bool *last;

    if (slot == NULL) {
        free(row);
        return false;
    }
    *slot = row;
    *ret_any = false;
    last = reach->rows.count == 1 ? NULL : *vec_at(&reach->rows, bool *, reach->rows.count - 2);
    for (uint32_t state = 0; state < reach->n_states; state++) {
        const uint64_t *set = intern_bytes(&automaton->states, state, NULL);

        if (last == NULL) {
            row[state] = set[automaton->n_words] == 0 &&
                         kind_of_set(automaton->kinds, set) == reach->kind;
        }
        for (uint16_t i = 0; last != NULL && i < automaton->symbols.count && !row[state]; i++) {
            uint32_t next = next_state(automaton, state, i);

            row[state] = next != INTERN_NONE && last[next];
        }
        *ret_any |= row[state];
    }
    return true;
}

/* Goes through the texts of one length in order; stops at one that is no known name. */
static bool
find_text(struct reach *reach, uint32_t length)
{
    const struct automaton *automaton = reach->automaton;
    uint32_t depth = 0;
    unsigned try[LENGTH_MAX] = { 0 };

    reach->states[0] = 0;
    if (!(*vec_at(&reach->rows, bool *, length))[0]) {
        return false;
    }
    for (;;) {
        uint32_t state = reach->states[depth];
        const bool *ahead = *vec_at(&reach->rows, bool *, length - depth - 1);
        uint64_t phase = ((const uint64_t *)intern_bytes(
                &automaton->states, state, NULL))[automaton->n_words];
        uint32_t next = INTERN_NONE;

        for (; try[depth] < 256 && next == INTERN_NONE; try[depth]++) {
            unsigned byte = automaton->order[try[depth]];

            next = next_state(automaton, state, automaton->symbol_of[phase][byte]);
            next = next != INTERN_NONE && ahead[next] ? next : INTERN_NONE;
            reach->bytes[depth] = (uint8_t)byte;
        }
        if (next == INTERN_NONE) {
            if (depth == 0) {
                return false;
            }
            depth--;
            continue;
        }
        if (depth + 1 == length) {
            if (!work_spend(automaton->work, UINT64_C(256) + length)) {
                return false;
            }
            if (intern_find(&automaton->kinds->texts, reach->bytes, length) == INTERN_NONE) {
                return true;
            }
            continue;
        }
        reach->states[++depth] = next;
        try[depth] = 0;
    }
}

/* Another example for a kind whose first one is a name of its own; NULL if there is none. */
static abx_status
find_example(struct automaton *automaton, uint32_t number, uint32_t longest, struct fail *fail)
{
    struct kind *kind = vec_at(&automaton->kinds->kinds, struct kind, number);
    struct reach reach = { .automaton = automaton,
        .kind = number,
        .n_states = (uint32_t)automaton->from.count,
        .rows = VEC(bool *) };
    uint32_t most = reach.n_states > longest ? reach.n_states + 1 : longest + 1;
    abx_status r = ABX_OK;
    bool found = false, is_any = true;

    most = most >= LENGTH_MAX ? LENGTH_MAX - 1 : most;
    free((char *)(uintptr_t)kind->example);
    kind->example = NULL;
    reach.bytes = malloc(most + 1);
    reach.states = calloc(most + 1, sizeof *reach.states);
    if (reach.bytes == NULL || reach.states == NULL || !reach_longer(&reach, &is_any)) {
        r = fail_nomem(fail);
    }
    for (uint32_t length = 1; length <= most && r == ABX_OK && !found && is_any; length++) {
        r = work_spend(
                    automaton->work, reach.n_states * (UINT64_C(2) + automaton->symbols.count)) &&
                            reach_longer(&reach, &is_any)
                    ? ABX_OK
                    : work_fail(automaton->work, fail);
        found = r == ABX_OK && find_text(&reach, length);
        r = automaton->work->left > 0 ? r : work_fail(automaton->work, fail);
        if (found) {
            kind->example = strndup((const char *)reach.bytes, length);
            kind->example_length = length;
            r = kind->example == NULL ? fail_nomem(fail) : ABX_OK;
        }
    }
    reach_done(&reach);
    return r;
}

static abx_status
free_examples(struct automaton *automaton, struct fail *fail)
{
    struct kinds *kinds = automaton->kinds;
    uint32_t longest = 0;

    for (size_t i = 0; i < kinds->names.count; i++) {
        uint32_t length = vec_at(&kinds->names, struct kind_name, i)->length;

        longest = length > longest ? length : longest;
    }
    for (uint32_t i = 0; i < kinds->kinds.count; i++) {
        struct kind *kind = vec_at(&kinds->kinds, struct kind, i);

        if (kind->example != NULL &&
                intern_find(&kinds->texts, kind->example, kind->example_length) != INTERN_NONE &&
                find_example(automaton, i, longest, fail) < 0) {
            return fail->status;
        }
    }
    for (uint32_t i = 0; i < kinds->names.count; i++) {
        const struct kind_name *name = vec_at(&kinds->names, struct kind_name, i);
        struct kind *kind = vec_at(&kinds->kinds, struct kind, name->kind);
        uint32_t *slot;

        if (kind->example != NULL || !name->is_possible) {
            continue;
        }
        slot = vec_add(&kind->only);
        if (slot == NULL) {
            return fail_nomem(fail);
        }
        *slot = i;
    }
    return ABX_OK;
}

/* What tells the kind of a set of places quickly. */
static abx_status
note_ends(struct kinds *kinds, const struct automaton *automaton, struct fail *fail)
{
    kinds->n_set_words = automaton->n_words;
    kinds->forbidden = calloc(kinds->n_words, sizeof *kinds->forbidden);
    kinds->ends = calloc(automaton->n_words, sizeof *kinds->ends);
    kinds->ended = calloc((size_t)automaton->n_words * 64, sizeof *kinds->ended);
    if (kinds->forbidden == NULL || kinds->ends == NULL || kinds->ended == NULL) {
        return fail_nomem(fail);
    }
    for (uint32_t i = 0; i < kinds->globs.count; i++) {
        const struct kind_glob *glob = vec_at(&kinds->globs, struct kind_glob, i);

        set_bit(kinds->ends, glob->last);
        kinds->ended[glob->last] = i;
        if (glob->is_forbidden) {
            set_bit(kinds->forbidden, i);
        }
    }
    return ABX_OK;
}

abx_status
kinds_finish(struct kinds *kinds, struct work *work, struct fail *fail)
{
    struct automaton automaton = { .kinds = kinds,
        .work = work,
        .symbols = VEC(struct symbol),
        .from = VEC(struct origin),
        .next = VEC(uint32_t) };
    abx_status r;

    if (kinds_add_name(kinds, ".", 1) == INTERN_NONE ||
            kinds_add_name(kinds, "..", 2) == INTERN_NONE) {
        return fail_nomem(fail);
    }
    kinds->n_words = (uint32_t)kinds->globs.count / 64 + 1;
    intern_init(&automaton.symbol_keys);
    intern_init(&automaton.states);
    r = automaton_count_bits(&automaton, fail);
    r = r == ABX_OK ? note_ends(kinds, &automaton, fail) : r;
    r = r == ABX_OK ? automaton_make_symbols(&automaton, fail) : r;
    r = r == ABX_OK ? classify_names(&automaton, fail) : r;
    r = r == ABX_OK ? explore(&automaton, fail) : r;
    r = r == ABX_OK ? free_examples(&automaton, fail) : r;
    automaton_done(&automaton);
    return r;
}
