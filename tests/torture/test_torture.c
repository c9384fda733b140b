/* SPDX-License-Identifier: Apache-2.0
 * A box from the policy's text to its end while the n-th allocation fails, or the n-th system call,
 * for n = 1, 2, 3 and so on, until nothing fails any more.  Each n has a process of its own, which
 * then lives once more in the same context, perfectly, and shows that nothing is left. */
#include "abxtest.h"
#include "failing_malloc.h"
#include "life.h"
#include "outside.h"
#include "points.h"
#include "unit/main.h"

#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AT_ONCE 4
#define POINTS_MOST 100 /* of one kind and policy, where nothing else is said */
#define HANG_S 30 /* with a machine that is busy */
#define BAD_MOST 20 /* before it is enough */

static const struct life_policy policies[] = {
    { .name = "free",
            .json = "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]},"
                    "\"write\":{\"allow\":[\"${workspace}\"]},"
                    "\"protect\":{\"defaults\":false,\"git\":\"off\"}}}",
            .mode = "free",
            .denials = 3 },
    { .name = "rich",
            .json = "{\"version\":1,\"name\":\"rich\",\"filesystem\":{"
                    "\"read\":{\"allow\":[\"/\"],\"deny\":[\"${workspace}/secret\"],"
                    "\"ask\":[\"${workspace}/asked\"]},"
                    "\"write\":{\"allow\":[\"${workspace}\"],"
                    "\"deny\":[\"${workspace}/lock\",\"${workspace}/kept\"],"
                    "\"ask\":[\"${workspace}/ask\"]},"
                    "\"exec\":{\"deny\":[\"/usr/bin/sudo\"]},"
                    "\"inputs\":[{\"from\":\"/etc/passwd\",\"as\":\"names\"}],"
                    "\"decoys\":[\"${workspace}/decoy\"]},"
                    "\"environment\":{\"set\":{\"CI\":\"1\"}},"
                    "\"limits\":{\"output\":65536,\"processes\":64,\"memory\":1000000000},"
                    "\"approvals\":{\"timeout_ms\":2000}}",
            .mode = "all",
            .denials = 6 },
    { .name = "patterns",
            .json = "{\"version\":1,\"filesystem\":{"
                    "\"read\":{\"allow\":[\"/\"],\"deny\":[\"**/secret\"]},"
                    "\"write\":{\"allow\":[\"${workspace}\"],\"deny\":[\"**/lock\",\"**/kept\"],"
                    "\"ask\":[\"**/ask\"]}},\"approvals\":{\"timeout_ms\":2000}}",
            .mode = "all",
            .denials = 6 },
    { .name = "filtered",
            .json = "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]},"
                    "\"write\":{\"allow\":[\"${workspace}\"]},"
                    "\"protect\":{\"defaults\":false,\"git\":\"off\"}},"
                    "\"network\":{\"mode\":\"filtered\",\"allow\":[\"localhost:PORT\"],"
                    "\"host_loopback\":[PORT]},\"credentials\":[{\"name\":\"hr\",\"env\":\"TOK\","
                    "\"hosts\":[\"localhost:PORT\"],\"as\":\"bearer\",\"clear_text\":true}],"
                    "\"approvals\":{\"timeout_ms\":2000}}",
            .mode = "net",
            .denials = 3,
            .has_network = true },
    { .name = "recorded",
            .json = "{\"version\":1,\"filesystem\":{"
                    "\"read\":{\"allow\":[\"/\"],\"deny\":[\"${workspace}/secret\",\"${logs}\"]},"
                    "\"write\":{\"allow\":[\"${workspace}\"],"
                    "\"deny\":[\"${workspace}/lock\",\"${workspace}/kept\"],"
                    "\"ask\":[\"${workspace}/ask\"]}},\"approvals\":{\"timeout_ms\":2000}}",
            .mode = "all",
            .denials = 6,
            .has_log = true },
};
#define N_POLICIES (int)(sizeof policies / sizeof policies[0])

/* What the processes of the points share. */
static uint16_t port; /* of the server outside */
static struct shared {
    bool is_known; /* what follows, from a process in which nothing failed */
    long alive;
    size_t n_points;
    char receipt[sizeof((struct life *)NULL)->receipt];
} * shared;

enum outcome { OUTCOME_FAILED = 0, OUTCOME_BAD = 1, OUTCOME_DONE = 2 /* nothing failed */ };

/* Somebody waits for ever, or falls. */
static void
falls(int signal)
{
    static const char text[] = "it hangs or falls; what failed was at\n";

    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    points_show();
    _exit(OUTCOME_BAD);
}

