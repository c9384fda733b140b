/* SPDX-License-Identifier: Apache-2.0
 * Owns actions as they are asked for: by the host, or by a command as an HTTP request.  Both have
 * one form, one limit and one approval.  Takes the box's lock for moments. */
#include "supervise/actions.h"

#include "supervise/approvals.h"

#include "base/digest.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */
void
asked_action_done(struct asked_action *asked)
{
    free(asked->name);
    free(asked->asked);
    free(asked->arguments);
}

/* A request whose arguments the policy declares is decided as the action that it is; others as the
 * request, which counts. */
static bool
read_http(abx_box *box, const struct act *act, struct asked_action *asked, struct fail *fail)
{
    struct http_action http;
    struct action_input input = { .json = act->body, .json_length = act->body_length };
    struct action_form form = { NULL };
    struct str where = { 0 };
    const char *name;
    abx_status r;

    if (policy_http_action(box->resolved, act->target, act->verb, &http, fail) < 0) {
        name = policy_http_action_name(box->resolved, act->target, act->verb);
        asked->name = name == NULL ? NULL : strdup(name);
        return false;
    }
    if (http.name == NULL) {
        http_action_done(&http);
        return true;
    }
    asked->name = strdup(http.name);
    r = asked->name == NULL ? fail_nomem(fail) : ABX_OK;
    if (r == ABX_OK && policy_action_has_arguments(box->resolved, http.name)) {
        input.texts = http.texts.data;
        input.n_texts = http.texts.count;
        r = act->unreadable != NULL
                    ? fail_set(fail, ABX_ERR_DENIED, 0, "action:", "%s", act->unreadable)
                    : policy_action_read(box->resolved, http.name, &input, &form, fail);
        asked->act.action = asked->name;
        act_as_action(&asked->act, &where, &asked->act);
        asked->arguments = form.arguments;
        asked->asked = str_steal(&where, NULL);
        if (r == ABX_OK && asked->asked == NULL) {
            r = fail_nomem(fail);
        }
        asked->act.verb = asked->arguments;
        asked->act.asked = asked->asked;
        if (!bound_is_upgrade(act->bound)) {
            asked->act.bound = NULL; /* its arguments are all that it asks for */
        }
    }
    http_action_done(&http);
    return r == ABX_OK;
}

static bool
read_named(abx_box *box, const struct act *act, struct asked_action *asked, struct fail *fail)
{
    struct action_input input = { .json = act->verb, .json_length = strlen(act->verb) };
    struct action_form form;

    if (policy_action_read(box->resolved, act->target, &input, &form, fail) < 0) {
        return false;
    }
    asked->arguments = form.arguments;
    asked->name = strdup(act->target);
    asked->act.verb = form.arguments;
    if (asked->name == NULL) {
        fail_nomem(fail);
    }
    return asked->name != NULL;
}

bool
action_read(abx_box *box, const struct act *act, struct asked_action *ret_asked, struct fail *fail)
{
    bool ok = true;

    *ret_asked = (struct asked_action){ .act = *act };
    if (act->request == ABX_REQUEST_HTTP) {
        ok = read_http(box, act, ret_asked, fail);
    } else if (act->request == ABX_REQUEST_ACTION) {
        ok = read_named(box, act, ret_asked, fail);
    }
    ret_asked->act.action = ret_asked->name;
    return ok;
}

/* ---- counting ---- */
void
action_counts_done(struct vec *counts)
{
    for (size_t i = 0; i < counts->count; i++) {
        free(vec_at(counts, struct action_count, i)->name);
    }
    vec_done(counts);
}

void
action_counts_end_command(struct vec *counts, uint64_t command)
{
    for (size_t i = counts->count; i-- > 0;) {
        struct action_count *count = vec_at(counts, struct action_count, i);

        if (count->command == command && command != 0) {
            free(count->name);
            vec_remove(counts, i);
        }
    }
}

/* The box is locked.  NULL: it was never begun. */
static struct action_count *
find_count(abx_box *box, const char *name, uint64_t command)
{
    for (size_t i = 0; i < box->action_counts.count; i++) {
        struct action_count *count = vec_at(&box->action_counts, struct action_count, i);

        if (count->command == command && strcmp(count->name, name) == 0) {
            return count;
        }
    }
    return NULL;
}

static bool
add_count(abx_box *box, const char *name, uint64_t command)
{
    char *copy = strdup(name);
    struct action_count *count = copy == NULL ? NULL : vec_add(&box->action_counts);

    if (count == NULL) {
        free(copy);
        return false;
    }
    *count = (struct action_count){ copy, command, 0 };
    return true;
}

