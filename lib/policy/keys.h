/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/policy: keys by which rules are found, and the table that has them. */
#ifndef ABX_POLICY_KEYS_H
#define ABX_POLICY_KEYS_H

#include "policy/match.h"

#define KEY_NONE UINT32_MAX

/* Keys of different kinds never meet. */
enum salt {
    SALT_PATH = 1,
    SALT_COMPONENT,
    SALT_BEGINNING,
    SALT_ENDING,
    SALT_NAME,
    SALT_SUFFIX,
    SALT_ADDRESS,
    SALT_REQUEST
};
uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t length);
uint64_t hash_component(const struct path_split *path, uint32_t i);
/* Of the path up to and with the component that has the hash `component`. */
uint64_t hash_prefix(uint64_t parent, uint64_t component);
uint64_t hash_block(const uint8_t bytes[16], uint32_t prefix);

/* A chained hash table from keys to numbers.  What is found must be compared. */
struct key_entry {
    uint64_t key;
    uint32_t number;
    uint32_t next; /* in `entries`, KEY_NONE: the end */
};

struct key_table {
    uint32_t *heads;
    uint32_t mask;
    struct key_entry *entries;
    uint32_t n, room;
    uint32_t beginnings, endings; /* bit n: some keys are n + 1 bytes of a component */
};

bool key_table_make(struct key_table *table, size_t room);
void key_table_done(struct key_table *table);
/* There must be room; what was put last is found first. */
void key_table_put(struct key_table *table, uint64_t key, uint32_t number);

static inline uint32_t
key_skip(const struct key_table *table, uint64_t key, uint32_t i)
{
    while (i != KEY_NONE && table->entries[i].key != key) {
        i = table->entries[i].next;
    }
    return i;
}

/* Index of the first entry with the key, and of the one after `i`; KEY_NONE: there is none. */
static inline uint32_t
key_first(const struct key_table *table, uint64_t key)
{
    return key_skip(table, key, table->heads[key & table->mask]);
}

static inline uint32_t
key_next(const struct key_table *table, uint32_t i)
{
    return key_skip(table, table->entries[i].key, table->entries[i].next);
}

/* The most entries that key_pattern_count adds for a pattern. */
size_t key_pattern_room(const struct path_pattern *pattern);
/* Of those that compete, which have one `owner`: a number that their keys are mixed with. */
void key_pattern_count(
        struct key_table *counts, const struct path_pattern *pattern, uint64_t owner);
/* The key that the fewest of the counted patterns share: a component, or what one begins with or
 * ends in.  `table` learns its length.  `owner` itself: no part of the pattern says anything. */
uint64_t key_of_pattern(struct key_table *table, const struct path_pattern *pattern,
        const struct key_table *counts, uint64_t owner);
/* All keys that a pattern in the table can have from component `i` of a path, its own first. */
#define KEYS_OF_COMPONENT 65u
uint32_t keys_of_component(const struct key_table *table, const struct path_split *path, uint32_t i,
        uint64_t ret_keys[KEYS_OF_COMPONENT]);

#endif
