/* SPDX-License-Identifier: Apache-2.0
 * Owns the record of a command from its start to the last reference: state, waiting, the host's
 * ends of its streams.  Its lock guards what several threads use; captures and the timer belong to
 * the supervisor thread. */
#include "supervise/process.h"

#include "supervise/capture.h"
#include "supervise/telling.h"

#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

static const char *const stream_names[3] = { "stdin", "stdout", "stderr" };

abx_process *
process_new(abx_box *box, const char *label)
{
    abx_process *process = calloc(1, sizeof *process);
    char *copy = label == NULL ? NULL : strdup(label);

    if (process == NULL || (label != NULL && copy == NULL)) {
        free(process);
        free(copy);
        return NULL;
    }
    atomic_init(&process->references, 1);
    process->context = context_ref(box->context);
    process->id = atomic_fetch_add(&box->context->last_command, 1) + 1;
    process->box = box;
    process->label = copy;
    process->pty = -1;
    for (int i = 0; i < 3; i++) {
        process->stdio[i] = -1;
    }
    denials_init(&process->denials);
    pthread_mutex_init(&process->lock, NULL);
    condition_init(&process->changed);
    return process;
}

abx_process *
process_ref(abx_process *process)
{
    atomic_fetch_add_explicit(&process->references, 1, memory_order_relaxed);
    return process;
}

