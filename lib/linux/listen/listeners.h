/* SPDX-License-Identifier: Apache-2.0
 * Inside the listener only (notify.c, held.c, calls_*.c, resolve.c): what all listeners of a box
 * share. */
#ifndef ABX_LINUX_LISTENERS_H
#define ABX_LINUX_LISTENERS_H

#include "linux/listen/call.h"
#include "linux/listen/notify.h"
#include "linux/listen/resolve.h"
#include "linux/listen/workers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#define ANSWERS_KEPT 64u
#define OWN_LINKS 64
#define CALLER_LINKS 16u

/* A link of /proc that tells where a relative path of a caller begins, whatever that is at the
 * time.  One of a process that is gone tells nothing, also if its number is used again. */
struct caller_link {
    int32_t pid; /* who asked for it; 0: nobody yet */
    int number; /* of the directory's descriptor, or AT_FDCWD */
    int link; /* O_PATH; -1: it was asked for once only */
};

/* A git directory that a command made; git_report.c. */
struct made_git {
    uint64_t command;
    char *path;
};

struct listeners {
    struct boundary *boundary;
    struct workers *workers;
    struct connectors *connectors; /* net/connecting.h */
    struct slow_devices slow; /* constant */
    struct seen_mount mounts[MOUNTS_SEEN]; /* loop thread */
    int own_fds; /* constant: /proc/self/fd, by which what a descriptor is of is opened or named */
    int own_links[OWN_LINKS]; /* loop thread: what is there for small numbers, or -1 */
    struct caller_link caller_links[CALLER_LINKS]; /* loop thread; spelling.c's */
    int wake; /* eventfd: a call is held, or a paused listener may be read again */
    atomic_uint n_paused;
    struct loop_source *source;
    struct loop_timer timer; /* loop thread */
    uint64_t wary_until_ns; /* loop thread: lately a call took long, the disk is busy */
    struct notify *first; /* loop thread */
    pthread_mutex_t lock; /* of what follows; never held across a call into the broker */
    struct call *held; /* waiting for an answer, or for a while */
    struct {
        uint64_t ticket;
        abx_verdict verdict;
    } answers[ANSWERS_KEPT]; /* the latest: an answer may come before its question is kept */
    unsigned int next_answer;
    struct vec made_git; /* struct made_git */
    struct git_link *links; /* files that are not in their place yet; calls_git.c's */
    atomic_uint n_links; /* how many; without the lock */
    pthread_rwlock_t order; /* name_enter */
};

struct notify {
    struct listeners *listeners;
    struct notify_owner *owner; /* while there is a source */
    int listener;
    struct loop_source *source; /* NULL: no process uses the filter any more */
    bool is_paused; /* no worker was free; not read until one is.  Loop thread */
    bool is_over; /* notify_free was called; under the lock of listeners */
    int32_t last_pid; /* told to boundary_saw */
    struct kept_umask {
        int32_t pid; /* whose it is; 0: of nobody */
        mode_t mask;
        int32_t changing; /* who asked to change it, and has made no other call since; or 0 */
    } umask; /* umask.c's; loop thread */
    struct notify *next;
    atomic_uint references; /* the loop's and one for each kept call */
};

void notify_unref(struct notify *notify);
/* Loop thread: whether what touches a local disk may be done there; else it is a worker's, so that
 * a busy disk holds up nobody but who writes to it. */
bool listeners_are_quick(const struct listeners *listeners);
/* Runs the call's handler and does what it says.  Takes kept calls. */
void call_run(struct call *call);
/* Answers a call and, if it is kept, frees it. */
void call_finish(struct call *call, enum call_result result);
/* Gives a kept call to a worker, or refuses it where no thread can be had; false if none is free.
 */
bool call_to_worker(struct call *call);
/* The handler of a system call. */
call_handler calls_find(const struct call *call);

/* git_report.c */
void git_forget(struct listeners *listeners);

/* held.c */
/* Keeps a call until what it waits for has come.  Any thread. */
void held_add(struct call *call);
void held_answer(struct listeners *listeners, uint64_t ticket, abx_verdict verdict);
/* The gateway has answered: the call that waits for it goes on, on the loop's thread.  Any thread.
 */
void held_dialled(struct listeners *listeners, const struct dialling *dialling);
/* The calls whose turn it is, as a list, no longer held.  Loop thread. */
struct call *held_take_turns(struct listeners *listeners);
/* The call that waits for this, no longer held; NULL: it was dropped.  Any thread. */
struct call *held_connected(struct listeners *listeners, const struct connecting *connecting);
/* All of this listener (NULL: of the box), and what may still come: withdrawn and refused. */
void held_drop(struct listeners *listeners, struct notify *notify);
/* Starts the timer if something is held.  Loop thread. */
void held_watch(struct listeners *listeners);

#endif