/* LeakSanitizer's, where there is one. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

/* A sanitizer knows what is lost; without it what is alive is counted: libraries keep what a
 * process in which nothing failed has kept too. */
static void
expect_no_leak(void)
{
    const long alive = malloc_alive();

    if (__lsan_do_recoverable_leak_check != NULL) {
        EXPECT(__lsan_do_recoverable_leak_check() == 0);
        return;
    }
    if (!shared->is_known) {
        shared->alive = alive;
    }
    if (alive != shared->alive) {
        fprintf(stderr, "%ld allocations are left\n", alive - shared->alive);
    }
    EXPECT(alive == shared->alive);
}

static void
expect_nothing_left(const struct abxtest_traces *before)
{
    const struct timespec moment = { .tv_nsec = 1000000 };
    struct abxtest_traces after = abxtest_look();

    /* A thread says that it ends before it has ended. */
    for (int i = 0; after.threads > before->threads && i < 2000; i++) {
        nanosleep(&moment, NULL);
        after = abxtest_look();
    }
    EXPECT(after.descriptors == before->descriptors);
    EXPECT(after.threads == before->threads);
    EXPECT(after.children == before->children);
    EXPECT(!life_is_mounted());
    expect_no_leak();
}

static void
expect_perfect(const struct life *life)
{
    if (life->flaw != 0) {
        fprintf(stderr, "at life.c:%d\n", life->flaw);
    }
    EXPECT(life->flaw == 0);
}

/* In a process of its own. */
static enum outcome
live_at(const struct life_policy *policy, enum points_kind kind, size_t n, bool lasting)
{
    struct life life = { .policy_text = policy, .port = port, .is_lasting = lasting };
    struct failing_init *init = NULL;
    struct abxtest_traces before;
    bool failed;

    signal(SIGALRM, falls);
    signal(SIGSEGV, falls);
    signal(SIGABRT, falls);
    alarm(HANG_S);
    life_make_workspace();
    before = abxtest_look();
    if (kind == POINTS_INIT) {
        life.init_path = life_make_init(&init);
        init->fail_at = (long)n;
    }
    points_arm(kind, n, lasting);
    life_live(&life);
    failed = points_disarm();
    if (!shared->is_known) {
        shared->n_points = init != NULL ? (size_t)init->calls : points_count();
    }
    if (init != NULL) {
        failed = n > 0 && init->calls >= init->fail_at;
        init->fail_at = 0;
    }
    if (!failed) {
        expect_perfect(&life);
    }
    if (!shared->is_known) {
        strcpy(shared->receipt, life.receipt);
    }
    /* What init may do without is told there. */
    EXPECT(life.receipt[0] == '\0' || init != NULL || strcmp(life.receipt, shared->receipt) == 0);
    life_live(&life);
    expect_perfect(&life);
    EXPECT(strcmp(life.receipt, shared->receipt) == 0);
    life_end(&life);
    life_expect_log(&life);
    expect_nothing_left(&before);
    life_remove_workspace();
    shared->is_known = true;
    return failed ? OUTCOME_FAILED : OUTCOME_DONE;
}

static pid_t
start(const struct life_policy *policy, enum points_kind kind, size_t n, bool lasting)
{
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        _exit(live_at(policy, kind, n, lasting));
    }
    return pid;
}

static enum outcome
end(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0) {
        ck_assert_int_eq(errno, EINTR);
    }
    return WIFEXITED(status) ? (enum outcome)WEXITSTATUS(status) : OUTCOME_BAD;
}

/* A number from the environment; 0: it is not there. */
static size_t
number_of(const char *name)
{
    const char *text = getenv(name);

    return text == NULL ? 0 : (size_t)strtoul(text, NULL, 10);
}

/* Of so many points one is taken, so that there are as many as wanted or fewer. */
static size_t
stride(size_t n_points)
{
    size_t most = number_of("AGENTBOX_TORTURE_POINTS");

    most = most == 0 ? POINTS_MOST : most;
    return n_points <= most ? 1 : (n_points + most - 1) / most;
}

