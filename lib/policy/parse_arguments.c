/* SPDX-License-Identifier: Apache-2.0
 * "arguments" and "limits" of an action. */
#include "policy/action.h"
#include "policy/parse.h"

#include <stdlib.h>
#include <string.h>

/* An argument as it is written; texts are kept by the layer already. */
struct draft {
    struct argument own;
    struct argument item;
    bool has_items;
};

/* A copy that the layer keeps, or NULL. */
static const char *
keep_text(struct parser *parser, const char *text)
{
    char *copy = strdup(text);

    return layer_keep(parser->builder->layer, copy, parser->fail) < 0 ? NULL : copy;
}

static bool
argument_type(struct parser *parser, const struct json *value, void *data)
{
    size_t choice;

    if (!parse_choice(parser, value, argument_words, ARGUMENT_TYPES, &choice)) {
        return false;
    }
    ((struct argument *)data)->type = (enum argument_type)choice;
    return true;
}

static bool
argument_pattern(struct parser *parser, const struct json *value, void *data)
{
    struct argument *argument = data;
    struct expression *expression;
    const char *text;

    if (!parse_text(parser, value, &text)) {
        return false;
    }
    if (strlen(text) > 512) {
        return parse_wrong(parser, "the pattern is longer than 512 bytes");
    }
    expression = expression_new(text, parser->fail);
    if (expression == NULL) {
        return parse_result(parser, parser->fail->status);
    }
    argument->expression = expression;
    return layer_keep(parser->builder->layer, expression, parser->fail) >= 0 &&
           (argument->pattern = keep_text(parser, text)) != NULL;
}

static bool
one_choice(struct parser *parser, const struct json *value, void *data)
{
    struct argument *argument = data;
    const char **choices = (const char **)(uintptr_t)argument->choices;
    const char *text;

    if (!parse_text(parser, value, &text)) {
        return false;
    }
    choices[argument->n_choices++] = keep_text(parser, text);
    return choices[argument->n_choices - 1] != NULL;
}

static bool
argument_enum(struct parser *parser, const struct json *value, void *data)
{
    struct argument *argument = data;
    const char **choices;

    if (!parse_kind(parser, value, JSON_KIND_ARRAY)) {
        return false;
    }
    if (json_count(value) == 0) {
        return parse_wrong(parser, "the list is empty");
    }
    choices = calloc(json_count(value) + 1, sizeof *choices);
    argument->choices = choices;
    return layer_keep(parser->builder->layer, (void *)choices, parser->fail) >= 0 &&
           parse_array(parser, value, one_choice, argument);
}

static bool
argument_minimum(struct parser *parser, const struct json *value, void *data)
{
    struct argument *argument = data;

    argument->has_minimum = true;
    return parse_integer(parser, value, INT64_MIN, INT64_MAX, &argument->minimum);
}

static bool
argument_maximum(struct parser *parser, const struct json *value, void *data)
{
    struct argument *argument = data;

    argument->has_maximum = true;
    return parse_integer(parser, value, INT64_MIN, INT64_MAX, &argument->maximum);
}

static bool
argument_optional(struct parser *parser, const struct json *value, void *data)
{
    return parse_bool(parser, value, &((struct argument *)data)->is_optional);
}

static bool
argument_max_items(struct parser *parser, const struct json *value, void *data)
{
    int64_t most;

    if (!parse_integer(parser, value, 1, ARGUMENT_ITEMS_MAX, &most)) {
        return false;
    }
    ((struct argument *)data)->most = (uint32_t)most;
    return true;
}

/* What is said of a value must be able to be true of one. */
static bool
check_value(struct parser *parser, const struct argument *argument, enum argument_type type)
{
    if (type != ARGUMENT_STRING && (argument->pattern != NULL || argument->n_choices > 0)) {
        return parse_wrong(
                parser, "'pattern' and 'enum' say nothing of type '%s'", argument_words[type]);
    }
    if (type != ARGUMENT_INTEGER && (argument->has_minimum || argument->has_maximum)) {
        return parse_wrong(
                parser, "'minimum' and 'maximum' say nothing of type '%s'", argument_words[type]);
    }
    if (argument->has_minimum && argument->has_maximum && argument->minimum > argument->maximum) {
        return parse_wrong(parser, "the minimum is too big: it is above the maximum");
    }
    return true;
}

