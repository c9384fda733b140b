/* SPDX-License-Identifier: Apache-2.0
 * Owns the verdict: which layer and rule decide a request, and the ruling that says so.  Layers are
 * asked one by one; one deny denies, else one ask asks.  Knows no host, no clock, no box: the same
 * request and policy give the same ruling.  Pure, any thread. */
#include "base/mem.h"
#include "policy/credentials.h"
#include "policy/ruling.h"

#include <string.h>

/* The decide_* functions say whether the layer has an opinion. */
static bool
decide_path(const struct layer *layer, bool is_innermost, enum slot slot,
        const struct path_split *path, const char *verb, struct ruling *ruling)
{
    struct pick pick;

    index_pick_path(layer, slot, path, verb, &pick);
    if (pick.rule != NO_RULE) {
        rule_by_pick(layer, &pick, ruling);
        return true;
    }
    rule_by_default(layer, slot,
            slot == SLOT_READ    ? layer->default_read
            : slot == SLOT_WRITE ? layer->default_write
                                 : ABX_VERDICT_DENY,
            ruling);
    return layer_has_opinion(layer, is_innermost, slot);
}

/* A rule about running decides.  Where there is none: with `exec.allow` nothing else runs, without
 * it what may be read may be run. */
static bool
decide_exec(const struct layer *layer, bool is_innermost, const struct path_split *path,
        struct ruling *ruling)
{
    struct pick pick;

    index_pick_path(layer, SLOT_EXEC, path, NULL, &pick);
    if (pick.rule != NO_RULE && (layer->settings.restricts_exec ||
                                        !vec_at(&layer->rules, struct rule, pick.rule)->implied)) {
        rule_by_pick(layer, &pick, ruling);
        return true;
    }
    if (layer->settings.restricts_exec) {
        rule_by_default(layer, SLOT_EXEC, ABX_VERDICT_DENY, ruling);
        return true;
    }
    return decide_path(layer, is_innermost, SLOT_READ, path, NULL, ruling);
}

static bool
decide_listen(const struct layer *layer, bool is_innermost, uint32_t port, struct ruling *ruling)
{
    struct pick pick;

    index_pick_port(layer, port, &pick);
    if (pick.rule != NO_RULE) {
        rule_by_pick(layer, &pick, ruling);
        return true;
    }
    rule_by_default(layer, SLOT_LISTEN, ABX_VERDICT_DENY, ruling);
    return layer_has_opinion(layer, is_innermost, SLOT_LISTEN);
}

/* An action, or a socket without a path: its name is all there is. */
static bool
decide_name(const struct layer *layer, bool is_innermost, enum slot slot,
        const abx_request *request, struct ruling *ruling)
{
    struct pick pick;

    index_pick_name(layer, request->kind, request->target, &pick);
    if (pick.rule != NO_RULE) {
        rule_by_pick(layer, &pick, ruling);
        return true;
    }
    rule_by_default(layer, slot, ABX_VERDICT_DENY, ruling);
    ruling->from_default &= slot != SLOT_ACTION; /* a grant declares none */
    return layer_has_opinion(layer, is_innermost, slot);
}

static bool
decide_socket(const struct layer *layer, bool is_innermost, const abx_request *request,
        const struct path_split *path, struct ruling *ruling)
{
    return request->target[0] == '@'
                   ? decide_name(layer, is_innermost, SLOT_SOCKET, request, ruling)
                   : decide_path(layer, is_innermost, SLOT_SOCKET, path, NULL, ruling);
}

/* One access bit, or another kind of request. */
struct question {
    const abx_request *request;
    uint32_t access;
    const struct path_split *path;
    const struct host_pattern *address; /* CONNECT: of a name that was allowed; else NULL */
    const struct http_url *url; /* HTTP: NULL: the target is none that a request could have */
    bool is_connected; /* HTTP: on a connection that was decided before */
    const char *action; /* HTTP: written, what the request counts as for the layer asked last */
};

static bool
decide_layer(const struct layer *layer, bool is_innermost, struct question *question,
        struct ruling *ruling)
{
    const abx_request *request = question->request;

