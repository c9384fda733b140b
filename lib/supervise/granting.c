/* SPDX-License-Identifier: Apache-2.0
 * What the host gives by itself, in the spelling in which requests are decided, and takes back.
 * Any thread that holds no lock. */
#include "supervise/actions.h"

#include "egress/egress.h"

#include "base/mem.h"

#include <string.h>

/* ---- its one spelling ---- */
static abx_status
spell_host(const abx_request *pattern, struct grant *grant, struct fail *fail)
{
    char name[POLICY_HOST_SIZE];

    if (!policy_host_spelling(pattern->target, name)) {
        return fail_set(fail, ABX_ERR_INVALID, 0, "grant:target",
                "the target is not one host name or address");
    }
    grant->target = strdup(name);
    return grant->target == NULL ? fail_nomem(fail) : ABX_OK;
}

static abx_status
spell_path(abx_box *box, const abx_request *pattern, struct grant *grant, struct fail *fail)
{
    const struct host_view *host = box->context->backend->host;
    AUTO(freep) char *spelled = grant_target(pattern->target, &grant->below);

    if (spelled == NULL) {
        return fail_set(fail, ABX_ERR_INVALID, 0, "grant:target",
                "the target is not an absolute path without '.' and '..'");
    }
    grant->target = host->real_path(host->data, spelled);
    return grant->target == NULL ? fail_nomem(fail) : ABX_OK;
}

/* What counts as an action with arguments is decided as that, and nothing of it as a request. */
static abx_status
check_no_action(abx_box *box, const struct grant *grant, struct fail *fail)
{
    struct http_action action;
    bool is_action;

    if (policy_http_action(box->resolved, grant->target, grant->verb, &action, fail) < 0) {
        return fail->status;
    }
    is_action = action.name != NULL && policy_action_has_arguments(box->resolved, action.name);
    if (is_action) {
        fail_set(fail, ABX_ERR_INVALID, 0, "grant:target",
                "the request counts as the action '%.100s'", action.name);
        fail_remedy(fail, "grant that action with its arguments");
    }
    http_action_done(&action);
    return is_action ? ABX_ERR_INVALID : ABX_OK;
}

static abx_status
check_is_read(abx_box *box, const struct policy_url *url, struct fail *fail)
{
    if (policy_reads_http(box->resolved, url->host, url->port)) {
        return ABX_OK;
    }
    fail_set(fail, ABX_ERR_DENIED, 0, "grant:target",
            "the policy has no rules about requests to '%.150s' port %u, so nobody reads them",
            url->host, url->port);
    fail_remedy(fail, "grant the connection");
    return ABX_ERR_DENIED;
}

static abx_status
spell_url(abx_box *box, const abx_request *pattern, struct grant *grant, struct fail *fail)
{
    size_t length = strlen(pattern->target);
    AUTO(freep) char *own = strdup(pattern->target);
    const char *method = pattern->verb == NULL ? "GET" : pattern->verb;
    struct policy_url url;
    abx_status r = own == NULL ? fail_nomem(fail) : ABX_OK;

    if (r == ABX_OK && !http_method_is_valid(method)) {
        r = fail_set(fail, ABX_ERR_INVALID, 0, "grant:verb", "the verb is not one method");
    }
    if (r == ABX_OK && length >= 3 && strcmp(own + length - 3, "/**") == 0) {
        grant->below = true;
        own[length - 3] = '\0';
    }
    r = r < 0 ? r : policy_url_spelling(own, &url, fail);
    if (r < 0) {
        return r;
    }
    grant->target = url.text;
    grant->port = url.port;
    grant->verb = strdup(method);
    if (grant->verb == NULL) {
        return fail_nomem(fail);
    }
    if (grant->below && strchr(grant->target, '?') != NULL) {
        return fail_set(fail, ABX_ERR_INVALID, 0, "grant:target",
                "a target with all below it has no query");
    }
    r = check_is_read(box, &url, fail);
    return r < 0 || grant->below ? r : check_no_action(box, grant, fail);
}

