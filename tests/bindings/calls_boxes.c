/* SPDX-License-Identifier: Apache-2.0
 * Of the forty-four calls: those about boxes, commands, denials and questions. */
#include "bindings/calls.h"
#include "bindings/calls_common.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- commands ---- */
json_t *
receipt(void)
{
    struct session session;
    json_t *rung;
    size_t length;
    char *text;

    session_open(&session, NOTHING);
    must(abx_box_receipt(session.box, &text, &length));
    rung = taken_key(text, length, "rung");
    session_close(&session);
    return json_boolean(rung != NULL && (json_decref(rung), true));
}

json_t *
output(void)
{
    struct run run;

    run_shell(&run, NOTHING, "echo out; echo err >&2");
    return run_done(&run,
            json_pack("[s, s, o]", run_output(&run, 1), run_output(&run, 2), ended(&run.exit)));
}

static json_t *
ended_shell(const char *script)
{
    struct run run;

    run_shell(&run, NOTHING, script);
    return run_done(&run, ended(&run.exit));
}

json_t *
exit_code(void)
{
    return ended_shell("exit 3");
}

json_t *
ended_by_a_signal(void)
{
    return ended_shell("kill -9 $$");
}

json_t *
environment_and_directory(void)
{
    static const char *const variables[] = { "NAME=value", NULL };
    abx_spawn_options options = captured();
    struct run run;

    options.env = variables;
    options.cwd = workspace;
    run_command(&run, NOTHING, SHELL("echo $NAME; pwd"), &options);
    return run_done(&run, json_string(run_output(&run, 1)));
}

json_t *
output_limit(void)
{
    ABX_AUTO(abx_policy_builder) builder = new_builder("workspace-write");
    ABX_AUTO(abx_policy) policy = NULL;
    ABX_AUTO(abx_context) context = NULL;
    ABX_AUTO(abx_process) process = NULL;
    size_t length;

    set_variables(builder);
    abx_policy_builder_limit(builder, ABX_LIMIT_OUTPUT, 4);
    must(abx_policy_builder_build(builder, &policy, NULL));
    must(abx_context_new(NULL, &context, NULL));
    must(abx_run(context, policy, COMMAND("echo", "0123456789"), NULL, &process, NULL));
    return json_string(abx_process_get_output(process, 1, &length));
}

json_t *
pipes(void)
{
    abx_spawn_options options = { .size = sizeof options };
    struct session session;
    struct run run;
    char read_back[16] = "";
    int in, out;

    options.stdio[0] = options.stdio[1] = ABX_STDIO_PIPE;
    session_open(&session, NOTHING);
    session_spawn(&session, COMMAND("tr", "a-z", "A-Z"), &options);
    in = (int)abx_process_take_stdio(session.process, 0);
    out = (int)abx_process_take_stdio(session.process, 1);
    must((int)write(in, "hello", 5));
    close(in);
    must((int)read(out, read_back, sizeof read_back - 1));
    close(out);
    session_wait(&session, &run.exit);
    session_close(&session);
    return json_pack("[s, o]", read_back, ended(&run.exit));
}

json_t *
not_found(void)
{
    static const char *const variables[] = { "PATH=/usr/bin:/bin", NULL };
    abx_spawn_options options = { .size = sizeof options, .env = variables };
    abx_error *error = NULL;
    struct session session;
    json_t *found;

    session_open(&session, NOTHING);
    found = refused(abx_box_spawn(session.box, COMMAND("no-such-program"), &options,
                            &session.process, &error),
            &error);
    session_close(&session);
    return found;
}

json_t *
time_out(void)
{
    abx_spawn_options options = captured();
    struct run run;

    options.timeout_ms = 50;
    run_command(&run, NOTHING, COMMAND("sleep", "1000"), &options);
    return run_done(&run, ended(&run.exit));
}

json_t *
poll_signal_and_wait(void)
{
    struct session session;
    abx_exit found;
    bool running;
    json_t *result;

    session_open(&session, NOTHING);
    session_spawn(&session, COMMAND("sleep", "1000"), NULL);
    running = abx_process_wait(session.process, 0, NULL) == ABX_NONE;
    must(abx_process_signal(session.process, SIGTERM));
    session_wait(&session, &found);
    result = json_pack(
            "[b, o, i]", running, ended(&found), abx_process_signal(session.process, SIGTERM));
    session_close(&session);
    return result;
}

json_t *
kill_box(void)
{
    struct session session;
    abx_exit found;

    session_open(&session, NOTHING);
    session_spawn(&session, COMMAND("sleep", "1000"), NULL);
    must(abx_box_kill(session.box));
    session_wait(&session, &found);
    session_close(&session);
    return ended(&found);
}

