/* SPDX-License-Identifier: Apache-2.0
 * Owns what is tried in a new box and how its results are judged.  The samples are chosen from the
 * policy: a place that it names, that exists, and that the host itself could use, so that only the
 * boundary can be what stops it.  Runs on the thread that opens the box. */
#include "supervise/canary.h"

#include "plan/network.h"
#include "plan/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAMPLES_MAX 8
#define TEXT(number) TEXT_OF(number)
#define TEXT_OF(number) #number
#define NOBODY "192.0.2.1"
#define NOBODY_PORT 9
#define NOBODY_ENDPOINT NOBODY ":" TEXT(NOBODY_PORT)
#define PROXY_ENDPOINT NETWORK_PROXY_ADDRESS ":" TEXT(NETWORK_PROXY_PORT)
#define WAIT_MS 10000
#define CANARY_ID UINT64_MAX /* no command's */
#define KNOWN_MAX 64u

struct sample {
    const char *what; /* for the step: "read-denied" */
    bool allowed;
    char text[WIRE_PATH_MAX]; /* as init gets it */
    int32_t error;
};

struct samples {
    size_t count;
    struct sample list[SAMPLES_MAX];
};

/* A policy whose canary was stopped, and what was tried. */
struct known_canary {
    char digest[65];
    char *results;
};

/* ---- choosing ---- */
static void
add(struct samples *samples, const char *what, bool allowed, enum wire_sample kind,
        const char *target)
{
    struct sample *sample = &samples->list[samples->count];

    if (samples->count < SAMPLES_MAX && strlen(target) + 2 <= sizeof sample->text) {
        sample->what = what;
        sample->allowed = allowed;
        sample->text[0] = (char)kind;
        memcpy(sample->text + 1, target, strlen(target) + 1);
        samples->count++;
    }
}

struct wanted {
    const char *what;
    uint32_t access;
    abx_verdict verdict;
    enum wire_sample on_file, on_directory; /* 0: not on those */
};

/* Whether the host's own rights would be enough. */
static bool
host_could(const char *path, uint32_t access)
{
    int mode = access == ABX_ACCESS_READ ? R_OK : access == ABX_ACCESS_WRITE ? W_OK : X_OK;

    return faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0;
}

/* The sample for this path, or 0. */
static int
suits(abx_box *box, const struct wanted *wanted, const char *path)
{
    const struct host_view *host = box->context->backend->host;
    enum host_kind kind = host->look(host->data, path);
    abx_request request = {
        .size = sizeof request,
        .kind = wanted->access == ABX_ACCESS_EXEC ? ABX_REQUEST_EXEC : ABX_REQUEST_PATH,
        .access = wanted->access,
        .target = path,
        .verb = "open",
    };
    struct ruling ruling;

    if ((kind != HOST_FILE && kind != HOST_DIRECTORY) || plan_is_private(&box->plan, path) ||
            policy_decide(box->resolved, &request, &ruling) != wanted->verdict) {
        return 0;
    }
    return kind == HOST_FILE ? (int)wanted->on_file : (int)wanted->on_directory;
}

static void
choose_path(
        abx_box *box, struct samples *samples, const struct wanted *wanted, const struct vec *paths)
{
    const bool allowed = wanted->verdict == ABX_VERDICT_ALLOW;
    const char *second = NULL;
    int second_kind = 0;

    for (size_t i = 0; i < paths->count; i++) {
        const char *path = *vec_at(paths, const char *, i);
        int kind = suits(box, wanted, path);

        if (kind != 0 && host_could(path, wanted->access)) {
            add(samples, wanted->what, allowed, (enum wire_sample)kind, path);
            return;
        }
        if (kind != 0 && second == NULL) {
            second = path;
            second_kind = kind;
        }
    }
    if (second != NULL && !allowed) { /* denied twice over, but by the boundary too */
        add(samples, wanted->what, false, (enum wire_sample)second_kind, second);
    }
}

/* The explicit proxy is allowed to everyone and leads no further by itself; behind the other
 * address is nobody (RFC 5737). */
