/* SPDX-License-Identifier: Apache-2.0
 * Turns subject, act and grounds into events.  Decides nothing.  Takes the lock of whoever keeps
 * the count, the process or the box. */
#include "supervise/telling.h"

#include "base/mem.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

bool
act_has_verb(uint32_t request)
{
    return request == ABX_REQUEST_HTTP || request == ABX_REQUEST_CREDENTIAL ||
           request == ABX_REQUEST_ACTION;
}

abx_request
act_request(const struct act *act)
{
    return (abx_request){
        .size = sizeof(abx_request),
        .kind = act->request,
        .access = act->access,
        .port = act->port,
        .target = act->target,
        .verb = act->verb,
    };
}

uint32_t
layer_of(const struct act *act)
{
    if (act->layer != 0) {
        return act->layer;
    }
    switch (act->request) {
    case ABX_REQUEST_PATH:
        return ABX_LAYER_FILESYSTEM;
    case ABX_REQUEST_CONNECT:
    case ABX_REQUEST_HTTP:
    case ABX_REQUEST_LISTEN:
    case ABX_REQUEST_SOCKET:
        return ABX_LAYER_NETWORK;
    case ABX_REQUEST_ACTION:
        return ABX_LAYER_ACTION;
    case ABX_REQUEST_CREDENTIAL:
        return ABX_LAYER_IDENTITY;
    case ABX_REQUEST_SYSCALL:
        if (act->verb != NULL && strncmp(act->verb, "TIOC", 4) == 0) {
            return ABX_LAYER_TERMINAL;
        }
        return strcmp(act->target, "socket") == 0 ? ABX_LAYER_NETWORK : ABX_LAYER_PROCESS;
    default:
        return ABX_LAYER_PROCESS;
    }
}

bool
act_as_action(const struct act *act, struct str *asked, struct act *ret_told)
{
    *ret_told = *act;
    if (act->action == NULL || act->request == ABX_REQUEST_ACTION) {
        return true;
    }
    str_printf(asked, "%s %s", act->verb, act->target);
    ret_told->request = ABX_REQUEST_ACTION;
    ret_told->port = 0;
    ret_told->target = act->action;
    ret_told->asked = asked->data;
    ret_told->verb = NULL;
    return !asked->failed;
}

void
tell_begin(
        struct event_draft *draft, abx_box *box, uint32_t type, uint64_t command, const char *label)
{
    *draft = (struct event_draft){ .type = type };
    draft_number(draft, ABX_FIELD_SEQUENCE, 0); /* given by the outlet */
    draft_number(draft, ABX_FIELD_TIME_NS, event_time_now());
    draft_number(draft, ABX_FIELD_BOX, (int64_t)box->id);
    draft_text(draft, ABX_FIELD_BACKEND, box->context->backend->name);
    if (command != 0) {
        draft_number(draft, ABX_FIELD_PROCESS, (int64_t)command);
    }
    draft_text(draft, ABX_FIELD_LABEL, label);
    if (box->identity != NULL) {
        draft_text(draft, ABX_FIELD_PRINCIPAL, box->identity->principal);
        draft_text(draft, ABX_FIELD_AGENT_SESSION, box->identity->agent_session);
        draft_text(draft, ABX_FIELD_DELEGATION, box->identity->delegation);
    }
}

static void
add_nonzero(struct event_draft *draft, uint32_t key, int64_t value)
{
    if (value != 0) {
        draft_number(draft, key, value);
    }
}

/* Of what is not denied only a few things keep a command from its end. */
static uint32_t
class_of_notice(uint32_t layer, const struct act *act)
{
    switch (layer) {
    case ABX_LAYER_TERMINAL:
        return ABX_CLASS_TERMINAL;
    case ABX_LAYER_LIMIT:
        return ABX_CLASS_LIMIT;
    case ABX_LAYER_IDENTITY:
        return act->reply != NULL ? ABX_CLASS_IDENTITY : 0;
    case ABX_LAYER_ACTION:
        return act->reply != NULL ? ABX_CLASS_VALIDATION : 0;
    default:
        return 0;
    }
}

