/* SPDX-License-Identifier: Apache-2.0
 * "credentials": what stands for a secret in the box, where the secret goes, and in which place of
 * a request. */
#include "policy/credentials.h"
#include "policy/parse.h"

#include <stdlib.h>
#include <string.h>

/* A credential as it is written. */
struct draft {
    struct policy_credential credential; /* texts are the document's */
    struct vec hosts; /* struct credential_host, texts owned */
};

static void
draft_done(struct draft *draft)
{
    named_hosts_done(&draft->hosts);
}

static bool
credential_name(struct parser *parser, const struct json *value, void *data)
{
    return parse_word(parser, value, &((struct draft *)data)->credential.name);
}

static bool
credential_id(struct parser *parser, const struct json *value, void *data)
{
    struct entry entry = { 0 };

    if (!parse_entry_id(parser, value, &entry)) {
        return false;
    }
    ((struct draft *)data)->credential.id = entry.id;
    return true;
}

static bool
variable_name(struct parser *parser, const struct json *value, const char **ret_name)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

    if (!parse_text(parser, value, ret_name)) {
        return false;
    }
    return (strlen(*ret_name) <= 128 && strspn(*ret_name, allowed) == strlen(*ret_name) &&
                   ((*ret_name)[0] < '0' || (*ret_name)[0] > '9')) ||
           parse_wrong(parser, "'%.60s' cannot name an environment variable", *ret_name);
}

static bool
credential_env(struct parser *parser, const struct json *value, void *data)
{
    return variable_name(parser, value, &((struct draft *)data)->credential.env);
}

static bool
credential_key_env(struct parser *parser, const struct json *value, void *data)
{
    return variable_name(parser, value, &((struct draft *)data)->credential.key_env);
}

/* A name, its subdomains, or one address: who gets a secret is named. */
static bool
is_named(const struct host_pattern *pattern)
{
    return host_is_single(pattern) || pattern->form == HOST_SUBDOMAINS ||
           pattern->form == HOST_BOTH;
}

static bool
named_host(struct parser *parser, const struct json *value, void *data)
{
    struct credential_host *slot = vec_add(data);
    const char *text;
    AUTO(freep) char *host = NULL;

    if (slot == NULL) {
        fail_nomem(parser->fail);
        return false;
    }
    if (!parse_text(parser, value, &text)) {
        return false;
    }
    if (!parse_host_port(text, &host, &slot->port_first, &slot->port_last, parser->fail) ||
            host_parse(host, &slot->pattern, parser->fail) < 0 ||
            (slot->text = host_canonical(host, parser->fail)) == NULL) {
        return parse_result(parser, parser->fail->status);
    }
    return is_named(&slot->pattern) ||
           parse_wrong(
                   parser, "'%.100s' is no name of a host, and a secret goes to named ones", text);
}

bool
parse_named_hosts(struct parser *parser, const struct json *value, struct vec *hosts)
{
    return parse_array(parser, value, named_host, hosts) &&
           (json_count(value) > 0 || parse_wrong(parser, "the list is empty"));
}

void
named_hosts_done(struct vec *hosts)
{
    for (size_t i = 0; i < hosts->count; i++) {
        free((char *)(uintptr_t)vec_at(hosts, struct credential_host, i)->text);
    }
    vec_done(hosts);
}

static bool
credential_hosts(struct parser *parser, const struct json *value, void *data)
{
    return parse_named_hosts(parser, value, &((struct draft *)data)->hosts);
}

static bool
credential_place(struct parser *parser, const struct json *value, void *data)
{
    size_t choice;

    if (!parse_choice(parser, value, credential_words, CREDENTIAL_WORDS, &choice)) {
        return false;
    }
    ((struct draft *)data)->credential.places |= 1u << choice;
    return true;
}

static bool
credential_as(struct parser *parser, const struct json *value, void *data)
{
    if (json_kind_of(value) == JSON_KIND_TEXT) {
        return credential_place(parser, value, data);
    }
    return parse_array(parser, value, credential_place, data) &&
           (json_count(value) > 0 || parse_wrong(parser, "the list is empty"));
}