    switch (request->kind) {
    case ABX_REQUEST_PATH:
    case ABX_REQUEST_EXEC:
        if (question->access == ABX_ACCESS_EXEC) {
            return decide_exec(layer, is_innermost, question->path, ruling);
        }
        return decide_path(layer, is_innermost,
                question->access == ABX_ACCESS_READ ? SLOT_READ : SLOT_WRITE, question->path,
                request->verb, ruling);
    case ABX_REQUEST_CONNECT:
        return question->address != NULL ? decide_address(layer, is_innermost, question->address,
                                                   request->port, ruling)
                                         : decide_connect(layer, is_innermost, request, ruling);
    case ABX_REQUEST_HTTP:
        return decide_http(layer, is_innermost, question->url, request->verb,
                question->is_connected, ruling, &question->action);
    case ABX_REQUEST_ACTION:
        return decide_name(layer, is_innermost, SLOT_ACTION, request, ruling);
    case ABX_REQUEST_CREDENTIAL:
        return decide_credential(layer, is_innermost, request, ruling);
    case ABX_REQUEST_LISTEN:
        return decide_listen(layer, is_innermost, request->port, ruling);
    case ABX_REQUEST_SOCKET:
        return decide_socket(layer, is_innermost, request, question->path, ruling);
    case ABX_REQUEST_SYSCALL:
        rule_by_nature(ABX_VERDICT_DENY, "boundary:system-call",
                "this system call could loosen the boundary", "", ruling);
        return true;
    default:
        rule_by_nature(ABX_VERDICT_DENY, "default", "this build knows no such request", "", ruling);
        return true;
    }
}

/* Every layer that knows actions has its say about what a request counts as. */
static void
decide_action(abx_policy *policy, const char *name, struct ruling *ruling)
{
    abx_request request = { .size = sizeof request, .kind = ABX_REQUEST_ACTION, .target = name };

    for (size_t i = 0; i < policy->layers.count; i++) {
        const struct layer *layer = *vec_at(&policy->layers, struct layer *, i);
        const struct consent consent = ruling->consent;
        struct ruling said;

        if (!layer->has_actions || !decide_name(layer, false, SLOT_ACTION, &request, &said)) {
            continue;
        }
        if (verdict_is_stricter(said.verdict, ruling->verdict)) {
            *ruling = said;
            ruling->layer = (uint32_t)i;
            ruling->source = layer->source;
        }
        ruling->consent = consent_join(consent, said.consent);
    }
}

static bool
ask_layer(abx_policy *policy, size_t number, struct question *question, struct ruling *ruling)
{
    const struct layer *layer = *vec_at(&policy->layers, struct layer *, number);

    if (!decide_layer(layer, number + 1 == policy->layers.count, question, ruling)) {
        return false;
    }
    ruling->layer = (uint32_t)number;
    ruling->source = layer->source;
    if (question->action != NULL) {
        decide_action(policy, question->action, ruling);
    }
    return true;
}

/* The first layer that says the strictest thing speaks; if all allow, the innermost does. */
static void
decide_layers(abx_policy *policy, struct question *question, struct ruling *ret_ruling)
{
    struct consent consent = { 0 };
    bool decided = false;

    rule_by_nature(ABX_VERDICT_DENY, "default", "the policy is empty", "", ret_ruling);
    ret_ruling->layer = 0;
    ret_ruling->source = "";
    for (size_t i = 0; i < policy->layers.count; i++) {
        struct ruling ruling;

        if (!ask_layer(policy, i, question, &ruling)) {
            continue;
        }
        if (!decided || verdict_is_stricter(ruling.verdict, ret_ruling->verdict) ||
                (ruling.verdict == ABX_VERDICT_ALLOW && ret_ruling->verdict == ABX_VERDICT_ALLOW)) {
            *ret_ruling = ruling;
        }
        decided = true;
        if (ret_ruling->verdict == ABX_VERDICT_DENY) {
            return;
        }
        consent = consent_join(consent, ruling.consent);
    }
    ret_ruling->consent = consent;
}

/* Of HTTP. */
static void
decide_request(abx_policy *policy, struct question *question, struct ruling *ret_ruling)
{
    struct http_url url;

    question->url = http_url_parse(question->request->target, &url) ? &url : NULL;
    decide_layers(policy, question, ret_ruling);
}

static bool
is_path_request(const abx_request *request)
{
    return request->kind == ABX_REQUEST_PATH || request->kind == ABX_REQUEST_EXEC ||
           (request->kind == ABX_REQUEST_SOCKET && request->target[0] != '@');
}