void
process_unref(abx_process *process)
{
    if (process == NULL ||
            atomic_fetch_sub_explicit(&process->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    for (int i = 0; i < 3; i++) {
        close_fd(process->stdio[i]);
        free(process->output[i]);
    }
    close_fd(process->pty);
    denials_done(&process->denials);
    pthread_cond_destroy(&process->changed);
    pthread_mutex_destroy(&process->lock);
    free(process->label);
    context_unref(process->context);
    free(process);
}

/* ---- events of its life ---- */
void
process_announce(abx_process *process)
{
    struct event_draft draft;

    if (process->announced || process->box == NULL) {
        return;
    }
    process->announced = true;
    tell_begin(&draft, process->box, ABX_EVENT_STARTED, process->id, process->label);
    outlet_tell(&process->box->outlet, event_make(&draft));
}

void
process_seen(abx_process *process, const char *program)
{
    static const char init[] = "agentbox-init";
    const char *slash = program == NULL ? NULL : strrchr(program, '/');
    const char *name = slash == NULL ? program : slash + 1;

    if (name != NULL && strcmp(name, init) == 0) {
        return; /* maybe it never starts */
    }
    pthread_mutex_lock(&process->lock);
    process_announce(process);
    pthread_mutex_unlock(&process->lock);
}

/* A limit that was reached, as a notice, so that the explanation has it. */
static void
tell_limit(
        abx_process *process, const struct act *act, const struct grounds *grounds, uint64_t times)
{
    struct subject subject = { .command = process->id };
    struct denial_key key = {
        .type = ABX_EVENT_NOTICE,
        .layer = grounds->layer,
        .command = process->id,
        .target = act->target,
    };
    struct event_draft draft;

    tell_begin(&draft, process->box, ABX_EVENT_NOTICE, process->id, process->label);
    tell_act(&draft, &subject, act, grounds);
    denials_record(&process->denials, &process->box->outlet, &key, &draft, times);
}

static void
tell_lost_output(abx_process *process, int which)
{
    struct act act = { .target = stream_names[which], .verb = "output", .content = -1 };
    struct grounds grounds = { .layer = ABX_LAYER_LIMIT,
        .rule = "/limits/output",
        .alternative = "have it print less, or write to a file" };
    struct str reason = { 0 };

    str_printf(&reason, "%zu bytes were kept, %llu more were written",
            process->output_length[which], (unsigned long long)process->output_lost[which]);
    grounds.reason = reason.data;
    tell_limit(process, &act, &grounds, 1);
    str_done(&reason);
}

/* Limits of the whole box: other commands may have had a part in it. */
static void
tell_box_limits(abx_process *process, const struct exit_status *status)
{
    static const struct act memory = { .target = "memory", .verb = "limit", .content = -1 };
    static const struct act processes = { .target = "processes", .verb = "limit", .content = -1 };
    static const struct grounds no_memory = { .layer = ABX_LAYER_LIMIT,
        .rule = "/limits/memory",
        .reason = "processes were killed, since the box had no memory left",
        .alternative = "do less at once, or ask for more memory" };
    static const struct grounds no_process = { .layer = ABX_LAYER_LIMIT,
        .rule = "/limits/processes",
        .reason = "processes and threads were not started, since the box may have no more",
        .alternative = "start fewer at a time, or ask for more processes" };

    if (status->killed_for_memory > 0) {
        tell_limit(process, &memory, &no_memory, status->killed_for_memory);
    }
    if (status->processes_refused > 0) {
        tell_limit(process, &processes, &no_process, status->processes_refused);
    }
}

static const struct ending_limit time_limit = { "time", "/limits/wall_ms" },
                                 processor_limit = { "processor time", "/limits/cpu_ms" },
                                 file_limit = { "the size of a file", "/limits/file_size" },
                                 memory_limit = { "memory", NULL }; /* it is the box's */

static void
tell_stop(abx_process *process)
{
    const struct ending_limit *limit = process->limit;

    if (limit != NULL && limit->rule != NULL) {
        const struct act act = { .target = limit->name, .verb = "stop", .content = -1 };
        const struct grounds grounds = { .layer = ABX_LAYER_LIMIT,
            .rule = limit->rule,
            .reason = "the command was stopped",
            .alternative = "do less at once, or ask for more" };

        tell_limit(process, &act, &grounds, 1);
    }
}

static void
tell_exit(abx_process *process)
{
    struct event_draft draft;

    tell_begin(&draft, process->box, ABX_EVENT_EXITED, process->id, process->label);
    draft_number(&draft, ABX_FIELD_EXIT_REASON, process->result.reason);
    draft_number(&draft, ABX_FIELD_EXIT_CODE, process->result.code);
    outlet_tell(&process->box->outlet, event_make(&draft));
}

/* ---- the end; supervisor thread ---- */
static void
judge(abx_process *process, const struct exit_status *status, bool killed)
{
    abx_exit *result = &process->result;

    result->reason = status->reason;
    result->code = status->code;
    result->cpu_us = status->cpu_us;
    result->peak_memory = status->peak_memory;
    result->denials =
            process->denials.total > UINT32_MAX ? UINT32_MAX : (uint32_t)process->denials.total;
    if (status->reason != ABX_EXIT_SIGNAL) {
        return;
    }
    if (status->code == SIGXCPU) {
        result->reason = ABX_EXIT_LIMIT;
        process->limit = &processor_limit;
    } else if (status->code == SIGXFSZ) {
        result->reason = ABX_EXIT_LIMIT;
        process->limit = &file_limit;
    } else if (status->code == SIGKILL && process->timed_out) {
        result->reason = ABX_EXIT_TIMEOUT;
        process->limit = &time_limit;
    } else if (status->code == SIGKILL && killed) {
        result->reason = ABX_EXIT_KILLED;
    } else if (status->code == SIGKILL && status->killed_for_memory > 0 && !process->killed) {
        result->reason = ABX_EXIT_LIMIT;
        process->limit = &memory_limit;
    }
}

/* Gives the output to the record; the captures go on, for background processes, in the box. */
static void
take_output(abx_process *process, char *output[3], size_t length[3], uint64_t lost[3])
{
    for (int i = 0; i < 3; i++) {
        struct capture *capture = process->captures[i];

        if (capture != NULL) {
            capture_take(capture, &output[i], &length[i], &lost[i]);
            box_keep_capture(process->box, capture);
            process->captures[i] = NULL;
        }
    }
}

void
process_finish(abx_process *process, const struct exit_status *status)
{
    static const struct exit_status killed = { .reason = ABX_EXIT_SIGNAL, .code = SIGKILL };
    abx_box *box = process->box;
    const struct exit_status *how = status == NULL ? &killed : status;
    bool was_killed = status == NULL || box_is_killed(box);
    char *output[3] = { NULL };
    size_t length[3] = { 0 };
    uint64_t lost[3] = { 0 };

    loop_timer_clear(process->context->loop, &process->timer);
    take_output(process, output, length, lost);
    pthread_mutex_lock(&process->lock);
    process_announce(process);
    for (int i = 0; i < 3; i++) {
        process->output[i] = output[i];
        process->output_length[i] = length[i];
        process->output_lost[i] = lost[i];
        if (lost[i] > 0) {
            tell_lost_output(process, i);
        }
    }
    judge(process, how, was_killed);
    tell_box_limits(process, how);
    tell_stop(process);
    denials_flush(&process->denials, &box->outlet);
    tell_exit(process);
    process->exited = true;
    process->box = NULL;
    pthread_cond_broadcast(&process->changed);
    pthread_mutex_unlock(&process->lock);
}

void
process_abandon(abx_process *process)
{
    loop_timer_clear(process->context->loop, &process->timer);
    for (int i = 0; i < 3; i++) {
        capture_free(process->captures[i]);
        process->captures[i] = NULL;
    }
    pthread_mutex_lock(&process->lock);
    if (process->box != NULL) {
        denials_flush(&process->denials, &process->box->outlet);
    }
    process->box = NULL;
    pthread_mutex_unlock(&process->lock);
}

/* ---- what the host does with it ---- */
static struct timespec
after_ms(int64_t ms)
{
    struct timespec when;

    clock_gettime(CLOCK_MONOTONIC, &when);
    ms = ms > INT32_MAX * INT64_C(1000) ? INT32_MAX * INT64_C(1000) : ms;
    when.tv_sec += (time_t)(ms / 1000);
    when.tv_nsec += (long)(ms % 1000) * 1000000;
    if (when.tv_nsec >= 1000000000) {
        when.tv_sec++;
        when.tv_nsec -= 1000000000;
    }
    return when;
}

abx_status
process_wait(abx_process *process, int64_t timeout_ms, abx_exit *ret_exit)
{
    struct timespec deadline = after_ms(timeout_ms < 0 ? 0 : timeout_ms);
    int error = 0;
    bool exited;

    pthread_mutex_lock(&process->lock);
    while (!process->exited && timeout_ms != 0 && error != ETIMEDOUT) {
        error = timeout_ms < 0
                        ? pthread_cond_wait(&process->changed, &process->lock)
                        : pthread_cond_timedwait(&process->changed, &process->lock, &deadline);
    }
    exited = process->exited;
    if (exited) {
        *ret_exit = process->result;
    }
    pthread_mutex_unlock(&process->lock);
    return exited ? ABX_OK : ABX_NONE;
}

abx_status
process_signal(abx_process *process, int32_t signal)
{
    AUTO(box_unrefp) abx_box *box = NULL;

    pthread_mutex_lock(&process->lock);
    if (process->box != NULL && box_try_ref(process->box)) {
        box = process->box;
        process->killed |= signal == SIGKILL;
    }
    pthread_mutex_unlock(&process->lock);
    if (box == NULL) {
        return ABX_ERR_STATE;
    }
    return box->context->backend->signal(box->boundary, process->id, signal);
}

abx_status
process_resize(abx_process *process, uint32_t rows, uint32_t columns)
{
    struct winsize size = { .ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns };

    if (process->pty < 0) {
        return ABX_ERR_STATE;
    }
    return ioctl(process->pty, TIOCSWINSZ, &size) < 0 ? ABX_ERR_IO : ABX_OK;
}

int
process_take_stdio(abx_process *process, uint32_t which)
{
    int fd;

    if (process->pty >= 0) {
        return fcntl(process->pty, F_DUPFD_CLOEXEC, 3);
    }
    pthread_mutex_lock(&process->lock);
    fd = steal_fd(&process->stdio[which]);
    pthread_mutex_unlock(&process->lock);
    return fd;
}

const char *
process_get_output(abx_process *process, uint32_t which, size_t *ret_length)
{
    const char *output;

    pthread_mutex_lock(&process->lock);
    output = process->output[which]; /* stays as long as the record */
    if (output != NULL && ret_length != NULL) {
        *ret_length = process->output_length[which];
    }
    pthread_mutex_unlock(&process->lock);
    return output;
}
