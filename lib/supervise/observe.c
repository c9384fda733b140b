/* SPDX-License-Identifier: Apache-2.0
 * Owns what an observing box saw.  Only what the wider policy allows comes here, so a secret never
 * does.  Any thread of the broker. */
#include "supervise/observe.h"

#include "supervise/telling.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OBSERVATIONS_MAX 65536u
#define PROGRAMS_LENGTH 100u /* of the names; about */

abx_status
observe_open(abx_box *box, struct fail *fail)
{
    const struct host_view *host = box->context->backend->host;
    struct observed *observed = calloc(1, sizeof *observed);
    abx_policy *wide = NULL;
    abx_status r;

    if (observed == NULL) {
        return fail_nomem(fail);
    }
    pthread_mutex_init(&observed->lock, NULL);
    observed->list = VEC(struct observation);
    box->observed = observed;
    r = policy_resolve(box->policy, host, &observed->strict, fail);
    r = r < 0 ? r : policy_observe(box->policy, &wide, fail);
    r = r < 0 ? r : policy_resolve(wide, host, &box->resolved, fail);
    abx_policy_unref(wide);
    return r;
}

void
observations_done(struct vec *observations)
{
    for (size_t i = 0; i < observations->count; i++) {
        struct observation *one = vec_at(observations, struct observation, i);

        free(one->target);
        str_done(&one->programs);
    }
    vec_done(observations);
}

static bool
add_copy(struct vec *copies, const struct observation *one)
{
    struct observation *copy = vec_add(copies);

    if (copy == NULL) {
        return false;
    }
    copy->request = one->request;
    copy->access = one->access;
    copy->port = one->port;
    copy->target = strdup(one->target);
    if (one->programs.data != NULL) {
        str_add(&copy->programs, one->programs.data);
    }
    return copy->target != NULL && !copy->programs.failed;
}

abx_status
observed_copy(struct observed *observed, struct vec *copies, struct fail *fail)
{
    abx_status r = ABX_OK;

    pthread_mutex_lock(&observed->lock);
    if (observed->is_lost) {
        r = fail_set(fail, ABX_ERR_STATE, 0, "suggest:lost",
                "more happened in this box than is remembered");
    }
    for (size_t i = 0; r == ABX_OK && i < observed->list.count; i++) {
        if (!add_copy(copies, vec_at(&observed->list, struct observation, i))) {
            r = fail_nomem(fail);
        }
    }
    pthread_mutex_unlock(&observed->lock);
    return r;
}

void
observed_free(struct observed *observed)
{
    if (observed == NULL) {
        return;
    }
    observations_done(&observed->list);
    abx_policy_unref(observed->strict);
    pthread_mutex_destroy(&observed->lock);
    free(observed);
}

static int
compare(const struct observation *one, const struct act *act)
{
    int order = strcmp(one->target, act->target);

    order = order != 0 ? order : (int)one->request - (int)act->request;
    order = order != 0 ? order : (int)one->access - (int)act->access;
    return order != 0 ? order : (int)one->port - (int)act->port;
}

/* Where it is, or belongs. */
static size_t
place_of(const struct vec *list, const struct act *act, bool *ret_is_there)
{
    size_t low = 0, high = list->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare(vec_at(list, struct observation, middle), act) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *ret_is_there = low < list->count && compare(vec_at(list, struct observation, low), act) == 0;
    return low;
}

static bool
has_word(const char *list, const char *word, size_t length)
{
    for (const char *at = list; at != NULL;
            at = strchr(at, ',') == NULL ? NULL : strchr(at, ',') + 2) {
        if (strcspn(at, ",") == length && strncmp(at, word, length) == 0) {
            return true;
        }
    }
    return false;
}

void
programs_add(struct str *programs, const char *more)
{
    while (more != NULL && *more != '\0' && programs->length < PROGRAMS_LENGTH) {
        size_t length = strcspn(more, ",");

        if (!has_word(programs->data, more, length)) {
            str_add(programs, programs->length == 0 ? "" : ", ");
            str_add_bytes(programs, more, length);
        }
        more += length;
        more += strspn(more, ", ");
    }
}

/* A program by the last part of its path; one that could be read as more than a word is quoted, and
 * has no comma. */
