/* SPDX-License-Identifier: Apache-2.0
 * Owns the search: a tree of all needles, walked from each byte with which one begins.  Needles are
 * random texts, so a walk ends soon; at worst it goes as far as the longest needle.  Where a byte
 * may be one of a needle and the beginning of a spelling, the walk goes both ways.  Immutable, any
 * thread. */
#include "egress/needles.h"

#include "egress/spelling.h"

#include <string.h>

#define NO_NODE 0u /* the root is nobody's child */
#define ROOT 0u
#define NO_ID UINT32_MAX
#define BEGINS_NEEDLE 1u
#define BEGINS_SPELLING 2u
#define BREAK_MAX 2u /* blanks, tabs and ends of lines in a row */
#define STATES 256u /* only a needle of some hundred backslashes in a row would need more */

struct node {
    uint32_t first, next; /* child and sibling */
    uint32_t id; /* NO_ID: no needle ends here */
    uint8_t byte;
    bool may_break; /* white space may stand behind it */
};

/* The whole of it is the content of one vault. */
struct needles {
    struct vault *vault; /* the one this is in */
    uint32_t roots[256]; /* by the first byte; NO_NODE: none begins so */
    uint8_t begins[256]; /* what may begin with this byte: BEGINS_* */
    uint32_t n_nodes;
    size_t longest;
    struct node nodes[];
};

static uint32_t
add_node(struct needles *needles, uint8_t byte)
{
    uint32_t number = needles->n_nodes++;

    needles->nodes[number] = (struct node){ .id = NO_ID, .byte = byte };
    return number;
}

static uint32_t
find_child(const struct needles *needles, uint32_t node, uint8_t byte)
{
    uint32_t child;

    if (node == ROOT) {
        return needles->roots[byte];
    }
    child = needles->nodes[node].first;
    while (child != NO_NODE && needles->nodes[child].byte != byte) {
        child = needles->nodes[child].next;
    }
    return child;
}

static uint32_t
add_child(struct needles *needles, uint32_t node, uint8_t byte)
{
    uint32_t child = add_node(needles, byte);

    if (node == ROOT) {
        needles->roots[byte] = child;
        needles->begins[byte] |= BEGINS_NEEDLE;
    } else {
        needles->nodes[child].next = needles->nodes[node].first;
        needles->nodes[node].first = child;
    }
    return child;
}

static void
add_needle(struct needles *needles, const struct needle *needle)
{
    const uint8_t *bytes = needle->bytes;
    size_t longest = needle->length * SPELLING_MAX;
    uint32_t node = ROOT;

    for (size_t i = 0; i < needle->length; i++) {
        uint32_t child = find_child(needles, node, bytes[i]);

        node = child == NO_NODE ? add_child(needles, node, bytes[i]) : child;
        needles->nodes[node].may_break |= needle->is_base64;
    }
    if (needles->nodes[node].id == NO_ID) {
        needles->nodes[node].id = needle->id;
    }
    longest += needle->is_base64 ? needle->length * BREAK_MAX * SPELLING_MAX : 0;
    needles->longest = longest > needles->longest ? longest : needles->longest;
}

struct needles *
needles_new(const struct needle *list, size_t n)
{
    size_t nodes = 1, size;
    struct vault *vault;
    struct needles *needles;

    for (size_t i = 0; i < n; i++) {
        if (!size_add(nodes, list[i].length, &nodes)) {
            return NULL;
        }
    }
    if (nodes > UINT32_MAX || !size_mul(nodes, sizeof(struct node), &size) ||
            !size_add(size, sizeof *needles, &size)) {
        return NULL;
    }
    vault = vault_new(size);
    if (vault == NULL) {
        return NULL;
    }
    needles = (struct needles *)(void *)vault->bytes;
    needles->vault = vault;
    add_node(needles, 0);
    for (size_t i = 0; i < n; i++) {
        add_needle(needles, &list[i]);
    }
    for (size_t byte = 0; n > 0 && byte < N_ELEMENTS(needles->begins); byte++) {
        needles->begins[byte] |= spelling_begins((uint8_t)byte) ? BEGINS_SPELLING : 0;
    }
    return needles;
}

void
needles_unref(struct needles *needles)
{
    if (needles != NULL) {
        vault_unref(needles->vault);
    }
}

size_t
needles_longest(const struct needles *needles)
{
    return needles->longest;
}

/* ---- walking ---- */

/* So far bytes were read as the way to a node. */
struct state {
    size_t at;
    uint32_t node;
    unsigned breaks; /* characters of white space since */
};
struct walk {
    const struct needles *needles;
    const uint8_t *bytes;
    size_t length;
    struct state states[STATES]; /* all differ */
    size_t n_states;
    size_t found; /* where the longest needle ends; 0: none yet */
    uint32_t id; /* of that */
    bool is_open; /* more bytes could make it longer */
};

