/* SPDX-License-Identifier: Apache-2.0 */
#include "live/box.h"

#include "base/mem.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the broker ---- */
static void
remember(struct box *box, uint32_t type, const struct subject *subject, const struct act *act)
{
    struct box_event *event;

    if (box->n_events == BOX_EVENTS) {
        return;
    }
    event = &box->events[box->n_events++];
    *event = (struct box_event){ .type = type,
        .request = act->request,
        .access = act->access,
        .port = act->port,
        .command = subject->command };
    snprintf(event->verb, sizeof event->verb, "%s", act->verb == NULL ? "" : act->verb);
    snprintf(event->target, sizeof event->target, "%s", act->target);
    if (subject->program == NULL) {
        backend_pick()->program_of(subject->pid, event->program, sizeof event->program);
    } else {
        snprintf(event->program, sizeof event->program, "%s", subject->program);
    }
}

static abx_verdict
decide(void *data, const struct subject *subject, const struct act *act, uint64_t *ret_ticket)
{
    static uint64_t ticket;
    struct box *box = data;
    abx_verdict verdict = ABX_VERDICT_DENY;

    pthread_mutex_lock(&box->lock);
    if (act->target != NULL && strstr(act->target, "allowed") != NULL) {
        verdict = ABX_VERDICT_ALLOW;
    } else if (act->target != NULL && strstr(act->target, "asked") != NULL) {
        verdict = ABX_VERDICT_ASK;
        box->asked = ++ticket;
        *ret_ticket = box->asked;
    } else {
        remember(box, ABX_EVENT_DENIAL, subject, act);
    }
    pthread_cond_broadcast(&box->changed);
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
    struct box *box = data;

    pthread_mutex_lock(&box->lock);
    remember(box, type, subject, act);
    pthread_mutex_unlock(&box->lock);
}

static void
exited(void *data, uint64_t command, const struct exit_status *status)
{
    struct box *box = data;

    pthread_mutex_lock(&box->lock);
    ck_assert_uint_lt(box->n_exits, BOX_COMMANDS);
    box->exits[box->n_exits++] = (struct box_exit){ command, *status, box->n_events };
    pthread_cond_broadcast(&box->changed);
    pthread_mutex_unlock(&box->lock);
}

static void
ended(void *data)
{
    struct box *box = data;

    pthread_mutex_lock(&box->lock);
    box->is_ended = true;
    pthread_cond_broadcast(&box->changed);
    pthread_mutex_unlock(&box->lock);
}

/* ---- the box ---- */
static void *
run(void *loop)
{
    loop_run(loop);
    return NULL;
}

void
box_start(struct box *box)
{
    *box = (struct box){ 0 };
    pthread_mutex_init(&box->lock, NULL);
    pthread_cond_init(&box->changed, NULL);
    box->broker = (struct broker){ .data = box,
        .decide = decide,
        .holds = holds,
        .withdraw = withdraw,
        .report = report,
        .exited = exited,
        .ended = ended };
    box->loop = loop_new();
    ck_assert_ptr_nonnull(box->loop);
    ck_assert_int_eq(pthread_create(&box->thread, NULL, run, box->loop), 0);
}

void
box_stop(struct box *box)
{
    loop_stop(box->loop);
    pthread_join(box->thread, NULL);
    loop_free(box->loop);
}

abx_status
box_open(struct box *box, const char *policy)
{
    const struct backend *backend = backend_pick();
    const struct box_setup setup = {
        .plan = &box->plan, .loop = box->loop, .mask_loop = box->loop, .broker = &box->broker
    };
    struct capabilities capabilities = { 0 };
    abx_policy *parsed = NULL, *resolved = NULL;
    abx_error *error = NULL;
    abx_status r;

    backend->probe(&capabilities);
    r = abx_policy_from_json(policy, strlen(policy), &parsed, &error);
    ck_assert_msg(r == ABX_OK, "%s", error == NULL ? "" : abx_error_get_message(error));
    r = policy_resolve(parsed, backend->host, &resolved, &box->fail);
    if (r == ABX_OK) {
        r = plan_compile(resolved, backend->host, &capabilities, &box->plan, &box->fail);
    }
    if (r == ABX_OK) {
        r = backend->open(&setup, &box->boundary, &box->fail);
    }
    abx_policy_unref(resolved);
    abx_policy_unref(parsed);
    return r;
}

void
box_close(struct box *box)
{
    if (box->boundary != NULL) {
        backend_pick()->close(box->boundary);
        box->boundary = NULL;
    }
    plan_done(&box->plan);
    box->plan = (struct plan){ 0 };
}

int
box_spawn(struct box *box, uint64_t id, const char *const *argv)
{
    static const char *const env[] = { "PATH=/usr/bin:/bin", "LC_ALL=C", NULL };
    AUTO(closep) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    AUTO(closep) int end = -1;
    int output[2];
    struct command command = { .id = id, .argv = argv, .env = env, .cwd = "/" };

    ck_assert_int_eq(pipe2(output, O_CLOEXEC), 0);
    end = output[1];
    command.stdio[0] = null;
    command.stdio[1] = end;
    command.stdio[2] = end;
    if (backend_pick()->spawn(box->boundary, &command, NULL, &box->fail) < 0) {
        close(output[0]);
        return -1;
    }
    return output[0];
}

char *
box_run(struct box *box, uint64_t id, const char *line, struct exit_status *ret_status)
{
    const char *const argv[] = { "/bin/sh", "-c", line, NULL };
    AUTO(closep) int output = box_spawn(box, id, argv);
    struct str text = { 0 };
    char buffer[4096];
    ssize_t n;

    ck_assert_msg(output >= 0, "%s: %s", box->fail.step, box->fail.text);
    while ((n = read(output, buffer, sizeof buffer)) > 0) {
        str_add_bytes(&text, buffer, (size_t)n);
    }
    *ret_status = box_wait(box, id).status;
    return str_steal(&text, NULL);
}

static const struct box_exit *
find_exit(const struct box *box, uint64_t id)
{
    for (unsigned int i = 0; i < box->n_exits; i++) {
        if (box->exits[i].command == id) {
            return &box->exits[i];
        }
    }
    return NULL;
}

struct box_exit
box_wait(struct box *box, uint64_t id)
{
    struct box_exit result;

    pthread_mutex_lock(&box->lock);
    while (find_exit(box, id) == NULL) {
        pthread_cond_wait(&box->changed, &box->lock);
    }
    result = *find_exit(box, id);
    pthread_mutex_unlock(&box->lock);
    return result;
}

void
box_wait_ended(struct box *box)
{
    pthread_mutex_lock(&box->lock);
    while (!box->is_ended) {
        pthread_cond_wait(&box->changed, &box->lock);
    }
    pthread_mutex_unlock(&box->lock);
}

uint64_t
box_wait_question(struct box *box)
{
    uint64_t ticket;

    pthread_mutex_lock(&box->lock);
    while (box->asked == 0) {
        pthread_cond_wait(&box->changed, &box->lock);
    }
    ticket = box->asked;
    box->asked = 0;
    pthread_mutex_unlock(&box->lock);
    return ticket;
}

const struct box_event *
box_find(struct box *box, const char *target)
{
    for (unsigned int i = 0; i < box->n_events; i++) {
        if (strcmp(box->events[i].target, target) == 0) {
            return &box->events[i];
        }
    }
    return NULL;
}

unsigned int
box_count_fds(void)
{
    DIR *directory = opendir("/proc/self/fd");
    unsigned int n = 0;

    ck_assert_ptr_nonnull(directory);
    while (readdir(directory) != NULL) {
        n++;
    }
    closedir(directory);
    return n;
}
