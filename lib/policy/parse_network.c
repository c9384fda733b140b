/* SPDX-License-Identifier: Apache-2.0
 * "network": the mode, hosts, private ranges, ports of the host's loopback, listening, unix
 * sockets. */
#include "policy/http.h"
#include "policy/parse.h"

#include <stdlib.h>
#include <string.h>

static bool
parse_mode(struct parser *parser, const struct json *value, void *data)
{
    abx_policy_builder *builder = parser->builder;
    size_t mode;

    if (!parse_choice(parser, value, network_words, N_ELEMENTS(network_words), &mode)) {
        return false;
    }
    builder->layer->has_network = true;
    if (parser->origin == ORIGIN_OWN || !(builder->given & GIVEN_MODE)) {
        builder->layer->settings.network = (enum network_mode)mode;
    }
    builder->given |= parser->origin == ORIGIN_OWN ? GIVEN_MODE : 0;
    return true;
}

/* An entry with a host and maybe a port. */
static bool
host_rule(struct parser *parser, const struct json *value, bool is_private, abx_verdict verdict)
{
    AUTO(entry_done) struct entry entry;
    struct entry_texts texts;
    AUTO(freep) char *id = NULL;
    AUTO(freep) char *host = NULL;
    uint32_t first, last;
    struct fail *fail = parser->fail;
    abx_status r;

    if (!parse_host_entry(parser, value, !is_private && verdict != ABX_VERDICT_DENY, &entry) ||
            !parse_texts(parser, &entry, &texts, &id) || !parse_http_ids(parser, &entry, id)) {
        return false;
    }
    for (size_t i = 0; i < entry.http.count; i++) {
        vec_at(&entry.http, struct http_rule, i)->verdict = verdict;
    }
    texts.http = entry.http.data;
    texts.n_http = (uint32_t)entry.http.count;
    if (!parse_host_port(entry.name, &host, &first, &last, fail)) {
        return parse_result(parser, fail->status);
    }
    r = is_private ? builder_add_private(parser->builder, host, first, last, &texts, fail)
                   : builder_add_host(parser->builder, host, first, last, verdict, &texts, fail);
    return parse_result(parser, r);
}

static bool
host_in_list(struct parser *parser, const struct json *value, void *data)
{
    return host_rule(parser, value, false, *(const abx_verdict *)data);
}

static bool
host_list(struct parser *parser, const struct json *value, abx_verdict verdict)
{
    parser->builder->layer->has_network = true;
    return parse_array(parser, value, host_in_list, &verdict);
}

static bool
parse_allow(struct parser *parser, const struct json *value, void *data)
{
    return host_list(parser, value, ABX_VERDICT_ALLOW);
}

static bool
parse_ask(struct parser *parser, const struct json *value, void *data)
{
    return host_list(parser, value, ABX_VERDICT_ASK);
}

static bool
parse_deny(struct parser *parser, const struct json *value, void *data)
{
    return host_list(parser, value, ABX_VERDICT_DENY);
}

static bool
private_range(struct parser *parser, const struct json *value, void *data)
{
    return host_rule(parser, value, true, ABX_VERDICT_ALLOW);
}

static bool
parse_private(struct parser *parser, const struct json *value, void *data)
{
    parser->builder->layer->has_network = true;
    return parse_array(parser, value, private_range, NULL);
}

/* What a list of ports adds for each. */
struct port_list {
    abx_status (*add)(abx_policy_builder *builder, uint32_t port_first, uint32_t port_last,
            const struct entry_texts *texts, struct fail *fail);
};

static bool
port_in_list(struct parser *parser, const struct json *value, void *data)
{
    const struct port_list *list = data;
    struct entry entry = { 0 };
    struct entry_texts texts;
    AUTO(freep) char *id = NULL;
    uint32_t first, last;

    return parse_ports(parser, value, &first, &last) && parse_texts(parser, &entry, &texts, &id) &&
           parse_result(parser, list->add(parser->builder, first, last, &texts, parser->fail));
}

static bool
parse_host_loopback(struct parser *parser, const struct json *value, void *data)
{
    struct port_list list = { builder_add_loopback };

    parser->builder->layer->has_network = true;
    return parse_array(parser, value, port_in_list, &list);
}

static bool
parse_listen(struct parser *parser, const struct json *value, void *data)
{
    struct port_list list = { builder_add_listen };

    parser->builder->layer->has_listen = true;
    return parse_array(parser, value, port_in_list, &list);
}

static bool
socket_path(struct parser *parser, const struct json *value, void *data)
{
    struct entry entry;
    struct entry_texts texts;
    AUTO(freep) char *id = NULL;

    return parse_path_entry(parser, value, &entry) && parse_texts(parser, &entry, &texts, &id) &&
           parse_result(
                   parser, builder_add_socket(parser->builder, entry.name, &texts, parser->fail));
}

static bool
parse_sockets(struct parser *parser, const struct json *value, void *data)
{
    parser->builder->layer->has_sockets = true;
    return parse_array(parser, value, socket_path, NULL);
}

static bool
parse_upstream(struct parser *parser, const struct json *value, void *data)
{
    struct layer *layer = parser->builder->layer;
    const char *text;
    char *copy;

    if (!parse_text(parser, value, &text)) {
        return false;
    }
    if (strcmp(text, "environment") != 0 && strcmp(text, "none") != 0 &&
            strncmp(text, "http://", 7) != 0 && strncmp(text, "https://", 8) != 0 &&
            strncmp(text, "socks5://", 9) != 0) {
        return parse_wrong(parser,
                "'%.100s' is none of environment, none, or a URL with http, https or socks5", text);
    }
    copy = strdup(text);
    if (layer_keep(layer, copy, parser->fail) < 0) {
        return false;
    }
    layer->settings.upstream = copy;
    return true;
}

static bool
parse_extra_ca(struct parser *parser, const struct json *value, void *data)
{
    struct layer *layer = parser->builder->layer;
    const char *text;
    char *path = NULL;
    bool is_literal = true;

    if (!parse_text(parser, value, &text) ||
            !parse_result(parser, variable_path(&parser->builder->variables, text, false, &path,
                                          &is_literal, parser->fail)) ||
            layer_keep(layer, path, parser->fail) < 0) {
        return false;
    }
    layer->settings.extra_ca = path;
    return is_literal || parse_wrong(parser, "'%.100s' is a pattern; it names one file", text);
}

bool
parse_network(struct parser *parser, const struct json *value, void *data)
{
    static const struct parse_key keys[] = {
        { "mode", parse_mode },
        { "allow", parse_allow },
        { "ask", parse_ask },
        { "deny", parse_deny },
        { "private", parse_private },
        { "host_loopback", parse_host_loopback },
        { "listen", parse_listen },
        { "sockets", parse_sockets },
        { "upstream", parse_upstream },
        { "extra_ca", parse_extra_ca },
    };

    return parse_object(parser, value, keys, N_ELEMENTS(keys), NULL);
}
