/* SPDX-License-Identifier: Apache-2.0
 * A real box for tests, below the API: a policy as JSON, a broker that decides by it and keeps what
 * was refused, and commands whose output is taken. */
#ifndef ABX_TESTS_LIVE_POLICY_BOX_H
#define ABX_TESTS_LIVE_POLICY_BOX_H

#include "backend/gateway.h"
#include "base/str.h"

#include <pthread.h>
#include <sys/types.h>

struct policy_box {
    abx_policy *policy;
    struct plan plan;
    struct loop *loop;
    pthread_t thread;
    struct broker broker;
    struct boundary *boundary;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct str denials; /* "verb target\n" of each refusal; "verb target:port" of connections */
    struct str notices; /* "verb reason\n" */
    bool asks;
    uint64_t tickets, asked;
    bool exited;
    struct exit_status status;
    uint64_t next;
};

/* Opens it, with a way out: questions are asked (policy_box_wait_question), not denied. */
bool policy_box_open_out(struct policy_box *box, const char *json, const char *workspace,
        const struct gateway *gateway);
/* Waits for a question; its ticket, 0: none came. */
uint64_t policy_box_wait_question(struct policy_box *box);
/* Opens it; on failure prints why and the plan, and returns false.  `workspace` is ${workspace}. */
bool policy_box_open(struct policy_box *box, const char *json, const char *workspace);
/* Runs `sh -c script` in `cwd` and waits; what it printed on both streams, which the caller frees.
 * *ret_code: exit code, 128 + signal, or -1 if it did not start. */
char *policy_box_run(struct policy_box *box, const char *cwd, const char *script, int *ret_code);
void policy_box_close(struct policy_box *box);

#endif
