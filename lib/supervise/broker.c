/* SPDX-License-Identifier: Apache-2.0
 * Answers the backend: policy first, then the content where it decides, then grants, then a
 * question. Runs on the supervisor thread and on workers of the backend; takes the box's lock for
 * moments only, and none at all for what the policy allows. */
#include "supervise/actions.h"
#include "supervise/approvals.h"
#include "supervise/content.h"
#include "supervise/observe.h"
#include "supervise/telling.h"

#include "base/mem.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Whether a grant may lift this: what is asked about, and what no layer has a rule for.  A box
 * without a way out gets none by a grant. */
static bool
is_liftable(abx_box *box, uint32_t request, const struct ruling *ruling)
{
    if ((request == ABX_REQUEST_CONNECT || request == ABX_REQUEST_HTTP) &&
            box->plan.network == NETWORK_NONE) {
        return false;
    }
    return ruling->verdict == ABX_VERDICT_ASK ||
           (ruling->from_default && !ruling->by_content &&
                   ruling->layer + 1 >= policy_layer_count(box->resolved));
}

static bool
is_granted(abx_box *box, const abx_request *request, uint64_t command, const struct act *act,
        struct by *ret_by)
{
    enum cover cover;

    pthread_mutex_lock(&box->lock);
    cover = grants_use(
            &box->grants, request, act->bound, command, !act->quiet && !act->looks, ret_by);
    pthread_mutex_unlock(&box->lock);
    if (cover == COVER_COUNTED && act->counted != NULL) {
        *act->counted = ret_by->grant;
    }
    if (cover != COVER_NONE && act->by != NULL) {
        *act->by = ret_by->grant;
    }
    return cover != COVER_NONE;
}

/* For a program that can be told in its own protocol. */
static void
write_refusal(struct refusal *refusal, const struct grounds *grounds)
{
    if (refusal != NULL) {
        *refusal = (struct refusal){ 0 };
        snprintf(refusal->rule, sizeof refusal->rule, "%s", grounds->rule);
        snprintf(refusal->reason, sizeof refusal->reason, "%s", grounds->reason);
        snprintf(refusal->alternative, sizeof refusal->alternative, "%s",
                grounds->alternative == NULL ? "" : grounds->alternative);
    }
}

static abx_verdict
deny(abx_box *box, const struct subject *subject, const struct act *act,
        const struct grounds *grounds)
{
    AUTO(process_unrefp) abx_process *process = box_find(box, subject->command);

    tell(box, process, ABX_EVENT_DENIAL, subject, act, grounds, 1);
    write_refusal(act->refusal, grounds);
    return ABX_VERDICT_DENY;
}

/* Tells nobody of what is only looked at. */
static abx_verdict
refuse(abx_box *box, const struct subject *subject, const struct act *act,
        const struct grounds *grounds)
{
    if (!act->quiet) {
        return deny(box, subject, act, grounds);
    }
    write_refusal(act->refusal, grounds);
    return ABX_VERDICT_DENY;
}

static abx_verdict
ask(abx_box *box, const struct subject *subject, const struct act *act, const struct ruling *ruling,
        uint64_t *ret_ticket)
{
    AUTO(process_unrefp) abx_process *process = box_find(box, subject->command);
    struct grounds grounds = {
        .layer = act->request == ABX_REQUEST_CREDENTIAL ? ABX_LAYER_IDENTITY : ABX_LAYER_APPROVAL,
        .retry = ABX_RETRY_RERUN,
        .rule = ruling->id,
        .source = ruling->source,
        .reason = ruling->reason,
        .alternative = ruling->alternative,
    };

    if (approvals_ask(box, process, subject, act, ruling, ret_ticket, &grounds)) {
        write_refusal(act->refusal, &grounds);
        if (act->key != NULL && act->action != NULL) {
            action_key(box, *ret_ticket, act->key);
        }
        return ABX_VERDICT_ASK;
    }
    return deny(box, subject, act, &grounds);
}

/* A request comes over a connection about which the broker was asked before. */
static abx_verdict
rule_on(abx_box *box, const abx_request *request, struct ruling *ret_ruling)
{
    return request->kind == ABX_REQUEST_HTTP ? policy_decide_connected(box->resolved,
                                                       request->target, request->verb, ret_ruling)
                                             : policy_decide(box->resolved, request, ret_ruling);
}

bool
broker_may_grant(abx_box *box, const abx_request *request, struct ruling *ret_ruling)
{
    return rule_on(box, request, ret_ruling) == ABX_VERDICT_ALLOW ||
           is_liftable(box, request->kind, ret_ruling);
}

/* What goes out of the box is done in somebody's name. */
static bool
goes_out(uint32_t request)
{
    return request == ABX_REQUEST_CONNECT || request == ABX_REQUEST_HTTP ||
           request == ABX_REQUEST_SOCKET || request == ABX_REQUEST_ACTION ||
           request == ABX_REQUEST_CREDENTIAL;
}

/* Nobody answers for what is done after a delegation has expired: neither the policy for what goes
 * out, nor whoever would be asked.  What a policy denies is its own denial. */
