/* SPDX-License-Identifier: Apache-2.0
 * Rewrites heads: finds what stands for secrets in them, and in which place; puts secrets in, and
 * takes them out of answers.  A head is strict HTTP/1.1 and has no folded lines.  Egress thread. */
#include "egress/forms.h"
#include "egress/head_lines.h"
#include "egress/replace_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BASIC_MAX 12288u
#define NO_CREDENTIAL SIZE_MAX

/* A head under work. */
struct work {
    struct replace *replace;
    const char *text;
    size_t length;
    const void *body; /* NULL: it streams */
    size_t body_length;
    struct edits edits, body_edits;
    size_t signs; /* the credential that signed the request, or NO_CREDENTIAL */
    bool in_authorization; /* a credential was put there */
};

/* "Basic", "Bearer" ... of a field of authorization; its length. */
static size_t
scheme_length(const char *text, const struct head_line *line)
{
    size_t n = 0;

    while (n < line->value_length && text[line->value_at + n] != ' ') {
        n++;
    }
    return n;
}

static bool
has_scheme(const char *text, const struct head_line *line, const char *scheme)
{
    return scheme_length(text, line) == strlen(scheme) &&
           strncasecmp(text + line->value_at, scheme, strlen(scheme)) == 0;
}

/* ---- where something stands ---- */

/* Of the request line: as the value of which parameter. */
static uint32_t
place_in_target(const struct work *work, const struct head_line *line, size_t at,
        const struct policy_credential *credential)
{
    const char *text = work->text, *start = text + line->at, *end = start + line->length;
    const char *query = memchr(start, '?', line->length), *here = text + at, *name, *equals;

    if (query == NULL || query > here) {
        return 0;
    }
    name = memrchr(query, '&', (size_t)(here - query));
    name = name == NULL ? query + 1 : name + 1;
    equals = memchr(name, '=', (size_t)(end - name));
    if (equals == NULL || equals > here) {
        return 0;
    }
    if (credential->query != NULL && strlen(credential->query) == (size_t)(equals - name) &&
            memcmp(credential->query, name, (size_t)(equals - name)) == 0) {
        return CREDENTIAL_QUERY;
    }
    return equals - name == (ptrdiff_t)strlen("X-Amz-Credential") &&
                           memcmp(name, "X-Amz-Credential", (size_t)(equals - name)) == 0
                   ? CREDENTIAL_SIGV4
                   : 0;
}

static uint32_t
place_of(const struct work *work, const struct head_line *line, size_t at,
        const struct policy_credential *credential)
{
    if (line->at == 0) {
        return place_in_target(work, line, at, credential);
    }
    if (at < line->value_at) {
        return 0;
    }
    if (head_names(work->text, line, "authorization")) {
        return has_scheme(work->text, line, "basic")                    ? 0
               : has_scheme(work->text, line, "AWS4-HMAC-SHA256")       ? CREDENTIAL_SIGV4
               : at >= line->value_at + scheme_length(work->text, line) ? CREDENTIAL_BEARER
                                                                        : 0;
    }
    return head_names(work->text, line, credential->header) ? CREDENTIAL_HEADER : 0;
}

/* ---- putting in ---- */

static enum replace_result
put_secret(struct work *work, const struct finding *finding, size_t at, size_t credential,
        uint32_t place)
{
    enum replace_result result;
    AUTO(vault_unrefp) struct vault *secret = replace_secret(work->replace, credential, &result);
    AUTO(vault_unrefp) struct vault *spelled = NULL;

    if (secret == NULL) {
        return result;
    }
    spelled = place == CREDENTIAL_QUERY ? secret_in_query(secret) : vault_ref(secret);
    if (spelled == NULL) {
        return replace_nomem(work->replace);
    }
    work->in_authorization |= place == CREDENTIAL_BEARER;
    edits_add(&work->edits, at, finding->length, spelled->bytes, spelled->length);
    return REPLACE_DONE;
}

