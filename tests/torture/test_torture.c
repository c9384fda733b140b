/* SPDX-License-Identifier: Apache-2.0
 * A real box from the policy's text to its end, again and again, and each time something else
 * fails, until a run has nothing new that could: the right status comes back with its error, what
 * would be returned is untouched, nothing that the policy denies works, and nothing is left. */
#include <agentbox/agentbox.h>

#include "failing_malloc.h"
#include "points.h"
#include "unit/main.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DESCRIPTORS 256
#define HANG_S 10 /* with a machine that is busy */
#define UNTOUCHED(type) ((type)(uintptr_t)&untouched)

static const char policy_json[] =
        "{\"version\":1,\"name\":\"torture\",\"filesystem\":{"
        "\"read\":{\"allow\":[\"/\"],\"deny\":[\"${workspace}/secret\"]},"
        "\"write\":{\"allow\":[\"${workspace}\"],"
        "\"deny\":[\"${workspace}/lock\",\"${workspace}/kept\"],\"ask\":[\"${workspace}/ask\"]}},"
        "\"environment\":{\"set\":{\"CI\":\"1\"}},\"limits\":{\"output\":65536},"
        "\"approvals\":{\"timeout_ms\":2000}}";

static char top[] = "/tmp/abx-torture-XXXXXX";
static char workspace[sizeof top + 8];
static const char untouched;

/* What a run has shown. */
static struct run {
    bool was_told; /* some function returned a failure */
    abx_exit exit;
} run;

/* Check's macros allocate, which may fail now. */
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            give_up(#condition, __LINE__);                                                         \
        }                                                                                          \
    } while (0)

static void
give_up(const char *what, int line)
{
    points_end();
    fprintf(stderr, "line %d: %s; what failed was at\n", line, what);
    points_show();
    ck_abort_msg("line %d: %s", line, what);
}

/* Somebody waits for ever. */
static void
hangs(int signal)
{
    static const char text[] = "it hangs; what failed was at\n";

    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    points_show();
    _exit(1);
}

/* ---- traces ---- */
struct traces {
    int descriptors;
    long memory;
};

static int
count_descriptors(void)
{
    int count = 0;

    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        count += fcntl(fd, F_GETFD) >= 0;
    }
    return count;
}

static size_t
count_threads(void)
{
    struct stat status;

    return stat("/proc/self/task", &status) < 0 ? 0 : status.st_nlink - 2;
}

static bool
has_children(void)
{
    siginfo_t info = { 0 };

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

/* A worker says that it ends before it has ended. */
static void
wait_for_threads(void)
{
    const struct timespec moment = { .tv_nsec = 1000000 };

    for (int i = 0; count_threads() > 1 && i < 2000; i++) {
        nanosleep(&moment, NULL);
    }
}

static struct traces
look(void)
{
    wait_for_threads();
    return (struct traces){ .descriptors = count_descriptors(), .memory = malloc_alive() };
}

static bool
exists(const char *name)
{
    char path[sizeof workspace + 32];

    snprintf(path, sizeof path, "%s/%s", workspace, name);
    return access(path, F_OK) == 0;
}

static void
make(const char *name)
{
    char path[sizeof workspace + 32];
    int fd;

    snprintf(path, sizeof path, "%s/%s", workspace, name);
    fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    close(fd);
}

static void
drop(const char *name)
{
    char path[sizeof workspace + 32];

    snprintf(path, sizeof path, "%s/%s", workspace, name);
    unlink(path);
}

/* ---- one run ---- */

/* A failure has one of these statuses and an error that says the same. */
static void
expect_failure(abx_status r, abx_error *error, const char *what)
{
    static const abx_status right[] = { ABX_ERR_NOMEM, ABX_ERR_SETUP, ABX_ERR_IO, ABX_ERR_EXEC,
        ABX_ERR_STATE, ABX_ERR_UNSUPPORTED, ABX_ERR_POLICY };
    bool is_right = false;

    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        is_right = is_right || r == right[i];
    }
    if (!is_right || error == NULL || abx_error_get_status(error) != r) {
        fprintf(stderr, "%s: %s: %s\n", what, abx_status_name(r), abx_error_get_message(error));
    }
    EXPECT(is_right);
    EXPECT(error != NULL);
    EXPECT(abx_error_get_status(error) == r);
    EXPECT(points_have_failed());
    run.was_told = true;
    abx_error_unref(error);
}

