/* SPDX-License-Identifier: Apache-2.0
 * Writes what an action takes as a policy document has it. */
#include "policy/action.h"
#include "policy/emit.h"

#include <inttypes.h>

static void
emit_number(struct str *out, const char *name, bool is_there, int64_t number)
{
    if (is_there) {
        emit_key(out, name);
        str_printf(out, "%" PRId64, number);
    }
}

/* What a single value may be. */
static void
emit_value(struct str *out, const struct argument *argument, enum argument_type type)
{
    emit_text(out, "type", argument_words[type]);
    emit_text(out, "pattern", argument->pattern);
    if (argument->n_choices > 0) {
        emit_key(out, "enum");
        str_add(out, "[");
        for (size_t i = 0; i < argument->n_choices; i++) {
            emit_next(out);
            str_add_json(out, argument->choices[i]);
        }
        str_add(out, "]");
    }
    emit_number(out, "minimum", argument->has_minimum, argument->minimum);
    emit_number(out, "maximum", argument->has_maximum, argument->maximum);
}

static void
emit_argument(struct str *out, const struct argument *argument)
{
    emit_key(out, argument->name);
    str_add(out, "{");
    if (argument->type == ARGUMENT_ARRAY) {
        emit_text(out, "type", argument_words[ARGUMENT_ARRAY]);
        emit_key(out, "items");
        str_add(out, "{");
        emit_value(out, argument, argument->items);
        str_add(out, "}");
        emit_number(out, "max_items", argument->most != 0, argument->most);
    } else {
        emit_value(out, argument, argument->type);
    }
    if (argument->is_optional) {
        str_add(out, ",\"optional\":true");
    }
    str_add(out, "}");
}

void
action_emit(struct str *out, const struct action_type *type)
{
    if (type == NULL) {
        return;
    }
    if (type->has_arguments) {
        emit_key(out, "arguments");
        str_add(out, "{");
        for (size_t i = 0; i < type->n_arguments; i++) {
            emit_argument(out, &type->arguments[i]);
        }
        str_add(out, "}");
    }
    if (type->per_command != 0 || type->per_box != 0) {
        emit_key(out, "limits");
        str_add(out, "{");
        emit_number(out, "per_command", type->per_command != 0, type->per_command);
        emit_number(out, "per_box", type->per_box != 0, type->per_box);
        str_add(out, "}");
    }
}