/* A key that signed: the whole request is signed again, later. */
static enum replace_result
note_signer(struct work *work, size_t credential)
{
    enum replace_result result;
    struct vault *secret = replace_secret(work->replace, credential, &result);

    if (secret == NULL) {
        return result;
    }
    vault_unref(secret);
    work->signs = credential;
    work->in_authorization = true;
    return REPLACE_DONE;
}

static enum replace_result
take_finding(
        struct work *work, const struct head_line *line, const struct finding *finding, size_t at)
{
    struct mark mark = secrets_mark(work->replace->secrets, finding->id);
    uint32_t place = 0;
    enum replace_result result;

    if (mark.kind != MARK_DECOY) {
        place = place_of(work, line, at, replace_credential(work->replace, mark.credential));
    }
    result = replace_judge(work->replace, mark, place);
    if (result != REPLACE_DONE) {
        return result;
    }
    return mark.kind == MARK_KEY_ID ? note_signer(work, mark.credential)
                                    : put_secret(work, finding, at, mark.credential, place);
}

/* ---- Basic ---- */

/* USER:SECRET, where the password has what stands for it. */
static enum replace_result
write_basic(struct work *work, const struct head_line *line, const char *plain, size_t length,
        const struct finding *finding, size_t credential)
{
    const struct policy_credential *of = replace_credential(work->replace, credential);
    enum replace_result result;
    AUTO(vault_unrefp) struct vault *secret = replace_secret(work->replace, credential, &result);
    AUTO(vault_unrefp) struct vault *pair = NULL;
    AUTO(vault_unrefp) struct vault *encoded = NULL;
    size_t user_length = (size_t)((const char *)memchr(plain, ':', length) - plain);
    AUTO(freep) char *user = of->user != NULL ? strdup(of->user) : strndup(plain, user_length);
    size_t before = finding->at - user_length - 1;
    size_t after = length - finding->at - finding->length, n;

    if (secret == NULL) {
        return result;
    }
    if (user == NULL) {
        return replace_nomem(work->replace);
    }
    n = strlen(user) + 1 + before + secret->length + after;
    pair = vault_new(n);
    encoded = vault_new(BASE64_ROOM(n));
    if (pair == NULL || encoded == NULL) {
        return replace_nomem(work->replace);
    }
    n = strlen(user);
    memcpy(pair->bytes, user, n);
    pair->bytes[n++] = ':';
    memcpy(pair->bytes + n, plain + user_length + 1, before);
    memcpy(pair->bytes + n + before, secret->bytes, secret->length);
    memcpy(pair->bytes + n + before + secret->length, plain + finding->at + finding->length, after);
    secrets_note_user(work->replace->secrets, credential, user);
    work->in_authorization = true;
    n = scheme_length(work->text, line) + 1;
    edits_add(&work->edits, line->value_at + n, line->value_length - n, encoded->bytes,
            base64_encode(pair->bytes, pair->length, (char *)encoded->bytes));
    return REPLACE_DONE;
}

static enum replace_result
take_basic(struct work *work, const struct head_line *line)
{
    const struct needles *needles = secrets_in_requests(work->replace->secrets);
    size_t skip = scheme_length(work->text, line) + 1;
    char plain[BASIC_MAX];
    struct finding finding;
    struct mark mark;
    const char *colon;
    ptrdiff_t length;
    bool in_password;
    enum replace_result result;

    if (line->value_length <= skip || line->value_length - skip > sizeof plain) {
        return REPLACE_DONE;
    }
    length = base64_decode(work->text + line->value_at + skip, line->value_length - skip, plain);
    if (length <= 0 || !needles_find(needles, plain, (size_t)length, true, &finding)) {
        return REPLACE_DONE;
    }
    mark = secrets_mark(work->replace->secrets, finding.id);
    colon = memchr(plain, ':', (size_t)length);
    in_password = colon != NULL && finding.at > (size_t)(colon - plain) &&
                  head_names(work->text, line, "authorization");
    result = replace_judge(work->replace, mark, in_password ? CREDENTIAL_BASIC : 0);
    return result != REPLACE_DONE
                   ? result
                   : write_basic(work, line, plain, (size_t)length, &finding, mark.credential);
}

