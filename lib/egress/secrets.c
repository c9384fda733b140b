/* SPDX-License-Identifier: Apache-2.0
 * Owns the secrets of a box, their leases and their stand-ins, and what is made of them for the
 * search.  Knows no connection.  The egress thread's, once the box is open. */
#include "egress/secrets.h"

#include "egress/answers.h"
#include "egress/sigv4.h"
#include "egress/stand_in.h"

#include "base/loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define USERS 4u
#define DECOY_TOKEN_MIN 16u /* shorter words of a decoy are no secrets */

struct secret {
    const struct policy_credential *credential;
    char *stand_in, *key_id; /* key_id: SIGV4, else NULL */
    struct vault *value; /* NULL: it is not there */
    uint64_t expires_ns; /* 0: never */
    char *users[USERS + 1]; /* the last ones it was sent with; NULL behind */
};

struct decoy {
    char *path, *token;
};

struct secrets {
    struct secret *list; /* by credential */
    size_t n;
    struct vec decoys; /* struct decoy */
    char **environment;
    struct needles *in_requests; /* ids: 2 * credential, 2 * credential + 1, then decoys */
    struct answers *in_answers; /* NULL: to be made, or there is nothing to look for */
    struct event *timer; /* the next end of a lease; or NULL */
};

/* ---- making ---- */

static bool
add_variable(struct secrets *secrets, size_t *n, const char *name, const char *value)
{
    if (name == NULL) {
        return true;
    }
    if (asprintf(&secrets->environment[*n], "%s=%s", name, value) < 0) {
        secrets->environment[*n] = NULL;
        return false;
    }
    (*n)++;
    return true;
}

static bool
make_stand_ins(struct secrets *secrets, const struct policy_settings *settings)
{
    size_t n = 0;

    for (size_t i = 0; i < secrets->n; i++) {
        struct secret *secret = &secrets->list[i];
        bool signs = settings->credentials[i].places == CREDENTIAL_SIGV4;

        secret->credential = &settings->credentials[i];
        secret->stand_in = stand_in_new(secret->credential);
        secret->key_id = signs ? stand_in_new_key_id() : NULL;
        if (secret->stand_in == NULL || (signs && secret->key_id == NULL) ||
                !add_variable(secrets, &n, secret->credential->env, secret->stand_in) ||
                !add_variable(
                        secrets, &n, signs ? secret->credential->key_env : NULL, secret->key_id)) {
            return false;
        }
    }
    return true;
}

static struct needle
needle_of(const char *text, size_t id)
{
    return (struct needle){ .bytes = text, .length = strlen(text), .id = (uint32_t)id };
}

/* What a program may send and should not, or not there. */
static bool
make_needles(struct secrets *secrets)
{
    size_t n = 0, room = 2 * secrets->n + secrets->decoys.count;
    AUTO(freep) struct needle *list = calloc(room + 1, sizeof *list);
    struct needles *needles;

    for (size_t i = 0; list != NULL && i < secrets->n; i++) {
        const struct secret *secret = &secrets->list[i];

        list[n++] = needle_of(secret->stand_in, 2 * i);
        if (secret->key_id != NULL) {
            list[n++] = needle_of(secret->key_id, 2 * i + 1);
        }
    }
    for (size_t i = 0; list != NULL && i < secrets->decoys.count; i++) {
        const char *token = vec_at(&secrets->decoys, struct decoy, i)->token;

        list[n++] = needle_of(token, 2 * secrets->n + i);
    }
    needles = list == NULL ? NULL : needles_new(list, n);
    if (needles != NULL) {
        needles_unref(secrets->in_requests);
        secrets->in_requests = needles;
    }
    return needles != NULL;
}

static void wipe_expired(evutil_socket_t fd, short events, void *data);

abx_status
secrets_new(abx_policy *policy, struct event_base *base, struct secrets **ret_secrets,
        struct fail *fail)
{
    const struct policy_settings *settings = policy_get_settings(policy);
    struct secrets *secrets = calloc(1, sizeof *secrets);

    if (secrets == NULL) {
        return fail_nomem(fail);
    }
    secrets->n = settings->n_credentials;
    secrets->decoys = VEC(struct decoy);
    secrets->list = calloc(secrets->n + 1, sizeof *secrets->list);
    secrets->environment = calloc(2 * secrets->n + 1, sizeof *secrets->environment);
    secrets->timer = base == NULL ? NULL : evtimer_new(base, wipe_expired, secrets);
    if (secrets->list == NULL || secrets->environment == NULL ||
            (base != NULL && secrets->timer == NULL) || !make_stand_ins(secrets, settings) ||
            !make_needles(secrets)) {
        secrets_free(secrets);
        return fail_nomem(fail);
    }
    *ret_secrets = secrets;
    return ABX_OK;
}

