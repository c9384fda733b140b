/* SPDX-License-Identifier: Apache-2.0
 * The start of a command: everything that can fail is made first, then the backend starts it, so a
 * failure means that nothing ran.  Runs on the caller's thread. */
#include "supervise/process.h"

#include "supervise/capture.h"
#include "supervise/recording.h"
#include "supervise/streams.h"
#include "supervise/telling.h"
#include "supervise/way_out.h"

#include "event/names.h"

#include <errno.h>
#include <stdlib.h>

#define OUTPUT_DEFAULT (10u << 20)

/* What the supervisor thread sets up for a command, and whether it could. */
struct beginning {
    abx_process *process;
    struct streams *streams;
    size_t output_limit;
    int error; /* errno */
};

static void
wall_time_over(void *data)
{
    abx_process *process = data;
    abx_box *box = process->box; /* stands: the timer goes before it does */

    pthread_mutex_lock(&process->lock);
    process->timed_out = true;
    pthread_mutex_unlock(&process->lock);
    box->context->backend->signal(box->boundary, process->id, 9);
}

static void
begin(void *data)
{
    struct beginning *beginning = data;
    abx_process *process = beginning->process;
    struct loop *loop = process->context->loop;

    for (int i = 0; i < 3; i++) {
        if (beginning->streams->capture[i] < 0) {
            continue;
        }
        process->captures[i] =
                capture_new(loop, beginning->streams->capture[i], beginning->output_limit);
        if (process->captures[i] == NULL) {
            beginning->error = errno;
            return;
        }
        beginning->streams->capture[i] = -1;
    }
    if (process->wall_ms != 0) {
        loop_timer_set(loop, &process->timer, clock_now_ns() + process->wall_ms * 1000000u,
                wall_time_over, process);
    }
}

static void
abandon(void *data)
{
    process_abandon(data);
}

static bool
needs_supervisor(const abx_process *process, const struct streams *streams)
{
    return process->wall_ms != 0 || streams->capture[1] >= 0 || streams->capture[2] >= 0;
}