/* ---- denials ---- */
json_t *
denial_fields(void)
{
    abx_event *event = denial_of_motd();
    json_t *found = json_object();

    add_number(found, "type", abx_event_get_type(event));
    add_number(found, "layer", abx_event_get_int(event, ABX_FIELD_LAYER));
    add_number(found, "class", abx_event_get_int(event, ABX_FIELD_CLASS));
    add_number(found, "request", abx_event_get_int(event, ABX_FIELD_REQUEST));
    add_number(found, "access", abx_event_get_int(event, ABX_FIELD_ACCESS));
    add_text(found, "target", event, ABX_FIELD_TARGET);
    add_text(found, "verb", event, ABX_FIELD_VERB);
    add_text(found, "rule", event, ABX_FIELD_RULE);
    add_text(found, "source", event, ABX_FIELD_SOURCE);
    add_text(found, "reason", event, ABX_FIELD_REASON);
    add_number(found, "retry", abx_event_get_int(event, ABX_FIELD_RETRY));
    add_number(found, "repeats", abx_event_get_int(event, ABX_FIELD_REPEATS));
    add_text(found, "label", event, ABX_FIELD_LABEL);
    abx_event_unref(event);
    return found;
}

json_t *
denial_as_json(void)
{
    static const char *const keys[] = { "type", "layer", "class", "request", "access", "target",
        "verb", "rule", "retry", "backend" };
    abx_event *event = denial_of_motd();
    json_t *all, *found = json_object();
    size_t length;
    char *text;

    must(abx_event_to_json(event, &text, &length));
    all = json_loadb(text, length, 0, NULL);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        json_object_set(found, keys[i], json_object_get(all, keys[i]));
    }
    json_decref(all);
    abx_free(text);
    abx_event_unref(event);
    return found;
}

json_t *
order_of_events(void)
{
    json_t *types = json_array();
    struct run run;
    abx_event *event;

    run_shell(&run, NOTHING, MOTD);
    while (abx_context_next_event(run.session.context, &event) == ABX_OK) {
        json_array_append_new(types, json_integer(abx_event_get_type(event)));
        abx_event_unref(event);
    }
    return run_done(&run, types);
}

json_t *
explanation(void)
{
    struct run run;
    json_t *denied, *nothing;

    run_shell(&run, NOTHING, MOTD);
    denied = first_line(run_explain(&run));
    run_done(&run, NULL);
    run_shell(&run, NOTHING, "true");
    nothing = json_string(run_explain(&run));
    return run_done(&run, json_pack("[o, o]", denied, nothing));
}

json_t *
alternative(void)
{
    struct run run;
    json_t *found;
    abx_event *event;
    char script[256];

    snprintf(script, sizeof script, "echo x >%s", below("never"));
    run_shell(&run, ASK, script);
    event = next_event_of(run.session.context, ABX_EVENT_DENIAL);
    found = json_pack("[s, s, b]", abx_event_get_string(event, ABX_FIELD_RULE),
            abx_event_get_string(event, ABX_FIELD_ALTERNATIVE),
            strstr(run_explain(&run), "write elsewhere") != NULL);
    abx_event_unref(event);
    return run_done(&run, found);
}

/* ---- questions ---- */
json_t *
question_fields(void)
{
    struct run run;
    json_t *questions = json_array();

    run_asked(
            &run, "mkdir release", answer_with(ABX_VERDICT_ALLOW, ABX_SCOPE_ONCE, NULL), questions);
    json_array_append_new(questions, ended(&run.exit));
    return run_done(&run, questions);
}

json_t *
once_and_for_the_command(void)
{
    json_t *once = json_array(), *command = json_array(), *first, *found;
    struct run run;

    mkdir(below("release"), 0777);
    run_asked(&run, "mkdir release/a; rmdir release/a; mkdir release/a",
            answer_with(ABX_VERDICT_ALLOW, ABX_SCOPE_ONCE, NULL), once);
    first = ended(&run.exit);
    run_done(&run, NULL);
    run_asked(&run, "mkdir release/b; rmdir release/b; mkdir release/b",
            answer_with(ABX_VERDICT_ALLOW, ABX_SCOPE_COMMAND, NULL), command);
    found = json_pack("[i, o, i, o]", (int)json_array_size(once), first,
            (int)json_array_size(command), ended(&run.exit));
    json_decref(once);
    json_decref(command);
    return run_done(&run, found);
}

json_t *
refusal_has_its_message(void)
{
    json_t *questions = json_array(), *found;
    struct run run;

    run_asked(&run, "mkdir release/no",
            answer_with(ABX_VERDICT_DENY, ABX_SCOPE_ONCE, "not on a Friday"), questions);
    found = json_pack("[i, i, b]", (int)json_array_size(questions), (int)run.exit.denials,
            strstr(run_explain(&run), "not on a Friday") != NULL);
    json_decref(questions);
    return run_done(&run, found);
}

