/* SPDX-License-Identifier: Apache-2.0
 * A box as far as the listener needs one: a process with the mounts and the filter of a box, but
 * without init; a broker that decides from a table and keeps what it was told. */
#ifndef ABX_TESTS_UNIT_NOTIFY_BOX_H
#define ABX_TESTS_UNIT_NOTIFY_BOX_H

#include "linux/boundary.h"
#include "linux/listen/notify.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#define TOLD_MAX 64

struct rule_row {
    const char
            *path; /* below the workspace; "" is itself; NULL ends.  Deepest wins; outside: deny */
    abx_verdict verdict;
};

struct told {
    char target[256], verb[32], rule[64];
    uint32_t request;
    bool is_report;
};

struct notify_box {
    char workspace[64]; /* guarded; "free" and "free2" in it are writable */
    const struct rule_row *rules;
    uid_t uid;
    gid_t gid;
    struct plan plan;
    struct boundary boundary;
    struct broker broker;
    struct notify_owner owner;
    struct notify *notify;
    pthread_mutex_t lock; /* of what follows */
    struct told told[TOLD_MAX]; /* denials */
    unsigned int n_told, n_asked, n_withdrawn, n_bound;
    unsigned int n_unbound; /* questions that did not say all of what a yes is for */
    uint64_t next_ticket;
    uint64_t ask_delay_ns; /* 0: at once */
    abx_verdict answer; /* to every question; ABX_VERDICT_ASK: none */
    void (*on_ask)(struct notify_box *box);
    /* On the host, on a thread of its own from when the process stands; ended with has_ended. */
    void *(*beside)(void *box);
    atomic_bool has_ended;
};

void notify_box_init(struct notify_box *box, const struct rule_row *rules, bool read_patterns);
/* Runs fn in a process of the box, its cwd the workspace.  Returns what fn returns, 0 is success.
 */
int notify_box_run(struct notify_box *box, int (*fn)(struct notify_box *box));
void notify_box_done(struct notify_box *box);
/* Whether this thread is in the broker, which is the test's. */
bool notify_box_is_asked(void);
/* Whether a denial of this target (below the workspace, or absolute) was told. */
bool notify_box_denied(struct notify_box *box, const char *target);
/* On the host's side. */
void notify_box_write(struct notify_box *box, const char *name, const char *text);
bool notify_box_has(struct notify_box *box, const char *name, const char *text);

#endif
