/* SPDX-License-Identifier: Apache-2.0
 * Owns what is tried in a simulated box: makes of a request the acts that a real box would ask the
 * broker about, asks, and waits where the answer is a question.  Touches nothing but names. */
#include "simulated/simulated.h"

#include "base/mem.h"
#include "base/str.h"
#include "policy/rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ACTS_MAX 2 /* a connection, and the request over it */

struct attempt {
    struct attempt *next;
    struct boundary *boundary;
    struct subject subject;
    struct act acts[ACTS_MAX]; /* texts are the ones below */
    size_t count, done;
    char *texts[4];
    size_t n_texts;
    attempt_over_fn fn;
    void *data;
    uint64_t ticket; /* of the question that it waits on; 0: none */
    uint64_t first_ticket; /* what the host knows it by */
    bool over; /* guarded by the boundary's lock, as is the verdict */
    abx_verdict verdict;
};

/* ---- what would be asked ---- */

/* Keeps a text that was allocated; NULL without memory. */
static const char *
keep(struct attempt *attempt, char *text)
{
    attempt->texts[attempt->n_texts++] = text;
    return text;
}

static bool
add_path(struct attempt *attempt, const abx_request *request, uint32_t kind, uint32_t access,
        const char *verb)
{
    const struct host_view *host = backend_simulated.host;
    const char *asked = keep(attempt, strdup(request->target));
    const char *real = keep(attempt, host->real_path(host->data, request->target));
    struct act *act = &attempt->acts[attempt->count++];

    if (asked == NULL || real == NULL) {
        return false;
    }
    *act = (struct act){
        .request = kind,
        .access = access,
        .target = real,
        .asked = strcmp(asked, real) == 0 ? NULL : asked,
        .verb = verb,
        .content = -1,
    };
    return true;
}

static bool
add_connection(struct attempt *attempt, const char *host, uint32_t port)
{
    const char *address = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;
    const char *kept = keep(attempt, strdup(address));

    attempt->acts[attempt->count++] = (struct act){
        .request = ABX_REQUEST_CONNECT,
        .port = port,
        .target = kept,
        .verb = "connect",
        .content = -1,
    };
    return kept != NULL;
}

/* What a name server and the proxy make of a host: its one spelling, else as it was given. */
static void
spell(const char *host, size_t length, char ret_spelled[POLICY_HOST_SIZE])
{
    char given[POLICY_HOST_SIZE] = "";

    memcpy(given, host, length < sizeof given ? length : sizeof given - 1);
    if (!policy_host_spelling(given, ret_spelled)) {
        memcpy(ret_spelled, given, sizeof given);
    }
}

/* A URL, taken apart. */
struct url {
    bool is_tls;
    const char *host, *path; /* as they are spelled in it */
    size_t host_length;
    uint32_t port;
};

/* "host" or "host:port" or "[address]:port" at the start of a URL's rest. */
static bool
split_authority(const char *authority, size_t length, struct url *url)
{
    const char *bracket = memchr(authority, ']', length);
    const char *from = bracket == NULL ? authority : bracket;
    const char *colon = memchr(from, ':', length - (size_t)(from - authority));

    url->host = authority;
    url->host_length = colon == NULL ? length : (size_t)(colon - authority);
    return url->host_length > 0 &&
           (colon == NULL || port_read(colon + 1, length - url->host_length - 1, &url->port));
}

/* False: it is none that a request could have. */
static bool
split_url(const char *text, struct url *ret_url)
{
    struct url url = { .is_tls = strncmp(text, "https://", 8) == 0 };
    const char *authority = text + (url.is_tls ? 8 : 7);
    size_t length;

    if (!url.is_tls && strncmp(text, "http://", 7) != 0) {
        return false;
    }
    length = strcspn(authority, "/?#");
    url.port = url.is_tls ? 443 : 80;
    url.path = authority + length;
    if (!split_authority(authority, length, &url)) {
        return false;
    }
    *ret_url = url;
    return true;
}

/* The connection, then the request in its one spelling. */
static bool
add_exchange(struct attempt *attempt, const abx_request *request, const struct url *from)
{
    char host[POLICY_HOST_SIZE];
    struct str url = { 0 };
    struct act *act;

    spell(from->host, from->host_length, host);
    if (!add_connection(attempt, host, from->port)) {
        return false;
    }
    str_printf(&url, strchr(host, ':') == NULL ? "%s%s" : "%s[%s]",
            from->is_tls ? "https://" : "http://", host);
    if (from->port != (from->is_tls ? 443 : 80)) {
        str_printf(&url, ":%u", from->port);
    }
    str_add(&url, *from->path == '/' ? "" : "/");
    str_add_bytes(&url, from->path, strcspn(from->path, "#"));
    act = &attempt->acts[attempt->count++];
    *act = (struct act){
        .request = ABX_REQUEST_HTTP, .port = from->port, .bound = BOUND_NO_BODY, .content = -1
    };
    act->target = keep(attempt, str_steal(&url, NULL));
    act->verb = keep(attempt, strdup(request->verb == NULL ? "GET" : request->verb));
    return act->target != NULL && act->verb != NULL;
}

