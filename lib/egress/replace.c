/* SPDX-License-Identifier: Apache-2.0
 * Owns the life of a replacement and its judgement: whether what was found in a request may become
 * a secret there, and the wait for one.  No secret is in what it tells.  Egress thread. */
#include "egress/replace_private.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

static bool
any_goes(const struct replace *replace, uint32_t places)
{
    size_t n = policy_get_settings(replace->box->policy)->n_credentials;

    for (size_t i = 0; i < n; i++) {
        if ((replace_credential(replace, i)->places & places) != 0 && replace_goes(replace, i)) {
            return true;
        }
    }
    return false;
}

struct replace *
replace_new(const struct replace_setup *setup)
{
    struct replace *replace = calloc(1, sizeof *replace);
    struct destination origin = {
        .way = WAY_TRANSPARENT, .name = setup->host, .port = setup->port
    };

    if (replace == NULL) {
        return NULL;
    }
    replace->box = setup->box;
    replace->secrets = egress_secrets(setup->box);
    replace->tls = setup->tls;
    replace->ready = setup->ready;
    replace->data = setup->data;
    replace->errand = errand_new(setup->subject, &origin);
    if (replace->errand == NULL) {
        free(replace);
        return NULL;
    }
    replace->reads_answers = any_goes(replace, UINT32_MAX);
    replace->wants_body = any_goes(replace, CREDENTIAL_BODY | CREDENTIAL_SIGV4);
    return replace;
}

void
replace_free(struct replace *replace)
{
    if (replace == NULL) {
        return;
    }
    decision_cancel(replace->waiting);
    sigv4_chain_free(replace->chain);
    answers_unref(replace->answers);
    free(replace->tails[0].bytes);
    free(replace->tails[1].bytes);
    free(replace->errand);
    free(replace);
}

const struct refusal *
replace_refusal(const struct replace *replace)
{
    return &replace->refusal;
}

int
replace_status(const struct replace *replace)
{
    return replace->status;
}

const char *
replace_sent(const struct replace *replace)
{
    return replace->sent;
}

const struct policy_credential *
replace_credential(const struct replace *replace, size_t number)
{
    return &policy_get_settings(replace->box->policy)->credentials[number];
}

bool
replace_goes(const struct replace *replace, size_t credential)
{
    return policy_credential_goes_to(replace->box->policy, credential,
            replace->errand->destination.name, replace->errand->destination.port);
}

bool
replace_wants_body(const struct replace *replace)
{
    return replace->wants_body;
}

/* ---- refusing ---- */

/* What is told: the name of the credential, and the host it was for. */
static struct act
act_of(const struct replace *replace, const char *name)
{
    return (struct act){ .request = ABX_REQUEST_CREDENTIAL,
        .target = name,
        .verb = replace->errand->destination.name,
        .port = replace->errand->destination.port,
        .content = -1 };
}

enum replace_result
replace_refuse(struct replace *replace, int status, const char *credential, const char *rule,
        const char *reason, const char *alternative)
{
    const struct broker *broker = replace->box->broker;
    struct act act = act_of(replace, credential);

    if (!replace->is_refused) {
        replace->is_refused = true;
        replace->status = status;
        refusal_set(&replace->refusal, rule == NULL ? "boundary" : rule, reason, alternative);
        if (rule != NULL) {
            broker->report(broker->data, ABX_EVENT_DENIAL, &replace->errand->subject, &act, rule,
                    reason, alternative);
        }
    }
    return REPLACE_REFUSED;
}

enum replace_result
replace_nomem(struct replace *replace)
{
    return replace_refuse(replace, 503, "", NULL, "out of memory: no credential can be put in", "");
}

/* ---- judging ---- */

static enum replace_result
refuse_decoy(struct replace *replace, const char *path)
{
    return replace_refuse(replace, 403, path, "decoy",
            "it has a made-up secret of a decoy: nothing that is needed leads to one",
            "use what the task gives, and leave other people's secrets alone");
}

/* The policy says no, and where it does not. */
static enum replace_result
refuse_elsewhere(struct replace *replace, const struct policy_credential *credential)
{
    const struct broker *broker = replace->box->broker;
    struct act act = act_of(replace, credential->name);
    uint64_t ticket = 0;

    replace->is_refused = true;
    replace->status = 403;
    act.refusal = &replace->refusal;
    broker->decide(broker->data, &replace->errand->subject, &act, &ticket);
    return REPLACE_REFUSED;
}

/* "send it only as bearer or header X-Key" */
static void
spell_places(const struct policy_credential *credential, struct str *out)
{
    for (size_t i = 0; i < CREDENTIAL_WORDS; i++) {
        uint32_t place = credential->places & 1u << i;

        if (place == 0) {
            continue;
        }
        str_printf(out, "%s %s", out->length == 0 ? "send it only as" : " or", credential_words[i]);
        if (place == CREDENTIAL_HEADER || place == CREDENTIAL_QUERY) {
            str_printf(out, " '%s'",
                    place == CREDENTIAL_HEADER ? credential->header : credential->query);
        }
    }
}

static enum replace_result
refuse_place(struct replace *replace, const struct policy_credential *credential)
{
    AUTO(str_done) struct str places = { 0 };

    spell_places(credential, &places);
    return replace_refuse(replace, 403, credential->name, credential->id,
            "the policy sends this credential in another place of a request",
            places.failed ? "" : places.data);
}

