/* SPDX-License-Identifier: Apache-2.0
 * Owns the one-line notation of policies and requests (see the header). */
#include "policy/notation.h"

#include "policy/http.h"
#include "policy/layer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    uint32_t kind, access;
} sections[] = {
    { "read", ABX_REQUEST_PATH, ABX_ACCESS_READ },
    { "write", ABX_REQUEST_PATH, ABX_ACCESS_WRITE },
    { "exec", ABX_REQUEST_PATH, ABX_ACCESS_EXEC },
    { "network", ABX_REQUEST_CONNECT, 0 },
    { "listen", ABX_REQUEST_LISTEN, 0 },
    { "socket", ABX_REQUEST_SOCKET, 0 },
    { "action", ABX_REQUEST_ACTION, 0 },
};

static bool
copy_text(char out[NOTE_TEXT_MAX], const char *text, size_t length)
{
    if (length >= NOTE_TEXT_MAX) {
        return false;
    }
    memcpy(out, text, length);
    out[length] = '\0';
    return true;
}

/* Cuts `:PORT` or `:FIRST-LAST` from the end, if it is there. */
static void
take_ports(char *text, uint32_t *ret_first, uint32_t *ret_last)
{
    char *colon = strrchr(text, ':');
    unsigned first, last;
    int used = 0;

    *ret_first = *ret_last = 0;
    if (colon == NULL) {
        return;
    }
    if (sscanf(colon, ":%u-%u%n", &first, &last, &used) == 2 && colon[used] == '\0') {
        *ret_first = first;
        *ret_last = last;
        *colon = '\0';
    } else if (sscanf(colon, ":%u%n", &first, &used) == 1 && colon[used] == '\0') {
        *ret_first = *ret_last = first;
        *colon = '\0';
    }
}

static bool
take_verdict(const char *word, struct note_rule *rule)
{
    static const char *const names[] = {
        [ABX_VERDICT_DENY] = "deny", [ABX_VERDICT_ALLOW] = "allow", [ABX_VERDICT_ASK] = "ask"
    };

    for (uint32_t i = 0; i < 3; i++) {
        if (strcmp(word, names[i]) == 0) {
            rule->verdict = i;
            return true;
        }
    }
    rule->verdict = ABX_VERDICT_ALLOW;
    rule->opens_private = true;
    return strcmp(word, "private") == 0;
}

/* Cuts ` http METHODS PATH [ACTION]` off, as often as it is there. */
static bool
take_http(char *text, struct note_rule *rule)
{
    char *next = strstr(text, " http ");

    if (next != NULL) {
        *next = '\0';
        next += strlen(" http ");
    }
    while (next != NULL) {
        struct note_http *http = &rule->http[rule->n_http];
        char *entry = next;

        next = strstr(entry, " http ");
        if (next != NULL) {
            *next = '\0';
            next += strlen(" http ");
        }
        if (rule->n_http++ == NOTE_HTTP_MAX ||
                sscanf(entry, "%31s %63s %31s", http->methods, http->path, http->action) < 2) {
            return false;
        }
    }
    return true;
}

static bool
parse_rule(const char *key, const char *value, struct note *note)
{
    struct note_rule *rule = &note->rules[note->n_rules];
    char name[16], word[16];
    char *flag;

    if (note->n_rules == NOTE_RULES_MAX || sscanf(key, "%15[a-z].%15[a-z]", name, word) != 2) {
        return false;
    }
    memset(rule, 0, sizeof *rule);
    rule->layer = note->n_layers - 1;
    for (size_t i = 0; i < N_ELEMENTS(sections); i++) {
        if (strcmp(name, sections[i].name) == 0) {
            rule->kind = sections[i].kind;
            rule->access = sections[i].access;
        }
    }
    if (rule->kind == 0 || !take_verdict(word, rule) ||
            !copy_text(rule->pattern, value, strlen(value))) {
        return false;
    }
    if (!take_http(rule->pattern, rule)) {
        return false;
    }
    flag = strstr(rule->pattern, " literal");
    if (flag != NULL) {
        *flag = '\0';
        rule->is_literal = true;
    }
    if (rule->kind == ABX_REQUEST_CONNECT || rule->kind == ABX_REQUEST_LISTEN) {
        take_ports(rule->pattern, &rule->port_first, &rule->port_last);
    }
    note->n_rules++;
    return true;
}

