/* SPDX-License-Identifier: Apache-2.0
 * The sections that are no rules: environment, limits, approvals, feedback, weaken, run_as,
 * variables. */
#include "policy/parse.h"

#include <stdlib.h>
#include <string.h>

static bool
pass_name(struct parser *parser, const struct json *value, void *data)
{
    const char *name;

    return parse_text(parser, value, &name) &&
           parse_result(parser, builder_add_env(parser->builder, name, NULL, parser->fail));
}

static bool
environment_pass(struct parser *parser, const struct json *value, void *data)
{
    parser->builder->given |= GIVEN_PASS;
    return parse_array(parser, value, pass_name, NULL);
}

/* What an object whose members are names and texts adds for each. */
struct pairs {
    abx_status (*add)(
            abx_policy_builder *builder, const char *name, const char *value, struct fail *fail);
};

static bool
parse_pair(struct parser *parser, const char *key, const struct json *value, void *data)
{
    const struct pairs *pairs = data;
    AUTO(freep) char *plain = NULL;

    return parse_kind(parser, value, JSON_KIND_TEXT) &&
           parse_result(parser, variable_unescape(json_text(value), &plain, parser->fail)) &&
           parse_result(parser, pairs->add(parser->builder, key, plain, parser->fail));
}

static bool
environment_set(struct parser *parser, const struct json *value, void *data)
{
    struct pairs pairs = { builder_add_env };

    return parse_members(parser, value, parse_pair, &pairs);
}

bool
parse_environment(struct parser *parser, const struct json *value, void *data)
{
    static const struct parse_key keys[] = {
        { "pass", environment_pass },
        { "set", environment_set },
    };

    return parse_object(parser, value, keys, N_ELEMENTS(keys), NULL);
}

bool
parse_variables(struct parser *parser, const struct json *value, void *data)
{
    struct pairs pairs = { builder_set_variable };

    return parse_members(parser, value, parse_pair, &pairs);
}

static bool
set_limit(struct parser *parser, const struct json *value, uint32_t limit)
{
    int64_t number;

    return parse_integer(parser, value, 1, INT64_MAX, &number) &&
           parse_result(parser,
                   builder_set_limit(parser->builder, limit, (uint64_t)number, parser->fail));
}

static bool
limit_wall(struct parser *parser, const struct json *value, void *data)
{
    return set_limit(parser, value, ABX_LIMIT_WALL_MS);
}

static bool
limit_cpu(struct parser *parser, const struct json *value, void *data)
{
    return set_limit(parser, value, ABX_LIMIT_CPU_MS);
}

static bool
limit_processes(struct parser *parser, const struct json *value, void *data)
{
    return set_limit(parser, value, ABX_LIMIT_PROCESSES);
}

static bool
limit_memory(struct parser *parser, const struct json *value, void *data)
{
    return set_limit(parser, value, ABX_LIMIT_MEMORY);
}

static bool
limit_output(struct parser *parser, const struct json *value, void *data)
{
    return set_limit(parser, value, ABX_LIMIT_OUTPUT);
}

static bool
limit_file_size(struct parser *parser, const struct json *value, void *data)
{
    return set_limit(parser, value, ABX_LIMIT_FILE_SIZE);
}

bool
parse_limits(struct parser *parser, const struct json *value, void *data)
{
    static const struct parse_key keys[] = {
        { "wall_ms", limit_wall },
        { "cpu_ms", limit_cpu },
        { "processes", limit_processes },
        { "memory", limit_memory },
        { "output", limit_output },
        { "file_size", limit_file_size },
    };

    return parse_object(parser, value, keys, N_ELEMENTS(keys), NULL);
}

static bool
approvals_timeout(struct parser *parser, const struct json *value, void *data)
{
    int64_t number;

    if (!parse_integer(parser, value, 1, INT64_C(86400000), &number)) {
        return false;
    }
    parser->builder->given |= GIVEN_APPROVAL_TIMEOUT;
    parser->builder->layer->settings.approval_timeout_ms = (uint64_t)number;
    return true;
}

static bool
approvals_rate(struct parser *parser, const struct json *value, void *data)
{
    int64_t number;

    if (!parse_integer(parser, value, 1, 1000000, &number)) {
        return false;
    }
    parser->builder->given |= GIVEN_APPROVAL_RATE;
    parser->builder->layer->settings.approvals_per_minute = (uint64_t)number;
    return true;
}

