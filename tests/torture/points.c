/* SPDX-License-Identifier: Apache-2.0
 * Keeps which points have failed, without allocating.  Any thread asks. */
#include "points.h"

#include <execinfo.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define ROOM (1u << 17)
#define TIMES 2u /* a loop fails in its first rounds; later ones are the same */
#define FRAMES 32

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int armed; /* enum points_kind */
static bool failed;
static size_t total;
static uint64_t seen[ROOM]; /* points that failed */
static uint64_t passed[ROOM]; /* points of this run */
static unsigned char passed_times[ROOM];
static void *frames[FRAMES];
static int n_frames;

static uint64_t
mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* The place of a key in an open table; 0 marks an empty one. */
static size_t
place(const uint64_t *table, uint64_t key)
{
    size_t i = key % ROOM;

    while (table[i] != 0 && table[i] != key) {
        i = (i + 1) % ROOM;
    }
    return i;
}

void
points_begin(enum points_kind kind)
{
    n_frames = backtrace(frames, FRAMES); /* the first time it loads a library */
    pthread_mutex_lock(&lock);
    failed = false;
    memset(passed, 0, sizeof passed);
    memset(passed_times, 0, sizeof passed_times);
    n_frames = 0;
    pthread_mutex_unlock(&lock);
    atomic_store(&armed, (int)kind);
}

void
points_end(void)
{
    atomic_store(&armed, POINTS_NONE);
}

bool
points_have_failed(void)
{
    bool result;

    pthread_mutex_lock(&lock);
    result = failed;
    pthread_mutex_unlock(&lock);
    return result;
}

size_t
points_count(void)
{
    return total;
}

void
points_show(void)
{
    backtrace_symbols_fd(frames, n_frames, STDERR_FILENO);
}

/* Under lock: counts this pass; whether the point, in this pass, has not failed yet. */
static bool
is_new(uint64_t point)
{
    size_t i = place(passed, point);
    uint64_t key;

    passed[i] = point;
    if (passed_times[i] == TIMES) {
        return false;
    }
    key = mix(point, ++passed_times[i]) | 1;
    i = place(seen, key);
    if (seen[i] == key) {
        return false;
    }
    seen[i] = key;
    total++;
    return true;
}

bool
point_fails(enum points_kind kind, const void *caller, uintptr_t detail)
{
    /* How deep the stack is, from the thread's own end of it. */
    const uintptr_t depth = (uintptr_t)pthread_self() - (uintptr_t)__builtin_frame_address(0);
    uint64_t point = mix(mix(mix(1, (uintptr_t)caller), depth), detail) | 1;
    bool fails = false;

    if (atomic_load(&armed) != (int)kind) {
        return false;
    }
    pthread_mutex_lock(&lock);
    if (!failed) {
        fails = is_new(point);
        failed = fails;
    }
    pthread_mutex_unlock(&lock);
    if (fails) {
        n_frames = backtrace(frames, FRAMES);
    }
    return fails;
}