static bool
lacks_delegation(const abx_box *box, const struct act *act, abx_verdict verdict)
{
    return (verdict == ABX_VERDICT_ASK ||
                   (verdict == ABX_VERDICT_ALLOW && goes_out(act->request))) &&
           identity_is_over(box->identity);
}

/* What the policy or a grant (`by`, else NULL) allows is done now, if it can be counted and
 * recorded. */
static abx_verdict
begin(abx_box *box, const struct subject *subject, const struct act *act,
        const struct ruling *ruling, const struct by *by)
{
    struct grounds grounds = { .rule = ruling->id, .source = ruling->source };
    char reason[256], rule[GRANT_RULE_SIZE];
    uint32_t denied;

    if (act->action == NULL || act->quiet) {
        return ABX_VERDICT_ALLOW;
    }
    if (by != NULL) {
        grounds.approver = by->approver[0] == '\0' ? NULL : by->approver;
    }
    if (by != NULL && !by->is_answer) {
        grant_rule(by->grant, rule);
        grounds.rule = rule;
        grounds.source = NULL;
    }
    denied = action_begin(box, subject, act, &grounds, 1, 0, reason, sizeof reason);
    if (denied == 0) {
        return ABX_VERDICT_ALLOW;
    }
    grounds = action_refused_grounds(box, ruling, act->action, denied, reason);
    return deny(box, subject, act, &grounds);
}

/* What a grant allows: what cannot be done takes no use of it. */
static abx_verdict
begin_granted(abx_box *box, const struct subject *subject, const struct act *act,
        const struct ruling *ruling, const struct by *by)
{
    const abx_verdict verdict = begin(box, subject, act, ruling, by);

    if (by->is_held) {
        pthread_mutex_lock(&box->lock);
        grants_used(&box->grants, by->grant, verdict == ABX_VERDICT_ALLOW);
        pthread_mutex_unlock(&box->lock);
    }
    return verdict;
}

/* What the policy allows, where a box that observes can record it. */
static abx_verdict
allow(abx_box *box, const struct subject *subject, const struct act *act,
        const struct ruling *ruling)
{
    struct grounds grounds = { .layer = ABX_LAYER_AUDIT,
        .rule = ruling->id,
        .source = ruling->source,
        .reason = "the audit log cannot be written, so it is not done",
        .alternative = "" };

    if (observe(box, subject, act)) {
        return begin(box, subject, act, ruling, NULL);
    }
    return refuse(box, subject, act, &grounds);
}

/* False: an action was done as often as it may be, and `reason` says so. */
static bool
has_room(abx_box *box, const struct subject *subject, const struct act *act, char *reason,
        size_t reason_room)
{
    return act->action == NULL || act->quiet ||
           action_has_room(box, act->action, subject->command, 1, reason, reason_room);
}

/* What the ruling says, and content, grants and people. */
static abx_verdict
decide_ruled(abx_box *box, const struct subject *subject, const struct act *act,
        const struct ruling *ruling, uint64_t *ret_ticket)
{
    const abx_request request = act_request(act);
    bool is_liftable_now = is_liftable(box, act->request, ruling);
    char why[256];
    struct by by;
    struct grounds grounds = {
        .retry = is_liftable_now ? ABX_RETRY_RERUN : ABX_RETRY_NONE,
        .rule = ruling->id,
        .source = ruling->source,
        .reason = ruling->reason,
        .alternative = ruling->alternative,
    };

    if (ruling->verdict == ABX_VERDICT_ALLOW) {
        /* of a secret: it may go there, and is not there yet */
        return act->request == ABX_REQUEST_CREDENTIAL ? ask(box, subject, act, ruling, ret_ticket)
                                                      : allow(box, subject, act, ruling);
    }
    if (ruling->by_content && act->content >= 0) {
        if (act->judged != NULL) {
            *act->judged = true;
        }
        if (content_allows(box->resolved, box->context->backend->host, act->target, act->content,
                    why, sizeof why)) {
            return ABX_VERDICT_ALLOW;
        }
        grounds.reason = why;
    }
    /* Nobody is asked about what could not be done, and no use of a grant is taken for it. */
    if ((is_liftable_now || ruling->verdict == ABX_VERDICT_ASK) &&
            !has_room(box, subject, act, why, sizeof why)) {
        grounds = action_refused_grounds(box, ruling, act->action, ABX_LAYER_LIMIT, why);
        return deny(box, subject, act, &grounds);
    }
    if (is_liftable_now && !identity_is_over(box->identity) &&
            is_granted(box, &request, subject->command, act, &by)) {
        return begin_granted(box, subject, act, ruling, &by);
    }
    if (act->quiet) {
        write_refusal(act->refusal, &grounds);
        return ruling->verdict;
    }
    if (ruling->verdict == ABX_VERDICT_ASK) {
        return ask(box, subject, act, ruling, ret_ticket);
    }
    return deny(box, subject, act, &grounds);
}

