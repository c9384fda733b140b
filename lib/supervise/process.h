/* SPDX-License-Identifier: Apache-2.0
 * The record of one command.  It does not keep its box alive, and what it holds stays readable
 * after the box is gone. */
#ifndef ABX_SUPERVISE_PROCESS_H
#define ABX_SUPERVISE_PROCESS_H

#include "supervise/box.h"

/* A limit that ends a command when it is reached. */
struct ending_limit {
    const char *name;
    const char *rule; /* NULL: it is told otherwise */
};

struct abx_process {
    atomic_uint references;
    abx_context *context;
    uint64_t id;
    char *label; /* or NULL */
    struct capture *captures[3]; /* the supervisor thread's, while the command runs */
    struct loop_timer timer; /* same: the wall limit */
    uint64_t wall_ms; /* 0: none */
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    abx_box *box; /* borrowed; NULL once the command is over or the box closes */
    bool started; /* the backend said so */
    bool announced; /* STARTED was queued */
    bool timed_out;
    const struct ending_limit *limit; /* whose reaching ended it, where that is known */
    bool killed; /* the host sent it SIGKILL */
    bool exited;
    abx_exit result;
    int stdio[3]; /* the host's ends, -1: none or taken */
    int pty; /* master, or -1 */
    char *output[3]; /* set at exit, never changed afterwards */
    size_t output_length[3];
    uint64_t output_lost[3];
    struct denials denials;
};

/* spawn.c: the whole start.  `options` has the newest layout. */
abx_status process_spawn(abx_box *box, const char *const *argv, const abx_spawn_options *options,
        abx_process **ret_process, struct fail *fail);

/* process.c */
abx_process *process_new(abx_box *box, const char *label);
abx_process *process_ref(abx_process *process);
void process_unref(abx_process *process);
DEFINE_CLEANUP(process_unref, abx_process)
abx_status process_wait(abx_process *process, int64_t timeout_ms, abx_exit *ret_exit);
abx_status process_signal(abx_process *process, int32_t signal);
abx_status process_resize(abx_process *process, uint32_t rows, uint32_t columns);
/* NULL while it runs. */
const char *process_get_output(abx_process *process, uint32_t which, size_t *ret_length);
int process_take_stdio(abx_process *process, uint32_t which);
/* Queues STARTED if that was not done; its lock is held. */
void process_announce(abx_process *process);
/* `program` (or NULL) of the command did something: it started, unless it is init that looks for
 * the command's program still.  Takes the process's lock. */
void process_seen(abx_process *process, const char *program);
/* Supervisor thread: the command is over (NULL: together with its box). */
void process_finish(abx_process *process, const struct exit_status *status);
/* Supervisor thread: stops what the start of a command that never ran had set up. */
void process_abandon(abx_process *process);

/* explain.c: "text" or "json"; caller frees. */
abx_status process_explain(
        abx_process *process, const char *format, char **ret_text, size_t *ret_length);

/* environment.c: the whole environment of a command, NULL-terminated: `defaults`, over these the
 * policy's, over these `extra`.  Caller frees with environment_free. */
abx_status environment_make(const struct policy_settings *settings, const char *const *defaults,
        const char *const *extra, char ***ret_environment, struct fail *fail);
void environment_free(char **environment);

#endif
