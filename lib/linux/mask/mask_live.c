/* SPDX-License-Identifier: Apache-2.0
 * The nodes of askable places that the kernel knows: it holds them by counted references and hands
 * them back.  A path keeps its node while the same object stands there, so that a directory someone
 * works in stays the same one; when another object does, the path gets a new node.  Mask thread. */
#include "linux/mask/mask_private.h"

#include <stdlib.h>
#include <string.h>

static struct mask_live **
bucket_of(struct mask *mask, const char *path)
{
    uint32_t hash = 2166136261u;

    for (const char *p = path; *p != '\0'; p++) {
        hash = (hash ^ (unsigned char)*p) * 16777619u;
    }
    return &mask->buckets[hash % MASK_BUCKETS];
}

static uint64_t
device_of(const struct statx *seen)
{
    return ((uint64_t)seen->stx_dev_major << 32) | seen->stx_dev_minor;
}

bool
mask_is_same(const struct mask_live *live, const struct statx *seen)
{
    return live->device == device_of(seen) && live->inode == seen->stx_ino;
}

struct mask_live *
mask_live_of(struct mask *mask, uint64_t node)
{
    if (node < MASK_LIVE_FIRST || node - MASK_LIVE_FIRST >= mask->live_room) {
        return NULL;
    }
    return mask->live[node - MASK_LIVE_FIRST];
}

static void
unlist(struct mask *mask, struct mask_live *live)
{
    struct mask_live **at = bucket_of(mask, live->path);

    if (!live->is_listed) {
        return;
    }
    while (*at != live) {
        at = &(*at)->next;
    }
    *at = live->next;
    live->is_listed = false;
}

/* A free slot; SIZE_MAX without one. */
static size_t
take_slot(struct mask *mask)
{
    size_t room = mask->live_room == 0 ? 64 : mask->live_room * 2;
    struct mask_live **grown;

    if (mask->n_live == mask->live_room) {
        if (room > MASK_LIVE_MAX) {
            return SIZE_MAX;
        }
        grown = calloc(room, sizeof *grown);
        if (grown == NULL) {
            return SIZE_MAX;
        }
        if (mask->live_room > 0) {
            memcpy(grown, mask->live, mask->live_room * sizeof *grown);
        }
        free(mask->live);
        mask->live = grown;
        mask->next_slot = mask->live_room;
        mask->live_room = room;
    }
    while (mask->live[mask->next_slot] != NULL) {
        mask->next_slot = (mask->next_slot + 1) % mask->live_room;
    }
    return mask->next_slot;
}

static struct mask_live *
add(struct mask *mask, const char *path, const struct statx *seen)
{
    struct mask_live *live = calloc(1, sizeof *live);
    size_t slot = live == NULL ? SIZE_MAX : take_slot(mask);
    struct mask_live **bucket = bucket_of(mask, path);

    if (slot != SIZE_MAX) {
        live->path = strdup(path);
    }
    if (slot == SIZE_MAX || live->path == NULL) {
        free(live);
        return NULL;
    }
    live->node = MASK_LIVE_FIRST + slot;
    live->generation = ++mask->generation;
    live->device = device_of(seen);
    live->inode = seen->stx_ino;
    live->next = *bucket;
    live->is_listed = true;
    *bucket = live;
    mask->live[slot] = live;
    mask->n_live++;
    return live;
}

struct mask_live *
mask_live_get(struct mask *mask, const char *path, const struct statx *seen)
{
    struct mask_live *live = *bucket_of(mask, path);

    while (live != NULL && strcmp(live->path, path) != 0) {
        live = live->next;
    }
    if (live != NULL && !mask_is_same(live, seen)) {
        unlist(mask, live);
        live = NULL;
    }
    if (live == NULL) {
        live = add(mask, path, seen);
    }
    if (live != NULL) {
        live->lookups++;
    }
    return live;
}

void
mask_live_forget(struct mask *mask, uint64_t node, uint64_t lookups)
{
    struct mask_live *live = mask_live_of(mask, node);

    if (live == NULL) {
        return;
    }
    if (live->lookups > lookups) {
        live->lookups -= lookups;
        return;
    }
    unlist(mask, live);
    mask->live[node - MASK_LIVE_FIRST] = NULL;
    mask->n_live--;
    free(live->path);
    free(live);
}

void
mask_live_done(struct mask *mask)
{
    for (size_t i = 0; i < mask->live_room; i++) {
        if (mask->live[i] != NULL) {
            free(mask->live[i]->path);
            free(mask->live[i]);
        }
    }
    free(mask->live);
}
