/* SPDX-License-Identifier: Apache-2.0
 * Owns the keys by which rules are found: their hashes, which part of a pattern says most, and the
 * table.  Pure, any thread. */
#include "policy/keys.h"

#include "policy/rules.h"

#include <stdlib.h>
#include <string.h>

#define KEY_LENGTH_MAX 32u /* of what a component begins with or ends in */

static uint64_t
mix(uint64_t hash)
{
    hash ^= hash >> 32;
    hash *= 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

uint64_t
hash_bytes(uint64_t seed, const void *bytes, size_t length)
{
    const char *at = bytes;
    uint64_t hash = seed * 0xff51afd7ed558ccdu + length;
    uint64_t word;

    if (length >= 64) { /* side by side: each multiplication waits for the one before */
        uint64_t lanes[4] = { hash, hash + 1, hash + 2, hash + 3 };

        for (; length >= 32; at += 32, length -= 32) {
            for (size_t i = 0; i < 4; i++) {
                memcpy(&word, at + 8 * i, 8);
                lanes[i] = mix(lanes[i] ^ word);
            }
        }
        hash = mix(mix(mix(lanes[0] ^ lanes[1]) ^ lanes[2]) ^ lanes[3]);
    }
    for (; length >= 8; at += 8, length -= 8) {
        memcpy(&word, at, 8);
        hash = mix(hash ^ word);
    }
    if (length > 0) {
        word = 0;
        memcpy(&word, at, length);
        hash = mix(hash ^ word);
    }
    return hash;
}

uint64_t
hash_component(const struct path_split *path, uint32_t i)
{
    return hash_bytes(SALT_COMPONENT, path->text + path->start[i],
            (size_t)(path->start[i + 1] - 1 - path->start[i]));
}

uint64_t
hash_prefix(uint64_t parent, uint64_t component)
{
    return mix(parent * 31 + component);
}

uint64_t
hash_block(const uint8_t bytes[16], uint32_t prefix)
{
    uint8_t masked[16] = { 0 };

    memcpy(masked, bytes, prefix / 8);
    if (prefix % 8 != 0) {
        masked[prefix / 8] = (uint8_t)(bytes[prefix / 8] & 0xff00u >> prefix % 8);
    }
    return hash_bytes(SALT_ADDRESS + (prefix << 8), masked, 16);
}

/* ---- the table ---- */

bool
key_table_make(struct key_table *table, size_t room)
{
    uint32_t size = 16;

    while (size < 2 * room) {
        size *= 2;
    }
    *table = (struct key_table){ .mask = size - 1, .room = (uint32_t)room };
    table->heads = malloc(size * sizeof *table->heads);
    table->entries = calloc(room + 1, sizeof *table->entries);
    if (table->heads == NULL || table->entries == NULL) {
        return false;
    }
    memset(table->heads, 0xff, size * sizeof *table->heads);
    return true;
}

void
key_table_done(struct key_table *table)
{
    free(table->heads);
    free(table->entries);
}

void
key_table_put(struct key_table *table, uint64_t key, uint32_t number)
{
    table->entries[table->n] = (struct key_entry){ key, number, table->heads[key & table->mask] };
    table->heads[key & table->mask] = table->n++;
}

/* ---- patterns ---- */

struct part_key {
    uint64_t key;
    uint32_t beginning, ending; /* bytes of the component, or 0 */
};

/* What the pattern says about a component, first what says more. */
static uint32_t
keys_of_part(const struct path_part *part, struct part_key ret_keys[2])
{
    char edge[PATTERN_MAX];
    uint32_t n = 0, length;

    if (part->kind == PART_LITERAL) {
        ret_keys[0] =
                (struct part_key){ .key = hash_bytes(SALT_COMPONENT, part->text, part->length) };
        return 1;
    }
    length = path_part_edge(part, true, edge);
    if (length > 0) {
        uint32_t used = length < KEY_LENGTH_MAX ? length : KEY_LENGTH_MAX;

        ret_keys[n++] =
                (struct part_key){ .key = hash_bytes(SALT_ENDING, edge + length - used, used),
                    .ending = used };
    }
    length = path_part_edge(part, false, edge);
    if (length > 0) {
        uint32_t used = length < KEY_LENGTH_MAX ? length : KEY_LENGTH_MAX;

        ret_keys[n++] = (struct part_key){ .key = hash_bytes(SALT_BEGINNING, edge, used),
            .beginning = used };
    }
    return n;
}

size_t
key_pattern_room(const struct path_pattern *pattern)
{
    return (size_t)2 * pattern->n;
}

void
key_pattern_count(struct key_table *counts, const struct path_pattern *pattern, uint64_t owner)
{
    for (uint32_t i = 0; i < pattern->n; i++) {
        struct part_key keys[2];
        uint32_t n = keys_of_part(&pattern->parts[i], keys);

        for (uint32_t k = 0; k < n; k++) {
            uint32_t entry = key_first(counts, keys[k].key ^ owner);

            if (entry == KEY_NONE) {
                key_table_put(counts, keys[k].key ^ owner, 1);
            } else {
                counts->entries[entry].number++;
            }
        }
    }
}

/* Of equals a whole component, and then the last. */
uint64_t
key_of_pattern(struct key_table *table, const struct path_pattern *pattern,
        const struct key_table *counts, uint64_t owner)
{
    struct part_key best = { .key = 0 };
    uint32_t least = UINT32_MAX;

    for (uint32_t i = 0; i < pattern->n; i++) {
        struct part_key keys[2];
        uint32_t n = keys_of_part(&pattern->parts[i], keys);

        for (uint32_t k = n; k-- > 0;) {
            uint32_t entry = key_first(counts, keys[k].key ^ owner);
            uint32_t count =
                    2 * counts->entries[entry].number + (pattern->parts[i].kind != PART_LITERAL);

            if (count <= least) {
                least = count;
                best = keys[k];
            }
        }
    }
    table->beginnings |= best.beginning == 0 ? 0 : 1u << (best.beginning - 1);
    table->endings |= best.ending == 0 ? 0 : 1u << (best.ending - 1);
    return best.key ^ owner;
}

uint32_t
keys_of_component(const struct key_table *table, const struct path_split *path, uint32_t i,
        uint64_t ret_keys[KEYS_OF_COMPONENT])
{
    const char *text = path->text + path->start[i], *end = path->text + path->start[i + 1] - 1;
    uint32_t all = end - text >= 32 ? UINT32_MAX : (1u << (end - text)) - 1; /* lengths it has */
    uint32_t n = 0;

    ret_keys[n++] = hash_component(path, i);
    for (uint32_t lengths = table->endings & all; lengths != 0; lengths &= lengths - 1) {
        size_t length = (size_t)__builtin_ctz(lengths) + 1;

        ret_keys[n++] = hash_bytes(SALT_ENDING, end - length, length);
    }
    for (uint32_t lengths = table->beginnings & all; lengths != 0; lengths &= lengths - 1) {
        size_t length = (size_t)__builtin_ctz(lengths) + 1;

        ret_keys[n++] = hash_bytes(SALT_BEGINNING, text, length);
    }
    return n;
}
