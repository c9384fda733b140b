/* SPDX-License-Identifier: Apache-2.0
 * Owns the open questions of a box, under the box's lock.  A question ends once: by an answer, by
 * its deadline, or with the box; who takes it out of the list tells the backend.  A held call costs
 * no thread, only an entry here. */
#include "supervise/approvals_private.h"

#include "egress/egress.h"
#include "supervise/actions.h"
#include "supervise/telling.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define MINUTE_NS 60000000000u

static void
approval_free(struct approval *approval)
{
    if (approval != NULL) {
        free(approval->target);
        free(approval->asked);
        free(approval->verb);
        free(approval->bound);
        free(approval->program);
        free(approval->action);
        consented_done(&approval->yes);
        free(approval);
    }
}

char *
approval_copy(const char *text, bool *failed)
{
    char *result = text == NULL ? NULL : strdup(text);

    *failed = *failed || (text != NULL && result == NULL);
    return result;
}

/* Nobody answers for what the delegation does not cover any more. */
static void
set_deadline(const abx_box *box, struct approval *approval)
{
    const uint64_t most_ms = policy_get_settings(box->resolved)->approval_timeout_ms;
    const abx_identity *identity = box->identity;

    approval->deadline_ns = approval->waiting_ns + most_ms * 1000000u;
    approval->deadline_ms = event_time_now() / 1000000 + (int64_t)most_ms;
    if (identity == NULL || identity->expires_ms == 0) {
        return;
    }
    if (identity->expires_ns != 0 && identity->expires_ns < approval->deadline_ns) {
        approval->deadline_ns = identity->expires_ns;
    }
    if (identity->expires_ms < approval->deadline_ms) {
        approval->deadline_ms = identity->expires_ms;
    }
}

static struct approval *
approval_new(abx_box *box, const struct subject *subject, const struct act *act,
        const struct ruling *ruling)
{
    struct approval *approval = calloc(1, sizeof *approval);
    char program[PATH_MAX];
    bool failed = false;

    if (approval == NULL) {
        return NULL;
    }
    approval->target = approval_copy(act->target, &failed);
    approval->asked = approval_copy(act->asked, &failed);
    approval->verb = approval_copy(act->verb, &failed);
    approval->action = approval_copy(act->action, &failed);
    approval->bound = approval_copy(act->bound, &failed);
    approval->program = approval_copy(program_of(box, subject, program), &failed);
    if (failed) {
        approval_free(approval);
        return NULL;
    }
    approval->ticket = atomic_fetch_add(&box->context->last_ticket, 1) + 1;
    approval->waiters = 1;
    approval->waiting_ns = clock_now_ns();
    set_deadline(box, approval);
    approval->subject = *subject;
    approval->subject.program = approval->program;
    approval->act = (struct act){
        .request = act->request,
        .access = act->access,
        .layer = act->layer,
        .port = act->port,
        .target = approval->target,
        .asked = approval->asked,
        .bound = approval->bound,
        .verb = approval->verb,
        .content = -1,
        .action = approval->action,
    };
    if (!approval_is_for_secret(approval)) {
        approval->needs =
                consent_join(ruling->consent, policy_get_settings(box->resolved)->consent);
    }
    approval->grounds = (struct grounds){
        .retry = ABX_RETRY_HELD,
        .rule = ruling->id,
        .source = ruling->source,
        .reason = ruling->reason,
        .alternative = ruling->alternative,
    };
    return approval;
}

struct approval *
approval_find(const struct vec *approvals, uint64_t ticket, size_t *ret_index)
{
    for (size_t i = 0; i < approvals->count; i++) {
        struct approval *approval = *vec_at(approvals, struct approval *, i);

        if (approval->ticket == ticket) {
            *ret_index = i;
            return approval;
        }
    }
    return NULL;
}

bool
approval_counts_verb(const struct act *act)
{
    return act_has_verb(act->request);
}

static bool
same_verb(const struct act *a, const struct act *b)
{
    return !approval_counts_verb(a) || strcmp(a->verb, b->verb) == 0;
}

static bool
same_bound(const struct act *a, const struct act *b)
{
    return a->bound == NULL || b->bound == NULL ? a->bound == b->bound
                                                : strcmp(a->bound, b->bound) == 0;
}

static struct approval *
find_equal(const struct vec *approvals, const struct subject *subject, const struct act *act)
{
    for (size_t i = 0; i < approvals->count; i++) {
        struct approval *approval = *vec_at(approvals, struct approval *, i);

        if (approval->subject.command == subject->command &&
                approval->act.request == act->request && approval->act.access == act->access &&
                approval->act.port == act->port && strcmp(approval->act.target, act->target) == 0 &&
                same_verb(&approval->act, act) && same_bound(&approval->act, act)) {
            return approval;
        }
    }
    return NULL;
}

