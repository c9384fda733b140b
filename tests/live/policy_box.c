/* SPDX-License-Identifier: Apache-2.0 */
#include "live/policy_box.h"

#include "base/mem.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <fcntl.h>

#define WAIT_SECONDS 20

/* ---- the broker ---- */

static void
add_denial(struct policy_box *box, const struct act *act)
{
    str_printf(&box->denials, "%s %s", act->verb, act->target);
    if (act->request == ABX_REQUEST_CONNECT) {
        str_printf(&box->denials, ":%u", act->port);
    }
    str_add(&box->denials, "\n");
}

static abx_verdict
decide(void *data, const struct subject *subject, const struct act *act, uint64_t *ret_ticket)
{
    struct policy_box *box = data;
    abx_request request = { .size = sizeof request,
        .kind = act->request,
        .access = act->access,
        .port = act->port,
        .target = act->target };
    struct ruling ruling = { 0 };
    abx_verdict verdict = policy_decide(box->policy, &request, &ruling);

    if (act->quiet && act->refusal != NULL) {
        snprintf(act->refusal->rule, sizeof act->refusal->rule, "%s", ruling.id);
    }
    if (verdict == ABX_VERDICT_ALLOW || act->quiet) {
        return verdict;
    }
    pthread_mutex_lock(&box->lock);
    if (verdict == ABX_VERDICT_ASK && box->asks) {
        box->asked = *ret_ticket = ++box->tickets;
        pthread_cond_broadcast(&box->changed);
    } else {
        add_denial(box, act);
        verdict = ABX_VERDICT_DENY;
    }
    pthread_mutex_unlock(&box->lock);
    return verdict;
}

static bool
holds(void *data, const struct subject *subject, const struct act *act, uint64_t by)
{
    return true;
}

static void
withdraw(void *data, uint64_t ticket)
{
}

static void
report(void *data, uint32_t type, const struct subject *subject, const struct act *act,
        const char *rule, const char *reason, const char *alternative)
{
    struct policy_box *box = data;

    pthread_mutex_lock(&box->lock);
    if (type == ABX_EVENT_DENIAL) {
        add_denial(box, act);
    } else {
        str_printf(&box->notices, "%s %s\n", act->verb, reason);
    }
    pthread_mutex_unlock(&box->lock);
}

static void
exited(void *data, uint64_t command, const struct exit_status *status)
{
    struct policy_box *box = data;

    pthread_mutex_lock(&box->lock);
    box->exited = true;
    box->status = *status;
    pthread_cond_broadcast(&box->changed);
    pthread_mutex_unlock(&box->lock);
}

static void
ended(void *data)
{
    struct policy_box *box = data;

    pthread_mutex_lock(&box->lock);
    box->exited = true;
    pthread_cond_broadcast(&box->changed);
    pthread_mutex_unlock(&box->lock);
}

/* ---- opening ---- */

static void *
run_loop(void *data)
{
    loop_run(data);
    return NULL;
}

static abx_policy *
make_policy(const char *json, const char *workspace)
{
    abx_policy_builder *builder = NULL;
    abx_policy *policy = NULL;
    abx_error *error = NULL;

    if (abx_policy_builder_new(NULL, &builder, &error) == ABX_OK) {
        abx_policy_builder_variable(builder, "workspace", workspace);
        abx_policy_builder_variable(builder, "home", "/root");
        abx_policy_builder_merge_json(builder, json, strlen(json));
        abx_policy_builder_build(builder, &policy, &error);
    }
    if (policy == NULL) {
        printf("policy: %s\n", abx_error_get_message(error));
    }
    abx_error_unref(error);
    abx_policy_builder_unref(builder);
    return policy;
}

static abx_status
compile(struct policy_box *box, abx_policy *policy, struct fail *fail)
{
    const struct backend *backend = backend_pick();
    struct capabilities found;
    abx_status r = policy_resolve(policy, backend->host, &box->policy, fail);

    if (r < 0) {
        return r;
    }
    backend->probe(&found);
    return plan_compile(box->policy, backend->host, &found, &box->plan, fail);
}

bool
policy_box_open(struct policy_box *box, const char *json, const char *workspace)
{
    return policy_box_open_out(box, json, workspace, NULL);
}

