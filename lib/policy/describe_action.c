/* SPDX-License-Identifier: Apache-2.0
 * What an action takes, how often it may be done and who agrees to it, in words.  Pure. */
#include "policy/action.h"
#include "policy/describe.h"

#include <inttypes.h>

static void
add_choices(struct str *out, const struct argument *argument)
{
    for (size_t i = 0; i < argument->n_choices; i++) {
        str_printf(out, "%s'%s'",
                i == 0                         ? ""
                : i + 1 == argument->n_choices ? " or "
                                               : ", ",
                argument->choices[i]);
    }
}

/* One value: "'title' or 'phone'", "integer from 1 to 9", "string that matches '[0-9]+'". */
static void
add_value(struct str *out, const struct argument *argument, enum argument_type type)
{
    if (argument->n_choices > 0) {
        add_choices(out, argument);
        return;
    }
    str_add(out, argument_words[type]);
    if (argument->pattern != NULL) {
        str_printf(out, " that matches '%s'", argument->pattern);
    }
    if (argument->has_minimum) {
        str_printf(out, " from %" PRId64, argument->minimum);
    }
    if (argument->has_maximum) {
        str_printf(out, " to %" PRId64, argument->maximum);
    }
}

static void
add_argument(struct str *out, const struct argument *argument)
{
    str_printf(out, "%s (%s", argument->name, argument->is_optional ? "optional, " : "");
    if (argument->type == ARGUMENT_ARRAY) {
        str_printf(out,
                "array of at most %u: ", argument->most == 0 ? ARGUMENT_ITEMS_MAX : argument->most);
        add_value(out, argument, argument->items);
    } else {
        add_value(out, argument, argument->type);
    }
    str_add(out, ")");
}

static void
add_limit(struct str *out, uint32_t times, const char *where)
{
    if (times != 0) {
        str_printf(out, "; at most %u time%s in one %s", times, times == 1 ? "" : "s", where);
    }
}

char *
describe_action(const struct rule *rule)
{
    const struct action_type *type = rule->action;
    struct str out = { 0 };

    if (!type->has_arguments) {
        str_add(&out, "anything");
    } else if (type->n_arguments == 0) {
        str_add(&out, "nothing");
    }
    for (size_t i = 0; i < type->n_arguments; i++) {
        str_add(&out, i == 0 ? "" : ", ");
        add_argument(&out, &type->arguments[i]);
    }
    add_limit(&out, type->per_command, "command");
    add_limit(&out, type->per_box, "box");
    str_add(&out, rule->consent.approvers > 1 ? "; two different people must agree" : "");
    return str_steal(&out, NULL);
}