static void
choose_connect(abx_box *box, struct samples *samples)
{
    const char *proxy = box->context->backend->proxy(box->boundary);
    const abx_request request = { .size = sizeof request,
        .kind = ABX_REQUEST_CONNECT,
        .target = NOBODY,
        .port = NOBODY_PORT,
        .verb = "connect" };
    struct ruling ruling;

    if (proxy != NULL) {
        add(samples, "connect-allowed", true, SAMPLE_CONNECT,
                plan_has_gateway(&box->plan) ? PROXY_ENDPOINT : proxy + strlen("http://"));
    }
    if (policy_decide(box->resolved, &request, &ruling) == ABX_VERDICT_DENY) {
        add(samples, "connect-denied", false, SAMPLE_CONNECT, NOBODY_ENDPOINT);
    }
}

static abx_status
choose(abx_box *box, struct samples *samples, struct fail *fail)
{
    static const struct wanted wanted[] = {
        { "read-allowed", ABX_ACCESS_READ, ABX_VERDICT_ALLOW, SAMPLE_READ, SAMPLE_READ },
        { "read-denied", ABX_ACCESS_READ, ABX_VERDICT_DENY, SAMPLE_READ, SAMPLE_READ },
        { "write-allowed", ABX_ACCESS_WRITE, ABX_VERDICT_ALLOW, 0, SAMPLE_CREATE },
        { "write-denied", ABX_ACCESS_WRITE, ABX_VERDICT_DENY, SAMPLE_WRITE, SAMPLE_CREATE },
        { "exec-denied", ABX_ACCESS_EXEC, ABX_VERDICT_DENY, SAMPLE_EXEC, 0 },
    };
    const struct policy_settings *settings = policy_get_settings(box->resolved);
    struct vec paths = VEC(const char *);
    abx_status r = policy_anchors(box->resolved, &paths, fail);

    for (size_t i = 0; i < N_ELEMENTS(wanted) && r == ABX_OK; i++) {
        choose_path(box, samples, &wanted[i], &paths);
    }
    vec_done(&paths);
    choose_connect(box, samples);
    if (!settings->weaken_nested_namespaces) {
        add(samples, "namespace-denied", false, SAMPLE_UNSHARE, "");
    }
    return r;
}

/* ---- trying ---- */