enum replace_result
replace_judge(struct replace *replace, struct mark mark, uint32_t place)
{
    const struct policy_credential *credential;

    if (mark.kind == MARK_DECOY) {
        return refuse_decoy(replace, mark.decoy);
    }
    credential = replace_credential(replace, mark.credential);
    if (!replace_goes(replace, mark.credential)) {
        return refuse_elsewhere(replace, credential);
    }
    if (!replace->tls && !credential->clear_text) {
        return replace_refuse(replace, 403, credential->name, credential->id,
                "the policy does not send this credential without TLS", "use https for this host");
    }
    if ((credential->places & place) == 0 ||
            (mark.kind == MARK_KEY_ID) != (place == CREDENTIAL_SIGV4)) {
        return refuse_place(replace, credential);
    }
    return REPLACE_DONE;
}

/* ---- waiting for a secret ---- */

static void
answered(void *data, abx_verdict verdict, const struct refusal *refusal)
{
    struct replace *replace = data;
    bool was_waiting = replace->waiting != NULL;

    replace->waiting = NULL;
    if (verdict != ABX_VERDICT_ALLOW) {
        replace->is_refused = true;
        replace->status = 403;
        replace->refusal = *refusal;
    }
    if (was_waiting) {
        replace->ready(replace->data);
    }
}

static void
forget_answers(struct replace *replace)
{
    answers_unref(replace->answers);
    replace->answers = NULL;
    replace->has_answers = false;
}

struct vault *
replace_secret(struct replace *replace, size_t credential, enum replace_result *ret_result)
{
    const struct policy_credential *of = replace_credential(replace, credential);
    struct vault *secret = secrets_get(replace->secrets, credential);
    struct act act = act_of(replace, of->name);

    *ret_result = REPLACE_DONE;
    forget_answers(replace); /* the secret may come after the answer began */
    if (secret != NULL) {
        replace->sent = of->name;
        return secret;
    }
    if (replace->waiting != NULL) {
        *ret_result = REPLACE_WAIT;
        return NULL;
    }
    if ((replace->asked >> credential & 1) == 0) {
        replace->asked |= UINT64_C(1) << credential;
        replace->waiting =
                decision_start(replace->box, &replace->errand->subject, &act, answered, replace);
        if (replace->waiting != NULL) {
            *ret_result = REPLACE_WAIT;
            return NULL;
        }
        secret = replace->is_refused ? NULL : secrets_get(replace->secrets, credential);
    }
    replace->sent = secret == NULL ? replace->sent : of->name;
    if (secret == NULL) {
        *ret_result = replace_refuse(replace, 403, of->name, of->id,
                "nobody has given the secret of this credential", "work without it, or ask for it");
    }
    return secret;
}

/* ---- bytes that only pass ---- */

/* Looks at bytes with the end of those before them; true: found. */
static bool
look(struct tail *tail, const struct needles *needles, const void *bytes, size_t length,
        struct finding *ret_finding, bool *ret_failed)
{
    size_t most = needles_longest(needles), n = length < most ? length : most;
    bool found;

    *ret_failed = false;
    if (most == 0) {
        return false;
    }
    if (tail->room < 2 * most) {
        unsigned char *larger = realloc(tail->bytes, 2 * most);

        *ret_failed = larger == NULL;
        if (*ret_failed) {
            return false;
        }
        tail->bytes = larger;
        tail->room = 2 * most;
    }
    memcpy(tail->bytes + tail->length, bytes, n);
    found = needles_find(needles, tail->bytes, tail->length + n, true, ret_finding) ||
            needles_find(needles, bytes, length, true, ret_finding);
    if (length >= most) {
        memcpy(tail->bytes, (const unsigned char *)bytes + length - most, most);
        tail->length = most;
    } else {
        size_t total = tail->length + n, kept = total < most ? total : most;

        memmove(tail->bytes, tail->bytes + total - kept, kept);
        tail->length = kept;
    }
    return found;
}

bool
replace_takes_answers(struct replace *replace)
{
    bool failed = false;

    if (!replace->has_answers && replace->reads_answers) {
        replace->answers = secrets_in_answers(replace->secrets, &failed);
    }
    replace->has_answers = !failed;
    return !failed;
}

enum replace_result
replace_watch(struct replace *replace, bool is_answer, const void *bytes, size_t length)
{
    const struct needles *needles = secrets_in_requests(replace->secrets);
    struct finding finding;
    bool failed;

    if (is_answer) {
        if (!replace_takes_answers(replace)) {
            return replace_nomem(replace);
        }
        needles = replace->answers == NULL ? NULL : replace->answers->needles;
    }
    if (needles == NULL ||
            !look(&replace->tails[is_answer], needles, bytes, length, &finding, &failed)) {
        return needles != NULL && failed ? replace_nomem(replace) : REPLACE_DONE;
    }
    if (is_answer) {
        return replace_refuse(replace, 502, "credentials", "boundary:credential",
                "the answer has a secret in bytes that cannot be changed",
                "use plain requests with this host");
    }
    return replace_judge(replace, secrets_mark(replace->secrets, finding.id), 0);
}

bool
replace_refuses(struct egress_box *box, const struct subject *subject, const char *host,
        uint16_t port, const void *bytes, size_t length, struct refusal *ret_refusal)
{
    const struct needles *needles = secrets_in_requests(egress_secrets(box));
    struct finding finding;
    struct replace *replace;

    if (needles_longest(needles) == 0 || !needles_find(needles, bytes, length, true, &finding)) {
        return false;
    }
    replace = replace_new(
            &(struct replace_setup){ .box = box, .subject = subject, .host = host, .port = port });
    if (replace == NULL) {
        refusal_set(ret_refusal, "boundary", "out of memory: it cannot be judged", "");
        return true;
    }
    replace_judge(replace, secrets_mark(replace->secrets, finding.id), 0);
    *ret_refusal = replace->refusal;
    replace_free(replace);
    return true;
}