/* Why an action that cannot be read is denied: by the policy, or for what it would be done with. */
static struct grounds
unread_grounds(abx_box *box, const struct asked_action *asked, const struct ruling *ruling,
        const struct fail *fail)
{
    const bool is_denied = ruling->verdict == ABX_VERDICT_DENY;
    struct ruling unread = *ruling;

    policy_action_unread(
            box->resolved, asked->name != NULL ? asked->name : asked->act.target, fail, &unread);
    return (struct grounds){
        .layer = is_denied ? 0 : ABX_LAYER_ACTION,
        .retry = ABX_RETRY_NONE,
        .rule = unread.id,
        .source = unread.source,
        .reason = unread.reason,
        .alternative = unread.alternative,
    };
}

/* An action, or a request that may be one: it is read before anything else, so that nothing lets
 * it through as something else, and nobody is asked about arguments that do not fit. */
static abx_verdict
decide_action(abx_box *box, const struct subject *subject, const struct act *act,
        const struct ruling *ruling, uint64_t *ret_ticket)
{
    AUTO(asked_action_done) struct asked_action asked;
    struct fail fail = { 0 };
    const bool is_read = action_read(box, act, &asked, &fail);
    struct grounds grounds;

    if (lacks_delegation(box, act, ruling->verdict)) {
        grounds = identity_grounds(box);
        return refuse(box, subject, &asked.act, &grounds);
    }
    if (!is_read) {
        grounds = unread_grounds(box, &asked, ruling, &fail);
        return refuse(box, subject, &asked.act, &grounds);
    }
    return decide_ruled(box, subject, &asked.act, ruling, ret_ticket);
}

static abx_verdict
decide(void *data, const struct subject *subject, const struct act *act, uint64_t *ret_ticket)
{
    abx_box *box = data;
    const abx_request request = act_request(act);
    bool may_be_action = act->request == ABX_REQUEST_HTTP || act->request == ABX_REQUEST_ACTION;
    struct ruling ruling;
    struct grounds grounds;

    rule_on(box, &request, &ruling);
    if (may_be_action) {
        return decide_action(box, subject, act, &ruling, ret_ticket);
    }
    if (lacks_delegation(box, act, ruling.verdict)) {
        grounds = identity_grounds(box);
        return refuse(box, subject, act, &grounds);
    }
    if (ruling.verdict == ABX_VERDICT_ALLOW && act->request != ABX_REQUEST_CREDENTIAL) {
        return allow(box, subject, act, &ruling);
    }
    if (atomic_load(&box->trying)) {
        return ABX_VERDICT_DENY;
    }
    return decide_ruled(box, subject, act, &ruling, ret_ticket);
}

static void
revoked(void *data, const struct subject *subject, const struct act *act)
{
    static const struct grounds grounds = {
        .layer = ABX_LAYER_APPROVAL,
        .retry = ABX_RETRY_NONE,
        .rule = "grant:revoked",
        .reason = "the host took the grant back",
    };
    struct asked_action asked;
    struct fail unread;

    action_read(data, act, &asked, &unread);
    deny(data, subject, &asked.act, &grounds);
    asked_action_done(&asked);
}

static bool
holds(void *data, const struct subject *subject, const struct act *act, uint64_t by)
{
    abx_box *box = data;
    bool is_revoked;

    pthread_mutex_lock(&box->lock);
    is_revoked = revoked_has(&box->revoked, by);
    pthread_mutex_unlock(&box->lock);
    if (is_revoked) {
        revoked(box, subject, act);
    }
    return !is_revoked;
}

static void
withdraw(void *data, uint64_t ticket)
{
    approvals_withdraw(data, ticket);
}

static void
report(void *data, uint32_t type, const struct subject *subject, const struct act *act,
        const char *rule, const char *reason, const char *alternative)
{
    abx_box *box = data;
    AUTO(process_unrefp) abx_process *process = box_find(box, subject->command);
    struct grounds grounds = {
        .retry = ABX_RETRY_NONE,
        .rule = rule == NULL ? "boundary" : rule,
        .source = act->reply == NULL ? "boundary" : "upstream",
        .reason = reason,
        .alternative = alternative,
    };

    if (!atomic_load(&box->trying)) {
        tell(box, process, type, subject, act, &grounds, 1);
    }
}

static void
accepted(void *data, const struct subject *subject, const struct act *act)
{
    abx_box *box = data;
    AUTO(process_unrefp) abx_process *process = box_find(box, subject->command);

    if (process != NULL) {
        tell_accepted(box, process, act);
    }
}

static void
exited(void *data, uint64_t command, const struct exit_status *status)
{
    AUTO(process_unrefp) abx_process *process = box_find(data, command);

    if (process != NULL) {
        approvals_abandon(
                data, command, status->reason == ABX_EXIT_SIGNAL && status->code == SIGKILL);
        process_finish(process, status);
        box_forget(data, process);
        approvals_end_command(data, command);
    }
}

static void
ended(void *data)
{
    box_ended(data);
}

void
broker_init(struct broker *broker, abx_box *box)
{
    *broker = (struct broker){
        .data = box,
        .decide = decide,
        .holds = holds,
        .revoked = revoked,
        .withdraw = withdraw,
        .report = report,
        .accepted = accepted,
        .exited = exited,
        .ended = ended,
    };
}
