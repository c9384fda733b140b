/* SPDX-License-Identifier: Apache-2.0
 * agentbox run and learn: one command in a box; events to a file, questions to whoever answers
 * them, the terminal to the command if it was asked for.  One loop over poll, in one thread. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POLL_MAX = 80, RELAY_SIZE = 65536 };

struct run {
    struct options options;
    abx_context *context;
    abx_policy *policy;
    abx_identity *identity; /* or NULL */
    abx_box *box;
    abx_process *process;
    struct asker *asker;
    char *approver; /* file of the program that is asked, or NULL */
    FILE *events;
    FILE *suggestion; /* learn: where it goes; else NULL */
    int wait_handle;
    int terminal; /* master of the command's terminal, or -1 */
    unsigned int left_out; /* learn: denials */
    bool stdin_ended;
    bool exited;
};

/* Signals arrive as bytes in a pipe, so that the loop handles them. */
static int signal_pipe[2] = { -1, -1 };

static void
signal_arrived(int number)
{
    int saved = errno;
    unsigned char byte = (unsigned char)number;
    ssize_t n = write(signal_pipe[1], &byte, 1);

    (void)n;
    errno = saved;
}

static bool
catch_signals(void)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGUSR1, SIGUSR2 };
    struct sigaction action = { .sa_handler = signal_arrived, .sa_flags = SA_RESTART };

    if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) < 0) {
        fprintf(stderr, "agentbox: %s\n", strerror(errno));
        return false;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        sigaction(numbers[i], &action, NULL);
    }
    signal(SIGPIPE, SIG_IGN);
    return true;
}

static void
handle_signals(struct run *run)
{
    unsigned char bytes[64];
    ssize_t n = read(signal_pipe[0], bytes, sizeof bytes);

    for (ssize_t i = 0; i < n; i++) {
        uint32_t rows, columns;

        if (bytes[i] == SIGWINCH) {
            if (run->terminal >= 0 && terminal_size(&rows, &columns)) {
                abx_process_resize(run->process, rows, columns);
            }
        } else {
            abx_process_signal(run->process, bytes[i]);
        }
    }
}

static bool
write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, bytes, length);

        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            struct pollfd entry = { .fd = fd, .events = POLLOUT };

            poll(&entry, 1, 1000);
            continue;
        }
        if (n < 0) {
            return false;
        }
        bytes += n;
        length -= (size_t)n;
    }
    return true;
}

