/* SPDX-License-Identifier: Apache-2.0
 * What a decision costs with all that a policy can have: three layers (of an organisation, a user
 * and a task) of 1,000 rules together, rules about requests, actions with arguments; and the same
 * as the broker of a box makes it, with a list of grants: the policy, identity, grants, an action's
 * arguments; and an action that is done, with its limit, its key and its event.  None has the
 * system's part, which `calls` measures.  Prints nanoseconds, and the worst of each as a row for
 * run.py; exits 1 if the policy alone is above the limit. */
#include "base/mem.h"
#include "base/str.h"
#include "supervise/box.h"

#include <agentbox/agentbox.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIMIT_NS 2000.0
enum { ROUNDS = 20000, GRANTS = 64, SAMPLES = 9 };

DEFINE_CLEANUP(abx_policy_unref, abx_policy)
DEFINE_CLEANUP(abx_context_unref, abx_context)
DEFINE_CLEANUP(abx_box_unref, abx_box)

/* ---- the policy ---- */

static void
add_list(struct str *out, const char *name, unsigned n, const char *head, const char *tail)
{
    str_printf(out, "\"%s\":[", name);
    for (unsigned i = 0; i < n; i++) {
        str_printf(out, "%s\"%s%u%s\"", i == 0 ? "" : ",", head, i, tail);
    }
    str_add(out, "]");
}

/* 100 hosts, 100 rules about requests of which every tenth is an action, and `n` actions. */
static void
add_business(struct str *out, unsigned n)
{
    str_add(out, ",\"network\":{\"mode\":\"filtered\",\"allow\":[{\"host\":\"hr.test\",\"http\":[");
    for (unsigned i = 0; i < 100; i++) {
        str_printf(out, "%s{\"methods\":[\"%s\"],\"path\":\"/v1/kind%u/*\"", i == 0 ? "" : ",",
                i % 10 == 0 ? "POST" : "GET", i);
        str_printf(out, i % 10 == 0 ? ",\"action\":\"act%u\"}" : "}", i);
    }
    str_add(out, "]}");
    for (unsigned i = 0; i < 100; i++) {
        str_printf(out, ",\"host%u.example.com\"", i);
    }
    str_add(out, "]},\"actions\":[");
    for (unsigned i = 0; i < n; i++) {
        str_printf(out,
                "%s{\"name\":\"act%u\",\"verdict\":\"allow\",\"arguments\":{\"id\":{\"type\":"
                "\"string\",\"pattern\":\"[0-9]{1,9}\"}}}",
                i == 0 ? "" : ",", i);
    }
    str_add(out, "]");
}

static void
write_managed(struct str *out)
{
    str_add(out, "\"filesystem\":{\"read\":{\"allow\":[\"/\"],");
    add_list(out, "deny", 100, "**/.secret", "");
    str_add(out, "},\"write\":{\"allow\":[\"/srv\"],");
    add_list(out, "deny", 100, "/srv/closed", "");
    str_add(out, "}}");
    add_business(out, 100);
}

static void
write_user(struct str *out)
{
    str_add(out, "\"filesystem\":{\"read\":{\"allow\":[\"/\"],");
    add_list(out, "deny", 100, "/home/user/private", "");
    str_add(out, "},\"write\":{\"allow\":[\"/srv\"],");
    add_list(out, "ask", 100, "/srv/asked", "");
    str_add(out, "}}");
}

static void
write_task(struct str *out)
{
    str_add(out, "\"filesystem\":{\"read\":{\"allow\":[\"/\"],");
    add_list(out, "deny", 5, "**/*.key", "");
    str_add(out, "},\"write\":{\"allow\":[\"/srv\"],");
    add_list(out, "ask", 95, "/srv/project", "/locked");
    str_add(out, "}}");
    add_business(out, 100);
}

static abx_policy *
make_layer(void (*write)(struct str *out))
{
    AUTO(str_done) struct str text = { 0 };
    abx_policy *policy = NULL;
    abx_error *error = NULL;

    str_add(&text, "{\"version\":1,");
    write(&text);
    str_add(&text, "}");
    if (abx_policy_from_json(text.data, text.length, &policy, &error) < 0) {
        fprintf(stderr, "%s\n", abx_error_get_message(error));
        abx_error_unref(error);
    }
    return policy;
}

static abx_policy *
make_policy(void)
{
    AUTO(abx_policy_unrefp) abx_policy *managed = make_layer(write_managed);
    AUTO(abx_policy_unrefp) abx_policy *user = make_layer(write_user);
    AUTO(abx_policy_unrefp) abx_policy *task = make_layer(write_task);
    AUTO(abx_policy_unrefp) abx_policy *inner = NULL;
    abx_policy *policy = NULL;

    if (managed == NULL || user == NULL || task == NULL ||
            abx_policy_intersect(user, task, &inner, NULL) < 0 ||
            abx_policy_intersect(managed, inner, &policy, NULL) < 0) {
        fprintf(stderr, "the layers make no policy\n");
    }
    return policy;
}

/* ---- times ---- */

