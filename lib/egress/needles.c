/* SPDX-License-Identifier: Apache-2.0
 * Owns the search: a tree of all needles, walked from each byte with which one begins.  Needles are
 * random texts, so a walk ends soon; at worst it goes as far as the longest needle.  Immutable, any
 * thread. */
#include "egress/needles.h"

#include <string.h>

#define NO_NODE 0u /* the root is nobody's child */
#define NO_ID UINT32_MAX

struct node {
    uint32_t first, next; /* child and sibling */
    uint32_t id; /* NO_ID: no needle ends here */
    uint8_t byte;
};

/* The whole of it is the content of one vault. */
struct needles {
    struct vault *vault; /* the one this is in */
    uint32_t roots[256]; /* by the first byte; NO_NODE: none begins so */
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
    uint32_t child = needles->nodes[node].first;

    while (child != NO_NODE && needles->nodes[child].byte != byte) {
        child = needles->nodes[child].next;
    }
    return child;
}

static void
add_needle(struct needles *needles, const struct needle *needle)
{
    const uint8_t *bytes = needle->bytes;
    uint32_t node = needles->roots[bytes[0]];

    if (node == NO_NODE) {
        node = needles->roots[bytes[0]] = add_node(needles, bytes[0]);
    }
    for (size_t i = 1; i < needle->length; i++) {
        uint32_t child = find_child(needles, node, bytes[i]);

        if (child == NO_NODE) {
            child = add_node(needles, bytes[i]);
            needles->nodes[child].next = needles->nodes[node].first;
            needles->nodes[node].first = child;
        }
        node = child;
    }
    if (needles->nodes[node].id == NO_ID) {
        needles->nodes[node].id = needle->id;
    }
    needles->longest = needle->length > needles->longest ? needle->length : needles->longest;
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

/* The longest needle that begins at bytes[0], or 0; *ret_open: more bytes could make it longer. */
static size_t
walk(const struct needles *needles, const uint8_t *bytes, size_t length, uint32_t *ret_id,
        bool *ret_open)
{
    uint32_t node = needles->roots[bytes[0]];
    size_t found = 0, i = 0;

    while (node != NO_NODE) {
        i++;
        if (needles->nodes[node].id != NO_ID) {
            found = i;
            *ret_id = needles->nodes[node].id;
        }
        if (i == length) {
            break;
        }
        node = find_child(needles, node, bytes[i]);
    }
    *ret_open = node != NO_NODE && needles->nodes[node].first != NO_NODE;
    return found;
}

bool
needles_find(const struct needles *needles, const void *data, size_t length, bool is_last,
        struct finding *ret_finding)
{
    const uint8_t *bytes = data;

    for (size_t i = 0; i < length; i++) {
        uint32_t id = NO_ID;
        size_t found;
        bool open;

        if (needles->roots[bytes[i]] == NO_NODE) {
            continue;
        }
        found = walk(needles, bytes + i, length - i, &id, &open);
        if (open && !is_last) {
            *ret_finding = (struct finding){ .at = i };
            return false;
        }
        if (found > 0) {
            *ret_finding = (struct finding){ .at = i, .length = found, .id = id };
            return true;
        }
    }
    *ret_finding = (struct finding){ .at = length };
    return false;
}