static bool
has_room(abx_box *box, const char *name, uint64_t command, uint32_t limit, const char *where,
        uint32_t times, char *reason, size_t reason_room)
{
    const struct action_count *count = find_count(box, name, command);
    uint32_t n = count == NULL ? 0 : count->n, left = n < limit ? limit - n : 0;

    if (limit == 0 || times <= left) {
        return true;
    }
    snprintf(reason, reason_room,
            "the action '%.100s' may be done %u time%s in one %s: %u of %u left, and %u wanted",
            name, limit, limit == 1 ? "" : "s", where, left, limit, times);
    return false;
}

/* The box is locked.  What the host asks for is of no command. */
static bool
has_room_locked(abx_box *box, const char *name, uint64_t command, uint32_t times, char *reason,
        size_t reason_room)
{
    struct action_limits limits = policy_action_limits(box->resolved, name);

    return has_room(box, name, 0, limits.per_box, "box", times, reason, reason_room) &&
           (command == 0 || has_room(box, name, command, limits.per_command, "command", times,
                                    reason, reason_room));
}

bool
action_has_room(abx_box *box, const char *name, uint64_t command, uint32_t times, char *reason,
        size_t reason_room)
{
    bool has;

    pthread_mutex_lock(&box->lock);
    has = has_room_locked(box, name, command, times, reason, reason_room);
    pthread_mutex_unlock(&box->lock);
    return has;
}

struct grounds
action_refused_grounds(abx_box *box, const struct ruling *ruling, const char *name, uint32_t layer,
        const char *reason)
{
    const abx_request request = {
        .size = sizeof request, .kind = ABX_REQUEST_ACTION, .target = name
    };
    struct ruling of_action;

    if (layer == ABX_LAYER_LIMIT) { /* which the action has, and no rule about requests */
        policy_decide(box->resolved, &request, &of_action);
        ruling = &of_action;
    }
    return (struct grounds){
        .layer = layer,
        .retry = ABX_RETRY_NONE,
        .rule = ruling->id,
        .source = ruling->source,
        .reason = reason,
        .alternative = layer != ABX_LAYER_LIMIT
                               ? NULL
                               : "do without it, or ask who wrote the policy for a higher limit",
    };
}

/* ---- doing ---- */
void
action_key(abx_box *box, uint64_t ticket, char ret_key[ACTION_KEY_SIZE])
{
    uint64_t parts[3] = { box->id, ticket, 0 };
    uint8_t digest[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];

    if (ticket == 0) {
        parts[1] = atomic_fetch_add(&box->context->last_ticket, 1) + 1;
        parts[2] = 1;
    }
    digest_hmac(&box->decoy_seed, sizeof box->decoy_seed, parts, sizeof parts, digest);
    digest_spell(digest, hex);
    memcpy(ret_key, hex, ACTION_KEY_SIZE - 1);
    ret_key[ACTION_KEY_SIZE - 1] = '\0';
}

/* One event however many times: it stands for all of them, or none is done.  The box is locked. */
static abx_status
tell_done(abx_box *box, const abx_process *process, const struct subject *subject,
        const struct act *act, const struct grounds *grounds, const char *key, uint32_t times,
        struct fail *fail)
{
    AUTO(str_done) struct str asked = { 0 };
    struct grounds own = *grounds;
    struct event_draft draft;
    struct act told;

    if (!act_as_action(act, &asked, &told)) {
        return fail_nomem(fail);
    }
    own.layer = ABX_LAYER_ACTION;
    own.retry = ABX_RETRY_NONE;
    own.reason = "the action was allowed";
    own.alternative = NULL;
    tell_begin(&draft, box, ABX_EVENT_NOTICE, subject->command,
            process == NULL ? NULL : process->label);
    tell_act(&draft, subject, &told, &own);
    draft_text(&draft, ABX_FIELD_IDEMPOTENCY_KEY, key);
    if (times > 1) {
        draft_number(&draft, ABX_FIELD_REPEATS, times);
    }
    return outlet_permit(&box->outlet, event_make(&draft), fail);
}

/* Makes what count_done adds to; the box is locked. */
static bool
can_count(abx_box *box, const char *name, uint64_t command)
{
    return (find_count(box, name, 0) != NULL || add_count(box, name, 0)) &&
           (find_count(box, name, command) != NULL || add_count(box, name, command));
}