static const abx_request requests[] = {
    { .size = sizeof(abx_request),
            .kind = ABX_REQUEST_PATH,
            .access = ABX_ACCESS_READ,
            .target = "/usr/lib/x86_64-linux-gnu/libc.so.6" },
    { .size = sizeof(abx_request),
            .kind = ABX_REQUEST_PATH,
            .access = ABX_ACCESS_WRITE,
            .target = "/srv/project40/build/main.o" },
    { .size = sizeof(abx_request),
            .kind = ABX_REQUEST_CONNECT,
            .port = 443,
            .target = "host77.example.com" },
    { .size = sizeof(abx_request),
            .kind = ABX_REQUEST_HTTP,
            .verb = "GET",
            .target = "https://hr.test/v1/kind55/17" },
    { .size = sizeof(abx_request),
            .kind = ABX_REQUEST_ACTION,
            .verb = "{\"id\":\"17\"}",
            .target = "act50" },
};
static const abx_request *const action = &requests[N_ELEMENTS(requests) - 1];
/* Asked about by the policy, and granted. */
static const abx_request granted = { .size = sizeof granted,
    .kind = ABX_REQUEST_PATH,
    .access = ABX_ACCESS_WRITE,
    .target = "/srv/project1/locked/file" };

static double
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* What it is asked: quietly, what it decides; or as for a call, when an action is done at once. */
struct asking {
    struct broker broker;
    bool quiet;
};

static bool
ask_broker(const struct asking *asking, const abx_request *request)
{
    static const struct subject subject = { .program = "/usr/bin/bench" };
    char key[ACTION_KEY_SIZE];
    struct act act = { .request = request->kind,
        .access = request->access,
        .port = request->port,
        .target = request->target,
        .verb = request->verb,
        .content = -1,
        .quiet = asking->quiet,
        .key = key };
    uint64_t ticket;

    return asking->broker.decide(asking->broker.data, &subject, &act, &ticket) == ABX_VERDICT_ALLOW;
}

/* Without a broker: what the policy says. */
static bool
decide(abx_policy *policy, const struct asking *asking, const abx_request *request)
{
    abx_decision decision = { .size = sizeof decision };

    if (asking != NULL) {
        return ask_broker(asking, request);
    }
    return abx_policy_evaluate(policy, request, &decision) == ABX_OK &&
           decision.verdict == ABX_VERDICT_ALLOW;
}

/* The best of some samples, since others use the machine; negative: it is not allowed. */
static double
measure(abx_policy *policy, const struct asking *asking, const abx_request *request)
{
    double best = -1;

    for (int sample = 0; sample < SAMPLES; sample++) {
        double start = now_ns(), time;

        for (int i = 0; i < ROUNDS; i++) {
            if (!decide(policy, asking, request)) {
                fprintf(stderr, "%s is not allowed\n", request->target);
                return -1;
            }
        }
        time = (now_ns() - start) / ROUNDS;
        best = best < 0 || time < best ? time : best;
    }
    return best;
}

static double
measure_all(abx_policy *policy, const struct asking *asking)
{
    double worst = 0;

    for (size_t i = 0; i < N_ELEMENTS(requests); i++) {
        double time = measure(policy, asking, &requests[i]);

        printf("%-64s %10.0f\n", requests[i].target, time);
        worst = time < 0 || worst < 0 ? -1 : time > worst ? time : worst;
    }
    return worst;
}

static bool
give_grants(abx_box *box, abx_error **reterr)
{
    bool ok = true;

    for (unsigned i = 0; i < GRANTS && ok; i++) {
        char target[64];
        uint64_t grant;
        abx_request request = granted;

        snprintf(target, sizeof target, "/srv/project%u/locked/file", i);
        request.target = i == 0 ? granted.target : target;
        ok = abx_box_grant(box, &request, 0, 0, "bench", &grant, reterr) == ABX_OK;
    }
    return ok;
}

int
main(void)
{
    const abx_context_options options = { .size = sizeof options,
        .backend = ABX_BACKEND_SIMULATED };
    AUTO(abx_policy_unrefp) abx_policy *policy = make_policy();
    AUTO(abx_context_unrefp) abx_context *context = NULL;
    AUTO(abx_box_unrefp) abx_box *box = NULL;
    struct asking asking = { .quiet = true };
    abx_error *error = NULL;
    double by_policy, by_box, by_grant, done;

    if (policy == NULL) {
        return EXIT_FAILURE;
    }
    if (abx_context_new(&options, &context, &error) < 0 ||
            abx_box_open(context, policy, NULL, &box, &error) < 0 || !give_grants(box, &error)) {
        fprintf(stderr, "%s\n", abx_error_get_message(error));
        abx_error_unref(error);
        return EXIT_FAILURE;
    }
    printf("%-64s %10s\n", "evaluate, three layers, 1000 rules", "ns");
    by_policy = measure_all(policy, NULL);
    broker_init(&asking.broker, box);
    printf("%-64s %10s\n", "the broker of a box with 64 grants", "ns");
    by_box = measure_all(policy, &asking);
    by_grant = measure(policy, &asking, &granted);
    printf("%-64s %10.0f\n", "/srv/project1/locked/file, by a grant", by_grant);
    asking.quiet = false;
    done = measure(policy, &asking, action);
    printf("%-64s %10.0f\n", "act50, done", done);
    printf("decision, 3 layers, requests, actions\t%.0f\t%.0f\tns\t<= 1\tlimit\n", by_policy,
            LIMIT_NS);
    printf("the same by a box's broker, 64 grants\t%.0f\t%.0f\tns\t<= 1\tlimit\n", by_box,
            LIMIT_NS);
    printf("what one of the grants allows\t%.0f\t%.0f\tns\t<= 1\tlimit\n", by_grant, LIMIT_NS);
    printf("an action done: counted, keyed, told\t%.0f\t%.0f\tns\t<= 2\tlimit\n", done, LIMIT_NS);
    return by_policy >= 0 && by_policy <= LIMIT_NS && by_box >= 0 && by_grant >= 0 && done >= 0
                   ? EXIT_SUCCESS
                   : EXIT_FAILURE;
}