/* In the form in which its arguments are shown and decided. */
static abx_status
spell_action(abx_box *box, const abx_request *pattern, struct grant *grant, struct fail *fail)
{
    const char *arguments =
            pattern->verb == NULL || pattern->verb[0] == '\0' ? "{}" : pattern->verb;
    struct action_input input = { .json = arguments, .json_length = strlen(arguments) };
    struct action_form form = { NULL };
    abx_status r = policy_action_read(box->resolved, pattern->target, &input, &form, fail);

    if (r < 0) {
        return r;
    }
    grant->verb = form.arguments;
    grant->target = strdup(pattern->target);
    return grant->target == NULL ? fail_nomem(fail) : ABX_OK;
}

static abx_status
spell(abx_box *box, const abx_request *pattern, struct grant *grant, struct fail *fail)
{
    switch (pattern->kind) {
    case ABX_REQUEST_CONNECT:
        return spell_host(pattern, grant, fail);
    case ABX_REQUEST_HTTP:
        return spell_url(box, pattern, grant, fail);
    case ABX_REQUEST_ACTION:
        return spell_action(box, pattern, grant, fail);
    default:
        return spell_path(box, pattern, grant, fail);
    }
}

/* ---- giving ---- */
static abx_status
fail_undeclared(abx_box *box, const char *name, struct fail *fail)
{
    const char *nearest = policy_action_nearest(box->resolved, name);

    fail_set(fail, ABX_ERR_DENIED, 0, "grant:target",
            "the policy declares no action '%.100s'%s%.100s%s", name,
            nearest == NULL ? "" : "; the nearest one is '", nearest == NULL ? "" : nearest,
            nearest == NULL ? "" : "'");
    fail_remedy(fail, "grant an action that the policy declares");
    return ABX_ERR_DENIED;
}

/* One place below may be lifted that no rule names, or one that a rule asks about. */
static abx_status
check_below(abx_box *box, const abx_request *request, struct fail *fail)
{
    const size_t length = strlen(request->target);
    abx_request sample = *request;
    AUTO(str_done) struct str target = { 0 };
    struct ruling ruling;
    const char *action;

    str_printf(&target, "%s%sanything-that-no-rule-has-a-name-for", request->target,
            length > 0 && request->target[length - 1] == '/' ? "" : "/");
    if (target.failed) {
        return fail_nomem(fail);
    }
    sample.target = target.data;
    action = request->kind == ABX_REQUEST_HTTP
                     ? policy_http_action_name(box->resolved, sample.target, sample.verb)
                     : NULL;
    if ((broker_may_grant(box, &sample, &ruling) &&
                (action == NULL || !policy_action_has_arguments(box->resolved, action))) ||
            policy_asks_below(box->resolved, request)) {
        return ABX_OK;
    }
    fail_set(fail, ABX_ERR_DENIED, 0, "grant:target",
            "rule '%.200s' decides all below, where a grant lifts nothing", ruling.id);
    fail_remedy(fail, action != NULL ? "grant that action with its arguments"
                                     : "grant what the policy asks about, or has no rule for");
    return ABX_ERR_DENIED;
}

/* A connection is open already where its requests are decided one by one. */
static abx_status
check_is_whole(
        abx_box *box, const abx_request *request, const struct ruling *ruling, struct fail *fail)
{
    if (request->kind != ABX_REQUEST_CONNECT || ruling->verdict != ABX_VERDICT_ALLOW ||
            !policy_reads_http(box->resolved, request->target, request->port)) {
        return ABX_OK;
    }
    fail_set(fail, ABX_ERR_DENIED, 0, "grant:target",
            "requests to '%.150s' port %u are decided one by one, and the connection is allowed",
            request->target, request->port);
    fail_remedy(fail, "grant the request");
    return ABX_ERR_DENIED;
}

static abx_status
check_liftable(abx_box *box, const struct grant *grant, struct fail *fail)
{
    const abx_request request = {
        .size = sizeof request,
        .kind = grant->request,
        .access = grant->access,
        .port = grant->port,
        .target = grant->target,
        .verb = grant->verb,
    };
    struct ruling ruling;

    if (grant->below) {
        return check_below(box, &request, fail);
    }
    if (broker_may_grant(box, &request, &ruling)) {
        return check_is_whole(box, &request, &ruling, fail);
    }
    if (request.kind == ABX_REQUEST_ACTION && ruling.rule == UINT32_MAX) {
        return fail_undeclared(box, grant->target, fail);
    }
    fail_set(fail, ABX_ERR_DENIED, 0, "grant:target",
            "rule '%.200s' denies it, and no grant lifts a rule", ruling.id);
    if (request.kind == ABX_REQUEST_CONNECT && box->plan.network == NETWORK_NONE) {
        fail_remedy(fail, "open the box with the network mode \"filtered\"");
    }
    return ABX_ERR_DENIED;
}