bool
parse_token(
        struct parser *parser, const struct json *value, const char *also, const char **ret_text)
{
    static const char allowed[] =
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    size_t plain;

    if (!parse_text(parser, value, ret_text)) {
        return false;
    }
    plain = strspn(*ret_text, allowed);
    while ((*ret_text)[plain] != '\0' && strchr(also, (*ret_text)[plain]) != NULL) {
        plain += 1 + strspn(*ret_text + plain + 1, allowed);
    }
    return ((*ret_text)[plain] == '\0' && plain <= 128) ||
           parse_wrong(parser, "'%.60s' has characters that cannot stand there", *ret_text);
}

static bool
credential_header(struct parser *parser, const struct json *value, void *data)
{
    return parse_token(parser, value, "", &((struct draft *)data)->credential.header);
}

static bool
credential_query(struct parser *parser, const struct json *value, void *data)
{
    return parse_token(parser, value, "[]", &((struct draft *)data)->credential.query);
}

static bool
credential_user(struct parser *parser, const struct json *value, void *data)
{
    return parse_token(parser, value, "@+ ", &((struct draft *)data)->credential.user);
}

static bool
credential_prefix(struct parser *parser, const struct json *value, void *data)
{
    struct draft *draft = data;

    return parse_token(parser, value, "", &draft->credential.prefix) &&
           (strlen(draft->credential.prefix) <= 32 ||
                   parse_wrong(parser, "the prefix is longer than 32 characters"));
}

static bool
credential_lease(struct parser *parser, const struct json *value, void *data)
{
    int64_t number;

    if (!parse_integer(parser, value, 1, INT64_C(1000000000), &number)) {
        return false;
    }
    ((struct draft *)data)->credential.lease_s = (uint64_t)number;
    return true;
}

static bool
credential_clear_text(struct parser *parser, const struct json *value, void *data)
{
    return parse_bool(parser, value, &((struct draft *)data)->credential.clear_text);
}

static bool
one_credential(struct parser *parser, const struct json *value, void *data)
{
    static const struct parse_key keys[] = {
        { "name", credential_name },
        { "id", credential_id },
        { "env", credential_env },
        { "key_env", credential_key_env },
        { "hosts", credential_hosts },
        { "as", credential_as },
        { "header", credential_header },
        { "query", credential_query },
        { "user", credential_user },
        { "prefix", credential_prefix },
        { "lease_s", credential_lease },
        { "clear_text", credential_clear_text },
    };
    AUTO(draft_done) struct draft draft = { .hosts = VEC(struct credential_host) };
    struct policy_credential *credential = &draft.credential;
    struct entry entry = { 0 };
    struct entry_texts texts;
    AUTO(freep) char *id = NULL;

    if (!parse_object(parser, value, keys, N_ELEMENTS(keys), &draft) ||
            !parse_required(parser, value, "name") || !parse_required(parser, value, "hosts")) {
        return false;
    }
    entry.id = credential->id;
    if (!parse_texts(parser, &entry, &texts, &id)) {
        return false;
    }
    credential->id = id;
    if (credential->places == 0) {
        credential->places = CREDENTIAL_BEARER;
    }
    if (credential->places == CREDENTIAL_SIGV4 && credential->env == NULL) {
        credential->env = "AWS_SECRET_ACCESS_KEY";
    }
    if (credential->places == CREDENTIAL_SIGV4 && credential->key_env == NULL) {
        credential->key_env = "AWS_ACCESS_KEY_ID";
    }
    return parse_result(parser, builder_add_credential(parser->builder, credential,
                                        draft.hosts.data, draft.hosts.count, parser->fail));
}

bool
parse_credentials(struct parser *parser, const struct json *value, void *data)
{
    parser->builder->layer->has_credentials = true;
    return parse_array(parser, value, one_credential, NULL);
}
