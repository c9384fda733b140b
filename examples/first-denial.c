/* SPDX-License-Identifier: Apache-2.0
 * The smallest harness: one command in a box, its output, and what was denied.
 *
 *   cc first-denial.c $(pkg-config --cflags --libs agentbox) -o first-denial && ./first-denial */
#include <agentbox/agentbox.h>

#include <stdio.h>

static int
fail(abx_error *error)
{
    fprintf(stderr, "%s\n%s\n", abx_error_get_message(error), abx_error_get_remedy(error));
    abx_error_unref(error);
    return 1;
}

int
main(void)
{
    static const char *const argv[] = { "sh", "-c", "echo hello; echo x >/etc/motd", NULL };
    abx_spawn_options options = { .size = sizeof options };
    abx_exit ended = { .size = sizeof ended };
    abx_policy_builder *builder = NULL;
    abx_policy *policy = NULL;
    abx_context *context = NULL;
    abx_process *process = NULL;
    abx_event *event;
    abx_error *error = NULL;
    size_t length;
    char *text;

    /* 1. What may happen: a built-in profile, with the two variables it uses. */
    if (abx_policy_builder_new("workspace-write", &builder, &error) < 0) {
        return fail(error);
    }
    abx_policy_builder_variable(builder, "workspace", "/var/tmp");
    abx_policy_builder_variable(builder, "home", "/home/somebody");
    if (abx_policy_builder_build(builder, &policy, &error) < 0 ||
            abx_context_new(NULL, &context, &error) < 0) {
        return fail(error);
    }

    /* 2. A box, one command, its output captured. */
    options.stdio[1] = ABX_STDIO_CAPTURE;
    options.stdio[2] = ABX_STDIO_CAPTURE;
    options.label = "tool-call-1";
    if (abx_run(context, policy, argv, &options, &process, &error) < 0) {
        return fail(error);
    }
    abx_process_wait(process, -1, &ended);
    printf("exit %d, %u denied\noutput: %s", ended.code, ended.denials,
            abx_process_get_output(process, 1, &length));

    /* 3. What was denied, as events for a program ... */
    while (abx_context_next_event(context, &event) == ABX_OK) {
        if (abx_event_get_type(event) == ABX_EVENT_DENIAL) {
            printf("denied: %s of %s by rule %s: %s\n", abx_event_get_string(event, ABX_FIELD_VERB),
                    abx_event_get_string(event, ABX_FIELD_TARGET),
                    abx_event_get_string(event, ABX_FIELD_RULE),
                    abx_event_get_string(event, ABX_FIELD_REASON));
        }
        abx_event_unref(event);
    }
    /* ... and as text to append to the tool result that a model sees. */
    if (abx_process_explain(process, "text", &text, &length) >= 0) {
        fputs(text, stdout);
        abx_free(text);
    }

    abx_process_unref(process);
    abx_context_unref(context);
    abx_policy_unref(policy);
    abx_policy_builder_unref(builder);
    return 0;
}
