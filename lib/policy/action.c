/* SPDX-License-Identifier: Apache-2.0
 * Owns what an action is asked to do: its arguments held against what each layer declares, and
 * written in their one form (action_form.c).  Pure, any thread. */
#include "policy/action.h"

#include "base/mem.h"
#include "policy/builder.h"
#include "policy/index.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NESTING_OF_ARGUMENTS 8u
#define CHOICES_SHOWN 128u /* characters of what an argument may be */

const char *const argument_words[ARGUMENT_TYPES] = { "string", "integer", "boolean", "array" };

/* ---- what does not fit ---- */
static bool misfit(struct fail *fail, const char *name, size_t element, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

/* A key may be anybody's word, and be a sentence. */
static bool
is_plain_pointer(const char *pointer)
{
    for (; *pointer != '\0'; pointer++) {
        if ((*pointer < 'a' || *pointer > 'z') && (*pointer < 'A' || *pointer > 'Z') &&
                (*pointer < '0' || *pointer > '9') && strchr("/_-.~$", *pointer) == NULL) {
            return false;
        }
    }
    return true;
}

/* "/ids/3: 'x' is none of its values"; the pointer is what fail->step has after its colon. */
static bool
misfit(struct fail *fail, const char *name, size_t element, const char *format, ...)
{
    struct str pointer = { 0 };
    char what[400], step[sizeof fail->step], quoted[sizeof fail->step];
    const char *place;
    va_list arguments;

    json_pointer_add(&pointer, name);
    if (element != SIZE_MAX) {
        str_printf(&pointer, "/%zu", element);
    }
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    snprintf(step, sizeof step, "action:%.100s", pointer.data == NULL ? "" : pointer.data);
    place = step + strlen("action:");
    fail_set(fail, ABX_ERR_DENIED, 0, step, "%s: %s",
            is_plain_pointer(place) ? place : text_quote(place, quoted, sizeof quoted), what);
    str_done(&pointer);
    return false;
}

static bool
is_utf8(const char *text)
{
    size_t left = strlen(text), length;

    for (; left > 0; text += length, left -= length) {
        length = utf8_sequence((const unsigned char *)text, left);
        if (length == 0) {
            return false;
        }
    }
    return true;
}

/* One value, wherever it comes from. */
struct value {
    const struct json *json; /* or */
    const char *text; /* from a path or a query */
};

static bool
is_choice(const struct argument *argument, const char *text)
{
    for (size_t i = 0; i < argument->n_choices; i++) {
        if (strcmp(argument->choices[i], text) == 0) {
            return true;
        }
    }
    return false;
}

/* Says what is meant, or what there is as far as there is room. */
static bool
misfit_choice(struct fail *fail, const struct argument *argument, const char *text, size_t element)
{
    const char *nearest = nearest_of(text, argument->choices, argument->n_choices);
    char known[CHOICES_SHOWN] = "", quoted[QUOTED_SIZE];
    size_t length = 0, i = 0;

    for (; i < argument->n_choices && length + strlen(argument->choices[i]) + 5 < sizeof known;
            i++) {
        length += (size_t)snprintf(known + length, sizeof known - length, "%s'%s'",
                i == 0 ? ": " : ", ", argument->choices[i]);
    }
    return nearest != NULL ? misfit(fail, argument->name, element,
                                     "%s is none of its values; probably '%.80s' was meant",
                                     text_quote(text, quoted, sizeof quoted), nearest)
                           : misfit(fail, argument->name, element, "%s is none of its values%s%s",
                                     text_quote(text, quoted, sizeof quoted), known,
                                     i == 0 || i == argument->n_choices ? "" : ", ...");
}

static bool
fit_string(struct str *out, const struct argument *argument, const char *text, size_t element,
        struct fail *fail)
{
    char quoted[QUOTED_SIZE];
    bool matches = true;

    if (strlen(text) > ARGUMENT_TEXT_MAX) {
        return misfit(fail, argument->name, element, "the text is longer than %u bytes",
                ARGUMENT_TEXT_MAX);
    }
    if (!is_utf8(text)) {
        return misfit(fail, argument->name, element, "the text is not UTF-8");
    }
    if (argument->expression != NULL &&
            expression_match(argument->expression, text, &matches, fail) < 0) {
        return false;
    }
    if (!matches) {
        return misfit(fail, argument->name, element, "%s does not match '%.80s'",
                text_quote(text, quoted, sizeof quoted), argument->pattern);
    }
    if (argument->n_choices > 0 && !is_choice(argument, text)) {
        return misfit_choice(fail, argument, text, element);
    }
    action_add_text(out, text);
    return true;
}

static bool
read_integer(const char *text, int64_t *ret_number)
{
    char plain[24];

    if (strlen(text) >= sizeof plain || sscanf(text, "%" SCNd64, ret_number) != 1) {
        return false;
    }
    snprintf(plain, sizeof plain, "%" PRId64, *ret_number);
    return strcmp(plain, text) == 0; /* in its one spelling, so that nobody reads it otherwise */
}

static bool
fit_integer(struct str *out, const struct argument *argument, struct value value, size_t element,
        struct fail *fail)
{
    int64_t number = value.json != NULL ? json_number(value.json) : 0;
    char quoted[QUOTED_SIZE];

    if (value.json == NULL && !read_integer(value.text, &number)) {
        return misfit(fail, argument->name, element, "%s is no integer in its plain form",
                text_quote(value.text, quoted, sizeof quoted));
    }
    if (!action_is_exact(number)) {
        return misfit(fail, argument->name, element,
                "%" PRId64 " is beyond 2^53 - 1, where servers read different numbers", number);
    }
    if (argument->has_minimum && number < argument->minimum) {
        return misfit(fail, argument->name, element, "%" PRId64 " is below %" PRId64, number,
                argument->minimum);
    }
    if (argument->has_maximum && number > argument->maximum) {
        return misfit(fail, argument->name, element, "%" PRId64 " is above %" PRId64, number,
                argument->maximum);
    }
    str_printf(out, "%" PRId64, number);
    return true;
}

static bool
fit_boolean(struct str *out, const struct argument *argument, struct value value, size_t element,
        struct fail *fail)
{
    char quoted[QUOTED_SIZE];

    if (value.json == NULL && strcmp(value.text, "true") != 0 && strcmp(value.text, "false") != 0) {
        return misfit(fail, argument->name, element, "%s is neither true nor false",
                text_quote(value.text, quoted, sizeof quoted));
    }
    str_add(out, value.json == NULL ? value.text : json_truth(value.json) ? "true" : "false");
    return true;
}

/* A value that is no array. */
static bool
fit_one(struct str *out, const struct argument *argument, enum argument_type type,
        struct value value, size_t element, struct fail *fail)
{
    static const enum json_kind kinds[ARGUMENT_TYPES] = { JSON_KIND_TEXT, JSON_KIND_INTEGER,
        JSON_KIND_BOOL, JSON_KIND_ARRAY };

    if (value.json != NULL && json_kind_of(value.json) != kinds[type]) {
        return misfit(fail, argument->name, element, "it is %s, and not of type '%s'",
                json_kind_name(json_kind_of(value.json)), argument_words[type]);
    }
    switch (type) {
    case ARGUMENT_STRING:
        return fit_string(out, argument, value.json != NULL ? json_text(value.json) : value.text,
                element, fail);
    case ARGUMENT_INTEGER:
        return fit_integer(out, argument, value, element, fail);
    case ARGUMENT_BOOLEAN:
        return fit_boolean(out, argument, value, element, fail);
    case ARGUMENT_ARRAY:
        break;
    }
    return misfit(fail, argument->name, element, "an array is in no array");
}

/* ---- one argument ---- */

/* What is known of a request for an action. */
struct given {
    const struct json *json; /* an object; NULL: none */
    const struct action_input *input;
};

static bool
check_count(const struct argument *argument, size_t n, struct fail *fail)
{
    uint32_t most = argument->most == 0 ? ARGUMENT_ITEMS_MAX : argument->most;

    return n <= most ||
           misfit(fail, argument->name, SIZE_MAX,
                   "%zu elements are more than the %u that one request may be about", n, most);
}

static bool
fit_json(struct str *out, const struct argument *argument, const struct json *json,
        struct fail *fail)
{
    struct value value = { .json = json };

    if (argument->type != ARGUMENT_ARRAY || json_kind_of(json) != JSON_KIND_ARRAY) {
        return fit_one(out, argument, argument->type, value, SIZE_MAX, fail);
    }
    if (!check_count(argument, json_count(json), fail)) {
        return false;
    }
    str_add(out, "[");
    for (size_t i = 0; i < json_count(json); i++) {
        str_add(out, i == 0 ? "" : ",");
        value.json = json_element(json, i);
        if (!fit_one(out, argument, argument->items, value, i, fail)) {
            return false;
        }
    }
    str_add(out, "]");
    return true;
}

/* An array is a parameter that is repeated. */
static bool
fit_texts(struct str *out, const struct argument *argument, const struct given *given,
        struct fail *fail)
{
    bool is_array = argument->type == ARGUMENT_ARRAY;
    size_t n = 0;

    str_add(out, is_array ? "[" : "");
    for (size_t i = 0; i < given->input->n_texts; i++) {
        struct value value = { .text = given->input->texts[i].value };

        if (strcmp(given->input->texts[i].name, argument->name) != 0) {
            continue;
        }
        if (n > 0 && !is_array) {
            return misfit(fail, argument->name, SIZE_MAX, "it is there more than once");
        }
        str_add(out, n == 0 ? "" : ",");
        if (!fit_one(out, argument, is_array ? argument->items : argument->type, value,
                    is_array ? n : SIZE_MAX, fail)) {
            return false;
        }
        n++;
    }
    str_add(out, is_array ? "]" : "");
    return !is_array || check_count(argument, n, fail);
}

static bool
has_text(const struct given *given, const char *name)
{
    for (size_t i = 0; i < given->input->n_texts; i++) {
        if (strcmp(given->input->texts[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* What is said twice is said alike. */
static bool
is_said_alike(const char *said, const struct argument *argument, const struct given *given,
        struct fail *fail)
{
    AUTO(str_done) struct str again = { 0 };

    if (!fit_texts(&again, argument, given, fail)) {
        return false;
    }
    if (again.failed) {
        fail_nomem(fail);
        return false;
    }
    return strcmp(said, again.data) == 0 ||
           misfit(fail, argument->name, SIZE_MAX,
                   "the URL and the body of the request say different things");
}

/* Adds the member; nothing where an optional one is not there. */
static bool
fit(struct str *out, const struct argument *argument, const struct given *given, struct fail *fail)
{
    const struct json *json = given->json == NULL ? NULL : json_member(given->json, argument->name);
    const bool has_texts = has_text(given, argument->name);
    size_t start;

    if (json == NULL && !has_texts) {
        return argument->is_optional || given->input->is_part ||
               misfit(fail, argument->name, SIZE_MAX, "it is missing");
    }
    str_add(out, out->length > 1 ? "," : "");
    action_add_text(out, argument->name);
    str_add(out, ":");
    start = out->length;
    if (json == NULL) {
        return fit_texts(out, argument, given, fail);
    }
    return fit_json(out, argument, json, fail) &&
           (!has_texts || out->failed || is_said_alike(out->data + start, argument, given, fail));
}

/* ---- one layer ---- */

struct checking {
    const struct action_type *type;
    struct fail *fail;
    bool ok;
};

static bool
misfit_name(const struct action_type *type, const char *name, struct fail *fail)
{
    const char *names[ARGUMENTS_MAX];
    const char *nearest;

    for (size_t i = 0; i < type->n_arguments; i++) {
        names[i] = type->arguments[i].name;
    }
    nearest = nearest_of(name, names, type->n_arguments);
    return misfit(fail, name, SIZE_MAX, "the action has no such argument%s%.80s%s",
            nearest == NULL ? "" : "; probably '", nearest == NULL ? "" : nearest,
            nearest == NULL ? "" : "' was meant");
}

static bool
is_declared(const struct action_type *type, const char *name, struct fail *fail)
{
    for (size_t i = 0; i < type->n_arguments; i++) {
        if (strcmp(type->arguments[i].name, name) == 0) {
            return true;
        }
    }
    return misfit_name(type, name, fail);
}

static bool
check_member(void *data, const char *key, const struct json *value)
{
    struct checking *checking = data;

    checking->ok = is_declared(checking->type, key, checking->fail);
    return checking->ok;
}

/* All that is given is declared. */
static bool
check_names(const struct action_type *type, const struct given *given, struct fail *fail)
{
    struct checking checking = { type, fail, true };

    if (given->json != NULL) {
        json_each_member(given->json, check_member, &checking);
    }
    for (size_t i = 0; checking.ok && i < given->input->n_texts; i++) {
        checking.ok = is_declared(type, given->input->texts[i].name, fail);
    }
    return checking.ok;
}

static bool
fit_layer(const struct action_type *type, const struct given *given, struct action_form *form,
        struct fail *fail)
{
    struct str out = { 0 };
    bool ok = check_names(type, given, fail);

    str_add(&out, "{");
    for (size_t i = 0; i < type->n_arguments && ok; i++) {
        ok = fit(&out, &type->arguments[i], given, fail);
    }
    str_add(&out, "}");
    free(form->arguments);
    form->arguments = str_steal(&out, NULL);
    if (ok && form->arguments == NULL) {
        fail_nomem(fail);
        return false;
    }
    return ok;
}

/* ---- all layers ---- */

/* What a layer declares of an action, or NULL. */
static const struct action_type *
type_of(abx_policy *policy, size_t number, const char *name)
{
    const struct layer *layer = *vec_at(&policy->layers, struct layer *, number);
    struct pick pick;

    index_pick_name(layer, ABX_REQUEST_ACTION, name, &pick);
    return pick.rule == NO_RULE ? NULL : vec_at(&layer->rules, struct rule, pick.rule)->action;
}

bool
policy_action_has_arguments(abx_policy *policy, const char *name)
{
    for (size_t i = 0; i < policy->layers.count; i++) {
        const struct action_type *type = type_of(policy, i, name);

        if (type != NULL && type->has_arguments) {
            return true;
        }
    }
    return false;
}

const struct action_type *
action_declared(abx_policy *policy, const char *name)
{
    const struct action_type *found = NULL;

    for (size_t i = 0; i < policy->layers.count; i++) {
        const struct action_type *type = type_of(policy, i, name);

        if (type != NULL && type->has_arguments && found != NULL) {
            return NULL;
        }
        found = type != NULL && type->has_arguments ? type : found;
    }
    return found;
}

const char *
policy_action_nearest(abx_policy *policy, const char *name)
{
    AUTO(freep) const char **known = NULL;
    size_t n = 0, n_rules = 0;

    for (size_t i = 0; i < policy->layers.count; i++) {
        n_rules += (*vec_at(&policy->layers, struct layer *, i))->rules.count;
    }
    known = calloc(n_rules + 1, sizeof *known);
    for (size_t i = 0; known != NULL && i < policy->layers.count; i++) {
        const struct layer *layer = *vec_at(&policy->layers, struct layer *, i);

        for (size_t k = 0; k < layer->rules.count; k++) {
            const struct rule *rule = vec_at(&layer->rules, struct rule, k);

            if (rule->kind == ABX_REQUEST_ACTION) {
                known[n++] = rule->pattern;
            }
        }
    }
    return known == NULL ? NULL : nearest_of(name, known, n);
}

const char *
policy_action_instead(abx_policy *policy, const char *name)
{
    for (size_t i = 0; i < policy->layers.count; i++) {
        const struct layer *layer = *vec_at(&policy->layers, struct layer *, i);
        const char *instead;
        struct pick pick;

        index_pick_name(layer, ABX_REQUEST_ACTION, name, &pick);
        instead = pick.rule == NO_RULE ? NULL
                                       : vec_at(&layer->rules, struct rule, pick.rule)->alternative;
        if (instead != NULL) {
            return instead;
        }
    }
    return NULL;
}

void
policy_action_unread(
        abx_policy *policy, const char *name, const struct fail *fail, struct ruling *ruling)
{
    const char *instead = policy_action_instead(policy, name);

    if (ruling->verdict == ABX_VERDICT_DENY) {
        return;
    }
    ruling->verdict = ABX_VERDICT_DENY;
    ruling->id = "action:arguments";
    ruling->reason = fail->text;
    ruling->alternative = fail->status == ABX_ERR_NOMEM ? "try it again"
                          : instead != NULL             ? instead
                                                        : "correct the arguments, and try again";
}

void
policy_action_text(abx_policy *policy, const char *name, struct str *out)
{
    for (size_t i = 0; i < policy->layers.count; i++) {
        const struct action_type *type = type_of(policy, i, name);
        struct action_type arguments;
        struct str one = { 0 };

        if (type == NULL || !type->has_arguments) {
            continue;
        }
        arguments = *type;
        arguments.per_command = arguments.per_box = 0; /* they are numbers */
        str_add(&one, "{");
        action_emit(&one, &arguments);
        str_add(&one, "}");
        out->failed = out->failed || one.failed;
        if (!out->failed && (out->data == NULL || strstr(out->data, one.data) == NULL)) {
            str_add(out, one.data);
        }
        str_done(&one);
    }
}

struct action_limits
policy_action_limits(abx_policy *policy, const char *name)
{
    struct action_limits limits = { 0, 0 };

    for (size_t i = 0; i < policy->layers.count; i++) {
        const struct action_type *type = type_of(policy, i, name);

        if (type != NULL && type->per_command != 0 &&
                (limits.per_command == 0 || type->per_command < limits.per_command)) {
            limits.per_command = type->per_command;
        }
        if (type != NULL && type->per_box != 0 &&
                (limits.per_box == 0 || type->per_box < limits.per_box)) {
            limits.per_box = type->per_box;
        }
    }
    return limits;
}

static struct json *
read_json(const struct action_input *input, struct fail *fail)
{
    struct json_problem problem;
    struct json *json;

    if (input->json_length > ACTION_INPUT_MAX) {
        fail_set(fail, ABX_ERR_DENIED, 0, "action:", "the arguments are longer than %u bytes",
                ACTION_INPUT_MAX);
        return NULL;
    }
    json = json_read(input->json, input->json_length, NESTING_OF_ARGUMENTS, &problem);
    if (json == NULL && problem.no_memory) {
        fail_nomem(fail);
    } else if (json == NULL) {
        fail_set(fail, ABX_ERR_DENIED, 0, "action:", "%zu:%zu: the arguments are no JSON: %s",
                problem.place.line, problem.place.column, problem.text);
    } else if (json_kind_of(json) != JSON_KIND_OBJECT) {
        fail_set(fail, ABX_ERR_DENIED, 0, "action:", "the arguments are %s, and no object",
                json_kind_name(json_kind_of(json)));
        json_free(json);
        json = NULL;
    }
    return json;
}

/* Where no layer declares arguments: as they are. */
static bool
form_any(const struct json *json, struct action_form *form, struct fail *fail)
{
    struct str out = { 0 };

    if (json != NULL && !action_add_json(&out, json)) {
        fail_set(fail, ABX_ERR_DENIED, 0,
                "action:", "a number among the arguments is no integer, or beyond 2^53 - 1");
        str_done(&out);
        return false;
    }
    str_add(&out, json == NULL ? "{}" : "");
    form->arguments = str_steal(&out, NULL);
    if (form->arguments == NULL) {
        fail_nomem(fail);
    }
    return form->arguments != NULL;
}

abx_status
policy_action_read(abx_policy *policy, const char *name, const struct action_input *input,
        struct action_form *ret_form, struct fail *fail)
{
    struct json *json = input->json == NULL ? NULL : read_json(input, fail);
    struct given given = { .json = json, .input = input };
    struct action_form form = { 0 };
    bool ok = input->json == NULL || json != NULL;

    for (size_t i = 0; i < policy->layers.count && ok; i++) {
        const struct action_type *type = type_of(policy, i, name);

        if (type != NULL && type->has_arguments) {
            ok = fit_layer(type, &given, &form, fail);
        }
    }
    if (ok && form.arguments == NULL) {
        ok = form_any(json, &form, fail);
    }
    json_free(json);
    if (!ok) {
        free(form.arguments);
        return fail->status;
    }
    *ret_form = form;
    return ABX_OK;
}
