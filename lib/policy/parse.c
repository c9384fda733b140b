/* SPDX-License-Identifier: Apache-2.0
 * The document as a whole: limits, reading, the top keys, layers, and what only the whole document
 * can tell.  Nothing in it is ever ignored.  One thread at a time per builder. */
#include "policy/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
parse_version(struct parser *parser, const struct json *value, void *data)
{
    int64_t version;

    return parse_integer(parser, value, 1, 1, &version);
}

/* Where editors find the schema; it says nothing about a box. */
static bool
parse_schema(struct parser *parser, const struct json *value, void *data)
{
    const char *text;

    return parse_text(parser, value, &text);
}

static bool
parse_layer_text(struct parser *parser, const struct json *value, char **slot)
{
    const char *text;

    if (!parse_text(parser, value, &text)) {
        return false;
    }
    if (strlen(text) > 256) {
        return parse_wrong(parser, "the text is longer than 256 bytes");
    }
    free(*slot);
    *slot = strdup(text);
    if (*slot == NULL) {
        fail_nomem(parser->fail);
        return false;
    }
    return true;
}

static bool
parse_name(struct parser *parser, const struct json *value, void *data)
{
    return parse_layer_text(parser, value, &parser->builder->layer->name);
}

/* The name that the harness gave the document wins. */
static bool
parse_source(struct parser *parser, const struct json *value, void *data)
{
    char *ignored = NULL;
    bool ok = parse_layer_text(parser, value,
            parser->builder->layer->source[0] == '\0' ? &parser->builder->layer->source : &ignored);

    free(ignored);
    return ok;
}

static bool
parse_extends(struct parser *parser, const struct json *value, void *data)
{
    const char *name;

    return parse_text(parser, value, &name) &&
           parse_result(parser, builder_set_profile(parser->builder, name, parser->fail));
}

static bool
parse_strict(struct parser *parser, const struct json *value, void *data)
{
    bool strict;

    if (!parse_bool(parser, value, &strict)) {
        return false;
    }
    parser->builder->given |= strict ? GIVEN_STRICT : 0;
    return true;
}

/* Handled before the other keys: rules use it. */
static bool
parse_nothing(struct parser *parser, const struct json *value, void *data)
{
    return true;
}

static const struct parse_key document_keys[] = {
    { "version", parse_version },
    { "$schema", parse_schema },
    { "name", parse_name },
    { "source", parse_source },
    { "extends", parse_extends },
    { "variables", parse_nothing },
    { "filesystem", parse_filesystem },
    { "network", parse_network },
    { "credentials", parse_credentials },
    { "identity", parse_identity },
    { "actions", parse_actions },
    { "environment", parse_environment },
    { "limits", parse_limits },
    { "approvals", parse_approvals },
    { "feedback", parse_feedback },
    { "weaken", parse_weaken },
    { "run_as", parse_run_as },
    { "strict", parse_strict },
};

/* Just the variables, wherever in the document they stand. */
static bool
parse_variables_first(struct parser *parser, const struct json *document)
{
    const struct json *variables = json_member(document, "variables");
    size_t length = parser->pointer.length;
    bool ok;

    if (variables == NULL) {
        return true;
    }
    json_pointer_add(&parser->pointer, "variables");
    ok = !parser->pointer.failed && parse_variables(parser, variables, NULL);
    parser->pointer.length = length;
    if (parser->pointer.data != NULL) {
        parser->pointer.data[length] = '\0';
    }
    return ok;
}

/* The mode as it will be: the document's, else the profile's. */
static bool
check_mode(struct parser *parser, const struct json *document)
{
    const abx_policy_builder *builder = parser->builder;
    const char *profile = builder->layer->profile;
    bool is_offline = builder->given & GIVEN_MODE
                              ? builder->layer->settings.network == NETWORK_NONE
                              : profile == NULL || profile_find(profile)->mode == NETWORK_NONE;

    if (is_offline && builder->given & GIVEN_NEEDS_NETWORK) {
        str_add(&parser->pointer, "/network");
        parse_wrong(parser, "it has rules that let hosts through, and its mode is 'none'");
        fail_remedy(parser->fail, "add \"mode\": \"filtered\", or remove the rules");
        return false;
    }
    if (builder->layer->settings.network == NETWORK_HOST &&
            !builder_is_weakened(builder, ABX_WEAKEN_HOST_NETWORK)) {
        str_add(&parser->pointer, "/network/mode");
        parse_wrong(parser, "the mode 'host' is no boundary, and nothing weakens the policy");
        fail_remedy(parser->fail, "add { \"what\": \"host-network\", \"reason\": ... } to weaken");
        return false;
    }
    return true;
}

static bool
parse_single(struct parser *parser, const struct json *document)
{
    return (parser->is_inner || parse_required(parser, document, "version")) &&
           parse_variables_first(parser, document) &&
           parse_object(parser, document, document_keys, N_ELEMENTS(document_keys), NULL) &&
           parse_http_arguments(parser, document) &&
           (parser->origin != ORIGIN_OWN || check_mode(parser, document));
}

static bool
add_layer(struct parser *parser, struct layer *layer)
{
    struct layer **slot = vec_add(&parser->builder->layers);

    if (slot == NULL) {
        layer_free(layer);
        fail_nomem(parser->fail);
        return false;
    }
    *slot = layer;
    return true;
}

static void
free_inner(abx_policy_builder **builder)
{
    if (*builder != NULL) {
        builder_free(*builder);
    }
}