/* ABX_CLASS_*, 0: none. */
static uint32_t
class_of(uint32_t type, uint32_t layer, const struct act *act)
{
    if (type == ABX_EVENT_NOTICE) {
        return class_of_notice(layer, act);
    }
    if (type != ABX_EVENT_DENIAL) {
        return 0;
    }
    switch (layer) {
    case ABX_LAYER_APPROVAL:
        return ABX_CLASS_APPROVAL;
    case ABX_LAYER_LIMIT:
        return ABX_CLASS_LIMIT;
    case ABX_LAYER_IDENTITY: /* where a credential may go is the policy's matter */
        return act->request == ABX_REQUEST_CREDENTIAL ? ABX_CLASS_POLICY : ABX_CLASS_IDENTITY;
    default:
        return ABX_CLASS_POLICY;
    }
}

static void
tell_reply(struct event_draft *draft, const struct reply *reply)
{
    if (reply != NULL) {
        draft_number(draft, ABX_FIELD_HTTP_STATUS, reply->status);
        draft_text(draft, ABX_FIELD_PROBLEM, reply->problem);
    }
}

void
tell_act(struct event_draft *draft, const struct subject *subject, const struct act *act,
        const struct grounds *grounds)
{
    const uint32_t layer = grounds->layer != 0 ? grounds->layer : layer_of(act);

    add_nonzero(draft, ABX_FIELD_PID, subject->pid);
    draft_text(draft, ABX_FIELD_PROGRAM, subject->program);
    draft_number(draft, ABX_FIELD_LAYER, layer);
    add_nonzero(draft, ABX_FIELD_CLASS,
            grounds->failure != 0 ? grounds->failure : class_of(draft->type, layer, act));
    add_nonzero(draft, ABX_FIELD_REQUEST, act->request);
    add_nonzero(draft, ABX_FIELD_ACCESS, act->access);
    draft_text(draft, ABX_FIELD_TARGET, act->target);
    draft_text(draft, ABX_FIELD_ASKED, act->asked);
    add_nonzero(draft, ABX_FIELD_PORT, act->port);
    draft_text(draft, ABX_FIELD_VERB, act->verb);
    draft_text(draft, ABX_FIELD_RULE, grounds->rule);
    draft_text(draft, ABX_FIELD_SOURCE, grounds->source);
    draft_text(draft, ABX_FIELD_REASON, grounds->reason);
    draft_text(draft, ABX_FIELD_ALTERNATIVE, grounds->alternative);
    tell_reply(draft, act->reply);
    draft_number(draft, ABX_FIELD_RETRY, grounds->retry);
    draft_text(draft, ABX_FIELD_APPROVER, grounds->approver);
    draft_text(draft, ABX_FIELD_EVIDENCE, grounds->evidence);
}

abx_status
tell_grant(abx_box *box, const struct grant *grant, const char *verb, const char *reason,
        struct fail *fail)
{
    struct subject subject = { .command = grant->command };
    struct act act = {
        .request = grant->request,
        .access = grant->access,
        .port = grant->port,
        .target = grant->target,
        .verb = verb,
        .content = -1,
    };
    struct grounds grounds = { .layer = ABX_LAYER_APPROVAL, .reason = reason };
    struct str adds = { 0 };
    char rule[GRANT_RULE_SIZE];
    struct event_draft draft;
    abx_event *event;

    grant_rule(grant->id, rule);
    grounds.rule = rule;
    grounds.approver = grant->approver;
    grant_adds(grant, &adds);
    tell_begin(&draft, box, ABX_EVENT_NOTICE, grant->command, NULL);
    tell_act(&draft, &subject, &act, &grounds);
    draft_text(&draft, ABX_FIELD_ADDS, adds.data);
    event = adds.failed ? NULL : event_make(&draft);
    str_done(&adds);
    return outlet_permit(&box->outlet, event, fail);
}

const char *
program_of(const abx_box *box, const struct subject *subject, char buffer[PATH_MAX])
{
    if (subject->program != NULL || subject->pid == 0) {
        return subject->program;
    }
    box->context->backend->program_of(subject->pid, buffer, PATH_MAX);
    return buffer;
}