bool
policy_box_open_out(struct policy_box *box, const char *json, const char *workspace,
        const struct gateway *gateway)
{
    abx_policy *policy = make_policy(json, workspace);
    struct box_setup setup = { .plan = &box->plan, .broker = &box->broker, .gateway = gateway };
    struct fail fail = { 0 };
    abx_status r;

    *box = (struct policy_box){ .asks = gateway != NULL };
    pthread_mutex_init(&box->lock, NULL);
    pthread_cond_init(&box->changed, NULL);
    box->broker = (struct broker){ .data = box,
        .decide = decide,
        .holds = holds,
        .withdraw = withdraw,
        .report = report,
        .exited = exited,
        .ended = ended };
    if (policy == NULL) {
        return false;
    }
    r = compile(box, policy, &fail);
    abx_policy_unref(policy);
    if (r >= 0) {
        box->loop = loop_new();
        setup.loop = box->loop;
        setup.mask_loop = box->loop;
        pthread_create(&box->thread, NULL, run_loop, box->loop);
        r = backend_pick()->open(&setup, &box->boundary, &fail);
    }
    if (r < 0) {
        AUTO(freep) char *dump = box->plan.hostname == NULL ? NULL : plan_dump(&box->plan);

        printf("not open: %d %s: %s; %s\n%s", (int)r, fail.step, fail.text, fail.remedy,
                dump == NULL ? "" : dump);
    }
    return r >= 0;
}

uint64_t
policy_box_wait_question(struct policy_box *box)
{
    struct timespec deadline;
    uint64_t ticket;

    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += WAIT_SECONDS;
    pthread_mutex_lock(&box->lock);
    while (box->asked == 0 && pthread_cond_timedwait(&box->changed, &box->lock, &deadline) == 0) {
        /* until there is one */
    }
    ticket = box->asked;
    box->asked = 0;
    pthread_mutex_unlock(&box->lock);
    return ticket;
}

/* ---- commands ---- */

static char *
take_output(int fd)
{
    struct str output = { 0 };
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
    char buffer[4096];
    ssize_t n;

    while (poll(&poll_fd, 1, WAIT_SECONDS * 1000) > 0 &&
            (n = read(fd, buffer, sizeof buffer)) > 0) {
        str_add_bytes(&output, buffer, (size_t)n);
    }
    return str_steal(&output, NULL);
}

static int
wait_for_exit(struct policy_box *box)
{
    struct timespec deadline;
    int code = -1;

    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += WAIT_SECONDS;
    pthread_mutex_lock(&box->lock);
    while (!box->exited && pthread_cond_timedwait(&box->changed, &box->lock, &deadline) == 0) {
        /* until it has */
    }
    if (box->exited) {
        code = box->status.code + (box->status.reason == ABX_EXIT_SIGNAL ? 128 : 0);
    }
    pthread_mutex_unlock(&box->lock);
    return code;
}

char *
policy_box_run(struct policy_box *box, const char *cwd, const char *script, int *ret_code)
{
    static const char *const env[] = {
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", NULL
    };
    const char *const argv[] = { "sh", "-c", script, NULL };
    AUTO(closep) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int pipe_fds[2];
    int pty = -1;
    struct fail fail = { 0 };
    char *output;
    abx_status r;

    *ret_code = -1;
    if (pipe2(pipe_fds, O_CLOEXEC) < 0) {
        return NULL;
    }
    const struct command command = { .id = ++box->next,
        .argv = argv,
        .env = env,
        .cwd = cwd,
        .stdio = { null, pipe_fds[1], pipe_fds[1] } };
    box->exited = false;
    r = backend_pick()->spawn(box->boundary, &command, &pty, &fail);
    close(pipe_fds[1]);
    if (r < 0) {
        printf("not started: %d %s: %s\n", (int)r, fail.step, fail.text);
    }
    output = take_output(pipe_fds[0]);
    close(pipe_fds[0]);
    if (r >= 0) {
        *ret_code = wait_for_exit(box);
    }
    return output;
}

void
policy_box_close(struct policy_box *box)
{
    if (box->boundary != NULL) {
        backend_pick()->close(box->boundary);
    }
    if (box->loop != NULL) {
        loop_stop(box->loop);
        pthread_join(box->thread, NULL);
        loop_free(box->loop);
    }
    plan_done(&box->plan);
    abx_policy_unref(box->policy);
    str_done(&box->denials);
    str_done(&box->notices);
    pthread_cond_destroy(&box->changed);
    pthread_mutex_destroy(&box->lock);
}