json_t *
stats(void)
{
    abx_stats found = { .size = sizeof found };
    json_t *questions = json_array();
    struct run run;

    run_asked(&run, MOTD "; " MOTD "; mkdir release/no",
            answer_with(ABX_VERDICT_DENY, ABX_SCOPE_ONCE, NULL), questions);
    must(abx_context_stats(run.session.context, &found));
    json_decref(questions);
    return run_done(&run, json_pack("[i, i, i, i, i, i, i, i, i, b]", (int)found.boxes,
                                  (int)found.commands, (int)found.denials, (int)found.repeats,
                                  (int)found.asked, (int)found.granted, (int)found.refused,
                                  (int)found.timed_out, (int)found.abandoned, found.held_ns > 0));
}

json_t *
answer_to_nothing(void)
{
    ABX_AUTO(abx_context) context = NULL;
    abx_answer answer = answer_with(ABX_VERDICT_ALLOW, ABX_SCOPE_ONCE, NULL);
    abx_error *error = NULL;

    must(abx_context_new(NULL, &context, NULL));
    return refused(abx_context_answer(context, 12345, &answer, &error), &error);
}

json_t *
grant_and_revoke(void)
{
    struct session session;
    abx_request pattern;
    uint64_t grant;
    abx_exit found;
    json_t *result;

    session_open(&session, ASK);
    pattern = path_request(below("release/**"), ABX_ACCESS_WRITE);
    must(abx_box_grant(session.box, &pattern, 0, 0, "somebody", &grant, NULL));
    session_spawn(&session, COMMAND("mkdir", below("release/granted")), NULL);
    session_wait(&session, &found);
    must(abx_box_revoke(session.box, grant));
    result = json_pack("[o, i]", ended(&found), abx_box_revoke(session.box, grant));
    session_close(&session);
    return result;
}

json_t *
grant_of_what_a_rule_denies(void)
{
    struct session session;
    abx_request pattern = path_request(below("never"), ABX_ACCESS_WRITE);
    uint64_t grant;
    json_t *result;

    session_open(&session, ASK);
    result = json_integer(abx_box_grant(session.box, &pattern, 0, 0, NULL, &grant, NULL));
    session_close(&session);
    return result;
}

static const char requests[] =
        "{\"version\": 1, \"network\": {\"mode\": \"filtered\", \"allow\": [{\"host\": "
        "\"api.test\","
        " \"http\": [{\"methods\": [\"PUT\"], \"path\": \"/v1/**\", \"action\": \"change\"}]}]},"
        " \"actions\": [{\"name\": \"change\", \"verdict\": \"ask\"}, {\"name\": \"update\","
        "   \"verdict\": \"ask\", \"arguments\": {\"id\": {\"type\": \"string\"}}}]}";

static json_t *
listed_grants(abx_box *box)
{
    char *text;
    json_t *grants, *rows = json_array(), *grant;
    size_t i;

    must(abx_box_grants(box, &text, NULL));
    grants = json_loads(text, 0, NULL);
    abx_free(text);
    json_array_foreach(grants, i, grant)
    {
        json_array_append_new(
                rows, json_pack("[O, O, O]", json_object_get(grant, "request"),
                              json_object_get(grant, "target"), json_object_get(grant, "verb")));
    }
    json_decref(grants);
    return rows;
}

static json_t *
asked_for(abx_box *box, const abx_request *action)
{
    abx_decision decision = { .size = sizeof decision };
    char *text;

    must(abx_box_request(box, action, &decision, NULL, &text, NULL));
    return taken_key(text, strlen(text), "verdict");
}

json_t *
grants_of_requests_and_actions(void)
{
    const abx_request put = { .size = sizeof put,
        .kind = ABX_REQUEST_HTTP,
        .target = "https://API.test/v1/**",
        .verb = "PUT" };
    const abx_request update = { .size = sizeof update,
        .kind = ABX_REQUEST_ACTION,
        .target = "update",
        .verb = "{ \"id\": \"7\" }" };
    const abx_request other = {
        .size = sizeof other, .kind = ABX_REQUEST_HTTP, .target = "https://other.test/"
    };
    struct session session;
    uint64_t grant;
    json_t *result, *listed;

    session_open(&session, requests);
    must(abx_box_grant(session.box, &put, 0, 0, NULL, &grant, NULL));
    must(abx_box_grant(session.box, &update, 0, 1, NULL, &grant, NULL));
    listed = listed_grants(session.box);
    result = json_pack("[o, o]", listed, asked_for(session.box, &update));
    json_array_append_new(result, asked_for(session.box, &update));
    json_array_append_new(
            result, json_integer(abx_box_grant(session.box, &other, 0, 0, NULL, &grant, NULL)));
    session_close(&session);
    return result;
}