bool
approval_is_for_secret(const struct approval *approval)
{
    return approval->act.request == ABX_REQUEST_CREDENTIAL;
}

bool
approval_is_the_hosts(const struct approval *approval)
{
    return approval->act.request == ABX_REQUEST_ACTION && approval->subject.command == 0;
}

struct grant
approval_grant(const struct approval *approval)
{
    const struct act *act = &approval->act;

    return (struct grant){
        .request = act->request,
        .access = act->access,
        .port = act->port,
        .target = approval->target,
        .verb = approval_counts_verb(act) ? approval->verb : NULL,
        .bound = act->request == ABX_REQUEST_EXEC || bound_is_upgrade(act->bound) ? approval->bound
                                                                                  : NULL,
    };
}

/* ---- what is counted ---- */

/* Before its waiters become more, fewer or none. */
static void
count_wait(abx_box *box, struct approval *approval)
{
    uint64_t now = clock_now_ns();

    if (!approval_is_the_hosts(approval)) { /* who asked is not held */
        stats_add(&box->context->stats, STAT_HELD_NS,
                approval->waiters * (now - approval->waiting_ns));
    }
    approval->waiting_ns = now;
}

static void
count_end(abx_box *box, struct approval *approval, enum counted as)
{
    count_wait(box, approval);
    stats_add(&box->context->stats, as, 1);
}

/* ---- the end of a question ---- */

/* Calls that wait go on now, as often as they are.  0, or the layer that denies it. */
static uint32_t
begin_action(abx_box *box, const struct approval *approval, char *reason, size_t reason_room)
{
    return approval->action == NULL || approval->waiters == 0
                   ? 0
                   : action_begin(box, &approval->subject, &approval->act, &approval->grounds,
                             approval->waiters, approval->ticket, reason, reason_room);
}

static void
tell_denied(abx_box *box, abx_process *process, const struct approval *approval)
{
    tell(box, process, ABX_EVENT_DENIAL, &approval->subject, &approval->act, &approval->grounds,
            approval->waiters == 0 ? 1 : approval->waiters);
}

void
approval_end(abx_box *box, struct approval *approval, abx_verdict verdict, const char *message)
{
    AUTO(process_unrefp) abx_process *process = box_find(box, approval->subject.command);
    uint32_t denied = 0;
    char reason[256];

    if (approval->came_late || ((verdict == ABX_VERDICT_ALLOW || approval->timed_out) &&
                                       identity_is_over(box->identity))) {
        verdict = ABX_VERDICT_DENY;
        message = box->identity->is_over_because;
        approval->grounds = identity_grounds(box);
    } else if (verdict == ABX_VERDICT_ALLOW &&
               (denied = begin_action(box, approval, reason, sizeof reason)) != 0) {
        verdict = ABX_VERDICT_DENY;
        message = reason;
        approval->grounds.layer = denied;
        approval->grounds.retry = ABX_RETRY_NONE;
        approval->grounds.reason = reason;
    } else if (verdict != ABX_VERDICT_ALLOW) {
        approval->grounds.layer = approval->unrecorded               ? ABX_LAYER_AUDIT
                                  : approval_is_for_secret(approval) ? ABX_LAYER_IDENTITY
                                                                     : ABX_LAYER_APPROVAL;
        approval->grounds.failure =
                approval->grounds.layer == ABX_LAYER_IDENTITY ? ABX_CLASS_IDENTITY : 0;
        approval->grounds.retry = ABX_RETRY_NONE;
        approval->grounds.reason = message;
    }
    count_end(box, approval,
            verdict == ABX_VERDICT_ALLOW ? STAT_GRANTED
            : approval->timed_out        ? STAT_TIMED_OUT
                                         : STAT_REFUSED);
    if (verdict != ABX_VERDICT_ALLOW) {
        tell_denied(box, process, approval);
    }
    box->context->backend->answer(box->boundary, approval->ticket, verdict);
    if (box->egress != NULL) { /* the question was of one of them, or of both */
        egress_answer(box->egress, approval->ticket, verdict,
                verdict == ABX_VERDICT_ALLOW ? NULL : message);
    }
    approval_free(approval);
}

/* ---- deadlines: one timer per box, the supervisor thread's ---- */

/* Takes a question out whose deadline is `now` or before; else NULL and the next deadline, 0: none.
 */
static struct approval *
take_due(abx_box *box, uint64_t now, uint64_t *ret_next_ns)
{
    struct approval *due = NULL;

    *ret_next_ns = 0;
    pthread_mutex_lock(&box->lock);
    for (size_t i = 0; i < box->approvals.count; i++) {
        struct approval *approval = *vec_at(&box->approvals, struct approval *, i);

        if (approval->deadline_ns <= now) {
            due = approval;
            due->timed_out = true;
            vec_remove(&box->approvals, i);
            break;
        }
        if (*ret_next_ns == 0 || approval->deadline_ns < *ret_next_ns) {
            *ret_next_ns = approval->deadline_ns;
        }
    }
    pthread_mutex_unlock(&box->lock);
    return due;
}