static void
add_program(struct str *programs, const char *program)
{
    const char *slash = program == NULL ? NULL : strrchr(program, '/');
    AUTO(str_done) struct str quoted = { 0 }, name = { 0 };

    if (slash == NULL || (strpbrk(slash, " ,'\\") == NULL && text_is_seen(slash))) {
        programs_add(programs, slash == NULL ? NULL : slash + 1);
        return;
    }
    str_add_quoted(&quoted, slash + 1, strlen(slash + 1), PROGRAMS_LENGTH);
    for (const char *p = quoted.data; p != NULL && *p != '\0'; p++) {
        str_add_bytes(&name, *p == ',' ? "\\x2C" : p, *p == ',' ? 4 : 1);
    }
    programs_add(programs, name.data);
    programs->failed |= quoted.failed || name.failed;
}

/* The new observation, or NULL: no memory, or too many. */
static struct observation *
insert(struct observed *observed, size_t i, const struct act *act)
{
    struct observation fresh = {
        .request = act->request,
        .access = act->access,
        .port = act->port,
        .target = strdup(act->target),
    };
    struct vec *list = &observed->list;
    struct observation *place = NULL;

    if (fresh.target != NULL && list->count < OBSERVATIONS_MAX) {
        place = vec_add(list);
    }
    if (place == NULL) {
        free(fresh.target);
        observed->is_lost = true;
        return NULL;
    }
    place = vec_at(list, struct observation, i);
    memmove(place + 1, place, (list->count - 1 - i) * sizeof *place);
    *place = fresh;
    return place;
}

static bool
is_known(struct observed *observed, const struct act *act)
{
    bool is_there;

    pthread_mutex_lock(&observed->lock);
    place_of(&observed->list, act, &is_there);
    pthread_mutex_unlock(&observed->lock);
    return is_there;
}

static void
remember(struct observed *observed, const struct act *act, const char *program)
{
    struct observation *one;
    bool is_there;
    size_t i;

    pthread_mutex_lock(&observed->lock);
    i = place_of(&observed->list, act, &is_there);
    one = is_there ? vec_at(&observed->list, struct observation, i) : insert(observed, i, act);
    if (one != NULL) {
        add_program(&one->programs, program);
    }
    pthread_mutex_unlock(&observed->lock);
}

/* False: it cannot be recorded. */
static bool
tell_would(
        abx_box *box, const struct subject *who, const struct act *act, const struct ruling *ruling)
{
    AUTO(process_unrefp) abx_process *process = box_find(box, who->command);
    struct grounds grounds = {
        .retry = ABX_RETRY_NONE,
        .rule = ruling->id,
        .source = ruling->source,
        .alternative = ruling->alternative,
    };
    struct event_draft draft;
    struct fail fail;
    char reason[300];

    snprintf(reason, sizeof reason, OBSERVED_REASON "%s", ruling->reason);
    grounds.reason = reason;
    if (process != NULL && act->request != ABX_REQUEST_EXEC) {
        process_seen(process, who->program);
    }
    tell_begin(
            &draft, box, ABX_EVENT_NOTICE, who->command, process == NULL ? NULL : process->label);
    tell_act(&draft, who, act, &grounds);
    return outlet_permit(&box->outlet, event_make(&draft), &fail) == ABX_OK;
}

/* A quiet look at a file is that before it is opened; others are at what nobody named. */
static bool
is_attempt(const struct act *act)
{
    return !act->quiet || (act->request == ABX_REQUEST_PATH && act->access == ABX_ACCESS_READ &&
                                  strcmp(act->verb, "open") == 0);
}

bool
observe(abx_box *box, const struct subject *subject, const struct act *act)
{
    const abx_request request = act_request(act);
    struct subject who = *subject;
    char program[PATH_MAX];
    struct ruling ruling;

    if (box->observed == NULL || !is_attempt(act) || atomic_load(&box->trying) ||
            act->request == ABX_REQUEST_HTTP || act->request == ABX_REQUEST_ACTION) {
        return true;
    }
    who.program = program_of(box, subject, program);
    if (!is_known(box->observed, act) &&
            policy_decide(box->observed->strict, &request, &ruling) != ABX_VERDICT_ALLOW &&
            !tell_would(box, &who, act, &ruling)) {
        return false;
    }
    remember(box->observed, act, who.program);
    return true;
}