/* What a policy takes for a name inside a writable root. */
static bool
is_protectable(const char *name)
{
    const char *end;

    do {
        size_t length = strcspn(name, "/");

        if (length == 0 || (length <= 2 && strspn(name, ".") == length)) {
            return false;
        }
        end = name + length;
        name = end + 1;
    } while (*end != '\0');
    return true;
}

static bool
parse_statement(const char *text, struct note *note)
{
    struct note_layer *layer = &note->layers[note->n_layers - 1];
    char key[NOTE_TEXT_MAX];
    const char *colon = strstr(text, ": ");

    if (strcmp(text, "git") == 0) {
        layer->is_git_protected = true;
        return true;
    }
    if (colon == NULL || !copy_text(key, text, (size_t)(colon - text))) {
        return false;
    }
    if (strcmp(key, "protect") == 0) {
        return is_protectable(colon + 2) && layer->n_protect < N_ELEMENTS(layer->protect) &&
               copy_text(layer->protect[layer->n_protect++], colon + 2, strlen(colon + 2));
    }
    if (strcmp(key, "network") == 0) {
        layer->network = strcmp(colon + 2, "host") == 0       ? NETWORK_HOST
                         : strcmp(colon + 2, "filtered") == 0 ? NETWORK_FILTERED
                                                              : NETWORK_NONE;
        layer->has_mode = true;
        return true;
    }
    return parse_rule(key, colon + 2, note);
}

static bool
parse_layer(char *text, struct note *note)
{
    if (note->n_layers == NOTE_LAYERS_MAX) {
        return false;
    }
    memset(&note->layers[note->n_layers++], 0, sizeof note->layers[0]);
    while (text != NULL) {
        char *next = strstr(text, "; ");

        if (next != NULL) {
            *next = '\0';
            next += 2;
        }
        if (text[0] != '\0' && !parse_statement(text, note)) {
            return false;
        }
        text = next;
    }
    return true;
}

bool
note_parse(const char *text, struct note *ret_note)
{
    AUTO(freep) char *copy = strdup(text);

    ret_note->n_rules = 0;
    ret_note->n_layers = 0;
    for (char *layer = copy; layer != NULL;) {
        char *next = strstr(layer, " OVER ");

        if (next != NULL) {
            *next = '\0';
            next += strlen(" OVER ");
        }
        if (!parse_layer(layer, ret_note)) {
            return false;
        }
        layer = next;
    }
    return copy != NULL;
}

/* "GET https://...": a capital letter first. */
static bool
take_method(const char *text, struct note_request *r)
{
    return sscanf(text, "%31[A-Z] %255s", r->verb, r->target) == 2;
}

bool
note_parse_request(const char *text, struct note_request *ret_request)
{
    static const struct {
        const char *name;
        uint32_t kind, access;
    } verbs[] = {
        { "read ", ABX_REQUEST_PATH, ABX_ACCESS_READ },
        { "write ", ABX_REQUEST_PATH, ABX_ACCESS_WRITE },
        { "read+write ", ABX_REQUEST_PATH, ABX_ACCESS_READ | ABX_ACCESS_WRITE },
        { "exec ", ABX_REQUEST_EXEC, 0 },
        { "connect ", ABX_REQUEST_CONNECT, 0 },
        { "address ", ABX_REQUEST_CONNECT, 0 },
        { "listen ", ABX_REQUEST_LISTEN, 0 },
        { "socket ", ABX_REQUEST_SOCKET, 0 },
        { "action ", ABX_REQUEST_ACTION, 0 },
    };
    struct note_request *r = ret_request;
    char *by, *of;
    uint32_t last;

    memset(r, 0, sizeof *r);
    r->request.size = sizeof r->request;
    for (size_t i = 0; i < N_ELEMENTS(verbs); i++) {
        size_t length = strlen(verbs[i].name);

        if (strncmp(text, verbs[i].name, length) == 0) {
            r->request.kind = verbs[i].kind;
            r->request.access = verbs[i].access;
            text += length;
            break;
        }
    }
    r->request.target = r->target;
    if (r->request.kind == 0 && take_method(text, r)) {
        r->request.kind = ABX_REQUEST_HTTP;
        r->request.verb = r->verb;
        r->is_connected = strstr(text, " when connected") != NULL;
        return true;
    }
    if (r->request.kind == 0 || !copy_text(r->target, text, strlen(text))) {
        return false;
    }
    by = strstr(r->target, " by ");
    if (by != NULL) {
        *by = '\0';
        copy_text(r->verb, by + 4, strlen(by + 4));
        r->request.verb = r->verb;
    }
    of = r->request.kind == ABX_REQUEST_CONNECT ? strstr(r->target, " of ") : NULL;
    if (of != NULL) {
        *of = '\0';
        copy_text(r->name, of + 4, strlen(of + 4));
    }
    if (r->request.kind == ABX_REQUEST_LISTEN) {
        r->request.port = (uint32_t)strtoul(r->target, NULL, 10);
    } else if (r->request.kind == ABX_REQUEST_CONNECT) {
        take_ports(r->target, &r->request.port, &last);
    }
    return true;
}