struct grounds
identity_grounds(const abx_box *box)
{
    return (struct grounds){
        .layer = ABX_LAYER_IDENTITY,
        .failure = ABX_CLASS_IDENTITY,
        .retry = ABX_RETRY_NONE,
        .rule = "identity:delegation",
        .source = "identity",
        .reason = box->identity->is_over_because,
        .alternative = "ask for a new delegation, and go on in a box that is opened under it",
    };
}

static void
record(abx_box *box, abx_process *process, const struct denial_key *key, const char *label,
        const struct subject *who, const struct act *act, const struct grounds *grounds,
        uint64_t times)
{
    pthread_mutex_t *lock = process == NULL ? &box->lock : &process->lock;
    struct denials *denials = process == NULL ? &box->denials : &process->denials;
    struct event_draft draft;

    tell_begin(&draft, box, key->type, who->command, label);
    tell_act(&draft, who, act, grounds);
    pthread_mutex_lock(lock);
    denials_record(denials, &box->outlet, key, &draft, times);
    pthread_mutex_unlock(lock);
}

/* What is only counted is not worth a look at who did it. */
static bool
is_counted(abx_box *box, abx_process *process, const struct denial_key *key, uint64_t times)
{
    pthread_mutex_t *lock = process == NULL ? &box->lock : &process->lock;
    struct denials *denials = process == NULL ? &box->denials : &process->denials;
    bool counted;

    pthread_mutex_lock(lock);
    counted = denials_count(denials, &box->outlet, key, times);
    pthread_mutex_unlock(lock);
    return counted;
}

static void
tell_one(abx_box *box, abx_process *process, uint32_t type, const struct subject *subject,
        const struct act *act, const struct grounds *grounds, uint64_t times)
{
    struct denial_key key = {
        .type = type,
        .layer = grounds->layer != 0 ? grounds->layer : layer_of(act),
        .request = act->request,
        .access = act->access,
        .port = act->port,
        .command = subject->command,
        .target = act->target,
        .verb = act_has_verb(act->request) ? act->verb : NULL,
        .asked = act->request == ABX_REQUEST_ACTION ? act->asked : NULL,
        .status = act->reply == NULL ? 0 : act->reply->status,
        .problem = act->reply == NULL ? NULL : act->reply->problem,
        .reason = act->reply == NULL ? NULL : grounds->reason,
        .pid = subject->pid,
        .program = subject->program,
    };
    struct subject who = *subject;
    char program[PATH_MAX];
    AUTO(freep) char *old_label = NULL;

    if (is_counted(box, process, &key, times)) {
        return;
    }
    who.program = key.program = program_of(box, subject, program);
    if (process != NULL && key.request != ABX_REQUEST_EXEC) {
        process_seen(process, who.program); /* a program may be what keeps it from starting */
    }
    if (process == NULL) {
        old_label = box_label_of(box, subject->command);
    }
    record(box, process, &key, process == NULL ? old_label : process->label, &who, act, grounds,
            times);
}

void
tell(abx_box *box, abx_process *process, uint32_t type, const struct subject *subject,
        const struct act *act, const struct grounds *grounds, uint64_t times)
{
    AUTO(str_done) struct str asked = { 0 };
    struct act action;
    const struct act *told = act_as_action(act, &asked, &action) ? &action : act;

    tell_one(box, process, type, subject, told, grounds, times);
}

void
tell_accepted(abx_box *box, abx_process *process, const struct act *act)
{
    AUTO(str_done) struct str asked = { 0 };
    struct act action;
    const struct act *told = act_as_action(act, &asked, &action) ? &action : act;
    const struct denial_key key = {
        .type = ABX_EVENT_NOTICE,
        .layer = layer_of(told),
        .request = told->request,
        .port = told->port,
        .command = process->id,
        .target = told->target,
        .verb = told->verb,
    };

    pthread_mutex_lock(&process->lock);
    denials_forget(&process->denials, &box->outlet, &key, told->asked);
    pthread_mutex_unlock(&process->lock);
}
