/* SPDX-License-Identifier: Apache-2.0
 * Rewrites what streams: bodies of requests and of answers, and the heads of answers.  What was
 * found is decided by the bytes alone, so it makes no difference how they were cut.  Egress thread.
 */
#include "egress/replace_private.h"

#include <string.h>

/* Moves bytes as they are. */
static bool
pass(struct evbuffer *from, struct evbuffer *to, size_t length)
{
    return length == 0 || evbuffer_remove_buffer(from, to, length) == (int)length;
}

/* ---- requests ---- */

static enum replace_result
put_secret(struct replace *replace, const struct mark *mark, const struct finding *finding,
        bool keeps_length, struct evbuffer *from, struct evbuffer *to)
{
    enum replace_result result = replace_judge(replace, *mark, CREDENTIAL_BODY);
    AUTO(vault_unrefp) struct vault *secret = NULL;
    AUTO(vault_unrefp) struct vault *spelled = NULL;
    const struct policy_credential *of;

    if (result != REPLACE_DONE) {
        return result;
    }
    secret = replace_secret(replace, mark->credential, &result);
    if (secret == NULL) {
        return result;
    }
    spelled = secret_in_body(secret, replace->body);
    if (spelled == NULL) {
        return replace_nomem(replace);
    }
    of = replace_credential(replace, mark->credential);
    if (keeps_length && spelled->length != finding->length) {
        return replace_refuse(replace, 413, of->name, of->id,
                "the credential stands in a body whose length was announced and is too large to be "
                "collected",
                "send the body chunked, or in less than 1 MiB");
    }
    evbuffer_drain(from, finding->length);
    return evbuffer_add_vault(to, spelled) ? REPLACE_DONE : replace_nomem(replace);
}

enum replace_result
replace_request_body(struct replace *replace, struct evbuffer *from, bool keeps_length,
        bool is_last, struct evbuffer *to)
{
    const struct needles *needles = secrets_in_requests(replace->secrets);

    if (replace->chain != NULL && !replace->is_refused) {
        return replace_chain(replace, from, is_last, to);
    }
    while (!replace->is_refused && evbuffer_get_length(from) > 0) {
        size_t length = evbuffer_get_length(from);
        const unsigned char *bytes = evbuffer_pullup(from, -1);
        struct finding finding;
        struct mark mark;
        bool found;
        enum replace_result result;

        if (bytes == NULL) {
            return replace_nomem(replace);
        }
        found = needles_find(needles, bytes, length, is_last, &finding);
        if (!pass(from, to, finding.at)) {
            return replace_nomem(replace);
        }
        if (!found) {
            return REPLACE_DONE;
        }
        mark = secrets_mark(replace->secrets, finding.id);
        result = put_secret(replace, &mark, &finding, keeps_length, from, to);
        if (result != REPLACE_DONE) {
            return result;
        }
    }
    return replace->is_refused ? REPLACE_REFUSED : REPLACE_DONE;
}

/* ---- answers ---- */

bool
replace_changes_answer(const struct replace *replace)
{
    return replace->reads_answers;
}

/* Everything but what may be the beginning of something. */
static bool
take_secrets_out(
        const struct answers *answers, struct evbuffer *from, bool is_last, struct evbuffer *to)
{
    while (evbuffer_get_length(from) > 0) {
        size_t length = evbuffer_get_length(from);
        const unsigned char *bytes = evbuffer_pullup(from, -1);
        struct finding finding;
        const char *text;
        bool found =
                bytes != NULL && needles_find(answers->needles, bytes, length, is_last, &finding);

        if (bytes == NULL || !pass(from, to, finding.at)) {
            return false;
        }
        if (!found) {
            break;
        }
        text = *vec_at(&answers->texts, char *, finding.id);
        if (evbuffer_add(to, text, strlen(text)) != 0 ||
                evbuffer_drain(from, finding.length) != 0) {
            return false;
        }
    }
    return true;
}

/* NULL where there is none; bodies that are compressed say so. */
static bool
is_encoded(struct evbuffer *head)
{
    size_t length = evbuffer_get_length(head);
    const char *text = (const char *)evbuffer_pullup(head, -1);
    const char *line = text == NULL ? NULL : memchr(text, '\n', length);

    while (line != NULL) {
        size_t left = length - (size_t)(++line - text);
        static const char name[] = "content-encoding:";

        if (left > strlen(name) && strncasecmp(line, name, strlen(name)) == 0) {
            const char *value = line + strlen(name);
            size_t n;

            value += strspn(value, " \t");
            n = strcspn(value, " \t\r\n");
            return n > 0 && (n != strlen("identity") || strncasecmp(value, "identity", n) != 0);
        }
        line = memchr(line, '\n', left);
    }
    return false;
}

enum replace_result
replace_answer(struct replace *replace, struct evbuffer *head)
{
    struct evbuffer *changed;
    bool ok;

    if (replace->is_refused) {
        return REPLACE_REFUSED;
    }
    if (!replace_takes_answers(replace)) {
        return replace_nomem(replace);
    }
    if (replace->answers == NULL) {
        return REPLACE_DONE;
    }
    if (is_encoded(head)) {
        return replace_refuse(replace, 502, "credentials", "boundary:credential",
                "the answer is compressed although that was not asked for, so a secret in it would "
                "not be seen",
                "ask the server for another form of the answer");
    }
    changed = evbuffer_new();
    ok = changed != NULL && take_secrets_out(replace->answers, head, true, changed) &&
         evbuffer_add_buffer(head, changed) == 0;
    if (changed != NULL) {
        evbuffer_free(changed);
    }
    return ok ? REPLACE_DONE : replace_nomem(replace);
}

enum replace_result
replace_answer_body(
        struct replace *replace, struct evbuffer *from, bool is_last, struct evbuffer *to)
{
    if (replace->is_refused) {
        return REPLACE_REFUSED;
    }
    if (!replace_takes_answers(replace)) {
        return replace_nomem(replace);
    }
    if (replace->answers == NULL) {
        return evbuffer_add_buffer(to, from) == 0 ? REPLACE_DONE : replace_nomem(replace);
    }
    return take_secrets_out(replace->answers, from, is_last, to) ? REPLACE_DONE
                                                                 : replace_nomem(replace);
}
