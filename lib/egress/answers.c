/* SPDX-License-Identifier: Apache-2.0
 * Owns what is looked for in answers.  One thread. */
#include "egress/answers.h"

#include "egress/forms.h"
#include "egress/sigv4.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct answers *
answers_ref(struct answers *answers)
{
    if (answers != NULL) {
        answers->references++;
    }
    return answers;
}

void
answers_unref(struct answers *answers)
{
    if (answers == NULL || --answers->references > 0) {
        return;
    }
    for (size_t i = 0; i < answers->texts.count; i++) {
        free(*vec_at(&answers->texts, char *, i));
    }
    vec_done(&answers->texts);
    needles_unref(answers->needles);
    free(answers);
}

static char *
basic_of(const char *user, const char *stand_in)
{
    AUTO(freep) char *pair = NULL;
    char *text;
    size_t length;

    if (asprintf(&pair, "%s:%s", user, stand_in) < 0) {
        pair = NULL;
        return NULL;
    }
    length = strlen(pair);
    text = malloc(BASE64_ROOM(length) + 1);
    if (text != NULL) {
        text[base64_encode(pair, length, text)] = '\0';
    }
    return text;
}

/* A fragment of base64 becomes nothing of equal length. */
static char *
filler(size_t length)
{
    char *text = malloc(length + 1);

    if (text != NULL) {
        memset(text, 'A', length);
        text[length] = '\0';
    }
    return text;
}

/* All that is looked for while it is collected. */
struct collection {
    struct vec forms; /* struct forms */
    struct vec needles; /* struct needle */
    struct answers *answers;
};

static bool
add_form(struct collection *collection, const struct forms *forms, const struct form *form,
        const char *stand_in)
{
    char **text = vec_add(&collection->answers->texts);
    struct needle *needle = text == NULL ? NULL : vec_add(&collection->needles);

    if (needle == NULL) {
        return false;
    }
    *needle = (struct needle){ .bytes = forms->vault->bytes + form->at,
        .length = form->length,
        .id = (uint32_t)collection->answers->texts.count - 1,
        .is_base64 = form->kind != FORM_PLAIN };
    *text = form->kind == FORM_PLAIN   ? strdup(stand_in)
            : form->kind == FORM_BASIC ? basic_of(form->user, stand_in)
                                       : filler(form->length);
    return *text != NULL;
}

static bool
collect(struct collection *collection, const struct known *known, const void *bytes, size_t length,
        const char *stand_in)
{
    struct forms *forms = vec_add(&collection->forms);

    if (forms == NULL || !forms_make(forms, bytes, length, known->users)) {
        collection->forms.count -= forms != NULL;
        return false;
    }
    for (size_t i = 0; i < forms->n; i++) {
        if (!add_form(collection, forms, &forms->list[i], stand_in)) {
            return false;
        }
    }
    return true;
}

static bool
collect_key(struct collection *collection, const struct known *known)
{
    struct sigv4_key key;

    return sigv4_key_parse(known->value->bytes, known->value->length, &key) &&
           collect(collection, known, key.id, key.id_length, known->key_id) &&
           collect(collection, known, key.secret, key.secret_length, known->stand_in) &&
           (key.token == NULL ||
                   collect(collection, known, key.token, key.token_length, known->stand_in));
}

static bool
collect_all(struct collection *collection, const struct known *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!(list[i].key_id != NULL ? collect_key(collection, &list[i])
                                     : collect(collection, &list[i], list[i].value->bytes,
                                               list[i].value->length, list[i].stand_in))) {
            return false;
        }
    }
    return true;
}

struct answers *
answers_new(const struct known *list, size_t n)
{
    struct answers *answers = calloc(1, sizeof *answers);
    struct collection collection = {
        .forms = VEC(struct forms), .needles = VEC(struct needle), .answers = answers
    };

    if (answers == NULL) {
        return NULL;
    }
    answers->references = 1;
    answers->texts = VEC(char *);
    if (collect_all(&collection, list, n)) {
        answers->needles = needles_new(collection.needles.data, collection.needles.count);
    }
    for (size_t i = 0; i < collection.forms.count; i++) {
        forms_done(vec_at(&collection.forms, struct forms, i));
    }
    vec_done(&collection.forms);
    vec_done(&collection.needles);
    if (answers->needles == NULL) {
        answers_unref(answers);
        return NULL;
    }
    return answers;
}
