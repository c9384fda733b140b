/* SPDX-License-Identifier: Apache-2.0
 * A question while the call waits: the policy asks before anything is published, the harness
 * answers, and the command goes on as if nothing had happened.  Nothing is run again.
 *
 *   cc held-approval.c $(pkg-config --cflags --libs agentbox) -o held-approval && ./held-approval
 */
#include <agentbox/auto.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char rules[] =
        "{ \"version\": 1, \"name\": \"publisher\", \"filesystem\": { \"write\": { \"ask\": ["
        "  { \"path\": \"${published}\", \"id\": \"publish\", \"reason\": \"readers see it at "
        "once\" }"
        "] } }, \"approvals\": { \"timeout_ms\": 10000 } }";

static int
fail(abx_error *error)
{
    fprintf(stderr, "%s\n%s\n", abx_error_get_message(error), abx_error_get_remedy(error));
    abx_error_unref(error);
    return 1;
}

/* A person would be asked here.  This one allows the first file, and nothing else. */
static void
answer_question(abx_context *context, abx_event *event)
{
    const char *target = abx_event_get_string(event, ABX_FIELD_TARGET);
    const char *name = strrchr(target, '/') + 1;
    abx_answer answer = { .size = sizeof answer, .scope = ABX_SCOPE_ONCE, .approver = "example" };

    answer.verdict = strcmp(name, "report") == 0 ? ABX_VERDICT_ALLOW : ABX_VERDICT_DENY;
    answer.message = answer.verdict == ABX_VERDICT_DENY ? "one report is enough" : NULL;
    printf("question: %s of %s, rule %s: %s -> %s\n", abx_event_get_string(event, ABX_FIELD_VERB),
            name, abx_event_get_string(event, ABX_FIELD_RULE),
            abx_event_get_string(event, ABX_FIELD_REASON),
            answer.verdict == ABX_VERDICT_ALLOW ? "once" : "no");
    abx_context_answer(
            context, (uint64_t)abx_event_get_int(event, ABX_FIELD_TICKET), &answer, NULL);
}

int
main(void)
{
    static const char *const argv[] = { "sh", "-c",
        "echo 42 >report && cat report; echo 43 >another", NULL };
    abx_spawn_options options = { .size = sizeof options,
        .stdio = { ABX_STDIO_NULL, ABX_STDIO_CAPTURE } };
    abx_exit ended = { .size = sizeof ended };
    ABX_AUTO(abx_policy_builder) builder = NULL;
    ABX_AUTO(abx_policy) policy = NULL;
    ABX_AUTO(abx_context) context = NULL;
    ABX_AUTO(abx_box) box = NULL;
    ABX_AUTO(abx_process) process = NULL;
    char published[] = "/var/tmp/published-XXXXXX", file[64];
    abx_error *error = NULL;
    size_t length;
    struct pollfd entry;

    if (mkdtemp(published) == NULL) {
        return 1;
    }
    if (abx_policy_builder_new("read-only", &builder, &error) < 0) {
        return fail(error);
    }
    abx_policy_builder_variable(builder, "home", "/home/somebody");
    abx_policy_builder_variable(builder, "workspace", "/var/tmp");
    abx_policy_builder_variable(builder, "published", published);
    abx_policy_builder_merge_json(builder, rules, sizeof rules - 1);
    /* The setters need no check of their own: the first mistake is reported here. */
    if (abx_policy_builder_build(builder, &policy, &error) < 0 ||
            abx_context_new(NULL, &context, &error) < 0 ||
            abx_box_open(context, policy, NULL, &box, &error) < 0) {
        return fail(error);
    }
    options.stdio[2] = ABX_STDIO_CAPTURE;
    options.cwd = published;
    if (abx_box_spawn(box, argv, &options, &process, &error) < 0) {
        return fail(error);
    }

    /* Events and the end of the command arrive on one descriptor. */
    entry = (struct pollfd){ .fd = (int)abx_context_take_wait_handle(context), .events = POLLIN };
    while (abx_process_wait(process, 0, &ended) == ABX_NONE && poll(&entry, 1, -1) > 0) {
        abx_event *event;

        while (abx_context_next_event(context, &event) == ABX_OK) {
            if (abx_event_get_type(event) == ABX_EVENT_APPROVAL) {
                answer_question(context, event);
            }
            abx_event_unref(event);
        }
    }
    close(entry.fd);
    printf("exit %d, %u denied\noutput: %s", ended.code, ended.denials,
            abx_process_get_output(process, 1, &length));

    snprintf(file, sizeof file, "%s/report", published);
    printf("published: %s\n", access(file, R_OK) == 0 ? "yes" : "no");
    unlink(file);
    rmdir(published);
    return 0;
}