static void
watch_deadlines(void *data)
{
    abx_box *box = data;
    struct approval *due;
    uint64_t next_ns;

    loop_timer_clear(box->context->loop, &box->timer);
    while ((due = take_due(box, clock_now_ns(), &next_ns)) != NULL) {
        approval_end(box, due, ABX_VERDICT_DENY,
                due->n_yes > 0 ? "1 of 2 approvers agreed in time"
                               : "nobody answered before the deadline");
    }
    if (next_ns != 0) {
        loop_timer_set(box->context->loop, &box->timer, next_ns, watch_deadlines, box);
    }
}

/* ---- asking ---- */
static abx_event *
make_event(abx_box *box, abx_process *process, const struct approval *approval)
{
    const struct grant grant = approval_grant(approval);
    struct str adds = { 0 };
    struct event_draft draft;
    abx_event *event;

    grant_adds(&grant, &adds);
    tell_begin(&draft, box,
            approval_is_for_secret(approval) ? ABX_EVENT_CREDENTIAL : ABX_EVENT_APPROVAL,
            approval->subject.command, process == NULL ? NULL : process->label);
    tell_act(&draft, &approval->subject, &approval->act, &approval->grounds);
    draft_number(&draft, ABX_FIELD_TICKET, (int64_t)approval->ticket);
    draft_number(&draft, ABX_FIELD_DEADLINE_MS, approval->deadline_ms);
    if (approval->needs.approvers > 1) {
        draft_number(&draft, ABX_FIELD_APPROVERS, approval->needs.approvers);
    }
    if (approval->needs.step_up) {
        draft_number(&draft, ABX_FIELD_STEP_UP, 1);
    }
    draft_text(&draft, ABX_FIELD_BOUND, approval->bound);
    draft_text(&draft, ABX_FIELD_ADDS, approval_is_for_secret(approval) ? NULL : adds.data);
    event = adds.failed ? NULL : event_make(&draft);
    str_done(&adds);
    return event;
}

/* Counts a question into its minute; false if the minute is full. */
static bool
within_rate(abx_box *box)
{
    uint64_t most = policy_get_settings(box->resolved)->approvals_per_minute;
    uint64_t now = clock_now_ns();

    if (now - box->minute_ns >= MINUTE_NS) {
        box->minute_ns = now;
        box->asked = 0;
    }
    if (most != 0 && box->asked >= most) {
        return false;
    }
    box->asked++;
    return true;
}

/* Puts a new question into the list and tells it; the box is locked.  NULL, or why
 * it cannot be asked. */
static const char *
put(abx_box *box, abx_process *process, struct approval *approval, struct grounds *grounds)
{
    abx_event *event = make_event(box, process, approval);
    struct approval **place = event == NULL ? NULL : vec_add(&box->approvals);
    struct fail fail;

    if (place == NULL || !loop_post(box->context->loop, watch_deadlines, box)) {
        box->approvals.count -= place == NULL ? 0 : 1;
        event_unref(event);
        return "out of memory: it cannot be asked";
    }
    *place = approval;
    if (process != NULL) {
        process_seen(process, approval->program);
    }
    if (outlet_permit(&box->outlet, event, &fail) < 0) {
        box->approvals.count--;
        grounds->layer = ABX_LAYER_AUDIT;
        return "the audit log cannot be written, so it cannot be asked";
    }
    stats_add(&box->context->stats, STAT_ASKED, 1);
    return NULL;
}

static const char *
ask_locked(abx_box *box, abx_process *process, struct approval *fresh, uint64_t *ret_ticket,
        struct grounds *grounds)
{
    struct approval *open = find_equal(&box->approvals, &fresh->subject, &fresh->act);

    if (open != NULL) {
        count_wait(box, open);
        open->waiters++;
        *ret_ticket = open->ticket;
        approval_free(fresh);
        return NULL;
    }
    if (box->killed || box->ended) {
        /* It waits for its own end, which is near; nobody is asked and nothing is refused. */
        *ret_ticket = fresh->ticket;
        approval_free(fresh);
        return NULL;
    }
    if (box->approvals.count >= APPROVALS_MAX) {
        grounds->failure = ABX_CLASS_LIMIT;
        return "too many questions are open";
    }
    if (!within_rate(box)) {
        grounds->failure = ABX_CLASS_LIMIT;
        grounds->alternative = "do what needs no question first, and try it again in a minute";
        return "too many questions in this minute";
    }
    *ret_ticket = fresh->ticket;
    return put(box, process, fresh, grounds);
}

