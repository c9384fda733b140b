/* SPDX-License-Identifier: Apache-2.0
 * Makes a libevent base without giving it a reason to exit: event_base_new calls exit() where it
 * finds no descriptor for the base's pipe, and any thread of the host may take the last one.
 *
 * So numbers for all of the base's descriptors are reserved first, which may fail as anything may.
 * Then a thread with a descriptor table of its own, in which nothing is free but these numbers,
 * makes the base.  Its descriptors end with that thread.  In the process stands what reserved the
 * numbers: empty epoll sets, of which the base needs one.  The two in place of the pipe, which is
 * for signals only, are closed with the base. */
#include "egress/base.h"

#include "base/mem.h"
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DESCRIPTORS_OF_A_BASE 3 /* an epoll set and a pipe */
#define STACK_SIZE (128u << 10)

struct making {
    int reserved[DESCRIPTORS_OF_A_BASE];
    int highest; /* of these */
    struct event_base *base;
    int error;
};

/* ---- in the process's table ---- */
static void
give_back(struct making *making)
{
    for (int i = 0; i < DESCRIPTORS_OF_A_BASE; i++) {
        close_fd(making->reserved[i]);
    }
}

static bool
reserve(struct making *making)
{
    bool all = true;

    for (int i = 0; i < DESCRIPTORS_OF_A_BASE; i++) {
        making->reserved[i] = all ? epoll_create1(EPOLL_CLOEXEC) : -1;
        if (making->reserved[i] > making->highest) {
            making->highest = making->reserved[i];
        }
        all = making->reserved[i] >= 0;
    }
    return all;
}

/* ---- in a table of its own ---- */
static bool
leave_the_reserved_free(const struct making *making)
{
    int filler = 0;

    if (unshare(CLONE_FILES) != 0 || syscall(SYS_close_range, making->highest + 1, ~0u, 0) != 0) {
        return false;
    }
    while (filler >= 0 && filler < making->highest) {
        filler = fcntl(making->highest, F_DUPFD_CLOEXEC, 0);
    }
    if (filler < 0 && errno != EMFILE) {
        return false;
    }
    close_fd(filler);
    for (int i = 0; i < DESCRIPTORS_OF_A_BASE; i++) {
        close_fd(making->reserved[i]);
    }
    return true;
}

/* Whether the base took these numbers and no other: the next free one is behind them. */
static bool
took_the_reserved(const struct making *making)
{
    const int next = epoll_create1(EPOLL_CLOEXEC);
    const bool is_behind = next < 0 ? errno == EMFILE : next == making->highest + 1;

    close_fd(next);
    return is_behind;
}

static struct event_base *
make(void)
{
    struct event_config *config = event_config_new();
    struct event_base *base = NULL;

    if (config == NULL) {
        return NULL;
    }
    if (event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_IGNORE_ENV) == 0 &&
            event_config_require_features(config, EV_FEATURE_ET) == 0) {
        base = event_base_new_with_config(config);
    }
    event_config_free(config);
    return base;
}

static void *
run(void *data)
{
    struct making *making = data;

    if (!leave_the_reserved_free(making)) {
        making->error = errno;
        return NULL;
    }
    making->base = make();
    if (making->base == NULL) {
        making->error = ENOMEM;
    } else if (!took_the_reserved(making)) {
        event_base_free(making->base);
        making->base = NULL;
        making->error = ENOTSUP;
    }
    return NULL;
}

/* ---- the thread ---- */
static int
run_apart(struct making *making)
{
    pthread_t thread;
    int error = thread_start(&thread, STACK_SIZE, run, making);

    if (error == 0) {
        pthread_join(thread, NULL);
        error = making->error;
    }
    return error;
}

struct event_base *
base_new(int *ret_error)
{
    struct making making = { .highest = -1 };
    int error = reserve(&making) ? run_apart(&making) : errno;

    if (error != 0) {
        give_back(&making);
        *ret_error = error;
        return NULL;
    }
    return making.base;
}