static abx_policy *
make_policy(void)
{
    abx_policy_builder *builder = UNTOUCHED(abx_policy_builder *);
    abx_policy *policy = UNTOUCHED(abx_policy *);
    abx_error *error = NULL;
    abx_status r = abx_policy_builder_new(NULL, &builder, &error);

    if (r < 0) {
        EXPECT(builder == UNTOUCHED(abx_policy_builder *));
        expect_failure(r, error, "builder");
        return NULL;
    }
    abx_policy_builder_variable(builder, "workspace", workspace);
    abx_policy_builder_variable(builder, "home", "/nonexistent-home");
    abx_policy_builder_merge_json(builder, policy_json, strlen(policy_json));
    r = abx_policy_builder_build(builder, &policy, &error);
    abx_policy_builder_unref(builder);
    if (r < 0) {
        EXPECT(policy == UNTOUCHED(abx_policy *));
        expect_failure(r, error, "build");
        return NULL;
    }
    return policy;
}

static void
say_yes(abx_context *context, abx_event *event)
{
    const abx_answer answer = {
        .size = sizeof answer,
        .verdict = ABX_VERDICT_ALLOW,
        .scope = ABX_SCOPE_COMMAND,
    };
    const uint64_t ticket = (uint64_t)abx_event_get_int(event, ABX_FIELD_TICKET);
    abx_error *error = NULL;

    if (abx_context_answer(context, ticket, &answer, &error) < 0) {
        EXPECT(error != NULL);
    }
    abx_error_unref(error);
}

static void
take_events(abx_context *context)
{
    abx_event *event = NULL;
    abx_status r;

    while ((r = abx_context_next_event(context, &event)) != ABX_NONE) {
        char *json = NULL;

        if (r < 0) {
            EXPECT(r == ABX_ERR_NOMEM);
            continue;
        }
        if (abx_event_get_type(event) == ABX_EVENT_APPROVAL) {
            say_yes(context, event);
        }
        if (abx_event_to_json(event, &json, NULL) == ABX_OK) {
            abx_free(json);
        }
        abx_event_unref(event);
    }
}

/* Until it ends; a command that hangs is a fault of whoever failed to answer it. */
static void
wait_for(abx_context *context, abx_process *process)
{
    const time_t start = time(NULL);
    abx_status r;

    while ((r = abx_process_wait(process, 5, &run.exit)) == ABX_NONE) {
        take_events(context);
        EXPECT(time(NULL) - start < HANG_S);
    }
    EXPECT(r == ABX_OK);
}

static void
use_command(abx_context *context, abx_box *box)
{
    static const char *const argv[] = { TEMPT, NULL };
    const abx_spawn_options options = {
        .size = sizeof options,
        .stdio = { ABX_STDIO_NULL, ABX_STDIO_CAPTURE, ABX_STDIO_PIPE },
        .timeout_ms = 60000,
        .label = "call",
    };
    abx_process *process = UNTOUCHED(abx_process *);
    abx_error *error = NULL;
    char *text = NULL;
    abx_status r = abx_box_spawn(box, argv, &options, &process, &error);

    if (r < 0) {
        EXPECT(process == UNTOUCHED(abx_process *));
        expect_failure(r, error, "spawn");
        EXPECT(!exists("ran"));
        return;
    }
    wait_for(context, process);
    if (abx_process_explain(process, "json", &text, NULL) == ABX_OK) {
        abx_free(text);
    }
    if (run.exit.reason == ABX_EXIT_CODE) {
        EXPECT(run.exit.code == 0);
        EXPECT(run.exit.denials >= 4);
    } else {
        EXPECT(points_have_failed());
        EXPECT(run.exit.code == SIGKILL || run.exit.code == SIGSYS);
    }
    abx_process_unref(process);
}