static bool
argument_items(struct parser *parser, const struct json *value, void *data)
{
    static const struct parse_key keys[] = {
        { "type", argument_type },
        { "pattern", argument_pattern },
        { "enum", argument_enum },
        { "minimum", argument_minimum },
        { "maximum", argument_maximum },
    };
    struct draft *draft = data;

    draft->has_items = true;
    if (!parse_object(parser, value, keys, N_ELEMENTS(keys), &draft->item) ||
            !parse_required(parser, value, "type")) {
        return false;
    }
    return draft->item.type == ARGUMENT_ARRAY ? parse_wrong(parser, "arrays in arrays are too much")
                                              : check_value(parser, &draft->item, draft->item.type);
}

/* An array's values are what its items say. */
static bool
join_items(struct parser *parser, struct draft *draft)
{
    struct argument *own = &draft->own;
    struct argument joined = draft->item;

    if (own->type != ARGUMENT_ARRAY) {
        return (!draft->has_items && own->most == 0) ||
               parse_wrong(parser, "'items' and 'max_items' say nothing of type '%s'",
                       argument_words[own->type]);
    }
    if (!draft->has_items) {
        return parse_wrong(parser, "the key 'items' is missing: it says of what");
    }
    joined.items = joined.type;
    joined.type = ARGUMENT_ARRAY;
    joined.name = own->name;
    joined.is_optional = own->is_optional;
    joined.most = own->most;
    *own = joined;
    return true;
}

static bool
one_argument(struct parser *parser, const char *name, const struct json *value, void *data)
{
    static const struct parse_key keys[] = {
        { "type", argument_type },
        { "optional", argument_optional },
        { "max_items", argument_max_items },
        { "pattern", argument_pattern },
        { "enum", argument_enum },
        { "minimum", argument_minimum },
        { "maximum", argument_maximum },
        { "items", argument_items },
    };
    struct vec *arguments = data;
    struct draft draft = { .has_items = false };
    struct argument *slot;

    if (arguments->count >= ARGUMENTS_MAX) {
        return parse_wrong(parser, "an action has too many arguments");
    }
    draft.own.name = keep_text(parser, name);
    if (draft.own.name == NULL || !parse_object(parser, value, keys, N_ELEMENTS(keys), &draft) ||
            !parse_required(parser, value, "type") ||
            !check_value(parser, &draft.own, draft.own.type) || !join_items(parser, &draft)) {
        return false;
    }
    slot = vec_add(arguments);
    if (slot == NULL) {
        fail_nomem(parser->fail);
        return false;
    }
    *slot = draft.own;
    return true;
}

static int
by_name(const void *a, const void *b)
{
    return strcmp(((const struct argument *)a)->name, ((const struct argument *)b)->name);
}

bool
parse_arguments(struct parser *parser, const struct json *value, struct action_type *type)
{
    struct vec arguments = VEC(struct argument);
    struct argument *kept = NULL;
    bool ok = parse_members(parser, value, one_argument, &arguments);
    size_t n = arguments.count;

    if (ok) {
        kept = calloc(n + 1, sizeof *kept);
        ok = layer_keep(parser->builder->layer, kept, parser->fail) >= 0;
    }
    if (ok && n > 0) {
        memcpy(kept, arguments.data, n * sizeof *kept);
        qsort(kept, n, sizeof *kept, by_name);
    }
    vec_done(&arguments);
    type->has_arguments = true;
    type->arguments = kept;
    type->n_arguments = n;
    return ok;
}

static bool
limit(struct parser *parser, const struct json *value, uint32_t *ret_limit)
{
    int64_t number;

    if (!parse_integer(parser, value, 1, INT64_C(1000000000), &number)) {
        return false;
    }
    *ret_limit = (uint32_t)number;
    return true;
}

static bool
per_command(struct parser *parser, const struct json *value, void *data)
{
    return limit(parser, value, &((struct action_type *)data)->per_command);
}

static bool
per_box(struct parser *parser, const struct json *value, void *data)
{
    return limit(parser, value, &((struct action_type *)data)->per_box);
}

bool
parse_action_limits(struct parser *parser, const struct json *value, struct action_type *type)
{
    static const struct parse_key keys[] = {
        { "per_command", per_command },
        { "per_box", per_box },
    };

    return parse_object(parser, value, keys, N_ELEMENTS(keys), type);
}