/* One layer: a builder of its own, with the variables of the outer one. */
static bool
parse_layer(struct parser *parser, const struct json *value, void *data)
{
    AUTO(free_inner) abx_policy_builder *inner = builder_new(parser->fail);
    abx_policy_builder *outer = parser->builder;
    struct layer *layer = NULL;
    bool ok = inner != NULL && parse_kind(parser, value, JSON_KIND_OBJECT);

    for (size_t i = 0; ok && i < outer->variables.count; i++) {
        const struct variable *variable = vec_at(&outer->variables, struct variable, i);

        ok = builder_set_variable(inner, variable->name, variable->value, parser->fail) >= 0;
    }
    if (!ok) {
        return false;
    }
    parser->builder = inner;
    parser->is_inner = true;
    ok = parse_single(parser, value) &&
         parse_result(parser, builder_finish_layer(inner, &layer, parser->fail));
    parser->is_inner = false;
    parser->builder = outer;
    return ok && add_layer(parser, layer);
}

static bool
parse_layers(struct parser *parser, const struct json *value, void *data)
{
    if (!parse_kind(parser, value, JSON_KIND_ARRAY)) {
        return false;
    }
    if (json_count(value) == 0 || json_count(value) > 16) {
        return parse_wrong(parser, "a policy has 1 to 16 layers, not %zu", json_count(value));
    }
    return parse_array(parser, value, parse_layer, NULL);
}

static bool
is_untouched(const abx_policy_builder *builder)
{
    return builder->layer->rules.count == 0 && builder->layer->profile == NULL &&
           builder->given == 0 && builder->n_documents == 0 && builder->layers.count == 0;
}

static bool
parse_document(struct parser *parser, const struct json *document)
{
    static const struct parse_key layered_keys[] = {
        { "version", parse_version },
        { "$schema", parse_schema },
        { "layers", parse_layers },
    };

    if (!parse_kind(parser, document, JSON_KIND_OBJECT)) {
        return false;
    }
    if (json_member(document, "layers") == NULL) {
        return parse_single(parser, document);
    }
    if (!is_untouched(parser->builder)) {
        return parse_wrong(parser, "a document with layers stands alone");
    }
    return parse_required(parser, document, "version") &&
           parse_object(parser, document, layered_keys, N_ELEMENTS(layered_keys), NULL);
}

static abx_status
fail_unreadable(struct parser *parser, const struct json_problem *problem)
{
    char step[sizeof parser->fail->step];

    if (problem->no_memory) {
        return fail_nomem(parser->fail);
    }
    snprintf(step, sizeof step, "policy:%.110s", problem->pointer);
    return fail_set(parser->fail, ABX_ERR_POLICY, 0, step, "%.120s:%zu:%zu: %.150s%s%s",
            parser->source == NULL ? "policy" : parser->source, problem->place.line,
            problem->place.column, problem->pointer, problem->pointer[0] == '\0' ? "" : ": ",
            problem->text);
}

static abx_status
parse_text_of(struct parser *parser)
{
    struct json_problem problem;
    struct json *document;
    bool ok;

    if (parser->length > DOCUMENT_MAX) {
        return fail_set(parser->fail, ABX_ERR_POLICY, 0, "policy:", "%.120s: larger than %u bytes",
                parser->source == NULL ? "policy" : parser->source, DOCUMENT_MAX);
    }
    document = json_read(parser->text, parser->length, NESTING_MAX, &problem);
    if (document == NULL) {
        return fail_unreadable(parser, &problem);
    }
    ok = parse_document(parser, document);
    json_free(document);
    if (ok && parser->unsupported != NULL) {
        str_done(&parser->pointer);
        str_add(&parser->pointer, parser->unsupported_pointer);
        parse_wrong(parser, "%s not enforced by this build", parser->unsupported);
        parser->fail->status = ABX_ERR_UNSUPPORTED;
        ok = false;
    }
    free(parser->unsupported_pointer);
    str_done(&parser->pointer);
    return ok ? ABX_OK : parser->fail->status;
}

/* Ids of a second document's rules must not be taken for the first one's. */
static char *
id_prefix(const abx_policy_builder *builder, const char *source)
{
    struct str prefix = { 0 };

    if (builder->n_documents > 0 && source != NULL) {
        str_printf(&prefix, "%s:", source);
    } else if (builder->n_documents > 0) {
        str_printf(&prefix, "document%zu:", builder->n_documents + 1);
    }
    return str_steal(&prefix, NULL);
}

abx_status
policy_parse(abx_policy_builder *builder, const char *source, const char *json, size_t length,
        struct fail *fail)
{
    AUTO(freep) char *prefix = id_prefix(builder, source);
    struct parser parser = { .builder = builder,
        .text = json,
        .length = length,
        .source = source,
        .id_prefix = prefix,
        .origin = ORIGIN_OWN,
        .fail = fail };
    abx_status r;

    if (prefix == NULL) {
        return fail_nomem(fail);
    }
    if (source != NULL && builder->layer->source[0] == '\0') {
        free(builder->layer->source);
        builder->layer->source = strdup(source);
        if (builder->layer->source == NULL) {
            return fail_nomem(fail);
        }
    }
    r = parse_text_of(&parser);
    if (r >= 0) {
        builder->n_documents++;
    }
    return r;
}

abx_status
policy_parse_profile(
        abx_policy_builder *builder, const char *name, const char *json, struct fail *fail)
{
    char prefix[64], source[64];
    struct parser parser = { .builder = builder,
        .text = json,
        .length = strlen(json),
        .source = source,
        .id_prefix = prefix,
        .origin = ORIGIN_PROFILE,
        .fail = fail };

    snprintf(prefix, sizeof prefix, "%s:", name);
    snprintf(source, sizeof source, "profile '%s'", name);
    return parse_text_of(&parser);
}
