/* SPDX-License-Identifier: Apache-2.0
 * A ring of names with an index by hash.  Addresses are handed out in turn from a range twice as
 * long as the ring, so an address whose name was dropped means nothing for a long while before it
 * means another name. */
#include "linux/net/names.h"

#include "base/vec.h"
#include "plan/network.h"

#include <stdlib.h>
#include <string.h>

#define FIRST (NETWORK_IPV4 + NETWORK_IPV4_OWN)
#define RANGE (2 * NAMES_MAX - NETWORK_IPV4_OWN)
#define BUCKETS 4096u
#define NOTHING UINT32_MAX

struct entry {
    char *name;
    uint32_t offset; /* of its address */
    uint32_t next; /* in its bucket */
};

struct names {
    struct vec ring; /* struct entry; grows to NAMES_MAX */
    uint32_t given; /* offset of the next address */
    uint32_t buckets[BUCKETS];
};

struct names *
names_new(void)
{
    struct names *names = calloc(1, sizeof *names);

    if (names == NULL) {
        return NULL;
    }
    names->ring = VEC(struct entry);
    names->given = 1;
    memset(names->buckets, 0xff, sizeof names->buckets);
    return names;
}

void
names_free(struct names *names)
{
    if (names == NULL) {
        return;
    }
    for (size_t i = 0; i < names->ring.count; i++) {
        free(vec_at(&names->ring, struct entry, i)->name);
    }
    vec_done(&names->ring);
    free(names);
}

static uint32_t *
bucket_of(struct names *names, const char *name)
{
    uint32_t hash = 2166136261u;

    for (; *name != '\0'; name++) {
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    }
    return &names->buckets[hash % BUCKETS];
}

static struct entry *
at(const struct names *names, uint32_t slot)
{
    return vec_at(&names->ring, struct entry, slot);
}

static void
drop(struct names *names, uint32_t slot)
{
    uint32_t *link = bucket_of(names, at(names, slot)->name);

    while (*link != slot) {
        link = &at(names, *link)->next;
    }
    *link = at(names, slot)->next;
    free(at(names, slot)->name);
    at(names, slot)->name = NULL;
}

uint32_t
names_address(struct names *names, const char *name)
{
    uint32_t *bucket = bucket_of(names, name);
    uint32_t slot = (names->given - 1) % NAMES_MAX;
    char *copy;

    for (uint32_t i = *bucket; i != NOTHING; i = at(names, i)->next) {
        if (strcmp(at(names, i)->name, name) == 0) {
            return FIRST + at(names, i)->offset;
        }
    }
    copy = strdup(name);
    if (copy == NULL || (slot == names->ring.count && vec_add(&names->ring) == NULL)) {
        free(copy);
        return 0;
    }
    if (at(names, slot)->name != NULL) {
        drop(names, slot);
    }
    *at(names, slot) = (struct entry){ .name = copy, .offset = names->given, .next = *bucket };
    *bucket = slot;
    names->given = names->given + 1 < RANGE ? names->given + 1 : 1;
    return FIRST + at(names, slot)->offset;
}

const char *
names_name(const struct names *names, uint32_t address)
{
    uint32_t offset = address - FIRST;
    uint32_t slot = (offset - 1) % NAMES_MAX;

    if (address < FIRST || offset == 0 || offset >= RANGE || slot >= names->ring.count ||
            at(names, slot)->offset != offset) {
        return NULL;
    }
    return at(names, slot)->name;
}