bool
policy_request_is_valid(const abx_request *request)
{
    struct path_split path;

    if (request->kind < ABX_REQUEST_PATH || request->kind > ABX_REQUEST_SYSCALL) {
        return false;
    }
    if (request->kind == ABX_REQUEST_LISTEN) {
        return request->port > 0 && request->port <= 65535;
    }
    if (request->target == NULL || request->port > 65535 ||
            (request->kind == ABX_REQUEST_PATH && (request->access == 0 || request->access > 7))) {
        return false;
    }
    return !is_path_request(request) || path_split(request->target, &path);
}

abx_verdict
policy_decide(abx_policy *policy, const abx_request *request, struct ruling *ret_ruling)
{
    struct path_split path;
    struct question question = { .request = request, .path = &path };
    bool decided = false;

    if ((request->target == NULL && request->kind != ABX_REQUEST_LISTEN) ||
            (is_path_request(request) && !path_split(request->target, &path))) {
        rule_by_nature(
                ABX_VERDICT_DENY, "default", "this is no absolute, plain path", "", ret_ruling);
        ret_ruling->layer = 0;
        ret_ruling->source = "";
        return ABX_VERDICT_DENY;
    }
    if (request->kind == ABX_REQUEST_HTTP) {
        decide_request(policy, &question, ret_ruling);
        return ret_ruling->verdict;
    }
    if (request->kind != ABX_REQUEST_PATH) {
        question.access = ABX_ACCESS_EXEC;
        decide_layers(policy, &question, ret_ruling);
        return ret_ruling->verdict;
    }
    for (uint32_t access = ABX_ACCESS_READ; access <= ABX_ACCESS_EXEC; access <<= 1) {
        struct ruling ruling;

        if ((request->access & access) == 0) {
            continue;
        }
        question.access = access;
        decide_layers(policy, &question, &ruling);
        if (!decided || verdict_is_stricter(ruling.verdict, ret_ruling->verdict)) {
            *ret_ruling = ruling;
        }
        decided = true;
    }
    if (!decided) {
        rule_by_nature(ABX_VERDICT_DENY, "default", "the request asks for nothing", "", ret_ruling);
        ret_ruling->layer = 0;
        ret_ruling->source = "";
    }
    return ret_ruling->verdict;
}

abx_verdict
policy_decide_address(abx_policy *policy, const char *name, const char *address, uint32_t port,
        struct ruling *ret_ruling)
{
    abx_request request = {
        .size = sizeof request, .kind = ABX_REQUEST_CONNECT, .target = address, .port = port
    };
    struct question question = { .request = &request };
    struct host_pattern asked, found;
    struct fail fail;

    if (host_parse(name, &asked, &fail) < 0 || asked.form == HOST_ADDRESS ||
            host_parse(address, &found, &fail) < 0 || found.form != HOST_ADDRESS ||
            !host_is_single(&found)) {
        return policy_decide(policy, &request, ret_ruling); /* nothing was allowed by name */
    }
    question.address = &found;
    decide_layers(policy, &question, ret_ruling);
    return ret_ruling->verdict;
}

abx_verdict
policy_decide_connected(
        abx_policy *policy, const char *url, const char *method, struct ruling *ret_ruling)
{
    abx_request request = {
        .size = sizeof request, .kind = ABX_REQUEST_HTTP, .target = url, .verb = method
    };
    struct question question = { .request = &request, .is_connected = true };

    decide_request(policy, &question, ret_ruling);
    return ret_ruling->verdict;
}

bool
policy_reads_http(abx_policy *policy, const char *host, uint32_t port)
{
    struct host_pattern parsed;
    struct fail fail;

    if (host_parse(host, &parsed, &fail) < 0) {
        return false;
    }
    for (size_t i = 0; i < policy->layers.count; i++) {
        if (layer_reads_http(*vec_at(&policy->layers, struct layer *, i), &parsed, port)) {
            return true;
        }
    }
    if (policy_identity_header(policy, host, port) != NULL) {
        return true;
    }
    for (size_t i = 0; i < policy->settings.n_credentials; i++) {
        if (policy_credential_goes_to(policy, i, host, port)) {
            return true;
        }
    }
    return false;
}
