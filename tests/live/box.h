/* SPDX-License-Identifier: Apache-2.0
 * A real box for tests: a policy, the Linux backend, a loop in a thread of its own and a broker
 * that decides by the policy and remembers what it was told. */
#ifndef ABX_TESTS_LIVE_BOX_H
#define ABX_TESTS_LIVE_BOX_H

#include "backend/backend.h"
#include "base/str.h"

#include <pthread.h>

#define BOX_EVENTS 256
#define BOX_COMMANDS 4096

struct box_event {
    uint32_t type; /* ABX_EVENT_DENIAL or _NOTICE */
    uint32_t request, access, port;
    uint64_t command;
    char verb[32], target[256], program[256];
};

struct box_exit {
    uint64_t command;
    struct exit_status status;
    unsigned int events_before; /* how many events had been told then */
};

struct box {
    struct loop *loop;
    pthread_t thread;
    struct plan plan;
    struct broker broker;
    struct boundary *boundary;
    struct fail fail;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct box_event events[BOX_EVENTS];
    unsigned int n_events;
    struct box_exit exits[BOX_COMMANDS];
    unsigned int n_exits;
    uint64_t asked; /* ticket of the last question */
    bool is_ended;
};

/* A loop and its thread, without a box. */
void box_start(struct box *box);
void box_stop(struct box *box);
/* Opens a box of this policy (JSON). */
abx_status box_open(struct box *box, const char *policy);
void box_close(struct box *box);

/* Starts, output (both streams) to a pipe whose end is returned, or -1 with box->fail. `cwd` "/".
 */
int box_spawn(struct box *box, uint64_t id, const char *const *argv);
/* Runs a shell line, returns its output (caller frees) and its exit. */
char *box_run(struct box *box, uint64_t id, const char *line, struct exit_status *ret_status);
struct box_exit box_wait(struct box *box, uint64_t id);
void box_wait_ended(struct box *box);
uint64_t box_wait_question(struct box *box);
/* The event about this target, or NULL. */
const struct box_event *box_find(struct box *box, const char *target);
unsigned int box_count_fds(void);

#endif