static abx_status
add_acts(struct attempt *attempt, const abx_request *request, struct fail *fail)
{
    char host[POLICY_HOST_SIZE];
    struct url url = { .port = 0 };
    bool added = false;

    if (!policy_request_is_valid(request) ||
            (request->kind == ABX_REQUEST_PATH && (request->access & (request->access - 1)) != 0) ||
            (request->kind == ABX_REQUEST_CONNECT && request->port == 0)) {
        return fail_set(fail, ABX_ERR_INVALID, EINVAL, "attempt:request",
                "a command tries one access to an absolute path without '.' and '..', a host and a "
                "port, or a URL");
    }
    if (request->kind == ABX_REQUEST_HTTP && !split_url(request->target, &url)) {
        return fail_set(fail, ABX_ERR_INVALID, EINVAL, "attempt:request",
                "'%.100s' is no URL of a request: it is http or https, has a host, and ports go "
                "from 1 to 65535",
                request->target);
    }
    switch (request->kind) {
    case ABX_REQUEST_PATH:
        added = request->access == ABX_ACCESS_EXEC
                        ? add_path(attempt, request, ABX_REQUEST_EXEC, ABX_ACCESS_EXEC, "exec")
                        : add_path(attempt, request, ABX_REQUEST_PATH, request->access, "open");
        break;
    case ABX_REQUEST_EXEC:
        added = add_path(attempt, request, ABX_REQUEST_EXEC, ABX_ACCESS_EXEC, "exec");
        break;
    case ABX_REQUEST_SOCKET:
        added = add_path(attempt, request, ABX_REQUEST_SOCKET, 0, "connect");
        break;
    case ABX_REQUEST_CONNECT:
        spell(request->target, strlen(request->target), host);
        added = add_connection(attempt, host, request->port);
        break;
    case ABX_REQUEST_HTTP:
        added = add_exchange(attempt, request, &url);
        break;
    default:
        return fail_set(fail, ABX_ERR_UNSUPPORTED, EOPNOTSUPP, "attempt:kind",
                "no command of a simulated box tries that");
    }
    return added ? ABX_OK : fail_nomem(fail);
}

struct attempt *
attempt_new(struct boundary *boundary, uint64_t command, const abx_request *request,
        attempt_over_fn fn, void *data, struct fail *fail)
{
    struct attempt *attempt = calloc(1, sizeof *attempt);

    if (attempt == NULL) {
        fail_nomem(fail);
        return NULL;
    }
    attempt->boundary = boundary;
    attempt->subject = (struct subject){ .command = command };
    attempt->fn = fn;
    attempt->data = data;
    if (add_acts(attempt, request, fail) < 0) {
        attempt_free(attempt);
        return NULL;
    }
    return attempt;
}

void
attempt_free(struct attempt *attempt)
{
    if (attempt != NULL) {
        for (size_t i = 0; i < attempt->n_texts; i++) {
            free(attempt->texts[i]);
        }
        free(attempt);
    }
}

/* ---- trying ---- */

/* The network of a box has a loopback of its own; ports that the policy opens are the host's. */
static bool
is_own_network(const struct plan *plan, const struct act *act)
{
    return strncmp(act->target, "127.", 4) == 0 || strcmp(act->target, "::1") == 0
                   ? !plan_has_host_port(plan, act->port)
                   : plan->network == NETWORK_HOST;
}

/* What no real box asks about: what is its own, and nothing of the host's. */
static bool
is_own(const struct plan *plan, const struct act *act)
{
    switch (act->request) {
    case ABX_REQUEST_CONNECT:
        return is_own_network(plan, act);
    case ABX_REQUEST_PATH:
        return plan_is_private(plan, act->target) &&
               (act->access == ABX_ACCESS_READ || plan_is_device(act->target));
    default:
        return false;
    }
}

static void
end(struct attempt *attempt, abx_verdict verdict)
{
    struct boundary *boundary = attempt->boundary;

    attempt->ticket = 0;
    pthread_mutex_lock(&boundary->lock);
    attempt->over = true;
    attempt->verdict = verdict;
    pthread_cond_broadcast(&boundary->changed);
    pthread_mutex_unlock(&boundary->lock);
    if (attempt->fn != NULL) {
        attempt->fn(attempt->data, verdict);
    }
}

