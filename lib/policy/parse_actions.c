/* SPDX-License-Identifier: Apache-2.0
 * "actions": their names, verdicts, arguments and limits.  Which scopes an answer may have is read
 * and checked, and then refused, since this build has nothing that enforces it. */
#include "policy/action.h"
#include "policy/parse.h"

#include <stdlib.h>
#include <string.h>

/* An action as it is written. */
struct action {
    struct entry entry;
    size_t verdict;
    struct consent consent;
    struct action_type type;
};

static bool
action_name(struct parser *parser, const struct json *value, void *data)
{
    return parse_word(parser, value, &((struct action *)data)->entry.name);
}

static bool
action_verdict(struct parser *parser, const struct json *value, void *data)
{
    return parse_choice(parser, value, verdict_words, N_ELEMENTS(verdict_words),
            &((struct action *)data)->verdict);
}

static bool
action_id(struct parser *parser, const struct json *value, void *data)
{
    return parse_entry_id(parser, value, &((struct action *)data)->entry);
}

static bool
action_reason(struct parser *parser, const struct json *value, void *data)
{
    return parse_text(parser, value, &((struct action *)data)->entry.reason);
}

static bool
action_instead(struct parser *parser, const struct json *value, void *data)
{
    return parse_text(parser, value, &((struct action *)data)->entry.instead);
}

static bool
action_approvers(struct parser *parser, const struct json *value, void *data)
{
    return parse_approvers(parser, value, &((struct action *)data)->consent);
}

static bool
action_step_up(struct parser *parser, const struct json *value, void *data)
{
    return parse_bool(parser, value, &((struct action *)data)->consent.step_up);
}

/* ---- what is not enforced ---------------------------------------------------------------------
 */

static bool
scope_name(struct parser *parser, const struct json *value, void *data)
{
    static const char *const choices[] = { "once", "command", "box", "until" };
    size_t choice;

    return parse_choice(parser, value, choices, N_ELEMENTS(choices), &choice);
}

static bool
action_scope(struct parser *parser, const struct json *value, void *data)
{
    return parse_array(parser, value, scope_name, NULL) &&
           (json_count(value) > 0 || parse_wrong(parser, "the list is empty")) &&
           parse_unsupported(parser, "scopes of actions are");
}

/* ---- what it takes ---- */
static bool
action_arguments(struct parser *parser, const struct json *value, void *data)
{
    return parse_arguments(parser, value, &((struct action *)data)->type);
}

static bool
action_limits(struct parser *parser, const struct json *value, void *data)
{
    return parse_action_limits(parser, value, &((struct action *)data)->type);
}

/* Nothing where nothing is declared. */
static bool
keep_type(
        struct parser *parser, const struct action_type *type, const struct action_type **ret_type)
{
    struct action_type *kept;

    *ret_type = NULL;
    if (!type->has_arguments && type->per_command == 0 && type->per_box == 0) {
        return true;
    }
    kept = malloc(sizeof *kept);
    if (layer_keep(parser->builder->layer, kept, parser->fail) < 0) {
        return false;
    }
    *kept = *type;
    *ret_type = kept;
    return true;
}

/* ---- all of it --------------------------------------------------------------------------------
 */

static bool
action(struct parser *parser, const struct json *value, void *data)
{
    static const struct parse_key keys[] = {
        { "name", action_name },
        { "verdict", action_verdict },
        { "id", action_id },
        { "reason", action_reason },
        { "instead", action_instead },
        { "scope", action_scope },
        { "arguments", action_arguments },
        { "limits", action_limits },
        { "approvers", action_approvers },
        { "step_up", action_step_up },
    };
    struct action action = { 0 };
    struct entry_texts texts;
    AUTO(freep) char *id = NULL;

    if (!parse_object(parser, value, keys, N_ELEMENTS(keys), &action) ||
            !parse_required(parser, value, "name") || !parse_required(parser, value, "verdict") ||
            !parse_texts(parser, &action.entry, &texts, &id) ||
            !keep_type(parser, &action.type, &texts.action)) {
        return false;
    }
    texts.consent = action.consent;
    return parse_result(parser, builder_add_action(parser->builder, action.entry.name,
                                        (abx_verdict)action.verdict, &texts, parser->fail));
}

bool
parse_actions(struct parser *parser, const struct json *value, void *data)
{
    parser->builder->layer->has_actions = true;
    return parse_array(parser, value, action, NULL);
}
