/* SPDX-License-Identifier: Apache-2.0
 * Counts points, without allocating.  Any thread asks. */
#include "points.h"

#include <errno.h>
#include <execinfo.h>
#include <stdatomic.h>
#include <unistd.h>

#define FRAMES 32

static atomic_int armed; /* enum points_kind */
static atomic_size_t passed;
static size_t wanted;
static bool is_lasting;
static atomic_int first_error; /* 0: nothing failed */
static _Thread_local bool is_passing;
static void *frames[FRAMES];
static atomic_int n_frames;

void
points_arm(enum points_kind kind, size_t n, bool lasting)
{
    void *unused[1];

    backtrace(unused, 1); /* the first time it loads a library */
    atomic_store(&passed, 0);
    atomic_store(&first_error, 0);
    wanted = n;
    is_lasting = lasting;
    atomic_store(&armed, (int)kind);
}

bool
points_disarm(void)
{
    atomic_store(&armed, POINTS_NONE);
    return points_error() != 0;
}

size_t
points_count(void)
{
    return atomic_load(&passed);
}

int
points_error(void)
{
    return atomic_load(&first_error);
}

void
points_show(void)
{
    backtrace_symbols_fd(frames, atomic_load(&n_frames), STDERR_FILENO);
}

void
points_pass(bool on)
{
    is_passing = on;
}

bool
point_fails(enum points_kind kind, int error)
{
    size_t count;
    bool now;

    if (atomic_load(&armed) != (int)kind || is_passing) {
        return false;
    }
    count = atomic_fetch_add(&passed, 1) + 1;
    if (count == wanted) {
        atomic_store(&first_error, error);
        atomic_store(&n_frames, backtrace(frames, FRAMES));
    }
    now = count == wanted || (is_lasting && wanted > 0 && count > wanted);
    errno = now ? error : errno;
    return now;
}

/* ---- LeakSanitizer, where there is one ---- */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_options(void);

const char *
__lsan_default_options(void)
{
    return "print_suppressions=0";
}

const char *
__lsan_default_suppressions(void)
{
    return "leak:dl_open_worker_begin\n"; /* the loader's own, made by our malloc */
}