/* ---- the whole head ---- */

static enum replace_result
take_line(struct work *work, const struct head_line *line)
{
    const struct needles *needles = secrets_in_requests(work->replace->secrets);
    enum replace_result result = REPLACE_DONE;
    struct finding finding;
    size_t at = line->at, end = line->at + line->length;

    while (result == REPLACE_DONE &&
            needles_find(needles, work->text + at, end - at, true, &finding)) {
        result = take_finding(work, line, &finding, at + finding.at);
        at += finding.at + finding.length;
    }
    if (result == REPLACE_DONE && line->at > 0 && has_scheme(work->text, line, "basic")) {
        result = take_basic(work, line);
    }
    return result;
}

static enum replace_result
take_head(struct work *work)
{
    enum replace_result result = REPLACE_DONE;
    struct head_line line;
    size_t at = 0, n_authorizations = 0;

    while (result == REPLACE_DONE && head_next(work->text, work->length, &at, &line)) {
        n_authorizations += head_names(work->text, &line, "authorization");
        result = take_line(work, &line);
    }
    if (result == REPLACE_DONE && work->in_authorization && n_authorizations > 1) {
        return replace_refuse(work->replace, 400, "credentials", "boundary:credential",
                "the request has several Authorization fields, and a credential in one of them",
                "send one");
    }
    return result;
}

static enum replace_result
take_body(struct work *work)
{
    const struct needles *needles = secrets_in_requests(work->replace->secrets);
    const unsigned char *bytes = work->body;
    struct finding finding;
    size_t at = 0;

    while (needles_find(needles, bytes + at, work->body_length - at, true, &finding)) {
        struct mark mark = secrets_mark(work->replace->secrets, finding.id);
        enum replace_result result = replace_judge(work->replace, mark, CREDENTIAL_BODY);
        AUTO(vault_unrefp) struct vault *secret = NULL;
        AUTO(vault_unrefp) struct vault *spelled = NULL;

        if (result != REPLACE_DONE) {
            return result;
        }
        secret = replace_secret(work->replace, mark.credential, &result);
        if (secret == NULL) {
            return result;
        }
        spelled = secret_in_body(secret, work->replace->body);
        if (spelled == NULL) {
            return replace_nomem(work->replace);
        }
        edits_add(&work->body_edits, at + finding.at, finding.length, spelled->bytes,
                spelled->length);
        at += finding.at + finding.length;
    }
    return REPLACE_DONE;
}

/* ---- what else the head says ---- */

static bool
contains(const char *text, const struct head_line *line, const char *word)
{
    return memmem(text + line->value_at, line->value_length, word, strlen(word)) != NULL;
}

static enum body_kind
body_kind_of(const char *text, size_t length)
{
    struct head_line line;

    if (!head_find(text, length, "content-type", &line)) {
        return BODY_PLAIN;
    }
    return contains(text, &line, "x-www-form-urlencoded") ? BODY_FORM
           : contains(text, &line, "json")                ? BODY_JSON
                                                          : BODY_PLAIN;
}

/* An answer that is compressed could not be read. */
static void
ask_for_plain_answers(struct work *work)
{
    static const char plain[] = "Accept-Encoding: identity\r\n";
    struct head_line line;
    size_t at = 0, last = 0;

    if (head_find(work->text, work->length, "accept-encoding", &line)) {
        edits_add(&work->edits, line.value_at, line.value_length, "identity", strlen("identity"));
        return;
    }
    while (head_next(work->text, work->length, &at, &line)) {
        last = line.at;
    }
    edits_add(&work->edits, last, 0, plain, strlen(plain));
}

