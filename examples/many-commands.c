/* SPDX-License-Identifier: Apache-2.0
 * Several commands at once in one box, from one thread: an event loop with poll on the context's
 * wait handle and on the commands' output.  The commands share the box's /tmp, its processes and
 * its loopback.
 *
 *   cc many-commands.c $(pkg-config --cflags --libs agentbox) -o many-commands && ./many-commands
 */
#include <agentbox/auto.h>

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { N_COMMANDS = 3 };

struct command {
    const char *label, *script;
    abx_process *process;
    int output; /* the reading end of its standard output, or -1 */
    char text[256];
    size_t length;
    int code; /* -1: runs */
    int denials;
};

static struct command commands[N_COMMANDS] = {
    { .label = "writer",
            .script = "echo 'left by the writer' >/tmp/.note && mv /tmp/.note /tmp/note" },
    { .label = "reader", .script = "until [ -e /tmp/note ]; do sleep 0.05; done; cat /tmp/note" },
    { .label = "curious", .script = "exec 2>/dev/null; cat /etc/shadow || echo 'no luck'" },
};

static int
fail(abx_error *error)
{
    fprintf(stderr, "%s\n%s\n", abx_error_get_message(error), abx_error_get_remedy(error));
    abx_error_unref(error);
    return 1;
}

static struct command *
find_command(const char *label)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (label != NULL && strcmp(commands[i].label, label) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

/* Called by abx_context_dispatch, on this thread.  Each event has the label of its command. */
static void
take_event(void *user_data, abx_event *event)
{
    struct command *command = find_command(abx_event_get_string(event, ABX_FIELD_LABEL));
    size_t *n_running = user_data;

    if (command == NULL) {
        return;
    }
    if (abx_event_get_type(event) == ABX_EVENT_DENIAL) {
        command->denials++;
    } else if (abx_event_get_type(event) == ABX_EVENT_EXITED) {
        command->code = (int)abx_event_get_int(event, ABX_FIELD_EXIT_CODE);
        (*n_running)--;
    }
}

static void
read_output(struct command *command)
{
    size_t room = sizeof command->text - 1 - command->length;
    ssize_t n = read(command->output, command->text + command->length, room);

    if (n > 0) {
        command->length += (size_t)n;
    } else {
        close(command->output);
        command->output = -1;
    }
}

static int
start(abx_box *box, struct command *command, abx_error **ret_error)
{
    const char *const argv[] = { "sh", "-c", command->script, NULL };
    abx_spawn_options options = {
        .size = sizeof options, .label = command->label, .timeout_ms = 10000
    };

    options.stdio[1] = ABX_STDIO_PIPE;
    if (abx_box_spawn(box, argv, &options, &command->process, ret_error) < 0) {
        return -1;
    }
    command->code = -1;
    command->output = (int)abx_process_take_stdio(command->process, 1);
    return 0;
}

static void
run_loop(abx_context *context, int wait_handle)
{
    size_t n_running = N_COMMANDS, n_open = N_COMMANDS;

    while (n_running > 0 || n_open > 0) {
        struct pollfd entries[N_COMMANDS + 1] = { { .fd = wait_handle, .events = POLLIN } };

        for (size_t i = 0; i < N_COMMANDS; i++) {
            entries[i + 1] = (struct pollfd){ .fd = commands[i].output, .events = POLLIN };
        }
        poll(entries, N_COMMANDS + 1, -1);
        if (entries[0].revents != 0) {
            abx_context_dispatch(context, take_event, &n_running);
        }
        for (size_t i = 0; i < N_COMMANDS; i++) {
            if (entries[i + 1].revents != 0) {
                read_output(&commands[i]);
                n_open -= commands[i].output < 0;
            }
        }
    }
}

int
main(void)
{
    ABX_AUTO(abx_policy_builder) builder = NULL;
    ABX_AUTO(abx_policy) policy = NULL;
    ABX_AUTO(abx_context) context = NULL;
    ABX_AUTO(abx_box) box = NULL;
    abx_error *error = NULL;
    int wait_handle;

    if (abx_policy_builder_new("read-only", &builder, &error) < 0) {
        return fail(error);
    }
    abx_policy_builder_variable(builder, "home", "/home/somebody");
    abx_policy_builder_variable(builder, "workspace", "/");
    if (abx_policy_builder_build(builder, &policy, &error) < 0 ||
            abx_context_new(NULL, &context, &error) < 0 ||
            abx_box_open(context, policy, NULL, &box, &error) < 0) {
        return fail(error);
    }
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (start(box, &commands[i], &error) < 0) {
            return fail(error);
        }
    }
    wait_handle = (int)abx_context_take_wait_handle(context);
    run_loop(context, wait_handle);
    close(wait_handle);

    for (size_t i = 0; i < N_COMMANDS; i++) {
        printf("%s: exit %d, denials %d: %s\n", commands[i].label, commands[i].code,
                commands[i].denials,
                commands[i].length == 0 ? "-" : strtok(commands[i].text, "\n"));
        abx_process_unref(commands[i].process);
    }
    return 0;
}
