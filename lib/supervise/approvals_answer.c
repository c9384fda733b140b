/* SPDX-License-Identifier: Apache-2.0
 * Answers to questions: a yes, which may bring a grant, a no, or a secret, which answers all that
 * are open for its credential.  Any thread that holds no lock. */
#include "supervise/approvals_private.h"

#include "egress/egress.h"
#include "supervise/recording.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define AFTERWARDS_NS                                                                              \
    5000000000u /* an interrupted caller may ask again this long after the answer */

abx_box *
approvals_find_box(abx_context *context, uint64_t ticket)
{
    abx_box *found = NULL;
    size_t index;

    pthread_mutex_lock(&context->lock);
    for (size_t i = 0; i < context->boxes.count && found == NULL; i++) {
        abx_box *box = *vec_at(&context->boxes, abx_box *, i);

        pthread_mutex_lock(&box->lock);
        if (approval_find(&box->approvals, ticket, &index) != NULL && box_try_ref(box)) {
            found = box;
        }
        pthread_mutex_unlock(&box->lock);
    }
    pthread_mutex_unlock(&context->lock);
    return found;
}

/* Adds the grant that a yes brings besides letting the call go on; the box is locked. */
static bool
add_grant(abx_box *box, const struct approval *approval, const struct consented *yes)
{
    bool is_once = yes->scope == ABX_SCOPE_ONCE ||
                   (approval_is_the_hosts(approval) && yes->scope == ABX_SCOPE_COMMAND);
    bool failed = false;
    struct grant grant = approval_grant(approval);

    grant.command =
            yes->for_command || yes->scope == ABX_SCOPE_ONCE ? approval->subject.command : 0;
    if (grant.command == 0 && yes->scope <= ABX_SCOPE_COMMAND && !approval_is_the_hosts(approval)) {
        return true; /* whose it is cannot be told: once, then */
    }
    if (is_once) {
        if (approval->waiters > 0) {
            return true;
        }
        grant.uses = 1;
        grant.expires_ns =
                clock_now_ns() +
                (approval_is_the_hosts(approval)
                                ? policy_get_settings(box->resolved)->approval_timeout_ms * 1000000u
                                : AFTERWARDS_NS);
    }
    if (yes->scope == ABX_SCOPE_UNTIL) {
        grant.expires_ms = yes->expires_ms;
        grant.expires_ns = grant_deadline(yes->expires_ms);
    }
    grant.ticket = approval->ticket;
    grant.id = atomic_fetch_add(&box->context->last_ticket, 1) + 1;
    grant.target = approval_copy(grant.target, &failed);
    grant.verb = approval_copy(grant.verb, &failed);
    grant.bound =
            approval_copy(yes->scope == ABX_SCOPE_ONCE ? approval->bound : grant.bound, &failed);
    grant.approver = approval_copy(yes->approver, &failed);
    if (failed || !grants_add(&box->grants, &grant)) {
        grant_done(&grant);
        return false;
    }
    return true;
}

/* A notice; the box is locked.  Where this fails the yes does not count. */
static abx_status
tell_yes(abx_box *box, const struct approval *approval, const struct consented *yes,
        abx_process *process, struct fail *fail)
{
    static const char *const reasons[] = {
        [ABX_SCOPE_ONCE] = "the approver said yes, once",
        [ABX_SCOPE_COMMAND] = "the approver said yes, for this command",
        [ABX_SCOPE_BOX] = "the approver said yes, for this box",
        [ABX_SCOPE_UNTIL] = "the approver said yes, for a while",
    };
    struct grounds grounds = approval->grounds;
    struct act act = approval->act;
    struct event_draft draft;

    act.verb = "approve";
    grounds.layer = ABX_LAYER_APPROVAL;
    grounds.reason = approval->n_yes + 1 < approval->needs.approvers
                             ? "one of two approvers said yes"
                             : reasons[yes->scope];
    grounds.alternative = NULL;
    grounds.approver = yes->approver;
    grounds.evidence = yes->evidence;
    tell_begin(&draft, box, ABX_EVENT_NOTICE, approval->subject.command,
            process == NULL ? NULL : process->label);
    tell_act(&draft, &approval->subject, &act, &grounds);
    draft_number(&draft, ABX_FIELD_TICKET, (int64_t)approval->ticket);
    return outlet_permit(&box->outlet, event_make(&draft), fail);
}

/* The box is locked.  ABX_OK: it is answered, with a grant where the yes is for longer. */
static abx_status
take_yes(abx_box *box, struct approval *approval, const abx_answer *answer, abx_process *process,
        struct fail *fail)
{
    struct consented yes;
    abx_status r, told;

    if (approval_is_for_secret(approval)) {
        fail_set(fail, ABX_ERR_INVALID, 0, "answer:verdict", "the question is for a secret");
        fail_remedy(fail, "give it with abx_context_supply, or answer no");
        return ABX_ERR_INVALID;
    }
    r = consent_count(approval, answer, &yes, fail);
    if (r < 0) {
        return r;
    }
    told = tell_yes(box, approval, &yes, process, fail);
    if (told < 0) {
        approval->unrecorded = told == ABX_ERR_IO;
    } else if (r == ABX_OK && !add_grant(box, approval, &yes)) {
        told = fail_nomem(fail);
    }
    if (told < 0) {
        consented_done(&yes);
        return told;
    }
    consented_done(&approval->yes);
    approval->yes = yes;
    approval->n_yes++;
    return r;
}