/* From the command's terminal to ours; false at its end. */
static bool
relay_output(struct run *run)
{
    static char buffer[RELAY_SIZE];
    ssize_t n = read(run->terminal, buffer, sizeof buffer);

    if (n > 0) {
        return write_all(STDOUT_FILENO, buffer, (size_t)n);
    }
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static void
relay_input(struct run *run)
{
    static char buffer[4096];
    ssize_t n = read(STDIN_FILENO, buffer, sizeof buffer);

    if (n > 0) {
        write_all(run->terminal, buffer, (size_t)n);
        return;
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        const char end_of_file = 4; /* what a person's Ctrl-D sends */

        run->stdin_ended = true;
        write_all(run->terminal, &end_of_file, 1);
    }
}

static void
take_events(struct run *run)
{
    abx_event *event;

    while (abx_context_next_event(run->context, &event) == ABX_OK) {
        uint32_t type = abx_event_get_type(event);

        events_write(run->events, event);
        if (type == ABX_EVENT_DENIAL && run->process == NULL && run->options.explain) {
            report_denial(event); /* it never starts, so nothing else explains it */
        }
        if (type == ABX_EVENT_DENIAL && run->suggestion != NULL) {
            fputs(run->left_out++ == 0 ? "agentbox: left out of the policy, since it is denied:\n"
                                       : "",
                    stderr);
            report_denial(event);
        }
        if (type == ABX_EVENT_APPROVAL) {
            asker_take(run->asker, event);
        }
        if (type == ABX_EVENT_CREDENTIAL) {
            credential_refuse(run->context, event);
        }
        if (type == ABX_EVENT_EXITED && (uint64_t)abx_event_get_int(event, ABX_FIELD_PROCESS) ==
                                                abx_process_get_id(run->process)) {
            run->exited = true;
        }
        abx_event_unref(event);
    }
}

/* Sets up what one round polls; the first entries have fixed places. */
static size_t
poll_set(struct run *run, struct pollfd *entries)
{
    bool wants_input = run->terminal >= 0 && !run->stdin_ended && !asker_has_terminal(run->asker);

    entries[0] = (struct pollfd){ .fd = run->wait_handle, .events = POLLIN };
    entries[1] = (struct pollfd){ .fd = signal_pipe[0], .events = POLLIN };
    entries[2] = (struct pollfd){ .fd = run->terminal, .events = POLLIN };
    entries[3] = (struct pollfd){ .fd = wants_input ? STDIN_FILENO : -1, .events = POLLIN };
    return 4 + asker_poll_set(run->asker, entries + 4, POLL_MAX - 4);
}

static void
loop(struct run *run)
{
    while (!run->exited) {
        struct pollfd entries[POLL_MAX];
        size_t n = poll_set(run, entries);

        if (poll(entries, n, -1) < 0) {
            continue; /* EINTR: the signal is a byte in the pipe by now */
        }
        if (entries[1].revents != 0) {
            handle_signals(run);
        }
        if (entries[2].revents != 0 && !relay_output(run)) {
            close(run->terminal);
            run->terminal = -1;
        }
        if (entries[3].revents != 0 && run->terminal >= 0) {
            relay_input(run);
        }
        asker_ready(run->asker, entries + 4, n - 4);
        if (entries[0].revents != 0) {
            take_events(run);
        }
    }
    if (run->terminal >= 0) {
        fcntl(run->terminal, F_SETFL, O_NONBLOCK);
        while (relay_output(run) && errno != EAGAIN) {
            errno = 0;
        }
    }
}

static bool
refuse(struct run *run, abx_error *error)
{
    if (error != NULL) {
        report_error(error);
        events_write_setup(run->events, error);
        abx_error_unref(error);
    }
    return false;
}

static bool
open_box(struct run *run)
{
    abx_context_options context_options = { .size = sizeof context_options,
        .audit_path = run->options.audit };
    abx_error *error = NULL;
    bool good;

    context_options.flags = run->options.output != NULL ? ABX_CONTEXT_OBSERVE : 0;
    run->approver = asker_find(run->options.ask, &good);
    if (!good) {
        return false;
    }
    run->options.approver = run->approver;
    if (run->options.events != NULL) {
        run->events = fopen(run->options.events, "ae");
        if (run->events == NULL) {
            fprintf(stderr, "agentbox: cannot write '%s': %s\n", run->options.events,
                    strerror(errno));
            return false;
        }
    }
    if (run->options.output != NULL) { /* before the command could make something of that name */
        run->suggestion = fopen(run->options.output, "we");
        if (run->suggestion == NULL) {
            fprintf(stderr, "agentbox: cannot write '%s': %s\n", run->options.output,
                    strerror(errno));
            return false;
        }
    }
    if (!policy_load(&run->options, &run->policy, &error) ||
            !identity_make(&run->options, &run->identity, &error) ||
            abx_context_new(&context_options, &run->context, &error) < 0) {
        return refuse(run, error);
    }
    run->asker = asker_new(run->context, run->options.ask, run->approver);
    if (run->asker == NULL) {
        return false;
    }
    run->wait_handle = (int)abx_context_take_wait_handle(run->context);
    if (abx_box_open(run->context, run->policy, run->identity, &run->box, &error) < 0 ||
            !credentials_give(&run->options, run->box, &error)) {
        return refuse(run, error);
    }
    return true;
}

/* -1: started; else the exit status of the tool. */
static int
start(struct run *run)
{
    abx_spawn_options spawn = { .size = sizeof spawn, .cwd = run->options.cwd };
    abx_error *error = NULL;
    abx_status status;
    int32_t os_code;

    for (size_t i = 0; i < 3; i++) {
        spawn.stdio[i] = run->options.tty ? ABX_STDIO_PTY : ABX_STDIO_HANDLE;
        spawn.handle[i] = (int64_t)i;
    }
    if (run->options.tty && !terminal_size(&spawn.rows, &spawn.columns)) {
        spawn.rows = 24;
        spawn.columns = 80;
    }
    if (run->options.timeout_s > 0) {
        spawn.timeout_ms = (uint64_t)(run->options.timeout_s * 1000) + 1;
    }
    status = abx_box_spawn(
            run->box, (const char *const *)run->options.rest, &spawn, &run->process, &error);
    if (status >= 0) {
        return -1;
    }
    os_code = abx_error_get_os_code(error);
    take_events(run); /* what was denied may be why it did not start */
    refuse(run, error);
    if (status == ABX_ERR_EXEC) {
        return os_code == ENOENT ? 127 : 126;
    }
    return EXIT_REFUSED;
}

static int
exit_status(const abx_exit *ended)
{
    switch (ended->reason) {
    case ABX_EXIT_CODE:
        return ended->code;
    case ABX_EXIT_TIMEOUT:
        return EXIT_TIMED_OUT;
    case ABX_EXIT_SIGNAL:
        return 128 + ended->code;
    default:
        return 128 + SIGKILL;
    }
}

static int
finish(struct run *run)
{
    abx_exit ended = { .size = sizeof ended };
    char *text;
    size_t length;

    if (abx_process_wait(run->process, -1, &ended) != ABX_OK) {
        return EXIT_REFUSED;
    }
    if (run->options.explain && abx_process_explain(run->process, "text", &text, &length) >= 0) {
        if (length > 0) { /* on a line of its own, however the command's output ended */
            fprintf(stderr, "\n%s", text);
        }
        abx_free(text);
    }
    return exit_status(&ended);
}

/* What the command needed, as a policy. */
static bool
write_suggestion(struct run *run)
{
    abx_error *error = NULL;
    char *json;
    bool good;

    if (abx_box_suggest(run->box, &json, NULL, &error) < 0) {
        return refuse(run, error);
    }
    good = fputs(json, run->suggestion) >= 0 && fflush(run->suggestion) == 0;
    abx_free(json);
    if (!good) {
        fprintf(stderr, "agentbox: cannot write '%s': %s\n", run->options.output, strerror(errno));
    }
    return good;
}

static int
run_command(struct run *run)
{
    int status;

    if (!open_box(run)) {
        return EXIT_REFUSED;
    }
    status = start(run);
    if (status >= 0) {
        return status;
    }
    if (run->options.tty) {
        run->terminal = (int)abx_process_take_stdio(run->process, 0);
        terminal_raw();
    }
    loop(run);
    terminal_restore();
    status = finish(run);
    return run->suggestion == NULL || write_suggestion(run) ? status : EXIT_REFUSED;
}

static int
run_with_options(int argc, char **argv, bool learns)
{
    const unsigned takes = TAKES_POLICY | TAKES_COMMAND | (learns ? TAKES_OUTPUT : 0);
    struct run run = { .wait_handle = -1, .terminal = -1 };
    int status;

    if (!options_parse(&run.options, takes, argc, argv)) {
        return EXIT_REFUSED;
    }
    if (run.options.rest[0] == NULL || (learns && run.options.output == NULL)) {
        fprintf(stderr, "agentbox: %s; usage: agentbox %s [OPTIONS] -- CMD ARGS...\n",
                run.options.rest[0] == NULL ? "no command" : "no file to write to",
                learns ? "learn -o FILE" : "run");
        return EXIT_REFUSED;
    }
    if (!policy_workspace_is_meant(&run.options) || !catch_signals()) {
        return EXIT_REFUSED;
    }
    status = run_command(&run);
    asker_free(run.asker);
    free(run.approver);
    abx_process_unref(run.process);
    abx_box_unref(run.box);
    abx_identity_unref(run.identity);
    abx_policy_unref(run.policy);
    abx_context_unref(run.context);
    if (run.wait_handle >= 0) {
        close(run.wait_handle);
    }
    if (run.terminal >= 0) {
        close(run.terminal);
    }
    if (run.events != NULL) {
        fclose(run.events);
    }
    if (run.suggestion != NULL) {
        fclose(run.suggestion);
    }
    return status;
}

int
command_run(int argc, char **argv)
{
    return run_with_options(argc, argv, false);
}

int
command_learn(int argc, char **argv)
{
    return run_with_options(argc, argv, true);
}
