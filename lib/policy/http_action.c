/* SPDX-License-Identifier: Apache-2.0
 * Owns what a URL says of an action: segments of its path that the rule names, and its query.  What
 * two servers could read differently is refused.  Pure, any thread. */
#include "base/mem.h"
#include "base/str.h"
#include "policy/http.h"
#include "policy/index.h"

#include <stdlib.h>
#include <string.h>

#define TEXTS_MAX 256u

/* ---- rules ---- */
void
http_captures_done(struct vec *captures)
{
    for (size_t i = 0; i < captures->count; i++) {
        free(vec_at(captures, struct http_capture, i)->name);
    }
    vec_done(captures);
}

static bool
is_capture(const char *segment, size_t length)
{
    static const char allowed[] =
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

    return length > 2 && length <= 130 && segment[0] == '{' && segment[length - 1] == '}' &&
           strspn(segment + 1, allowed) == length - 2;
}

static abx_status
add_capture(struct vec *captures, const char *segment, size_t length, uint32_t number,
        struct fail *fail)
{
    struct http_capture *capture;
    char *name = strndup(segment + 1, length - 2);

    for (size_t i = 0; name != NULL && i < captures->count; i++) {
        if (strcmp(vec_at(captures, struct http_capture, i)->name, name) == 0) {
            free(name);
            return fail_set(fail, ABX_ERR_POLICY, 0, "", "two segments are called '%.*s'",
                    (int)length, segment);
        }
    }
    capture = name == NULL ? NULL : vec_add(captures);
    if (capture == NULL) {
        free(name);
        return fail_nomem(fail);
    }
    *capture = (struct http_capture){ name, number };
    return ABX_OK;
}

char *
http_captures_read(const char *written, struct vec *ret_captures, struct fail *fail)
{
    struct str out = { 0 };
    bool is_open = false;
    uint32_t number = 0;
    abx_status r = ABX_OK;
    char *pattern;

    for (const char *at = written; *at == '/' && r == ABX_OK; number++) {
        const char *segment = at + 1;
        size_t length = strcspn(segment, "/");

        str_add(&out, "/");
        if (!is_capture(segment, length)) {
            is_open |= length == 2 && strncmp(segment, "**", 2) == 0;
            str_add_bytes(&out, segment, length);
        } else if (is_open) {
            r = fail_set(fail, ABX_ERR_POLICY, 0, "",
                    "'%.*s' stands behind '**', so it is not known which segment it is",
                    (int)length, segment);
        } else {
            str_add(&out, "*");
            r = add_capture(ret_captures, segment, length, number, fail);
        }
        at = segment + length;
    }
    str_add(&out, number == 0 ? written : ""); /* no path; whoever compiles it says so */
    pattern = str_steal(&out, NULL);
    if (pattern == NULL && r == ABX_OK) {
        fail_nomem(fail);
    }
    if (r < 0) {
        free(pattern);
        return NULL;
    }
    return pattern;
}

/* ---- requests ---- */
bool
http_method_has_body(const char *method)
{
    return strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0;
}

void
http_action_done(struct http_action *action)
{
    for (size_t i = 0; i < action->texts.count; i++) {
        const struct action_text *text = vec_at(&action->texts, struct action_text, i);

        free((char *)(uintptr_t)text->name);
        free((char *)(uintptr_t)text->value);
    }
    vec_done(&action->texts);
}

/* Takes both; NULL ones are no memory. */
static abx_status
add_text(struct http_action *action, char *name, char *value, struct fail *fail)
{
    struct action_text *text = NULL;

    if (action->texts.count >= TEXTS_MAX) {
        fail_set(fail, ABX_ERR_DENIED, 0, "action:", "the query has more than %u parameters",
                TEXTS_MAX);
    } else if (name == NULL || value == NULL || (text = vec_add(&action->texts)) == NULL) {
        fail_nomem(fail);
    }
    if (text == NULL) {
        free(name);
        free(value);
        return fail->status;
    }
    *text = (struct action_text){ name, value };
    return ABX_OK;
}

/* A part of a query as it is meant; NULL: `fail` is set. */
static char *
decode(const char *text, size_t length, struct fail *fail)
{
    struct str out = { 0 };
    char *decoded;

    str_add(&out, "");
    for (size_t i = 0; i < length; i++) {
        char byte = text[i] == '+' ? ' ' : text[i];

        if (byte == '%') {
            const int number = i + 2 < length ? hex_byte(text + i + 1) : -1;

            byte = number < 0 ? '\0' : (char)number;
            i += 2;
        }
        if ((unsigned char)byte < ' ' || byte == 0x7f) {
            str_done(&out);
            fail_set(fail, ABX_ERR_DENIED, 0,
                    "action:", "the query has a '%%' without two digits, or a control character");
            return NULL;
        }
        str_add_bytes(&out, &byte, 1);
    }
    decoded = str_steal(&out, NULL);
    if (decoded == NULL) {
        fail_nomem(fail);
    }
    return decoded;
}

