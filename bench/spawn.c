/* SPDX-License-Identifier: Apache-2.0
 * What starting costs, each beside its baseline from the same run, one row a line for run.py: a
 * command in an open box and a bare posix_spawn of the same program; a box with its first command
 * and bwrap with the same namespaces; and both from a small and a large host. */
#include "backend/backend.h"
#include "base/mem.h"

#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 201
#define OPENS 41
#define LARGE (2ull << 30)

static const char *const argv[] = { "/bin/true", NULL };
static const char *const env[] = { "PATH=/usr/bin:/bin", NULL };
static const char *const bwrap[] = { "bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc",
    "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run", "--bind", "/srv", "/srv", "--unshare-user",
    "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net", "--die-with-parent",
    "--new-session", "/bin/true", NULL };
static const char policy_text[] = "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"],"
                                  "\"deny\":[\"/etc/shadow\"]},"
                                  "\"write\":{\"allow\":[\"/srv\",\"/tmp\"]}}}";

/* ---- a broker that denies, and tells of exits ---- */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint64_t last_exit;

static abx_verdict
decide(void *data, const struct subject *subject, const struct act *act, uint64_t *ret_ticket)
{
    return ABX_VERDICT_DENY;
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
}

static void
exited(void *data, uint64_t command, const struct exit_status *status)
{
    pthread_mutex_lock(&lock);
    last_exit = command;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static void
ended(void *data)
{
}

static const struct broker broker = { .decide = decide,
    .holds = holds,
    .withdraw = withdraw,
    .report = report,
    .exited = exited,
    .ended = ended };

/* ---- what is measured ---- */
static struct box_setup setup;
static struct boundary *boundary;
static uint64_t next_id;
static int null;

static void
give_up(const struct fail *fail)
{
    fprintf(stderr, "%s: %s\n", fail->step, fail->text);
    exit(1);
}

static void
run_in_box(void)
{
    const struct command command = {
        .id = ++next_id, .argv = argv, .env = env, .cwd = "/", .stdio = { null, null, null }
    };
    struct fail fail = { 0 };

    if (backend_pick()->spawn(boundary, &command, NULL, &fail) < 0) {
        give_up(&fail);
    }
    pthread_mutex_lock(&lock);
    while (last_exit != command.id) {
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
}

static void
open_box(void)
{
    struct fail fail = { 0 };

    if (backend_pick()->open(&setup, &boundary, &fail) < 0) {
        give_up(&fail);
    }
}

static void
close_box(void)
{
    backend_pick()->close(boundary);
}

static void
open_and_run(void)
{
    open_box();
    run_in_box();
}

static void
run_bare(const char *const *arguments)
{
    pid_t pid;

    if (posix_spawnp(&pid, arguments[0], NULL, NULL, (char *const *)(uintptr_t)arguments,
                (char *const *)(uintptr_t)env) != 0) {
        perror(arguments[0]);
        exit(1);
    }
    waitpid(pid, NULL, 0);
}

static void
run_true(void)
{
    run_bare(argv);
}

static void
run_bwrap(void)
{
    run_bare(bwrap);
}

static int
compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

struct pair {
    double ours, theirs; /* medians, microseconds */
};

static double
time_us(void (*what)(void))
{
    const uint64_t start = clock_now_ns();

    what();
    return (double)(clock_now_ns() - start) / 1000;
}

/* Alternating, so that both see the same machine. */
static struct pair
measure(void (*ours)(void), void (*after)(void), void (*theirs)(void), int rounds)
{
    static double a[ROUNDS], b[ROUNDS];

    for (int i = 0; i < rounds; i++) {
        a[i] = time_us(ours);
        if (after != NULL) {
            after();
        }
        b[i] = time_us(theirs);
    }
    qsort(a, (size_t)rounds, sizeof a[0], compare);
    qsort(b, (size_t)rounds, sizeof b[0], compare);
    return (struct pair){ a[rounds / 2], b[rounds / 2] };
}

static void
row(const char *name, double ours, double theirs, const char *goal, const char *against)
{
    printf("%s\t%.1f\t%.1f\tus\t%s\t%s\n", name, ours, theirs, goal, against);
}

static void *
run_loop(void *loop)
{
    loop_run(loop);
    return NULL;
}

static void
prepare(struct plan *plan)
{
    const struct backend *backend = backend_pick();
    struct capabilities capabilities = { 0 };
    struct fail fail = { 0 };
    abx_policy *policy = NULL, *resolved = NULL;
    pthread_t thread;

    backend->probe(&capabilities);
    if (abx_policy_from_json(policy_text, strlen(policy_text), &policy, NULL) < 0 ||
            policy_resolve(policy, backend->host, &resolved, &fail) < 0 ||
            plan_compile(resolved, backend->host, &capabilities, plan, &fail) < 0) {
        give_up(&fail);
    }
    setup = (struct box_setup){ .plan = plan, .loop = loop_new(), .broker = &broker };
    setup.mask_loop = setup.loop;
    pthread_create(&thread, NULL, run_loop, setup.loop);
}

int
main(void)
{
    static struct plan plan;
    struct pair command[2], box[2];

    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    prepare(&plan);
    for (int large = 0; large < 2; large++) {
        open_box();
        measure(run_in_box, NULL, run_true, 20);
        command[large] = measure(run_in_box, NULL, run_true, ROUNDS);
        close_box();
        box[large] = measure(open_and_run, close_box, run_bwrap, OPENS);
        if (large == 0) {
            char *memory = mmap(NULL, LARGE, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

            if (memory == MAP_FAILED) {
                perror("mmap");
                return 1;
            }
        }
    }
    row("command in an open box", command[0].ours, command[0].theirs, "<= 1.5", "posix_spawn");
    row("command in an open box, host of 2 GiB", command[1].ours, command[0].ours, "<= 1.15",
            "small host");
    row("box and first command", box[0].ours, box[0].theirs, "<= 0.7", "bwrap");
    row("box and first command, host of 2 GiB", box[1].ours, box[0].ours, "<= 1.15", "small host");
    return 0;
}