static void
secret_done(struct secret *secret)
{
    vault_unref(secret->value);
    free(secret->stand_in);
    free(secret->key_id);
    for (size_t i = 0; i < USERS; i++) {
        free(secret->users[i]);
    }
}

void
secrets_free(struct secrets *secrets)
{
    if (secrets == NULL) {
        return;
    }
    for (size_t i = 0; secrets->list != NULL && i < secrets->n; i++) {
        secret_done(&secrets->list[i]);
    }
    for (size_t i = 0; i < secrets->decoys.count; i++) {
        free(vec_at(&secrets->decoys, struct decoy, i)->path);
        free(vec_at(&secrets->decoys, struct decoy, i)->token);
    }
    for (size_t i = 0; secrets->environment != NULL && secrets->environment[i] != NULL; i++) {
        free(secrets->environment[i]);
    }
    if (secrets->timer != NULL) {
        event_free(secrets->timer);
    }
    vec_done(&secrets->decoys);
    needles_unref(secrets->in_requests);
    answers_unref(secrets->in_answers);
    free(secrets->environment);
    free(secrets->list);
    free(secrets);
}

const char *const *
secrets_environment(const struct secrets *secrets)
{
    return (const char *const *)secrets->environment;
}

static bool
add_token(struct secrets *secrets, const char *path, const char *token, size_t length)
{
    struct decoy decoy = { strdup(path), strndup(token, length) };
    struct decoy *slot =
            decoy.path == NULL || decoy.token == NULL ? NULL : vec_add(&secrets->decoys);

    if (slot == NULL) {
        free(decoy.path);
        free(decoy.token);
        return false;
    }
    *slot = decoy;
    return true;
}

abx_status
secrets_add_decoy(struct secrets *secrets, const char *path, const char *content, struct fail *fail)
{
    static const char between[] = " \t\r\n=:\"',";

    for (content += strspn(content, between); *content != '\0';
            content += strspn(content, between)) {
        size_t length = strcspn(content, between);

        /* The names of settings are long words, too, of small letters. */
        if (length >= DECOY_TOKEN_MIN &&
                strcspn(content, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") < length &&
                !add_token(secrets, path, content, length)) {
            return fail_nomem(fail);
        }
        content += length;
    }
    return make_needles(secrets) ? ABX_OK : fail_nomem(fail);
}

/* ---- secrets come and go ---- */

static void
forget_answers(struct secrets *secrets)
{
    answers_unref(secrets->in_answers);
    secrets->in_answers = NULL;
}

static bool
is_over(const struct secret *secret)
{
    return secret->value != NULL && secret->expires_ns != 0 && secret->expires_ns <= clock_now_ns();
}

/* Wipes what is over, and waits for the next. */
static void
keep_leases(struct secrets *secrets)
{
    uint64_t next_ns = 0, now = clock_now_ns();

    for (size_t i = 0; i < secrets->n; i++) {
        struct secret *secret = &secrets->list[i];

        if (is_over(secret)) {
            vault_unref(secret->value);
            secret->value = NULL;
            forget_answers(secrets);
        } else if (secret->value != NULL && secret->expires_ns != 0 &&
                   (next_ns == 0 || secret->expires_ns < next_ns)) {
            next_ns = secret->expires_ns;
        }
    }
    if (secrets->timer != NULL && next_ns != 0) {
        uint64_t left_us = next_ns > now ? (next_ns - now) / 1000 + 1 : 1;
        struct timeval left = { .tv_sec = (time_t)(left_us / 1000000),
            .tv_usec = (suseconds_t)(left_us % 1000000) };

        event_add(secrets->timer, &left); /* where it fails the next look wipes */
    }
}

static void
wipe_expired(evutil_socket_t fd, short events, void *data)
{
    keep_leases(data);
}

/* In CLOCK_MONOTONIC; 0: never, 1: it is over. */
static uint64_t
lease_end(uint64_t lease_s, int64_t expires_ms)
{
    struct timespec now;
    uint64_t end = lease_s == 0 ? 0 : clock_now_ns() + lease_s * 1000000000u;
    int64_t left_ms;
    uint64_t given;

    if (expires_ms == 0) {
        return end;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    left_ms = expires_ms - (int64_t)now.tv_sec * 1000 - now.tv_nsec / 1000000;
    if (left_ms <= 0) {
        return 1;
    }
    given = left_ms > INT64_MAX / 2000000 ? 0 : clock_now_ns() + (uint64_t)left_ms * 1000000u;
    return end == 0 || (given != 0 && given < end) ? given : end;
}

/* What can stand in a field of a request; a body takes the same. */
static const char *
what_is_wrong(const struct policy_credential *credential, const unsigned char *bytes, size_t length)
{
    struct sigv4_key key;

    if (length < SECRET_MIN) {
        return "it is shorter than 8 bytes, and cannot be told from other text in an answer";
    }
    if (length > SECRET_MAX) {
        return "it is longer than 8192 bytes";
    }
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] < ' ' || bytes[i] == 0x7f) {
            return "it has control characters";
        }
    }
    if (bytes[0] == ' ' || bytes[length - 1] == ' ') {
        return "a space stands at its begin or end";
    }
    if (credential->places == CREDENTIAL_SIGV4 && !sigv4_key_parse(bytes, length, &key)) {
        return "a key that signs is given as ID:SECRET or ID:SECRET:SESSION-TOKEN";
    }
    return NULL;
}

