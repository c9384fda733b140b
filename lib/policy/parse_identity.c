/* SPDX-License-Identifier: Apache-2.0
 * "identity": which hosts are told on whose behalf a request is made, and in which field. */
#include "policy/identity.h"
#include "policy/parse.h"

#include <stdlib.h>
#include <string.h>

/* It as it is written. */
struct draft {
    const char *header;
    struct vec hosts; /* struct credential_host, texts owned */
};

static void
draft_done(struct draft *draft)
{
    named_hosts_done(&draft->hosts);
}

/* Fields that say how a message is framed or where it goes, or that have secrets. */
static bool
is_taken(const char *header)
{
    static const char *const taken[] = { "host", "connection", "content-length", "content-type",
        "content-encoding", "transfer-encoding", "expect", "upgrade", "te", "trailer", "keep-alive",
        "authorization", "proxy-authorization", "proxy-connection", "cookie", "idempotency-key",
        "accept-encoding" };

    for (size_t i = 0; i < N_ELEMENTS(taken); i++) {
        if (strcasecmp(taken[i], header) == 0) {
            return true;
        }
    }
    return false;
}

static bool
identity_header(struct parser *parser, const struct json *value, void *data)
{
    struct draft *draft = data;

    return parse_token(parser, value, "", &draft->header) &&
           (!is_taken(draft->header) ||
                   parse_wrong(parser, "'%.60s' is too special: it says something else already",
                           draft->header));
}

static bool
identity_hosts(struct parser *parser, const struct json *value, void *data)
{
    return parse_named_hosts(parser, value, &((struct draft *)data)->hosts);
}

bool
parse_identity(struct parser *parser, const struct json *value, void *data)
{
    static const struct parse_key keys[] = {
        { "header", identity_header },
        { "hosts", identity_hosts },
    };
    AUTO(draft_done) struct draft draft = { .hosts = VEC(struct credential_host) };

    return parse_object(parser, value, keys, N_ELEMENTS(keys), &draft) &&
           parse_required(parser, value, "header") && parse_required(parser, value, "hosts") &&
           parse_result(parser, builder_set_identity(parser->builder, draft.header,
                                        draft.hosts.data, draft.hosts.count, parser->fail));
}
