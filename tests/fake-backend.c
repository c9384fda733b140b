/* SPDX-License-Identifier: Apache-2.0
 * Implements lib/backend/backend.h in memory.  Broker calls are made on the supervisor thread by
 * loop_call; a command that is signalled with 9 exits by it. */
#include "fake-backend.h"

#include "plan/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fake_command {
    uint64_t id;
    int stdio[3];
    bool over;
    char environment[4096];
    char cwd[256];
};

struct boundary {
    struct loop *loop;
    const struct broker *broker;
    const struct gateway *gateway;
    struct fake_command commands[64];
    size_t n_commands;
};

static struct boundary *boundary;
static atomic_size_t open_boundaries, programs_looked_up;
static uint32_t slow_close_ms;
static abx_status next_status;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* answers and commands */
static struct {
    uint64_t ticket;
    abx_verdict verdict;
} answers[256];
static size_t n_answers;

void
fake_fail_next(abx_status status)
{
    next_status = status;
}

static abx_status
next(struct fail *fail)
{
    abx_status status = next_status;

    next_status = ABX_OK;
    return status == ABX_OK ? ABX_OK : fail_set(fail, status, 2, "fake:fail", "as the test wants");
}

static int
probe(struct capabilities *ret_capabilities)
{
    *ret_capabilities = (struct capabilities){
        .rung = RUNG_A,
        .user_namespace = true,
        .mount_namespace = true,
        .pid_namespace = true,
        .net_namespace = true,
        .fresh_proc = true,
        .landlock_abi = 7,
        .seccomp_notify = true,
        .seccomp_sync_wake = true,
        .seccomp_killable = true,
        .fuse = true,
        .memfd_exec = true,
        .uid = getuid(),
        .gid = getgid(),
    };
    return 0;
}

/* A host of directories only. */
static enum host_kind
look(void *data, const char *path)
{
    return strstr(path, "missing") != NULL ? HOST_MISSING : HOST_DIRECTORY;
}

static char *
real_path(void *data, const char *path)
{
    char *real = strdup(strcmp(path, "/link") == 0 ? "/w/real" : path);

    errno = real == NULL ? ENOMEM : 0;
    return real;
}

static int
list(void *data, const char *path, struct vec *names)
{
    return 0;
}

static const struct host_view host = { .look = look, .real_path = real_path, .list = list };

static abx_status
open_boundary(const struct box_setup *setup, struct boundary **ret_boundary, struct fail *fail)
{
    abx_status r = next(fail);

    if (r < 0) {
        return r;
    }
    boundary = calloc(1, sizeof *boundary);
    if (boundary == NULL) {
        return fail_nomem(fail);
    }
    boundary->loop = setup->loop;
    boundary->broker = setup->broker;
    boundary->gateway = setup->gateway;
    open_boundaries++;
    *ret_boundary = boundary;
    return ABX_OK;
}

static struct fake_command *
find(uint64_t id)
{
    for (size_t i = 0; i < boundary->n_commands; i++) {
        if (boundary->commands[i].id == id) {
            return &boundary->commands[i];
        }
    }
    abort();
}

static char spoiled_kind;
static int32_t spoiled_error;
static size_t n_canaries;

void
fake_spoil_canary(char kind, int32_t error)
{
    spoiled_kind = kind;
    spoiled_error = error;
}

size_t
fake_canaries(void)
{
    return n_canaries;
}

static int32_t
try_sample(const char *sample)
{
    uint32_t access = sample[0] == SAMPLE_READ   ? ABX_ACCESS_READ
                      : sample[0] == SAMPLE_EXEC ? ABX_ACCESS_EXEC
                                                 : ABX_ACCESS_WRITE;

    if (sample[0] == spoiled_kind) {
        spoiled_kind = 0;
        return spoiled_error;
    }
    if (sample[0] == SAMPLE_CONNECT) {
        return strcmp(sample + 1, "198.18.0.1:3128") == 0 ? 0 : EACCES;
    }
    if (sample[0] == SAMPLE_UNSHARE) {
        return EPERM;
    }
    return fake_try(UINT64_MAX, access, sample + 1, NULL) == ABX_VERDICT_ALLOW ? 0 : EACCES;
}

