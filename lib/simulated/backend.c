/* SPDX-License-Identifier: Apache-2.0
 * Implements lib/backend/backend.h without a system.  Everything that a box is made of exists but
 * the boundary: the plan is compiled for a host that lacks nothing, the host's files are looked at
 * for what names mean, and nothing is touched. */
#include "simulated/simulated.h"

#include "base/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int
probe(struct capabilities *ret_capabilities)
{
    *ret_capabilities = (struct capabilities){
        .rung = RUNG_SIMULATED,
        .user_namespace = true,
        .mount_namespace = true,
        .pid_namespace = true,
        .net_namespace = true,
        .fresh_proc = true,
        .landlock_abi = LANDLOCK_SCOPES,
        .seccomp_notify = true,
        .seccomp_sync_wake = true,
        .seccomp_killable = true,
        .fuse = true,
        .memfd_exec = true,
        .cgroup = true,
        .own_pid_max = true,
    };
    return 0;
}

static abx_status
open_boundary(const struct box_setup *setup, struct boundary **ret_boundary, struct fail *fail)
{
    struct boundary *boundary = calloc(1, sizeof *boundary);

    if (boundary == NULL) {
        return fail_nomem(fail);
    }
    boundary->plan = setup->plan;
    boundary->loop = setup->loop;
    boundary->broker = setup->broker;
    pthread_mutex_init(&boundary->lock, NULL);
    condition_init(&boundary->changed);
    *ret_boundary = boundary;
    return ABX_OK;
}

static abx_status
spawn(struct boundary *boundary, const struct command *command, int *ret_pty, struct fail *fail)
{
    *ret_pty = -1;
    return player_start(boundary, command, fail);
}

static void
program_of(int32_t pid, char *buffer, size_t room)
{
    buffer[0] = '\0';
}

/* ---- on the loop thread ---- */
struct call {
    struct boundary *boundary;
    uint64_t command, ticket;
    int32_t signal;
    abx_verdict verdict;
};

static void
do_signal(void *data)
{
    const struct call *call = data;

    player_signal(call->boundary, call->command, call->signal);
}

static abx_status
signal_command(struct boundary *boundary, uint64_t command, int32_t signal)
{
    struct call call = { .boundary = boundary, .command = command, .signal = signal };

    loop_call(boundary->loop, do_signal, &call);
    return ABX_OK;
}

static void
do_answer(void *data)
{
    const struct call *call = data;

    attempt_answer(call->boundary, call->ticket, call->verdict);
}

static void
answer(struct boundary *boundary, uint64_t ticket, abx_verdict verdict)
{
    struct call call = { .boundary = boundary, .ticket = ticket, .verdict = verdict };

    loop_call(boundary->loop, do_answer, &call);
}

static void
do_kill(void *data)
{
    struct boundary *boundary = data;
    bool was_over;

    pthread_mutex_lock(&boundary->lock);
    was_over = boundary->over;
    boundary->over = true;
    pthread_cond_broadcast(&boundary->changed);
    pthread_mutex_unlock(&boundary->lock);
    player_signal(boundary, 0, 9);
    if (!was_over) {
        boundary->broker->ended(boundary->broker->data);
    }
}

static void
kill_all(struct boundary *boundary)
{
    loop_call(boundary->loop, do_kill, boundary);
}

/* ---- the rest ---- */
static const char *
proxy(struct boundary *boundary)
{
    return NULL;
}

static char *
receipt(struct boundary *boundary)
{
    return strdup("[{\"mechanism\":\"simulated\",\"state\":\"off\",\"detail\":\"nothing is "
                  "enforced, and no program runs\"}]");
}

static void
do_close(void *data)
{
    struct boundary *boundary = data;

    player_signal(boundary, 0, 9);
    attempts_free(boundary);
    player_free_all(boundary);
}

static void
close_boundary(struct boundary *boundary)
{
    loop_call(boundary->loop, do_close, boundary);
    pthread_cond_destroy(&boundary->changed);
    pthread_mutex_destroy(&boundary->lock);
    free(boundary);
}

const struct backend backend_simulated = {
    .name = "simulated",
    .probe = probe,
    .host = &host_real,
    .open = open_boundary,
    .spawn = spawn,
    .program_of = program_of,
    .signal = signal_command,
    .answer = answer,
    .proxy = proxy,
    .receipt = receipt,
    .kill = kill_all,
    .close = close_boundary,
    .attempt = attempt_by_host,
    .outcome = attempt_outcome,
};
