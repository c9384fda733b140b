/* SPDX-License-Identifier: Apache-2.0
 * "filesystem": who may read, write and execute what, the inputs, what is protected, the decoys. */
#include "policy/parse.h"

#include <stdlib.h>
#include <string.h>

/* Which list an entry stands in. */
struct list {
    uint32_t access;
    abx_verdict verdict;
};

static bool
path_rule(struct parser *parser, const struct json *value, void *data)
{
    const struct list *list = data;
    struct entry entry;
    struct entry_texts texts;
    AUTO(freep) char *id = NULL;

    return parse_path_entry(parser, value, &entry) && parse_texts(parser, &entry, &texts, &id) &&
           parse_result(parser, builder_add_path(parser->builder, entry.name, list->access,
                                        list->verdict, &texts, parser->fail));
}

static bool
path_list(struct parser *parser, const struct json *value, void *data, abx_verdict verdict)
{
    struct list list = { *(const uint32_t *)data, verdict };

    return parse_array(parser, value, path_rule, &list);
}

static bool
path_allow(struct parser *parser, const struct json *value, void *data)
{
    return path_list(parser, value, data, ABX_VERDICT_ALLOW);
}

static bool
path_ask(struct parser *parser, const struct json *value, void *data)
{
    return path_list(parser, value, data, ABX_VERDICT_ASK);
}

static bool
path_deny(struct parser *parser, const struct json *value, void *data)
{
    return path_list(parser, value, data, ABX_VERDICT_DENY);
}

static const struct parse_key access_keys[] = {
    { "allow", path_allow },
    { "ask", path_ask },
    { "deny", path_deny },
};

static bool
parse_read(struct parser *parser, const struct json *value, void *data)
{
    uint32_t access = ABX_ACCESS_READ;

    parser->builder->layer->has_read = true;
    return parse_object(parser, value, access_keys, N_ELEMENTS(access_keys), &access);
}

static bool
parse_write(struct parser *parser, const struct json *value, void *data)
{
    uint32_t access = ABX_ACCESS_WRITE;

    parser->builder->layer->has_write = true;
    return parse_object(parser, value, access_keys, N_ELEMENTS(access_keys), &access);
}

static bool
parse_exec(struct parser *parser, const struct json *value, void *data)
{
    uint32_t access = ABX_ACCESS_EXEC;

    parser->builder->layer->has_exec = true;
    return parse_object(parser, value, access_keys, N_ELEMENTS(access_keys), &access);
}

struct input {
    const char *from, *as;
};

static bool
input_from(struct parser *parser, const struct json *value, void *data)
{
    return parse_text(parser, value, &((struct input *)data)->from);
}

static bool
input_as(struct parser *parser, const struct json *value, void *data)
{
    return parse_text(parser, value, &((struct input *)data)->as);
}

static bool
parse_input(struct parser *parser, const struct json *value, void *data)
{
    static const struct parse_key keys[] = {
        { "from", input_from },
        { "as", input_as },
    };
    struct input input = { 0 };
    AUTO(freep) char *as = NULL;

    return parse_object(parser, value, keys, N_ELEMENTS(keys), &input) &&
           parse_required(parser, value, "from") &&
           (input.as == NULL ||
                   parse_result(parser, variable_unescape(input.as, &as, parser->fail))) &&
           parse_result(parser, builder_add_input(parser->builder, input.from, as, parser->fail));
}

static bool
parse_inputs(struct parser *parser, const struct json *value, void *data)
{
    return parse_array(parser, value, parse_input, NULL);
}

static bool
parse_decoy(struct parser *parser, const struct json *value, void *data)
{
    const char *path;

    return parse_text(parser, value, &path) &&
           parse_result(parser, builder_add_decoy(parser->builder, path, parser->fail));
}

static bool
parse_decoys(struct parser *parser, const struct json *value, void *data)
{
    return parse_array(parser, value, parse_decoy, NULL);
}

static bool
protect_defaults(struct parser *parser, const struct json *value, void *data)
{
    bool defaults;

    if (!parse_bool(parser, value, &defaults)) {
        return false;
    }
    parser->builder->given |= defaults ? 0 : GIVEN_NO_DEFAULT_NAMES;
    return true;
}

static bool
protect_name(struct parser *parser, const struct json *value, void *data)
{
    const char *name;
    AUTO(freep) char *plain = NULL;

    return parse_text(parser, value, &name) &&
           parse_result(parser, variable_unescape(name, &plain, parser->fail)) &&
           parse_result(parser, builder_add_protected(parser->builder, plain, parser->fail));
}

static bool
protect_add(struct parser *parser, const struct json *value, void *data)
{
    return parse_array(parser, value, protect_name, NULL);
}

static bool
protect_git(struct parser *parser, const struct json *value, void *data)
{
    size_t choice;

    if (!parse_choice(parser, value, git_words, N_ELEMENTS(git_words), &choice)) {
        return false;
    }
    parser->builder->given |= GIVEN_GIT;
    parser->builder->layer->git = (enum git_protection)choice;
    return true;
}

static bool
parse_protect(struct parser *parser, const struct json *value, void *data)
{
    static const struct parse_key keys[] = {
        { "defaults", protect_defaults },
        { "add", protect_add },
        { "git", protect_git },
    };

    return parse_object(parser, value, keys, N_ELEMENTS(keys), NULL);
}

bool
parse_filesystem(struct parser *parser, const struct json *value, void *data)
{
    static const struct parse_key keys[] = {
        { "read", parse_read },
        { "write", parse_write },
        { "exec", parse_exec },
        { "inputs", parse_inputs },
        { "protect", parse_protect },
        { "decoys", parse_decoys },
    };

    return parse_object(parser, value, keys, N_ELEMENTS(keys), NULL);
}