static uint64_t
smaller_limit(uint64_t a, uint64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/* What the policy denied on the way to the command's program is why it did not start. */
static void
say_what_was_denied(abx_process *process, struct fail *fail)
{
    uint64_t times;
    abx_event *event;

    pthread_mutex_lock(&process->lock);
    event = denials_get(&process->denials, 0, &times);
    if (event != NULL) {
        fail_remedy(fail, "the policy denies it: allow to %s '%.100s' (denied by rule '%.60s')",
                name_of_access((uint32_t)event_number(event, ABX_FIELD_ACCESS)),
                event_text(event, ABX_FIELD_TARGET), event_text(event, ABX_FIELD_RULE));
    }
    pthread_mutex_unlock(&process->lock);
}

/* Runs it; on failure nothing of it is left in the box. */
static abx_status
start(abx_box *box, abx_process *process, struct streams *streams, struct command *command,
        struct fail *fail)
{
    const struct policy_settings *settings = policy_get_settings(box->resolved);
    uint64_t limit = settings->limits[ABX_LIMIT_OUTPUT];
    struct beginning beginning = {
        .process = process,
        .streams = streams,
        .output_limit = limit == 0 ? OUTPUT_DEFAULT : limit,
    };
    abx_status r = box_add(box, process, fail);

    if (r < 0) {
        return r;
    }
    if (needs_supervisor(process, streams)) {
        loop_call(box->context->loop, begin, &beginning);
    }
    for (int i = 0; i < 3; i++) {
        command->stdio[i] = streams->command[i];
    }
    r = beginning.error != 0 ? fail_set(fail, ABX_ERR_IO, beginning.error, "watch:streams",
                                       "what the command writes cannot be read")
                             : record_spawn(box, process, command, fail);
    if (r == ABX_OK) {
        r = box->context->backend->spawn(box->boundary, command, &process->pty, fail);
    }
    if (r < 0) {
        loop_call(box->context->loop, abandon, process);
        if (r == ABX_ERR_EXEC) {
            say_what_was_denied(process, fail);
        }
        box_forget(box, process);
    }
    return r;
}

static void
finish_lost(void *data)
{
    abx_process *process = data;
    abx_box *box = process->box;

    if (box != NULL) { /* not exited */
        process_finish(process, NULL);
        box_forget(box, process);
    }
}

/* It runs: STARTED is queued, unless an event of the command did that already. */
static void
started(abx_box *box, abx_process *process, struct streams *streams)
{
    bool late;

    stats_add(&box->context->stats, STAT_COMMANDS, 1);
    pthread_mutex_lock(&process->lock);
    process->started = true;
    process_announce(process);
    late = process->timed_out && !process->exited;
    for (int i = 0; i < 3; i++) {
        process->stdio[i] = steal_fd(&streams->host[i]);
    }
    pthread_mutex_unlock(&process->lock);
    if (late) { /* the limit passed before the backend knew the command */
        box->context->backend->signal(box->boundary, process->id, 9);
    }
    if (box_has_ended(box)) { /* box_ended did not see it as started, or this changes nothing */
        loop_call(box->context->loop, finish_lost, process);
    }
}

static abx_status
make_environment(abx_box *box, const char *const *extra, char ***ret_environment, struct fail *fail)
{
    char **defaults = way_out_environment(box);
    abx_status r;

    if (defaults == NULL) {
        return fail_nomem(fail);
    }
    r = environment_make(policy_get_settings(box->resolved), (const char *const *)defaults, extra,
            ret_environment, fail);
    environment_free(defaults);
    return r;
}

/* A command is begun in somebody's name. */
static abx_status
check_identity(abx_box *box, const abx_process *process, const char *program, struct fail *fail)
{
    struct subject subject = { .command = process->id };
    struct act act = { .request = ABX_REQUEST_EXEC,
        .access = ABX_ACCESS_EXEC,
        .target = program,
        .verb = "spawn",
        .content = -1 };
    struct grounds grounds;

    if (identity_check(box->identity, fail) == ABX_OK) {
        return ABX_OK;
    }
    grounds = identity_grounds(box);
    tell(box, NULL, ABX_EVENT_DENIAL, &subject, &act, &grounds, 1);
    return fail->status;
}

abx_status
process_spawn(abx_box *box, const char *const *argv, const abx_spawn_options *options,
        abx_process **ret_process, struct fail *fail)
{
    const struct policy_settings *settings = policy_get_settings(box->resolved);
    AUTO(process_unrefp) abx_process *process = process_new(box, options->label);
    struct command command = {
        .argv = argv,
        .pty = options->stdio[0] == ABX_STDIO_PTY,
        .rows = options->rows,
        .columns = options->columns,
        .cpu_ms = settings->limits[ABX_LIMIT_CPU_MS],
    };
    struct streams streams;
    char **environment = NULL;
    abx_status r;

    if (process == NULL) {
        return fail_nomem(fail);
    }
    process->wall_ms = smaller_limit(settings->limits[ABX_LIMIT_WALL_MS], options->timeout_ms);
    command.id = process->id;
    command.cwd = options->cwd != NULL          ? options->cwd
                  : settings->workspace != NULL ? settings->workspace
                                                : "/";
    r = check_identity(box, process, argv[0], fail);
    if (r == ABX_OK) {
        r = make_environment(box, options->env, &environment, fail);
    }
    if (r < 0) {
        return r;
    }
    command.env = (const char *const *)environment;
    r = streams_open(&streams, options, fail);
    if (r == ABX_OK) {
        r = start(box, process, &streams, &command, fail);
        if (r == ABX_OK) {
            started(box, process, &streams);
            *ret_process = steal_ptr(&process);
        }
        streams_close(&streams);
    }
    environment_free(environment);
    return r;
}