static struct secret *
find_secret(struct secrets *secrets, const char *name)
{
    for (size_t i = 0; i < secrets->n; i++) {
        if (strcmp(secrets->list[i].credential->name, name) == 0) {
            return &secrets->list[i];
        }
    }
    return NULL;
}

abx_status
secrets_set(struct secrets *secrets, const char *name, const void *bytes, size_t length,
        int64_t expires_ms, struct fail *fail)
{
    struct secret *secret = find_secret(secrets, name);
    const char *wrong;
    struct vault *value;
    uint64_t end;

    if (secret == NULL) {
        return fail_set(fail, ABX_ERR_INVALID, 0, "credential:name",
                "the policy has no credential '%.128s'", name);
    }
    wrong = what_is_wrong(secret->credential, bytes, length);
    end = lease_end(secret->credential->lease_s, expires_ms);
    if (end == 1) {
        wrong = "it has expired";
    }
    if (wrong != NULL) {
        return fail_set(fail, ABX_ERR_INVALID, 0, "credential:secret",
                "the secret for '%.128s' cannot be used: %s", name, wrong);
    }
    value = vault_of(bytes, length);
    if (value == NULL) {
        return fail_nomem(fail);
    }
    vault_unref(secret->value);
    secret->value = value;
    secret->expires_ns = end;
    forget_answers(secrets);
    keep_leases(secrets);
    return ABX_OK;
}

/* ---- requests ---- */

const struct needles *
secrets_in_requests(const struct secrets *secrets)
{
    return secrets->in_requests;
}

struct mark
secrets_mark(const struct secrets *secrets, uint32_t id)
{
    if (id >= 2 * secrets->n) {
        return (struct mark){ .kind = MARK_DECOY,
            .decoy = vec_at(&secrets->decoys, struct decoy, id - 2 * secrets->n)->path };
    }
    return (struct mark){ .kind = id % 2 == 0 ? MARK_STAND_IN : MARK_KEY_ID, .credential = id / 2 };
}

const char *
secrets_stand_in(const struct secrets *secrets, size_t credential)
{
    return secrets->list[credential].stand_in;
}

const char *
secrets_key_id(const struct secrets *secrets, size_t credential)
{
    return secrets->list[credential].key_id;
}

struct vault *
secrets_get(struct secrets *secrets, size_t credential)
{
    keep_leases(secrets);
    return vault_ref(secrets->list[credential].value);
}

/* ---- answers ---- */

void
secrets_note_user(struct secrets *secrets, size_t credential, const char *user)
{
    char **users = secrets->list[credential].users;
    char *copy;

    for (size_t i = 0; users[i] != NULL; i++) {
        if (strcmp(users[i], user) == 0) {
            return;
        }
    }
    copy = strdup(user);
    if (copy == NULL) {
        return; /* the fragments of its form are found all the same */
    }
    free(users[USERS - 1]);
    memmove(users + 1, users, (USERS - 1) * sizeof *users);
    users[0] = copy;
    forget_answers(secrets);
}

struct answers *
secrets_in_answers(struct secrets *secrets, bool *ret_failed)
{
    AUTO(freep) struct known *list = NULL;
    size_t n = 0;

    keep_leases(secrets);
    *ret_failed = false;
    if (secrets->in_answers == NULL) {
        list = calloc(secrets->n + 1, sizeof *list);
        for (size_t i = 0; list != NULL && i < secrets->n; i++) {
            const struct secret *secret = &secrets->list[i];

            if (secret->value != NULL) {
                list[n++] = (struct known){ secret->value, secret->stand_in, secret->key_id,
                    (const char *const *)secret->users };
            }
        }
        secrets->in_answers = n == 0 ? NULL : answers_new(list, n);
        *ret_failed = list == NULL || (n > 0 && secrets->in_answers == NULL);
    }
    return answers_ref(secrets->in_answers);
}