/* Takes the grant on success. */
static abx_status
add_grant(abx_box *box, const struct grant *grant, struct fail *fail)
{
    struct grant taken;
    abx_status r;

    pthread_mutex_lock(&box->lock);
    r = grants_add(&box->grants, grant)
                ? tell_grant(box, grant, "grant", "the host gave a grant", fail)
                : fail_nomem(fail);
    if (r < 0) {
        grants_take(&box->grants, grant->id, &taken);
    }
    pthread_mutex_unlock(&box->lock);
    return r;
}

abx_status
box_grant(abx_box *box, const abx_request *pattern, int64_t expires_ms, uint32_t uses,
        const char *approver, uint64_t *ret_grant, struct fail *fail)
{
    const bool is_named = approver != NULL && approver[0] != '\0';
    struct grant grant = {
        .request = pattern->kind,
        .access = pattern->access,
        .port = pattern->port,
        .approver = is_named ? strdup(approver) : NULL,
        .expires_ms = expires_ms,
        .expires_ns = grant_deadline(expires_ms),
        .uses = uses,
    };
    abx_status r = is_named && grant.approver == NULL ? fail_nomem(fail)
                                                      : identity_check(box->identity, fail);

    if (pattern->kind == ABX_REQUEST_EXEC || pattern->access == ABX_ACCESS_EXEC) {
        grant.request = ABX_REQUEST_EXEC; /* what an execution asks for */
        grant.access = ABX_ACCESS_EXEC;
    }
    r = r < 0 ? r : spell(box, pattern, &grant, fail);
    r = r < 0 ? r : check_liftable(box, &grant, fail);
    if (r == ABX_OK) {
        grant.id = atomic_fetch_add(&box->context->last_ticket, 1) + 1;
        r = add_grant(box, &grant, fail);
    }
    if (r < 0) {
        grant_done(&grant);
        return r;
    }
    *ret_grant = grant.id;
    return ABX_OK;
}

/* ---- taking back ---- */

/* What it let through ends. */
static void
end_under_way(abx_box *box, const struct grant *taken)
{
    if (box->egress == NULL) {
        return;
    }
    if (taken->request == ABX_REQUEST_CONNECT) {
        egress_revoke(box->egress, taken->target, taken->port);
    } else if (taken->request == ABX_REQUEST_HTTP || taken->request == ABX_REQUEST_ACTION) {
        egress_revoke_requests(box->egress, taken->id, taken->ticket);
    }
}

/* Only what is counted, or was asked about, is not decided about again. */
static void
remember(abx_box *box, const struct grant *taken)
{
    if (taken->ticket != 0) {
        revoked_add(&box->revoked, taken->ticket);
    }
    if (taken->uses != 0) {
        revoked_add(&box->revoked, taken->id);
    }
}

abx_status
box_revoke(abx_box *box, uint64_t grant)
{
    struct grant taken;
    struct fail untold; /* it is taken back in any case */
    bool is_there;

    pthread_mutex_lock(&box->lock);
    is_there = grants_take(&box->grants, grant, &taken);
    if (is_there) {
        remember(box, &taken);
        tell_grant(box, &taken, "revoke", "the host took a grant back", &untold);
    }
    pthread_mutex_unlock(&box->lock);
    if (!is_there) {
        return ABX_ERR_STATE;
    }
    end_under_way(box, &taken);
    grant_done(&taken);
    return ABX_OK;
}

char *
box_grants(abx_box *box, size_t *ret_length)
{
    struct str out = { 0 };

    pthread_mutex_lock(&box->lock);
    grants_json(&box->grants, &out);
    pthread_mutex_unlock(&box->lock);
    return str_steal(&out, ret_length);
}