bool
approvals_ask(abx_box *box, abx_process *process, const struct subject *subject,
        const struct act *act, const struct ruling *ruling, uint64_t *ret_ticket,
        struct grounds *grounds)
{
    struct approval *fresh = approval_new(box, subject, act, ruling);
    const char *refused = "out of memory: it cannot be asked";

    if (fresh != NULL) {
        pthread_mutex_lock(&box->lock);
        refused = ask_locked(box, process, fresh, ret_ticket, grounds);
        pthread_mutex_unlock(&box->lock);
    }
    if (refused == NULL) {
        return true;
    }
    approval_free(fresh);
    grounds->reason = refused;
    return false;
}

/* ---- questions that nobody waits for any more ---- */

/* A notice, since nobody refused it. */
static void
tell_abandoned(abx_box *box, abx_process *process, const struct approval *approval)
{
    struct grounds grounds = approval->grounds;

    grounds.layer = approval_is_for_secret(approval) ? ABX_LAYER_IDENTITY : ABX_LAYER_APPROVAL;
    grounds.failure = approval_is_for_secret(approval) ? ABX_CLASS_IDENTITY : ABX_CLASS_APPROVAL;
    grounds.retry = ABX_RETRY_NONE;
    grounds.reason = approval_is_the_hosts(approval) ? "the box ended before anybody answered"
                                                     : "the command ended before anybody answered";
    grounds.alternative = "run it again when somebody is there to answer, with time for that";
    tell(box, process, ABX_EVENT_NOTICE, &approval->subject, &approval->act, &grounds, 1);
}

/* Takes it; it is out of the list, and the box is unlocked. */
static void
abandon(abx_box *box, struct approval *approval)
{
    AUTO(process_unrefp) abx_process *process = box_find(box, approval->subject.command);

    count_end(box, approval, STAT_ABANDONED);
    tell_abandoned(box, process, approval);
    approval_free(approval);
}

static bool
is_running(abx_box *box, uint64_t command)
{
    for (size_t i = 0; i < box->processes.count; i++) {
        if ((*vec_at(&box->processes, abx_process *, i))->id == command) {
            return true;
        }
    }
    return false;
}

void
approvals_withdraw(abx_box *box, uint64_t ticket)
{
    struct approval *approval, *last = NULL;
    size_t i;

    pthread_mutex_lock(&box->lock);
    approval = approval_find(&box->approvals, ticket, &i);
    if (approval != NULL && approval->waiters > 0) {
        count_wait(box, approval);
        approval->waiters--;
        if (approval->waiters == 0 && !approval_is_the_hosts(approval) &&
                !is_running(box, approval->subject.command)) {
            vec_remove(&box->approvals, i);
            last = approval;
        }
    }
    pthread_mutex_unlock(&box->lock);
    if (last != NULL) {
        abandon(box, last);
    }
}

/* Takes a question of the command (NULL: of any) out that nobody waits for, or one that is held,
 * too; NULL: there is none left. */
static struct approval *
take_question(abx_box *box, const uint64_t *command, bool also_held)
{
    struct approval *found = NULL;

    pthread_mutex_lock(&box->lock);
    for (size_t i = 0; i < box->approvals.count && found == NULL; i++) {
        struct approval *approval = *vec_at(&box->approvals, struct approval *, i);

        if ((command == NULL || approval->subject.command == *command) &&
                (also_held || approval->waiters == 0)) {
            found = approval;
            vec_remove(&box->approvals, i);
        }
    }
    pthread_mutex_unlock(&box->lock);
    return found;
}

void
approvals_abandon(abx_box *box, uint64_t command, bool is_killed)
{
    struct approval *approval;

    while ((approval = take_question(box, &command, is_killed)) != NULL) {
        const uint64_t ticket = approval->ticket;
        const bool is_held = approval->waiters > 0;

        abandon(box, approval);
        if (is_held) { /* by what may outlive the command */
            box->context->backend->answer(box->boundary, ticket, ABX_VERDICT_DENY);
            if (box->egress != NULL) {
                egress_answer(box->egress, ticket, ABX_VERDICT_DENY, NULL);
            }
        }
    }
}

void
approvals_end_command(abx_box *box, uint64_t command)
{
    approvals_abandon(box, command, false);
    pthread_mutex_lock(&box->lock);
    grants_end_command(&box->grants, command);
    action_counts_end_command(&box->action_counts, command);
    pthread_mutex_unlock(&box->lock);
}

void
approvals_done(abx_box *box)
{
    struct approval *approval;

    loop_timer_clear(box->context->loop, &box->timer);
    while ((approval = take_question(box, NULL, true)) != NULL) {
        abandon(box, approval);
    }
    pthread_mutex_lock(&box->lock);
    vec_done(&box->approvals);
    pthread_mutex_unlock(&box->lock);
}