static void
hold(struct attempt *attempt, uint64_t ticket)
{
    attempt->ticket = ticket;
    if (attempt->first_ticket == 0) {
        attempt->first_ticket = ticket;
        attempt->next = attempt->boundary->attempts;
        attempt->boundary->attempts = attempt;
    }
}

bool
attempt_go(struct attempt *attempt)
{
    const struct broker *broker = attempt->boundary->broker;

    for (; attempt->done < attempt->count; attempt->done++) {
        const struct act *act = &attempt->acts[attempt->done];
        uint64_t ticket = 0;
        abx_verdict verdict =
                is_own(attempt->boundary->plan, act)
                        ? ABX_VERDICT_ALLOW
                        : broker->decide(broker->data, &attempt->subject, act, &ticket);

        if (verdict == ABX_VERDICT_ASK) {
            hold(attempt, ticket);
            return false;
        }
        if (verdict == ABX_VERDICT_DENY) {
            end(attempt, ABX_VERDICT_DENY);
            return true;
        }
    }
    end(attempt, ABX_VERDICT_ALLOW);
    return true;
}

void
attempt_answer(struct boundary *boundary, uint64_t ticket, abx_verdict verdict)
{
    for (struct attempt *attempt = boundary->attempts; attempt != NULL; attempt = attempt->next) {
        if (attempt->ticket != ticket) {
            continue;
        }
        attempt->ticket = 0;
        if (verdict == ABX_VERDICT_ALLOW) {
            attempt->done++;
            attempt_go(attempt);
        } else {
            end(attempt, ABX_VERDICT_DENY);
        }
    }
}

void
attempts_free(struct boundary *boundary)
{
    for (struct attempt *attempt = boundary->attempts, *next; attempt != NULL; attempt = next) {
        next = attempt->next;
        if (attempt->fn == NULL) {
            attempt_free(attempt);
        }
    }
}

void
attempt_give_up(struct attempt *attempt)
{
    const struct broker *broker = attempt->boundary->broker;

    if (attempt->ticket != 0) {
        broker->withdraw(broker->data, attempt->ticket);
        attempt->ticket = 0;
    }
}

/* ---- tried by the host ---- */
struct go {
    struct attempt *attempt;
    bool is_over;
};

static void
go(void *data)
{
    struct go *what = data;

    what->is_over = attempt_go(what->attempt);
}

abx_status
attempt_by_host(struct boundary *boundary, uint64_t command, const abx_request *request,
        abx_verdict *ret_verdict, uint64_t *ret_ticket, struct fail *fail)
{
    struct go what = { .attempt = attempt_new(boundary, command, request, NULL, NULL, fail) };

    if (what.attempt == NULL) {
        return fail->status;
    }
    loop_call(boundary->loop, go, &what);
    if (!what.is_over) { /* the boundary's now */
        *ret_ticket = what.attempt->first_ticket;
        return ABX_NONE;
    }
    *ret_verdict = what.attempt->verdict;
    attempt_free(what.attempt);
    return ABX_OK;
}

struct look {
    struct boundary *boundary;
    uint64_t ticket;
    struct attempt *found;
};

static void
look(void *data)
{
    struct look *what = data;

    what->found = what->boundary->attempts;
    while (what->found != NULL && what->found->first_ticket != what->ticket) {
        what->found = what->found->next;
    }
}

abx_status
attempt_outcome(
        struct boundary *boundary, uint64_t ticket, int64_t timeout_ms, abx_verdict *ret_verdict)
{
    struct look what = { .boundary = boundary, .ticket = ticket };
    uint64_t until_ns = clock_now_ns() + (uint64_t)(timeout_ms < 0 ? 0 : timeout_ms) * 1000000u;
    struct timespec until = { .tv_sec = (time_t)(until_ns / 1000000000u),
        .tv_nsec = (long)(until_ns % 1000000000u) };
    abx_status r = ABX_OK;
    int error = 0;

    loop_call(boundary->loop, look, &what);
    if (what.found == NULL) {
        return ABX_ERR_STATE;
    }
    pthread_mutex_lock(&boundary->lock);
    while (!what.found->over && !boundary->over && error == 0) {
        error = timeout_ms < 0
                        ? pthread_cond_wait(&boundary->changed, &boundary->lock)
                        : pthread_cond_timedwait(&boundary->changed, &boundary->lock, &until);
    }
    if (what.found->over) {
        *ret_verdict = what.found->verdict;
    } else {
        r = boundary->over ? ABX_ERR_STATE : ABX_NONE;
    }
    pthread_mutex_unlock(&boundary->lock);
    return r;
}
