/* SPDX-License-Identifier: Apache-2.0
 * System calls for the program in the box that happen nowhere: plausible results, a count, and one
 * call that fails.  For the tests and fuzzers that link its sources. */
#ifndef ABX_TESTS_FAKE_SYS_H
#define ABX_TESTS_FAKE_SYS_H

#include "plan/wire.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_FDS 512
#define FAKE_QUEUE 64
#define FAKE_LOG 65536
#define FAKE_REQUESTS 16
#define FAKE_REQUEST 512

/* A message that will be received, or was sent. */
struct fake_message {
    struct wire_message wire;
    size_t size; /* to receive: bytes of it */
    const void *block; /* to receive: contents of the first descriptor, or what a stream gives */
    size_t block_size;
    int n_fds;
    unsigned flags; /* to receive: msg_flags */
};

struct fake_child { /* one result of wait4 */
    int pid, status;
};

struct fake {
    /* what the test sets */
    long fail_at; /* the n-th call fails (from 0); -1: none */
    int error; /* with this errno */
    long pid; /* what getpid gives */
    bool in_child; /* clone gives 0 */
    bool executes; /* execve works */
    bool is_mount; /* statx says: root of a mount */
    bool is_foreign; /* what is looked up is on another device than fsmount's */
    const struct fake_message *inbox;
    size_t n_inbox;
    const struct fake_child *children;
    size_t n_children;
    const uint64_t *events; /* what epoll_pwait gives, one at a time */
    size_t n_events;
    const void *pipe; /* what read gives, once */
    size_t pipe_size;
    const char *missing; /* a path that faccessat does not find */
    long refuse_request; /* the n-th request to rtnetlink is refused (from 0); -1: none */
    int refusal; /* with this errno */
    uint64_t limits[16][2]; /* soft, hard */
    int limit_set_meanwhile; /* by another process, before a stream gives something; 0: none */
    const uint32_t *watch; /* copied to failed_step when the call fails */

    /* what happened */
    long calls;
    long failed; /* number of the call that failed, -1: none did */
    uint32_t failed_step;
    int exit_status; /* -1: executed, -2: epoll_pwait had nothing left */
    struct fake_message outbox[FAKE_QUEUE];
    size_t n_outbox;
    int32_t report[2]; /* written to the pipe */
    bool has_report;
    unsigned char address[32]; /* given to bind */
    const char *executed;
    unsigned char requests[FAKE_REQUESTS][FAKE_REQUEST]; /* to rtnetlink */
    size_t request_sizes[FAKE_REQUESTS], n_requests;
    long log[FAKE_LOG]; /* numbers, in order */
    bool open[FAKE_FDS];
    bool closed_twice;

    /* own */
    long previous;
    size_t inbox_at, children_at, events_at;
    jmp_buf out;
    bool has_out;
    struct fake_mapping {
        const void *start;
        bool is_own;
    } mappings[8];
    const void *blocks[FAKE_FDS];
    size_t block_sizes[FAKE_FDS];
};

extern struct fake fake;

/* Runs fn(data) until it returns or the process would end. */
void fake_run(void (*fn)(void *data), void *data);
void fake_reset(void);
/* Frees what was mapped.  Returns how many descriptors are still open, besides `kept`. */
int fake_done(int kept);
/* The n-th of these calls in the log, -1: there is none. */
long fake_find(long number);

#endif
