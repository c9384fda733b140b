/* SPDX-License-Identifier: Apache-2.0 */
#include "bindings/calls_common.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char ASK[] = "{\"version\": 1, \"name\": \"asking\", \"filesystem\": {\"write\": {"
                   " \"ask\": [{\"path\": \"${workspace}/release\", \"id\": \"release\","
                   "   \"reason\": \"a release needs a person\"}],"
                   " \"deny\": [{\"path\": \"${workspace}/never\", \"id\": \"never\","
                   "   \"instead\": \"write elsewhere\"}]}}}";
const char *workspace;

void
must(int status)
{
    if (status < 0) {
        fprintf(stderr, "a step failed: %s\n", abx_status_name(status));
        exit(1);
    }
}

const char *
below(const char *name)
{
    static char paths[4][256];
    static size_t turn;
    char *path = paths[turn++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s", workspace, name);
    return path;
}

/* ---- policies ---- */
abx_policy_builder *
new_builder(const char *profile)
{
    abx_policy_builder *builder = NULL;

    must(abx_policy_builder_new(profile, &builder, NULL));
    return builder;
}

void
set_variables(abx_policy_builder *builder)
{
    abx_policy_builder_variable(builder, "workspace", workspace);
    abx_policy_builder_variable(builder, "home", "/home/somebody");
}

abx_policy *
new_policy(const char *document)
{
    ABX_AUTO(abx_policy_builder) builder = new_builder("workspace-write");
    abx_policy *policy = NULL;

    set_variables(builder);
    abx_policy_builder_merge_json(builder, document, strlen(document));
    must(abx_policy_builder_build(builder, &policy, NULL));
    return policy;
}

abx_request
path_request(const char *path, uint32_t access)
{
    return (abx_request){
        .size = sizeof(abx_request), .kind = ABX_REQUEST_PATH, .access = access, .target = path
    };
}

abx_request
connect_request(const char *host, uint32_t port)
{
    return (abx_request){
        .size = sizeof(abx_request), .kind = ABX_REQUEST_CONNECT, .port = port, .target = host
    };
}

json_t *
verdict(abx_policy *policy, abx_request request)
{
    abx_decision decision = { .size = sizeof decision };

    must(abx_policy_evaluate(policy, &request, &decision));
    return json_pack(
            "{s:i, s:b}", "verdict", (int)decision.verdict, "default", decision.rule == UINT32_MAX);
}

json_t *
refused(abx_status status, abx_error **error)
{
    const char *step = error == NULL ? "" : abx_error_get_step(*error);
    json_t *found = json_pack("{s:i, s:s}", "status", status, "step", step);

    if (error != NULL) {
        abx_error_unref(*error);
    }
    return found;
}

json_t *
taken_key(char *text, size_t length, const char *key)
{
    json_t *all = json_loadb(text, length, 0, NULL);
    json_t *found = json_incref(json_object_get(all, key));

    json_decref(all);
    abx_free(text);
    return found;
}

/* ---- commands ---- */
void
session_open(struct session *session, const char *document)
{
    ABX_AUTO(abx_policy) policy = new_policy(document);

    *session = (struct session){ 0 };
    must(abx_context_new(NULL, &session->context, NULL));
    must(abx_box_open(session->context, policy, NULL, &session->box, NULL));
}

void
session_spawn(struct session *session, const char *const *argv, const abx_spawn_options *options)
{
    must(abx_box_spawn(session->box, argv, options, &session->process, NULL));
}

void
session_wait(struct session *session, abx_exit *ret_exit)
{
    *ret_exit = (abx_exit){ .size = sizeof *ret_exit };
    must(abx_process_wait(session->process, -1, ret_exit));
}

void
session_close(struct session *session)
{
    abx_process_unref(session->process);
    abx_box_unref(session->box);
    abx_context_unref(session->context);
}

abx_spawn_options
captured(void)
{
    return (abx_spawn_options){ .size = sizeof(abx_spawn_options),
        .stdio = { ABX_STDIO_NULL, ABX_STDIO_CAPTURE, ABX_STDIO_CAPTURE } };
}

void
run_command(struct run *run, const char *document, const char *const *argv,
        const abx_spawn_options *options)
{
    *run = (struct run){ 0 };
    session_open(&run->session, document);
    session_spawn(&run->session, argv, options);
    session_wait(&run->session, &run->exit);
}

void
run_shell(struct run *run, const char *document, const char *script)
{
    abx_spawn_options options = captured();

    options.label = "call-1";
    run_command(run, document, SHELL(script), &options);
}

const char *
run_output(struct run *run, uint32_t which)
{
    size_t length;

    return abx_process_get_output(run->session.process, which, &length);
}

const char *
run_explain(struct run *run)
{
    size_t length;

    if (run->explanation == NULL) {
        must(abx_process_explain(run->session.process, "text", &run->explanation, &length));
    }
    return run->explanation;
}

json_t *
run_done(struct run *run, json_t *result)
{
    abx_free(run->explanation);
    session_close(&run->session);
    return result;
}

json_t *
ended(const abx_exit *found)
{
    return json_pack("{s:i, s:i, s:i}", "reason", (int)found->reason, "code", found->code,
            "denials", (int)found->denials);
}

json_t *
first_line(const char *text)
{
    return json_stringn(text, strcspn(text, "\n"));
}

/* ---- events and questions ---- */
abx_event *
next_event_of(abx_context *context, uint32_t type)
{
    abx_event *event;

    while (abx_context_next_event(context, &event) == ABX_OK) {
        if (abx_event_get_type(event) == type) {
            return event;
        }
        abx_event_unref(event);
    }
    return NULL;
}

abx_event *
denial_of_motd(void)
{
    struct run run;
    abx_event *event;

    run_shell(&run, NOTHING, MOTD);
    event = next_event_of(run.session.context, ABX_EVENT_DENIAL);
    run_done(&run, NULL);
    return event;
}

void
add_number(json_t *object, const char *key, int64_t value)
{
    json_object_set_new(object, key, json_integer(value));
}

void
add_text(json_t *object, const char *key, abx_event *event, uint32_t field)
{
    json_object_set_new(object, key, json_string(abx_event_get_string(event, field)));
}

abx_answer
answer_with(abx_verdict given, uint32_t scope, const char *message)
{
    return (abx_answer){ .size = sizeof(abx_answer),
        .verdict = given,
        .scope = scope,
        .approver = "somebody",
        .message = message };
}

static void
answer_question(abx_context *context, abx_event *event, const abx_answer *answer, json_t *questions)
{
    json_t *question = json_object();

    add_text(question, "rule", event, ABX_FIELD_RULE);
    add_text(question, "reason", event, ABX_FIELD_REASON);
    add_text(question, "target", event, ABX_FIELD_TARGET);
    add_text(question, "verb", event, ABX_FIELD_VERB);
    add_number(question, "retry", abx_event_get_int(event, ABX_FIELD_RETRY));
    json_array_append_new(questions, question);
    must(abx_context_answer(
            context, (uint64_t)abx_event_get_int(event, ABX_FIELD_TICKET), answer, NULL));
}

void
run_asked(struct run *run, const char *script, abx_answer answer, json_t *questions)
{
    abx_spawn_options options = captured();
    struct pollfd entry = { .events = POLLIN };
    abx_event *event;

    *run = (struct run){ 0 };
    session_open(&run->session, ASK);
    entry.fd = (int)abx_context_take_wait_handle(run->session.context);
    options.cwd = workspace;
    session_spawn(&run->session, SHELL(script), &options);
    while (abx_process_wait(run->session.process, 0, NULL) == ABX_NONE && poll(&entry, 1, -1) > 0) {
        event = next_event_of(run->session.context, ABX_EVENT_APPROVAL);
        if (event != NULL) {
            answer_question(run->session.context, event, &answer, questions);
            abx_event_unref(event);
        }
    }
    close(entry.fd);
    session_wait(&run->session, &run->exit);
}