void
note_decide(abx_policy *policy, const struct note_request *request, struct ruling *ret_ruling)
{
    if (request->name[0] != '\0') {
        policy_decide_address(
                policy, request->name, request->target, request->request.port, ret_ruling);
    } else if (request->is_connected) {
        policy_decide_connected(policy, request->target, request->request.verb, ret_ruling);
    } else {
        policy_decide(policy, &request->request, ret_ruling);
    }
}

/* As rules have it; texts are borrowed from the note, methods from `methods`. */
static void
fill_http(const struct note_rule *from, struct rule *rule, struct http_rule http[NOTE_HTTP_MAX],
        char methods[NOTE_HTTP_MAX][32])
{
    static char no_id[] = "http";

    rule->http = http;
    rule->n_http = from->n_http;
    for (uint32_t i = 0; i < from->n_http; i++) {
        const struct note_http *of = &from->http[i];

        strcpy(methods[i], of->methods);
        for (char *at = methods[i]; *at != '\0'; at++) {
            *at = *at == ',' ? ' ' : *at;
        }
        http[i] = (struct http_rule){ .methods = methods[i],
            .path = (char *)(uintptr_t)of->path,
            .action = of->action[0] == '\0' ? NULL : (char *)(uintptr_t)of->action,
            .id = no_id,
            .verdict = from->verdict };
    }
}

static abx_status
fill_layer(struct layer *layer, const struct note *note, uint32_t number, struct fail *fail)
{
    const struct note_layer *own = &note->layers[number];
    char id[32];

    layer->settings.network = own->network;
    layer->has_network = own->has_mode;
    layer->git = own->is_git_protected ? GIT_MEANING : GIT_OFF;
    for (uint32_t i = 0; i < own->n_protect; i++) {
        if (layer_protect_name(layer, own->protect[i], fail) < 0) {
            return fail->status;
        }
    }
    for (size_t i = 0; i < note->n_rules; i++) {
        const struct note_rule *from = &note->rules[i];
        char pattern[NOTE_TEXT_MAX], methods[NOTE_HTTP_MAX][32];
        struct http_rule http[NOTE_HTTP_MAX];
        struct rule rule = { .kind = from->kind,
            .access = from->access,
            .verdict = from->verdict,
            .is_literal = from->is_literal,
            .opens_private = from->opens_private,
            .port_first = from->port_first,
            .port_last = from->port_last,
            .pattern = pattern,
            .id = id };

        fill_http(from, &rule, http, methods);
        memcpy(pattern, from->pattern, sizeof pattern);
        snprintf(id, sizeof id, "rule:%zu", i);
        if (from->layer == number && layer_add_rule(layer, &rule, fail) < 0) {
            return fail->status;
        }
    }
    return layer_finish(layer, fail);
}

abx_policy *
note_policy(const struct note *note, struct fail *fail)
{
    static const char *const sources[] = { "task", "user", "managed" };
    struct layer *layers[NOTE_LAYERS_MAX] = { NULL };
    abx_policy *policy = NULL;
    abx_status r = ABX_OK;

    for (uint32_t i = 0; i < note->n_layers && r == ABX_OK; i++) {
        layers[i] = layer_new(sources[note->n_layers - 1 - i]);
        r = layers[i] == NULL ? fail_nomem(fail) : fill_layer(layers[i], note, i, fail);
    }
    if (r == ABX_OK) {
        r = policy_new(layers, note->n_layers, &policy, fail);
    }
    for (uint32_t i = 0; i < note->n_layers && r < 0; i++) {
        layer_free(layers[i]);
    }
    return policy;
}