/* Some at once; which point does not exist is found out when nothing fails. */
static void
fail_everywhere(const struct life_policy *policy, enum points_kind kind, bool lasting)
{
    struct {
        pid_t pid;
        size_t n;
    } running[AT_ONCE] = { { 0 } };
    const char *only = getenv("AGENTBOX_TORTURE_POLICY");
    size_t n_bad = 0, n_tried = 0, n = 1, step;
    bool done = false;

    if (only != NULL && strcmp(only, policy->name) != 0) {
        return;
    }
    shared->is_known = false;
    ck_assert_int_eq(end(start(policy, kind, 0, false)), OUTCOME_DONE);
    ck_assert_uint_gt(shared->n_points, 40);
    step = stride(shared->n_points);
    n += number_of("AGENTBOX_TORTURE_SKIP");
    for (size_t slot = 0; !done || running[slot].pid != 0; slot = (slot + 1) % AT_ONCE) {
        enum outcome outcome = OUTCOME_FAILED;

        if (running[slot].pid != 0) {
            outcome = end(running[slot].pid);
            running[slot].pid = 0;
            n_tried++;
        }
        if (outcome == OUTCOME_BAD) {
            fprintf(stderr, "%s: point %zu of kind %d%s\n", policy->name, running[slot].n, kind,
                    lasting ? ", and all later ones" : "");
            n_bad++;
        }
        done = done || outcome == OUTCOME_DONE || n_bad >= BAD_MOST;
        if (!done) {
            running[slot].n = n;
            running[slot].pid = start(policy, kind, n, lasting);
            n += step;
        }
    }
    fprintf(stderr, "%s: kind %d%s: %zu points, each %zu.: %zu\n", policy->name, kind,
            lasting ? " lasting" : "", shared->n_points, step, n_tried);
    ck_assert_uint_eq(n_bad, 0);
}

/* ---- libraries that do not bear it ---- */

/* Where they are: GMP ends the process, GnuTLS and libtasn1 leak, tell another reason, or fall. */
static struct frail {
    uintptr_t start, end;
} frail[8];
static size_t n_frail;

static int
note_frail(struct dl_phdr_info *info, size_t size, void *data)
{
    static const char *const names[] = { "/libgmp.", "/libhogweed.", "/libnettle.", "/libgnutls.",
        "/libtasn1.", "/libp11-kit." };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strstr(info->dlpi_name, names[i]) == NULL) {
            continue;
        }
        for (int k = 0; k < info->dlpi_phnum; k++) {
            const uintptr_t start = info->dlpi_addr + info->dlpi_phdr[k].p_vaddr;

            if (info->dlpi_phdr[k].p_type == PT_LOAD && (info->dlpi_phdr[k].p_flags & PF_X) != 0) {
                frail[n_frail++] = (struct frail){ start, start + info->dlpi_phdr[k].p_memsz };
            }
        }
    }
    return n_frail == sizeof frail / sizeof frail[0];
}

static bool
is_frail(const void *caller)
{
    for (size_t i = 0; i < n_frail; i++) {
        if ((uintptr_t)caller >= frail[i].start && (uintptr_t)caller < frail[i].end) {
            return true;
        }
    }
    return false;
}

static bool
memory_fails(const void *caller)
{
    return !is_frail(caller) && point_fails(POINTS_MEMORY, ENOMEM);
}

START_TEST(an_allocation_may_fail)
{
    malloc_fail_if(memory_fails);
    fail_everywhere(&policies[_i], POINTS_MEMORY, false);
}
END_TEST

START_TEST(memory_may_run_out)
{
    malloc_fail_if(memory_fails);
    fail_everywhere(&policies[_i], POINTS_MEMORY, true);
}
END_TEST

START_TEST(a_system_call_may_fail)
{
    fail_everywhere(&policies[_i], POINTS_CALLS, false);
}
END_TEST

START_TEST(descriptors_may_run_out)
{
    fail_everywhere(&policies[_i], POINTS_DESCRIPTORS, true);
}
END_TEST

START_TEST(a_system_call_in_the_box_may_fail)
{
    fail_everywhere(&policies[_i], POINTS_INIT, false);
}
END_TEST

static void
set_up(void)
{
    tzset(); /* libc keeps what it reads, or that it could not */
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(shared, MAP_FAILED);
    port = outside_start();
    dl_iterate_phdr(note_frail, NULL);
}

static void
tear_down(void)
{
    outside_stop();
    munmap(shared, sizeof *shared);
}

/* Each is a case of its own, for CK_RUN_CASE. */
static void
add(Suite *suite, const char *name, const TTest *test)
{
    TCase *tcase = tcase_create(name);

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_set_timeout(tcase, 3600);
    tcase_add_loop_test(tcase, test, 0, N_POLICIES);
    suite_add_tcase(suite, tcase);
}

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("torture");

    add(suite, "allocation", an_allocation_may_fail);
    add(suite, "memory", memory_may_run_out);
    add(suite, "call", a_system_call_may_fail);
    add(suite, "descriptors", descriptors_may_run_out);
    add(suite, "init", a_system_call_in_the_box_may_fail);
    return suite;
}

UNIT_MAIN(make_suite)