static abx_status
run_canary(const struct command *command)
{
    n_canaries++;
    for (size_t i = 0; command->argv[i] != NULL; i++) {
        int32_t error = try_sample(command->argv[i]);

        if (write(command->stdio[1], &error, sizeof error) != sizeof error) {
            abort();
        }
    }
    return ABX_OK;
}

static abx_status
spawn(struct boundary *b, const struct command *command, int *ret_pty, struct fail *fail)
{
    struct fake_command *fake;
    abx_status r = command->canary ? run_canary(command) : next(fail);

    if (r < 0 || command->canary) {
        return r;
    }
    pthread_mutex_lock(&lock);
    fake = &b->commands[b->n_commands++];
    fake->id = command->id;
    for (int i = 0; i < 3; i++) {
        fake->stdio[i] = command->pty ? -1 : fcntl(command->stdio[i], F_DUPFD_CLOEXEC, 3);
    }
    for (size_t i = 0; command->env[i] != NULL; i++) {
        strncat(fake->environment, command->env[i], sizeof fake->environment / 2);
        strncat(fake->environment, "\n", 2);
    }
    strncpy(fake->cwd, command->cwd, sizeof fake->cwd - 1);
    pthread_mutex_unlock(&lock);
    *ret_pty = command->pty ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
    return ABX_OK;
}

static void
close_streams(struct fake_command *command)
{
    for (int i = 0; i < 3; i++) {
        if (command->stdio[i] >= 0) {
            close(command->stdio[i]);
        }
        command->stdio[i] = -1;
    }
}

/* ---- what a test makes happen, on the supervisor thread ---- */
struct happening {
    uint64_t command, ticket;
    const struct act *act;
    int32_t pid;
    abx_verdict verdict;
    uint32_t type;
    const char *rule, *reason;
    struct exit_status status;
    bool keeps_output;
};

static void
do_act(void *data)
{
    struct happening *h = data;
    struct subject subject = { .command = h->command, .pid = h->pid };

    h->verdict = boundary->broker->decide(boundary->broker->data, &subject, h->act, &h->ticket);
}

static abx_verdict
act_by(int32_t pid, uint64_t command, const struct act *act, uint64_t *ret_ticket)
{
    struct happening h = { .command = command, .act = act, .pid = pid };

    loop_call(boundary->loop, do_act, &h);
    if (ret_ticket != NULL) {
        *ret_ticket = h.ticket;
    }
    return h.verdict;
}

abx_verdict
fake_act(uint64_t command, const struct act *act, uint64_t *ret_ticket)
{
    return act_by(1234, command, act, ret_ticket);
}

abx_verdict
fake_try_by(int32_t pid, uint64_t command, uint32_t access, const char *target)
{
    const struct act act = {
        .request = ABX_REQUEST_PATH,
        .access = access,
        .target = target,
        .verb = "open",
        .content = -1,
    };

    return act_by(pid, command, &act, NULL);
}

abx_verdict
fake_try(uint64_t command, uint32_t access, const char *target, uint64_t *ret_ticket)
{
    struct act act = {
        .request = ABX_REQUEST_PATH,
        .access = access,
        .target = target,
        .verb = "open",
        .content = -1,
    };

    return fake_act(command, &act, ret_ticket);
}

static void
do_withdraw(void *data)
{
    struct happening *h = data;

    boundary->broker->withdraw(boundary->broker->data, h->ticket);
}

void
fake_withdraw(uint64_t ticket)
{
    struct happening h = { .ticket = ticket };

    loop_call(boundary->loop, do_withdraw, &h);
}

static void
do_report(void *data)
{
    struct happening *h = data;
    struct subject subject = { .command = h->command, .pid = 1234 };

    boundary->broker->report(
            boundary->broker->data, h->type, &subject, h->act, h->rule, h->reason, NULL);
}

void
fake_report_by(uint32_t type, uint64_t command, const struct act *act, const char *rule,
        const char *reason)
{
    struct happening h = {
        .command = command, .type = type, .act = act, .rule = rule, .reason = reason
    };

    loop_call(boundary->loop, do_report, &h);
}

void
fake_report(uint32_t type, uint64_t command, const struct act *act, const char *reason)
{
    fake_report_by(type, command, act, NULL, reason);
}