static void
fix_length(struct work *work, size_t length)
{
    struct head_line line;
    char text[24];

    if (length != work->body_length &&
            head_find(work->text, work->length, "content-length", &line)) {
        snprintf(text, sizeof text, "%zu", length);
        edits_add(&work->edits, line.value_at, line.value_length, text, strlen(text));
    }
}

/* ---- all of it ---- */

/* Whether a body comes that was not collected. */
static bool
has_streaming_body(const struct work *work)
{
    struct head_line line;

    if (head_find(work->text, work->length, "transfer-encoding", &line)) {
        return true;
    }
    return head_find(work->text, work->length, "content-length", &line) &&
           (line.value_length != 1 || work->text[line.value_at] != '0');
}

static void
work_done(struct work *work)
{
    edits_done(&work->edits);
    edits_done(&work->body_edits);
}

static bool
put_back(struct evbuffer *buffer, struct vault *vault)
{
    evbuffer_drain(buffer, evbuffer_get_length(buffer));
    return evbuffer_add_vault(buffer, vault);
}

/* Everything is judged and found: writes head and body anew. */
static enum replace_result
write_request(struct work *work, struct evbuffer *head, struct evbuffer *body)
{
    AUTO(vault_unrefp) struct vault *new_body = NULL;
    AUTO(vault_unrefp) struct vault *new_head = NULL;
    AUTO(vault_unrefp) struct vault *signed_head = NULL;
    enum replace_result result;

    if (work->body_edits.list.count > 0) {
        new_body = edits_apply(&work->body_edits, work->body, work->body_length);
        if (new_body == NULL) {
            return replace_nomem(work->replace);
        }
        fix_length(work, new_body->length);
    }
    if (work->replace->reads_answers) {
        ask_for_plain_answers(work);
    }
    if (work->edits.list.count == 0 && !work->edits.failed && work->signs == NO_CREDENTIAL) {
        return REPLACE_DONE;
    }
    new_head = edits_apply(&work->edits, work->text, work->length);
    if (new_head == NULL) {
        return replace_nomem(work->replace);
    }
    if (work->signs != NO_CREDENTIAL) {
        const struct sigv4_message before = { work->text, work->length, work->body,
            work->body_length };
        const struct sigv4_message after = { (const char *)new_head->bytes, new_head->length,
            new_body == NULL ? work->body : new_body->bytes,
            new_body == NULL ? work->body_length : new_body->length };

        result = replace_sign(work->replace, work->signs, &before, &after, &signed_head);
        if (result != REPLACE_DONE) {
            return result;
        }
    }
    if (!put_back(head, signed_head != NULL ? signed_head : new_head) ||
            (new_body != NULL && !put_back(body, new_body))) {
        return replace_nomem(work->replace);
    }
    return body == NULL ? REPLACE_DONE : replace_chain_whole(work->replace, body);
}

enum replace_result
replace_request(struct replace *replace, struct evbuffer *head, struct evbuffer *body)
{
    AUTO(work_done)
    struct work work = { .replace = replace,
        .length = evbuffer_get_length(head),
        .text = (const char *)evbuffer_pullup(head, -1),
        .edits = EDITS,
        .body_edits = EDITS,
        .signs = NO_CREDENTIAL };
    enum replace_result result;

    if (replace->is_refused) {
        return REPLACE_REFUSED;
    }
    if (body != NULL && evbuffer_get_length(body) > 0) {
        work.body = evbuffer_pullup(body, -1);
        work.body_length = evbuffer_get_length(body);
    } else if (body != NULL || (work.text != NULL && !has_streaming_body(&work))) {
        work.body = "";
    }
    if (work.text == NULL || (body != NULL && work.body == NULL)) {
        return replace_nomem(replace);
    }
    replace->body = body_kind_of(work.text, work.length);
    result = take_head(&work);
    if (result == REPLACE_DONE && work.body != NULL) {
        result = take_body(&work);
    }
    return result == REPLACE_DONE ? write_request(&work, head, body) : result;
}
