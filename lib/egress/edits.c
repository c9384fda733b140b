/* SPDX-License-Identifier: Apache-2.0
 * Owns changes to a text that bring secrets into it, and the memory in which they pass on.  Pure.
 */
#include "egress/forms.h"
#include "egress/replace_private.h"

#include <string.h>

void
edits_add(struct edits *edits, size_t at, size_t length, const void *text, size_t n)
{
    struct vault *copy = vault_of(text, n);
    struct edit *slot = copy == NULL ? NULL : vec_add(&edits->list);

    if (slot == NULL) {
        vault_unref(copy);
        edits->failed = true;
        return;
    }
    *slot = (struct edit){ .at = at, .length = length, .text = copy };
    /* Mostly it is the last one; else it moves to its place. */
    for (size_t i = edits->list.count - 1; i > 0; i--) {
        struct edit *before = vec_at(&edits->list, struct edit, i - 1);
        struct edit moved = *before;

        if (before->at <= at) {
            break;
        }
        *before = before[1];
        before[1] = moved;
    }
}

struct vault *
edits_apply(const struct edits *edits, const void *text, size_t length)
{
    const unsigned char *bytes = text;
    size_t total = length, from = 0, to = 0;
    struct vault *result;

    if (edits->failed) {
        return NULL;
    }
    for (size_t i = 0; i < edits->list.count; i++) {
        const struct edit *edit = vec_at(&edits->list, struct edit, i);

        total = total - edit->length + edit->text->length;
    }
    result = vault_new(total);
    if (result == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < edits->list.count; i++) {
        const struct edit *edit = vec_at(&edits->list, struct edit, i);

        memcpy(result->bytes + to, bytes + from, edit->at - from);
        to += edit->at - from;
        memcpy(result->bytes + to, edit->text->bytes, edit->text->length);
        to += edit->text->length;
        from = edit->at + edit->length;
    }
    memcpy(result->bytes + to, bytes + from, length - from);
    return result;
}

void
edits_done(struct edits *edits)
{
    for (size_t i = 0; i < edits->list.count; i++) {
        vault_unref(vec_at(&edits->list, struct edit, i)->text);
    }
    vec_done(&edits->list);
}

static void
release(const void *bytes, size_t length, void *vault)
{
    vault_unref(vault);
}

bool
evbuffer_add_vault(struct evbuffer *buffer, struct vault *vault)
{
    if (vault->length == 0) {
        return true;
    }
    if (evbuffer_add_reference(buffer, vault->bytes, vault->length, release, vault_ref(vault)) !=
            0) {
        vault_unref(vault);
        return false;
    }
    return true;
}

struct vault *
secret_in_query(const struct vault *secret)
{
    AUTO(vault_unrefp) struct vault *room = vault_new(PERCENT_ROOM(secret->length));

    return room == NULL ? NULL
                        : vault_of(room->bytes, percent_encode(secret->bytes, secret->length,
                                                        (char *)room->bytes));
}

struct vault *
secret_in_body(const struct vault *secret, enum body_kind kind)
{
    AUTO(vault_unrefp) struct vault *room = NULL;

    switch (kind) {
    case BODY_FORM:
        return secret_in_query(secret);
    case BODY_JSON:
        room = vault_new(JSON_ROOM(secret->length));
        return room == NULL ? NULL
                            : vault_of(room->bytes, json_escape(secret->bytes, secret->length,
                                                            (char *)room->bytes));
    case BODY_PLAIN:
        break;
    }
    return vault_of(secret->bytes, secret->length);
}
