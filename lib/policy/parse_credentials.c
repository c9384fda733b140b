/* SPDX-License-Identifier: Apache-2.0
 * "credentials": read and checked like everything else, and then refused, since this build has
 * nothing that enforces them. */
#include "policy/parse.h"

#include <stdlib.h>
#include <string.h>

static bool
credential_name(struct parser *parser, const struct json *value, void *data)
{
    const char *text;

    return parse_word(parser, value, &text);
}

static bool
credential_lease(struct parser *parser, const struct json *value, void *data)
{
    int64_t number;

    return parse_integer(parser, value, 1, INT64_C(1000000000), &number);
}

static bool
credential_env(struct parser *parser, const struct json *value, void *data)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    const char *text;

    if (!parse_text(parser, value, &text)) {
        return false;
    }
    return (strlen(text) <= 128 && strspn(text, allowed) == strlen(text) &&
                   (text[0] < '0' || text[0] > '9')) ||
           parse_wrong(parser, "'%.60s' cannot name an environment variable", text);
}

static bool
credential_host(struct parser *parser, const struct json *value, void *data)
{
    const char *text;
    AUTO(freep) char *host = NULL;
    AUTO(freep) char *canonical = NULL;
    uint32_t first, last;

    if (!parse_text(parser, value, &text)) {
        return false;
    }
    if (!parse_host_port(text, &host, &first, &last, parser->fail)) {
        return parse_result(parser, parser->fail->status);
    }
    canonical = host_canonical(host, parser->fail);
    return canonical != NULL || parse_result(parser, parser->fail->status);
}

static bool
credential_hosts(struct parser *parser, const struct json *value, void *data)
{
    return parse_array(parser, value, credential_host, NULL) &&
           (json_count(value) > 0 || parse_wrong(parser, "the list is empty"));
}

static bool
credential_as(struct parser *parser, const struct json *value, void *data)
{
    static const char *const choices[] = { "bearer", "basic" };
    size_t choice;

    return parse_choice(parser, value, choices, N_ELEMENTS(choices), &choice);
}

static bool
credential(struct parser *parser, const struct json *value, void *data)
{
    static const struct parse_key keys[] = {
        { "name", credential_name },
        { "env", credential_env },
        { "hosts", credential_hosts },
        { "as", credential_as },
        { "lease_s", credential_lease },
    };

    return parse_object(parser, value, keys, N_ELEMENTS(keys), NULL) &&
           parse_required(parser, value, "name") && parse_required(parser, value, "hosts");
}

bool
parse_credentials(struct parser *parser, const struct json *value, void *data)
{
    return parse_array(parser, value, credential, NULL) &&
           (json_count(value) == 0 || parse_unsupported(parser, "credentials are"));
}