/* Reads `size` bytes; false on end of file, error or silence. */
static bool
read_results(int fd, void *data, size_t size)
{
    char *to = data;
    struct pollfd wait = { .fd = fd, .events = POLLIN };

    while (size > 0) {
        int ready = poll(&wait, 1, WAIT_MS);
        ssize_t n = ready == 1 ? read(fd, to, size) : -1;

        if (n > 0) {
            to += n;
            size -= (size_t)n;
        } else if (n == 0 || ready == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

static abx_status
try(abx_box *box, struct samples *samples, struct fail *fail)
{
    static const char *const no_environment[] = { NULL };
    const char *argv[SAMPLES_MAX + 1] = { NULL };
    int32_t errors[SAMPLES_MAX];
    AUTO(closep) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    AUTO(closep) int from = -1;
    AUTO(closep) int to = -1;
    struct command command = {
        .id = CANARY_ID,
        .argv = argv,
        .env = no_environment,
        .cwd = "/",
        .canary = true,
    };
    int ends[2], pty = -1;
    abx_status r;

    if (null < 0 || pipe2(ends, O_CLOEXEC) < 0) {
        return fail_set(fail, ABX_ERR_SETUP, errno, "canary:streams", "the canary has no streams");
    }
    from = ends[0];
    to = ends[1];
    for (size_t i = 0; i < samples->count; i++) {
        argv[i] = samples->list[i].text;
    }
    command.stdio[0] = null;
    command.stdio[1] = to;
    command.stdio[2] = null;
    r = box->context->backend->spawn(box->boundary, &command, &pty, fail);
    close_fd(steal_fd(&to));
    if (r < 0) {
        fail->status = r == ABX_ERR_NOMEM ? r : ABX_ERR_SETUP;
        return fail->status;
    }
    if (!read_results(from, errors, samples->count * sizeof errors[0])) {
        return fail_set(fail, ABX_ERR_SETUP, 0, "canary:results", "the canary gave no answer");
    }
    for (size_t i = 0; i < samples->count; i++) {
        samples->list[i].error = errors[i];
    }
    return ABX_OK;
}

/* ---- judging ---- */
static bool
is_refusal(int32_t error)
{
    return error == EACCES || error == EPERM || error == EROFS;
}

static abx_status
judge(const struct samples *samples, struct fail *fail)
{
    for (size_t i = 0; i < samples->count; i++) {
        const struct sample *sample = &samples->list[i];
        char step[64] = "canary:";

        strncat(step, sample->what, sizeof step - strlen(step) - 1);
        if (!sample->allowed && sample->error == 0) {
            return fail_set(fail, ABX_ERR_SETUP, 0, step,
                    "the boundary does not stop what the policy denies: '%.300s'",
                    sample->text + 1);
        }
        if (sample->allowed && sample->text[0] == SAMPLE_CONNECT && sample->error != 0) {
            return fail_set(fail, ABX_ERR_SETUP, sample->error, step,
                    "the way out of the box does not work: '%.300s'", sample->text + 1);
        }
        if (sample->allowed && is_refusal(sample->error)) {
            fail_set(fail, ABX_ERR_SETUP, sample->error, step,
                    "the boundary stops what the policy allows: '%.300s'", sample->text + 1);
            if (geteuid() == 0) {
                fail_remedy(fail, "root has no special rights in a box: run it as the owner of "
                                  "that file or directory, or give root rights to it");
            }
            return ABX_ERR_SETUP;
        }
    }
    return ABX_OK;
}

static char *
results_json(const struct samples *samples)
{
    struct str out = { 0 };

    str_add(&out, "[");
    for (size_t i = 0; i < samples->count; i++) {
        const struct sample *sample = &samples->list[i];
        const char *name = sample->error == 0 ? "ok" : strerrorname_np(sample->error);

        str_printf(&out, "%s{\"sample\":\"%s\",\"target\":", i == 0 ? "" : ",", sample->what);
        str_add_json_bytes(&out, sample->text + 1, true);
        str_printf(&out, ",\"expected\":\"%s\",\"result\":\"%s\"}",
                sample->allowed ? "allow" : "deny", name == NULL ? "unknown" : name);
    }
    str_add(&out, "]");
    return str_steal(&out, NULL);
}

/* ---- what is known; the context's lock guards it ---- */
static char *
find_known(abx_context *context, const char *digest)
{
    char *results = NULL;

    pthread_mutex_lock(&context->lock);
    for (size_t i = 0; i < context->canaries.count && results == NULL; i++) {
        const struct known_canary *known = vec_at(&context->canaries, struct known_canary, i);

        results = strcmp(known->digest, digest) == 0 ? strdup(known->results) : NULL;
    }
    pthread_mutex_unlock(&context->lock);
    return results;
}

/* Without memory it is tried again next time. */
static void
remember(abx_context *context, const char *digest, const char *results)
{
    char *copy = strdup(results);
    struct known_canary *known = NULL;

    pthread_mutex_lock(&context->lock);
    if (copy != NULL && context->canaries.count == KNOWN_MAX) {
        free(vec_at(&context->canaries, struct known_canary, 0)->results);
        vec_remove(&context->canaries, 0);
    }
    if (copy != NULL) {
        known = vec_add(&context->canaries);
    }
    if (known != NULL) {
        strncpy(known->digest, digest, sizeof known->digest - 1);
        known->results = copy;
        copy = NULL;
    }
    pthread_mutex_unlock(&context->lock);
    free(copy);
}

void
canary_init(abx_context *context)
{
    context->canaries = VEC(struct known_canary);
}

void
canary_done(abx_context *context)
{
    for (size_t i = 0; i < context->canaries.count; i++) {
        free(vec_at(&context->canaries, struct known_canary, i)->results);
    }
    vec_done(&context->canaries);
}

abx_status
canary_run(abx_box *box, struct fail *fail)
{
    const char *digest = abx_policy_get_digest(box->policy);
    AUTO(freep) struct samples *samples = NULL;
    abx_status r;

    if (box->context->backend->attempt != NULL) {
        return ABX_OK; /* nothing would stop it */
    }
    box->canary = find_known(box->context, digest);
    if (box->canary != NULL) {
        return ABX_OK;
    }
    samples = calloc(1, sizeof *samples);
    if (samples == NULL) {
        return fail_nomem(fail);
    }
    r = choose(box, samples, fail);
    if (r == ABX_OK && samples->count > 0) {
        atomic_store(&box->trying, true); /* its denials are no events */
        r = try(box, samples, fail);
        atomic_store(&box->trying, false);
    }
    if (r == ABX_OK) {
        r = judge(samples, fail);
    }
    if (r < 0) {
        return r;
    }
    box->canary = results_json(samples);
    if (box->canary == NULL) {
        return fail_nomem(fail);
    }
    remember(box->context, digest, box->canary);
    return ABX_OK;
}