/* The box is locked. */
static void
count_done(abx_box *box, const char *name, uint64_t command, uint32_t times)
{
    find_count(box, name, 0)->n += times;
    if (command != 0) {
        find_count(box, name, command)->n += times;
    }
}

uint32_t
action_begin(abx_box *box, const struct subject *subject, const struct act *act,
        const struct grounds *grounds, uint32_t times, uint64_t ticket, char *reason,
        size_t reason_room)
{
    AUTO(process_unrefp) abx_process *process = box_find(box, subject->command);
    struct fail fail = { 0 };
    char key[ACTION_KEY_SIZE];
    uint32_t denied = 0;

    action_key(box, ticket, key);
    pthread_mutex_lock(&box->lock);
    if (!has_room_locked(box, act->action, subject->command, times, reason, reason_room)) {
        denied = ABX_LAYER_LIMIT;
    } else if (!can_count(box, act->action, subject->command)) {
        snprintf(reason, reason_room, "the supervisor has no memory left to count it");
        denied = ABX_LAYER_ACTION;
    } else if (tell_done(box, process, subject, act, grounds, key, times, &fail) < 0) {
        snprintf(reason, reason_room, "%s", fail.text);
        denied = ABX_LAYER_AUDIT;
    } else {
        count_done(box, act->action, subject->command, times);
    }
    pthread_mutex_unlock(&box->lock);
    if (denied == 0 && act->key != NULL) {
        memcpy(act->key, key, sizeof key);
    }
    return denied;
}

/* ---- the host's own requests ---- */
static void
add_member(struct str *out, const char *name, const char *text)
{
    if (text[0] != '\0') {
        str_printf(out, ",\"%s\":", name);
        str_add_json_bytes(out, text, false);
    }
}

static char *
make_answer(const char *name, const struct asked_action *asked, abx_verdict verdict,
        const struct refusal *refusal, uint64_t ticket, const char *key)
{
    struct str out = { 0 };

    str_printf(&out, "{\"verdict\":\"%s\"", verdict_words[verdict]);
    add_member(&out, "action", name);
    if (asked->arguments != NULL) {
        str_printf(&out, ",\"arguments\":%s", asked->arguments);
    }
    if (verdict != ABX_VERDICT_ALLOW) {
        add_member(&out, "rule", refusal->rule);
        add_member(&out, "reason", refusal->reason);
        add_member(&out, "alternative", refusal->alternative);
    }
    if (ticket != 0) {
        str_printf(&out, ",\"ticket\":%" PRIu64, ticket);
    }
    if (verdict == ABX_VERDICT_ALLOW) {
        add_member(&out, "idempotency_key", key);
    }
    str_add(&out, "}");
    return str_steal(&out, NULL);
}

abx_status
action_request(abx_box *box, const char *name, const char *arguments, abx_decision *ret_decision,
        uint64_t *ret_ticket, char **ret_json, struct fail *fail)
{
    struct subject subject = { .command = 0 };
    struct refusal refusal = { .ticket = 0 };
    char key[ACTION_KEY_SIZE] = "";
    struct act act = { .request = ABX_REQUEST_ACTION,
        .target = name,
        .verb = arguments == NULL || arguments[0] == '\0' ? "{}" : arguments,
        .content = -1,
        .refusal = &refusal,
        .key = key };
    abx_request request = { .size = sizeof request, .kind = ABX_REQUEST_ACTION, .target = name };
    struct asked_action asked;
    struct ruling ruling;
    struct fail unread = { 0 };
    uint64_t ticket = 0;

    if (box_is_killed(box) || box_has_ended(box)) {
        return fail_set(fail, ABX_ERR_STATE, 0, "request:box", "the box was killed or has ended");
    }
    policy_decide(box->resolved, &request, &ruling);
    ret_decision->rule = ruling.rule;
    ret_decision->layer = ruling.layer;
    ret_decision->verdict = box->broker.decide(box->broker.data, &subject, &act, &ticket);
    if (ret_decision->verdict == ABX_VERDICT_ASK) {
        approvals_withdraw(box, ticket); /* nothing waits: the host asks again */
    }
    action_read(box, &act, &asked, &unread);
    *ret_json = make_answer(name, &asked, ret_decision->verdict, &refusal, ticket, key);
    asked_action_done(&asked);
    if (*ret_json == NULL) {
        return fail_nomem(fail);
    }
    *ret_ticket = ticket;
    return ret_decision->verdict == ABX_VERDICT_ASK ? ABX_NONE : ABX_OK;
}