bool
parse_approvers(struct parser *parser, const struct json *value, struct consent *consent)
{
    int64_t number;

    if (!parse_integer(parser, value, 1, 2, &number)) {
        return false;
    }
    consent->approvers = number == 1 ? 0 : (uint32_t)number; /* one is what every yes has */
    return true;
}

static bool
approvals_approvers(struct parser *parser, const struct json *value, void *data)
{
    return parse_approvers(parser, value, &parser->builder->layer->settings.consent);
}

static bool
approvals_step_up(struct parser *parser, const struct json *value, void *data)
{
    return parse_bool(parser, value, &parser->builder->layer->settings.consent.step_up);
}

bool
parse_approvals(struct parser *parser, const struct json *value, void *data)
{
    static const struct parse_key keys[] = {
        { "timeout_ms", approvals_timeout },
        { "per_minute", approvals_rate },
        { "approvers", approvals_approvers },
        { "step_up", approvals_step_up },
    };

    return parse_object(parser, value, keys, N_ELEMENTS(keys), NULL);
}

static bool
feedback_reads(struct parser *parser, const struct json *value, void *data)
{
    static const char *const choices[] = { "events", "silent" };
    size_t choice;

    if (!parse_choice(parser, value, choices, N_ELEMENTS(choices), &choice)) {
        return false;
    }
    parser->builder->given |= GIVEN_READS;
    parser->builder->layer->settings.silent_reads = choice == 1;
    return true;
}

bool
parse_feedback(struct parser *parser, const struct json *value, void *data)
{
    static const struct parse_key keys[] = {
        { "reads", feedback_reads },
    };

    return parse_object(parser, value, keys, N_ELEMENTS(keys), NULL);
}

struct weaken_entry {
    uint32_t what;
    const char *reason;
};

static bool
weaken_what(struct parser *parser, const struct json *value, void *data)
{
    size_t choice;

    if (!parse_choice(parser, value, weaken_words, N_ELEMENTS(weaken_words), &choice)) {
        return false;
    }
    ((struct weaken_entry *)data)->what = ABX_WEAKEN_HOST_NETWORK + (uint32_t)choice;
    return true;
}

static bool
weaken_reason(struct parser *parser, const struct json *value, void *data)
{
    if (!parse_kind(parser, value, JSON_KIND_TEXT)) {
        return false;
    }
    ((struct weaken_entry *)data)->reason = json_text(value);
    return true;
}

static bool
parse_weakening(struct parser *parser, const struct json *value, void *data)
{
    static const struct parse_key keys[] = {
        { "what", weaken_what },
        { "reason", weaken_reason },
    };
    struct weaken_entry entry = { 0 };

    return parse_object(parser, value, keys, N_ELEMENTS(keys), &entry) &&
           parse_required(parser, value, "what") && parse_required(parser, value, "reason") &&
           parse_result(
                   parser, builder_weaken(parser->builder, entry.what, entry.reason, parser->fail));
}

bool
parse_weaken(struct parser *parser, const struct json *value, void *data)
{
    return parse_array(parser, value, parse_weakening, NULL);
}

/* Digits of an id below the one that means "unchanged". */
static bool
read_id(const char **text)
{
    uint64_t id = 0;
    const char *start = *text;

    while (**text >= '0' && **text <= '9' && id < UINT32_MAX) {
        id = id * 10 + (uint64_t)(*(*text)++ - '0');
    }
    return *text != start && id < UINT32_MAX;
}

bool
parse_run_as(struct parser *parser, const struct json *value, void *data)
{
    struct layer *layer = parser->builder->layer;
    const char *text, *p;
    char *copy;

    if (!parse_text(parser, value, &text)) {
        return false;
    }
    p = text;
    if (!read_id(&p) || *p++ != ':' || !read_id(&p) || *p != '\0') {
        return parse_wrong(parser, "'%.60s' is no 'uid:gid' in digits", text);
    }
    copy = strdup(text);
    if (layer_keep(layer, copy, parser->fail) < 0) {
        return false;
    }
    layer->settings.run_as = copy;
    return true;
}