static void
use_box(abx_context *context, abx_policy *policy)
{
    abx_box *box = UNTOUCHED(abx_box *);
    abx_error *error = NULL;
    char *json = NULL;
    abx_status r = abx_box_open(context, policy, NULL, &box, &error);

    if (r < 0) {
        EXPECT(box == UNTOUCHED(abx_box *));
        expect_failure(r, error, "open");
        return;
    }
    use_command(context, box);
    r = abx_box_receipt(box, &json, NULL);
    EXPECT(r == ABX_OK || r == ABX_ERR_NOMEM);
    abx_free(json);
    abx_box_unref(box);
    take_events(context);
}

static void
live(void)
{
    abx_policy *policy = make_policy();
    abx_context *context = UNTOUCHED(abx_context *);
    abx_error *error = NULL;
    abx_status r;

    run = (struct run){ .exit = { .size = sizeof run.exit } };
    if (policy == NULL) {
        return;
    }
    r = abx_context_new(NULL, &context, &error);
    if (r < 0) {
        EXPECT(context == UNTOUCHED(abx_context *));
        expect_failure(r, error, "context");
    } else {
        use_box(context, policy);
        abx_context_unref(context);
    }
    abx_policy_unref(policy);
}

/* ---- the tests ---- */
static bool
decide_memory(const void *caller)
{
    return point_fails(POINTS_MEMORY, caller, 0);
}

static void
run_once(enum points_kind kind)
{
    const struct traces before = look();
    struct traces after;

    points_begin(kind);
    alarm(2 * HANG_S);
    live();
    alarm(0);
    points_end();
    after = look();
    if (after.descriptors != before.descriptors || after.memory != before.memory) {
        fprintf(stderr, "%d descriptors, %ld allocations more than before\n",
                after.descriptors - before.descriptors, after.memory - before.memory);
    }
    EXPECT(after.descriptors == before.descriptors);
    EXPECT(after.memory == before.memory);
    EXPECT(count_threads() == 1);
    EXPECT(!has_children());
    EXPECT(!exists("lock") && !exists("../outside") && !exists("moved") && exists("kept"));
    drop("ran");
    drop("ask");
}

static void
fail_everywhere(enum points_kind kind)
{
    signal(SIGALRM, hangs);
    points_begin(POINTS_NONE);
    live(); /* what libraries keep is there now, and the host is known */
    live();
    drop("ran");
    drop("ask");
    do {
        run_once(kind);
    } while (points_have_failed());
    ck_assert_uint_gt(points_count(), 100);
    fprintf(stderr, "%zu points\n", points_count());
}

START_TEST(memory_may_run_out_anywhere)
{
    malloc_fail_if(decide_memory);
    fail_everywhere(POINTS_MEMORY);
}
END_TEST

START_TEST(any_system_call_may_fail)
{
    fail_everywhere(POINTS_CALLS);
}
END_TEST

static void
set_up(void)
{
    ck_assert_ptr_nonnull(mkdtemp(top));
    snprintf(workspace, sizeof workspace, "%s/w", top);
    ck_assert_int_eq(mkdir(workspace, 0700), 0);
    make("secret");
    make("kept");
}

static void
tear_down(void)
{
    drop("secret");
    drop("kept");
    rmdir(workspace);
    rmdir(top);
}

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("torture");
    TCase *tcase = tcase_create("torture");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, memory_may_run_out_anywhere);
    tcase_add_test(tcase, any_system_call_may_fail);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