static abx_status
read_query(struct http_action *action, const char *url, struct fail *fail)
{
    const char *at = strchr(url, '?');
    abx_status r = ABX_OK;

    if (at != NULL && strchr(at, ';') != NULL) {
        return fail_set(fail, ABX_ERR_DENIED, 0, "action:",
                "the query has a ';', at which some servers end a parameter; write %%3B");
    }
    for (at = at == NULL ? "" : at + 1; *at != '\0' && r == ABX_OK;) {
        size_t length = strcspn(at, "&"), n = strcspn(at, "&=");
        size_t value = n < length ? n + 1 : length;
        char *name, *decoded;

        if (length > 0) {
            name = decode(at, n, fail);
            decoded = name == NULL ? NULL : decode(at + value, length - value, fail);
            if (decoded == NULL) {
                free(name);
                return fail->status;
            }
            r = add_text(action, name, decoded, fail);
        }
        at += length + (at[length] == '&');
    }
    return r;
}

/* A layer's own names for segments; what another layer said already is not said twice. */
static abx_status
read_captures(struct http_action *action, const struct http_rule *rule, const struct http_url *url,
        struct fail *fail)
{
    abx_status r = ABX_OK;

    for (size_t i = 0; i < rule->captures.count && r == ABX_OK; i++) {
        const struct http_capture *capture = vec_at(&rule->captures, struct http_capture, i);
        uint32_t start = url->split.start[capture->segment];
        uint32_t length = url->split.start[capture->segment + 1] - 1 - start;
        bool is_known = false;

        for (size_t k = 0; k < action->texts.count && !is_known; k++) {
            const struct action_text *text = vec_at(&action->texts, struct action_text, k);

            is_known = strcmp(text->name, capture->name) == 0 && strlen(text->value) == length &&
                       memcmp(text->value, url->split.text + start, length) == 0;
        }
        if (!is_known) {
            r = add_text(
                    action, strdup(capture->name), strndup(url->split.text + start, length), fail);
        }
    }
    return r;
}

static abx_status
read_layer(const struct layer *layer, const struct http_url *url, const char *method,
        struct http_action *action, struct fail *fail)
{
    struct pick pick;

    if (!layer->has_network || layer->settings.network != NETWORK_FILTERED) {
        return ABX_OK;
    }
    index_pick_http(layer, url, method, &pick);
    if (pick.rule == NO_RULE || pick.http == NULL || pick.http->action == NULL) {
        return ABX_OK;
    }
    if (action->name != NULL && strcmp(action->name, pick.http->action) != 0) {
        return fail_set(fail, ABX_ERR_DENIED, 0,
                "action:", "one layer of the policy takes it for '%.80s', another for '%.80s'",
                action->name, pick.http->action);
    }
    action->name = pick.http->action;
    return read_captures(action, pick.http, url, fail);
}

/* All but the query; whatever it says, the caller ends *ret_action. */
static abx_status
read_layers(abx_policy *policy, const char *url, const char *method, struct http_action *ret_action,
        struct fail *fail)
{
    struct http_url parsed;
    abx_status r = ABX_OK;

    *ret_action = (struct http_action){ .texts = VEC(struct action_text) };
    if (http_url_parse(url, &parsed) && parsed.bad_path == NULL) { /* others are denied */
        for (size_t i = 0; i < policy->layers.count && r == ABX_OK; i++) {
            r = read_layer(
                    *vec_at(&policy->layers, struct layer *, i), &parsed, method, ret_action, fail);
        }
    }
    return r;
}

abx_status
policy_http_action(abx_policy *policy, const char *url, const char *method,
        struct http_action *ret_action, struct fail *fail)
{
    struct http_action action;
    abx_status r = read_layers(policy, url, method, &action, fail);

    if (r == ABX_OK && action.name != NULL) {
        r = read_query(&action, url, fail);
    }
    if (r < 0) {
        http_action_done(&action);
        return r;
    }
    *ret_action = action;
    return ABX_OK;
}

const char *
policy_http_action_name(abx_policy *policy, const char *url, const char *method)
{
    struct http_action action;
    struct fail fail;
    abx_status r = read_layers(policy, url, method, &action, &fail);

    http_action_done(&action);
    return r < 0 ? NULL : action.name;
}
