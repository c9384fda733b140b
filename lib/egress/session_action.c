/* SPDX-License-Identifier: Apache-2.0
 * Whether a request counts as an action with arguments in its body, and whether that can only be
 * read as what it seems: session_body.c gathers it then.  What cannot be read is left to the
 * broker, which denies the action.  Pure. */
#include "egress/session_private.h"

#include <string.h>
#include <strings.h>

/* "TOKEN+json", which no server takes for the form that its name begins with. */
static bool
is_json_subtype(struct span type)
{
    static const char form[] = "x-www-form", suffix[] = "+json";
    size_t length = type.length - strlen(suffix);

    if (type.length <= strlen(suffix) ||
            strncasecmp(type.at + length, suffix, strlen(suffix)) != 0 ||
            (length >= strlen(form) && strncasecmp(type.at, form, strlen(form)) == 0)) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (!is_letter_or_digit(type.at[i]) && type.at[i] != '.' && type.at[i] != '-') {
            return false;
        }
    }
    return true;
}

/* "application/json", "application/x+json", with no charset or that of JSON: one type, whole, since
 * servers read the start of what is none. */
static bool
is_json(struct span type)
{
    static const char start[] = "application/";
    struct span name = type, rest;
    const char *semicolon = memchr(type.at, ';', type.length);

    if (semicolon != NULL) {
        name.length = (size_t)(semicolon - type.at);
        rest = span_trim((struct span){ semicolon + 1, type.length - name.length - 1 });
        if (!span_is(rest, "charset=utf-8") && !span_is(rest, "charset=\"utf-8\"")) {
            return false;
        }
    }
    name = span_trim(name);
    if (name.length <= strlen(start) || strncasecmp(name.at, start, strlen(start)) != 0) {
        return false;
    }
    name.at += strlen(start);
    name.length -= strlen(start);
    return span_is(name, "json") || is_json_subtype(name);
}

const char *
action_body_is_wrong(const struct http_head *request)
{
    const struct http_field *type = http_field_get(request, "content-type");

    if (request->framing == HTTP_LENGTH && request->content_length > ACTION_INPUT_MAX) {
        return "its body is longer than 64 KiB";
    }
    if (http_field_get(request, "content-encoding") != NULL) {
        return "its body is encoded";
    }
    return type == NULL || http_field_count(request, "content-type") != 1 || !is_json(type->value)
                   ? "its body is not said to be JSON (Content-Type)"
                   : NULL;
}

bool
action_wants_body(const struct session *session, const char *url, const char *method)
{
    abx_policy *policy = session->part.box->policy;
    struct http_action action;
    struct fail fail;
    bool wants;

    if (policy_http_action(policy, url, method, &action, &fail) < 0) {
        return false; /* the broker comes to the same end, and tells it */
    }
    wants = action.name != NULL && policy_action_has_arguments(policy, action.name);
    http_action_done(&action);
    return wants;
}