static void
add_state(struct walk *walk, size_t at, uint32_t node, unsigned breaks)
{
    if (node == NO_NODE) {
        return;
    }
    for (size_t i = 0; i < walk->n_states; i++) {
        const struct state *known = &walk->states[i];

        if (known->at == at && known->node == node && known->breaks == breaks) {
            return;
        }
    }
    if (walk->n_states < STATES) {
        walk->states[walk->n_states++] = (struct state){ at, node, breaks };
    }
}

/* That which has read least, so that those which come to the same place meet there. */
static struct state
take_state(struct walk *walk)
{
    size_t least = 0;
    struct state state;

    for (size_t i = 1; i < walk->n_states; i++) {
        least = walk->states[i].at < walk->states[least].at ? i : least;
    }
    state = walk->states[least];
    walk->states[least] = walk->states[--walk->n_states];
    return state;
}

static bool
is_white(uint8_t byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

/* What was read as `length` bytes leads on, or is white space between. */
static void
follow(struct walk *walk, const struct state *from, const uint8_t *text, size_t n, size_t length)
{
    uint32_t node = from->node;
    size_t i = 0;

    if (is_white(text[0]) && from->breaks < BREAK_MAX && walk->needles->nodes[node].may_break) {
        add_state(walk, from->at + length, node, from->breaks + 1);
    }
    do {
        node = find_child(walk->needles, node, text[i++]);
    } while (i < n && node != NO_NODE);
    add_state(walk, from->at + length, node, 0);
}

static void
follow_spelling(struct walk *walk, const struct state *from, enum spelling_result result,
        const struct spelling *spelling)
{
    walk->is_open |= result == SPELLING_CUT || result == SPELLING_OPEN;
    if (result == SPELLING_READ || result == SPELLING_OPEN) {
        follow(walk, from, spelling->bytes, spelling->n, spelling->length);
    }
}

static void
step(struct walk *walk, const struct state *from)
{
    const uint8_t *here = walk->bytes + from->at;
    size_t left = walk->length - from->at;
    struct spelling spelling;
    enum spelling_result result;

    if (left == 0) {
        walk->is_open = true;
        return;
    }
    follow(walk, from, here, 1, 1);
    if (!spelling_begins(*here)) {
        return;
    }
    result = spelling_read(here, left, &spelling);
    follow_spelling(walk, from, result, &spelling);
    result = spelling_read_twice(here, left, &spelling);
    follow_spelling(walk, from, result, &spelling);
}

static void
walk_from(struct walk *walk, size_t at)
{
    const struct state root = { .at = at, .node = ROOT };

    walk->found = walk->n_states = 0;
    walk->is_open = false;
    step(walk, &root);
    while (walk->n_states > 0) {
        struct state state = take_state(walk);
        const struct node *node = &walk->needles->nodes[state.node];

        if (node->id != NO_ID && state.breaks == 0 && state.at > walk->found) {
            walk->found = state.at;
            walk->id = node->id;
        }
        if (node->first != NO_NODE) {
            step(walk, &state);
        }
    }
}

/* Whether no needle begins with what was read. */
static bool
is_elsewhere(
        const struct needles *needles, enum spelling_result result, const struct spelling *spelling)
{
    return result == SPELLING_NONE ||
           (result == SPELLING_READ && needles->roots[spelling->bytes[0]] == NO_NODE);
}

/* Tells most walks that would end at once, without one. */
static bool
leads_nowhere(const struct needles *needles, const uint8_t *bytes, size_t length)
{
    uint32_t number = needles->roots[bytes[0]];
    const struct node *node = &needles->nodes[number];
    struct spelling spelling;

    if (number == NO_NODE) {
        enum spelling_result result = spelling_read(bytes, length, &spelling);

        if (!is_elsewhere(needles, result, &spelling)) {
            return false;
        }
        result = spelling_read_twice(bytes, length, &spelling);
        return is_elsewhere(needles, result, &spelling);
    }
    return length > 1 && needles->begins[bytes[0]] == BEGINS_NEEDLE && node->id == NO_ID &&
           !(node->may_break && is_white(bytes[1])) &&
           (needles->begins[bytes[1]] & BEGINS_SPELLING) == 0 &&
           find_child(needles, number, bytes[1]) == NO_NODE;
}

bool
needles_find(const struct needles *needles, const void *data, size_t length, bool is_last,
        struct finding *ret_finding)
{
    struct walk walk = { .needles = needles, .bytes = data, .length = length };

    for (size_t i = 0; i < length; i++) {
        if (needles->begins[walk.bytes[i]] == 0 ||
                leads_nowhere(needles, walk.bytes + i, length - i)) {
            continue;
        }
        walk_from(&walk, i);
        if (walk.is_open && !is_last) {
            *ret_finding = (struct finding){ .at = i };
            return false;
        }
        if (walk.found > 0) {
            *ret_finding = (struct finding){ .at = i, .length = walk.found - i, .id = walk.id };
            return true;
        }
    }
    *ret_finding = (struct finding){ .at = length };
    return false;
}
