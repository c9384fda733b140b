/* SPDX-License-Identifier: Apache-2.0
 * Owns numbers for byte strings: a chained hash table over chunks that never move.  One thread. */
#include "policy/intern.h"

#include "policy/index.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES 16384u

struct intern_entry {
    uint64_t hash;
    const char *bytes;
    uint32_t length;
    uint32_t next;
};

void
intern_init(struct intern *intern)
{
    *intern = (struct intern){ .entries = VEC(struct intern_entry), .chunks = VEC(char *) };
}

void
intern_done(struct intern *intern)
{
    for (size_t i = 0; i < intern->chunks.count; i++) {
        free(*vec_at(&intern->chunks, char *, i));
    }
    vec_done(&intern->chunks);
    vec_done(&intern->entries);
    free(intern->heads);
    intern->heads = NULL;
}

static uint32_t
find(const struct intern *intern, uint64_t hash, const void *bytes, size_t length)
{
    if (intern->heads == NULL) {
        return INTERN_NONE;
    }
    for (uint32_t i = intern->heads[hash & intern->mask]; i != INTERN_NONE;) {
        const struct intern_entry *entry = vec_at(&intern->entries, struct intern_entry, i);

        if (entry->hash == hash && entry->length == length &&
                (length == 0 || memcmp(entry->bytes, bytes, length) == 0)) {
            return i;
        }
        i = entry->next;
    }
    return INTERN_NONE;
}

uint32_t
intern_find(const struct intern *intern, const void *bytes, size_t length)
{
    return find(intern, hash_bytes(SALT_COMPONENT, bytes, length), bytes, length);
}

/* Twice as many heads as there will be entries. */
static bool
grow(struct intern *intern)
{
    size_t size = intern->heads == NULL ? 64 : 2 * ((size_t)intern->mask + 1);
    uint32_t *heads = malloc(size * sizeof *heads);

    if (heads == NULL) {
        return false;
    }
    memset(heads, 0xff, size * sizeof *heads);
    free(intern->heads);
    intern->heads = heads;
    intern->mask = (uint32_t)size - 1;
    for (uint32_t i = 0; i < intern->entries.count; i++) {
        struct intern_entry *entry = vec_at(&intern->entries, struct intern_entry, i);

        entry->next = heads[entry->hash & intern->mask];
        heads[entry->hash & intern->mask] = i;
    }
    return true;
}

static char *
take_room(struct intern *intern, size_t length)
{
    size_t size = (length + 7) / 8 * 8;
    char **chunk;

    if (intern->room - intern->used < size || intern->chunks.count == 0) {
        size_t room = size > CHUNK_BYTES ? size : CHUNK_BYTES;
        char *fresh = malloc(room);

        chunk = fresh == NULL ? NULL : vec_add(&intern->chunks);
        if (chunk == NULL) {
            free(fresh);
            return NULL;
        }
        *chunk = fresh;
        intern->room = room;
        intern->used = 0;
    }
    chunk = vec_at(&intern->chunks, char *, intern->chunks.count - 1);
    intern->used += size;
    return *chunk + intern->used - size;
}

uint32_t
intern_put(struct intern *intern, const void *bytes, size_t length)
{
    uint64_t hash = hash_bytes(SALT_COMPONENT, bytes, length);
    uint32_t number = find(intern, hash, bytes, length);
    struct intern_entry *entry;
    char *copy;

    if (number != INTERN_NONE) {
        return number;
    }
    if ((intern->heads == NULL || intern->entries.count * 2 > intern->mask) && !grow(intern)) {
        return INTERN_NONE;
    }
    copy = take_room(intern, length);
    entry = copy == NULL ? NULL : vec_add(&intern->entries);
    if (entry == NULL) {
        return INTERN_NONE;
    }
    if (length > 0) {
        memcpy(copy, bytes, length);
    }
    number = (uint32_t)intern->entries.count - 1;
    *entry = (struct intern_entry){ .hash = hash,
        .bytes = copy,
        .length = (uint32_t)length,
        .next = intern->heads[hash & intern->mask] };
    intern->heads[hash & intern->mask] = number;
    return number;
}

const void *
intern_bytes(const struct intern *intern, uint32_t number, size_t *ret_length)
{
    const struct intern_entry *entry = vec_at(&intern->entries, struct intern_entry, number);

    if (ret_length != NULL) {
        *ret_length = entry->length;
    }
    return entry->bytes;
}
