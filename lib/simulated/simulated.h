/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/simulated only: a box in which nothing runs.  What its commands would do is said: by a
 * script, or by abx_box_attempt.  The broker decides as for any other box. */
#ifndef ABX_SIMULATED_SIMULATED_H
#define ABX_SIMULATED_SIMULATED_H

#include "backend/backend.h"

#include <pthread.h>

struct attempt;
struct player;

struct boundary {
    const struct plan *plan;
    struct loop *loop;
    const struct broker *broker;
    struct attempt *attempts; /* that were held; the loop thread's */
    struct player *players; /* commands, also those that are over; same */
    pthread_mutex_t lock; /* guards what attempts came to, and `over` */
    pthread_cond_t changed;
    bool over; /* killed: nobody is answered any more */
};

/* attempt.c: one thing that a command tries.  It is asked about as the real backend and its way out
 * would ask: of a request over HTTP first the connection.  Any thread makes one; the rest is the
 * loop thread's. */
typedef void (*attempt_over_fn)(void *data, abx_verdict verdict);
struct attempt *attempt_new(struct boundary *boundary, uint64_t command, const abx_request *request,
        attempt_over_fn fn, void *data, struct fail *fail);
void attempt_free(struct attempt *attempt);
/* Tries it.  True: it is over, and `fn` (NULL: nobody waits) was called.  False: it is held. */
bool attempt_go(struct attempt *attempt);
/* Held ones of this ticket go on. */
void attempt_answer(struct boundary *boundary, uint64_t ticket, abx_verdict verdict);
/* Frees those of the host; the others are their commands'. */
void attempts_free(struct boundary *boundary);
/* Whoever tried is gone. */
void attempt_give_up(struct attempt *attempt);
/* abx_box_attempt and abx_box_outcome; threads of the host. */
abx_status attempt_by_host(struct boundary *boundary, uint64_t command, const abx_request *request,
        abx_verdict *ret_verdict, uint64_t *ret_ticket, struct fail *fail);
abx_status attempt_outcome(
        struct boundary *boundary, uint64_t ticket, int64_t timeout_ms, abx_verdict *ret_verdict);

/* script.c: a command, whose arguments say what it does. */
abx_status player_start(
        struct boundary *boundary, const struct command *command, struct fail *fail);
/* Loop thread: ends one, or all (0), by a signal. */
void player_signal(struct boundary *boundary, uint64_t command, int32_t signal);
void player_free_all(struct boundary *boundary);

#endif