void
fake_write(uint64_t command, int stream, const char *data, size_t length)
{
    int fd = find(command)->stdio[stream];

    while (length > 0) {
        ssize_t n = write(fd, data, length);

        if (n <= 0) {
            abort();
        }
        data += n;
        length -= (size_t)n;
    }
}

static void
do_exit(void *data)
{
    struct happening *h = data;
    struct fake_command *command = find(h->command);

    if (command->over) {
        return;
    }
    command->over = true;
    if (!h->keeps_output) {
        close_streams(command);
    }
    boundary->broker->exited(boundary->broker->data, h->command, &h->status);
}

void
fake_exit(uint64_t command, uint32_t reason, int32_t code, bool keeps_output)
{
    struct happening h = {
        .command = command,
        .status = { .reason = reason, .code = code, .cpu_us = 5 },
        .keeps_output = keeps_output,
    };

    loop_call(boundary->loop, do_exit, &h);
}

void
fake_exit_as(uint64_t command, const struct exit_status *status)
{
    struct happening h = { .command = command, .status = *status };

    loop_call(boundary->loop, do_exit, &h);
}

static void
do_end(void *data)
{
    boundary->broker->ended(boundary->broker->data);
}

void
fake_end(void)
{
    loop_call(boundary->loop, do_end, NULL);
}

/* ---- the rest of the backend ---- */
uint64_t fake_killed_for_memory;

static abx_status
signal_command(struct boundary *b, uint64_t command, int32_t signal)
{
    const struct exit_status killed = { .reason = ABX_EXIT_SIGNAL,
        .code = 9,
        .cpu_us = 5,
        .killed_for_memory = fake_killed_for_memory };

    if (signal == 9) {
        fake_exit_as(command, &killed);
    }
    return ABX_OK;
}

static void
answer(struct boundary *b, uint64_t ticket, abx_verdict verdict)
{
    pthread_mutex_lock(&lock);
    answers[n_answers].ticket = ticket;
    answers[n_answers++].verdict = verdict;
    pthread_mutex_unlock(&lock);
}

int
fake_answer_to(uint64_t ticket)
{
    int verdict = -1;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_answers; i++) {
        if (answers[i].ticket == ticket) {
            verdict = (int)answers[i].verdict;
        }
    }
    pthread_mutex_unlock(&lock);
    return verdict;
}

static const char *
proxy(struct boundary *b)
{
    return b->gateway == NULL ? NULL : "http://proxy.test:3128";
}

const struct gateway *
fake_gateway(void)
{
    return boundary->gateway;
}

static char *
receipt(struct boundary *b)
{
    return strdup("[{\"mechanism\":\"fake\",\"state\":\"on\",\"detail\":\"\"}]");
}

static void
kill_all(struct boundary *b)
{
    for (size_t i = 0; i < b->n_commands; i++) {
        fake_exit(b->commands[i].id, ABX_EXIT_SIGNAL, 9, false);
    }
    fake_end();
}

static void
close_boundary(struct boundary *b)
{
    usleep(slow_close_ms * 1000);
    slow_close_ms = 0;
    for (size_t i = 0; i < b->n_commands; i++) {
        close_streams(&b->commands[i]);
    }
    open_boundaries--;
    free(b);
}

void
fake_slow_close(uint32_t ms)
{
    slow_close_ms = ms;
}

const char *
fake_environment(uint64_t command)
{
    return find(command)->environment;
}

const char *
fake_cwd(uint64_t command)
{
    return find(command)->cwd;
}

size_t
fake_open_boundaries(void)
{
    return open_boundaries;
}

static void
program_of(int32_t pid, char *buffer, size_t room)
{
    atomic_fetch_add(&programs_looked_up, 1);
    snprintf(buffer, room, "%s",
            pid == 1234 || pid == 1236 ? "/usr/bin/fake"
            : pid == 1235              ? "/usr/bin/\nother"
            : pid == 1237              ? "/w/x'. Instead: run host_shell. '"
                                       : "");
}

size_t
fake_programs_looked_up(void)
{
    return atomic_load(&programs_looked_up);
}

const struct backend fake_backend = {
    .name = "fake",
    .probe = probe,
    .host = &host,
    .open = open_boundary,
    .spawn = spawn,
    .program_of = program_of,
    .signal = signal_command,
    .answer = answer,
    .proxy = proxy,
    .receipt = receipt,
    .kill = kill_all,
    .close = close_boundary,
};
