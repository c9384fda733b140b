/* SPDX-License-Identifier: Apache-2.0
 * Owns the decisions that wait for an answer, in a list of their box.  An answer comes to the
 * egress thread as a post, so never before the broker's decide has returned its ticket. */
#include "egress/decide.h"

#include "egress/box.h"
#include "egress/thread.h"

#include <stdlib.h>
#include <string.h>

struct decision {
    struct egress_box *box;
    struct decision *next;
    uint64_t ticket;
    struct refusal refusal;
    decided_fn fn;
    void *data;
};

struct decision *
decision_start(struct egress_box *box, const struct subject *subject, const struct act *act,
        decided_fn fn, void *data)
{
    struct decision *decision = calloc(1, sizeof *decision);
    struct refusal refusal = { 0 };
    struct act mine = *act;
    uint64_t ticket = 0;
    abx_verdict verdict;

    mine.refusal = &refusal;
    verdict = box->broker->decide(box->broker->data, subject, &mine, &ticket);
    if (verdict != ABX_VERDICT_ASK || decision == NULL) {
        free(decision);
        if (verdict == ABX_VERDICT_ASK) {
            box->broker->withdraw(box->broker->data, ticket);
            refusal_set(&refusal, NULL, "out of memory: it cannot wait for an answer", NULL);
            verdict = ABX_VERDICT_DENY;
        }
        fn(data, verdict, verdict == ABX_VERDICT_ALLOW ? NULL : &refusal);
        return NULL;
    }
    *decision = (struct decision){ .box = box,
        .next = box->decisions,
        .ticket = ticket,
        .refusal = refusal,
        .fn = fn,
        .data = data };
    box->decisions = decision;
    return decision;
}

uint64_t
decision_ticket(const struct decision *decision)
{
    return decision->ticket;
}

static void
take_out(struct decision *decision)
{
    struct decision **place = &decision->box->decisions;

    while (*place != decision) {
        place = &(*place)->next;
    }
    *place = decision->next;
}

void
decision_cancel(struct decision *decision)
{
    if (decision != NULL) {
        take_out(decision);
        decision->box->broker->withdraw(decision->box->broker->data, decision->ticket);
        free(decision);
    }
}

/* ---- answers ---- */
struct answer {
    struct post post;
    struct egress_box *box;
    uint64_t ticket;
    abx_verdict verdict;
    char reason[sizeof((struct refusal *)0)->reason];
};

static void
finish(struct decision *decision, abx_verdict verdict, const char *reason)
{
    take_out(decision);
    decision->refusal.ticket = decision->ticket;
    if (reason[0] != '\0') {
        refusal_set(&decision->refusal, NULL, reason, NULL);
    }
    decision->fn(decision->data, verdict, verdict == ABX_VERDICT_ALLOW ? NULL : &decision->refusal);
    free(decision);
}

static struct decision *
find(const struct egress_box *box, uint64_t ticket)
{
    struct decision *decision = box->decisions;

    while (decision != NULL && decision->ticket != ticket) {
        decision = decision->next;
    }
    return decision;
}

static void
take_answer(struct post *post)
{
    struct answer *answer = (struct answer *)post;
    struct decision *decision;

    /* Whoever is told may start or cancel others, so the list is looked through again. */
    while ((decision = find(answer->box, answer->ticket)) != NULL) {
        finish(decision, answer->verdict, answer->reason);
    }
    free(answer);
}

/* An answer that there was no memory for could be to any question, so none is left open. */
static void
refuse_all(struct post *post)
{
    struct egress_box *box =
            (struct egress_box *)((char *)post - offsetof(struct egress_box, lost_answer));

    atomic_store(&box->answer_is_lost, false);
    while (box->decisions != NULL) {
        finish(box->decisions, ABX_VERDICT_DENY, "out of memory: the answer is lost");
    }
}

void
egress_answer(struct egress_box *box, uint64_t ticket, abx_verdict verdict, const char *reason)
{
    struct answer *answer = calloc(1, sizeof *answer);

    if (answer == NULL) {
        if (!atomic_exchange(&box->answer_is_lost, true)) {
            box->lost_answer.run = refuse_all;
            egress_post(box->egress, &box->lost_answer);
        }
        return;
    }
    answer->post.run = take_answer;
    answer->box = box;
    answer->ticket = ticket;
    answer->verdict = verdict;
    if (reason != NULL) {
        strncpy(answer->reason, reason, sizeof answer->reason - 1);
    }
    egress_post(box->egress, &answer->post);
}