/* What the command that a question is of is called; the caller releases it. */
static abx_process *
process_of(abx_box *box, uint64_t ticket)
{
    const struct approval *approval;
    uint64_t command;
    size_t i;

    pthread_mutex_lock(&box->lock);
    approval = approval_find(&box->approvals, ticket, &i);
    command = approval == NULL ? 0 : approval->subject.command;
    pthread_mutex_unlock(&box->lock);
    return box_find(box, command);
}

abx_status
approvals_answer(abx_box *box, uint64_t ticket, const abx_answer *answer, struct fail *fail)
{
    AUTO(process_unrefp) abx_process *process = process_of(box, ticket);
    struct approval *approval;
    abx_status r = ABX_OK;
    bool is_over;
    size_t i;

    pthread_mutex_lock(&box->lock);
    approval = approval_find(&box->approvals, ticket, &i);
    if (approval == NULL) {
        r = fail_set(fail, ABX_ERR_STATE, 0, "answer:ticket", "no open question has this ticket");
    } else if (answer->verdict == ABX_VERDICT_ALLOW) {
        r = identity_check(box->identity, fail);
        approval->came_late = r < 0;
        r = r < 0 ? r : take_yes(box, approval, answer, process, fail);
    }
    is_over = r == ABX_OK || (approval != NULL && (approval->unrecorded || approval->came_late));
    if (is_over) {
        vec_remove(&box->approvals, i);
    }
    pthread_mutex_unlock(&box->lock);
    if (!is_over) {
        return r;
    }
    if (r < 0) { /* or it came late, which the end of the question says */
        approval_end(box, approval, ABX_VERDICT_DENY,
                "the audit log cannot be written, so the answer does not count");
        return r;
    }
    approval->grounds.approver =
            answer->verdict == ABX_VERDICT_ALLOW ? approval->yes.approver : answer->approver;
    approval_end(box, approval, answer->verdict,
            answer->message == NULL || answer->message[0] == '\0' ? "the approver refused"
                                                                  : answer->message);
    return ABX_OK;
}

/* ---- secrets ---- */

/* Takes a question out that this secret answers; NULL: there is none left. */
static struct approval *
take_for_secret(abx_box *box, const char *name)
{
    struct approval *found = NULL;

    pthread_mutex_lock(&box->lock);
    for (size_t i = 0; i < box->approvals.count && found == NULL; i++) {
        struct approval *approval = *vec_at(&box->approvals, struct approval *, i);

        if (approval_is_for_secret(approval) && strcmp(approval->target, name) == 0) {
            found = approval;
            vec_remove(&box->approvals, i);
        }
    }
    pthread_mutex_unlock(&box->lock);
    return found;
}

abx_status
approvals_set_secret(abx_box *box, const char *name, const void *secret, size_t length,
        int64_t expires_ms, struct fail *fail)
{
    struct approval *approval;
    abx_status r;

    if (box->egress == NULL) {
        return fail_set(fail, ABX_ERR_STATE, 0, "credential:box",
                "the box has no way out, so nothing takes a secret");
    }
    r = record_supply(box, name, expires_ms, fail);
    if (r == ABX_OK) {
        r = egress_set_secret(box->egress, name, secret, length, expires_ms, fail);
    }
    while (r == ABX_OK && (approval = take_for_secret(box, name)) != NULL) {
        approval_end(box, approval, ABX_VERDICT_ALLOW, NULL);
    }
    return r;
}

abx_status
approvals_supply(abx_box *box, uint64_t ticket, const void *secret, size_t length,
        int64_t expires_ms, struct fail *fail)
{
    AUTO(freep) char *name = NULL;
    struct approval *approval;
    abx_status r = ABX_OK;
    bool came_late;
    size_t i;

    pthread_mutex_lock(&box->lock);
    approval = approval_find(&box->approvals, ticket, &i);
    if (approval == NULL) {
        r = fail_set(fail, ABX_ERR_STATE, 0, "supply:ticket", "no open question has this ticket");
    } else if (!approval_is_for_secret(approval)) {
        r = fail_set(fail, ABX_ERR_INVALID, 0, "supply:ticket",
                "the question with this ticket is for no secret");
    } else if (identity_check(box->identity, fail) < 0) {
        r = fail->status;
        approval->came_late = true;
        vec_remove(&box->approvals, i);
    } else {
        name = strdup(approval->target);
        r = name == NULL ? fail_nomem(fail) : ABX_OK;
    }
    came_late = r < 0 && approval != NULL && approval->came_late;
    pthread_mutex_unlock(&box->lock);
    if (came_late) {
        approval_end(box, approval, ABX_VERDICT_DENY, NULL);
    }
    return r < 0 ? r : approvals_set_secret(box, name, secret, length, expires_ms, fail);
}
